"""Run every benchmark, print its ratios with their spread, and write them into latest.json."""

import json
import sys
from pathlib import Path

from benchmarks import (
    canonical,
    dependencies,
    edits,
    encodings,
    heads,
    locality_symmetry,
    memory,
    path,
    pretraining,
    training,
    where_or_what,
)

REPEATS = 5
LATEST = Path(__file__).parent / "latest.json"


def main() -> None:
    """All of them, or those named on the command line."""
    rooms = {
        "heads": heads,
        "memory": memory,
        "where_or_what": where_or_what,
        "locality_symmetry": locality_symmetry,
        "training": training,
        "pretraining": pretraining,
        "path": path,
        "encodings": encodings,
        "canonical": canonical,
        "edits": edits,
        "dependencies": dependencies,
    }
    chosen = {name: rooms[name] for name in sys.argv[1:] or rooms}
    found = []
    for room in chosen.values():
        for measurement in room.measure(REPEATS):
            print(measurement.line(), flush=True)
            found.append(measurement.record())
    known = {one["name"]: one for one in json.loads(LATEST.read_text())} if LATEST.exists() else {}
    LATEST.write_text(json.dumps([*(known | {one["name"]: one for one in found}).values()], indent=2) + "\n")
    print(f"{sum(one['met'] is False for one in found)} bound(s) missed; written to {LATEST}")


if __name__ == "__main__":
    main()

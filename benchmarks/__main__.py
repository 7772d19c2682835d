"""Run every benchmark, print its ratios with their spread, and keep them in latest.json, which is not committed."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    attribution,
    canonical,
    dependencies,
    edits,
    encodings,
    heads,
    length,
    locality_symmetry,
    memory,
    path,
    pretraining,
    puzzles,
    speech,
    sweeps,
    training,
    where_or_what,
)
from benchmarks.measurement import Measurement
from wherewhat.tables.files import write_whole

REPEATS = 5
LATEST = Path(__file__).parent / "latest.json"
ROOMS = {
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
    "sweeps": sweeps,
    "length": length,
    "puzzles": puzzles,
    "speech": speech,
    "attribution": attribution,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """All of them, or those named on the command line."""
    wanted = _read(arguments)
    found: list[Measurement] = []
    for name in wanted.names or ROOMS:
        for measurement in ROOMS[name].measure(REPEATS):
            print(measurement.line(), flush=True)
            found.append(measurement)
            _keep(found)  # at once: an interrupted run keeps what it has measured
    if wanted.record:
        write_whole(encodings.FILE, encodings.figures(found, REPEATS).encode())
    print(f"{sum(one.met is False for one in found)} bound(s) missed; written to {LATEST}")


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run, all unless said: {', '.join(ROOMS)}")
    parser.add_argument("--record", action="store_true", help="also renew encodings.json, which is committed")
    wanted = parser.parse_args(arguments)
    if unknown := set(wanted.names) - ROOMS.keys():
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(ROOMS)}")
    if wanted.record and wanted.names and "encodings" not in wanted.names:
        parser.error("--record renews what the benchmark 'encodings' found; name it too")
    return wanted


def _keep(found: Sequence[Measurement]) -> None:
    """Renew these in latest.json; what else is known there stays."""
    known = {one["name"]: one for one in json.loads(LATEST.read_text())} if LATEST.exists() else {}
    known |= {one.name: one.record() for one in found}
    write_whole(LATEST, (json.dumps([*known.values()], indent=2) + "\n").encode())


if __name__ == "__main__":
    main()

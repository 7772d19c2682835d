"""A made-up result of nets that learn, with every part that the page shows."""

import math
import random
from typing import Any

import polars as pl

from wherewhat.tables.schema import RESULT, frame

LAYERS, STEPS, LENGTHS, HOPS = 3, (0, 50, 100), (9, 32, 200), ("1 hop", "2 hops")
SCORES = ("positional", "symbolic", "position_share", "symbol_share", "entropy")
PURE = [
    f"{kind} by {rule} at {g}"
    for kind in ("positional", "symbolic")
    for rule in ("scores", "shares")
    for g in (0.1, 0.05)
]
CLAIMS = [
    {"claim": "Hops are learnt in turn.", "published": "yes", "ours": "1 hop 50", "verdict": "agrees", "why": ""},
    {"claim": "It is <b>bold</b>.", "published": "unknown", "ours": "no", "verdict": "unknown", "why": "a & b"},
]


def dynamics_run(seeds: int = 2) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table and the manifest of a run; the rows over all seeds come last."""
    draw = random.Random(0)
    rows = [row for task in ("number", "letter") for seed in (*range(seeds), None) for row in _run(task, seed, draw)]
    about = {"layers": LAYERS, "frequencies": 32, "steps": 100, "batch": 128, "seeds": seeds, "length": 9}
    about |= {
        "published": {
            "frequencies": {
                "of": 64,
                "first": 0,
                "number": [[0, 0], [1, 1], [36, 38]],
                "letter": [[17, 17], [41, 41], [36, 40]],
            },
            "bounds": _bounds(),
        }
    }
    manifest = {
        "reproduction": "dynamics",
        "claims": CLAIMS,
        "about": about,
        "settings": {"steps": 100},
        "notes": ["a note"],
    }
    return frame(rows, RESULT), manifest


def _run(task: str, seed: int | None, draw: random.Random) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []

    def add(part: str, item: str, at: float | None, measure: str, value: float) -> None:
        ends = (value * 0.9, min(1.0, value * 1.1)) if seed is None else (None, None)
        rows.append((part, task, item, at, seed, measure, value, *ends))

    for step in STEPS:
        for item in (*HOPS, "all"):
            add("accuracy", item, step, "accuracy", step / 100 * draw.uniform(0.8, 1))
        for layer in range(LAYERS):
            for score in SCORES:
                add("heads", f"L{layer}H0", step, score, draw.random())
            add("heads", f"L{layer}H0", step, "mean_frequency", draw.uniform(0, 31))
        for measure in PURE:
            add("purity", "all", step, measure, draw.randrange(LAYERS + 1))
            add("purity", "L0", step, measure, 1)
    for length in LENGTHS:
        for item in (*HOPS, "all"):
            add("length", item, length, "accuracy", 1 / math.sqrt(length))
        add("gap", "" if seed is None else "L1H0", length, "gap", 1 / length)
        add("gap", "" if seed is None else "L1H0", length, "bound", 0.0 if length == 200 else 0.5 / length)
    return rows


def _bounds() -> dict[str, list[tuple[int, float]]]:
    return {
        task: [(length, 0.0 if length == 200 else 1 / length) for length in LENGTHS] for task in ("number", "letter")
    }

"""A made-up result of nets with and without positions, with every part that the page shows."""

import random
from typing import Any

import polars as pl

from wherewhat.studies.nope.results import AGAIN, ARMS, LONGER, NOPE, RELEASED, TRAINED, TRUE, UNIFORM
from wherewhat.tables.schema import RESULT, frame

BLOCKS, LENGTHS, TASKS = 2, (2, 3, 4, 5), ("copy_repeat", "scan")
KINDS = (TRAINED, LONGER, "all")
CLAIMS = [
    {"claim": "It knows its place.", "published": "unknown", "ours": "R² 0.9", "verdict": "seen", "why": ""},
    {"claim": "It is <b>bold</b>.", "published": "yes", "ours": "no", "verdict": "unknown", "why": "a & b"},
]


def nope_run(seeds: int = 2, tasks: tuple[str, ...] = TASKS) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table and the manifest of a run; the rows over all seeds come last."""
    draw = random.Random(0)
    rows = [row for task in tasks for seed in (*range(seeds), None) for row in _run(task, seed, draw)]
    answers = {"knows_its_place": {"lead": "Yes: it <knows>", "rest": "R² 0.9."}}
    about = {"layers": BLOCKS, "heads": 4, "steps": 1000, "seeds": seeds, "seconds": 12.0, "processes": 2}
    about |= {"lengths": dict.fromkeys(tasks, 3), "places": dict.fromkeys(tasks, 7), "answers": answers}
    manifest = {"reproduction": "nope", "claims": CLAIMS, "about": about, "settings": {"texts": 9}, "notes": ["a note"]}
    return frame(rows, RESULT), manifest


def _run(task: str, seed: int | None, draw: random.Random) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []

    def add(part: str, arm: str, at: float | None, measure: str, value: float) -> None:
        ends = (value - 0.05, value + 0.05) if seed is None else (None, None)
        rows.append((part, task, arm, at, seed, measure, value, *ends))

    for arm in (*ARMS, UNIFORM):
        for lengths in KINDS:
            for number in range(21):
                add("distance", arm, number / 20, lengths, 1 / 21)
            for side in ("near", "far"):
                add("distance", arm, None, f"{side} {lengths}", draw.uniform(0.1, 0.5))
    for arm in ARMS:
        _net(add, arm, draw)
    return rows


def _net(add: Any, arm: str, draw: random.Random) -> None:
    for block in range(BLOCKS + 1):
        for target in ("place", "inverse"):
            for lengths in (TRAINED, LONGER):
                add("place", arm, block, f"{target} {lengths}", draw.uniform(-3, 1))
                add("place", arm, block, f"shuffled {target} {lengths}", -0.01)
        for place in range(1, 12):
            add("predicted", arm, place, f"block {block}", min(place, 8))
    for length in LENGTHS:
        add("accuracy", arm, length, "exact", 1.0 if length <= 3 else 0.4)
        add("entropy", arm, length, "entropy", draw.random())
        for kind in (TRUE, RELEASED) if arm != NOPE else ():
            add("divergence", arm, length, kind, draw.uniform(0.1, 0.6))
    for lengths in KINDS:
        add("entropy", arm, None, f"entropy {lengths}", draw.random())
        for kind in (TRUE, RELEASED) if arm != NOPE else ():
            add("divergence", arm, None, f"{kind} {lengths}", draw.uniform(0.1, 0.6))
            if arm != AGAIN:
                add("shared start", arm, None, f"{kind} {lengths}", draw.uniform(0.01, 0.05))

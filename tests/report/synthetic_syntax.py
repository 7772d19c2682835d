"""A made-up study of relations in two opposite worlds: near words found by position and far ones by content, or not."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from wherewhat.tables.schema import RESULT, frame

HOSTILE = "<script>alert('x')</script> `rel`"
RELATIONS = ("amod", "det", "nsubj", HOSTILE)
SIDES = ("to head", "to dependent")
DISTANCES = {1.0: "1", 2.0: "2", 3.0: "3-5", 6.0: "6+"}
SUBJECTS = (
    ("log w 0.5", "symmetric", 0.67),
    ("log w 0.5 s 0.25", "one-sided", 0.5),
    ("learned", "free", None),
    ("rope", "free", None),
    ("none", "symmetric", None),
    ("it's <b> '", "symmetric", None),
)
GROUPS = ("free", "one-sided", "symmetric", "sided")
KINDS = ("positional", "contextual", "full", "offset", "uniform", "by position", "by position, shuffled")
MORE = ("by content", "by content, shuffled", "shuffled")
Row = tuple[object, ...]


def syntax_run(near: float = 0.9, far: float = 0.1, *, seeds: int = 3) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Table and manifest of a study in which position alone finds so much near and far; content the opposite."""
    rows = [*_runs(seeds), *_means(near, far, interval=seeds > 1), *_links()]
    subjects = [{"name": name, "groups": [group, *["sided"] * (group != "symmetric")]} for name, group, _ in SUBJECTS]
    answers = {name: {"lead": f"The lead on {name}", "rest": f"The rest on {name} <1>."} for name in ASKED}
    about = {"subjects": subjects, "answers": answers, "seconds": 600.0, "processes": 2}
    claim = {"claim": "Near <i>by</i> place.", "published": "said", "ours": "+1 point", "verdict": "agrees"}
    manifest = {"reproduction": "syntax", "about": about, "claims": [claim], "notes": ["A grammar's sentences."]}
    return frame(rows, RESULT), {**manifest, "command": "wherewhat reproduce syntax", "settings": {"steps": 9}}


ASKED = ("short", "long", "content", "locality", "learnt")


def _runs(seeds: int) -> Iterator[Row]:
    for name, _, locality in SUBJECTS:
        if locality is not None:
            yield "encoding", name, "", None, None, "bias.locality", locality, None, None
        for seed in range(seeds):
            yield "run", name, "", None, seed, "word loss", 2.0 + seed, None, None
            yield "encoding", name, "", None, seed, "attention.locality", 0.2 + 0.1 * seed, None, None
            yield "trained", name, "each", None, seed, "to head: full", 0.5, None, None
            for distance, relation in enumerate(RELATIONS, start=1):
                yield "trained", name, relation, None, seed, "to head: distance", float(distance), None, None


def _means(near: float, far: float, *, interval: bool) -> Iterator[Row]:
    for name in (*(subject for subject, *_ in SUBJECTS), *GROUPS):
        for item, at in [*((one, None) for one in (*RELATIONS, "all", "each")), *(("each", one) for one in DISTANCES)]:
            for side in SIDES:
                for kind in (*KINDS, *MORE):
                    value = _value(kind, near if (at or 1) < 3 else far)
                    ends = (value - 0.05, value + 0.05) if interval else (None, None)
                    yield "trained mean", name, item, at, None, f"{side}: {kind}", value, *ends
                    if item == "each":
                        yield "untrained mean", name, item, at, None, f"{side}: {kind}", value / 4, *ends
                for fact, number in (("rows", 1234.0), ("distance", 1.5)):
                    yield "trained mean", name, item, at, None, f"{side}: {fact}", number, None, None


def _value(kind: str, place: float) -> float:
    return {"positional": place, "contextual": 1 - place, "full": 0.7, "offset": 0.6, "uniform": 0.1}.get(kind, 0.3)


def _links() -> Iterator[Row]:
    for by in ("bias.locality", "attention.locality"):
        for at in DISTANCES:
            for part in ("positional", "contextual", "full"):
                yield "link", by, "each", at, None, f"to head: {part}", 0.5, -0.2, 0.9

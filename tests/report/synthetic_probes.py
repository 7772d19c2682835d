"""Made-up probes of dependency relations, in worlds where near ones are found by position, or by content."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wherewhat.tables.schema import PROBE, frame

HOSTILE = "<script>alert(\"'x'\")</script> {panel} `b`"
RELATIONS = {  # mean distance, share of governors to the left, rows
    "det": (1.2, 0.02, 1030),
    "amod": (1.1, 0.03, 480),
    "aux": (1.6, 0.01, 390),
    "case": (2.0, 0.05, 900),
    "nsubj": (2.3, 0.04, 820),
    "obj": (2.4, 0.97, 610),
    "obl": (4.2, 0.8, 540),
    "advcl": (6.8, 0.7, 130),
    HOSTILE: (9.5, 0.5, 101),
}
DISTANCES = {"1": 1.0, "2": 2.0, "3-5": 4.0, "6+": 9.0}
SIDES = ("to head", "to dependent")
LAYERS, HEADS = 3, 4
Row = tuple[Any, ...]


@dataclass(frozen=True)
class World:
    """How much place and content find of relations between neighbours, and how fast that falls with distance."""

    place: float = 0.95
    place_falls: float = 0.45
    content: float = 0.4
    content_falls: float = 0.03
    treebanks: tuple[str, ...] = ("en_ewt",)


SHORT_BY_PLACE = World()
SHORT_BY_CONTENT = World(place=0.4, place_falls=0.03, content=0.95, content_falls=0.45)


def dependencies(world: World = SHORT_BY_PLACE) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of the probe of relations, and its manifest."""
    rows: list[Row] = []
    for number, data in enumerate(world.treebanks):
        for item, (distance, left, many) in RELATIONS.items():
            shift = 0.3 * number
            rows += _order(data, item, distance + shift, left, many)
            for side in SIDES:
                rows += _scores(world, (data, item, side, "all"), distance + shift, many)
        rows += _order(data, "all", 2.9, 0.35, 5000)
        for side in SIDES:
            rows += _scores(world, (data, "all", side, "all"), 2.9, 5000)
            for bin_, distance in DISTANCES.items():
                rows += _scores(world, (data, "all", side, bin_), 1.0, 1200)  # a head that is told the distance
                rows += _scores(world, (data, "each relation", side, bin_), distance + 0.2 * number, 1200)
        rows.append(_row((data, "relations", None, None), "full", "share beyond offset", (0.4, None, None, 10)))
        rows += _heads(data)
    rows += _links(world)
    return frame(rows, PROBE), _manifest(world)


def _row(
    where: tuple[str | None, ...], kind: str, measure: str, numbers: Sequence[Any], head: Any = (None, None)
) -> Row:
    data, item, side, distance = where
    return ("dependencies", "a <b>model</b>", data, item, *head, side, kind, distance, measure, *numbers)


def _order(data: str, item: str, distance: float, left: float, many: int) -> list[Row]:
    where = (data, item, None, None)
    facts = {"left": left, "distance": distance, "median": 1.0 + round(distance), "rows": float(many)}
    return [_row(where, "order", name, (value, None, None, many)) for name, value in facts.items()]


def causal(world: World = SHORT_BY_PLACE) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The same of a model that sees one side: a third of the rows to governors, two thirds to dependents."""
    table, manifest = dependencies(world)
    rows: list[Row] = []
    for data in world.treebanks:
        for item, (distance, _, many) in (RELATIONS | {"all": (2.9, 0.35, 5000)}).items():
            for side, share in zip(SIDES, (1 / 3, 2 / 3), strict=True):
                asked = round(share * many)
                facts = {"distance": distance + share, "median": 7.0, "rows": float(asked)}
                rows += [
                    _row((data, item, side, None), "order", name, (value, None, None, asked))
                    for name, value in facts.items()
                ]
                even = (0.31, 0.3, 0.32, asked // 2)
                rows.append(_row((data, item, side, "all"), "uniform shuffled", "accuracy", even))
    return pl.concat([table, frame(rows, PROBE)]), manifest | {"way": "causal"}


def _scores(world: World, where: tuple[str, ...], distance: float, many: int) -> list[Row]:
    far = distance - 1
    less = 0.9 if where[2] == "to dependent" else 1.0
    place = less * world.place * np.exp(-world.place_falls * far)
    content = less * world.content * np.exp(-world.content_falls * far)
    values = {"positional": place, "contextual": content, "full": min(0.97, 0.7 * place + 0.7 * content)}
    values |= {"offset": 0.98 * place, "uniform": 0.09, "shuffled": 0.5 * content}
    reach = 1.0 / np.sqrt(many)
    rows = [
        _row(where, kind, "accuracy", (value, max(0.0, value - reach), min(1.0, value + reach), many))
        for kind, value in values.items()
    ]
    for kind in ("full", "positional", "contextual"):
        gap = values[kind] - values["offset"]
        rows.append(_row(where, kind, "beyond offset", (gap, gap - reach, gap + reach, many)))
        rows.append(_row(where, kind, "p", (0.0004 if abs(gap) > reach else 0.4, None, None, many)))
    ahead = float(values["full"] - values["offset"] >= 0.1)
    return [*rows, _row(where, "full", "syntactic", (ahead, None, None, many))]


def _heads(data: str) -> list[Row]:
    rows = []
    for layer in range(LAYERS):
        for head in range(HEADS):
            share = ((layer * HEADS + head) * 0.37) % 1
            numbers = {"fixed offset": share, "confidence": 0.2 + 0.6 * share, "offset": 1.0}
            numbers |= {"with positional": share, "with contextual": 1 - share}
            for name, value in numbers.items():
                rows.append(_row((data, "", None, None), "full", name, (value, None, None, 400), (layer, head)))
    return rows


def _links(world: World) -> list[Row]:
    if len(world.treebanks) < 2:
        return []
    items = ("offset with positional", "contextual beyond positional with distance, by relation")
    return [_row((None, item, side, None), "link", "pearson", (0.8, 0.5, 0.93, 20)) for item in items for side in SIDES]


def _manifest(world: World) -> dict[str, Any]:
    chosen = [
        {"data": data, "item": item, "side": side, "kind": kind, "distance": "all"}
        | {"heads": [f"L{n % LAYERS}H{n % HEADS}", f"L{n % LAYERS}H{(n + (n % 3 == 0)) % HEADS}"], "offsets": []}
        for data in world.treebanks
        for side in SIDES
        for n, item in enumerate(["all", *RELATIONS])
        for kind in ("full", "positional", "contextual")
    ]
    chosen += [
        {"data": data, "item": item, "side": side, "kind": "offset", "distance": "all", "heads": [], "offsets": [1, -2]}
        for data in world.treebanks
        for side in SIDES
        for item in RELATIONS
    ]
    example = {
        "data": world.treebanks[0],
        "item": "nsubj",
        "side": "to head",
        "words": ["the", HOSTILE, "often", "sleeps"],
    }
    looked = {"full": 3, "positional": 2, "contextual": 3, "shuffled": 0}
    heads = {"full": "L1H1", "positional": "L0H2", "contextual": "L1H1", "shuffled": "L1H1"}
    claim = {
        "id": "short",
        "claim": "Place finds neighbours.",
        "published": "yes",
        "ours": "90 to 40",
        "verdict": "yes",
    }
    return {
        "probe": "dependencies",
        "model": {"id": "a <b>model</b>", "layers": LAYERS, "heads": LAYERS * HEADS},
        "way": "bidirectional",
        "split": "black-box",
        "data": [
            {"name": data, "source": f"{data}.conllu", "sentences": 400, "words": 6021, "merged": 12, "pieces": 8011}
            | {
                "removed": 740,
                "rows": {"to head": 5000, "to dependent": 5000},
                "hidden": {"to head": 0, "to dependent": 0},
            }
            | {
                "skipped": {"longer than the model allows": 7, "": 0},
                "left": 0.35,
                "distance": 2.9,
                "copied": ["the", "<i>"],
            }
            | {
                "dropped": [
                    {"item": "vocative", "side": "to head", "rows": 12},
                    {"item": "<i>", "side": "to head", "rows": 3},
                ]
            }
            for data in world.treebanks
        ],
        "chosen": chosen,
        "examples": [{**example, "from": 1, "to": 3, "looked": looked, "head": heads}],
        "notes": ["A <note>."],
        "claims": [claim],
        "settings": {"least": 100},
        "command": "wherewhat probe dependencies",
    }

"""Every relation in a table: what even attention, the best offset, place, content and full attention find of it."""

from collections.abc import Sequence

from wherewhat.report.numbers import MISSING, short
from wherewhat.report.page import Section
from wherewhat.report.probe_dependencies_tables import ALL, TITLES, Relations, Row, Where
from wherewhat.report.probe_told import per_cent, points, reaching, table
from wherewhat.report.published_heads import ANCHORS
from wherewhat.report.tags import Html, join, tag

LEAST_P = 0.001  # what is smaller is said to be
FULL, SHUFFLED, EVEN_SHUFFLED = "full", "shuffled", "uniform shuffled"
ANCHORED = "to head"  # the side that published numbers stand beside
Cells = list[object]


def relation_tables(found: Relations) -> Section:
    """All held-out numbers, treebank by treebank and side by side."""
    blocks = []
    for data, side in found.panels():
        name = side if len(found.treebanks) == 1 else f"{data}, {side}"
        opened = (data, side) == found.panels()[0]
        inner = _relation_table(found, data, side)
        blocks.append(tag("details", tag("summary", tag("bdi", name)), inner, open=opened, class_="treebank"))
    return Section("numbers", "Every relation", _lede(found), join(*blocks), short="Table")


def _lede(found: Relations) -> str:
    told = ["In per cent of rows, with 95 % intervals; the largest part in bold."]
    if found.parts:
        told.append(
            "p is about the difference to the best fixed offset: how probable it is if the signs of whole sentences' "
            "differences fell at random, corrected for the number of relations and sides (Holm)."
        )
    if FULL in found.parts:
        told.append(
            "Beyond offset: full attention minus the best fixed offset, in points. Syntactic, after Voita et al.: at "
            "least 10 points. BERT-base: best head / best offset as published by Clark et al. (2019) under their "
            "names for relations, on the Penn Treebank with other labels: a pattern to compare with, not a figure."
        )
    if _shuffled(found):
        heads = "the same heads" if FULL in found.parts else "heads chosen for it"
        told.append(f"Shuffled: {heads} when the words of each sentence stand in another order.")
        told += [
            "Only rows whose partner still stands before are asked there; even and rows beside it are theirs, in that "
            "order."
        ] * found.causal
    told += ["Left is about all governors, seen or not; distances are about the rows that are asked."] * found.causal
    return " ".join(told)


def _relation_table(found: Relations, data: str, side: str) -> Html:
    rows = [_relation_row(found, (data, item, side)) for item in [ALL, *found.relations(data, side)]]
    left = "left, of all" if found.causal else "left"
    headings = ["relation", "rows", left, "distance", "median", "even", "offset"]
    groups = [("", len(headings))]
    for part in found.parts:
        names = ["found", "beyond offset", "p", "syntactic", "head"] if part == FULL else ["found", "p"]
        headings += names
        groups.append((TITLES[part], len(names)))
    if _shuffled(found):
        names = ["found", "even", "rows"] if found.causal else ["found"]
        headings += names
        groups.append((TITLES[SHUFFLED], len(names)))
    if _anchored(found, side):
        headings.append("BERT-base")
        groups.append(("published", 1))
    return table(headings, rows, label=f"Every relation of {data}, {side}", groups=groups)


def _relation_row(found: Relations, where: Where) -> Cells:
    data, item, side = where
    best = max(
        (row["value"] for part in found.parts if (row := found.of(where, part)).get("value") is not None), default=None
    )
    at = found.offsets_of(data, item, side)
    offset = tag("span", f" at {_listed(at)}", class_="reach") if at else ""
    cells: Cells = [
        tag("bdi", item),
        _rows(found, where),
        per_cent(found.fact(data, item, "left")),
        short(found.fact(data, item, "distance", side)),
        short(found.fact(data, item, "median", side)),
        per_cent(found.of(where, "uniform").get("value")),
        join(per_cent(found.of(where, "offset").get("value")), offset),
    ]
    for part in found.parts:
        cells += _part(found, where, part, best)
    if _shuffled(found):
        even = found.of(where, EVEN_SHUFFLED)
        theirs = [per_cent(even.get("value")), _many(even.get("count"))] if found.causal else []
        cells += [per_cent(found.of(where, SHUFFLED).get("value")), *theirs]
    return cells + ([_anchor(item)] if _anchored(found, side) else [])


def _rows(found: Relations, where: Where) -> str:
    """How many rows were asked; where some partners cannot be seen, of how many."""
    data, item, side = where
    asked, every = found.fact(data, item, "rows", side), found.fact(data, item, "rows")
    asked = asked if asked is not None else found.of(where, "offset").get("count")
    return f"{_many(asked)} of {_many(every)}" if found.causal and every is not None else _many(asked)


def _many(rows: float | None) -> str:
    return MISSING if rows is None else f"{rows:,.0f}"


def _part(found: Relations, where: Where, part: str, best: float | None) -> Cells:
    """A share with its interval, the largest of the parts in bold, and how it stands to the best offset."""
    row, p = found.of(where, part), found.of(where, part, measure="p")
    value = row.get("value")
    told = join(per_cent(value), reaching(per_cent(row.get("low")), per_cent(row.get("high"))))
    share = tag("b", told) if value is not None and value == best else told
    if part != FULL:
        return [share, _p(p.get("value"))]
    data, item, side = where
    flag = found.of(where, FULL, measure="syntactic").get("value")
    syntactic = MISSING if flag is None else "yes" if flag else "no"
    heads = ", ".join(found.heads_of(data, item, side, FULL)) or MISSING
    return [share, _gap(found, where), _p(p.get("value")), syntactic, heads]


def _gap(found: Relations, where: Where) -> Html:
    row: Row = found.of(where, FULL, measure="beyond offset")
    told = join(points(row.get("value")), reaching(points(row.get("low")), points(row.get("high"))))
    return tag("span", told, class_=None if found.surely(where, FULL) else "unsure")


def _p(value: float | None) -> str:
    return f"< {LEAST_P:g}" if value is not None and value < LEAST_P else short(value)


def _listed(offsets: Sequence[int]) -> str:
    return "/".join(f"{one:+d}".replace("-", "−") for one in offsets)


def _shuffled(found: Relations) -> bool:
    return SHUFFLED in set(found.held["kind"])


def _anchored(found: Relations, side: str) -> bool:
    """Whether published numbers stand beside: of the side they are about, and where full attention was read."""
    return side == ANCHORED and FULL in found.parts


def _anchor(item: str) -> str:
    """What was published of a relation, under the name it had there."""
    if item not in ANCHORS:
        return MISSING
    name, head, offset = ANCHORS[item]
    return f"{name} {head:.1f} / {offset:.1f}"

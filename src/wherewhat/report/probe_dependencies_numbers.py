"""Every relation in a table: the accuracy of uniform attention, the best offset, place, content and full attention."""

from collections.abc import Sequence

from wherewhat.formatting import MISSING, short
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.report.page import Section
from wherewhat.report.probe_dependencies_tables import ALL, TITLES, RelationTables, Row, Where
from wherewhat.report.probe_sections import per_cent, points, reaching, table
from wherewhat.report.tags import Html, join, tag

LEAST_P = 0.001  # a smaller p is written so
FULL, SHUFFLED, UNIFORM_SHUFFLED = "full", "shuffled", "uniform shuffled"
ANCHORED = "to head"  # the side of the published numbers
Cells = list[object]


def relation_tables(scores: RelationTables) -> Section:
    """All held-out numbers, treebank by treebank and side by side."""
    blocks = []
    for data, side in scores.panels():
        name = side if len(scores.treebanks) == 1 else f"{data}, {side}"
        opened = (data, side) == scores.panels()[0]
        inner = _relation_table(scores, data, side)
        blocks.append(tag("details", tag("summary", tag("bdi", name)), inner, open=opened, class_="treebank"))
    return Section("numbers", "Every relation", _lede(scores), join(*blocks), short="Table")


def _lede(scores: RelationTables) -> str:
    sentences = ["In per cent of rows, with 95 % intervals; the most accurate part in bold."]
    if scores.parts:
        sentences.append(
            "p is about the difference to the best fixed offset: how probable it is if the signs of whole sentences' "
            "differences were random, with Holm's correction over relations and sides."
        )
    if FULL in scores.parts:
        sentences.append(
            "Beyond offset: full attention minus the best fixed offset, in points. Syntactic, after Voita et al.: at "
            "least 10 points. BERT-base: best head / best offset as published by Clark et al. (2019) under their "
            "names for relations, on the Penn Treebank with other labels: a pattern to compare with, not a figure."
        )
    if _shuffled(scores):
        heads = "the same heads" if FULL in scores.parts else "heads chosen for it"
        sentences.append(f"Shuffled: {heads} when the words of each sentence are in another order.")
        sentences += [
            "There, only rows whose partner still comes before are scored; uniform and rows beside it are of these "
            "rows in that order."
        ] * scores.causal
    sentences += [
        "Left is about all head words, visible or not; distances are about the rows that are scored."
    ] * scores.causal
    return " ".join(sentences)


def _relation_table(scores: RelationTables, data: str, side: str) -> Html:
    rows = [_relation_row(scores, (data, item, side)) for item in [ALL, *scores.relations(data, side)]]
    left = "left, of all" if scores.causal else "left"
    headings = ["relation", "rows", left, "distance", "median", "uniform", "offset"]
    groups = [("", len(headings))]
    for part in scores.parts:
        names = ["found", "beyond offset", "p", "syntactic", "head"] if part == FULL else ["found", "p"]
        headings += names
        groups.append((TITLES[part], len(names)))
    if _shuffled(scores):
        names = ["found", "uniform", "rows"] if scores.causal else ["found"]
        headings += names
        groups.append((TITLES[SHUFFLED], len(names)))
    if _anchored(scores, side):
        headings.append("BERT-base")
        groups.append(("published", 1))
    return table(headings, rows, label=f"Every relation of {data}, {side}", groups=groups)


def _relation_row(scores: RelationTables, where: Where) -> Cells:
    data, item, side = where
    best = max(
        (row["value"] for part in scores.parts if (row := scores.of(where, part)).get("value") is not None),
        default=None,
    )
    at = scores.offsets_of(data, item, side)
    offset = tag("span", f" at {_listed(at)}", class_="reach") if at else ""
    cells: Cells = [
        tag("bdi", item),
        _rows(scores, where),
        per_cent(scores.fact(data, item, "left")),
        short(scores.fact(data, item, "distance", side)),
        short(scores.fact(data, item, "median", side)),
        per_cent(scores.of(where, "uniform").get("value")),
        join(per_cent(scores.of(where, "offset").get("value")), offset),
    ]
    for part in scores.parts:
        cells += _part(scores, where, part, best)
    if _shuffled(scores):
        even = scores.of(where, UNIFORM_SHUFFLED)
        theirs = [per_cent(even.get("value")), _many(even.get("count"))] if scores.causal else []
        cells += [per_cent(scores.of(where, SHUFFLED).get("value")), *theirs]
    return cells + ([_anchor(item)] if _anchored(scores, side) else [])


def _rows(scores: RelationTables, where: Where) -> str:
    """How many rows were scored; where some partners are not visible, of how many."""
    data, item, side = where
    scored, every = scores.fact(data, item, "rows", side), scores.fact(data, item, "rows")
    scored = scored if scored is not None else scores.of(where, "offset").get("count")
    return f"{_many(scored)} of {_many(every)}" if scores.causal and every is not None else _many(scored)


def _many(rows: float | None) -> str:
    return MISSING if rows is None else f"{rows:,.0f}"


def _part(scores: RelationTables, where: Where, part: str, best: float | None) -> Cells:
    """A share with its interval, the most accurate part in bold, and how it compares with the best offset."""
    row, p = scores.of(where, part), scores.of(where, part, measure="p")
    value = row.get("value")
    accuracy = join(per_cent(value), reaching(per_cent(row.get("low")), per_cent(row.get("high"))))
    share = tag("b", accuracy) if value is not None and value == best else accuracy
    if part != FULL:
        return [share, _p(p.get("value"))]
    data, item, side = where
    flag = scores.of(where, FULL, measure="syntactic").get("value")
    syntactic = MISSING if flag is None else "yes" if flag else "no"
    heads = ", ".join(scores.heads_of(data, item, side, FULL)) or MISSING
    return [share, _gap(scores, where), _p(p.get("value")), syntactic, heads]


def _gap(scores: RelationTables, where: Where) -> Html:
    row: Row = scores.of(where, FULL, measure="beyond offset")
    gap = join(points(row.get("value")), reaching(points(row.get("low")), points(row.get("high"))))
    return tag("span", gap, class_=None if scores.surely(where, FULL) else "unsure")


def _p(value: float | None) -> str:
    return f"< {LEAST_P:g}" if value is not None and value < LEAST_P else short(value)


def _listed(offsets: Sequence[int]) -> str:
    return "/".join(f"{offset:+d}".replace("-", "−") for offset in offsets)


def _shuffled(scores: RelationTables) -> bool:
    return SHUFFLED in set(scores.held_out["kind"])


def _anchored(scores: RelationTables, side: str) -> bool:
    """Whether there are published numbers: for their side, and where full attention was read."""
    return side == ANCHORED and FULL in scores.parts


def _anchor(item: str) -> str:
    """What was published of a relation, under the name it had there."""
    if item not in ANCHORS:
        return MISSING
    name, head, offset = ANCHORS[item]
    return f"{name} {head:.1f} / {offset:.1f}"

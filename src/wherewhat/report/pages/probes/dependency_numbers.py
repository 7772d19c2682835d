"""The tables of dependency relations: every relation with all its numbers, and treebanks side by side."""

from collections.abc import Sequence

from wherewhat.formatting import MISSING, interval, short
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.report.blocks.layout import folded, note
from wherewhat.report.blocks.numbers import capital, in_points, per_cent, small_interval
from wherewhat.report.blocks.relations import TITLES
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Section
from wherewhat.report.pages.probes.relation_tables import ALL, RelationTables, Where

LEAST_P = 0.001  # a smaller p is written so
FULL, SHUFFLED, UNIFORM_SHUFFLED = "full", "shuffled", "uniform shuffled"
ANCHORED = "to head"  # the side of the published numbers
Cells = list[object]


def every_relation(scores: RelationTables) -> Section:
    """All held-out numbers, treebank by treebank and side by side."""
    blocks = []
    for data, side in scores.panels:
        name = side if len(scores.treebanks) == 1 else f"{data}, {side}"
        opened = (data, side) == scores.panels[0]
        blocks.append(folded(tag("bdi", name), _relation_table(scores, data, side), opened=opened))
    shuffled = SHUFFLED in set(scores.held_out["kind"])
    heads = "the same heads" if FULL in scores.parts else "heads chosen for it"
    sentences = [
        (True, "In per cent of rows, with 95 % intervals; the most accurate part in bold."),
        (
            bool(scores.parts),
            "p is about the difference to the best fixed offset: how probable it is if the signs of whole sentences' "
            "differences were random, with Holm's correction over relations and sides.",
        ),
        (
            FULL in scores.parts,
            "Beyond offset: full attention minus the best fixed offset, in points. Syntactic, after Voita et al.: at "
            "least 10 points. BERT-base: best head / best offset as published by Clark et al. (2019) under their names "
            "for relations, on the Penn Treebank with other labels: a pattern to compare with, not a figure.",
        ),
        (shuffled, f"Shuffled: {heads} when the words of each sentence are in another order."),
        (
            shuffled and scores.causal,
            "There, only rows whose partner still comes before are scored; uniform and rows beside it are of these "
            "rows in that order.",
        ),
        (
            scores.causal,
            "Left is about all head words, visible or not; distances are about the rows that are scored.",
        ),
    ]
    lede = " ".join(sentence for holds, sentence in sentences if holds)
    return Section("numbers", "Every relation", lede, join(*blocks), short="Table")


def _relation_table(scores: RelationTables, data: str, side: str) -> Html:
    """Groups of columns, each with its headings and the cells of a relation."""
    shuffled, anchored = SHUFFLED in set(scores.held_out["kind"]), side == ANCHORED and FULL in scores.parts
    facts = ["relation", "rows", "left, of all" if scores.causal else "left", "distance", "median", "uniform", "offset"]
    of_full = ["found", "beyond offset", "p", "syntactic", "head"]
    groups = [("", facts), *((TITLES[part], of_full if part == FULL else ["found", "p"]) for part in scores.parts)]
    groups += [(TITLES[SHUFFLED], ["found", "uniform", "rows"] if scores.causal else ["found"])] if shuffled else []
    groups += [("published", ["BERT-base"])] if anchored else []
    rows = []
    for item in (ALL, *scores.relations(data, side)):
        where = (data, item, side)
        cells = [*_facts(scores, where), *(cell for part in scores.parts for cell in _part(scores, where, part))]
        if shuffled:
            even = scores.of(where, UNIFORM_SHUFFLED)
            cells.append(per_cent(scores.of(where, SHUFFLED).get("value")))
            cells += [per_cent(even.get("value")), _many(even.get("count"))] if scores.causal else []
        if anchored:
            cells.append("{} {:.1f} / {:.1f}".format(*ANCHORS[item]) if item in ANCHORS else MISSING)
        rows.append(cells)
    headings = [name for _, names in groups for name in names]
    over = [(title, len(names)) for title, names in groups]
    return table(headings, rows, label=f"Every relation of {data}, {side}", groups=over)


def _facts(scores: RelationTables, where: Where) -> Cells:
    """How often a relation occurs and where its partner is, and what uniform attention and the best offset find."""
    data, item, side = where
    scored, every = scores.fact(data, item, "rows", side), scores.fact(data, item, "rows")
    scored = scored if scored is not None else scores.of(where, "offset").get("count")
    offsets = "/".join(f"{offset:+d}".replace("-", "−") for offset in scores.offsets_of(where))
    return [
        tag("bdi", item),
        f"{_many(scored)} of {_many(every)}" if scores.causal and every is not None else _many(scored),
        per_cent(scores.fact(data, item, "left")),
        short(scores.fact(data, item, "distance", side)),
        short(scores.fact(data, item, "median", side)),
        per_cent(scores.of(where, "uniform").get("value")),
        join(
            per_cent(scores.of(where, "offset").get("value")),
            tag("span", f" at {offsets}", class_="reach") if offsets else None,
        ),
    ]


def _many(rows: float | None) -> str:
    return MISSING if rows is None else f"{rows:,.0f}"


def _part(scores: RelationTables, where: Where, part: str) -> Cells:
    """A share with its interval, the most accurate part in bold, and how it compares with the best offset."""
    row, p = scores.of(where, part), scores.of(where, part, measure="p").get("value")
    cell = join(per_cent(row.get("value")), small_interval(per_cent(row.get("low")), per_cent(row.get("high"))))
    share = _in_bold(cell, row.get("value"), [scores.of(where, each).get("value") for each in scores.parts])
    p_value = f"< {LEAST_P:g}" if p is not None and p < LEAST_P else short(p)
    if part != FULL:
        return [share, p_value]
    beyond, flag = (scores.of(where, FULL, measure=measure) for measure in ("beyond offset", "syntactic"))
    value, low, high = (in_points(beyond.get(end)) for end in ("value", "low", "high"))
    gap = tag("span", value, small_interval(low, high), class_=None if scores.surely(where, FULL) else "unsure")
    syntactic = {None: MISSING, 0: "no", 1: "yes"}[flag.get("value")]
    return [share, gap, p_value, syntactic, ", ".join(scores.heads_of(where, FULL)) or MISSING]


def _in_bold(cell: object, value: float | None, values: Sequence[float | None]) -> object:
    """A cell, in bold if its value is the largest of those that are known."""
    return tag("b", cell) if value is not None and value == max(each for each in values if each is not None) else cell


def side_by_side(scores: RelationTables) -> Section | None:
    """Relation by relation, treebanks side by side, with facts about their word order; and correlations."""
    if len(scores.treebanks) < 2:
        return None
    blocks = [
        folded(capital(side), _treebank_table(scores, side), opened=side == scores.sides[0]) for side in scores.sides
    ]
    lede = (
        "The same relations in every treebank: how many head words are to the left, how far away they are, and the "
        "accuracy of the best fixed offset and of each part of attention, in per cent of rows."
    )
    if scores.causal:
        lede += " Left is about all head words, visible or not; distance is about the rows that are scored."
    body = join(*blocks, _better(scores), _links(scores))
    return Section("treebanks", "Treebanks side by side", lede, body, short="Treebanks")


def _treebank_table(scores: RelationTables, side: str) -> Html:
    """A line per relation, with a group of columns for each treebank."""
    parts = [TITLES[part] for part in scores.parts]
    names = ["left, of all" if scores.causal else "left", "distance", "offset", *parts]
    reported = {item for data in scores.treebanks for item in scores.relations(data, side)}
    rows = []
    for item in (ALL, *(item for item in scores.everywhere if item in reported)):
        cells: Cells = [tag("bdi", item)]
        for data in scores.treebanks:
            offset, *shares = (scores.of((data, item, side), kind).get("value") for kind in ("offset", *scores.parts))
            cells += [per_cent(scores.fact(data, item, "left")), short(scores.fact(data, item, "distance", side))]
            cells += [per_cent(offset), *(_in_bold(per_cent(share), share, shares) for share in shares)]
        rows.append(cells)
    groups = [("", 1), *((data, len(names)) for data in scores.treebanks)]
    return table(
        ["relation", *names * len(scores.treebanks)],
        rows,
        label=f"Relations {side}, treebanks side by side",
        groups=groups,
    )


def _better(scores: RelationTables) -> Html:
    """For how many relations of each treebank a part of attention is clearly better than the best fixed offset."""
    rows = []
    for data, side in scores.panels:
        items = scores.relations(data, side)
        better = scores.winners(data, side, items)
        rows.append([join(tag("bdi", data), f", {side}"), str(len(items)), *map(str, better.values())])
    title = tag("h3", "Clearly better than the best fixed offset", class_="of-kind")
    headings = ["treebank", "relations", *(TITLES[part] for part in scores.parts)]
    return join(title, table(headings, rows, label="Relations where attention is clearly better than the best offset"))


def _links(scores: RelationTables) -> Html | None:
    """Correlations over treebanks, with the number of points."""
    rows = []
    for link in scores.table.filter(kind="link").iter_rows(named=True):
        words = " ".join(TITLES.get(word, word) for word in link["item"].split(" "))
        many = MISSING if link["count"] is None else f"{link['count']:,}"
        between = interval(link["low"], link["high"]) or MISSING
        rows.append([", ".join(filter(None, (words, link["side"]))), short(link["value"]), between, many])
    if not rows:
        return None
    return join(
        tag("h3", "Correlations", class_="of-kind"),
        note("Pearson's correlation with its 95 % interval, and the number of points."),
        table(["between", "correlation", "95 % interval", "points"], rows, label="Correlations over treebanks"),
    )

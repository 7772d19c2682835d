"""The page of `wherewhat probe dependencies`: which relations attention finds by position, by content and by both."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import Number, count
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.probe_dependencies_charts import ROW, charts_of
from wherewhat.report.probe_dependencies_numbers import relation_tables
from wherewhat.report.probe_dependencies_tables import (
    ALL,
    EACH,
    LEVELS,
    OF_HEADS,
    TITLES,
    RelationTables,
    share_in_words,
    tables_of,
    winners,
)
from wherewhat.report.probe_relations import across_treebanks, in_sentences, which_heads
from wherewhat.report.probe_sections import claims_of, facts_of, key, notes, per_cent, table, the_data
from wherewhat.report.provenance import provenance_section
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.probe import ProbeManifest

QUESTIONS = {
    "to head": "From a word, is its head word found?",
    "to dependent": "From a head word, is its dependent found?",
}
PARTNERS = {"to head": "The head word of a word", "to dependent": "The dependent of a head word"}


def page_of_dependencies(table: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """What heads find, by distance, by relation, by head and by treebank."""
    scores = RelationTables(table, manifest)
    if scores.held_out.is_empty() or not scores.treebanks:
        raise UserError("the table of the probe has no relations; run `wherewhat probe dependencies` again")
    sections = [
        together(scores),
        distances(scores),
        claims_of(manifest),
        relations(scores),
        across_treebanks(scores),
        which_heads(scores),
        in_sentences(scores),
        relation_tables(scores),
        the_data(manifest),
        provenance_section(manifest, model=manifest.model, layers=manifest.layers),
    ]
    numbers = tables_of(scores)
    charts = charts_of(max([1, *(head + 1 for head in numbers["grid"]["head"])]))
    return Page(
        title=manifest.model.id,
        kind=f"Probe: dependency relations in {_treebanks(scores)}",
        lede="Some related words can be found by their places, others only by their content. "
        f"Which relations does attention find{_by(scores)}?",
        facts=[*facts_of(manifest), *([(str(len(scores.everywhere)), "relations")] if scores.everywhere else [])],
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(scores, charts, numbers),
    )


def _by(scores: RelationTables) -> str:
    """The parts of attention, in the words of a question."""
    by = {"positional": "by position alone", "contextual": "by content alone", "full": "as it is"}
    parts = [by[part] for part in scores.parts]
    last = ", and " if len(parts) > 2 else " and "
    return f" {last.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}" if parts else ""


def together(scores: RelationTables) -> Section | None:
    """Where sentences are few: the accuracy of one head for all relations together, and why there is no more."""
    if all(scores.near_and_far(*where) for where in scores.panels()):
        return None
    rows = []
    for data, side in scores.panels():
        by_kind = {kind: scores.of((data, ALL, side), kind) for kind in (*reversed(scores.parts), *LEVELS)}
        for kind, row in by_kind.items():
            if row.get("value") is not None:
                where = side if len(scores.treebanks) == 1 else join(tag("bdi", data), f", {side}")
                rows.append([where, TITLES[kind], per_cent(row["value"]), _between(row), f"{row['count'] or 0:,}"])
    if not rows:
        return None
    limits = [too_few(scores, *where) for where in scores.panels() if not scores.near_and_far(*where)]
    table_ = table(["side", "by", "found, %", "95 % interval", "rows"], rows, label="All relations together")
    body = join(table_, notes(_one_sided(scores), *dict.fromkeys(limits)))
    return Section("together", "All relations together", _in_short(scores), body, short="Together")


def _between(row: Mapping[str, Any]) -> str:
    """An interval in per cent; nothing where there is none."""
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return ""
    return Number(f"{per_cent(low)} to {per_cent(high)}", 100 * low, 100 * high)


def _in_short(scores: RelationTables) -> str:
    """The main result, in sentences."""
    sentences = []
    for data, side in scores.panels():
        parts = [part for part in reversed(scores.parts) if scores.of((data, ALL, side), part).get("value") is not None]
        if not parts:
            continue
        first, *others = (scores.of((data, ALL, side), part) for part in parts)
        rows = count(first.get("count") or 0, "row")
        own = [f"in {share_in_words({**first, 'count': None})} of {rows} by {TITLES[parts[0]]}"]
        own += [f"in {per_cent(row['value'])} % by {TITLES[part]}" for part, row in zip(parts[1:], others, strict=True)]
        offset = scores.of((data, ALL, side), "offset").get("value")
        beside = "" if offset is None else f"; the best fixed offset finds {per_cent(offset)} %"
        where = (
            f"In {data}, {PARTNERS[side][0].lower()}{PARTNERS[side][1:]}"
            if len(scores.treebanks) > 1
            else PARTNERS[side]
        )
        sentences.append(f"{where} is found {', '.join(own)}{beside}.")
    how = f"Found means that the largest weight is on it, with one head for all relations. {_choice(scores)}"
    return f"{' '.join(sentences)} {how} Intervals are over sentences. {_parts(scores)}".strip()


def distances(scores: RelationTables) -> Section | None:
    """The main chart: near and far partners."""
    if not any(scores.near_and_far(*where) for where in scores.panels()):
        return None
    layout = "two" if len(scores.treebanks) == 1 else "cards"
    charts = tag("div", *(_near_and_far(scores, side) for side in scores.sides), class_=layout)
    lede = (
        "The share of rows whose largest weight is on the right word, by the distance of that word. Every relation is "
        f"scored with its own best head over all distances. {_choice(scores)} Bars are 95 % intervals "
        f"over sentences. {_parts(scores)}The best fixed offset is also chosen for each relation{_reach(scores)}."
    )
    body = join(charts, _key(scores, lines=True), notes(_one_sided(scores)))
    return Section("distance", "Near and far", lede, body, short="Distance")


def _near_and_far(scores: RelationTables, side: str) -> Html:
    """One side: a chart for each treebank."""
    if len(scores.treebanks) == 1:
        chart = _distance_chart(scores, scores.treebanks[0], side)
        return panel(tag("h3", _first_upper(side)), chart, notes(QUESTIONS[side]))
    charts = [tag("div", tag("h4", tag("bdi", data)), _distance_chart(scores, data, side)) for data in scores.treebanks]
    return panel(
        tag("h3", _first_upper(side)), notes(QUESTIONS[side]), tag("div", *charts, class_="multiples languages")
    )


def _parts(scores: RelationTables) -> str:
    """What the parts of attention are."""
    what = {"positional": "attention on one repeated word", "contextual": "attention averaged over permutations"}
    parts = [f"{TITLES[part]} is {its}" for part, its in what.items() if part in scores.parts]
    named = _first_upper("; ".join(parts))
    how = "black-box: measured on other inputs, not computed from the model's weights"
    return f"{named} ({how}). " if parts else ""


def _choice(scores: RelationTables) -> str:
    """On which sentences heads were chosen."""
    same = scores.manifest.settings.get("selection") == "same"
    if same:
        return "Heads were chosen on the same sentences, as in earlier work, so the numbers are too high."
    return "Each half of the sentences is scored with the head that the other half chose."


def _first_upper(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _reach(scores: RelationTables) -> str:
    """The range of the fixed offsets."""
    offsets = scores.manifest.settings.get("offsets") or ()
    return f", out of {min(offsets)} to +{max(offsets)}".replace("-", "−") if offsets else ""


def _one_sided(scores: RelationTables) -> str:
    """That a causal model is scored only on visible partners, and on how many rows."""
    if scores.manifest.way != "causal":
        return ""
    sources = scores.manifest.data
    scored = sum(sum(source.rows.values()) for source in sources)
    unseen = sum(sum(source.hidden.values()) for source in sources)
    left = f" ({scored:,} of {scored + unseen:,} rows)" if unseen else ""
    return (
        f"Each word of this model sees only the words before it, so only such partners are scored{left}. Do not "
        "compare this with a model that sees both sides. Facts about a whole treebank (left, distance, median) are "
        "about all head words."
    )


def too_few(scores: RelationTables, data: str, side: str) -> str:
    """Why there is nothing to draw, and what would help."""
    least = scores.manifest.settings.get("least")
    needed = f"{least:,} rows" if least else "enough rows"
    help = "Read more sentences, or give a smaller `--least`."
    if scores.relations(data, side):
        return f"Too few rows: all relations together have fewer than {needed} at every distance. {help}"
    dropped = [
        (relation.rows, relation.item)
        for source in scores.manifest.data
        for relation in source.dropped
        if source.name == data and relation.side == side
    ]
    most = f"; the most frequent, {max(dropped)[1]}, has {max(dropped)[0]:,}" if dropped else ""
    return f"Too few rows: no relation has {needed} {side} in both halves of the sentences{most}. {help}"


def _distance_chart(scores: RelationTables, data: str, side: str) -> Html:
    if not scores.near_and_far(data, side):
        return notes(too_few(scores, data, side))
    words = {"panel": scores.panel(data, side)}
    height = 300 if len(scores.treebanks) == 1 else 220
    return chart_widget("distances", _in_words(scores, data, side), height=height, words=words)


def _in_words(scores: RelationTables, data: str, side: str) -> str:
    """What the chart shows, for those who cannot see it."""
    lines = []
    for kind in (*scores.parts, *LEVELS):
        rows = {far: scores.of((data, EACH, side), kind, distance=far) for far in scores.near_and_far(data, side)}
        its = [
            f"{far.replace('-', '–')}: {share_in_words(row)}"
            for far, row in rows.items()
            if row.get("value") is not None
        ]
        lines += [f"{TITLES[kind]} at distance {'; '.join(its)}"] if its else []
    return f"Share found by distance, {side}, in {data}. {'. '.join(lines)}."


def relations(scores: RelationTables) -> Section | None:
    """One line per relation, the two sides beside each other; nothing where no relation has enough rows."""
    if not scores.everywhere:
        return None
    groups = []
    for data in scores.treebanks:
        charts = [panel(tag("h3", _first_upper(side)), _relation_chart(scores, data, side)) for side in scores.sides]
        both = tag("div", *charts, class_="two")
        groups.append(both if len(scores.treebanks) == 1 else _folded(scores, data, both))
    counts = " ".join(filter(None, (_counted(scores, *where) for where in scores.panels())))
    several = f"How many are clearly better in each of {count(len(scores.treebanks), 'treebank')} is written below it."
    lede = (
        "From relations between neighbours to distant ones. The vertical mark is the best fixed offset, with its "
        "interval as a band: the accuracy of always attending the same number of words away. The thin mark is uniform "
        f"attention. {counts if len(scores.treebanks) == 1 else several}"
    )
    return Section("relations", "Relation by relation", lede.strip(), join(*groups, _key(scores)), short="Relations")


def _relation_chart(scores: RelationTables, data: str, side: str) -> Html:
    many = len(scores.relations(data, side))
    if not many:
        return notes(too_few(scores, data, side))
    words, counted = {"panel": scores.panel(data, side)}, _counted(scores, data, side)
    label = counted or f"Relation by relation, {side}, in {data}."
    chart = chart_widget("relations", label, height=ROW * many + 8, words=words)
    return chart if len(scores.treebanks) == 1 else join(chart, notes(counted))


def _counted(scores: RelationTables, data: str, side: str) -> str:
    """For how many relations each part is clearly better than the offset; nothing where there are none."""
    items = scores.relations(data, side)
    won = winners(scores, data, side, items)
    if not items or not won:
        return ""
    each = ", ".join(f"{TITLES[part]} for {won[part]}" for part in reversed(scores.parts))
    where = f" in {data}" if len(scores.treebanks) > 1 else ""
    return f"Of {count(len(items), 'relation')} {side}{where}, clearly better than the best fixed offset: {each}."


def _folded(scores: RelationTables, data: str, body: Html) -> Html:
    opened = data == scores.treebanks[0]
    return tag("details", tag("summary", tag("bdi", data)), body, open=opened, class_="treebank")


def _key(scores: RelationTables, *, lines: bool = False) -> Html:
    look = "mark-line" if lines else "mark"
    entries = [(f"{look} {part}", TITLES[part]) for part in reversed(scores.parts)]
    levels = [(f"level {name} {'flat' if lines else 'upright'}", TITLES[name]) for name in LEVELS]
    return key(*entries, *levels)


def _treebanks(scores: RelationTables) -> str:
    if len(scores.treebanks) > 3:
        return count(len(scores.treebanks), "treebank")
    return ", ".join(scores.treebanks)


def _figures(scores: RelationTables, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    """The charts as pictures, one for each treebank and side."""
    made: dict[str, Figure] = {}
    shapes = {"full": "circle", "positional": "square", "contextual": "triangle"}
    marks = [f"{shape} {TITLES[part]}" for part, shape in shapes.items() if part in scores.parts]
    legend = ", ".join([*marks, "grey the best fixed offset"])
    for data, side in scores.panels():
        name, words = f"{scores.treebanks.index(data)}_{side.replace(' ', '_')}", {"panel": scores.panel(data, side)}
        if scores.near_and_far(data, side):
            spec = titled(charts["distances"], f"{data}, {side}: near and far", legend)
            made[f"distance_{name}"] = figure_of(spec, numbers, (560, 340), words)
        if many := len(scores.relations(data, side)):
            spec = titled(charts["relations"], f"{data}, {side}: relation by relation", legend)
            made[f"relations_{name}"] = figure_of(spec, numbers, (560, ROW * many + 8), words)
    shown = [measure for measure in OF_HEADS if measure in numbers["grid"]["measure"]][:1]
    for measure in shown:
        spec = titled(charts["grid"], f"{scores.treebanks[0]}: what each head is best for, {scores.sides[0]}")
        words = {"panel": scores.panel(scores.treebanks[0], scores.sides[0]), "measure": measure}
        made["heads"] = figure_of(spec, numbers, (720, 60 + 34 * len(set(numbers["grid"]["layer"]))), words)
    return made

"""The page of `wherewhat probe dependencies`: which relations attention finds by place, by content and by both."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import Number, count
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.probe_dependencies_charts import ROW, charts_of
from wherewhat.report.probe_dependencies_numbers import relation_tables
from wherewhat.report.probe_dependencies_tables import (
    ALL,
    EACH,
    LEVELS,
    OF_HEADS,
    TITLES,
    Relations,
    said,
    tables_of,
    winners,
)
from wherewhat.report.probe_relations import across_treebanks, in_sentences, which_heads
from wherewhat.report.probe_told import claims_of, facts_of, key, model_of, notes, per_cent, table, the_data
from wherewhat.report.tags import Html, join, tag

ASKED = {
    "to head": "From a word, is its governor found?",
    "to dependent": "From a governor, is the word that depends on it found?",
}
SOUGHT = {"to head": "The governor of a word", "to dependent": "The word that depends on a governor"}


def page_of_dependencies(table: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what heads find, by distance, by relation, by head and by treebank."""
    found = Relations(table, manifest)
    if found.held.is_empty() or not found.treebanks:
        raise UserError("the table of the probe has no relations to show; run `wherewhat probe dependencies` again")
    sections = [
        together(found),
        distances(found),
        claims_of(manifest),
        relations(found),
        across_treebanks(found),
        which_heads(found),
        in_sentences(found),
        relation_tables(found),
        the_data(manifest),
        how_it_was_made(manifest),
    ]
    numbers = tables_of(found)
    charts = charts_of(max([1, *(head + 1 for head in numbers["grid"]["head"])]))
    return Page(
        title=model_of(manifest),
        kind=f"Probe: dependency relations in {_treebanks(found)}",
        lede="Which words belong together can often be told from where they stand, sometimes only from what they are. "
        f"Which relations does attention find{_by(found)}?",
        facts=[*facts_of(manifest), *([(str(len(found.everywhere)), "relations")] if found.everywhere else [])],
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(found, charts, numbers),
    )


def _by(found: Relations) -> str:
    """What attention was left with, in the words of a question."""
    by = {"positional": "by place alone", "contextual": "by content alone", "full": "as it is"}
    told = [by[part] for part in found.parts]
    last = ", and " if len(told) > 2 else " and "
    return f" {last.join(filter(None, (', '.join(told[:-1]), told[-1])))}" if told else ""


def together(found: Relations) -> Section | None:
    """Where sentences are few: what one head finds of all relations together, and below it what could not be told."""
    if all(found.near_and_far(*one) for one in found.panels()):
        return None
    rows = []
    for data, side in found.panels():
        asked = {kind: found.of((data, ALL, side), kind) for kind in (*reversed(found.parts), *LEVELS)}
        for kind, row in asked.items():
            if row.get("value") is not None:
                where = side if len(found.treebanks) == 1 else join(tag("bdi", data), f", {side}")
                rows.append([where, TITLES[kind], per_cent(row["value"]), _between(row), f"{row['count'] or 0:,}"])
    if not rows:
        return None
    limits = [too_few(found, *one) for one in found.panels() if not found.near_and_far(*one)]
    table_ = table(["asked", "by", "found, %", "95 % interval", "rows"], rows, label="All relations together")
    body = join(table_, notes(_one_sided(found), *dict.fromkeys(limits)))
    return Section("together", "All relations together", _in_short(found), body, short="Together")


def _between(row: Mapping[str, Any]) -> str:
    """An interval in per cent; nothing where there is none."""
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return ""
    return Number(f"{per_cent(low)} to {per_cent(high)}", 100 * low, 100 * high)


def _in_short(found: Relations) -> str:
    """What was found, before anything else is said."""
    told = []
    for data, side in found.panels():
        parts = [part for part in reversed(found.parts) if found.of((data, ALL, side), part).get("value") is not None]
        if not parts:
            continue
        first, *others = (found.of((data, ALL, side), part) for part in parts)
        rows = count(first.get("count") or 0, "row")
        own = [f"in {said({**first, 'count': None})} of {rows} by {TITLES[parts[0]]}"]
        own += [f"in {per_cent(row['value'])} % by {TITLES[part]}" for part, row in zip(parts[1:], others, strict=True)]
        offset = found.of((data, ALL, side), "offset").get("value")
        beside = "" if offset is None else f"; the best fixed offset finds {per_cent(offset)} %"
        where = f"In {data}, {SOUGHT[side][0].lower()}{SOUGHT[side][1:]}" if len(found.treebanks) > 1 else SOUGHT[side]
        told.append(f"{where} is found {', '.join(own)}{beside}.")
    how = f"Found means that the largest weight falls on it, with one head for all relations. {_choice(found)}"
    return f"{' '.join(told)} {how} Intervals are over sentences. {_parts(found)}".strip()


def distances(found: Relations) -> Section | None:
    """The main chart: near and far partners."""
    if not any(found.near_and_far(*one) for one in found.panels()):
        return None
    layout = "two" if len(found.treebanks) == 1 else "cards"
    charts = tag("div", *(_near_and_far(found, side) for side in found.sides), class_=layout)
    lede = (
        "How often the largest weight falls on the right word, by how far away that word is: every relation by the "
        f"best head of its own, whatever the distance, all counted together. {_choice(found)} Bars are 95 % intervals "
        f"over sentences. {_parts(found)}The best fixed offset is chosen for each relation too{_reach(found)}."
    )
    body = join(charts, _key(found, lines=True), notes(_one_sided(found)))
    return Section("distance", "Near and far", lede, body, short="Distance")


def _near_and_far(found: Relations, side: str) -> Html:
    """One side: a chart for each treebank."""
    if len(found.treebanks) == 1:
        chart = _distance_chart(found, found.treebanks[0], side)
        return panel(tag("h3", _first_upper(side)), chart, notes(ASKED[side]))
    charts = [tag("div", tag("h4", tag("bdi", data)), _distance_chart(found, data, side)) for data in found.treebanks]
    return panel(tag("h3", _first_upper(side)), notes(ASKED[side]), tag("div", *charts, class_="multiples languages"))


def _parts(found: Relations) -> str:
    """What the parts of attention are."""
    what = {"positional": "attention among copies of one word", "contextual": "attention averaged over other orders"}
    told = [f"{TITLES[part]} is {its}" for part, its in what.items() if part in found.parts]
    named = _first_upper("; ".join(told))
    how = "black-box: measured on other inputs, not taken out of the model's weights"
    return f"{named} ({how}). " if told else ""


def _choice(found: Relations) -> str:
    """On which sentences heads were chosen."""
    same = (found.manifest.get("settings") or {}).get("selection") == "same"
    if same:
        return "Heads were chosen on the same sentences, as in earlier work, so the numbers flatter them."
    return "Each half of the sentences is scored with the head that the other half chose."


def _first_upper(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _reach(found: Relations) -> str:
    """How far a fixed offset was looked for."""
    offsets = (found.manifest.get("settings") or {}).get("offsets") or ()
    return f", out of {min(offsets)} to +{max(offsets)}".replace("-", "−") if offsets else ""


def _one_sided(found: Relations) -> str:
    """That a causal model was asked only what it can see, and of how many rows that leaves."""
    if found.manifest.get("way") != "causal":
        return ""
    sources = list(found.manifest.get("data") or ())
    asked, unseen = (sum(sum((one.get(name) or {}).values()) for one in sources) for name in ("rows", "hidden"))
    left = f" ({asked:,} of {asked + unseen:,} rows)" if unseen else ""
    return (
        f"Each word of this model sees only what stands before it, so only such partners are asked for{left}. "
        "Do not compare this with a model that sees both sides. What is said of a treebank as a whole (left, distance, "
        "median) is about all governors."
    )


def too_few(found: Relations, data: str, side: str) -> str:
    """Why there is nothing to draw, and what would help."""
    least = (found.manifest.get("settings") or {}).get("least")
    needed = f"{least:,} rows" if least else "rows enough"
    help = "Read more sentences, or give a smaller `--least`."
    if found.relations(data, side):
        return f"Too few rows: relations together have fewer than {needed} at every distance. {help}"
    dropped = [
        (its.get("rows") or 0, str(its.get("item")))
        for one in found.manifest.get("data") or ()
        for its in one.get("dropped") or ()
        if one.get("name") == data and its.get("side") == side
    ]
    most = f"; the most frequent, {max(dropped)[1]}, has {max(dropped)[0]:,}" if dropped else ""
    return f"Too few rows: no relation has {needed} {side} in both halves of the sentences{most}. {help}"


def _distance_chart(found: Relations, data: str, side: str) -> Html:
    if not found.near_and_far(data, side):
        return notes(too_few(found, data, side))
    words = {"panel": found.panel(data, side)}
    height = 300 if len(found.treebanks) == 1 else 220
    return drawn("distances", _in_words(found, data, side), height=height, words=words)


def _in_words(found: Relations, data: str, side: str) -> str:
    """What the chart shows, for those who cannot see it."""
    told = []
    for kind in (*found.parts, *LEVELS):
        rows = {far: found.of((data, EACH, side), kind, distance=far) for far in found.near_and_far(data, side)}
        its = [f"{far.replace('-', '–')}: {said(row)}" for far, row in rows.items() if row.get("value") is not None]
        told += [f"{TITLES[kind]} at distance {'; '.join(its)}"] if its else []
    return f"Share found by distance, {side}, in {data}. {'. '.join(told)}."


def relations(found: Relations) -> Section | None:
    """One line a relation, the two sides beside each other; nothing where no relation has rows enough."""
    if not found.everywhere:
        return None
    groups = []
    for data in found.treebanks:
        charts = [panel(tag("h3", _first_upper(side)), _relation_chart(found, data, side)) for side in found.sides]
        both = tag("div", *charts, class_="two")
        groups.append(both if len(found.treebanks) == 1 else _folded(found, data, both))
    counts = " ".join(filter(None, (_counted(found, *one) for one in found.panels())))
    several = f"How many in each of {count(len(found.treebanks), 'treebank')} are clearly more is counted below it."
    lede = (
        "From relations between neighbours to those that reach far. The upright mark is the best fixed offset, with "
        "its interval as a band: what always looking the same number of words away finds. The thin mark is even "
        f"attention. {counts if len(found.treebanks) == 1 else several}"
    )
    return Section("relations", "Relation by relation", lede.strip(), join(*groups, _key(found)), short="Relations")


def _relation_chart(found: Relations, data: str, side: str) -> Html:
    many = len(found.relations(data, side))
    if not many:
        return notes(too_few(found, data, side))
    words, counted = {"panel": found.panel(data, side)}, _counted(found, data, side)
    label = counted or f"Relation by relation, {side}, in {data}."
    chart = drawn("relations", label, height=ROW * many + 8, words=words)
    return chart if len(found.treebanks) == 1 else join(chart, notes(counted))


def _counted(found: Relations, data: str, side: str) -> str:
    """For how many relations each part is surely beyond the offset; nothing where there are none."""
    items = found.relations(data, side)
    won = winners(found, data, side, items)
    if not items or not won:
        return ""
    each = ", ".join(f"{TITLES[part]} for {won[part]}" for part in reversed(found.parts))
    where = f" in {data}" if len(found.treebanks) > 1 else ""
    return f"Of {count(len(items), 'relation')} {side}{where}, clearly more than the best fixed offset: {each}."


def _folded(found: Relations, data: str, body: Html) -> Html:
    opened = data == found.treebanks[0]
    return tag("details", tag("summary", tag("bdi", data)), body, open=opened, class_="treebank")


def _key(found: Relations, *, lines: bool = False) -> Html:
    look = "mark-line" if lines else "mark"
    entries = [(f"{look} {part}", TITLES[part]) for part in reversed(found.parts)]
    levels = [(f"level {name} {'flat' if lines else 'upright'}", TITLES[name]) for name in LEVELS]
    return key(*entries, *levels)


def _treebanks(found: Relations) -> str:
    if len(found.treebanks) > 3:
        return count(len(found.treebanks), "treebank")
    return ", ".join(found.treebanks)


def _figures(found: Relations, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    """The charts as pictures, one for each treebank and side."""
    made: dict[str, Figure] = {}
    shapes = {"full": "circle", "positional": "square", "contextual": "triangle"}
    marks = [f"{shape} {TITLES[part]}" for part, shape in shapes.items() if part in found.parts]
    legend = ", ".join([*marks, "grey the best fixed offset"])
    for data, side in found.panels():
        name, words = f"{found.treebanks.index(data)}_{side.replace(' ', '_')}", {"panel": found.panel(data, side)}
        if found.near_and_far(data, side):
            spec = titled(charts["distances"], f"{data}, {side}: near and far", legend)
            made[f"distance_{name}"] = figure_of(spec, numbers, (560, 340), words)
        if many := len(found.relations(data, side)):
            spec = titled(charts["relations"], f"{data}, {side}: relation by relation", legend)
            made[f"relations_{name}"] = figure_of(spec, numbers, (560, ROW * many + 8), words)
    shown = [measure for measure in OF_HEADS if measure in numbers["grid"]["measure"]][:1]
    for measure in shown:
        spec = titled(charts["grid"], f"{found.treebanks[0]}: what each head is best for, {found.sides[0]}")
        words = {"panel": found.panel(found.treebanks[0], found.sides[0]), "measure": measure}
        made["heads"] = figure_of(spec, numbers, (720, 60 + 34 * len(set(numbers["grid"]["layer"]))), words)
    return made

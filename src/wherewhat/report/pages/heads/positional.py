"""The section on the positional part of attention: how local and how symmetric it is, by source, head and layer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from wherewhat.formatting import MISSING, count, short
from wherewhat.report.blocks.axes import INK, LINE, MUTED, WHAT, WHERE, colour, dash, x, y
from wherewhat.report.blocks.chart import ViewRows, lines
from wherewhat.report.blocks.layout import columns, definitions, key, note, panel, paragraphs
from wherewhat.report.blocks.marks import dots, layered, line, named, rule, text_labels, where
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Chart, Section, Spec, Widget
from wherewhat.report.core.palette import DARK, LIGHT
from wherewhat.report.pages.heads.head_charts import layer_axis, plane, plane_picture
from wherewhat.report.pages.heads.head_table import HeadTable, ScoreView
from wherewhat.report.pages.heads.positional_maps import GAMMA, LEVELS, SOURCES, TITLES, maps_picture, title_of
from wherewhat.report.pages.heads.positional_sentences import sentences_about, warnings_about
from wherewhat.report.pages.heads.positional_tables import MEASURES, PositionalResults

HOW = {  # what each source is, after its title
    "identical": "every token is the same word, so only position distinguishes keys; the mean over several words",
    "unmasked": "the same logits without the causal mask, so that both sides are visible",
    "delta": "the model's own position terms alone: all tokens share one vector, or have none",
    "mean": "what all texts have in common in each slot, in every layer",
}
GAMMAS = "what content adds: attention on the texts divided by this positional part"
COLUMNS = {
    "locality": "attention, halved for each step of distance: 1 is attention to itself only",
    "excess": "locality rescaled: 0 is uniform attention, 1 is attention to itself only",
    "off_diagonal_locality": "locality without the token itself: 1 is attention to direct neighbours only",
    "symmetry": "as published; it also grows as attention becomes more peaked",
    "balance": "1 is the same attention left and right, 0 is one side only",
    "left_right_bias": "+1 is attention to the left only, −1 to the right only",
}
LABELS = {"off_diagonal_locality": "off-diagonal locality", "left_right_bias": "left/right bias"}
BASELINES = {"uniform": "Uniform attention", "random .02": "Random logits, sd 0.02", "random 1": "Random logits, sd 1"}
SERIES = {"Mean of heads": "heads", "Mean matrix": "together", "What content adds, γ": "contextual"}
SIDES = {"heads": "heads", "together": "matrix", "even": "uniform"}  # the columns of a measure
CHANCES = {"locality": "uniform", "balance": "random logits"}  # the measures that are drawn, and what is chance
CAPTION = "Locality and symmetry of the positional part by source, beside uniform and random attention"
COLOURS = {"identical": WHERE, "unmasked": INK, "delta": "var(--chance-5)", "mean": "var(--layer-4)"}
DASHES = {"identical": [1, 0], "unmasked": [8, 3], "delta": [6, 3], "mean": [2, 2]}
STROKES = {"identical": "solid", "unmasked": "long dashes", "delta": "dashes", "mean": "dots"}  # in words


def positional_part(run: HeadTable, results: PositionalResults | None) -> Section | None:
    """The whole section, where it was measured: numbers, plane, maps, layers."""
    if results is None:
        return None
    several, stories = len(run.parts) > 1, []
    for part in run.parts:
        if sentences := sentences_about(results, part):
            lead, colon, rest = sentences[0].partition(": ")
            title = tag("h3", capital(part)) if several else None
            stories.append(tag("div", title, tag("p", tag("b", lead), colon, rest), paragraphs(*sentences[1:])))
    words = f", {count(results.words, 'word')}" if results.words is not None else ""
    lede = (
        "What remains of attention when only position distinguishes keys, measured in more than one way "
        f"(n = {results.n} slots{words}). Is it concentrated near the query, and is it the same on both sides?"
    )
    body = join(
        tag("div", *stories, class_="says-it"),
        _numbers(results, several=several),
        _plane(run, results),
        _maps(run, results),
        _layers(run, results),
    )
    return Section("positional", "The positional part of attention", lede, body, short="Positional part")


def _numbers(results: PositionalResults, *, several: bool) -> Html:
    """Sources by measures: the mean over heads and the mean matrix, above uniform and random attention."""
    measures = [name for name in MEASURES if any(name in source.scores for source in results.sources)]
    cells = [(name, side) for name in measures for side in SIDES if side != "even" or name == "locality"]
    groups = [(LABELS.get(name, name), 3 if name == "locality" else 2) for name in measures]
    rows: list[list[object]] = []
    for source in results.sources:
        numbers = {"heads": source.heads, "together": source.together, "even": source.chance}
        title = tag("span", source.title, class_="gamma") if source.contextual else source.title
        slots = tag("td", MISSING if source.n is None else source.n, class_="even")
        values = [tag("td", short(numbers[side].get(name)), class_=side) for name, side in cells]
        rows.append([title, *([source.part] if several else []), slots, *values])
    for name, levels in results.baselines.items():
        kind = next((kind for kind in BASELINES if name.endswith(kind)), "")
        mask = name.removesuffix(kind).strip() if kind else ""
        title = tag("span", BASELINES.get(kind, name), f", {mask}" if mask else "", class_="level")
        values = [tag("td", short(levels.get(of)) if side == "heads" else "", class_="even") for of, side in cells]
        rows.append([title, *([""] if several else []), tag("td", results.n, class_="even"), *values])
    headings = ["source", *(["part"] if several else []), "n", *(SIDES[side] for _, side in cells)]
    has_gamma = any(source.contextual for source in results.sources)
    gamma = " γ is measured text by text and has no such matrix." if has_gamma else ""
    legend = {LABELS.get(name, name): COLUMNS[name] for name in measures}
    legend |= {
        SIDES["heads"]: "the mean over heads",
        SIDES["together"]: f"of the mean matrix of a layer's heads, then the mean over layers.{gamma}",
        SIDES["even"]: "uniform attention over the same slots",
    }
    warnings = tag("ul", *(tag("li", prose(warning)) for warning in warnings_about(results)), class_="mind")
    return panel(
        table(headings, rows, label=CAPTION, groups=[("", 3 if several else 2), *groups], look="numbers"),
        columns(tag("div", definitions(legend.items()), class_="asked"), warnings),
    )


def _plane(run: HeadTable, results: PositionalResults) -> Html | None:
    """Every head by locality and balance, with the sources explained beside it."""
    sources = results.first_parts(*CHANCES)
    if not sources:
        return None
    meanings = {TITLES[name]: HOW[name] for name in results.bases}
    meanings |= {"γ": GAMMAS} if any(source.contextual for source in results.sources) else {}
    beside = tag(
        "div",
        tag("p", "Each mark is one head. Further right, it attends nearer; further up, more equally to both sides."),
        definitions(meanings.items(), "asked"),
        Widget("positional-head"),
        class_="beside",
    )
    title, spec, figures = "Locality and balance by position alone", plane(run), {}
    for source in sources:
        if not source.contextual:
            axes = source.scores["locality"], source.scores["balance"]
            look: dict[str, Any] = {"size": (700, 480), "subtitle": f"{source.title}, n = {source.n}"}
            figures[f"positional_plane_{source.source}"] = plane_picture(run, spec, axes, title, **look)
    chart = Widget("positional-plane", about=_about(results), figures=figures)
    return columns(panel(chart, title="Every head"), beside, look="first below")


def _about(results: PositionalResults) -> dict[str, Any]:
    """What the widgets of this section need: sources with the keys of their scores, maps as strings, and profiles."""
    maps = results.maps
    views = [
        {"source": source.source, "title": source.title, "contextual": source.contextual}
        | {"keys": {measure: score.key for measure, score in source.scores.items()}}
        for source in results.first_parts()
    ]
    plain = {name: getattr(maps, name) for name in ("sizes", "reach", "cells", "offsets", "profiles", "evens")}
    ramp = {"light": list(LIGHT.chance), "dark": list(DARK.chance)}
    titles = {name: title_of(name) for name in maps.cells}
    return {"positional": {**plain, "levels": LEVELS, "ramp": ramp, "views": views, "titles": titles}}


def _maps(run: HeadTable, results: PositionalResults) -> Html | None:
    """The matrices: the selected head's, those of its layer, and the mean of every layer."""
    maps = results.maps
    if not maps.cells:
        return None
    coarse = f" Each cell is the mean of {maps.block} × {maps.block} slots." if maps.block > 1 else ""
    cut = {maps.slots(source) for source in maps.cells if maps.sizes[source] < maps.of[source]}
    some = f" Of long matrices, only the {' and the '.join(sorted(cut))} are drawn." if cut else ""
    text = f"Rows are queries, columns are keys. Orange is more than uniform attention, blue is less.{coarse}{some}"
    charts, figures = {"positional_offsets": _offset_lines()}, {"positional_maps": maps_picture(run, maps)}
    widget = Widget("positional-maps", charts, about=_about(results), figures=figures)
    return columns(panel(widget, title="The matrices", text=text), look="below")


def _offset_lines() -> Spec:
    """Mean attention along each diagonal, one line per source; γ has the colour of content."""
    rows = named("positional_profile")
    ticks: dict[str, Any] = {"values": [-16, -8, -4, 0, 4, 8, 16], "format": "d", "labelOverlap": "greedy"}
    across = x("offset", "key's offset from the query", nice=False, zero=False, grid=False, **ticks)
    up = y("value", "mean attention (√ scale)", scale="sqrt", domainMin=0, tickCount=4, format="~g")
    hue, stroke = _of_source()
    place = {"x": across, "y": up, "color": hue}
    even: dict[str, Any] = {"stroke": MUTED, "strokeDash": [1, 3], "strokeWidth": 1.2}
    return layered(
        where(rows, offset=0).mark_rule(color=LINE, strokeWidth=1).encode(x=across),
        where(rows, even=...).mark_line(**even).encode(x=across, y="even:Q", detail="source:N"),
        line(rows, {**place, "strokeDash": stroke}, width=2),
        dots(rows, place, size=60, opacity=0),
    )


def _of_source() -> tuple[alt.Color, alt.StrokeDash]:
    """The colour and the stroke of each source, either of which tells them apart; γ has the colour of content."""
    hues = {name: COLOURS[name] for name in SOURCES} | {name + GAMMA: WHAT for name in SOURCES}
    strokes = {name + gamma: DASHES[name] for name in SOURCES for gamma in ("", GAMMA)}
    return colour("source", hues), dash("source", strokes)


def _layers(run: HeadTable, results: PositionalResults) -> Html | None:
    """Locality and balance from the first layer to the last."""
    if len({row["layer"] for row in results.by_layer}) < 2:
        return None
    signs = key(*((f"line of-{name}", TITLES[name]) for name in results.bases), look="key")
    words = note("The dashed line is chance; the band holds half of the heads.")
    measures = [name for name in CHANCES if any(row["measure"] == name for row in results.by_layer)]
    charts = [_layer_lines(run, results, measure) for measure in measures]
    return columns(*(panel(chart, signs, words, title=chart.title) for chart in charts), look="two below")


def _layer_lines(run: HeadTable, results: PositionalResults, measure: str) -> Chart:
    """One measure by layer, one line per source, with half of the heads in the band; a view per number of slots."""
    rows = [row for row in results.by_layer if row["measure"] == measure]
    slots = list(dict.fromkeys(row["over"] for row in rows))
    views = {}
    for title, series in SERIES.items():
        for over in slots:
            if mine := [row for row in rows if (row["series"], row["over"]) == (series, over)]:
                levels = [row["chance"] for row in rows if row["over"] == over and row["chance"] is not None][:1]
                chance = [{"value": level, "name": CHANCES[measure]} for level in levels]
                views[f"{title}, {over}" if len(slots) > 1 else title] = ViewRows(mine, tables={"chance": chance})
    up, level, (hue, stroke) = y("value", measure, zero=True, tickCount=5), named("chance"), _of_source()
    words: dict[str, Any] = {"align": "left", "x": 4, "dy": -6, "fontSize": 11, "color": MUTED}
    below = [rule(level, {"y": up}, dash=(3, 4), strokeWidth=1)]
    above = text_labels(level, "name", {"y": up}, **words)
    title = f"{measure.capitalize()} by layer"
    strokes = ", ".join(f"{STROKES[name]} {TITLES[name].lower()}" for name in results.bases)
    look: dict[str, Any] = {"label": title, "title": title, "figure": True, "height": 250, "width": 620}
    look |= {"subtitle": strokes if len(slots) > 1 else f"{strokes}; {slots[0]}"}
    marks: dict[str, Any] = {"colour": hue, "dash": stroke, "below": below, "above": above}
    return lines(f"positional_layers_{measure}", views, x=layer_axis(run.layers), y=up, **marks, **look)


def definitions_by_source(scores: Sequence[ScoreView], article: Callable[[ScoreView], Html]) -> Html:
    """Define these scores: each prefix (the source) once, and each measure once."""
    bases = {score.name.partition(".")[0] for score in scores}
    meanings: dict[Any, str] = {tag("code", f"{name}."): HOW[name] for name in SOURCES if name in bases}
    meanings |= {tag("code", f"{GAMMA[1:]}."): GAMMAS} if any(GAMMA in score.name for score in scores) else {}
    by_measure = {score.name.rpartition(".")[2]: score for score in reversed(scores)}
    examples = []
    for measure in (measure for measure in MEASURES if measure in by_measure):
        score = by_measure[measure]  # as the example of its measure, whatever the source
        low, high = (None if end is None else round(end, 2) for end in score.ends)
        asks = score.asks.rpartition(": ")[2]
        examples.append(replace(score, name=f"*.{measure}", asks=asks, ends=(low, high)))
    return join(definitions(meanings.items(), "asked sources"), tag("div", *map(article, examples), class_="words"))

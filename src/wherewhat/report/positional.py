"""The section on the positional part of attention: how local and how symmetric it is, by source, head and layer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wherewhat.formatting import MISSING, count, short
from wherewhat.report.head_table import ScoreView
from wherewhat.report.heads_data import HeadsPageData
from wherewhat.report.kinds import MEASURES
from wherewhat.report.page import Section
from wherewhat.report.panels import chart_widget, panel
from wherewhat.report.positional_maps import GAMMA
from wherewhat.report.positional_sentences import sentences_about, warnings_about
from wherewhat.report.positional_tables import TITLES, PositionalResults, SourceMeans
from wherewhat.report.tags import Html, join, prose, tag

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
BASELINES = {
    "uniform": "Uniform attention",
    "random .02": "Random logits, sd 0.02",
    "random 1": "Random logits, sd 1",
}
SERIES = (("Mean of heads", "heads"), ("Mean matrix", "together"), ("What content adds, γ", "contextual"))
SIDES = {"heads": "heads", "together": "matrix", "even": "uniform"}  # the columns of a measure
SHOWN = ("locality", "balance")
CAPTION = "Locality and symmetry of the positional part by source, beside uniform and random attention"


def positional_part(data: HeadsPageData) -> Section | None:
    """The whole section, where it was measured: numbers, plane, maps, layers."""
    results, run = data.positional, data.run
    if results is None:
        return None
    words = f", {count(results.words, 'word')}" if isinstance(results.words, int) else ""
    lede = (
        "What remains of attention when only position distinguishes keys, measured in more than one way "
        f"(n = {results.n} slots{words}). Is it concentrated near the query, and is it the same on both sides?"
    )
    body = join(
        tag("div", *(_sentences(results, part, run.parts) for part in run.parts), class_="says-it"),
        _numbers(results, run.parts),
        _plane(results),
        _maps(results),
        _layers(results),
    )
    return Section("positional", "The positional part of attention", lede, body, short="Positional part")


def _sentences(results: PositionalResults, part: str, parts: Sequence[str]) -> Html:
    sentences = sentences_about(results, part)
    if not sentences:
        return Html("")
    heading = tag("h3", f"{part[:1].upper()}{part[1:]}") if len(parts) > 1 else ""
    lead, colon, rest = sentences[0].partition(": ")
    paragraphs = [tag("p", sentence) for sentence in sentences[1:]]
    return tag("div", heading, tag("p", tag("b", lead), colon, rest), *paragraphs)


def _numbers(results: PositionalResults, parts: Sequence[str]) -> Html:
    """Sources by measures: the mean over heads and the mean matrix, above uniform and random attention."""
    measures = [name for name in MEASURES if any(name in source.scores for source in results.sources)]
    groups = [tag("th", LABELS.get(name, name), scope="colgroup", colspan=len(_sides(name))) for name in measures]
    below = [tag("th", SIDES[side], scope="col") for name in measures for side in _sides(name)]
    head = tag(
        "thead",
        tag("tr", tag("td", "", colspan=2), *groups),
        tag("tr", tag("td", ""), tag("th", "n", scope="col"), *below),
    )
    bodies = [_source_rows(results, part, measures, heading=len(parts) > 1) for part in parts]
    table = tag("table", tag("caption", CAPTION, class_="unseen"), head, *bodies, _baseline_rows(results, measures))
    gamma = " γ is measured text by text and has no such matrix." if _has_gamma(results) else ""
    legend = [
        *((LABELS.get(name, name), COLUMNS[name]) for name in measures),
        (SIDES["heads"], "the mean over heads"),
        (SIDES["together"], f"of the mean matrix of a layer's heads, then the mean over layers.{gamma}"),
        (SIDES["even"], "uniform attention over the same slots"),
    ]
    definitions = tag("dl", *(tag("div", tag("dt", name), tag("dd", words)) for name, words in legend))
    warnings = tag("ul", *(tag("li", prose(warning)) for warning in warnings_about(results)), class_="mind")
    return tag(
        "div",
        tag("div", table, class_="numbers", tabindex="0", role="region", aria_label=CAPTION),
        tag("div", tag("div", definitions, class_="asked"), warnings, class_="two"),
        class_="panel",
    )


def _sides(measure: str) -> tuple[str, ...]:
    return ("heads", "together", "even") if measure == "locality" else ("heads", "together")


def _source_rows(results: PositionalResults, part: str, measures: Sequence[str], *, heading: bool) -> Html:
    """One row per source of a part of the model."""
    sources = [source for source in results.sources if source.part == part]
    if not sources:
        return Html("")
    wide = 2 + sum(len(_sides(name)) for name in measures)
    title = tag("tr", tag("th", part, scope="rowgroup", colspan=wide), class_="part") if heading else ""
    return tag("tbody", title, *(_source_row(source, measures) for source in sources))


def _source_row(source: SourceMeans, measures: Sequence[str]) -> Html:
    numbers = {"heads": source.heads, "together": source.together, "even": source.chance}
    cells = [tag("td", short(numbers[side].get(name)), class_=side) for name in measures for side in _sides(name)]
    return tag(
        "tr",
        tag("th", "γ, what content adds" if source.contextual else source.title, scope="row"),
        tag("td", MISSING if source.n is None else source.n, class_="even"),
        *cells,
        class_="gamma" if source.contextual else None,
    )


def _baseline_rows(results: PositionalResults, measures: Sequence[str]) -> Html:
    """The rows of uniform and random attention, over the same number of slots."""
    rows = [
        tag(
            "tr",
            tag("th", _baseline(name), scope="row"),
            tag("td", results.n),
            *(tag("td", short(levels.get(measure)), colspan=len(_sides(measure))) for measure in measures),
        )
        for name, levels in results.baselines.items()
    ]
    return tag("tbody", *rows, class_="levels")


def _baseline(name: str) -> str:
    """The title of a baseline, with its mask."""
    kind = next((kind for kind in BASELINES if name.endswith(kind)), None)
    mask = "" if kind is None else name.removesuffix(kind).strip()
    return f"{BASELINES.get(kind or '', name)}{f', {mask}' if mask else ''}"


def _plane(results: PositionalResults) -> Html:
    """Every head by locality and balance, with the sources explained beside it."""
    if not results.first_parts(*SHOWN):
        return Html("")
    ways = [tag("div", tag("dt", TITLES[name]), tag("dd", HOW[name])) for name in results.bases]
    gamma = [tag("div", tag("dt", "γ"), tag("dd", GAMMAS))] if _has_gamma(results) else []
    beside = tag(
        "div",
        tag("p", "Each mark is one head. Further right, it attends nearer; further up, more equally to both sides."),
        tag("dl", *ways, *gamma, class_="asked"),
        tag("div", data_widget="positional-head"),
        class_="beside",
    )
    chart = panel(tag("h3", "Every head"), tag("div", data_widget="positional-plane"))
    return tag("div", chart, beside, class_="first below")


def _has_gamma(results: PositionalResults) -> bool:
    return any(source.contextual for source in results.sources)


def _maps(results: PositionalResults) -> Html:
    """The matrices: the selected head's, those of its layer, and the mean of every layer."""
    maps = results.maps
    if not maps.cells:
        return Html("")
    coarse = f" Each cell is the mean of {maps.block} × {maps.block} slots." if maps.block > 1 else ""
    cut = {maps.slots(source) for source in maps.sources if maps.sizes[source] < maps.of[source]}
    some = f" Of long matrices, only the {' and the '.join(sorted(cut))} are drawn." if cut else ""
    note = f"Rows are queries, columns are keys. Orange is more than uniform attention, blue is less.{coarse}{some}"
    widget = tag("div", data_widget="positional-maps")
    return tag("div", panel(tag("h3", "The matrices"), tag("p", note, class_="note"), widget), class_="below")


def _layers(results: PositionalResults) -> Html:
    """Locality and balance from the first layer to the last."""
    if len(set(results.by_layer["layer"])) < 2:
        return Html("")
    charts = []
    for measure in SHOWN:
        slots = results.slots_by_series(measure)
        several = len({over for overs in slots.values() for over in overs}) > 1
        views: list[tuple[str, Mapping[str, str]]] = [
            (f"{title}, {over}" if several else title, {"series": series, "over": over})
            for title, series in SERIES
            for over in slots.get(series, ())
        ]
        if views:
            label = f"{measure.capitalize()} by layer"
            chart = chart_widget("positional_layers", label, height=250, words={"measure": measure}, views=views)
            charts.append(panel(tag("h3", label), chart, _key(results)))
    return tag("div", *charts, class_="two below") if charts else Html("")


def _key(results: PositionalResults) -> Html:
    """Which line is which source."""
    lines = [tag("span", tag("i", class_=f"line of-{name}"), TITLES[name]) for name in results.bases]
    note = "The dashed line is chance; the band holds half of the heads."
    return join(tag("p", *lines, class_="key"), tag("p", note, class_="note"))


def positional_definitions(scores: Sequence[ScoreView], article: Callable[[ScoreView], Html]) -> Html:
    """Define these scores: each prefix (the source) once, and each measure once."""
    bases = {score.name.partition(".")[0] for score in scores}
    ways = [tag("div", tag("dt", tag("code", f"{name}.")), tag("dd", HOW[name])) for name in TITLES if name in bases]
    gamma = any(GAMMA in score.name for score in scores)
    ways += [tag("div", tag("dt", tag("code", f"{GAMMA[1:]}.")), tag("dd", GAMMAS))] if gamma else []
    by_measure = {score.name.rpartition(".")[2]: score for score in reversed(scores)}
    examples = [_of_any_source(by_measure[measure], measure) for measure in MEASURES if measure in by_measure]
    return join(tag("dl", *ways, class_="asked sources"), tag("div", *map(article, examples), class_="words"))


def _of_any_source(score: ScoreView, measure: str) -> ScoreView:
    """A score as the example of its measure, whatever the source."""
    low, high = (None if end is None else round(end, 2) for end in score.ends)
    return replace(score, name=f"*.{measure}", asks=score.asks.rpartition(": ")[2], ends=(low, high))

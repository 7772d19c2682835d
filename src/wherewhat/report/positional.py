"""The section on the positional part of attention: how local and how symmetric it is, where, and what it looks like."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wherewhat.report.drawn import drawn, panel
from wherewhat.report.findings import Findings
from wherewhat.report.kinds import MEASURES
from wherewhat.report.measured import Score
from wherewhat.report.numbers import MISSING, count, short
from wherewhat.report.page import Section
from wherewhat.report.positional_maps import GAMMA
from wherewhat.report.positional_tables import TITLES, Positional, Reading
from wherewhat.report.positional_words import said_of, warnings_of
from wherewhat.report.tags import Html, join, prose, tag

HOW = {  # what each source is, after its title
    "identical": "copies of one word fill the text, so nothing but place tells keys apart; the mean over words",
    "unmasked": "the same logits with the causal mask taken away, so that both sides can be seen",
    "delta": "the model's own position terms by themselves: all tokens share one vector, or have none",
    "mean": "what all texts have in common slot by slot, in every layer",
}
GAMMAS = "what content adds: attention on the texts divided by that positional part"
COLUMNS = {
    "locality": "attention halved for each step away: 1 looks only at itself",
    "excess": "the same from even attention (0) to itself only (1)",
    "beyond": "nearness apart from itself: 1 looks only at neighbours",
    "symmetry": "as published; it also grows as attention gets peaked",
    "balance": "1 the same left and right, 0 one side only",
    "lean": "+1 looks only left, −1 only right",
}
BASELINES = {
    "uniform": "Even attention",
    "random .02": "Random logits, sd 0.02",
    "random 1": "Random logits, sd 1",
}
SERIES = (("Mean of heads", "heads"), ("Of the mean matrix", "together"), ("What content adds, γ", "contextual"))
SHOWN = ("locality", "balance")


def by_place_alone(findings: Findings) -> Section | None:
    """The whole section, where it was asked for: numbers, plane, maps, layers."""
    found, run = findings.positional, findings.run
    if found is None:
        return None
    words = f", {count(found.words, 'word')}" if isinstance(found.words, int) else ""
    lede = (
        f"What is left of attention when only place can tell keys apart, found in more than one way (n = {found.n} "
        f"slots{words}). Is it near the query, and the same on both sides?"
    )
    body = join(
        tag("div", *(_said(found, part, run.parts) for part in run.parts), class_="says-it"),
        _numbers(found, run.parts),
        _plane(found),
        _maps(found),
        _layers(found),
    )
    return Section("positional", "The positional part of attention", lede, body, short="Positional part")


def _said(found: Positional, part: str, parts: Sequence[str]) -> Html:
    sentences = said_of(found, part)
    if not sentences:
        return Html("")
    heading = tag("h3", f"{part[:1].upper()}{part[1:]}") if len(parts) > 1 else ""
    lead, colon, rest = sentences[0].partition(": ")
    return tag("div", heading, tag("p", tag("b", lead), colon, rest), *(tag("p", one) for one in sentences[1:]))


def _numbers(found: Positional, parts: Sequence[str]) -> Html:
    """Source by measure: the mean of heads and the mean matrix, above what attention that knows nothing gets."""
    asked = [name for name in MEASURES if any(name in one.scores for one in found.readings)]
    groups = [tag("th", name, scope="colgroup", colspan=len(_sides(name))) for name in asked]
    below = [tag("th", words, scope="col") for name in asked for words in _sides(name)]
    head = tag(
        "thead",
        tag("tr", tag("td", "", colspan=2), *groups),
        tag("tr", tag("td", ""), tag("th", "n", scope="col"), *below),
    )
    bodies = [_rows(found, part, asked, len(parts) > 1) for part in parts]
    table = tag("table", tag("caption", CAPTION, class_="unseen"), head, *bodies, _levels(found, asked))
    legend = tag("dl", *(tag("div", tag("dt", name), tag("dd", words)) for name, words in _legend(found, asked)))
    warnings = tag("ul", *(tag("li", prose(one)) for one in warnings_of(found)), class_="mind")
    return tag(
        "div",
        tag("div", table, class_="numbers", tabindex="0", role="region", aria_label=CAPTION),
        tag("div", tag("div", legend, class_="asked"), warnings, class_="two"),
        class_="panel",
    )


CAPTION = "Locality and symmetry of the positional part by source, beside attention that knows nothing"


def _legend(found: Positional, asked: Sequence[str]) -> list[tuple[str, str]]:
    """What the columns are."""
    gamma = " γ is measured text by text and has no such matrix." if _content(found) else ""
    return [
        *((name, COLUMNS[name]) for name in asked),
        ("heads", "the mean over heads"),
        ("together", f"of the mean matrix of a layer's heads, then the mean over layers.{gamma}"),
        ("even", "even attention over the same slots"),
    ]


def _sides(measure: str) -> tuple[str, ...]:
    return ("heads", "together", "even") if measure == "locality" else ("heads", "together")


def _rows(found: Positional, part: str, asked: Sequence[str], several: bool) -> Html:
    readings = [one for one in found.readings if one.part == part]
    if not readings:
        return Html("")
    wide = 2 + sum(len(_sides(name)) for name in asked)
    heading = tag("tr", tag("th", part, scope="rowgroup", colspan=wide), class_="part") if several else ""
    return tag("tbody", heading, *(_row(one, asked) for one in readings))


def _row(one: Reading, asked: Sequence[str]) -> Html:
    numbers = {"heads": one.heads, "together": one.together, "even": one.chance}
    cells = [tag("td", short(numbers[side].get(name)), class_=side) for name in asked for side in _sides(name)]
    title = tag("th", "γ, what content adds" if one.contextual else one.title, scope="row")
    return tag(
        "tr",
        title,
        tag("td", MISSING if one.n is None else one.n, class_="even"),
        *cells,
        class_="gamma" if one.contextual else None,
    )


def _levels(found: Positional, asked: Sequence[str]) -> Html:
    """The rows of attention that knows nothing, at the same number of slots."""
    rows = [
        tag(
            "tr",
            tag("th", _level(name), scope="row"),
            tag("td", found.n),
            *(tag("td", short(levels.get(measure)), colspan=len(_sides(measure))) for measure in asked),
        )
        for name, levels in found.baselines.items()
    ]
    return tag("tbody", *rows, class_="levels")


def _level(name: str) -> str:
    """What a row of attention that knows nothing is called, and under which mask."""
    kind = next((kind for kind in BASELINES if name.endswith(kind)), None)
    mask = "" if kind is None else name.removesuffix(kind).strip()
    return f"{BASELINES.get(kind or '', name)}{f', {mask}' if mask else ''}"


def _plane(found: Positional) -> Html:
    """Every head between locality and balance, with the sources explained beside it."""
    if not found.views(*SHOWN):
        return Html("")
    told = [one for one in TITLES if any(reading.base == one for reading in found.readings)]
    ways = [tag("div", tag("dt", TITLES[name]), tag("dd", HOW[name])) for name in told]
    gamma = [tag("div", tag("dt", "γ"), tag("dd", GAMMAS))] if _content(found) else []
    beside = tag(
        "div",
        tag("p", "Each mark is one head. To the right it looks nearer, further up more evenly to both sides."),
        tag("dl", *ways, *gamma, class_="asked"),
        tag("div", data_widget="positional-head"),
        class_="beside",
    )
    chart = panel(tag("h3", "Every head"), tag("div", data_widget="positional-plane"))
    return tag("div", chart, beside, class_="first below")


def _content(found: Positional) -> bool:
    return any(one.contextual for one in found.readings)


def _maps(found: Positional) -> Html:
    """The matrices themselves: the selected head's, its layer's heads, and every layer."""
    block = found.maps.block
    if not found.maps.cells:
        return Html("")
    coarse = f" A cell is the mean of {block} × {block} slots." if block > 1 else ""
    cut = {found.maps.slots(one) for one in found.maps.sources if found.maps.sizes[one] < found.maps.of[one]}
    some = f" Of long ones, the {' and the '.join(sorted(cut))} are drawn." if cut else ""
    note = f"Queries run down, keys across. Orange is more than even attention gives, blue less.{coarse}{some}"
    widget = tag("div", data_widget="positional-maps")
    return tag("div", panel(tag("h3", "What it looks like"), tag("p", note, class_="note"), widget), class_="below")


def _layers(found: Positional) -> Html:
    """Locality and balance from the first layer to the last."""
    if len(set(found.by_layer["layer"])) < 2:
        return Html("")
    charts = []
    for measure in SHOWN:
        there = found.views_by_layer(measure)
        several = len({over for overs in there.values() for over in overs}) > 1
        views: list[tuple[str, Mapping[str, str]]] = [
            (f"{title}, {over}" if several else title, {"series": series, "over": over})
            for title, series in SERIES
            for over in there.get(series, ())
        ]
        if views:
            label = f"{measure.capitalize()} by layer"
            chart = drawn("positional_layers", label, height=250, words={"measure": measure}, views=views)
            charts.append(panel(tag("h3", label), chart, _key(found)))
    return tag("div", *charts, class_="two below") if charts else Html("")


def _key(found: Positional) -> Html:
    """Which line is which source."""
    told = [one for one in TITLES if any(reading.base == one for reading in found.readings)]
    band = "; the band holds half of the heads"
    lines = [tag("span", tag("i", class_=f"line of-{name}"), TITLES[name]) for name in told]
    return join(tag("p", *lines, class_="key"), tag("p", f"Dashes: attention that knows nothing{band}.", class_="note"))


def explained(scores: Sequence[Score], article: Callable[[Score], Html]) -> Html:
    """How to read these scores: what stands before the point once for each source, what stands after it once."""
    bases = {score.name.partition(".")[0] for score in scores}
    ways = [tag("div", tag("dt", tag("code", f"{name}.")), tag("dd", HOW[name])) for name in TITLES if name in bases]
    gamma = any(GAMMA in score.name for score in scores)
    ways += [tag("div", tag("dt", tag("code", f"{GAMMA[1:]}.")), tag("dd", GAMMAS))] if gamma else []
    once = {score.name.rpartition(".")[2]: score for score in reversed(scores)}
    told = [_once(once[measure], measure) for measure in MEASURES if measure in once]
    return join(tag("dl", *ways, class_="asked sources"), tag("div", *map(article, told), class_="words"))


def _once(score: Score, measure: str) -> Score:
    """A score as an example of its measure, whatever the source."""
    low, high = (None if end is None else round(end, 2) for end in score.ends)
    return replace(score, name=f"*.{measure}", asks=score.asks.rpartition(": ")[2], ends=(low, high))

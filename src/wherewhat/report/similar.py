"""Which heads of two models are alike, by attention or by scores: the whole table as a heat map, and the best pairs."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.formatting import count, interval, short
from wherewhat.report.marks import WHOLE, gradient, layered, named, shade
from wherewhat.report.page import Columns, Figure, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.scores import Distance, SimilarModels

MOST = 30_000  # cells of a map of heads; larger tables are drawn layer by layer
PAIRS = 12  # that are listed
PAIR = ("model", "against", "by")  # what one map is about
BITS = {"attention": " bits", "scores": ""}  # the unit of a divergence, by what is compared
SUMMARIES = {
    "min": "the two nearest heads",
    "match": "each later head and its nearest",
    "match_back": "each first head and its nearest",
    "one_to_one": "heads paired one to one",
}


def similar_heads_section(similarity: pl.DataFrame, pairs: Sequence[SimilarModels]) -> Section | None:
    """How far apart every two heads are, and which heads pair up."""
    if similarity.is_empty():
        return None
    chart = chart_widget(
        "similar",
        "Divergence of every head of the later from every head of the first",
        height=_height(similarity),
        views=_views(similarity),
    )
    body = join(panel(chart), *(_pair(pair) for pair in pairs))
    what = (
        "Each cell is a pair of layers, at its nearest pair of heads"
        if _coarse(similarity)
        else "Each cell is a pair of heads"
    )
    lede = (
        f"{what}: dark is identical (0), light is nothing in common (1). {_measured(similarity)} "
        f"{' '.join(sentence(pair) for pair in pairs)}"
    )
    return Section("similar", "Heads that are alike", lede, body, short="Alike")


def _measured(similarity: pl.DataFrame) -> str:
    """How the distance of two heads is measured."""
    kinds = set(similarity["by"])
    sentences = []
    if "attention" in kinds:
        sentences.append("By attention: the Jensen–Shannon divergence of their attention in bits, on the same rows.")
    if "scores" in kinds:
        sentences.append("By scores: the mean absolute difference of shared scores, each as a share of its range.")
    return " ".join(sentences)


def sentence(pair: SimilarModels) -> str:
    """The distance of paired heads in one sentence, beside that of a baseline."""
    near, far = pair.one_to_one, pair.shuffled
    if far is None:
        return (
            f"By {count(len(pair.scores), 'score')}, heads of {pair.model} and {pair.against} paired one to one are "
            f"{short(near.value)} apart; any two of their heads are {short(pair.any)} apart on average."
        )
    spread = f" ({interval(near.low, near.high)})" if near.low is not None else ""
    return (
        f"Paired one to one, heads of {pair.model} and {pair.against} are {short(near.value)} bits apart"
        f"{spread}; {pair.against} and itself on the same tokens in another order are {short(far.one_to_one.value)}."
    )


def _pair(pair: SimilarModels) -> Html:
    """The summaries of one comparison and its best pairs."""
    by_attention = pair.shuffled is not None
    headings = ("", "bits apart", "95 %", "itself, shuffled", "95 %") if by_attention else ("", "apart")
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    summaries = [pair] if pair.shuffled is None else [pair, pair.shuffled]
    lines = [
        _line(label, [getattr(each, name) for each in summaries], by_attention) for name, label in SUMMARIES.items()
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroller")
    best = [tag("li", f"{two.head} and {two.against}: {short(two.divergence)}") for two in pair.partners[:PAIRS]]
    title = tag("h3", f"{pair.model} against {pair.against}, by {pair.by}")
    listed = tag("details", tag("summary", "The nearest pairs"), tag("ul", *best, class_="modules"))
    note = (
        f"{count(pair.texts or 0, 'text')}, {count(pair.rows or 0, 'row')} of each; rows with a single visible key are "
        "left out."
        if by_attention
        else f"By {', '.join(pair.scores)}."
    )
    return panel(title, table, listed, tag("p", note, class_="note"))


def _line(label: str, distances: Sequence[Distance], intervals: bool) -> Html:
    cells = []
    for distance in distances:
        cells += [short(distance.value), *([interval(distance.low, distance.high)] if intervals else [])]
    return tag("tr", tag("th", label, scope="row"), *(tag("td", cell) for cell in cells))


def similar_charts(similarity: pl.DataFrame) -> dict[str, Spec]:
    """The heat map of all pairs; empty where there are none."""
    if similarity.is_empty():
        return {}
    ends = [shade("layers", step) for step in range(7)]
    colour = alt.Color(
        "divergence",
        type="quantitative",
        scale=alt.Scale(domain=[0, 1], range=ends, interpolate="lab"),
        legend=gradient("apart", tickCount=5),
    )
    rows, columns = _names(similarity, ""), _names(similarity, "against_")
    cells = named("similar").transform_filter("datum.pair == {pair}")
    place = {"x": _axis("there", columns), "y": _axis("here", rows)}
    return {"similar": layered(cells.mark_rect(strokeWidth=0, tooltip=WHOLE).encode(**place, color=colour))}


def similar_tables(similarity: pl.DataFrame) -> dict[str, Columns]:
    """The numbers of the map."""
    if similarity.is_empty():
        return {}
    here, there = (_named(similarity, part) for part in ("", "against_"))
    pairs = similarity.with_columns(here=here, there=there)
    keys = (*PAIR, "here", "there")
    nearest = pairs.group_by(keys, maintain_order=True).agg(pl.col("divergence").min())
    unit = pl.col("by").replace_strict(BITS)
    tooltip = pl.format(
        "{} of {} and {} of {}: {}{}", "here", "model", "there", "against", pl.col("divergence").round(3), unit
    )
    shown = nearest.with_columns(said=tooltip, divergence=pl.col("divergence").round(4))
    number = {pair: place for place, pair in enumerate(_pairs(similarity))}
    at = [number[pair] for pair in shown.select(PAIR).iter_rows()]
    numbered = shown.with_columns(pair=pl.Series(at, dtype=pl.Int64))
    return {"similar": numbered.select("pair", "here", "there", "divergence", "said").to_dict(as_series=False)}


def similar_figures(similarity: pl.DataFrame) -> dict[str, Figure]:
    """The heat maps as figures."""
    charts, tables, made = similar_charts(similarity), similar_tables(similarity), dict[str, Figure]()
    for number, (title, words) in enumerate(_views(similarity)):
        spec = titled(charts["similar"], "Heads that are alike", title)
        made[f"similar_{number}" if number else "similar"] = figure_of(spec, tables, (640, 600), words)
    return made


def _views(similarity: pl.DataFrame) -> list[tuple[str, dict[str, str]]]:
    """The comparisons that a reader can choose from."""
    if similarity.is_empty():
        return []
    return [
        (f"{model} (down) against {against} (across), by {kind}", {"pair": str(number)})
        for number, (model, against, kind) in enumerate(_pairs(similarity))
    ]


def _pairs(similarity: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Which models were compared, and by what; charts refer to them by number, since names may hold any character."""
    return list(similarity.select(PAIR).unique(maintain_order=True).iter_rows())


def _coarse(similarity: pl.DataFrame) -> bool:
    """Whether there are too many pairs of heads to draw all."""
    return similarity.height > MOST * max(1, similarity["model"].n_unique())


def _named(similarity: pl.DataFrame, part: str) -> pl.Expr:
    layer, head = pl.col(f"{part}layer"), pl.col(f"{part}head")
    return pl.format("L{}", layer) if _coarse(similarity) else pl.format("L{}H{}", layer, head)


def _names(similarity: pl.DataFrame, part: str) -> list[str]:
    order = [f"{part}layer", f"{part}head"]
    return (
        similarity.select(*order)
        .unique()
        .sort(*order)
        .select(name=_named(similarity, part))["name"]
        .unique(maintain_order=True)
        .to_list()
    )


def _axis(field: str, names: Sequence[str]) -> Any:
    """Heads in order, with only as many labels as can be read."""
    kind = alt.X if field == "there" else alt.Y
    every = max(1, -(-len(names) // 24))
    axis = alt.Axis(values=list(names[::every]), ticks=False, domain=False, labelAngle=0 if kind is alt.Y else -60)
    return kind(field, type="nominal", sort=list(names), title=None, axis=axis)


def _height(similarity: pl.DataFrame) -> int:
    return max(280, min(620, 120 + 12 * len(_names(similarity, ""))))

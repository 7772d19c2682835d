"""Which heads of two models are alike, by attention or by scores: the whole table as a map, and the best pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.marks import WHOLE, gradient, layered, named, shade
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, interval, short
from wherewhat.report.page import Columns, Figure, Section, Spec
from wherewhat.report.tags import Html, join, tag

MOST = 30_000  # cells of a map of heads; larger tables are drawn layer by layer
PAIRS = 12  # that are listed
PAIR = ("model", "against", "by")  # what one map is about
BITS = {"attention": " bits", "scores": ""}  # the unit of a divergence, by what is compared
SUMMARIES = {
    "min": "the two nearest heads",
    "match": "each later head and its nearest",
    "match back": "each first head and its nearest",
    "one to one": "heads paired one to one",
}


def the_same_things(similarity: pl.DataFrame, manifest: Manifest) -> Section | None:
    """How far apart every two heads are, and which heads are each other's."""
    if similarity.is_empty():
        return None
    pairs = manifest.get("similar") or ()
    chart = drawn(
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
        f"{what}: dark is the same (0), light is nothing in common (1). {_measured(similarity)} "
        f"{' '.join(sentence(pair) for pair in pairs)}"
    )
    return Section("similar", "Heads that are alike", lede, body, short="Alike")


def _measured(similarity: pl.DataFrame) -> str:
    """How far apart two heads are, in words."""
    kinds = set(similarity["by"])
    told = []
    if "attention" in kinds:
        told.append("By attention: the Jensen–Shannon divergence in bits of what they look at, on the same rows.")
    if "scores" in kinds:
        told.append("By scores: the mean absolute difference of the scores both have, each as a share of its range.")
    return " ".join(told)


def sentence(pair: Mapping[str, Any]) -> str:
    """What a comparison amounts to, in words."""
    near = pair["one to one"]
    if pair["by"] == "scores":
        return (
            f"By {count(len(pair['scores']), 'score')}, heads of {pair['model']} and {pair['against']} paired one to "
            f"one are {short(near['value'])} apart; any two of their heads are {short(pair['any'])} apart on average."
        )
    far = pair["shuffled"]["one to one"]
    spread = f" ({interval(near['low'], near['high'])})" if near.get("low") is not None else ""
    return (
        f"Paired one to one, heads of {pair['model']} and {pair['against']} are {short(near['value'])} bits apart"
        f"{spread}; {pair['against']} and itself on the same tokens in another order are {short(far['value'])}."
    )


def _pair(pair: Mapping[str, Any]) -> Html:
    """The summaries of one comparison and its best pairs."""
    by_attention = pair["by"] == "attention"
    headings = ("", "bits apart", "95 %", "itself, shuffled", "95 %") if by_attention else ("", "apart")
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    lines = [
        _line(said, [pair[name], *([pair["shuffled"][name]] if by_attention else [])], by_attention)
        for name, said in SUMMARIES.items()
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroller")
    best = [
        tag("li", f"{one['head']} and {one['against']}: {short(one['divergence'])}") for one in pair["partners"][:PAIRS]
    ]
    title = tag("h3", f"{pair['model']} against {pair['against']}, by {pair['by']}")
    listed = tag("details", tag("summary", "The nearest pairs"), tag("ul", *best, class_="modules"))
    told = (
        f"{count(pair['texts'], 'text')}, {count(pair['rows'], 'row')} of each; rows that see one key are left out."
        if by_attention
        else f"By {', '.join(pair['scores'])}."
    )
    return panel(title, table, listed, tag("p", told, class_="note"))


def _line(said: str, distances: Sequence[Mapping[str, Any]], intervals: bool) -> Html:
    cells = []
    for one in distances:
        cells += [short(one["value"]), *([interval(one.get("low"), one.get("high"))] if intervals else [])]
    return tag("tr", tag("th", said, scope="row"), *(tag("td", cell) for cell in cells))


def similar_charts(similarity: pl.DataFrame) -> dict[str, Spec]:
    """The map of all pairs; nothing where there are none."""
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
    said = pl.format(
        "{} of {} and {} of {}: {}{}", "here", "model", "there", "against", pl.col("divergence").round(3), unit
    )
    shown = nearest.with_columns(said=said, divergence=pl.col("divergence").round(4))
    number = {pair: place for place, pair in enumerate(_pairs(similarity))}
    at = [number[pair] for pair in shown.select(PAIR).iter_rows()]
    told = shown.with_columns(pair=pl.Series(at, dtype=pl.Int64))
    return {"similar": told.select("pair", "here", "there", "divergence", "said").to_dict(as_series=False)}


def similar_figures(similarity: pl.DataFrame) -> dict[str, Figure]:
    """The maps as pictures."""
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
    """Which models were compared, and by what; a chart knows them by number, as a name may hold any letter."""
    return list(similarity.select(PAIR).unique(maintain_order=True).iter_rows())


def _coarse(similarity: pl.DataFrame) -> bool:
    """Whether there are too many pairs of heads to draw each."""
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
    """Heads in their order; only as many names as can be read."""
    kind = alt.X if field == "there" else alt.Y
    every = max(1, -(-len(names) // 24))
    axis = alt.Axis(values=list(names[::every]), ticks=False, domain=False, labelAngle=0 if kind is alt.Y else -60)
    return kind(field, type="nominal", sort=list(names), title=None, axis=axis)


def _height(similarity: pl.DataFrame) -> int:
    return max(280, min(620, 120 + 12 * len(_names(similarity, ""))))

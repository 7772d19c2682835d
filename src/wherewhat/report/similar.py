"""Which heads of two models look at the same things: the whole table as a map, the best pairs, and what it says."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.marks import WHOLE, gradient, layered, named, shade
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, interval, short
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.tags import Html, join, tag

MOST = 30_000  # cells of a map of heads; larger tables are drawn layer by layer
PAIRS = 12  # that are listed
SUMMARIES = {
    "min": "the two nearest heads",
    "match": "each later head and its nearest",
    "match back": "each first head and its nearest",
    "one to one": "heads paired one to one",
}


def page_of_heads_alone(similarity: pl.DataFrame, manifest: Manifest) -> Page:
    """The page of models that differ in shape: nothing is held head against head but what they look at."""
    pairs = manifest["similar"]
    facts = [(str(side["model"].get("heads")), f"heads of {side['name']}") for side in manifest["compared"]]
    sections = [the_same_things(similarity, manifest), the_texts(manifest), how_it_was_made(manifest)]
    return Page(
        title=str(pairs[-1]["model"]),
        kind=f"Compared with {pairs[-1]['against']}",
        lede=" ".join(sentence(pair) for pair in pairs),
        facts=facts,
        sections=[section for section in sections if section],
        charts=similar_charts(similarity),
        tables=similar_tables(similarity),
        figures=similar_figures(similarity),
    )


def the_same_things(similarity: pl.DataFrame, manifest: Manifest) -> Section | None:
    """How far apart the attention of every two heads is, and which heads are each other's."""
    if similarity.is_empty():
        return None
    pairs = manifest.get("similar") or ()
    chart = drawn(
        "similar",
        "Divergence of attention, every head of the later against every head of the first",
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
        f"{what}: dark is the same attention (0 bits), light is none in common (1 bit), by the divergence of Jensen "
        f"and Shannon. {' '.join(sentence(pair) for pair in pairs)}"
    )
    return Section("similar", "Heads that look at the same things", lede, body, short="Alike")


def sentence(pair: Mapping[str, Any]) -> str:
    """What a comparison amounts to, in words."""
    near, far = pair["one to one"], pair["shuffled"]["one to one"]
    spread = f" ({interval(near['low'], near['high'])})" if near.get("low") is not None else ""
    return (
        f"Paired one to one, heads of {pair['model']} and {pair['against']} are {short(near['value'])} bits apart"
        f"{spread}; {pair['against']} and itself on the same tokens in another order are {short(far['value'])}."
    )


def _pair(pair: Mapping[str, Any]) -> Html:
    """The summaries of one comparison and its best pairs."""
    head = tag("tr", *(tag("th", name, scope="col") for name in ("", "bits apart", "95 %", "itself, shuffled", "95 %")))
    lines = [_line(said, pair[name], pair["shuffled"][name]) for name, said in SUMMARIES.items()]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroller")
    best = [
        tag("li", f"{one['head']} and {one['against']}: {short(one['divergence'])}") for one in pair["partners"][:PAIRS]
    ]
    title = tag("h3", f"{pair['model']} against {pair['against']}")
    listed = tag("details", tag("summary", "The nearest pairs"), tag("ul", *best, class_="modules"))
    told = f"{count(pair['texts'], 'text')}, {count(pair['rows'], 'row')} of each; rows that see one key are left out."
    return panel(title, table, listed, tag("p", told, class_="note"))


def _line(said: str, near: Mapping[str, Any], far: Mapping[str, Any]) -> Html:
    cells = [text for one in (near, far) for text in (short(one["value"]), interval(one.get("low"), one.get("high")))]
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
        legend=gradient("bits apart", tickCount=5),
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
    nearest = pairs.group_by("model", "against", "here", "there", maintain_order=True).agg(pl.col("divergence").min())
    said = pl.format(
        "{} of {} and {} of {}: {} bits", "here", "model", "there", "against", pl.col("divergence").round(3)
    )
    shown = nearest.with_columns(said=said, divergence=pl.col("divergence").round(4))
    number = {pair: place for place, pair in enumerate(_pairs(similarity))}
    at = [number[pair] for pair in shown.select("model", "against").iter_rows()]
    told = shown.with_columns(pair=pl.Series(at, dtype=pl.Int64))
    return {"similar": told.select("pair", "here", "there", "divergence", "said").to_dict(as_series=False)}


def similar_figures(similarity: pl.DataFrame) -> dict[str, Figure]:
    """The maps as pictures."""
    charts, tables, made = similar_charts(similarity), similar_tables(similarity), dict[str, Figure]()
    for number, (title, words) in enumerate(_views(similarity)):
        spec = titled(charts["similar"], "Heads that look at the same things", title)
        made[f"similar_{number}" if number else "similar"] = figure_of(spec, tables, (640, 600), words)
    return made


def _views(similarity: pl.DataFrame) -> list[tuple[str, dict[str, str]]]:
    """The comparisons that a reader can choose from."""
    if similarity.is_empty():
        return []
    return [
        (f"{model} (down) against {against} (across)", {"pair": str(number)})
        for number, (model, against) in enumerate(_pairs(similarity))
    ]


def _pairs(similarity: pl.DataFrame) -> list[tuple[str, str]]:
    """Which models were held against each other; a chart knows them by number, as a name may hold any letter."""
    return list(similarity.select("model", "against").unique(maintain_order=True).iter_rows())


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

"""Which heads of two models are alike, by attention or by scores: the whole table as a heat map, and the best pairs."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.formatting import count, interval, short
from wherewhat.report.blocks.axes import gradient, shade, x, y
from wherewhat.report.blocks.chart import heat_map
from wherewhat.report.blocks.layout import note, panel
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Section
from wherewhat.tables.manifest.scores import SimilarModels

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
MEASURED = {
    "attention": "By attention: the Jensen–Shannon divergence of their attention in bits, on the same rows.",
    "scores": "By scores: the mean absolute difference of shared scores, each as a share of its range.",
}


def similar_heads_section(similarity: pl.DataFrame, pairs: Sequence[SimilarModels]) -> Section | None:
    """How far apart every two heads are, and which heads pair up."""
    if similarity.is_empty():
        return None
    coarse = similarity.height > MOST * max(1, similarity["model"].n_unique())
    what = "Each cell is a pair of layers, at its nearest pair of heads" if coarse else "Each cell is a pair of heads"
    kinds = set(similarity["by"])
    measured = " ".join(words for kind, words in MEASURED.items() if kind in kinds)
    sentences = " ".join(sentence(pair) for pair in pairs)
    lede = f"{what}: dark is identical (0), light is nothing in common (1). {measured} {sentences}"
    body = join(panel(_map(similarity, coarse=coarse)), *(_pair(pair) for pair in pairs))
    return Section("similar", "Heads that are alike", lede, body, short="Alike")


def _map(similarity: pl.DataFrame, *, coarse: bool) -> Chart:
    """Every two heads, or every two layers at their nearest heads; a view per pair of models."""
    pattern, name = ("L{}", ["layer"]) if coarse else ("L{}H{}", ["layer", "head"])
    other = [f"against_{column}" for column in name]
    pairs = similarity.with_columns(here=pl.format(pattern, *name), there=pl.format(pattern, *other))
    here = pairs.sort("layer", "head")["here"].unique(maintain_order=True).to_list()
    there = pairs.sort("against_layer", "against_head")["there"].unique(maintain_order=True).to_list()
    nearest = pairs.group_by(*PAIR, "here", "there", maintain_order=True).agg(pl.col("divergence").min())
    apart, unit = pl.col("divergence"), pl.col("by").replace_strict(BITS)
    tip = pl.format("{} of {} and {} of {}: {}{}", "here", "model", "there", "against", apart.round(3), unit)
    cells = nearest.with_columns(tip=tip, divergence=apart.round(4))
    views = {
        f"{model} (down) against {against} (across), by {kind}": cells.filter(model=model, against=against, by=kind)
        for model, against, kind in cells.select(PAIR).unique(maintain_order=True).iter_rows()
    }
    colours = alt.Scale(domain=[0, 1], range=[shade("layers", step) for step in range(7)], interpolate="lab")
    label = "Divergence of every head of the later from every head of the first"
    cell: dict[str, Any] = {
        "value": "divergence",
        "scale": colours,
        "legend": gradient("apart", tickCount=5),
        "edge": 0,
    }
    cell |= {"x": _axis(x, "there", there, labelAngle=-60), "y": _axis(y, "here", here, labelAngle=0)}
    height = max(280, min(620, 120 + 12 * len(here)))
    return heat_map("similar", views, **cell, label=label, height=height, figure=True, title="Heads that are alike")


def _axis(channel: Any, field: str, names: Sequence[str], **look: Any) -> Any:
    """Heads in order, with only as many labels as can be read."""
    every = max(1, -(-len(names) // 24))
    return channel(field, type="nominal", sort=names, values=list(names[::every]), ticks=False, domain=False, **look)


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
    headings = ("heads", "bits apart", "95 %", "itself, shuffled", "95 %") if by_attention else ("heads", "apart")
    summaries = [pair] if pair.shuffled is None else [pair, pair.shuffled]
    lines = []
    for name, label in SUMMARIES.items():
        distances = [getattr(each, name) for each in summaries]
        cells = [(short(distance.value), interval(distance.low, distance.high)) for distance in distances]
        lines.append([label, *(cell for two in cells for cell in (two if by_attention else two[:1]))])
    title = f"{pair.model} against {pair.against}, by {pair.by}"
    best = [tag("li", f"{two.head} and {two.against}: {short(two.divergence)}") for two in pair.partners[:PAIRS]]
    listed = tag("details", tag("summary", "The nearest pairs"), tag("ul", *best, class_="modules"))
    texts = f"{count(pair.texts or 0, 'text')}, {count(pair.rows or 0, 'row')} of each"
    basis = (
        f"{texts}; rows with a single visible key are left out." if by_attention else f"By {', '.join(pair.scores)}."
    )
    return panel(table(headings, lines, label=title, look=""), listed, note(basis), title=title)

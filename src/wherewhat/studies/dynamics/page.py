"""The page of nets that learn to follow numbers or letters: how their heads become positional or symbolic."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from wherewhat.report.blocks import axes, marks
from wherewhat.report.blocks.axes import INK, MUTED, WHAT, WHERE, colour, legend, share, x, y
from wherewhat.report.blocks.chart import Views, chart, heat_map, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.exclusion import bound, excluded_corner
from wherewhat.report.blocks.layout import columns, counted, note, panel
from wherewhat.report.blocks.marks import DASHES, ROWS, TIP, dots, estimates, line, named, text_labels, where, whiskers
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.rows import write_tip
from wherewhat.report.core.html import Html
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.dynamics.summary import KINDS, layer_of
from wherewhat.studies.engine.results import ResultTable
from wherewhat.tables.manifest.study import DynamicsManifest

TASKS = {
    "number": "Step back by the given integers until a letter is reached: a head must know how far away a token is.",
    "letter": "Go to the pair that starts with the current letter until a pair has an integer: only content matters.",
}
LEDES = {
    "learning": "The share of test sequences with an exact answer during training, by the number of hops. Bold lines "
    "are means over seeds with their 95 % interval (with a single seed, over its test sequences), thin lines single "
    "seeds.",
    "plane": "Each line is the path of one head, from a ring before training to a disc at its end. Flat attention is "
    "in the upper right corner, purely positional heads are in the lower right, purely symbolic heads in the upper "
    "left.",
    "layers": "The exact shares of the logits' variance by layer during training, as means over seeds: the stronger "
    "the colour, the more position, or content, explains.",
    "purity": "The share of pure heads, compared with accuracy. By the published scores a head is pure if one score is "
    "at least 1 − γ and the other at most γ; by exact shares it is pure if one share is at least 1 − γ.",
    "longer": "The trained nets read longer inputs: more tokens precede the window, and every hop is as long as "
    "before. The dotted line is the length of the training inputs; dashed lines are published, for training inputs of "
    "17 tokens.",
    "margins": "The margin of the best key over the second at the last token, by input length, for the most positional "
    "head of the number task and the most symbolic head of the letter task.",
    "frequencies": "The rotary frequencies that each layer relies on after training, from the first layer to the last. "
    "Dashed lines are published for 12 layers with 64 frequencies, as a number (ring) or as a range (bar). A head that "
    "uses all frequencies equally is in the middle.",
}
DEEP = 20  # on a logarithmic axis, which has no 0, an interval ends at this part of its value at the latest
APART = 0.06  # labels of heads nearer than this in the plane would overlap
RowsOf = Callable[[ResultTable], Views]  # what a chart draws of one task
Look = Mapping[str, Any]  # options of charts and axes
STROKES: Look = {"symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 150}
BY_TASK = colour("subject", {"number": WHERE, "letter": WHAT}, legend=legend(**STROKES))
STEPS = x("at", "training step", nice=False, tickCount=5, grid=False, format=",d", labelFlush=True)
ACCURACY = share(y, "value", "accuracy")


def page(result: pl.DataFrame, manifest: DynamicsManifest) -> Page:
    """What was measured while the nets learnt, with the published claims."""
    about, order = manifest.about, ("subject", "seed", "item", "at")
    table = ResultTable(result.sort(order, nulls_last=True, maintain_order=True), scale=about)
    counts = ((about.steps, "step"), (about.batch, "sequence per step", "sequences per step"))
    facts = [counted(*each) for each in (*counts, (about.length, "token"), (about.seeds, "seed")) if each[0]]
    measured = (learning, the_plane, layer_by_layer, purity, longer, margins, frequencies)
    return Page(
        title="How heads become positional or symbolic",
        kind="Reproduction of arXiv 2605.31558",
        lede="Two tasks with the same hops: one depends on the positions of tokens, the other on their content. A "
        "small decoder learns each from scratch, while every head is measured: which kind it becomes, and when.",
        facts=[*([(f"{about.layers} × 1", "layers × heads")] if about.layers else []), *facts],
        sections=[
            *(section(table) for section in measured),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def for_each(table: ResultTable, draw: Callable[..., Chart], name: str, rows: RowsOf, **look: Any) -> Html:
    """A chart of each task, side by side, from the rows of the task."""
    label, cards = look.pop("label"), []
    for task, text in TASKS.items():
        title, views = f"The {task} task", rows(ResultTable(table.where(subject=task), scale=table.scale))
        drawn = draw(f"{name}_{task}", views, label=f"{title}: {label}", figure=True, title=title, **look)
        cards.append(panel(drawn, title=title, text=text if name == "hops" else ""))
    return columns(*cards)


def learning(table: ResultTable) -> Section:
    """Accuracy by hops over training."""
    hops = sorted({*table.where(part="accuracy")["item"]} - {"all"})
    farthest = 4 if len(hops) < 4 else 6  # few lines need not go to the palest shade
    shades = {name: axes.shade("layers", round(farthest * i / max(1, len(hops) - 1))) for i, name in enumerate(hops)}
    look = {"x": STEPS, "y": ACCURACY, "colour": colour("item", shades, legend=legend(**STROKES)), "seeds": True}
    words = {"label": "accuracy by hops over training", "tip": "{subject}, {item}, step {at:,.0f}: {value:share}"}
    single = pl.col("item") != "all"
    body = for_each(table, lines, "hops", lambda task: task.where(part="accuracy").filter(single), **look, **words)
    return Section("learning", "Hop by hop", LEDES["learning"], body, "Hops")


def the_plane(table: ResultTable) -> Section:
    """Every head's path through the plane of the published scores, by run."""

    def rows(task: ResultTable) -> Views:
        points = wide(task.where(part="heads").filter(pl.col("seed").is_not_null()), KINDS)
        runs = points.with_columns(last=pl.col("at") == pl.col("at").max()).partition_by("seed", maintain_order=True)
        return {f"seed {run['seed'][0]}": labelled(run) for run in runs}

    unit: Look = {"domain": [0, 1], "nice": False, "tickCount": 5}
    across, up = "positional score, s_POS", "symbolic, s_SYM"
    place = {"x": x("positional", across, **unit), "y": y("symbolic", up, **unit)}
    coloured, last = {**place, "color": axes.layer_colour(table.scale.layers or 1)}, where(ROWS, last=True)
    beside: Look = {"baseline": "middle", "fontWeight": 600}
    drawn = [
        *excluded_corner({"x": x("x", across, **unit), "y": y("y", up, **unit)}),
        line(ROWS, {**coloured, "detail": "layer:N", "order": "at:Q"}, width=2, opacity=0.75, interpolate="monotone"),
        dots(ROWS, coloured, size=16, strokeWidth=0, opacity=0.8),
        dots(where(ROWS, at=0), coloured, size=70, hollow=True),
        dots(last, coloured, size=120, strokeWidth=1.2),
        *text_labels(where(last, right=...), "right", place, align="left", dx=10, **beside),
        *text_labels(where(last, left=...), "left", place, align="right", dx=-10, **beside),
    ]
    look = {"layers": drawn, "tables": {"bound": pl.DataFrame(bound())}, "height": 420}
    label = "path of every head in the plane of the positional and the symbolic score"
    tip = "L{layer}, step {at:,.0f}: s_POS {positional:short}, s_SYM {symbolic:short}"
    body = for_each(table, chart, "paths", rows, label=label, tip=tip, **look)
    return Section("plane", "The path of every head", LEDES["plane"], body, "Plane")


def wide(heads: pl.DataFrame, scores: tuple[str, ...]) -> pl.DataFrame:
    """Rows of heads with a column for each of some scores, by layer and step; those that lack one are left out."""
    layer = pl.col("item").str.extract(r"^L(\d+)").cast(pl.Int32)
    some = heads.filter(pl.col("measure").is_in(scores)).with_columns(layer=layer)
    cells = some.pivot(on="measure", index=["seed", "layer", "at"], values="value")
    return cells.drop_nulls(scores).sort("seed", "layer", "at")


def labelled(run: pl.DataFrame) -> pl.DataFrame:
    """The points of a run with labels at the ends of paths, on the side with more room; near heads share one."""
    groups: dict[int, list[Mapping[str, Any]]] = {}  # by the layer of the first
    for end in run.filter("last").iter_rows(named=True):
        near = (n for n, (first, *_) in groups.items() if all(abs(first[kind] - end[kind]) < APART for kind in KINDS))
        groups.setdefault(next(near, end["layer"]), []).append(end)
    labels = {layer: ", ".join(f"L{end['layer']}" for end in group) for layer, group in groups.items()}
    label = pl.col("layer").replace_strict(labels, default=None, return_dtype=pl.String)
    inside = pl.col("positional") < 0.8
    return run.with_columns(right=pl.when(inside).then(label), left=pl.when(~inside).then(label))


def layer_by_layer(table: ResultTable) -> Section:
    """Shares by layer and step, as means over seeds; content counts below 0."""

    def rows(task: ResultTable) -> Views:
        cells = wide(task.where(part="heads", seed=None), ("position_share", "symbol_share"))
        position, content = pl.col("position_share"), pl.col("symbol_share")
        values = {"Both": position - content, "Position": position, "Content": -content}
        return {title: cells.with_columns(value=value) for title, value in values.items()}

    plain: Look = {"type": "ordinal", "paddingInner": 0, "ticks": False, "labelAngle": 0}
    steps = x("at", "training step", **plain, labelOverlap="greedy", format=",d")
    sides = "datum.value < 0 ? 'content' : datum.value > 0 ? 'position' : ''"
    bar = axes.gradient(None, values=[-1, 0, 1], labelExpr=sides, direction="horizontal")
    look = {"x": steps, "y": y("layer", "layer", **plain), "scale": axes.two_tones("what", "where"), "legend": bar}
    shares = "position share {position_share:short}, symbol share {symbol_share:short}"
    words = {"label": "shares by layer and step", "tip": f"layer {{layer}}, step {{at:,.0f}}: {shares}"}
    body = for_each(table, heat_map, "layers", rows, height=230, **look, **words)
    return Section("layers", "Layer by layer", LEDES["layers"], body, "Layers")


def purity(table: ResultTable) -> Section:
    """Pure heads as a share of all heads, and accuracy, during training."""

    def rows(task: ResultTable) -> Views:
        share_of_heads = (pl.col("value", "low", "high") / (table.scale.layers or 1)).clip(upper_bound=1)
        words = pl.col("measure").str.extract_groups(r"(?<kind>\w+) by (?<rule>\w+) at (?<gamma>.+)").struct
        counts = task.where(part="purity", seed=None, item="all").with_columns(
            share_of_heads, what=words["kind"] + " heads", rule=pl.format("{}, γ = {}", words["rule"], words["gamma"])
        )
        answers = task.where(part="accuracy", seed=None, item="all").with_columns(what=pl.lit("accuracy"))
        rules = counts.partition_by("rule", maintain_order=True)
        return {pure["rule"][0]: pl.concat([answers, pure.drop("rule")]) for pure in rules}

    tones = {"accuracy": INK, "positional heads": WHERE, "symbolic heads": WHAT}
    kinds = colour("what", tones, legend=legend(**STROKES, direction="vertical", columns=1))
    look = {"x": STEPS, "y": share(y, "value", "share of heads, accuracy"), "colour": kinds}
    words = {"label": "pure heads and accuracy", "tip": "{what}, step {at:,.0f}: {value:share}"}
    body = for_each(table, lines, "pure", rows, **look, **words)
    return Section("purity", "Pure heads", LEDES["purity"], body, "Purity")


def longer(table: ResultTable) -> Section:
    """Accuracy on longer inputs; what was published of it is shown as far as the axis goes."""
    rows, (axis, lengths) = table.where(part="length"), by_length(table)
    known = (("letter", 17.0, 850.0, 0.9, "above"), ("number", 400.0, math.inf, 0.4, "below"))
    theirs = [
        {"label": f"published: {task} {side}", "subject": task, "value": value}
        | {"low": max(low, lengths[0]), "high": min(high, lengths[-1])}
        for task, low, high, value, side in known
        if low < lengths[-1]
    ]
    place, published = {"x": "low:Q", "y": ACCURACY}, named("published")
    below = [
        marks.rule(named("trained"), {"x": axis}),
        *text_labels(published, "label", place, dy=-7, align="left", fontSize=11, color=MUTED),
        whiskers(published, {**place, "color": BY_TASK}, width=1.6, strokeDash=DASHES),
    ]
    hops = {"All": "all", **{name: name for name in sorted({*rows["item"]} - {"all"})}}
    views = {title: rows.filter(pl.col("item") == name) for title, name in hops.items()}
    tables = {"trained": [{"at": lengths[0]}], "published": theirs}
    look: Look = {"x": axis, "y": ACCURACY, "colour": BY_TASK, "seeds": True, "below": below, "tables": tables}
    words: Look = {"label": "accuracy by input length", "tip": "{subject}, {item}, {at:.0f} tokens: {value:share}"}
    drawn = lines("lengths", views, **look, **words, figure=True, title="Longer inputs")
    return Section("longer", "Longer inputs", LEDES["longer"], panel(drawn), "Longer")


def by_length(table: ResultTable) -> tuple[Any, list[float]]:
    """An axis of input lengths, and the lengths."""
    lengths = table.where(part="length")["at"].unique().sort().to_list()
    scale: Look = {"scale": "log", "nice": False, "domain": [lengths[0], lengths[-1]], "padding": 12}
    look: Look = {"values": lengths, "grid": False, "labelOverlap": "greedy", "format": "d"}
    return x("at", "input length in tokens", **scale, **look), lengths


def margins(table: ResultTable) -> Section:
    """The margin of the best key over the second, with the bounds of the theory; a line ends where its bound is 0."""
    text = (
        "Logits are divided by their scale and by the norms of query and key, which makes them cosines, as in the "
        "theory. Dashed lines are its bounds for a head with one frequency, at the head's mean frequency θ and at the "
        "published θ; where such a line ends, the bound is 0. A head with many frequencies may exceed them."
    )
    kinds = {"gap": "measured", "bound": "bound at our θ", "published": "bound at the published θ"}
    bounds = [(task, *point) for task, points in table.scale.published.bounds.items() for point in points]
    theirs = [{"subject": task, "measure": "published", "at": float(n), "value": value} for task, n, value in bounds]
    value, low = pl.col("value"), pl.col("low")
    rows = (
        pl.concat([table.where(part="gap", seed=None), pl.DataFrame(theirs)], how="diagonal")
        .filter(pl.col("measure").is_in(kinds.keys()), value > 0)
        .with_columns(whose=pl.col("measure").replace(kinds), exact=low)
        .with_columns(low=pl.when(low < value / DEEP).then(value / DEEP).otherwise(low))
    )
    ticks = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 2, 5)]
    up = y("value", "margin of the best key (cosine)", scale="log", values=ticks, format="~g", labelOverlap="greedy")
    place = {"x": by_length(table)[0], "y": up, "color": BY_TASK}
    key = legend(labelLimit=200, columns=1, symbolStrokeColor=MUTED, symbolStrokeWidth=2)
    dashes = axes.dash("whose", dict(zip(kinds.values(), ([1, 0], [6, 4], [2, 4]), strict=True)), legend=key)
    measured = estimates(where(ROWS, measure="gap"), place, along="y", colour=BY_TASK)
    layers = [line(ROWS, {**place, "strokeDash": dashes}, tooltip=TIP), *measured]
    words: Look = {"label": "margins and bounds by input length", "title": "The margin of the best key", "height": 380}
    tip = "{subject}, {whose}, {at:.0f} tokens: {value:short}"
    drawn = chart(
        "margins", rows, layers, tip=lambda row: write_tip(tip, {**row, "low": row["exact"]}), figure=True, **words
    )
    return Section("margins", "The margin of the best key", LEDES["margins"], panel(drawn, note(text)), "Margins")


def frequencies(table: ResultTable) -> Section:
    """Mean frequency by depth, ours and published."""
    span: Look = {"domain": [0, 1], "reverse": True, "nice": False, "clamp": True, "values": [0, 0.5, 1]}
    labels = "{0: 'fastest', 0.5: 'middle', 1: 'slowest'}[datum.value]"
    depth = x("depth", "first layer → last layer", domain=[-0.03, 1.03], labels=False, ticks=False, grid=False)
    place = {"x": depth, "y": y("value", "mean rotary frequency", **span, labelExpr=labels), "color": BY_TASK}
    ours, theirs = where(ROWS, whose="ours"), where(ROWS, whose="published")
    layers = [
        marks.band(theirs, place),
        *(line(theirs, {**place, "y": f"{end}:Q"}, width=1.4, strokeDash=DASHES) for end in ("low", "high")),
        dots(where(theirs, value=...), place, size=30, hollow=True, strokeWidth=1.4),
        whiskers(where(theirs, value=None), place, along="y", width=3, opacity=0.6, tooltip=TIP),
        line(ours, place),
        *estimates(ours, place, along="y", colour=BY_TASK),
    ]
    words: Look = {"label": "mean frequency by layer", "title": "Fast or slow frequencies"}
    tip = "{whose}, {subject}, layer {layer}: {number} of {first} to {slowest}"
    drawn = chart("frequencies", list(frequency_rows(table)), layers, tip=tip, figure=True, **words)
    return Section("frequencies", "Fast or slow frequencies", LEDES["frequencies"], panel(drawn), "Frequencies")


def frequency_rows(table: ResultTable) -> Iterator[Mapping[str, Any]]:
    """Mean frequency by layer after training, from 0 for the fastest to 1 for the slowest."""
    about, heads = table.scale, table.where(part="heads", seed=None, measure="mean_frequency")
    ends = heads.filter(pl.col("at") == heads["at"].max()).select("subject", "item", "value", "low", "high")
    sizes, published = (about.layers or 1, about.frequencies or 2), about.published.frequencies
    numbers = [("ours", task, layer_of(item), sizes, each) for task, item, *each in ends.iter_rows()]
    for task, ranges in (("number", published.number), ("letter", published.letter)):
        theirs = [[fast if fast == slow else None, fast, slow] for fast, slow in ranges]
        numbers += [("published", task, n, (len(ranges), published.of or 2), each) for n, each in enumerate(theirs)]
    first = published.first  # the number of the fastest; results of earlier versions count from 1
    for whose, task, layer, (layers, of), each in numbers:
        value, low, high = (None if end is None else (end - first) / (of - 1) for end in each)
        yield {
            **{"whose": whose, "subject": task, "layer": layer, "depth": layer / max(1, layers - 1)},
            **{"value": value, "low": low, "high": high, "first": first, "slowest": first + of - 1},
            "number": f"{each[1]} to {each[2]}" if value is None else f"{each[0]:.3g}",
        }

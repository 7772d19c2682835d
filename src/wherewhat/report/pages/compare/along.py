"""How scores move along a list of models or checkpoints: means of layers and of all heads, and every head by itself."""

from collections.abc import Sequence
from itertools import pairwise
from math import log1p
from typing import Any

import altair as alt
import polars as pl

from wherewhat.formatting import listed, short
from wherewhat.report.blocks.axes import INK, MUTED, colour, layer_colour, shade, x, y
from wherewhat.report.blocks.chart import ViewRows, chart
from wherewhat.report.blocks.layout import panel
from wherewhat.report.blocks.marks import ROWS, TIP, band, dots, line, named, text_labels, where, whiskers
from wherewhat.report.blocks.numbers import spaced
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import tag
from wherewhat.report.core.page import Section
from wherewhat.report.pages.compare.comparison import ComparisonData, between, by
from wherewhat.tables.manifest.scores import ComparedModel

TONES = [shade("layers", 0), shade("spread", 4), shade("layers", 3), shade("spread", 2)]  # as unlike as possible
TONES += [shade("layers", 6), shade("spread", 5)]
MOVERS = len(TONES)  # heads that move most, each a line with a colour and a name
MOST_POINTS = 10_000  # of a view; of more heads, only those that move most are drawn
IN_TABLE = 3  # heads per score in the table of those that move most
LEVEL = 6  # names that fit side by side
MOST_NAMES = 24  # along an axis; of more, only some are written
HEIGHT = 420  # of the chart of heads
LINE = 15  # pixels that a name takes
EARLY, DENSE = 0.02, 0.05  # more than this share of steps in this first part of training: a logarithmic scale
HEADINGS = ("score", "head", "first", "last", "lowest", "highest", "range", "largest change")


def value_axis() -> Any:
    """The axis of a score, named by the view."""
    return y("value", "{title}", zero=False, nice=True, padding=8, tickCount=6, labelOverlap=True, labelSeparation=10)


def along_the_list(comparison: ComparisonData) -> Section | None:
    """How scores change along the list, if it has more than two models: their mean, and thin lines for layers."""
    if len(comparison.sides) < 3:
        return None
    across = list_axis(comparison)
    whole, each = where(ROWS, layer=None), where(ROWS, layer=...)
    place = {"x": across, "y": value_axis(), "order": alt.Order("order", type="quantitative")}
    by_layer = {**place, "color": layer_colour(comparison.layers)}
    point = {name: channel for name, channel in by_layer.items() if name != "order"}
    few = len(comparison.sides) <= MOST_NAMES
    marks = [
        line(each, {**by_layer, "detail": alt.Detail("layer", type="nominal")}, width=1.3, opacity=0.75),
        # Rings, not discs: a colour that both draws and fills gets no bar for a legend.
        each.mark_point(filled=False, size=10, strokeWidth=3 if few else 1.5, opacity=0.9, tooltip=TIP).encode(**point),
        whiskers(whole, {"x": across}, along="y", width=2, color=INK) if few else band(whole, {"x": across}),
        line(whole, place, width=2.6, color=INK),
        dots(
            whole,
            {"x": across, "y": value_axis()},
            color=INK,
            **({"size": 80} if few else {"size": 14, "strokeWidth": 0}),
        ),
    ]
    rows = {what: _along(comparison, what) for what in comparison.views}
    views = {spaced(what): ViewRows(its, {"title": spaced(what)}) for what, its in rows.items()}
    label = "Means of heads from the first to the last"
    drawn = chart("along", views, marks, label=label, height=380, figure=True, title="Along the list")
    stops, what = "steps of training" if comparison.stepped else "the models in the order given", comparison.views[0]
    means = sorted({(row["order"], row["name"], row["value"]) for row in rows[what] if row["layer"] is None})
    _, before, after = max((abs(after[2] - before[2]), before, after) for before, after in pairwise(means))
    lede = (
        f"From left to right: {stops}. The thick line is the mean over all heads, with the 95 % interval of its change "
        f"since {comparison.first}; thin lines are layers. `{what}` changes most between {before[1]} and {after[1]}: "
        f"{by(after[2] - before[2])}."
    )
    return Section("along", "Along the list", lede, panel(drawn), short="Along")


def _along(comparison: ComparisonData, what: str) -> list[dict[str, Any]]:
    """The mean over all heads and of every layer for every model of the list."""
    rows: list[dict[str, Any]] = []
    means = comparison.shown.filter(pl.col("head").is_null(), pl.col("what") == what, against=comparison.first)
    for order, side in enumerate(comparison.sides):
        for row in means.filter(model=side.name if order else comparison.last).iter_rows(named=True):
            value = row["after"] if order else row["before"]
            if value is None:
                continue
            sure = order > 0 and row["layer"] is None and row["low"] is not None
            ends = {end: row["before"] + row[end] if sure else None for end in ("low", "high")}
            part = "all heads" if row["layer"] is None else f"layer {row['layer']}"
            spread = f" ({between(row)})" if between(row) else ""
            since = f", {by(row['change'])}{spread} since {comparison.first}" if order and row["change"] else ""
            tip = f"{side.name}, {part}: {spaced(what)} {short(value)}{since}"
            rows.append({"layer": row["layer"], "value": value, **ends, **_stop(comparison, order), "tip": tip})
    return rows


def list_axis(comparison: ComparisonData) -> Any:
    """The horizontal axis: steps of training to scale, or the models in their order."""
    sides = comparison.sides
    if comparison.stepped:
        steps = sorted(side.step or 0 for side in sides)
        early = sum(0 < step < EARLY * steps[-1] for step in steps)
        if early > DENSE * len(steps):
            ticks: dict[str, Any] = {"scale": "symlog", "values": _spread_ticks(steps), "labelOverlap": True}
        else:
            ticks = {"tickCount": 6}
        written = "format(datum.value, '~s')"  # each by itself: as the format of the axis it gives all the same unit
        return x("at", "step of training", nice=False, labelExpr=written, grid=False, **ticks)
    every = -(-len(sides) // MOST_NAMES)
    look: dict[str, Any] = {"labelAngle": 0} if len(sides) <= LEVEL else {"labelAngle": -40, "labelOverlap": False}
    look |= {"values": [side.name for side in sides[::every]]} if every > 1 else {}
    return x("name", type="nominal", sort=alt.EncodingSortField("order"), labelLimit=120, ticks=False, **look)


def _spread_ticks(steps: Sequence[int], most: int = 9) -> list[int]:
    """Some of these steps that stand well apart on a logarithmic scale.

    >>> _spread_ticks([0, 1, 2, 4, 8, 16, 1000, 2000, 3000], most=4)
    [0, 8, 1000]
    """
    chosen = [steps[0]]
    for step in steps[1:]:
        if log1p(step) - log1p(chosen[-1]) >= log1p(steps[-1]) / most:
            chosen.append(step)
    return chosen


def _stop(comparison: ComparisonData, order: int) -> dict[str, Any]:
    """Where a model of the list stands."""
    side = comparison.sides[order]
    return {"at": side.step if comparison.stepped else order, "name": side.name, "order": order}


def heads_along_the_list(comparison: ComparisonData) -> Section | None:
    """Every head along the list, if it has more than two models: those that move most by name."""
    if len(comparison.sides) < 3 or comparison.counterparts.is_empty():
        return None
    across, tone = list_axis(comparison), colour("rank", {str(rank): each for rank, each in enumerate(TONES)})
    in_order = {} if comparison.stepped else {"order": alt.Order("order", type="quantitative")}
    place = {"x": across, "y": value_axis(), **in_order}
    each, movers = alt.Detail("who", type="nominal"), named("movers")
    ends = {"x": across, "y": value_axis(), "color": tone}
    few = len(comparison.sides) <= MOST_NAMES
    marks = [
        ROWS.mark_line(strokeWidth=0.9, opacity=0.45, color=MUTED, tooltip=TIP).encode(**place, detail=each),
        line(movers, {**place, "detail": each, "color": tone}, width=2.2),
        dots(movers, {"x": across, "y": value_axis(), "color": tone}, size=40 if few else 14, strokeWidth=0),
        *text_labels(named("ends"), "who", ends, align="left", dx=9, fontSize=11.5, fontWeight=600),
    ]
    values = {what: comparison.head_values(what) for what in comparison.views}
    moves = {what: moves_of(rows) for what, rows in values.items() if not rows.is_empty()}
    views = {spaced(what): _view_of_heads(comparison, what, values[what], its) for what, its in moves.items()}
    look: dict[str, Any] = {"height": HEIGHT, "figure": True, "title": "Every head along the list"}
    drawn = chart("heads_along", views, marks, label="Every head from the first to the last", **look)
    listed_moves = tag(
        "details",
        tag("summary", f"The {IN_TABLE} heads that move most in each score"),
        _table_of_moves(comparison, moves),
    )
    body = panel(drawn, listed_moves)
    return Section("heads", "Every head along the list", _lede_of_heads(comparison, moves), body, short="Each head")


def moves_of(values: pl.DataFrame) -> pl.DataFrame:
    """How every head moves along the list, those that move most first.

    `range` is how far its highest value is from its lowest, and `step` the largest change from one model to the next,
    which ends at the model `at`.
    """
    value, order = pl.col("value"), pl.col("order")
    step = value.diff()
    largest = step.abs().arg_max()
    return (
        values.group_by("layer", "head", maintain_order=True)
        .agg(
            first=value.first(),
            last=value.last(),
            lowest=value.min(),
            lowest_at=order.get(value.arg_min()),
            highest=value.max(),
            highest_at=order.get(value.arg_max()),
            range=value.max() - value.min(),
            step=step.get(largest),
            at=order.get(largest),
            since=order.shift(1).get(largest),
        )
        .sort("range", descending=True, maintain_order=True)
    )


def _view_of_heads(comparison: ComparisonData, what: str, values: pl.DataFrame, moves: pl.DataFrame) -> ViewRows:
    """The lines of one score, all thin; those that move most again in colour, with their names at the end."""
    thin, movers, ends = list[dict[str, Any]](), list[dict[str, Any]](), list[dict[str, Any]]()
    by_head = values.partition_by("layer", "head", as_dict=True)
    for number, move in enumerate(moves.head(_most_heads(comparison)).iter_rows(named=True)):
        who, rank = comparison.name(move), str(number)
        path = by_head[move["layer"], move["head"]].rows(named=True)
        points: list[dict[str, Any]] = []
        for row in path:
            stop = _stop(comparison, row["order"])
            kept = {"at": stop["at"]} if comparison.stepped else stop  # the page has thousands of these
            points.append({"who": who, "value": row["value"], **kept})
        whole = f"{who}: {spaced(what)} {short(move['first'])} → {short(move['last'])}"
        thin += [{**points[0], "tip": whole}, *points[1:]]
        if number < MOVERS:
            for point, row in zip(points, path, strict=True):
                name = comparison.sides[row["order"]].name
                movers.append({**point, "rank": rank, "tip": f"{who}, {name}: {spaced(what)} {short(row['value'])}"})
            ends.append({**points[-1], "rank": rank})
    span = moves.select(pl.col("highest").max() - pl.col("lowest").min()).item()
    apart = spread_out([end["value"] for end in ends], gap=span * LINE / HEIGHT)
    ends = [{**end, "value": place} for end, place in zip(ends, apart, strict=True)]
    return ViewRows(thin, {"title": spaced(what)}, {"movers": movers, "ends": ends})


def _most_heads(comparison: ComparisonData) -> int:
    """How many heads are drawn at most."""
    return max(MOVERS, MOST_POINTS // len(comparison.sides))


def spread_out(places: Sequence[float], *, gap: float) -> list[float]:
    """Places for names that would overlap, each as near as possible to its own, in the same order.

    >>> [round(place, 2) for place in spread_out([0.5, 0.1, 0.52], gap=0.1)]
    [0.46, 0.1, 0.56]
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    groups: list[list[int]] = []  # names that touch, which stand around the middle of their places
    for number in order:
        groups.append([number])
        while len(groups) > 1 and _end(places, groups[-2], gap, 1) + gap > _end(places, groups[-1], gap, -1):
            last = groups.pop()
            groups[-1] += last
    spread = list(places)
    for group in groups:
        low = _end(places, group, gap, -1)
        for rank, number in enumerate(group):
            spread[number] = low + gap * rank
    return spread


def _end(places: Sequence[float], group: Sequence[int], gap: float, side: int) -> float:
    """The lowest (-1) or highest (1) place of a group of names that touch."""
    middle = sum(places[number] for number in group) / len(group)
    return middle + side * gap * (len(group) - 1) / 2


def _table_of_moves(comparison: ComparisonData, moves: dict[str, pl.DataFrame]) -> Any:
    lines = []
    for what, its in moves.items():
        for row in its.head(IN_TABLE).iter_rows(named=True):
            extremes = [
                f"{short(row[end])} at {comparison.sides[row[f'{end}_at']].name}" for end in ("lowest", "highest")
            ]
            ends = [short(row["first"]), short(row["last"])]
            lines.append(
                [spaced(what), comparison.name(row), *ends, *extremes, short(row["range"]), _step(comparison, row)]
            )
    return table(HEADINGS, lines, label="The heads that move most", look="")


def _step(comparison: ComparisonData, row: dict[str, Any]) -> str:
    """The largest change of a head from one model to the next."""
    names = [comparison.sides[row[end]].name for end in ("since", "at")]
    return f"{by(row['step'])} from {names[0]} to {names[1]}"


def _lede_of_heads(comparison: ComparisonData, moves: dict[str, pl.DataFrame]) -> str:
    what, its = next(iter(moves.items()))
    row = its.row(0, named=True)
    drawn = _most_heads(comparison)
    some = f" Only the {drawn} heads that move most are drawn." if drawn < len(its) else ""
    left_out = [side.name for side in comparison.sides[1:] if side.name not in set(comparison.counterparts["model"])]
    meaning = (
        "" if comparison.manifest.same_heads else " Heads of independently trained models share only their position."
    )
    without = f" Without counterparts, as their shape is another: {listed(left_out)}." if left_out else ""
    extremes = {row["lowest"], row["highest"]} - {row["first"], row["last"]}
    between_them = f", between {short(row['lowest'])} and {short(row['highest'])} on the way" if extremes else ""
    return (
        f"`{what}` moves most in {comparison.name(row)}: from {short(row['first'])} to {short(row['last'])}"
        f"{between_them}; its largest change is {_step(comparison, row)}. The {min(MOVERS, len(its))} heads whose "
        f"values span the widest range have a colour and a name, all others are thin lines.{some}{meaning}{without}"
    )


def no_head_by_head(comparison: ComparisonData) -> Section | None:
    """Why heads are not compared one by one, where no model has the shape of the first."""
    if not comparison.counterparts.is_empty():
        return None
    lede = (
        f"No other model has the shape of {comparison.first}, so no head has a counterpart: how scores are "
        "distributed over heads is compared instead."
    )
    lines = [[side.name, *_shape(side)] for side in comparison.sides]
    body = panel(table(("name", "family", "layers", "heads"), lines, label="The shapes of the models", look=""))
    return Section("shapes", "Why heads are not compared one by one", lede, body, short="Shapes")


def _shape(side: ComparedModel) -> list[str]:
    return [side.model.family or "", *(f"{size:,}" if size else "" for size in (side.model.layers, side.model.heads))]

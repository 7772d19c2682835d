"""The charts of heads as Vega-Lite specs: by two scores, by layer and head, and all scores of one head.

A column is named by its content and its score's key (`value_3`), so a spec made for the key `{x}` fits every score.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import INK, MUTED, PAPER, colour, diverging, end, x, y
from wherewhat.report.blocks.marks import TIP, Place, chosen_head, head_marks, layered, named, rule, whiskers
from wherewhat.report.core.page import Columns, Figure, Spec, filled
from wherewhat.report.pages.heads.head_table import HeadTable, ScoreView


def plane(run: HeadTable) -> Spec:
    """Every head as a point by two scores, coloured by layer, with the intervals of the selected head."""
    points = named("heads").transform_filter("isValid(datum['value_{x}']) && isValid(datum['value_{y}'])")
    place, look = {}, {"zero": False, "nice": False, "padding": 18, "tickCount": 6}
    for name, axis in (("x", x), ("y", y)):  # their ends are set from outside, so that selecting a head changes nothing
        ends = [alt.ExprRef(f"{name}_span[{at}]") for at in (0, 1)]
        place[name] = axis(f"value_{{{name}}}", f"{{{name} title}}", domain=ends, **look)
    chosen = points.transform_filter("datum.name == selected").mark_rule(color=INK, strokeWidth=1.3)
    return layered(
        *_chance(x, "x", y=0, align="left", dx=5, dy=9),
        *_chance(y, "y", x=alt.ExprRef("width"), align="right", dy=-5),
        head_points(points, place, run, color=axes.layer_colour(run.layers)),
        *(chosen.encode(**end(place, name, f"low_{{{name}}}", f"high_{{{name}}}")) for name in place),
        *chosen_head(points, place),
        x_span=[0, 1],
        y_span=[0, 1],
    )


def first_axes(run: HeadTable) -> tuple[ScoreView, ScoreView]:
    """Content and position, if measured; else the first two scores that differ between heads, or one on both axes."""
    for prefix in ("attended.", "", "input."):
        if both := run.find(f"{prefix}symbol_share", f"{prefix}position_share"):
            return both[0], both[1]
    telling = [score for score in run.answered if len(set(run.column(score)) - {None}) > 1]
    chosen = (telling + [score for score in run.answered if score not in telling])[:2]
    return chosen[0], chosen[-1]


def head_points(rows: alt.Chart, place: Place, run: HeadTable, **channels: Any) -> Any:
    """All heads as points, with a shape per part of the model."""
    points = rows.mark_point(**head_marks(len(run.heads["name"])))
    return points.encode(**place, shape=axes.part_shape(run.parts), **channels)


def _chance(axis: Any, name: str, **words: Any) -> list[Any]:
    """A dashed line at every distinct chance level of a score, labelled once."""
    value, chance = (f"datum['{number}_{{{name}}}']" for number in ("value", "chance"))
    levels = named("heads").transform_filter(f"isValid({chance}) && isValid({value})")
    levels = levels.transform_calculate(level=f"round({chance} * 1000) / 1000")
    at = {name: axis("level", f"{{{name} title}}")}
    once = levels.transform_aggregate(level="max(level)")
    return [
        rule(levels.transform_aggregate(groupby=["level"], heads="count()"), at, dash=(3, 4), strokeWidth=1),
        once.mark_text(color=MUTED, fontSize=11, text="chance", baseline="alphabetic", **words).encode(**at),
    ]


def head_map(legend: alt.Legend | None = None) -> Spec:
    """Layer by head: the distance of each head from its chance level. `reach` is the end of the colour scale.

    A score without a chance level is coloured from `base`, the lower end of its range.
    A head without a value is an empty cell, struck through.
    """
    axis = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True)
    edge: dict[str, Any] = {"stroke": PAPER, "strokeWidth": 1, "cursor": "pointer", "tooltip": TIP}
    place, cells = _cells(axis, legend, **edge)
    slash: dict[str, Any] = {"shape": "M-1,1L1,-1", "size": 60, "stroke": MUTED, "strokeWidth": 1, "opacity": 0.7}
    empty = named("heads").transform_filter("!isValid(datum['value_{score}'])")
    chosen = named("heads").transform_filter("datum.name == selected")
    return layered(
        *cells,
        empty.mark_point(**slash).encode(**place),
        chosen.mark_rect(fillOpacity=0, stroke=INK, strokeWidth=2.5).encode(**place),
        reach=1,
        base=0,
    )


def thumb() -> Spec:
    """The same map, small enough for a button: only its cells."""
    return layered(*_cells()[1], reach=1, base=0)


def _cells(axis: alt.Axis | None = None, legend: alt.Legend | None = None, **edge: Any) -> tuple[Place, list[Any]]:
    """Where a head stands, and two layers: cells with a value, by their distance from chance, and cells without."""
    plain: dict[str, Any] = {"type": "ordinal", "paddingInner": 0, "paddingOuter": 0, "axis": axis}
    place = {"x": x("head", "head", **plain), "y": y("layer", "layer", **plain)}
    value, chance = "datum['value_{score}']", "datum['chance_{score}']"
    cells = named("heads").transform_calculate(away=f"{value} - (isValid({chance}) ? {chance} : base)")
    away = alt.Color("away", type="quantitative", scale=diverging("reach"), legend=legend)
    known, empty = (cells.transform_filter(f"{sign}isValid({value})") for sign in ("", "!"))
    grey = empty.mark_rect(fill=axes.tone("line"), fillOpacity=0.35, **edge)
    return place, [known.mark_rect(**edge).encode(**place, color=away), grey.encode(**place)]


def dots() -> Spec:
    """One head's scores, each on its own range, with interval, chance level and the value of untrained weights."""
    rows, ends = named("dots"), "{0: 'low', 0.5: '', 1: 'high'}[datum.value]"
    scale: dict[str, Any] = {"domain": [0, 1], "nice": False, "values": [0, 0.5, 1], "labelExpr": ends, "grid": True}
    across = x("at", "value within the score's range", **scale)
    place = {"y": y("score", type="nominal", sort=None, labelFontSize=12, labelPadding=8)}
    sides = {"above": axes.shade("chance", 5), "below": axes.shade("chance", 1), "unclear": MUTED, "bare": INK}
    coloured = {**place, "color": colour("side", sides)}
    triangle: dict[str, Any] = {"shape": "triangle-down", "size": 34, "filled": True, "yOffset": -9, "opacity": 1}
    return layered(
        whiskers(rows, {**coloured, "x": across}, width=2),
        rows.mark_tick(thickness=1.6, size=15, color=INK).encode(x="chance:Q", **place),
        rows.mark_point(color=MUTED, **triangle).encode(x="untrained:Q", **place),
        rows.mark_circle(size=90, opacity=1, tooltip=TIP).encode(x=across, **coloured),
    )


def layer_axis(layers: int) -> alt.X:
    """From the first layer to the last."""
    ticks = list(range(0, layers, max(1, layers // 6)))
    ends: dict[str, Any] = {"domain": [-0.5, layers - 0.5], "nice": False, "zero": False}
    return x("layer", "layer", **ends, values=ticks, format="d", grid=False)


def picture(
    run: HeadTable,
    spec: Spec,
    title: str,
    *,
    size: tuple[int, int],
    tables: Mapping[str, Columns] | None = None,
    subtitle: str = "",
    words: Mapping[str, str] | None = None,
    **parameters: Any,
) -> Figure:
    """A chart as a picture that stands alone: words filled in, parameters set, and only the columns that it names."""
    whole = filled(spec, words or {})
    params = [{**each, "value": parameters.get(each["name"], each["value"])} for each in spec["params"]]
    drawn = set(re.findall(r"\w+", json.dumps(whole)))
    kept = {
        table: {name: column for name, column in columns.items() if name in drawn}
        for table, columns in (tables or {"heads": run.heads}).items()
    }
    parts = ", ".join(f"{part} layers {min(its)} to {max(its)}" for part, its in run.layers_of.items())
    model = [line for line in (run.manifest.model.id, parts if len(run.parts) > 1 else "") if line]
    titles = {"text": title, "subtitle": [subtitle] if subtitle else model}
    return Figure({**whole, "params": params, "title": titles}, kept, *size)


def plane_picture(run: HeadTable, spec: Spec, axes: Sequence[ScoreView], title: str, **look: Any) -> Figure:
    """A plane of all heads with two scores as its axes, as a picture."""
    across, up = axes
    words = {"x": across.key, "x title": across.name, "y": up.key, "y title": up.name}
    return picture(run, spec, title, words=words, x_span=list(across.span), y_span=list(up.span), **look)

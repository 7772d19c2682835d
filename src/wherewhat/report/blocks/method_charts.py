"""Methods of attribution beside each other: their scores as dots, and curves while tokens are taken away."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, dash, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, lines
from wherewhat.report.blocks.marks import ROWS, estimates, zero_rule
from wherewhat.report.core.page import Chart

PROCEDURES = {"pruning": "least relevant first", "deletion": "most relevant first"}  # and what a legend calls them
DRAWN = {  # methods whose curves are drawn
    "pa-lrp, absolute": WHERE,
    "attnlrp": WHAT,
    "rollout": shade("layers", 4),
    "cp-lrp": shade("chance", 5),
    "random": MUTED,
}
HUES = (WHERE, WHAT, shade("chance", 5), shade("layers", 4), shade("chance", 1), shade("chance", 6), MUTED)
NAMES = {"attnlrp": "AttnLRP", "pa-lrp": "PA-LRP", "cp-lrp": "CP-LRP", "input-x-gradient": "input × gradient"}


def method_name(method: str, aggregate: str = "") -> str:
    """What a method is called where people read it.

    >>> method_name("pa-lrp", "absolute"), method_name("pa-lrp, absolute"), method_name("random")
    ('PA-LRP, absolute', 'PA-LRP, absolute', 'random')
    """
    name, _, way = method.partition(", ")
    way = aggregate or way
    return f"{NAMES.get(name, name)}{f', {way}' if way else ''}"


def score_chart(name: str, views: Mapping[str, Sequence[Mapping[str, Any]]], data: Sequence[str]) -> Chart:
    """One line per `method` with a dot per kind of texts (`data`), its interval, and a tick at its `chance` level.

    There is a view per measure, by its label.
    """
    across = x("value", "{measure}", zero=True, nice=True, tickCount=5)
    hues = dict(zip(data, HUES * len(data), strict=False))
    tint = colour("data", hues, legend=legend(symbolType="circle", labelLimit=190))
    place = {"x": across, "y": names("method", labelLimit=190, grid=True)}
    at_chance = {**place, "x": x("chance", "{measure}"), "color": tint}
    ticks = ROWS.transform_filter("isValid(datum.chance)").mark_tick(thickness=2, size=11, opacity=0.55)
    methods = {row["method"] for rows in views.values() for row in rows}
    return chart(
        name,
        {measure: ViewRows(rows, {"measure": measure}) for measure, rows in views.items()},
        [zero_rule(ROWS, across), ticks.encode(**at_chance), *estimates(ROWS, place, colour=tint)],
        tip="{method}, {data}: {value:short}, chance {chance:short}",
        label="methods by what their order of tokens is worth",
        height=70 + 26 * len(methods),
        figure=True,
        title="Methods compared",
    )


def curve_chart(name: str, views: Mapping[str, Sequence[Mapping[str, Any]]]) -> Chart:
    """The probability of the output (`value`) while tokens (`at`) are taken away, a view per kind of texts."""
    tints = {method_name(method): hue for method, hue in DRAWN.items()}
    return lines(
        name,
        views,
        x=share(x, "at", "tokens taken away", grid=False),
        y=share(y, "value", "probability of the output"),
        colour=colour("method", tints, legend=legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=190)),
        dash=dash("way", {"least relevant first": [1, 0], "most relevant first": [4, 3]}, legend=legend()),
        intervals="none",
        size=22,
        label="probability of the output while tokens are taken away",
        tip="{method}, {way}, {at:.0%} taken away: {value:share}",
        height=360,
        figure=True,
        title="Taking tokens away",
    )

"""Heat maps of an attribution: positions by layer and slot, head or frequency, and methods beside each other."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from wherewhat.formatting import short, signed
from wherewhat.report.blocks.axes import gradient, x, y
from wherewhat.report.blocks.chart import ViewRows, heat_map
from wherewhat.report.core.page import Chart
from wherewhat.report.pages.attribution.charts import layer_name, layer_order, view_title
from wherewhat.report.pages.attribution.relevance_data import Explanation, LayerCells

CELLS = 60_000  # of all views of a map; later explanations have no view
LABELLED = 60  # slots whose tokens are written below a map
LINES = "\x1f"  # between the lines of a label; no token can hold it
ENDS = "datum.value > 0.5 ? '+{most}' : datum.value < -0.5 ? '−{most}' : '0'"
UPRIGHT, SLANTED = 0, -60


@dataclass(frozen=True)
class MapColumns:
    """What the columns of a map are, how one is written below it, and what a tooltip adds to its number."""

    name: str
    title: str
    cells: Callable[[Explanation], LayerCells]
    label: Callable[[Explanation, int], str]
    more: Callable[[Explanation, int], str]
    angle: int = UPRIGHT


def _word(explanation: Explanation, slot: int) -> str:
    return explanation.texts[slot].text if len(explanation.tokens) <= LABELLED else str(slot)


def _wavelength(explanation: Explanation, frequency: int) -> str:
    """How many tokens a full rotation takes, where all layers agree and it does not depend on the text."""
    thetas = explanation.thetas.get(frequency, ())
    return short(2 * math.pi / thetas[0]) if thetas and max(thetas) <= 1.001 * min(thetas) and min(thetas) > 0 else ""


def _frequency(explanation: Explanation, frequency: int) -> str:
    length = _wavelength(explanation, frequency)
    return f"{frequency}{LINES}{length}" if length else str(frequency)


def _rotation(explanation: Explanation, frequency: int) -> str:
    length = _wavelength(explanation, frequency)
    return f" (wavelength {length} tokens)" if length else ""


SLOTS = MapColumns(
    "slot", "token", lambda each: each.by_slot, _word, lambda each, slot: f" “{each.texts[slot].text}”", SLANTED
)
HEADS = MapColumns("head", "head", lambda each: each.by_head, lambda _, head: str(head), lambda _, head: "")
FREQUENCIES = MapColumns(
    "frequency", "frequency, and its wavelength in tokens", lambda each: each.by_frequency, _frequency, _rotation
)

DISTANCES = MapColumns(
    "distance",
    "tokens from query back to key",
    lambda each: each.position_by_distance,
    lambda _, distance: str(distance),
    lambda _, distance: "",
)


def layer_map(explanations: Sequence[Explanation], columns: MapColumns) -> Chart | None:
    """Relevance of positions by layer and column."""
    shown, room = list[Explanation](), CELLS
    for each in explanations:
        room -= len(columns.cells(each))
        shown += [each] if columns.cells(each) and room >= 0 else []
    if not shown:
        return None
    layers = {layer for each in shown for layer, _, _ in columns.cells(each)}
    title = f"Relevance of positions by layer and {columns.name}"
    return heat_map(
        f"layers_{columns.name}",
        {view_title(each): _view(each, columns) for each in shown},
        x=_axis(x, "place", columns.title, "column", angle=columns.angle),
        y=_axis(y, "row", None, "layer"),
        value="reach",
        legend=gradient("relevance", values=[-1, 0, 1], labelExpr=ENDS),
        edge=0.5,
        label=title,
        height=120 + max(18, min(30, 400 // len(layers))) * len(layers),
        follows=[each.number for each in shown],
        figure=True,
        width=720,
        title=title,
    )


def _view(explanation: Explanation, columns: MapColumns) -> ViewRows:
    """The cells of one map, each as a share of the largest."""
    cells = columns.cells(explanation)
    most = float(f"{max(abs(value) for _, _, value in cells) or 1.0:.2g}")
    rows = [
        {
            "place": f"{column} {columns.label(explanation, column)}",
            "column": column,
            "row": layer_name(layer),
            "layer": layer_order(layer),
            "reach": value / most,
            "tip": f"{layer_name(layer)}, {columns.name} {column}"
            f"{columns.more(explanation, column)}: {signed(value, 3)}",
        }
        for layer, column, value in cells
    ]
    return ViewRows(rows, {"most": f"{most:g}"})


def _axis(channel: Any, field: str, title: str | None, order: str, *, angle: int = UPRIGHT) -> Any:
    """An axis of cells side by side; a place is a number, a space, and the lines that are written there."""
    lines = f"split(substring(datum.label, indexof(datum.label, ' ') + 1), '{LINES}')"
    label = lines if field == "place" else "datum.label"
    axis = alt.Axis(domain=False, ticks=False, labelOverlap=True, labelExpr=label, labelLimit=90, labelAngle=angle)
    sort = alt.EncodingSortField(order, op="min", order="ascending")
    return channel(field, title, type="ordinal", sort=sort, axis=axis, paddingInner=0, paddingOuter=0)


def method_map(explanations: Sequence[Explanation]) -> Chart:
    """What all methods say of one output, each on its own scale."""
    views = {view_title(each): _methods(each, explanations) for each in explanations}
    many = max(len({row["row"] for row in rows}) for rows in views.values())
    title = "share of the largest of each method"
    return heat_map(
        "methods",
        views,
        x=_axis(x, "place", "token", "column", angle=SLANTED),
        y=_axis(y, "row", None, "layer"),
        value="reach",
        legend=gradient(title, values=[-1, 0, 1], direction="horizontal", titleLimit=300),
        edge=0.5,
        label="Relevance by every method, token by token",
        height=110 + 30 * many,
        follows=[each.number for each in explanations],
        figure=True,
        width=720,
        title="Methods compared",
    )


def _methods(explanation: Explanation, explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    """One row of cells per method that explains the same output."""
    rows = []
    for order, each in enumerate(each for each in explanations if each.output == explanation.output):
        most = max(map(abs, each.combined), default=0.0) or 1.0
        rows += [
            {
                "place": f"{slot} {_word(each, slot)}",
                "column": slot,
                "row": each.method,
                "layer": order,
                "reach": value / most,
                "tip": f"{each.method}, slot {slot} “{each.texts[slot].text}”: {signed(value, 3)}",
            }
            for slot, value in enumerate(each.combined)
        ]
    return rows

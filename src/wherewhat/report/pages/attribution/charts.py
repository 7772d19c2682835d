"""The charts of an attribution; each has one view per explanation and follows the one that the reader chooses."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.formatting import short, signed
from wherewhat.report.blocks.axes import INK, colour, gradient, names, shade, x, y
from wherewhat.report.blocks.chart import LINE, ViewRows, chart, heat_map
from wherewhat.report.blocks.marks import ROWS, TIP, zero_rule
from wherewhat.report.core.page import Chart
from wherewhat.report.pages.attribution.relevance_data import Explanation, LayerCells

CELLS = 60_000  # of all views of a map; later explanations have no view
LABELLED = 60  # slots whose tokens are written below a map
LEDGER = {  # parts of a ledger, as a chart names them
    "tokens": "tokens",
    "positions": "positions",
    "softmax": "kept by softmaxes",
    "biases": "added biases",
    "others": "other embeddings",
}
SMALLEST = 1e-3  # of the flow: a rest below it is rounding, and not drawn
ENDS = "datum.value > 0.5 ? '+{most}' : datum.value < -0.5 ? '−{most}' : '0'"
COUNTED = {"slot": "slot", "head": "head", "frequency": "frequency"}


def waterfall(explanations: Sequence[Explanation]) -> Chart | None:
    """From nothing to the logit, part by part of the ledger."""
    shown = [each for each in explanations if each.ledger is not None and each.ledger.logit is not None]
    views = {view_title(each): ViewRows(_steps(each)) for each in shown}
    if not views:
        return None
    place = {"x": x("start", "relevance", zero=True, tickCount=6), "y": names("part", order="order", labelLimit=230)}
    tones = {"adds": shade("chance", 5), "takes": shade("chance", 1), "logit": INK}
    bars = ROWS.mark_bar(tooltip=TIP, height=16, cornerRadius=2).encode(**place, x2="end", color=colour("kind", tones))
    return chart(
        "ledger",
        views,
        [zero_rule(ROWS, place["x"]), bars],
        label="The ledger of the explained output, part by part",
        height=LINE * max(len(view.rows) for view in views.values()) + 40,
        follows=[each.number for each in shown],
        figure=True,
        title="Where the relevance of an output is",
    )


def _steps(explanation: Explanation) -> list[dict[str, Any]]:
    """Every part begins where the one before it ended; the logit begins at 0."""
    ledger, at = explanation.ledger, 0.0
    assert ledger is not None and ledger.logit is not None
    parts = {words: getattr(ledger, name) for name, words in LEDGER.items() if getattr(ledger, name)}
    parts |= {"missing": ledger.rest} if abs(ledger.rest) > SMALLEST * ledger.flow else {}
    rows = []
    for words, value in parts.items():
        rows.append(_step(words, at, at + value, "adds" if value >= 0 else "takes", value))
        at += value
    rows.append(_step("logit", 0.0, ledger.logit, "logit", ledger.logit))
    return [{**row, "order": order} for order, row in enumerate(rows)]


def _step(part: str, start: float, end: float, kind: str, value: float) -> dict[str, Any]:
    words = f"{part} {short(value) if kind == 'logit' else signed(value, 2)}"
    return {"part": words, "start": start, "end": end, "kind": kind, "tip": words}


def layer_map(explanations: Sequence[Explanation], counted: str) -> Chart | None:
    """Relevance of positions by layer and by slot, head or frequency."""
    cells = {"slot": "by_slot", "head": "by_head", "frequency": "by_frequency"}[counted]
    shown, room = [], CELLS
    for each in explanations:
        room -= len(getattr(each, cells))
        if getattr(each, cells) and room >= 0:
            shown.append(each)
    if not shown:
        return None
    views = {view_title(each): _map_view(each, getattr(each, cells), counted) for each in shown}
    layers = {layer for each in shown for layer, _, _ in getattr(each, cells)}
    return heat_map(
        f"layers_{counted}",
        views,
        x=_cell_axis(x, "place", "{counted}", "column"),
        y=_cell_axis(y, "row", "layer", "layer"),
        value="reach",
        legend=gradient("relevance", values=[-1, 0, 1], labelExpr=ENDS),
        edge=0.5,
        label=f"Relevance of positions by layer and {counted}",
        height=120 + max(18, min(30, 400 // len(layers))) * len(layers),
        follows=[each.number for each in shown],
        figure=True,
        width=720,
        title=f"Relevance of positions by layer and {counted}",
    )


def _map_view(explanation: Explanation, cells: LayerCells, counted: str) -> ViewRows:
    """The cells of one map, each as a share of the largest."""
    most = float(f"{max((abs(value) for _, _, value in cells), default=0.0) or 1.0:.2g}")
    tokens = counted == "slot" and len(explanation.tokens) <= LABELLED
    rows = []
    for layer, column, value in cells:
        name = explanation.texts[column].text if counted == "slot" else ""
        row = "all" if layer is None else str(layer)
        where = f"layer {row}, {COUNTED[counted]} {column}" if layer is not None else f"{COUNTED[counted]} {column}"
        rows.append(
            {
                "place": f"{column} {name if tokens else column}",
                "column": column,
                "row": row,
                "layer": 10**6 if layer is None else layer,
                "reach": value / most,
                "tip": f"{where}{f' “{name}”' if name else ''}: {signed(value, 3)}",
            }
        )
    title = "token" if tokens else COUNTED[counted]
    return ViewRows(rows, {"most": f"{most:g}", "counted": title})


def _cell_axis(channel: Any, field: str, title: str | None, order: str) -> Any:
    """An axis of cells side by side; a place is a number, a space, and what is written there."""
    label = "substring(datum.label, indexof(datum.label, ' ') + 1)" if field == "place" else "datum.label"
    angle = -60 if field == "place" else 0
    axis = alt.Axis(domain=False, ticks=False, labelOverlap=True, labelExpr=label, labelLimit=90, labelAngle=angle)
    sort = alt.EncodingSortField(order, op="min", order="ascending")
    return channel(field, title, type="ordinal", sort=sort, axis=axis, paddingInner=0, paddingOuter=0)


def layer_sums(explanations: Sequence[Explanation]) -> Chart | None:
    """Relevance of positions by layer, over the whole text."""
    shown = [each for each in explanations if len({layer for layer, _, _ in each.by_slot}) > 1]
    if not shown:
        return None
    views = {view_title(each): _sums(each) for each in shown}
    across = x("value", "relevance of positions", zero=True, padding=8, tickCount=6)
    place = {"x": across, "y": names("line", order="layer")}
    tones = {"adds": shade("chance", 5), "takes": shade("chance", 1)}
    bars = ROWS.mark_bar(tooltip=TIP, cornerRadius=2).encode(**place, color=colour("kind", tones))
    return chart(
        "layer_sums",
        views,
        [zero_rule(ROWS, across), bars],
        label="Relevance of positions by layer",
        height=20 * max(len(rows) for rows in views.values()) + 44,
        follows=[each.number for each in shown],
    )


def _sums(explanation: Explanation) -> list[dict[str, Any]]:
    sums: dict[int | None, float] = {}
    for layer, _, value in explanation.by_slot:
        sums[layer] = sums.get(layer, 0.0) + value
    return [
        {
            "line": "all layers" if layer is None else f"layer {layer}",
            "layer": 10**6 if layer is None else layer,
            "value": value,
            "kind": "adds" if value >= 0 else "takes",
            "tip": f"layer {layer}: {signed(value, 3)}",
        }
        for layer, value in sums.items()
    ]


def method_map(explanations: Sequence[Explanation]) -> Chart:
    """What all methods say of one output, each on its own scale."""
    views = {view_title(each): _method_rows(each, explanations) for each in explanations}
    many = max(len({row["row"] for row in rows}) for rows in views.values())
    return heat_map(
        "methods",
        views,
        x=_cell_axis(x, "place", "token", "column"),
        y=_cell_axis(y, "row", None, "layer"),
        value="reach",
        legend=gradient("share of the largest of each method", values=[-1, 0, 1], direction="horizontal"),
        edge=0.5,
        label="Relevance by every method, token by token",
        height=110 + 30 * many,
        follows=[each.number for each in explanations],
        figure=True,
        width=720,
        title="Methods compared",
    )


def _method_rows(explanation: Explanation, explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    rows = []
    for order, each in enumerate(each for each in explanations if each.output == explanation.output):
        most = max(map(abs, each.combined), default=0.0) or 1.0
        tokens = len(each.tokens) <= LABELLED
        for slot, value in enumerate(each.combined):
            name = each.texts[slot].text
            rows.append(
                {
                    "place": f"{slot} {name if tokens else slot}",
                    "column": slot,
                    "row": each.method,
                    "layer": order,
                    "reach": value / most,
                    "tip": f"{each.method}, slot {slot} “{name}”: {signed(value, 3)}",
                }
            )
    return rows


def view_title(explanation: Explanation) -> str:
    """The title of a view, which is also part of the name of its picture."""
    return f"output {explanation.output}: {explanation.name}, {explanation.method}"

"""Bars of the ledger and of layers, and lines by distance; each follows the explanation that the reader chooses."""

from collections.abc import Sequence
from typing import Any

from wherewhat.formatting import short, signed
from wherewhat.report.blocks.axes import INK, WHAT, WHERE, colour, legend, names, shade, x, y
from wherewhat.report.blocks.chart import LINE, ViewRows, chart
from wherewhat.report.blocks.marks import ROWS, TIP, dots, line, zero_rule
from wherewhat.report.core.page import Chart
from wherewhat.report.pages.attribution.relevance_data import Explanation

LEDGER = {  # parts of a ledger, as a chart names them
    "tokens": "tokens",
    "positions": "positions",
    "biases": "added biases",
    "others": "other embeddings",
    "softmax": "kept by softmaxes",
}
DOTTED = 120  # points of a line that are drawn large enough to be told apart
SMALLEST = 1e-3  # of the flow: a rest below it is rounding, and not drawn


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


def layer_sums(explanations: Sequence[Explanation]) -> Chart | None:
    """Relevance of positions by layer, over the whole text."""
    shown = [each for each in explanations if len({layer for layer, _, _ in each.by_slot}) > 1]
    if not shown:
        return None
    views = {view_title(each): _sums(each) for each in shown}
    across = x("value", "relevance of positions", zero=True, tickCount=6)
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
            "line": layer_name(layer),
            "layer": layer_order(layer),
            "value": value,
            "kind": "adds" if value >= 0 else "takes",
            "tip": f"{layer_name(layer)}: {signed(value, 3)}",
        }
        for layer, value in sums.items()
    ]


def distance_lines(explanations: Sequence[Explanation]) -> Chart | None:
    """Relevance of logits by distance, over all layers: what content says, and what position adds."""
    shown = [each for each in explanations if each.position_by_distance]
    if not shown:
        return None
    views = {view_title(each): _distances(each) for each in shown}
    many = max(len(rows) for rows in views.values()) > DOTTED
    up = y("value", "relevance of logits", zero=True, tickCount=5)
    place = {
        "x": x("distance", "tokens from query back to key", grid=False, tickMinStep=1, nice=False),
        "y": up,
        "color": colour("part", {"content": WHAT, "position": WHERE}, legend=legend(symbolType="stroke")),
    }
    points = dots(ROWS, place, size=20, opacity=0) if many else dots(ROWS, place, size=40)  # a tooltip needs them
    title = "Content and position by distance"
    return chart(
        "distances",
        views,
        [zero_rule(ROWS, up, along="y"), line(ROWS, place, width=1.6 if many else 2.4), points],
        label=title,
        tip="{part}, {distance:.0f} back: {value:short}",
        height=280,
        follows=[each.number for each in shown],
        figure=True,
        title=title,
    )


def _distances(explanation: Explanation) -> list[dict[str, Any]]:
    parts = {"content": explanation.content_by_distance, "position": explanation.position_by_distance}
    sums: dict[tuple[str, int], float] = {}
    for part, cells in parts.items():
        for _, distance, value in cells:
            sums[part, distance] = sums.get((part, distance), 0.0) + value
    return [{"part": part, "distance": distance, "value": value} for (part, distance), value in sums.items()]


def view_title(explanation: Explanation) -> str:
    """The title of a view, which is also part of the name of its picture."""
    return f"output {explanation.output}: {explanation.name}, {explanation.method}"


def layer_name(layer: int | None) -> str:
    """A layer, or all where they share what is drawn."""
    return "all layers" if layer is None else f"layer {layer}"


def layer_order(layer: int | None) -> int:
    """What is shared comes last."""
    return 10**6 if layer is None else layer

"""The study's own chart: an outcome against locality or balance, with references named at its side. Torch-free."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from wherewhat.formatting import short
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, dash, legend, shade, shape, x, y
from wherewhat.report.blocks.chart import ViewRows
from wherewhat.report.blocks.marks import ROWS, Place, dots, layered, line, named, rule, text_labels, where, whiskers
from wherewhat.report.blocks.numbers import nats, plain, share
from wherewhat.report.blocks.rows import drawable, list_of
from wherewhat.report.core.page import Spec
from wherewhat.studies.engine.results import Cell, ResultRow, ResultTable
from wherewhat.studies.locality.sets import ALL, BAG, of, property_of
from wherewhat.tables.manifest.study import QuestionSection, StudyCondition

LINE, ROOM = 14.5, 88  # pixels per name at the side, and for all names at the right
# Families of curves with their colours and shapes, and clearer names for some; all other families are references.
CURVES: dict[str, tuple[Any, str]] = {
    "log": (WHERE, "circle"),
    "raw": (shade("chance", 5), "diamond"),
    "learned": (shade("layers", 4), "triangle-up"),
    "ours": (WHAT, "square"),
    "control": (WHAT, "triangle-down"),
}
LABELS = {"learned": "learned curve", "ours": "leaning", "control": "leaning, not learned"}
# Properties of an encoding: the title of their axis, and their name among the predictors of accuracy.
PROPERTIES = {
    "attention.locality": ("locality of attention", "attention locality"),
    "bias.locality": ("locality of the curve by itself", "locality"),
    "attention.balance": ("balance of attention", "attention symmetry"),
    "bias.balance": ("balance of the curve by itself", "symmetry"),
}
# How outcomes are written, by what they are multiplied where they are drawn, and within which ends.
OUTCOMES: dict[str, tuple[Callable[[ResultRow], str], float, tuple[float, ...]]] = {
    "accuracy": (share, 1, (0.0, 1.0)),
    "frozen accuracy": (share, 1, (0.0, 1.0)),
    "spread": (lambda row: f"{short(100 * row['value'])} points", 100, ()),
    "forgetting": (lambda row: f"{plain(row)} nats", 1, ()),
    "word loss": (nats, 1, ()),
}


def label(encoding: StudyCondition) -> str:
    """What an encoding is called: a table of positions must not be confused with a learned curve."""
    return "position table" if (encoding.family, encoding.name) == ("reference", "learned") else encoding.name


def sided(encoding: StudyCondition) -> bool:
    """Whether the two sides of a curve differ by hand."""
    return encoding.s is not None and encoding.s != 1


def known_property(table: ResultTable, encoding: StudyCondition, name: str) -> float | None:
    """One of `PROPERTIES`, or None where there is none."""
    value = property_of(table, encoding, name)
    return None if math.isnan(value) else value


def marks_of(table: ResultTable, encodings: Iterable[Any], by: str, measure: str, item: str = ALL) -> list[Any]:
    """Encodings with a property and an outcome."""
    (write, times, within), rows = OUTCOMES[measure], []
    for encoding in encodings:
        row, at = table.row(encoding.name, Cell("mean", measure, item)), known_property(table, encoding, by)
        if row is not None and at is not None:
            near, even = (known_property(table, encoding, f"attention.{name}") for name in ("locality", "balance"))
            tip = f"{label(encoding)}: {write(row)}, locality {short(near)}"
            tip += "" if even is None else f", balance {short(even)}"  # a causal mask has none
            mark = {"x": at, "family": encoding.family, "look": "sided" if sided(encoding) else "even", "tip": tip}
            rows.append({**drawable(row, times, within=within), **mark, "name": encoding.name.removeprefix("decoder ")})
    return rows


def encoder_view(table: ResultTable, by: str, measure: str, item: str = ALL) -> ViewRows:
    """Every encoder with a property and an outcome: curves as rows, all others as references; and the correlation."""
    rows, (title, predictor) = marks_of(table, of(table, "encoder"), by, measure, item), PROPERTIES[by]
    outcome = {"accuracy": item, "frozen accuracy": ""}.get(measure, measure)  # frozen nets have no correlations
    simple, partial = (table.row(predictor, Cell("link", kind, outcome)) for kind in ("pearson", "partial"))
    control = "symmetry" if by.endswith("locality") else "locality"
    words = {"x title": title, "link": f"r {plain(simple)}" if simple else " "}  # a blank keeps its line
    words["partial"] = f"controlled for {control} {plain(partial)}" if partial else " "
    references = [row for row in rows if row["family"] not in CURVES]
    return ViewRows([row for row in rows if row["family"] in CURVES], words, {"references": references})


def lines_of(table: ResultTable, by: str) -> dict[str, dict[str, Any]]:
    """How curves are joined: their line, their order on it, and a label at its ends.

    Against locality, lines join symmetric curves by w; against balance, curves of the same w by s, and all other
    symmetric curves are faint.
    """
    if by.endswith("locality"):
        joined = [curve for family in ("log", "raw") for curve in of(table, family) if not sided(curve)]
        lines = {curve.name: {"line": curve.family, "order": curve.w} for curve in joined}
        ends = [*of(table, "flattest curve"), *of(table, "steepest curve")]
    else:
        joined = [curve for curve in of(table, "log") if curve.w in swept(table)]
        lines = {curve.name: {"look": "faint", "low": None, "high": None} for curve in of(table, "log")}
        lines |= {curve.name: {"line": f"w {curve.w:.3g}", "order": curve.s} for curve in joined}
        falling = sorted(joined, key=lambda curve: known_property(table, curve, by) or 0.0, reverse=True)
        ends = list({curve.w: curve for curve in falling}.values())  # the leftmost of each w
    return lines | {curve.name: {**lines[curve.name], "label": f"w {curve.w:.3g}"} for curve in ends}


def swept(table: ResultTable) -> list[float]:
    """Every w at which several s were tried."""
    return sorted({curve.w for side in ("flatter", "steeper") for curve in of(table, f"{side} ahead")})


def span(table: ResultTable, question: QuestionSection, measure: str = "accuracy") -> tuple[float, float]:
    """The range of the accuracy axis of a question: all points with their intervals, chance and bag of words."""
    rows = [table.row(each.name, Cell("mean", measure, question.name)) for each in table.conditions]
    rows.append(table.row(BAG, Cell("mean", "accuracy", question.name)))
    drawn = [drawable(row, within=(0.0, 1.0)) for row in rows if row]
    ends = [question.chance, *(row[end] for row in drawn for end in ("value", "low", "high"))]
    return max(0.0, math.floor(20 * min(ends) - 0.4) / 20), min(1.0, math.ceil(20 * max(ends) + 0.2) / 20)


def apart(values: Sequence[float], gap: float, ends: tuple[float, float]) -> list[float]:
    """Where to write names so that no two are nearer than a gap, as near to their values as possible, within ends.

    >>> [round(value, 2) for value in apart([0.5, 0.9, 0.52], 0.1, (0.0, 1.0))]
    [0.46, 0.9, 0.56]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[list[float]] = []  # of adjacent names: where the block would start by each of them
    for place, i in enumerate(order):
        blocks.append([values[i] - gap * place])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    highest = ends[1] - gap * (len(values) - 1)
    starts = [min(max(fmean(block), ends[0]), highest) for block in blocks for _ in block]
    placed = {i: start + gap * place for place, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [placed[i] for i in range(len(values))]


def accuracy_view(
    table: ResultTable, question: QuestionSection, by: str, measure: str = "accuracy", *, height: int
) -> ViewRows:
    """Accuracy on a question against a property, with names at the side: references, chance, and a bag of words."""
    view, lines = encoder_view(table, by, measure, question.name), lines_of(table, by)
    beside = [
        {"name": label(each), "value": row["value"], "start": known_property(table, each, by) or 0.0, "level": False}
        for each in of(table, "reference")
        if (row := table.row(each.name, Cell("mean", measure, question.name)))
    ]
    bag = table.row(BAG, Cell("mean", "accuracy", question.name))
    levels = {"chance": question.chance} | ({"words alone": bag["value"]} if bag else {})
    beside += [{"name": name, "value": value, "start": 0.0, "level": True} for name, value in levels.items()]
    low, high = span(table, question, measure)
    places = apart([row["value"] for row in beside], LINE * (high - low) / height, (low, high))
    return ViewRows(
        [{**row, **lines.get(row["subject"], {})} for row in list_of(view.rows)],
        {**view.words, "floor": f"{low:g}", "ceiling": f"{high:g}"},
        {**view.tables, "names": [{**row, "beside": place} for row, place in zip(beside, places, strict=True)]},
    )


def against(table: ResultTable, axis: str) -> Spec:
    """Accuracy against locality or balance: references named at the side, lines between curves, and the curves."""
    domain = [{"expr": "{floor}"}, {"expr": "{ceiling}"}]
    right = y("value", "right answers", domain=domain, nice=False, zero=False, format="%", tickCount=5)
    place, channels = {"x": property_axis(ROOM), "y": right}, family_channels(table)
    spaced = named("names").transform_calculate(edge="1", far=f"(width - {ROOM - 12}) / (width - {ROOM})")
    to_edge, faint = {"x": "start:Q", "x2": "edge", "y": right}, {"strokeWidth": 1, "opacity": 0.4}
    joined = {**place, "color": channels["color"], "order": "order:Q", "detail": "line:N"}
    at: Place = {"x": place["x"], "y": {"value": {"expr": "height - 9"}}}  # where there are no marks
    words: dict[str, Any] = {"color": MUTED}
    if axis == "balance":
        at, words = place, {"dx": -9, "align": "right"}
        dashes = {f"w {w:.3g}": ([1, 0], [7, 3], [2, 3])[number % 3] for number, w in enumerate(swept(table))}
        joined["strokeDash"] = dash("line", dashes)
    layers = [
        rule(where(spaced, level=True), to_edge),
        rule(where(spaced, level=False), to_edge, dash=(1, 3), **faint),
        rule(spaced, {"x": "edge:Q", "x2": "far", "y": right, "y2": "beside"}, dash=(1, 0), **faint),
        *text_labels(spaced, "name", {"x": "far:Q", "y": "beside:Q"}, dx=4, align="left", color=MUTED),
        line(where(ROWS, line=...), joined, width=2, opacity=0.7),
        *text_labels(where(ROWS, label=...), "label", at, **words),
        dots(where(ROWS, look="faint"), {**place, **channels}, size=34, opacity=0.35, strokeWidth=0),
        *marks(place, channels),
    ]
    return titled(layers, "{link}", "{partial}")


def titled(layers: Sequence[Any], *lines: str) -> Spec:
    """Layers with lines above them."""
    title = {"text": list(lines), "fontSize": 12.5, "fontWeight": 500, "offset": 8, "lineHeight": 17}
    return {**layered(*layers), "title": title}


def property_axis(room: int = 0) -> Any:
    """The axis of a property from 0 to 1, with room for names beyond."""
    domain, values = [0, {"expr": f"width / (width - {room})"}], [0, 0.2, 0.4, 0.6, 0.8, 1]
    return x("x", "{x title}", domain=domain, nice=False, zero=False, values=values, format=".1f", grid=False)


def family_channels(table: ResultTable) -> dict[str, Any]:
    """Colour and shape by the families that were tried."""
    looks = {name: look for name, look in CURVES.items() if of(table, name)}
    return {
        "color": colour("family", {name: tone for name, (tone, _) in looks.items()}, legend=legend(LABELS)),
        "shape": shape("family", {name: form for name, (_, form) in looks.items()}, legend=legend(LABELS)),
    }


def marks(place: Place, channels: Place) -> list[Any]:
    """Crosses for references, and curves with their intervals; hollow if the two sides differ by hand."""
    references, both = named("references"), {**place, **channels}
    return [
        whiskers(references, place, along="y", width=1.2, stroke=MUTED, opacity=0.45),
        dots(references, place, size=60, shape="cross", fill=MUTED, angle=45, strokeWidth=0),
        whiskers(ROWS, {**place, "color": channels["color"]}, along="y", width=1.2, opacity=0.45),
        dots(where(ROWS, look="sided"), both, size=74, hollow=True),
        dots(where(ROWS, look="even"), both, size=74, strokeWidth=0.8),
    ]

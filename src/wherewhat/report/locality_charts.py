"""Charts of locality and symmetry: accuracy against either, correlations, stability, decoders and roles.

In charts that are drawn once per question, `{question}` is its key, `{x}` the column of the x axis, and `{top}` its
upper end.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

import altair as alt

from wherewhat.report.locality_data import BY_HAND, FAMILIES
from wherewhat.report.marks import INK, MUTED, PAPER, WHAT, WHERE, WHOLE, either, layered, named, shade, side_colour
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

W = "'w ' + format(datum.w, '.3~g')"  # the label of a curve
ROOM = 88  # pixels at the right for the names of references
ACCENT = alt.ExprRef(either(DARK.accent, LIGHT.accent))
COLOURS: dict[str, Any] = {"log": WHERE, "raw": shade("chance", 5), "learned": shade("layers", 4), "ours": WHAT}
COLOURS["control"] = WHAT
SHAPES = {"log": "circle", "raw": "diamond", "learned": "triangle-up", "ours": "square", "control": "triangle-down"}
OF_QUESTION = "datum.question == '{question}' && datum.how == '{how}'"
HERE = f"{OF_QUESTION} && isValid(datum['{{x}}'])"
BESIDE = "datum.family == 'log' && !isValid(datum.swept)"  # symmetric curves of another w
KINDS: dict[str, tuple[Any, str, int]] = {  # colour, shape, and vertical offset
    "symmetric": (WHERE, "circle", -8),
    "not learned": (shade("layers", 4), "triangle-down", 0),
    "leaning": (WHAT, "square", 8),
}


@cache
def charts_of(families: tuple[str, ...]) -> Mapping[str, Spec]:
    """Every chart of the page by name; the legend shows these families."""
    return {
        "lines": lines(),
        "against_locality": against_locality(families),
        "against_locality_small": against_locality(families, small=True),
        "against_balance": against_balance(families),
        "against_balance_small": against_balance(families, small=True),
        "stability": stability(families),
        "causal": causal(),
        "roles": roles(),
    }


def against_locality(families: Sequence[str], *, small: bool = False) -> Spec:
    """Accuracy on a question against locality; lines join symmetric curves of a family by w."""
    rows = named("points").transform_filter(HERE)
    joined = rows.transform_filter("isValid(datum.w) && !datum.sided && indexof(['log', 'raw'], datum.family) >= 0")
    line = joined.mark_line(strokeWidth=1.5 if small else 2, opacity=0.7).encode(
        x=_place(),
        y=_right(small),
        color=_colour(families, legend=not small),
        order=alt.Order("w", type="quantitative"),
    )
    ends = [] if small else _ends(joined.transform_filter("datum.family == 'log'"))
    return _scattered(families, [line, *ends], small=small)


def against_balance(families: Sequence[str], *, small: bool = False) -> Spec:
    """The same against balance; lines join curves of the same w by s."""
    rows = named("points").transform_filter(f"{HERE} && isValid(datum.swept)")
    line = rows.mark_line(strokeWidth=1.5 if small else 2, opacity=0.7).encode(
        x=_place(),
        y=_right(small),
        color=_colour(families, legend=not small),
        strokeDash=alt.StrokeDash(
            "swept", type="nominal", legend=None, scale=alt.Scale(range=[[1, 0], [7, 3], [2, 3]])
        ),
        order=alt.Order("s", type="quantitative"),
    )
    first = rows.transform_window(
        rank="row_number()", sort=[alt.SortField("{x}")], groupby=["swept"], frame=[None, None]
    ).transform_filter("datum.rank == 1")
    named_w = first.transform_calculate(label=W)
    return _scattered(
        families,
        [line, *([] if small else _written(named_w, "label", dx=-9, dy=0, align="right"))],
        small=small,
        faint=BESIDE,
    )


def stability(families: Sequence[str]) -> Spec:
    """Spread over seeds, or forgetting: `{measure}`, with `{y title}` on the y axis."""
    rows = named("stability").transform_filter("datum.measure == '{measure}' && isValid(datum['{x}'])")
    y = alt.Y("value", type="quantitative", title="{y title}", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    x = _place(room=0)
    hand, others = rows.transform_filter(_by_hand()), rows.transform_filter(f"!({_by_hand()})")
    return _titled_by_link(layered(*_crosses(others, x, y), *_marks(hand, x, y, families, small=False)), "{link}")


def lines() -> Spec:
    """One line per question: a contrast or a correlation (`{line}`) with its interval, around 0."""
    rows = named("lines").transform_filter("datum.line == '{line}'")
    y = alt.Y("label", type="nominal", title=None, sort=None, axis=_questions())
    scale = alt.Scale(zero=True, padding=6)
    axis = alt.Axis(tickCount=5, format="+.2~f", labelExpr="replace(datum.label, '+0', '0')")
    x = alt.X("value", type="quantitative", title="{x title}", scale=scale, axis=axis)
    nought = rows.transform_aggregate(rows="count()").transform_calculate(value="0")
    low = alt.X("low", type="quantitative")
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        rows.mark_rule(strokeWidth=2.4).encode(x=low, x2="high", y=y, color=side_colour()),
        rows.mark_circle(size=80, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=side_colour()),
    )


def causal() -> Spec:
    """Decoders and encoders with the same curve: `{measure}` against locality."""
    rows = named("causal").transform_filter("datum.measure == '{measure}' && isValid(datum.locality)")
    scale = alt.Scale(domain=["encoder", "decoder"], range=[MUTED, ACCENT])
    colour = alt.Color("kind", type="nominal", scale=scale, legend=_legend())
    shapes = alt.Scale(range=["diamond", "triangle-up", "square", "triangle-down", "cross"])
    shape = alt.Shape("short", type="nominal", sort=None, scale=shapes, legend=_legend())
    axis = alt.Axis(format="{y format}", tickCount=5)
    y = alt.Y("value", type="quantitative", title="{y title}", scale=alt.Scale(zero=False, padding=8), axis=axis)
    x = alt.X(
        "locality",
        type="quantitative",
        title="locality of attention",
        scale=alt.Scale(zero=False, padding=14),
        axis=alt.Axis(tickCount=6, grid=False),
    )
    swept, others = (rows.transform_filter(test) for test in ("isValid(datum.w)", "!isValid(datum.w)"))
    return layered(
        rows.mark_rule(strokeWidth=1.6, opacity=0.6).encode(
            x=x, y=alt.Y("low", type="quantitative"), y2="high", color=colour
        ),
        swept.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, order=alt.Order("w", type="quantitative")),
        swept.mark_point(filled=True, size=70, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=colour
        ),
        others.mark_point(size=80, opacity=1, strokeWidth=2, tooltip=WHOLE).encode(x=x, y=y, color=colour, shape=shape),
    )


def roles() -> Spec:
    """Leaning and symmetric curves at one `{w}`, one line per question; the vertical mark is chance."""
    rows = named("roles").transform_filter("datum.w == '{w}'")
    y = alt.Y("question", type="nominal", title=None, sort=None, axis=_questions())
    scale = alt.Scale(domainMax=1, zero=False, nice=False, padding=10)
    x = alt.X("value", type="quantitative", title="right answers", scale=scale, axis=alt.Axis(format="%", tickCount=5))
    colour, shape = (
        channel("kind", type="nominal", scale=alt.Scale(domain=list(KINDS), range=its), legend=_legend())
        for channel, its in zip((alt.Color, alt.Shape), list(zip(*KINDS.values(), strict=True))[:2], strict=True)
    )
    chance = rows.transform_filter("datum.kind == 'symmetric'")
    marks = [chance.mark_tick(color=MUTED, thickness=2, size=26).encode(x=alt.X("chance", type="quantitative"), y=y)]
    for kind, (_, _, offset) in KINDS.items():
        its = rows.transform_filter(f"datum.kind == '{kind}'")
        low = alt.X("low", type="quantitative")
        marks += [
            its.mark_rule(strokeWidth=2, yOffset=offset).encode(x=low, x2="high", y=y, color=colour),
            its.mark_point(filled=True, size=64, opacity=1, yOffset=offset, tooltip=WHOLE).encode(
                x=x, y=y, color=colour, shape=shape
            ),
        ]
    return layered(*marks)


def _scattered(families: Sequence[str], joined: Sequence[Any], *, small: bool, faint: str = "false") -> Spec:
    """Chance, references with their names, lines between curves, and the curves, some of them faint."""
    rows = named("points").transform_filter(f"{HERE} && {_by_hand()}")
    main, beside = rows.transform_filter(f"!({faint})"), rows.transform_filter(faint)
    x, y = _place(), _right(small)
    dots = beside.mark_point(filled=True, size=16 if small else 34, opacity=0.35, tooltip=WHOLE).encode(
        x=x, y=y, color=_colour(families, legend=not small), shape=_shape(families, legend=not small)
    )
    marks = _marks(main, x, y, families, small=small)
    spec = layered(*_references(x, y, small), *([dots] if faint != "false" else []), *joined, *marks)
    return _titled_by_link(spec, "{link}", *([] if small else ["{still}"]))


def _titled_by_link(spec: dict[str, Any], *lines: str) -> Spec:
    """The correlation as the title of the chart."""
    return {**spec, "title": {"text": list(lines), "fontSize": 12.5, "fontWeight": 500, "offset": 8, "lineHeight": 17}}


def _references(x: Any, y: Any, small: bool) -> list[Any]:
    """A cross per reference, and a faint line to its name at the side; chance and words alone are lines only."""
    rows = named("names").transform_filter(OF_QUESTION)
    spaced = rows.transform_calculate(
        start="isValid(datum['{x}']) ? datum['{x}'] : 0",
        edge="{top}",
        far=f"{{top}} * (width - {ROOM - 12}) / (width - {ROOM})",
    )
    at = "small" if small else "wide"
    faint: dict[str, Any] = {"stroke": MUTED, "strokeWidth": 1, "opacity": 0.4}
    start, edge, far = (alt.X(name, type="quantitative") for name in ("start", "edge", "far"))
    level = alt.Y(at, type="quantitative")
    placed = named("points").transform_filter(f"{HERE} && !({_by_hand()})")
    return [
        spaced.transform_filter("datum.level")
        .mark_rule(strokeDash=[2, 3], stroke=MUTED)
        .encode(x=start, x2="edge", y=y),
        spaced.transform_filter("!datum.level").mark_rule(strokeDash=[1, 3], **faint).encode(x=start, x2="edge", y=y),
        spaced.mark_rule(**faint).encode(x=edge, x2="far", y=y, y2=at),
        *_written(spaced, "name", dx=4, dy=0, x=far, y=level, align="left", color=MUTED),
        *_crosses(placed, x, y, size=32 if small else 60),
    ]


def _crosses(rows: alt.Chart, x: Any, y: Any, *, size: int = 60) -> list[Any]:
    return [
        rows.mark_rule(stroke=MUTED, strokeWidth=1.2, opacity=0.45).encode(
            x=x, y=alt.Y("low", type="quantitative"), y2="high"
        ),
        rows.mark_point(shape="cross", filled=True, size=size, fill=MUTED, angle=45, opacity=1, tooltip=WHOLE).encode(
            x=x, y=y
        ),
    ]


def _marks(rows: alt.Chart, x: Any, y: Any, families: Sequence[str], *, small: bool) -> list[Any]:
    """Curves with their intervals; hollow if the two sides differ by hand."""
    colour, shape = _colour(families, legend=not small), _shape(families, legend=not small)
    size = 26 if small else 74
    even, sided = rows.transform_filter("!datum.sided"), rows.transform_filter("datum.sided")
    low = alt.Y("low", type="quantitative")
    return [
        rows.mark_rule(strokeWidth=0.8 if small else 1.2, opacity=0.45).encode(x=x, y=low, y2="high", color=colour),
        sided.mark_point(filled=False, fill=PAPER, size=size, opacity=1, strokeWidth=1.8, tooltip=WHOLE).encode(
            x=x, y=y, color=colour, shape=shape
        ),
        even.mark_point(filled=True, size=size, opacity=1, stroke=PAPER, strokeWidth=0.8, tooltip=WHOLE).encode(
            x=x, y=y, color=colour, shape=shape
        ),
    ]


def _ends(joined: alt.Chart) -> list[Any]:
    """Labels of the smallest and the largest w, at the bottom of the chart, where there are no marks."""
    labels: list[Any] = []
    foot = alt.value(cast(Any, {"expr": "height - 9"}))
    for order in ("ascending", "descending"):
        sort: Any = [alt.SortField("w", order=cast(Any, order))]
        here = joined.transform_window(rank="row_number()", sort=sort).transform_filter("datum.rank == 1")
        labels += _written(here.transform_calculate(label=W), "label", y=foot, color=MUTED)
    return labels


def _written(rows: alt.Chart, label: str, *, x: Any = None, y: Any = None, **look: Any) -> list[Any]:
    """Labels next to points, readable over other marks."""
    words: dict[str, Any] = {"fontSize": 12, "color": INK, **look}
    at = {"x": x or _place(), "y": y or alt.Y("value", type="quantitative"), "text": alt.Text(label, type="nominal")}
    halo = {**words, "color": PAPER, "stroke": PAPER, "strokeWidth": 4, "opacity": 0.85}
    return [rows.mark_text(**halo).encode(**at), rows.mark_text(**words).encode(**at)]


def _place(room: int = ROOM) -> Any:
    domain: list[Any] = [0, alt.ExprRef(f"{{top}} * width / (width - {room})")]
    axis = alt.Axis(values=alt.ExprRef("sequence(0, {top} + 0.01, 0.2)"), format=".1f", grid=False)
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    return alt.X("{x}", type="quantitative", title="{x title}", scale=scale, axis=axis)


def _right(small: bool) -> Any:
    domain = [alt.ExprRef("{floor}"), alt.ExprRef("{ceiling}")]
    axis = alt.Axis(format="%", tickCount=4 if small else 6)
    title = None if small else "right answers"
    return alt.Y(
        "value", type="quantitative", title=title, scale=alt.Scale(domain=domain, nice=False, zero=False), axis=axis
    )


def _questions() -> Any:
    return alt.Axis(ticks=False, domain=False, grid=False, labelPadding=8, labelLimit=104, labelOverlap=False)


def _by_hand() -> str:
    return f"indexof([{', '.join(repr(name) for name in BY_HAND)}], datum.family) >= 0"


def _legend(**more: Any) -> Any:
    fitting = alt.ExprRef("width < 420 ? 2 : 6")  # entries per line
    return alt.Legend(orient="top", direction="horizontal", title=None, symbolOpacity=1, columns=fitting, **more)


def _of_families() -> Any:
    """A legend with the labels of families."""
    return _legend(labelExpr=f"({FAMILIES!r})[datum.label] || datum.label")


def _colour(families: Sequence[str], *, legend: bool) -> Any:
    scale = alt.Scale(domain=list(families), range=[COLOURS[name] for name in families])
    return alt.Color("family", type="nominal", scale=scale, legend=_of_families() if legend else None)


def _shape(families: Sequence[str], *, legend: bool) -> Any:
    scale = alt.Scale(domain=list(families), range=[SHAPES[name] for name in families])
    return alt.Shape("family", type="nominal", scale=scale, legend=_of_families() if legend else None)

"""Charts of the canonical tasks: accuracy by angle and by slot, the circle of keys and queries, scores, theory.

A chart that is drawn once per condition has `{subject}` in place of its name; one that is drawn once per angle has
`{base}` in place of the base.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.report.canonical_tables import INDEX, INNER, LEAST, ONE_PLANE, RETRIEVAL, SHARES, TWO_PLANES
from wherewhat.report.marks import BOTH, INK, LINE, MUTED, PAPER, WHAT, WHERE, WHOLE, either, layered, named
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

BASE = "base angle (θ = base · π/33)"
DASHES = [5, 4]
TICKS = (0, 0.1, 0.25, 0.5, 1, 2)
ACCENT = alt.ExprRef(either(DARK.accent, LIGHT.accent))
OF_SUBJECT = "datum.subject == '{subject}'"
ACCURACY = "accuracy"
EXTENT = 40  # of a vertical axis, so that stacked charts are aligned


def curves() -> Spec:
    """Accuracy of index and retrieval by angle, with the bounds of the theory."""
    return layered(
        *_bounds(),
        *_curves("accuracy", {INDEX: WHERE, RETRIEVAL: WHAT}),
        *_label("index", INDEX, 1.0, WHERE, align="right", dx=-12, dy=-8),
        *_label("retrieval", RETRIEVAL, 0.5, WHAT, align="left", dx=12, dy=-8),
    )


def induction() -> Spec:
    """Partial induction with one plane and with two, with hand-built heads and chance."""
    hand = named("byhand").transform_filter(f"indexof(['{ONE_PLANE}', '{TWO_PLANES}'], datum.subject) >= 0")
    chance = named("accuracy").transform_aggregate(rows="count()").transform_calculate(at="2", value="0.5")
    place = {"x": _base(), "y": _share()}
    colour = _colour({ONE_PLANE: MUTED, TWO_PLANES: ACCENT})
    return layered(
        chance.mark_rule(stroke=MUTED, strokeDash=[2, 3]).encode(y=_share()),
        chance.mark_text(text="chance", align="right", dx=-4, dy=12, color=MUTED, fontSize=12).encode(**place),
        hand.mark_line(strokeWidth=1.3, strokeDash=DASHES, opacity=0.8).encode(**place, color=colour),
        *_curves("accuracy", {ONE_PLANE: MUTED, TWO_PLANES: ACCENT}),
        *_label("two planes", TWO_PLANES, 1.0, ACCENT, align="right", dx=-4, dy=18),
        *_label("one plane", ONE_PLANE, 0.25, MUTED, align="left", dx=12, dy=-6),
    )


def slots() -> Spec:
    """Accuracy of index and retrieval by the slot of the answer, at one angle."""
    return layered(*_lines(_at_base(), _slot(), {INDEX: WHERE, RETRIEVAL: WHAT}, small=True))


def induction_slots() -> Spec:
    """The same for partial induction with one plane and with two."""
    return layered(*_lines(_at_base(), _slot(), {ONE_PLANE: MUTED, TWO_PLANES: ACCENT}, small=True))


def circle() -> Spec:
    """Learnt keys (dots, inside) and queries (rings, outside) in the plane, the same colour for the same symbol."""
    rows = named("circle").transform_filter(f"{OF_SUBJECT} && datum.at == {{base}} && datum.plane == {{plane}}")
    half = "width / height * 1.15"
    across = alt.Scale(domain=[alt.ExprRef(f"-{half}"), alt.ExprRef(half)], nice=False, zero=False)
    up = alt.Scale(domain=[-1.15, 1.15], nice=False, zero=False)
    place = {
        "x": alt.X("x", type="quantitative", axis=None, scale=across),
        "y": alt.Y("y", type="quantitative", axis=None, scale=up),
    }
    hue = alt.Color("hue", type="quantitative", legend=None, scale=alt.Scale(scheme="sinebow", domain=[0, 1]))
    middle = rows.transform_aggregate(rows="count()").transform_calculate(x="0", y="0")
    rings = [
        middle.mark_point(
            shape="circle",
            filled=False,
            stroke=LINE,
            strokeWidth=1.2,
            size=alt.ExprRef(f"pow({2 * radius} * height / 2.3, 2)"),  # a circle's size is that of the square around it
        ).encode(**place)
        for radius in (INNER, 1)
    ]
    return layered(
        *rings,
        middle.mark_point(shape="cross", filled=True, size=24, fill=MUTED, opacity=0.7).encode(**place),
        rows.transform_filter("datum.kind == 'query'")
        .mark_point(filled=False, size=52, strokeWidth=2, opacity=0.95, tooltip=WHOLE)
        .encode(**place, color=hue),
        rows.transform_filter("datum.kind == 'key'")
        .mark_point(filled=True, size=58, opacity=0.95, stroke=PAPER, strokeWidth=0.8, tooltip=WHOLE)
        .encode(**place, color=hue),
    )


def shares() -> Spec:
    """Variance shares of a condition's logits at each angle: position, content, or only both together."""
    rows = named("shares").transform_filter(OF_SUBJECT)
    colour = alt.Color(
        "measure", type="nominal", legend=None, scale=alt.Scale(domain=list(SHARES), range=[WHERE, WHAT, BOTH])
    )
    axis = alt.Axis(format="%", values=[0, 0.5, 1], grid=False, minExtent=EXTENT)
    y = alt.Y(
        "value", type="quantitative", title="share", stack="zero", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis
    )
    return layered(
        rows.mark_bar(tooltip=WHOLE).encode(
            x=_ordinal(labels=False), y=y, color=colour, order=alt.Order("order", type="quantitative")
        )
    )


def scores() -> Spec:
    """The published scores of a condition at each angle, and the entropy of its attention."""
    rows = named("scores").transform_filter(OF_SUBJECT)
    domain = ["positional", "symbolic", "entropy"]
    colour = alt.Color(
        "measure", type="nominal", legend=None, scale=alt.Scale(domain=domain, range=[WHERE, WHAT, MUTED])
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Y(
        "value", type="quantitative", title="score", scale=scale, axis=alt.Axis(values=[0, 0.5, 1], minExtent=EXTENT)
    )
    place = {"x": _ordinal(labels=True), "y": y, "color": colour}
    sharp, equal = rows.transform_filter("!datum.all"), rows.transform_filter("datum.all")
    even = sharp.transform_filter("datum.measure == 'entropy'")
    main = sharp.transform_filter("datum.measure != 'entropy'")
    return layered(
        even.mark_line(strokeWidth=1.4, strokeDash=[2, 3]).encode(**place),
        equal.mark_line(strokeWidth=1.3, strokeDash=DASHES, opacity=0.8).encode(**place),
        main.mark_line(strokeWidth=2.2).encode(**place),
        main.mark_point(filled=True, size=30, opacity=1, tooltip=WHOLE).encode(**place),
    )


def norms() -> Spec:
    """The learnt and the required length of query times key; `{subject}` is index or retrieval."""
    rows = named("norms").transform_filter(OF_SUBJECT)
    learnt, required = (rows.transform_filter(f"datum.kind == '{kind}'") for kind in ("learnt", "required"))
    y = alt.Y(
        "value",
        type="quantitative",
        title="length of query × key",
        scale=alt.Scale(type="log", domainMin=LEAST, nice=False),
        axis=alt.Axis(
            values=[10**power for power in range(-1, 7)],
            labelExpr="format(datum.value, datum.value < 1 ? '.1f' : '~s')",
        ),
    )
    colour = alt.Color(
        "subject", type="nominal", legend=None, scale=alt.Scale(domain=[INDEX, RETRIEVAL], range=[WHERE, WHAT])
    )
    place = {"x": _base(), "y": y}
    far = required.transform_window(rank="row_number()", sort=[alt.SortField("at")]).transform_filter("datum.rank == 2")
    return layered(
        required.mark_line(strokeDash=DASHES, strokeWidth=1.6, stroke=INK).encode(**place),
        required.mark_point(filled=True, size=26, fill=INK, opacity=1, tooltip=WHOLE).encode(**place),
        far.mark_text(text="required", align="left", dx=10, dy=-6, color=INK, fontSize=12).encode(**place),
        learnt.mark_rule(strokeWidth=2).encode(x=_base(), y=alt.Y("low", type="quantitative"), y2="high", color=colour),
        learnt.mark_line(strokeWidth=2.4).encode(**place, color=colour),
        learnt.mark_point(filled=True, size=44, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            **place, color=colour
        ),
    )


def by_hand() -> Spec:
    """Learnt and hand-built heads, by angle."""
    hand = named("byhand").transform_filter(OF_SUBJECT)
    trained = named("accuracy").transform_filter(f"{OF_SUBJECT} && !isValid(datum.seed)")
    colour = _colour({INDEX: WHERE, RETRIEVAL: WHAT, ONE_PLANE: MUTED, TWO_PLANES: ACCENT})
    place = {"x": _base(short=True), "y": _share()}
    return layered(
        hand.mark_line(strokeDash=DASHES, strokeWidth=1.6, stroke=INK).encode(**place),
        trained.mark_line(strokeWidth=2.2).encode(**place, color=colour),
        trained.mark_point(filled=True, size=36, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            **place, color=colour
        ),
    )


def peaks() -> Spec:
    """Attention by slot in theory, with queries and keys of length 1 at base 1."""
    rows = named("peaks")
    scale = alt.Scale(domain=[0, 32], nice=False)
    axis = alt.Axis(values=[0, 8, 16, 24, 32], grid=False)
    x = alt.X("at", type="quantitative", title="slot of the answer", scale=scale, axis=axis)
    y = alt.Y(
        "value", type="quantitative", title="attention on it", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=4)
    )
    colour = _colour({INDEX: WHERE, RETRIEVAL: WHAT})
    return layered(
        rows.mark_line(strokeDash=DASHES, strokeWidth=2).encode(x=x, y=y, color=colour),
        rows.mark_point(filled=True, size=60, opacity=0, tooltip=WHOLE).encode(x=x, y=y, color=colour),
        *[
            rows.transform_filter(f"datum.subject == '{name}' && datum.at == 16")
            .mark_text(text=name, dy=dy, color=tone, fontSize=12.5, fontWeight=600)
            .encode(x=x, y=y)
            for name, dy, tone in ((INDEX, 16, WHERE), (RETRIEVAL, 16, WHAT))
        ],
    )


def _at_base() -> alt.Chart:
    return named("slots").transform_filter("datum.at == {base}")


def _slot() -> Any:
    scale, axis = alt.Scale(domain=[0, 31], nice=False), alt.Axis(values=[0, 15, 31], grid=False)
    return alt.X("middle", type="quantitative", title=None, scale=scale, axis=axis)


def _curves(table: str, colours: dict[str, Any]) -> list[Any]:
    """Accuracy by angle: faint dots for seeds, a band for their interval, a line and dots for their mean."""
    rows = named(table).transform_filter("isValid(datum.seed)")
    dots = rows.transform_filter(_among(colours)).mark_point(filled=True, size=12, opacity=0.35)
    means = named(table).transform_filter("!isValid(datum.seed)")
    return [
        dots.encode(x=_base(), y=_share(), color=_colour(colours)),
        *_lines(means, _base(), colours),
    ]


def _lines(rows: alt.Chart, x: Any, colours: dict[str, Any], *, small: bool = False) -> list[Any]:
    chosen, colour = rows.transform_filter(_among(colours)), _colour(colours)
    y = _share(small=small)
    low = alt.Y("low", type="quantitative", title=None if small else ACCURACY)
    return [
        chosen.mark_area(opacity=0.16).encode(x=x, y=low, y2="high", color=colour),
        chosen.mark_line(strokeWidth=1.9 if small else 2.6).encode(x=x, y=y, color=colour),
        chosen.mark_point(
            filled=True, size=16 if small else 54, opacity=1, stroke=PAPER, strokeWidth=0 if small else 1, tooltip=WHOLE
        ).encode(x=x, y=y, color=colour),
    ]


def _bounds() -> list[Any]:
    """Dashed lines at the bounds of the theory, with their names at the bottom of the chart."""
    rows = named("bounds")
    x = alt.X("at", type="quantitative")
    lines = rows.mark_rule(stroke=INK, strokeDash=DASHES, strokeWidth=1.2, opacity=0.75).encode(x=x)
    words: dict[str, Any] = {"fontSize": 12, "color": INK, "baseline": "bottom", "y": alt.ExprRef("height - 6")}
    sides: dict[str, dict[str, Any]] = {"left": {"align": "left", "dx": 6}, "right": {"align": "right", "dx": -6}}
    return [
        lines,
        *(
            rows.transform_filter(f"datum.side == '{side}'")
            .mark_text(**words, **place)
            .encode(x=x, text=alt.Text("name", type="nominal"))
            for side, place in sides.items()
        ),
    ]


def _label(text: str, subject: str, base: float, colour: Any, **place: Any) -> list[Any]:
    """A curve's name beside one of its points."""
    here = named("accuracy").transform_filter(
        f"datum.subject == '{subject}' && datum.at == {base:g} && !isValid(datum.seed)"
    )
    words: dict[str, Any] = {"text": text, "fontSize": 14, "fontWeight": 600, **place}
    at = {"x": _base(), "y": _share()}
    return [
        here.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, **words).encode(**at),
        here.mark_text(color=colour, **words).encode(**at),
    ]


def _base(*, short: bool = False) -> Any:
    """Base angles on a square-root scale, which separates small ones."""
    scale = alt.Scale(type="sqrt", domain=[0, 2], nice=False)
    ticks: Sequence[float] = (0, 0.1, 0.5, 1, 2) if short else TICKS
    axis = alt.Axis(values=list(ticks), format="~g", grid=False, labelOverlap="greedy")
    return alt.X("at", type="quantitative", title="base angle" if short else BASE, scale=scale, axis=axis)


def _ordinal(*, labels: bool) -> Any:
    axis = alt.Axis(labels=labels, ticks=False, domain=False, labelAngle=0, labelOverlap="greedy", format="~g")
    return alt.X("at", type="ordinal", title="base angle" if labels else None, sort="ascending", axis=axis)


def _share(*, small: bool = False) -> Any:
    scale = alt.Scale(domain=[0, 1.0], nice=False)
    values = [0, 0.5, 1] if small else [0, 0.25, 0.5, 0.75, 1]
    return alt.Y(
        "value",
        type="quantitative",
        title=None if small else ACCURACY,
        scale=scale,
        axis=alt.Axis(format="%", values=values),
    )


def _colour(colours: dict[str, Any]) -> Any:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color("subject", type="nominal", legend=None, scale=scale)


def _among(colours: dict[str, Any]) -> str:
    names = ", ".join(f"'{name}'" for name in colours)
    return f"indexof([{names}], datum.subject) >= 0"

"""The chart of swaps: one line per size or kind of swap, beside its control, published models and the words alone.

Its rows have `line`, `order`, `kind`, `value`, `low`, `high` and `tip`. Beside the kinds of `MARKS` there are published
(a cross), alone (the words alone: a bar on its line) and level (the same across all lines).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.published import word_swaps as published
from wherewhat.report.blocks.axes import ACCENT, INK, MUTED, PAPER, names, shade, x
from wherewhat.report.blocks.chart import ViewRows, chart
from wherewhat.report.blocks.marks import ROWS, TIP, dots, rule, where, whiskers, zero_rule
from wherewhat.report.blocks.rows import Row, list_of
from wherewhat.report.core.page import Chart

HEIGHT = 52  # pixels per line
MARKS: dict[str, tuple[str, Any]] = {
    "control": ("diamond", MUTED),
    "swap": ("circle", ACCENT),
    "voice": ("square", INK),
}
APART = {"control": 3, "swap": -9, "published": 15}  # pixels below the middle of the line: several marks per line
TOGETHER = {"control": 0, "swap": 0, "voice": 0, "published": 13}  # one mark per line


def swap_chart(name: str, views: Mapping[str, ViewRows], *, places: Mapping[str, int] = APART, **look: Any) -> Chart:
    """Effects of swaps with their intervals; each view has the words of `axis_of`."""
    # The ends are set from outside, as some marks may have no rows.
    ends = [alt.ExprRef("{floor}"), alt.ExprRef("{ceiling}")]
    across = x("value", "{unit}", domain=ends, nice=True, zero=False, tickCount=5)
    place = {"x": across, "y": names("line", order="order", grid=True, tickBand="extent")}
    bar: dict[str, Any] = {"orient": "vertical", "thickness": 2, "size": HEIGHT - 12, "opacity": 1, "tooltip": TIP}
    cross: dict[str, Any] = {"shape": "cross", "angle": 45, "opacity": 0.85, "strokeWidth": 0}
    cross |= {"fill": shade("chance", 5), "yOffset": places["published"]}
    layers = [
        zero_rule(ROWS, across),
        rule(where(ROWS, kind="level"), {"x": across}, dash=(), colour=INK, strokeWidth=2, tooltip=TIP),
        dots(where(ROWS, kind="published"), place, size=60, **cross),
        where(ROWS, kind="alone").mark_tick(fill=INK, **bar).encode(**place),
    ]
    for kind, (shape, tone) in MARKS.items():
        if kind in places:
            rows, below = where(ROWS, kind=kind), places[kind]
            colours = {"fill": PAPER, "stroke": tone, "strokeWidth": 1.8} if kind == "control" else {"fill": tone}
            layers.append(whiskers(rows, place, width=2.4, stroke=tone, yOffset=below))
            layers.append(dots(rows, place, size=92, shape=shape, yOffset=below, **colours))
    lines = max(len({row["line"] for row in list_of(view.rows) if row.get("line")}) for view in views.values())
    return chart(name, views, layers, height=HEIGHT * lines + 10, figure=True, **look)


def axis_of(unit: str, rows: Iterable[Row], *, whole: float | None = None) -> dict[str, str]:
    """The axis of a view in the words of the chart: it holds 0 and all these rows; `whole` fixes the upper end.

    >>> axis_of("points", [{"value": -4.0, "low": -6.0, "high": -2.0}])
    {'unit': 'points', 'floor': '-6.3', 'ceiling': '0.3'}
    """
    numbers = [0.0, *(row[end] for row in rows for end in ("value", "low", "high") if row.get(end) is not None)]
    low, high = min(numbers), max([*numbers, *([whole] if whole else [])])
    room = 0.05 * (high - low) or 1.0
    ends = (low - room if low < 0 else low, high if whole else high + room)
    return {"unit": unit, "floor": f"{ends[0]:.4g}", "ceiling": f"{ends[1]:.4g}"}


def published_changes(sizes: Sequence[str]) -> list[Row]:
    """What published models lose when words are shuffled, on the lines of these sizes."""
    return [
        {"kind": "published", "line": size_words(size), "order": sizes.index(size), "value": change}
        | {"tip": f"{model}, published on SNLI, {size_words(size)}: {change:+.1f} points".replace("-", "−")}
        for model, changes in published.CHANGES.items()
        for size, change in zip(published.SIZES, changes, strict=True)
        if size in sizes
    ]


def size_words(item: str) -> str:
    """The name of a size.

    >>> size_words("3"), size_words("whole")
    ('3 words', 'whole sentence')
    """
    return f"{item} words" if item.isdecimal() else "whole sentence" if item == "whole" else item

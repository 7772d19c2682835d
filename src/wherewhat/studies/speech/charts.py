"""The charts of the page of speech: errors in every test, by length and beside RoPE, and how far heads look."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from wherewhat.corpora.speech.splits import LONG, TEST
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, forest, lines
from wherewhat.report.blocks.marks import ROWS, estimates, named, rule
from wherewhat.report.blocks.numbers import side
from wherewhat.report.core.page import Chart
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.speech.names import (
    EARLY,
    LONGEST,
    NONE,
    REACH,
    RELATIVE,
    ROPE,
    SINUSOIDS,
    UNIFORM,
    difference,
    error,
    label,
)
from wherewhat.tables.manifest.study import SpeechSection

Rows = Iterator[Mapping[str, Any]]
TINTS = {
    ROPE: WHERE,
    RELATIVE: WHAT,
    NONE: MUTED,
    "alibi": shade("layers", 4),
    "t5_bias": shade("layers", 2),
    SINUSOIDS: shade("chance", 5),
    EARLY: shade("chance", 1),
}
TRAINED = 3  # digits of an utterance in training, on average
ENDS = ("value", "low", "high")


def tint(about: SpeechSection, *, shown: Any = None) -> Any:
    """A colour per arm."""
    return colour("name", {label(arm): TINTS.get(arm, MUTED) for arm in about.arms}, legend=shown)


def error_chart(table: ResultTable, about: SpeechSection) -> Chart:
    """The error rate of every arm, a view per test."""
    views = {test: list(error_rows(table, about, test)) for test in about.tests}
    across = x("value", "error rate", zero=True, nice=True, format="~%", tickCount=4, padding=6)
    place = {"x": across, "y": names("name", labelLimit=170)}
    return chart(
        "errors",
        {test: rows for test, rows in views.items() if rows},
        estimates(ROWS, place, colour=tint(about)),
        tip="{name}: {value:share}",
        label="error rate by encoding",
        height=50 + 34 * len(about.arms),
        figure=True,
        title="Error rate",
    )


def error_rows(table: ResultTable, about: SpeechSection, test: str, **more: Any) -> Rows:
    """The error rate of every arm in a test."""
    for arm in about.arms:
        if row := table.row(arm, error(test)):
            yield {"name": label(arm), **more, **{end: row[end] for end in ENDS}}


def length_chart(table: ResultTable, about: SpeechSection) -> Chart | None:
    """Error rates by the number of digits; None where no test has more than training."""
    places = {TEST: TRAINED, **LONG}
    rows = [row for test, at in places.items() for row in error_rows(table, about, test, at=at)]
    if len({row["at"] for row in rows}) < 2:
        return None
    across = x(
        "at",
        "digits per utterance",
        domain=[0, LONG[LONGEST] + 0.5],
        nice=False,
        grid=False,
        values=list(places.values()),
        labelExpr=f"datum.value == {TRAINED} ? '1 to 5' : datum.label",
    )
    return lines(
        "longer",
        rows,
        x=across,
        y=share(y, "value", "error rate", domain=False, zero=True),
        colour=tint(about, shown=legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=200)),
        label="error rate by number of digits",
        tip="{name}, {at:.0f} digits: {value:share}",
        height=320,
        figure=True,
        title="Error rate by number of digits",
    )


def difference_chart(table: ResultTable, about: SpeechSection) -> Chart | None:
    """By how much other encodings err more than RoPE, a view per test; None without such a comparison."""
    views = {}
    for test in about.tests:
        rows = [(arm, table.row(arm, difference(test, ROPE))) for arm in about.arms if arm != ROPE]
        views[test] = [
            {"name": label(arm), "side": side(row), **{end: 100 * row[end] for end in ENDS}} for arm, row in rows if row
        ]
    views = {test: lines_ for test, lines_ in views.items() if lines_}
    if not views:
        return None
    return forest(
        "differences",
        views,
        line="name",
        axis="more errors than RoPE, in points",
        tip="{name}: {value:+.1f} points ({low:+.1f} to {high:+.1f})",
        label="difference to RoPE by encoding",
        figure=True,
        title="More errors than RoPE",
    )


def head_chart(table: ResultTable, about: SpeechSection) -> Chart | None:
    """How far every head looks, by layer, a view per arm; None where no heads were measured."""
    views = {}
    for arm in about.arms:
        reach = reach_of_first(table, arm)
        rows = [
            {"name": head, "layer": f"layer {head[1:].partition('H')[0]}", "value": value}
            for head, value in reach.items()
            if head != UNIFORM
        ]
        if rows:
            views[label(arm)] = ViewRows(rows, tables={"uniform": [{"value": reach.get(UNIFORM)}]})
    if not views:
        return None
    most = max(row["value"] for view in views.values() for row in view.rows)  # type: ignore[index]
    across = x("value", "mean distance, ms", zero=True, nice=True, domain=[0, most * 1.1], tickCount=6)
    place = {"x": across, "y": names("layer", labelLimit=120, grid=True)}
    return chart(
        "heads",
        views,
        [rule(named("uniform"), {"x": across}), marks.dots(ROWS, place, size=110, fill=WHERE, opacity=0.8)],
        tip="{name}: {value:.0f} ms",
        label="how far heads look, in milliseconds",
        height=60 + 34 * (about.layers or 1),
        figure=True,
        title="How far heads look",
    )


def reach_of_first(table: ResultTable, arm: str) -> dict[str, float]:
    """How far every head of the run with the first seed looks, and uniform attention on its utterances."""
    rows = table.where(part="heads", subject=arm, measure=REACH).drop_nulls("seed")
    return dict(rows.filter(pl.col("seed") == pl.col("seed").min()).select("item", "value").iter_rows())


def frequency_chart(table: ResultTable) -> Chart | None:
    """What each rotary frequency carries, by the time in which it turns once; None without rotary heads."""
    rows = [
        {"at": float(period), "value": value, "name": label(ROPE)}
        for period, value in table.where(part="frequencies", subject=ROPE, seed=None).select("item", "value").rows()
    ]
    if not rows:
        return None
    return lines(
        "frequencies",
        rows,
        x=x("at", "seconds per turn", scale="log", nice=False, grid=False, format="~s", tickCount=6, padding=12),
        y=share(y, "value", "of the variance of logits", domain=False, zero=True),
        colour=colour("name", {label(ROPE): WHERE}),
        intervals="none",
        size=40,
        label="what each rotary frequency carries",
        tip="one turn in {at:.2g} s: {value:share}",
        height=260,
        figure=True,
        title="What rotary frequencies carry",
    )

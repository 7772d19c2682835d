"""One utterance as pictures: what is heard, where a head looks, and what is recognised, all over time."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import polars as pl

from wherewhat.report.blocks.axes import INK, MUTED, PAPER, names, shade, x, y
from wherewhat.report.blocks.chart import chart
from wherewhat.report.blocks.marks import ROWS, TIP, named, text_labels
from wherewhat.report.core.page import Chart
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.speech.names import label
from wherewhat.tables.manifest.study import SpeechSection

Rows = Sequence[Mapping[str, Any]]
HERTZ = (250, 500, 1000, 2000)  # ticks of the spectrogram
EXTENT: dict[str, Any] = {
    "minExtent": 64,
    "maxExtent": 64,
}  # the room beside all pictures, so that times stand below each other
BLANK = "blank"
FAINT = 0.05  # probabilities below it are not drawn


def times(title: str | None, until: float) -> Any:
    """The axis of time that all pictures share."""
    return x("at", title, domain=[0, until], nice=False, grid=False, tickCount=6, format=".1f")


def step_of(times: Iterable[float]) -> float:
    """How far neighbouring times are apart, in seconds: how long a token, or a cell, lasts."""
    gaps = [after - before for before, after in pairwise(sorted(set(times)))]
    return min(gaps, default=0.0)


def length_of(table: ResultTable) -> float:
    """How many seconds the utterance has."""
    times = table.where(part="decoded")["at"].to_list() or table.where(part="spectrogram")["at"].to_list()
    return round(max(times) + step_of(times), 2) if times else 0.0


def spectrogram(table: ResultTable, until: float) -> Chart:
    """The energy in every band over time, as a net hears it."""
    rows = table.where(part="spectrogram").select("item", "at", "value").rows()
    wide = step_of(at for _, at, _ in rows)
    peaks = sorted({float(hertz) for hertz, _, _ in rows})
    bands = {peak: number for number, peak in enumerate(peaks)}
    cells = [
        {
            "at": at,
            "until": round(at + wide, 3),
            "low": bands[float(hertz)],
            "high": bands[float(hertz)] + 1,
            "value": value,
            "hertz": float(hertz),
        }
        for hertz, at, value in rows
    ]
    place = _cells(times(None, until), [-1.5, 0, 1.2, 2.4], [shade("chance", step) for step in (3, 2, 1, 0)])
    ticks = {bisect_left(peaks, hertz): f"{hertz:,} Hz" for hertz in HERTZ}
    text = " : ".join(f"datum.value == {band} ? '{word}'" for band, word in ticks.items()) + " : ''"
    domain = {"domain": [0, len(peaks)], "nice": False}
    up = y("low", "frequency", **domain, grid=False, values=list(ticks), labelExpr=text, **EXTENT)
    layer = ROWS.mark_rect(tooltip=TIP, clip=True).encode(**{**place, "y": up, "y2": alt.Y2("high")})
    return chart(
        "spectrogram",
        cells,
        [layer],
        tip="{at:.2f} s, {hertz:,.0f} Hz: {value:.1f} standard deviations",
        label="energy by frequency and time",
        height=190,
        figure=True,
        title="What is heard",
    )


def _cells(across: Any, domain: Sequence[float], tones: Sequence[Any]) -> dict[str, Any]:
    """Cells from `at` to `until`, coloured by value."""
    scale = alt.Scale(domain=list(domain), range=list(tones), interpolate="lab", clamp=True)
    colours = alt.Color("value", type="quantitative", scale=scale, legend=None)
    return {"x": across, "x2": alt.X2("until"), "color": colours}


def attention_map(table: ResultTable, about: SpeechSection, until: float) -> Chart | None:
    """Where the sharpest head looks from every moment, a view per arm; None if nothing was drawn."""
    views = {title: rows for arm in about.arms for title, rows in attention_rows(table, arm)}
    if not views:
        return None
    place = _cells(times("key, s", until), [0, 0.08, 0.25, 0.6], [shade("chance", step) for step in (3, 4, 5, 6)])
    down = y("query", "query, s", domain=[0, until], reverse=True, nice=False, grid=False, format=".1f", **EXTENT)
    layer = ROWS.mark_rect(tooltip=TIP, clip=True).encode(**{**place, "y": down, "y2": alt.Y2("below")})
    line = named("itself").mark_line(stroke=MUTED, strokeWidth=1, strokeDash=[2, 3], opacity=0.7)
    diagonal = line.encode(x=x("at", "key, s"), y=y("query", "query, s"))
    ends = [{"at": at, "query": at} for at in (0.0, until)]
    whole = {"x": place["x"], "x2": place["x2"], "y": down, "y2": alt.Y2("below")}
    area = named("area").mark_rect(fill=shade("chance", 3)).encode(**whole)
    return chart(
        "attention",
        views,
        [area, layer, diagonal],
        tip="from {query:.2f} s to {at:.2f} s: {value:.2f}",
        label="attention of one head over time",
        tables={"itself": ends, "area": [{"at": 0.0, "until": until, "query": 0.0, "below": until}]},
        height=300,
        figure=True,
        title="Where a head looks",
    )


def attention_rows(table: ResultTable, arm: str) -> Iterator[tuple[str, Rows]]:
    """The attention that is drawn of an arm's first seed, under a title with the name of the head."""
    rows = table.where(part="attention", subject=arm)
    if rows.is_empty():
        return
    first = rows.filter(seed=rows["seed"].min())
    token = step_of(first["at"])
    cells = [
        {
            "at": at,
            "until": round(at + token, 3),
            "query": float(query),
            "below": round(float(query) + token, 3),
            "value": value,
        }
        for query, at, value in first.select("item", "at", "value").iter_rows()
    ]
    yield f"{label(arm)}, {first['measure'][0]}", cells


def decoded(table: ResultTable, about: SpeechSection, until: float) -> Chart | None:
    """The probability of every word, token by token, a view per arm; blanks are faint."""
    views = {label(arm): rows for arm in about.arms if (rows := list(decoded_rows(table, arm)))}
    if not views:
        return None
    spoken = {row["word"] for rows in views.values() for row in rows}
    lines = [*(word for word in about.words if word in spoken), BLANK]
    scale = alt.Scale(domain=[0, 0.5, 1], range=[shade("chance", step) for step in (3, 1, 0)], interpolate="lab")
    colours = alt.Color("value", type="quantitative", scale=scale, legend=None)
    faint = alt.condition("datum.blank", alt.value(0.18), alt.value(1))
    down = names("word", labelLimit=60, **EXTENT)
    down["scale"], down["title"] = alt.Scale(domain=lines), about.unit
    cells = ROWS.mark_rect(tooltip=TIP, clip=True, stroke=PAPER, strokeWidth=1).encode(
        x=times("time, s", until), x2=alt.X2("until"), y=down, color=colours, opacity=faint
    )
    says = ROWS.transform_filter("datum.says != ''")
    written = text_labels(
        says, "says", {"x": x("middle", "time, s"), "y": down}, dy=-25, fontSize=13, fontWeight=700, color=INK
    )
    return chart(
        "decoded",
        views,
        [cells, *written],
        tip="{at:.2f} s, {word}: {value:share}",
        label="probability of every word over time",
        height=64 + 24 * len(lines),
        figure=True,
        title="What is recognised, token by token",
    )


def decoded_rows(table: ResultTable, arm: str) -> Iterator[Mapping[str, Any]]:
    """The probabilities of an arm's first seed; the first token of every word that is recognised says it."""
    rows = table.where(part="decoded", subject=arm)
    first = rows.filter(seed=rows["seed"].min()) if rows.height else rows
    token = step_of(first["at"])
    likeliest = first.sort("value").group_by("at").last().sort("at").select("at", "item").rows()
    begins = {here for before, here in pairwise([(-1.0, ""), *likeliest]) if here[1] != before[1]}
    for word, at, value in first.filter(pl.col("value") >= FAINT).select("item", "at", "value").iter_rows():
        place = {"at": at, "middle": round(at + token / 2, 3), "until": round(at + token, 3)}
        says = word if (at, word) in begins else ""  # blanks say nothing
        yield {**place, "word": word or BLANK, "blank": not word, "says": says, "value": value}

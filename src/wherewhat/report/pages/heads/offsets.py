"""Where heads attend by relative offset: exact near the query, in growing bins far from it; the table and its chart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from wherewhat.formatting import rounded
from wherewhat.names import head_name
from wherewhat.report.blocks.axes import ACCENT, INK, LINE, x, y
from wherewhat.report.blocks.marks import TIP, layered, named, where
from wherewhat.report.core.page import Columns, Spec
from wherewhat.report.pages.heads.head_table import mean_of

NEAR = 16  # offsets up to here are shown one by one
FAR = 15  # bins on either side beyond that: 2 * (16 + 15) + 1 = 63 bars at most
RARE = 0.02  # of the rows: an offset that fewer rows can see is left out, as its mean would be too noisy
MASSES = (0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
ROOMY = "(datum.value == 0 || datum.value > domain('y')[1] / 45)"  # ticks nearer to 0 would overlap


@dataclass(frozen=True)
class Bin:
    """Neighbouring offsets that share one bar; `place` is its coordinate on the axis."""

    place: int
    first: int
    last: int


def bins(smallest: int, largest: int) -> list[Bin]:
    """Cut the offsets into bins, from left to right.

    >>> bins(-1, 0)
    [Bin(place=-1, first=-1, last=-1), Bin(place=0, first=0, last=0)]
    >>> bins(-5000, 0)[0].last - bins(-5000, 0)[0].first > 1000
    True
    """
    if largest - smallest < 2 * (NEAR + FAR) + 1:
        return [Bin(offset, offset, offset) for offset in range(smallest, largest + 1)]
    left = [Bin(-place, -last, -first) for place, first, last in _side(-smallest)]
    right = [Bin(place, first, last) for place, first, last in _side(largest)]
    inside = [bar for bar in (*reversed(left), Bin(0, 0, 0), *right) if bar.last >= smallest and bar.first <= largest]
    return [Bin(bar.place, max(bar.first, smallest), min(bar.last, largest)) for bar in inside]


def _side(farthest: int) -> Iterator[tuple[int, int, int]]:
    """Distances 1, 2, ... one by one up to `NEAR`, then bins that grow by a constant factor."""
    for distance in range(1, min(NEAR, farthest) + 1):
        yield distance, distance, distance
    first, place = NEAR + 1, NEAR + 1
    for step in range(1, FAR + 1):
        last = round(NEAR * (max(farthest, NEAR) / NEAR) ** (step / FAR))
        if last >= first:
            yield place, first, last
            first, place = last + 1, place + 1


def profiles(offsets: pl.DataFrame, names: Sequence[str], labels: Mapping[int, str] | None = None) -> Columns:
    """One column per head: its mean attention per offset in every bin; `all` is the mean over heads.

    `seen` is how many offsets of a bin a row can see on average: mass times this is the bin's share of attention.
    """
    if "rows" not in offsets.columns:  # then all offsets weigh the same
        offsets = offsets.with_columns(rows=pl.lit(1))
    offsets = offsets.filter(pl.col("rows") >= RARE * pl.col("rows").max().over("layer"))
    if offsets.is_empty():
        return {"place": [], "from": [], "to": [], "all": [], "seen": []}
    offsets = offsets.cast({"offset": pl.Int64, "mass": pl.Float64, "rows": pl.Float64})
    cut = bins(*offsets.select(first=pl.col("offset").min(), last=pl.col("offset").max()).row(0))
    grid = pl.DataFrame(cut).rename({"first": "from", "last": "to"})
    means = (
        offsets.filter(pl.col("mass").is_finite())
        .sort("offset")
        .join_asof(grid, left_on="offset", right_on="from", strategy="backward")
        .group_by("layer", "head", "place")
        .agg((pl.col("mass") * pl.col("rows")).sum() / pl.col("rows").sum())
        .sort("layer", "head", "place")
    )
    by_head = {
        head_name(layer, head, labels or {}): dict(rows.select("place", "mass").iter_rows())
        for (layer, head), rows in means.group_by(["layer", "head"], maintain_order=True)
    }
    masses = {name: by_head[name] for name in names if name in by_head}
    rows: dict[int, float] = dict(offsets.group_by("offset").agg(pl.col("rows").mean()).iter_rows())
    visible = (sum(rows.get(offset, 0) for offset in range(b.first, b.last + 1)) for b in cut)
    return {
        **grid.to_dict(as_series=False),
        "seen": [rounded(many / max(rows.values())) for many in visible],
        "all": [rounded(mean_of(mass.get(b.place) for mass in masses.values())) for b in cut],
        **{name: [rounded(mass.get(b.place)) for b in cut] for name, mass in masses.items()},
    }


def axis_labels(columns: Columns) -> dict[int, str]:
    """The labels of the axis: powers of two near the query, the outer ends of bins far from it.

    >>> axis_labels({"place": [-3, -2, -1, 0], "from": [-3, -2, -1, 0], "to": [-3, -2, -1, 0]})
    {-2: '−2', -1: '−1', 0: '0'}
    """
    spans = list(zip(columns["place"], columns["from"], columns["to"], strict=True))
    near = {0, 4, 8, 16} | ({1, 2} if len(spans) <= 36 else set())
    exact = {place: place for place, first, last in spans if first == last and abs(place) in near}
    beyond = [span for span in spans if abs(span[0]) > NEAR and (abs(span[0]) - NEAR) % 5 == 0]
    far = {place: (first if place < 0 else last) for place, first, last in beyond}
    return {place: f"{offset}".replace("-", "−") for place, offset in sorted((exact | far).items())}


def profile(by_offset: Columns) -> Spec:
    """One head's mean attention by relative offset; `bins` is how many bars there are."""
    rows, places = named("profile"), axis_labels(by_offset)
    labels = ", ".join(f"'{place}': '{label}'" for place, label in places.items())
    ticks: dict[str, Any] = {"values": list(places), "labelExpr": f"{{{labels}}}[datum.value]", "ticks": True}
    free: dict[str, Any] = {"nice": False, "zero": False, "padding": 8, "grid": False, "labelOverlap": "greedy"}
    across = x("place", "key's offset from the query", **free, **ticks)
    masses: dict[str, Any] = {"values": list(MASSES), "tickCount": len(MASSES), "labelOverlap": False, "ticks": False}
    masses |= {"labelExpr": f"{ROOMY} ? format(datum.value, '~g') : ''"}
    masses |= {"gridOpacity": {"condition": {"test": ROOMY, "value": 1}, "value": 0}}
    up = y("mass", "mean attention per offset (√ scale)", scale="sqrt", domainMin=0, nice=True, **masses)
    bar: dict[str, Any] = {"width": alt.ExprRef("max(2, width / bins * 0.72)"), "tooltip": TIP, "cornerRadiusEnd": 1.5}
    mean: dict[str, Any] = {"orient": "horizontal", "color": INK, "thickness": 1.6}
    return layered(
        where(rows, **{"from": 0}).mark_rule(color=LINE, strokeWidth=1).encode(x=across),
        rows.mark_bar(**bar).encode(x=across, y=up, color=alt.value(ACCENT)),
        rows.mark_tick(size=alt.ExprRef("max(4, width / bins * 0.95)"), **mean).encode(x=across, y="all:Q"),
        bins=33,
    )

"""Where heads attend by relative offset: exact near the query, in growing bins far from it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.formatting import rounded
from wherewhat.names import head_name
from wherewhat.report.page import Columns

NEAR = 16  # offsets up to here are shown one by one
FAR = 15  # bins on either side beyond that: 2 * (16 + 15) + 1 = 63 bars at most
LABELS = (4, 8, 16)  # among many bars; -1 and 1 too where there is room
ROOM = 36
RARE = 0.02  # of the rows: an offset that fewer rows can see is left out, as its mean would be too noisy


@dataclass(frozen=True)
class Bin:
    """Neighbouring offsets that share one bar; `place` is its coordinate on the axis."""

    place: int
    first: int
    last: int


def bins(smallest: int, largest: int) -> list[Bin]:
    """Cut the offsets into bins, from left to right.

    >>> bins(-2, 1)
    [Bin(place=-2, first=-2, last=-2), Bin(place=-1, first=-1, last=-1), Bin(place=0, first=0, last=0), \
Bin(place=1, first=1, last=1)]
    >>> bins(-5000, 0)[0].last - bins(-5000, 0)[0].first > 1000
    True
    """
    if largest - smallest < 2 * (NEAR + FAR) + 1:
        return [Bin(offset, offset, offset) for offset in range(smallest, largest + 1)]
    left = [Bin(-place, -last, -first) for place, first, last in _side(-smallest)]
    right = [Bin(place, first, last) for place, first, last in _side(largest)]
    whole = [*reversed(left), Bin(0, 0, 0), *right]
    inside = [bar for bar in whole if bar.last >= smallest and bar.first <= largest]
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
    """One column per head: its mean attention per offset in every bin; `all` is the mean over heads."""
    offsets = _without_rare(offsets)
    if offsets.is_empty():
        return {"place": [], "from": [], "to": [], "all": [], "seen": []}
    cut = bins(_whole(offsets["offset"].min()), _whole(offsets["offset"].max()))
    grid = pl.DataFrame({"place": [b.place for b in cut], "from": [b.first for b in cut], "to": [b.last for b in cut]})
    means = _means(offsets, grid)
    by_head: Mapping[str, dict[int, float]] = {
        head_name(layer, head, labels or {}): dict(zip(rows["place"].to_list(), rows["mass"].to_list(), strict=True))
        for (layer, head), rows in means.group_by(["layer", "head"], maintain_order=True)
    }
    columns: dict[str, list[Any]] = {name: grid[name].to_list() for name in grid.columns}
    shown = {name: by_head[name] for name in names if name in by_head}
    columns["seen"] = [rounded(share) for share in _visible(offsets, cut)]
    columns["all"] = [rounded(_mean([mass.get(b.place) for mass in shown.values()])) for b in cut]
    return columns | {name: [rounded(mass.get(b.place)) for b in cut] for name, mass in shown.items()}


def _means(offsets: pl.DataFrame, grid: pl.DataFrame) -> pl.DataFrame:
    numbers = (pl.col("offset").cast(pl.Int64), pl.col("mass").cast(pl.Float64), pl.col("rows").cast(pl.Float64))
    placed = offsets.select("layer", "head", *numbers)
    return (
        placed.filter(pl.col("mass").is_finite())
        .sort("offset")
        .join_asof(grid.sort("from"), left_on="offset", right_on="from", strategy="backward")
        .group_by("layer", "head", "place")
        .agg((pl.col("mass") * pl.col("rows")).sum() / pl.col("rows").sum())
        .sort("layer", "head", "place")
    )


def _without_rare(offsets: pl.DataFrame) -> pl.DataFrame:
    """Drop the offsets that almost no row could see. Without counts of rows, all offsets weigh the same."""
    if "rows" not in offsets.columns:
        return offsets.with_columns(rows=pl.lit(1))
    return offsets.filter(pl.col("rows") >= RARE * pl.col("rows").max().over("layer"))


def _visible(offsets: pl.DataFrame, cut: Sequence[Bin]) -> Iterator[float]:
    """How many offsets of each bin a row can see on average: mass times this is the bin's share of attention."""
    rows: dict[int, float] = dict(offsets.group_by("offset").agg(pl.col("rows").mean()).iter_rows())
    most = max(rows.values())
    return (sum(rows.get(offset, 0) for offset in range(bar.first, bar.last + 1)) / most for bar in cut)


def _mean(masses: Sequence[float | None]) -> float:
    there = [mass for mass in masses if mass is not None]
    return math.fsum(there) / len(there) if there else math.nan


def _whole(value: Any) -> int:
    return int(value)


def axis_labels(columns: Columns) -> dict[int, str]:
    """The labels of the axis: powers of two near the query, the outer ends of bins far from it.

    >>> axis_labels({"place": [-3, -2, -1, 0], "from": [-3, -2, -1, 0], "to": [-3, -2, -1, 0]})
    {-2: '−2', -1: '−1', 0: '0'}
    """
    spans = list(zip(columns["place"], columns["from"], columns["to"], strict=True))
    near = {0, *LABELS} | ({1, 2} if len(spans) <= ROOM else set())
    exact = {place: place for place, first, last in spans if first == last and abs(place) in near}
    far = {place: (first if place < 0 else last) for place, first, last in spans if _worth_a_label(place)}
    return {place: f"{offset}".replace("-", "−") for place, offset in sorted((exact | far).items())}


def _worth_a_label(place: int) -> bool:
    return abs(place) > NEAR and (abs(place) - NEAR) % 5 == 0

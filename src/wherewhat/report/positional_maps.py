"""The matrices of the positional part as coarse maps, so that a page can hold those of all heads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TypeVar

import polars as pl

from wherewhat.names import head_name
from wherewhat.report.kinds import SOURCES
from wherewhat.tables.manifest.scores import PositionalLayer

GAMMA = ".contextual"  # after a source: what content adds to it
KEYS = ["layer", "head", "source"]
Key = tuple[str, int, int | None]  # a source, a layer, and a head or all of them
SIGHT = {"layer": pl.Int32, "source": pl.String, "n": pl.Int32, "back": pl.Int32, "ahead": pl.Int32}
SIDES = (32, 24, 16, 12, 8)  # of a map on the page, in cells
MOST = 450_000  # cells of all maps of a page, one character each
REACHES = (0.5, 1.0, 2.0, 3.0, 4.0)  # doublings of uniform attention at the end of the colour scale
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
NOTHING = "."  # a cell that no query can see
T = TypeVar("T")
NEAR, NEARER, MANY = 16, 8, 1600  # offsets of a profile to either side; fewer where there are many profiles


@dataclass(frozen=True)
class Maps:
    """Every matrix as a coarse map: attention relative to uniform attention on a log scale, one character per cell."""

    sizes: Mapping[str, int]  # by source, the known slots of a matrix
    of: Mapping[str, int]  # by source, all its slots
    reach: float
    cells: Mapping[str, Mapping[str, str]]  # by source, then by head (L3H7), or by layer (L3) for the mean of its heads
    offsets: Sequence[int]
    profiles: Mapping[str, Mapping[str, Sequence[float | None]]]  # mean attention by offset, with the keys of `cells`
    evens: Mapping[str, Mapping[str, Sequence[float | None]]]  # the same for uniform attention, by layer

    @property
    def block(self) -> int:
        """How many slots a cell covers at most."""
        return max((-(-n // self.side(source)) for source, n in self.sizes.items()), default=1)

    def side(self, source: str) -> int:
        """How many cells a map of this source has per row."""
        return isqrt(len(next(iter(self.cells[source].values()))))

    def slots(self, source: str) -> str:
        """Which slots of a source are drawn, in words."""
        drawn, whole = self.sizes[source], self.of[source]
        return f"n = {whole}" if drawn == whole else f"first {drawn} of {whole} slots"

    @property
    def sources(self) -> list[str]:
        """The sources that have maps."""
        return list(self.cells)


def ordered(sources: Iterable[str]) -> list[str]:
    """Sources in reading order, each followed by its γ."""
    there = set(sources)
    return [name for source in SOURCES for name in (source, source + GAMMA) if name in there]


def maps_of(
    table: pl.DataFrame, layers: Sequence[PositionalLayer] = (), labels: Mapping[int, str] | None = None
) -> Maps:
    """All matrices of a run as coarse maps, and their means along diagonals; `layers` gives slots and masks."""
    table = table.filter(pl.col("source").is_in(ordered(table["source"]))) if "source" in table.columns else table
    if table.is_empty():
        return Maps({}, {}, 1.0, {}, [], {}, {})
    visible = _visible(table, layers)
    many = visible.select(KEYS).unique().height
    side = next((side for side in SIDES if many * side**2 <= MOST), SIDES[-1])
    near = NEAR if many <= MANY else NEARER
    ratios = _ratios(visible, side)
    reach = _reach(ratios)
    sizes, of = (dict(visible.group_by("source").agg(pl.col(name).max()).iter_rows()) for name in ("slots", "n"))
    order = ordered(sizes)
    return Maps(
        sizes={source: sizes[source] for source in order},
        of={source: of[source] for source in order},
        reach=reach,
        cells=_by_source(_named(_cells(ratios, reach), labels), order),
        offsets=list(range(-near, near + 1)),
        profiles=_by_source(_named(_profiles(visible, near, "attention"), labels), order),
        evens=_by_source(
            _named(_profiles(visible.with_columns(head=pl.lit(None, pl.Int32)), near, "even"), labels), order
        ),
    )


def _named(by_key: Mapping[Key, T], labels: Mapping[int, str] | None) -> dict[tuple[str, str], T]:
    """By source and by the name of a head, or of a whole layer (`L3`)."""
    return {
        (source, f"L{layer}" if head is None else head_name(layer, head, labels or {})): value
        for (source, layer, head), value in by_key.items()
    }


def _by_source(by_key: Mapping[tuple[str, str], T], order: Sequence[str]) -> dict[str, dict[str, T]]:
    return {source: {name: value for (at, name), value in by_key.items() if at == source} for source in order}


def _visible(table: pl.DataFrame, layers: Sequence[PositionalLayer]) -> pl.DataFrame:
    """The cells that queries can see, with their uniform attention, which counts keys outside the table too."""
    sights = pl.DataFrame([{name: getattr(row, name) for name in SIGHT} for row in layers], schema=SIGHT)
    known = table.filter(pl.col("attention").is_finite()).join(sights, on=["layer", "source"], how="left")
    slots = (1 + pl.col("query").max().over("source")).alias("slots")
    known = known.with_columns(slots).with_columns(pl.col("n").fill_null(pl.col("slots")))
    query, last, offset = pl.col("query"), pl.col("n") - 1, pl.col("key") - pl.col("query")
    back, ahead = pl.min_horizontal("back", query), pl.min_horizontal("ahead", last - query)
    visible = (-offset <= pl.col("back").fill_null(last)) & (offset <= pl.col("ahead").fill_null(last))
    return known.filter(visible).with_columns(even=1 / (1 + back + ahead))


def _ratios(visible: pl.DataFrame, most: int) -> pl.DataFrame:
    """For each cell of a coarse map attention divided by uniform attention; after all heads, the mean of a layer's."""
    side = pl.min_horizontal(pl.col("slots"), pl.lit(most)).cast(pl.Int64)
    block = [(pl.col(name).cast(pl.Int64) * side // pl.col("slots")).alias(name) for name in ("query", "key")]
    mean = pl.col("attention").sum() / pl.col("even").sum()
    by_head = visible.with_columns(*block, side=side).group_by(*KEYS, "side", "query", "key").agg(ratio=mean)
    by_layer = by_head.group_by("layer", "source", "side", "query", "key").agg(pl.col("ratio").mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"])).select(by_head.columns)
    return pl.concat([by_head, whole]).with_columns(away=pl.col("ratio").log(2)).sort(*KEYS, "query", "key")


def _reach(ratios: pl.DataFrame) -> float:
    """How many doublings the colours span: enough for nine of ten cells, and at most four."""
    usual = ratios.select(pl.col("away").abs().quantile(0.9, "lower")).item()
    return next((reach for reach in REACHES if usual is not None and usual <= reach), REACHES[-1])


def _cells(ratios: pl.DataFrame, reach: float) -> dict[Key, str]:
    """Every map as one string, row by row."""
    top = len(LEVELS) - 1
    level = ((pl.col("away").clip(-reach, reach) / reach + 1) * top / 2).round().cast(pl.Int64)
    at = pl.col("query") * pl.col("side") + pl.col("key")
    cells = ratios.select(*KEYS, "side", at=at, level=level)
    made = {}
    for layer, head, source, side, places, levels in (
        cells.group_by([*KEYS, "side"], maintain_order=True).agg("at", "level").iter_rows()
    ):
        line = [NOTHING] * side**2
        for place, step in zip(places, levels, strict=True):
            line[place] = LEVELS[step]
        made[source, layer, head] = "".join(line)
    return made


def _profiles(visible: pl.DataFrame, near: int, what: str) -> dict[Key, list[float | None]]:
    """The mean of attention, or of uniform attention, along each diagonal near the main one."""
    offset = (pl.col("key") - pl.col("query")).cast(pl.Int64).alias("offset")
    by_head = (
        visible.with_columns(offset)
        .filter(pl.col("offset").abs() <= near)
        .group_by(*KEYS, "offset")
        .agg(pl.col(what).mean())
    )
    by_layer = by_head.group_by("layer", "source", "offset").agg(pl.col(what).mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"])).select(by_head.columns)
    made: dict[Key, list[float | None]] = {}
    for layer, head, source, at, mass in pl.concat([by_head, whole]).sort(*KEYS, "offset").iter_rows():
        line = made.setdefault((source, layer, head), [None] * (2 * near + 1))
        line[at + near] = float(f"{mass:.3g}")
    return made

"""The matrices of the positional part in few cells, so that a page can ship the maps of all heads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, TypeVar

import polars as pl

from wherewhat.names import head_name
from wherewhat.report.kinds import SOURCES

GAMMA = ".contextual"  # after a source: what content adds to it
KEYS = ["layer", "head", "source"]
Key = tuple[str, int, int | None]  # a source, a layer, and a head or all of them
SIGHT = {"layer": pl.Int32, "source": pl.String, "n": pl.Int32, "back": pl.Int32, "ahead": pl.Int32}
SIDES = (32, 24, 16, 12, 8)  # of a map on the page, in cells
MOST = 450_000  # cells of all maps of a page, one character each
REACHES = (0.5, 1.0, 2.0, 3.0, 4.0)  # how often attention doubles from even to the far end of the colours
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
NOTHING = "."  # a cell that no query can see
T = TypeVar("T")
NEAR, NEARER, MANY = 16, 8, 1600  # offsets of a profile to either side; fewer where there are many profiles


@dataclass(frozen=True)
class Maps:
    """Every matrix in few cells: how often attention is the even share, on a scale of doublings, as characters."""

    sizes: Mapping[str, int]  # by source, how many slots of a matrix are known
    of: Mapping[str, int]  # by source, how many it has
    reach: float
    cells: Mapping[str, Mapping[str, str]]  # by source; then by head (L3H7), or by layer (L3) in the mean of heads
    offsets: Sequence[int]
    profiles: Mapping[str, Mapping[str, Sequence[float | None]]]  # mean attention by offset, named as the cells
    evens: Mapping[str, Mapping[str, Sequence[float | None]]]  # the same of even attention, by layer

    @property
    def block(self) -> int:
        """How many slots a cell covers at the most."""
        return max((-(-n // self.side(source)) for source, n in self.sizes.items()), default=1)

    def side(self, source: str) -> int:
        """How many cells a map of this source has in a row."""
        return isqrt(len(next(iter(self.cells[source].values()))))

    def slots(self, source: str) -> str:
        """How many slots of a source are drawn, in words."""
        drawn, whole = self.sizes[source], self.of[source]
        return f"n = {whole}" if drawn == whole else f"first {drawn} of {whole} slots"

    @property
    def sources(self) -> list[str]:
        """What there are maps of."""
        return list(self.cells)


def ordered(sources: Iterable[str]) -> list[str]:
    """Sources in reading order, each followed by its γ."""
    there = set(sources)
    return [name for source in SOURCES for name in (source, source + GAMMA) if name in there]


def maps_of(
    table: pl.DataFrame, layers: Sequence[Mapping[str, Any]] = (), labels: Mapping[int, str] | None = None
) -> Maps:
    """All matrices of a run in few cells, and their means along diagonals; layers tell slots and masks."""
    table = table.filter(pl.col("source").is_in(ordered(table["source"]))) if "source" in table.columns else table
    if table.is_empty():
        return Maps({}, {}, 1.0, {}, [], {}, {})
    seen = _seen(table, layers)
    many = seen.select(KEYS).unique().height
    side = next((side for side in SIDES if many * side**2 <= MOST), SIDES[-1])
    near = NEAR if many <= MANY else NEARER
    ratios = _ratios(seen, side)
    reach = _reach(ratios)
    sizes, of = (dict(seen.group_by("source").agg(pl.col(name).max()).iter_rows()) for name in ("slots", "n"))
    order = ordered(sizes)
    return Maps(
        sizes={source: sizes[source] for source in order},
        of={source: of[source] for source in order},
        reach=reach,
        cells=_by_source(_named(_cells(ratios, reach), labels), order),
        offsets=list(range(-near, near + 1)),
        profiles=_by_source(_named(_profiles(seen, near, "attention"), labels), order),
        evens=_by_source(
            _named(_profiles(seen.with_columns(head=pl.lit(None, pl.Int32)), near, "even"), labels), order
        ),
    )


def _named(found: Mapping[Key, T], labels: Mapping[int, str] | None) -> dict[tuple[str, str], T]:
    """By source and name: a head's, or that of a whole layer, which is its number."""
    return {
        (source, f"L{layer}" if head is None else head_name(layer, head, labels or {})): its
        for (source, layer, head), its in found.items()
    }


def _by_source(found: Mapping[tuple[str, str], T], order: Sequence[str]) -> dict[str, dict[str, T]]:
    return {source: {name: its for (at, name), its in found.items() if at == source} for source in order}


def _seen(table: pl.DataFrame, layers: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The cells that queries can see, with the even share of each, which keys beyond the table have a part in too."""
    sights = pl.DataFrame([{name: row.get(name) for name in SIGHT} for row in layers], schema=SIGHT)
    known = table.filter(pl.col("attention").is_finite()).join(sights, on=["layer", "source"], how="left")
    slots = (1 + pl.col("query").max().over("source")).alias("slots")
    known = known.with_columns(slots).with_columns(pl.col("n").fill_null(pl.col("slots")))
    query, last, offset = pl.col("query"), pl.col("n") - 1, pl.col("key") - pl.col("query")
    back, ahead = pl.min_horizontal("back", query), pl.min_horizontal("ahead", last - query)
    seen = (-offset <= pl.col("back").fill_null(last)) & (offset <= pl.col("ahead").fill_null(last))
    return known.filter(seen).with_columns(even=1 / (1 + back + ahead))


def _ratios(seen: pl.DataFrame, most: int) -> pl.DataFrame:
    """By cell of a coarse map, how many times the even share attention is; after all heads, the mean of a layer's."""
    side = pl.min_horizontal(pl.col("slots"), pl.lit(most)).cast(pl.Int64)
    block = [(pl.col(name).cast(pl.Int64) * side // pl.col("slots")).alias(name) for name in ("query", "key")]
    mean = pl.col("attention").sum() / pl.col("even").sum()
    by_head = seen.with_columns(*block, side=side).group_by(*KEYS, "side", "query", "key").agg(ratio=mean)
    by_layer = by_head.group_by("layer", "source", "side", "query", "key").agg(pl.col("ratio").mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"])).select(by_head.columns)
    return pl.concat([by_head, whole]).with_columns(away=pl.col("ratio").log(2)).sort(*KEYS, "query", "key")


def _reach(ratios: pl.DataFrame) -> float:
    """How many doublings the colours reach: nine of ten cells lie inside, if four are enough."""
    usual = ratios.select(pl.col("away").abs().quantile(0.9, "lower")).item()
    return next((reach for reach in REACHES if usual is not None and usual <= reach), REACHES[-1])


def _cells(ratios: pl.DataFrame, reach: float) -> dict[Key, str]:
    """Every map as one line of characters, row by row."""
    top = len(LEVELS) - 1
    level = ((pl.col("away").clip(-reach, reach) / reach + 1) * top / 2).round().cast(pl.Int64)
    at = pl.col("query") * pl.col("side") + pl.col("key")
    cells = ratios.select(*KEYS, "side", at=at, level=level)
    made = {}
    for layer, head, source, side, places, levels in (
        cells.group_by([*KEYS, "side"], maintain_order=True).agg("at", "level").iter_rows()
    ):
        line = [NOTHING] * side**2
        for place, one in zip(places, levels, strict=True):
            line[place] = LEVELS[one]
        made[source, layer, head] = "".join(line)
    return made


def _profiles(seen: pl.DataFrame, near: int, what: str) -> dict[Key, list[float | None]]:
    """The mean of attention, or of its even share, along each diagonal near the main one."""
    offset = (pl.col("key") - pl.col("query")).cast(pl.Int64).alias("offset")
    by_head = (
        seen.with_columns(offset)
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

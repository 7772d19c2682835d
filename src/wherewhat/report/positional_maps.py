"""The matrices of the positional part in few cells, so that a page can ship the maps of all heads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

import polars as pl

from wherewhat.report.kinds import SOURCES

GAMMA = ".contextual"  # after a source: what content adds to it
KEYS = ["layer", "head", "source"]
SIDES = (32, 24, 16, 12, 8)  # of a map on the page, in cells
MOST = 450_000  # cells of all maps of a page, one character each
REACHES = (0.5, 1.0, 2.0, 3.0, 4.0)  # how often attention doubles from even to the far end of the colours
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
NOTHING = "."  # a cell that no query can see
NEAR, NEARER, MANY = 16, 8, 1600  # offsets of a profile to either side; fewer where there are many profiles


@dataclass(frozen=True)
class Maps:
    """Every matrix in few cells: how often attention is the even share, on a scale of doublings, as characters."""

    sizes: Mapping[str, int]  # by source, how many slots a matrix has
    reach: float
    cells: Mapping[str, Mapping[str, str]]  # by source; then by head (L3H7), or by layer (L3) in the mean of heads
    offsets: Sequence[int]
    profiles: Mapping[str, Mapping[str, Sequence[float | None]]]  # mean attention by offset, named as the cells

    @property
    def block(self) -> int:
        """How many slots a cell covers at the most."""
        return max((-(-n // self.side(source)) for source, n in self.sizes.items()), default=1)

    def side(self, source: str) -> int:
        """How many cells a map of this source has in a row."""
        return isqrt(len(next(iter(self.cells[source].values()))))

    @property
    def sources(self) -> list[str]:
        """What there are maps of."""
        return list(self.cells)


def ordered(sources: Iterable[str]) -> list[str]:
    """Sources in reading order, each followed by its γ."""
    there = set(sources)
    return [name for source in SOURCES for name in (source, source + GAMMA) if name in there]


def maps_of(table: pl.DataFrame) -> Maps:
    """All matrices of a run in few cells, and their means along diagonals."""
    table = table.filter(pl.col("source").is_in(ordered(table["source"]))) if "source" in table.columns else table
    if table.is_empty():
        return Maps({}, 1.0, {}, [], {})
    seen = _seen(table)
    many = seen.select(KEYS).unique().height
    side = next((side for side in SIDES if many * side**2 <= MOST), SIDES[-1])
    near = NEAR if many <= MANY else NEARER
    ratios = _ratios(seen, side)
    reach = _reach(ratios)
    cells, profiles = _cells(ratios, reach), _profiles(seen, near)
    sizes = dict(seen.group_by("source").agg(pl.col("n").first()).iter_rows())
    order = ordered(sizes)
    return Maps(
        sizes={source: sizes[source] for source in order},
        reach=reach,
        cells={source: {name: its for (at, name), its in cells.items() if at == source} for source in order},
        offsets=list(range(-near, near + 1)),
        profiles={source: {name: its for (at, name), its in profiles.items() if at == source} for source in order},
    )


def _seen(table: pl.DataFrame) -> pl.DataFrame:
    """The cells that queries can see, with the even share of each: what lies right of a causal query is left out."""
    known = table.filter(pl.col("attention").is_finite())
    right = pl.col("key") > pl.col("query")
    mass = pl.col("attention")
    masked = (mass.filter(right).sum().over(KEYS) == 0) & (
        mass.filter(pl.col("key") < pl.col("query")).sum().over(KEYS) > 0
    )
    shown = known.filter(~(masked & right))
    return shown.with_columns(even=1 / pl.len().over([*KEYS, "query"]), n=1 + pl.col("query").max().over("source"))


def _ratios(seen: pl.DataFrame, most: int) -> pl.DataFrame:
    """By cell of a coarse map, how many times the even share attention is; after all heads, the mean of a layer's."""
    side = pl.min_horizontal(pl.col("n"), pl.lit(most)).cast(pl.Int64)
    block = [(pl.col(name).cast(pl.Int64) * side // pl.col("n")).alias(name) for name in ("query", "key")]
    mean = pl.col("attention").sum() / pl.col("even").sum()
    by_head = seen.with_columns(*block, side=side).group_by(*KEYS, "side", "query", "key").agg(ratio=mean)
    by_layer = by_head.group_by("layer", "source", "side", "query", "key").agg(pl.col("ratio").mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"])).select(by_head.columns)
    return pl.concat([by_head, whole]).with_columns(away=pl.col("ratio").log(2)).sort(*KEYS, "query", "key")


def _reach(ratios: pl.DataFrame) -> float:
    """How many doublings the colours reach: nine of ten cells lie inside, if four are enough."""
    usual = ratios.select(pl.col("away").abs().quantile(0.9, "lower")).item()
    return next((reach for reach in REACHES if usual is not None and usual <= reach), REACHES[-1])


def _cells(ratios: pl.DataFrame, reach: float) -> dict[tuple[str, str], str]:
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
        made[source, _name(layer, head)] = "".join(line)
    return made


def _profiles(seen: pl.DataFrame, near: int) -> dict[tuple[str, str], list[float | None]]:
    """Mean attention along each diagonal near the main one."""
    offset = (pl.col("key") - pl.col("query")).cast(pl.Int64).alias("offset")
    by_head = (
        seen.with_columns(offset)
        .filter(pl.col("offset").abs() <= near)
        .group_by(*KEYS, "offset")
        .agg(pl.col("attention").mean())
    )
    by_layer = by_head.group_by("layer", "source", "offset").agg(pl.col("attention").mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"])).select(by_head.columns)
    made: dict[tuple[str, str], list[float | None]] = {}
    for layer, head, source, at, mass in pl.concat([by_head, whole]).sort(*KEYS, "offset").iter_rows():
        line = made.setdefault((source, _name(layer, head)), [None] * (2 * near + 1))
        line[at + near] = float(f"{mass:.3g}")
    return made


def _name(layer: int, head: int | None) -> str:
    return f"L{layer}" if head is None else f"L{layer}H{head}"

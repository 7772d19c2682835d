"""The matrices of the positional part as coarse maps, so that a page can hold those of all heads, and as a figure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import altair as alt
import polars as pl

from wherewhat.names import head_name
from wherewhat.report.blocks.axes import INK, MUTED, diverging, gradient, x, y
from wherewhat.report.blocks.marks import layered, named
from wherewhat.report.blocks.rows import table_of
from wherewhat.report.core.page import Figure, Spec
from wherewhat.report.pages.heads.head_charts import picture
from wherewhat.report.pages.heads.head_table import HeadTable
from wherewhat.tables.manifest.scores import PositionalLayer

TITLES = {
    "identical": "Identical words",
    "unmasked": "Identical words, unmasked",
    "delta": "Explicit δ",
    "mean": "Means over texts",
}
SOURCES = tuple(TITLES)
GAMMA = ".contextual"  # after a source: what content adds to it
SIGHT = {"layer": pl.Int32, "source": pl.String, "n": pl.Int32, "back": pl.Int32, "ahead": pl.Int32}
SIDES = (32, 24, 16, 12, 8)  # of a map on the page, in cells
MOST = 450_000  # cells of all maps of a page, one character each
REACHES = (0.5, 1.0, 2.0, 3.0, 4.0)  # doublings of uniform attention at the end of the colour scale
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
NOTHING = "."  # a cell that no query can see
NEAR, NEARER, MANY = 16, 8, 1600  # offsets of a profile to either side; fewer where there are many profiles
GAP, DOWN = 3, 7  # between the maps of a figure, in cells
SMALL = 16  # cells of a map in a figure


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
    layers: pl.DataFrame  # the cells of the layers' maps, in doublings of uniform attention

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


def ordered(sources: Iterable[str]) -> list[str]:
    """Sources in reading order, each followed by its γ."""
    there = set(sources)
    return [name for source in SOURCES for name in (source, source + GAMMA) if name in there]


def title_of(source: str) -> str:
    """The title of a source, or of γ relative to it.

    >>> title_of("delta"), title_of("delta.contextual")
    ('Explicit δ', 'γ relative to explicit δ')
    """
    title = TITLES[source.removesuffix(GAMMA)]
    return f"γ relative to {title[:1].lower()}{title[1:]}" if source.endswith(GAMMA) else title


def maps_of(
    table: pl.DataFrame, layers: Sequence[PositionalLayer] = (), labels: Mapping[int, str] | None = None
) -> Maps:
    """All matrices of a run as coarse maps, and their means along diagonals; `layers` gives slots and masks."""
    table = table.filter(pl.col("source").is_in(ordered(table["source"]))) if "source" in table.columns else table
    if table.is_empty():
        return Maps({}, {}, 1.0, {}, [], {}, {}, table)
    visible = _visible(table, layers)
    many = visible.select("layer", "head", "source").unique().height
    ratios = _ratios(visible, next((side for side in SIDES if many * side**2 <= MOST), SIDES[-1]))
    usual = ratios.select(pl.col("away").abs().quantile(0.9, "lower")).item()  # the colours span nine of ten cells
    reach = next((reach for reach in REACHES if usual is not None and usual <= reach), REACHES[-1])
    near = NEAR if many <= MANY else NEARER
    sizes, of = (dict(visible.group_by("source").agg(pl.col(name).max()).iter_rows()) for name in ("slots", "n"))
    order = ordered(sizes)

    def by_source(rows: pl.DataFrame, make: Callable[[pl.DataFrame], Iterable[tuple[int, int | None, Any]]]) -> Any:
        """By source and by the name of a head, or of a whole layer (`L3`)."""
        made = {source: make(rows.filter(pl.col("source") == source)) for source in order}
        return {
            source: {f"L{at}" if head is None else head_name(at, head, labels or {}): its for at, head, its in maps}
            for source, maps in made.items()
        }

    whole_layers = visible.with_columns(head=pl.lit(None, pl.Int32))
    return Maps(
        sizes={source: sizes[source] for source in order},
        of={source: of[source] for source in order},
        reach=reach,
        cells=by_source(ratios, lambda rows: _cells(rows, reach)),
        offsets=list(range(-near, near + 1)),
        profiles=by_source(visible, lambda rows: _profiles(rows, near, "attention")),
        evens=by_source(whole_layers, lambda rows: _profiles(rows, near, "even")),
        layers=ratios.filter(pl.col("head").is_null()),
    )


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
    """For each cell of a coarse map attention divided by uniform attention, and the same for whole layers."""
    side = pl.min_horizontal(pl.col("slots"), pl.lit(most)).cast(pl.Int64)
    block = [(pl.col(name).cast(pl.Int64) * side // pl.col("slots")).alias(name) for name in ("query", "key")]
    cell = ["layer", "head", "source", "side", "query", "key"]
    mean = pl.col("attention").sum() / pl.col("even").sum()
    by_head = visible.with_columns(*block, side=side).group_by(cell).agg(ratio=mean)
    return _and_layers(by_head, "ratio").with_columns(away=pl.col("ratio").log(2)).sort(cell)


def _and_layers(by_head: pl.DataFrame, value: str) -> pl.DataFrame:
    """The same with the mean over the heads of each layer, whose head is null."""
    groups = [name for name in by_head.columns if name not in ("head", value)]
    by_layer = by_head.group_by(groups).agg(pl.col(value).mean())
    whole = by_layer.with_columns(head=pl.lit(None, by_head.schema["head"]))
    return pl.concat([by_head, whole.select(by_head.columns)])


def _cells(ratios: pl.DataFrame, reach: float) -> Iterator[tuple[int, int | None, str]]:
    """Every map of a source as one string, row by row."""
    level = ((pl.col("away").clip(-reach, reach) / reach + 1) * (len(LEVELS) - 1) / 2).round().cast(pl.Int64)
    sign = level.replace_strict(dict(enumerate(LEVELS)))
    cells = ratios.select("layer", "head", at=pl.col("query") * pl.col("side") + pl.col("key"), value=sign)
    for layer, head, line in _lines(cells, ratios["side"][0] ** 2, NOTHING):
        yield layer, head, "".join(line)


def _profiles(visible: pl.DataFrame, near: int, what: str) -> Iterator[tuple[int, int | None, list[float | None]]]:
    """The mean of attention, or of uniform attention, along each diagonal near the main one."""
    offset = (pl.col("key") - pl.col("query")).cast(pl.Int64).alias("offset")
    close = visible.with_columns(offset).filter(pl.col("offset").abs() <= near)
    means = _and_layers(close.group_by("layer", "head", "offset").agg(pl.col(what).mean()), what)
    placed = means.sort("layer", "head", "offset").select("layer", "head", at=pl.col("offset") + near, value=what)
    for layer, head, line in _lines(placed, 2 * near + 1, None):
        yield layer, head, [None if mass is None else float(f"{mass:.3g}") for mass in line]


def _lines(rows: pl.DataFrame, length: int, empty: Any) -> Iterator[tuple[int, int | None, list[Any]]]:
    """By head, and by whole layer: its values in their places `at`, and `empty` in all others."""
    by_map = rows.group_by("layer", "head", maintain_order=True).agg("at", "value")
    for layer, head, places, values in by_map.iter_rows():
        known = dict(zip(places, values, strict=True))
        yield layer, head, [known.get(place, empty) for place in range(length)]


def maps_picture(run: HeadTable, maps: Maps) -> Figure:
    """Every layer's map, the mean of its heads, as a figure: layers across, sources down, coarser than on the page."""
    step = (pl.col("side") + SMALL - 1) // SMALL
    cell = "source", "layer", pl.col("query") // step, pl.col("key") // step
    away = pl.col("away").clip(-maps.reach, maps.reach).mean()
    coarse = maps.layers.filter(~pl.col("source").str.ends_with(GAMMA)).group_by(cell).agg(away)
    side = 1 + max(coarse["key"])
    lefts = {layer: across * (side + GAP) for across, layer in enumerate(sorted(set(coarse["layer"])))}
    tops = {source: down * (side + DOWN) for down, source in enumerate(ordered(coarse["source"]))}
    left, top = pl.col("layer").replace_strict(lefts), pl.col("source").replace_strict(tops)
    corner = {"x": left + pl.col("key"), "y": top + pl.col("query")}
    cells = coarse.select("away", **corner, x2=corner["x"] + 1, y2=corner["y"] + 1).sort("y", "x")
    sources = [{"x": 0, "y": at, "title": f"{TITLES[name]}, {maps.slots(name)}"} for name, at in tops.items()]
    layers = [{"x": x, "y": y, "title": f"L{layer}"} for y in tops.values() for layer, x in lefts.items()]
    wide, high = max(cells["x2"]), max(cells["y2"])
    scale = min(6.0, 1500 / wide)
    size = round(wide * scale), round(high * scale)
    tables = {"cells": table_of(cells), "sources": table_of(sources), "layers": table_of(layers)}
    title = "The positional part of every layer, mean of heads"
    return picture(run, _picture_spec(), title, size=size, tables=tables, reach=maps.reach)


def _picture_spec() -> Spec:
    free: dict[str, Any] = {"nice": False, "zero": False, "axis": None}
    place = {"x": x("x", **free), "y": y("y", reverse=True, **free)}
    times = "(datum.value < 0 ? '1/' : '') + format(pow(2, abs(datum.value)), '~g') + ' ×'"
    bar: dict[str, Any] = {"gradientLength": 200, "titleOrient": "top", "tickCount": 3, "labelOverlap": "greedy"}
    legend = gradient("attention, uniform = 1 ×", labelExpr=times, offset=40, **bar)  # above the titles of the maps
    away = alt.Color("away", type="quantitative", scale=diverging("reach"), legend=legend)
    text: dict[str, Any] = {"align": "left", "baseline": "bottom"}
    big = named("sources").mark_text(fontSize=13, color=INK, dy=-16, fontWeight=600, **text)
    small = named("layers").mark_text(fontSize=11, color=MUTED, dy=-2, **text)
    return layered(
        named("cells").mark_rect(strokeWidth=0).encode(**place, x2="x2", y2="y2", color=away),
        *(words.encode(**place, text="title:N") for words in (big, small)),
        reach=2,
    )

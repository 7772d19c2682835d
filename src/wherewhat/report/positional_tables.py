"""The positional part of attention as numbers for a page: means by source and by layer, and small maps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.formatting import short
from wherewhat.names import layer_labels
from wherewhat.report.head_table import HeadTable, ScoreView
from wherewhat.report.kinds import MEASURES, SOURCES
from wherewhat.report.page import Columns
from wherewhat.report.positional_maps import GAMMA, Maps, maps_of, ordered
from wherewhat.tables.manifest.scores import PositionalSection

TITLES = {
    "identical": "Identical words",
    "unmasked": "Identical words, unmasked",
    "delta": "Explicit δ",
    "mean": "Means over texts",
}
THIN = 0.05  # of attention on pairs of keys left and right: with less, balance means little


@dataclass(frozen=True)
class SourceMeans:
    """One source in one part of a model: means over its heads and over the mean matrices of its layers."""

    source: str  # as in the names of scores: `identical`, or `identical.contextual` for what content adds
    part: str
    scores: Mapping[str, ScoreView]  # by measure
    n: int | None  # slots; None for γ without means over texts
    heads: Mapping[str, float | None]
    together: Mapping[str, float | None]
    chance: Mapping[str, float | None]  # of uniform or random attention over the same slots
    clear: tuple[int, int] = (0, 0)  # heads whose interval is above uniform locality, and heads with an interval
    masks: frozenset[str] = frozenset()  # of its layers; empty without a mask
    first: tuple[int, Mapping[str, float | None]] = (
        0,
        {},
    )  # a number of first slots, and the mean of heads over these alone
    thin: tuple[int, int] = (0, 0)  # heads whose balance is based on hardly any attention, and all heads

    def over(self, n: int | None) -> Mapping[str, float | None]:
        """The mean over heads of each measure over the first n slots, if known."""
        return self.heads if n == self.n else self.first[1] if n == self.first[0] else {}

    @property
    def base(self) -> str:
        """The source itself, without γ."""
        return self.source.removesuffix(GAMMA)

    @property
    def contextual(self) -> bool:
        """Whether it is γ, what content adds."""
        return self.source.endswith(GAMMA)

    @property
    def title(self) -> str:
        """Its title on the page."""
        return title_of(self.source)


@dataclass(frozen=True)
class PositionalResults:
    """Everything that a run measured of the positional part."""

    n: int
    words: int | None
    sources: Sequence[SourceMeans]
    baselines: Mapping[str, Mapping[str, float]]  # uniform, random .02, random 1; `causal uniform` and so on
    by_layer: Columns
    maps: Maps

    @property
    def bases(self) -> list[str]:
        """The names of the measured sources, without γ, in reading order."""
        return [name for name in TITLES if any(source.base == name for source in self.sources)]

    def source(self, name: str, part: str) -> SourceMeans | None:
        """One source in one part, if it was measured."""
        return next((source for source in self.sources if (source.source, source.part) == (name, part)), None)

    def slots_by_series(self, measure: str) -> dict[str, list[str]]:
        """For each series of the chart by layer, the slots and masks that there are numbers for."""
        slots: dict[str, list[str]] = {}
        columns = (self.by_layer[name] for name in ("measure", "series", "over"))
        for name, series, over in zip(*columns, strict=True):
            if name == measure and over not in slots.setdefault(series, []):
                slots[series].append(over)
        return slots

    def first_parts(self, *measures: str) -> list[SourceMeans]:
        """Each source that has all these measures, in the first part of the model that has them."""
        by_source = {source.source: source for source in reversed(self.sources) if source.scores.keys() >= {*measures}}
        return [by_source[name] for name in ordered(by_source)]


def positional_of(run: HeadTable, table: pl.DataFrame) -> PositionalResults | None:
    """What a run measured of the positional part, if it did."""
    section = run.manifest.positional
    sources = _sources(run, section) if section else []
    if section is None or not sources:
        return None
    return PositionalResults(
        n=section.n,
        words=section.words,
        sources=sources,
        baselines=baselines_of(section.baselines),
        by_layer=_by_layer(run, sources, section),
        maps=maps_of(table, section.layers, layer_labels((each.layer, each.part) for each in run.manifest.layers)),
    )


def baselines_of(section: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Uniform and random attention by name and measure, first without a mask.

    >>> baselines_of({"n": 8, "uniform": {"balance": 1.0}, "causal": {"uniform": {"excess": 0.0}}})
    {'uniform': {'balance': 1.0}, 'causal uniform': {'excess': 0.0}}
    """
    named: dict[str, Any] = {}
    for name, levels in section.items():
        under = isinstance(levels, Mapping) and "uniform" in levels  # levels of one mask
        named |= {f"{name} {kind}": levels[kind] for kind in levels} if under else {name: levels}
    baselines = {}
    for name, levels in named.items():
        if isinstance(levels, Mapping):
            numbers = {measure: _number(levels.get(measure)) for measure in MEASURES}
            baselines[name] = {measure: value for measure, value in numbers.items() if value is not None}
    return baselines


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _together(section: PositionalSection) -> dict[tuple[int, str], Mapping[str, float]]:
    """By layer and source, the measures of the mean matrix of all heads."""
    return {
        (row.layer, row.source): {name: value for name, value in row.together.items() if value is not None}
        for row in section.layers
        if row.together
    }


def _slots(section: PositionalSection) -> dict[tuple[int, str], tuple[int, str]]:
    """By layer and source the number of slots and the mask; γ has the slots of the texts and the model's mask."""
    slots = {}
    for row in section.layers:
        slots[row.layer, row.source] = row.n, row.mask
        if row.source == SOURCES[0]:  # it is measured under the model's own mask
            texts = row.first.n if row.first and row.first.n else row.n
            slots |= {(row.layer, source + GAMMA): (texts, row.mask) for source in SOURCES}
    return slots


def _sources(run: HeadTable, section: PositionalSection) -> list[SourceMeans]:
    """Every source in every part, in reading order."""
    names = ordered(source + gamma for source in SOURCES for gamma in ("", GAMMA))
    sources = [_source_means(run, section, part, name) for part in run.parts for name in names]
    return [source for source in sources if source.scores]


def _source_means(run: HeadTable, section: PositionalSection, part: str, source: str) -> SourceMeans:
    rows = [row for row, its in enumerate(run.heads["part"]) if its == part]
    layers = {run.heads["layer"][row] for row in rows}
    scores = {m: score for m in MEASURES for score in run.find(f"{source}.{m}")}
    heads = {m: mean_of(run.heads[f"value_{score.key}"][row] for row in rows) for m, score in scores.items()}
    chance = {m: mean_of(run.heads[f"chance_{score.key}"][row] for row in rows) for m, score in scores.items()}
    whole = [its for (layer, name), its in _together(section).items() if layer in layers and name == source]
    mine = [row for row in section.layers if row.layer in layers and row.source == source]
    slots = [slot for (layer, name), slot in _slots(section).items() if layer in layers and name == source]
    firsts = [row.first for row in mine if row.first]
    paired = [mass for row in mine for mass in row.paired]
    return SourceMeans(
        source,
        part,
        scores={m: score for m, score in scores.items() if heads[m] is not None},
        n=next((n for n, _ in slots), None if source.endswith(GAMMA) else section.n),
        heads=heads,
        together={m: mean_of(its.get(m) for its in whole) for m in MEASURES},
        chance=chance,
        clear=_clear(run, scores["locality"], rows) if "locality" in scores else (0, 0),
        masks=frozenset(mask for _, mask in slots),
        first=(
            next((first.n for first in firsts), 0),
            {m: mean_of(first.heads.get(m) for first in firsts) for m in MEASURES},
        ),
        thin=(sum(mass < THIN for mass in paired), len(paired)) if "balance" in scores else (0, 0),
    )


def _clear(run: HeadTable, score: ScoreView, rows: Sequence[int]) -> tuple[int, int]:
    ends = [(run.heads[f"low_{score.key}"][row], run.heads[f"chance_{score.key}"][row]) for row in rows]
    known = [(low, chance) for low, chance in ends if low is not None and chance is not None]
    return sum(low > chance for low, chance in known), len(known)


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the finite values.

    >>> mean_of([1.0, None, 2.0]), mean_of([None])
    (1.5, None)
    """
    there = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(there) / len(there) if there else None


def _by_layer(run: HeadTable, sources: Sequence[SourceMeans], section: PositionalSection) -> Columns:
    """By layer, source and measure: the mean over heads with their quartiles, and the value of the mean matrix."""
    together, slots = _together(section), _slots(section)
    rows: list[dict[str, Any]] = []
    for source in sources:
        for measure, score in source.scores.items():
            own = ("layer", "part", f"value_{score.key}", f"chance_{score.key}")
            values = zip(*(run.heads[name] for name in own), strict=True)
            mine = [(layer, *its) for layer, part, *its in values if part == source.part and its[0] is not None]
            for layer in sorted({layer for layer, *_ in mine}):
                its = sorted(value for at, value, _ in mine if at == layer)
                n, mask = slots.get((layer, source.source), (source.n, ""))
                shared: dict[str, Any] = {"over": f"n = {n}{f', {mask}' if mask else ''}"}
                shared |= {"chance": mean_of(chance for at, _, chance in mine if at == layer)}
                rows.append(_layer_row(source, measure, layer, its) | shared)
                whole = together.get((layer, source.source), {}).get(measure)
                rows += [_together_row(source, measure, layer, whole) | shared] if whole is not None else []
    names = ("layer", "part", "source", "series", "measure", "over", "value", "low", "high", "chance", "said")
    return {name: [row[name] for row in rows] for name in names}


def _layer_row(source: SourceMeans, measure: str, layer: int, values: Sequence[float]) -> dict[str, Any]:
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    value = math.fsum(values) / len(values)
    half = f"half of its heads between {short(low)} and {short(high)}"
    tip = f"{source.title}, layer {layer}: mean {measure} {short(value)}, {half}"
    series = "contextual" if source.contextual else "heads"
    names = {"layer": layer, "part": source.part, "source": source.base, "series": series, "measure": measure}
    return {**names, "value": value, "low": low, "high": high, "said": tip}


def _together_row(source: SourceMeans, measure: str, layer: int, value: float) -> dict[str, Any]:
    tip = f"{source.title}, layer {layer}: {measure} {short(value)} for the mean matrix of its heads"
    series = "contextual together" if source.contextual else "together"
    names = {"layer": layer, "part": source.part, "source": source.base, "series": series, "measure": measure}
    return {**names, "value": value, "low": value, "high": value, "said": tip}


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile of sorted values, interpolated between neighbours.

    >>> quantile([1.0, 2.0, 3.0], 0.25), quantile([5.0], 0.75)
    (1.5, 5.0)
    """
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def title_of(source: str) -> str:
    """The title of a source, or of γ relative to it.

    >>> title_of("delta"), title_of("delta.contextual")
    ('Explicit δ', 'γ relative to explicit δ')
    """
    title = TITLES[source.removesuffix(GAMMA)]
    return f"γ relative to {title[:1].lower()}{title[1:]}" if source.endswith(GAMMA) else title

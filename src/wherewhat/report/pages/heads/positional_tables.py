"""The positional part of attention as numbers for a page: means over heads and over layers, by source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.formatting import short
from wherewhat.names import layer_labels
from wherewhat.report.pages.heads.head_table import HeadTable, ScoreView, mean_of
from wherewhat.report.pages.heads.positional_maps import GAMMA, SOURCES, Maps, maps_of, ordered, title_of
from wherewhat.tables.manifest.scores import PositionalSection

MEASURES = ("locality", "excess", "off_diagonal_locality", "symmetry", "balance", "left_right_bias")  # of each source
THIN = 0.05  # of attention on pairs of keys left and right: with less, balance means little
Numbers = Mapping[str, float | None]  # by measure
Slots = dict[tuple[int, str], tuple[int, str]]  # by layer and source: the number of slots, and the mask


@dataclass(frozen=True)
class SourceMeans:
    """One source in one part of a model: means over its heads and over the mean matrices of its layers."""

    source: str  # as in the names of scores: `identical`, or `identical.contextual` for what content adds
    part: str
    scores: Mapping[str, ScoreView]  # by measure
    n: int | None  # slots; None for γ without means over texts
    heads: Numbers
    together: Numbers
    chance: Numbers  # of uniform or random attention over the same slots
    clear: tuple[int, int] = (0, 0)  # heads whose interval is above uniform locality, and heads with an interval
    masks: frozenset[str] = frozenset()  # of its layers; empty without a mask
    first: tuple[int, Numbers] = (0, {})  # a number of first slots, and the mean of heads over these alone
    thin: tuple[int, int] = (0, 0)  # heads whose balance is based on hardly any attention, and all heads

    def over(self, n: int | None) -> Numbers:
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
    by_layer: Sequence[Mapping[str, Any]]  # rows of charts, with their tooltips
    maps: Maps

    @property
    def bases(self) -> list[str]:
        """The names of the measured sources, without γ, in reading order."""
        return ordered(source.base for source in self.sources)

    def source(self, name: str, part: str) -> SourceMeans | None:
        """One source in one part, if it was measured."""
        return next((source for source in self.sources if (source.source, source.part) == (name, part)), None)

    def first_parts(self, *measures: str) -> list[SourceMeans]:
        """Each source that has all these measures, in the first part of the model that has them."""
        by_source = {source.source: source for source in reversed(self.sources) if source.scores.keys() >= {*measures}}
        return [by_source[name] for name in ordered(by_source)]


def positional_results(run: HeadTable, table: pl.DataFrame | None) -> PositionalResults | None:
    """What a run measured of the positional part, if it did."""
    section = run.manifest.positional
    if section is None:
        return None
    slots, names = _slots(section), ordered(source + gamma for source in SOURCES for gamma in ("", GAMMA))
    every = [_source_means(run, section, slots, part, name) for part in run.parts for name in names]
    sources = [source for source in every if source.scores]
    if not sources:
        return None
    labels = layer_labels((each.layer, each.part) for each in run.manifest.layers)
    return PositionalResults(
        n=section.n,
        words=section.words,
        sources=sources,
        baselines=baselines_of(section.baselines),
        by_layer=[row for source in sources for row in _by_layer(run, section, slots, source)],
        maps=maps_of(pl.DataFrame() if table is None else table, section.layers, labels),
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
    return {
        name: {measure: levels[measure] for measure in MEASURES if isinstance(levels.get(measure), int | float)}
        for name, levels in named.items()
        if isinstance(levels, Mapping)
    }


def _slots(section: PositionalSection) -> Slots:
    """By layer and source the number of slots and the mask; γ has the slots of the texts and the model's mask."""
    slots: Slots = {}
    for row in section.layers:
        slots[row.layer, row.source] = row.n, row.mask
        if row.source == SOURCES[0]:  # it is measured under the model's own mask
            texts = row.first.n if row.first and row.first.n else row.n
            slots |= {(row.layer, source + GAMMA): (texts, row.mask) for source in SOURCES}
    return slots


def _source_means(run: HeadTable, section: PositionalSection, slots: Slots, part: str, source: str) -> SourceMeans:
    """The means of one source in one part of the model."""
    layers = run.layers_of[part]
    scores = {measure: score for measure in MEASURES for score in run.find(f"{source}.{measure}")}
    heads = {measure: run.scored(score, part) for measure, score in scores.items()}
    mine = [row for row in section.layers if row.layer in layers and row.source == source]
    its_slots = [slot for (layer, name), slot in slots.items() if layer in layers and name == source]
    known = [head for head in heads.get("locality", ()) if head.comparable]
    firsts = [row.first for row in mine if row.first]
    in_firsts = {measure: mean_of(first.heads.get(measure) for first in firsts) for measure in MEASURES}
    paired = [mass for row in mine for mass in row.paired]
    return SourceMeans(
        source,
        part,
        scores={measure: score for measure, score in scores.items() if heads[measure]},
        n=next((n for n, _ in its_slots), None if source.endswith(GAMMA) else section.n),
        heads={measure: mean_of(head.value for head in its) for measure, its in heads.items()},
        together={measure: mean_of(row.together.get(measure) for row in mine) for measure in MEASURES},
        chance={measure: mean_of(head.chance for head in its) for measure, its in heads.items()},
        clear=(sum(head.clear and head.above for head in known), len(known)),
        masks=frozenset(mask for _, mask in its_slots),
        first=(firsts[0].n if firsts else 0, in_firsts),
        thin=(sum(mass < THIN for mass in paired), len(paired)) if "balance" in scores else (0, 0),
    )


def _by_layer(
    run: HeadTable, section: PositionalSection, slots: Slots, source: SourceMeans
) -> Iterator[Mapping[str, Any]]:
    """By measure and layer: the mean over heads with their quartiles, and the value of the mean matrix."""
    together = {row.layer: row.together for row in section.layers if row.source == source.source}
    for measure, score in source.scores.items():
        heads = run.scored(score, source.part)
        for layer in sorted({head.layer for head in heads}):
            its = [head for head in heads if head.layer == layer]
            n, mask = slots.get((layer, source.source), (source.n, ""))
            plain = {"layer": layer, "part": source.part, "source": source.base, "measure": measure}
            plain |= {"over": f"n = {n}{f', {mask}' if mask else ''}", "chance": mean_of(head.chance for head in its)}
            values = pl.Series([head.value for head in its])
            low, high = (values.quantile(share, "linear") for share in (0.25, 0.75))
            mean, where = mean_of(values), f"{source.title}, layer {layer}"
            tip = f"{where}: mean {measure} {short(mean)}, half of its heads between {short(low)} and {short(high)}"
            series = "contextual" if source.contextual else "heads"
            yield {**plain, "series": series, "value": mean, "low": low, "high": high, "tip": tip}
            whole = None if source.contextual else together.get(layer, {}).get(measure)
            if whole is not None:
                tip = f"{where}: {measure} {short(whole)} for the mean matrix of its heads"
                yield {**plain, "series": "together", "value": whole, "low": whole, "high": whole, "tip": tip}

"""The positional part of attention as numbers for a page: means by source and layer, maps small enough to ship."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.names import layer_labels
from wherewhat.report.kinds import MEASURES, SOURCES
from wherewhat.report.measured import Manifest, Measured, Score
from wherewhat.report.numbers import short
from wherewhat.report.page import Columns
from wherewhat.report.positional_maps import GAMMA, Maps, maps_of, ordered

TITLES = {
    "identical": "Identical words",
    "unmasked": "Identical words unmasked",
    "delta": "Explicit δ",
    "mean": "Means over texts",
}
THIN = 0.05  # of attention: heads that give less to pairs of keys left and right have hardly a balance


@dataclass(frozen=True)
class Reading:
    """One source in one part of a model, on average over its heads and over the mean matrices of its layers."""

    source: str  # as in the names of scores: `identical`, or `identical.contextual` for what content adds
    part: str
    scores: Mapping[str, Score]  # by measure
    n: int | None  # slots; not known of γ where no means over texts were taken
    heads: Mapping[str, float | None]
    together: Mapping[str, float | None]
    chance: Mapping[str, float | None]  # what the same slots give for heads that know nothing
    clear: tuple[int, int] = (0, 0)  # heads whose interval lies above even locality, of how many that have one
    masks: frozenset[str] = frozenset()  # of its layers; nothing in words is no mask
    first: tuple[int, Mapping[str, float | None]] = (0, {})  # so many of its first slots alone, the mean of heads
    thin: tuple[int, int] = (0, 0)  # heads whose balance rests on hardly any attention, of how many

    def over(self, n: int | None) -> Mapping[str, float | None]:
        """The measures of the mean head over so many slots, if these are known."""
        return self.heads if n == self.n else self.first[1] if n == self.first[0] else {}

    @property
    def base(self) -> str:
        """The source itself, without γ."""
        return self.source.removesuffix(GAMMA)

    @property
    def contextual(self) -> bool:
        """Whether it is what content adds."""
        return self.source.endswith(GAMMA)

    @property
    def title(self) -> str:
        """How a reader knows it."""
        return title_of(self.source)


@dataclass(frozen=True)
class Positional:
    """All that was measured of the positional part, read once."""

    n: int
    words: int | None
    readings: Sequence[Reading]
    baselines: Mapping[str, Mapping[str, float]]  # uniform, random .02, random 1; `causal uniform` and so on
    by_layer: Columns
    maps: Maps

    def reading(self, source: str, part: str) -> Reading | None:
        """One source in one part, if it was measured."""
        return next((one for one in self.readings if (one.source, one.part) == (source, part)), None)

    def views_by_layer(self, measure: str) -> dict[str, list[str]]:
        """By series of a chart by layer, over which slots and under which masks there are numbers."""
        found: dict[str, list[str]] = {}
        for name, series, over in zip(*(self.by_layer[one] for one in ("measure", "series", "over")), strict=True):
            its = found.setdefault(series, []) if name == measure else [over]
            its += [] if over in its else [over]
        return found

    def views(self, *measures: str) -> list[Reading]:
        """Readings of the first part that has them, one a source, that have all these measures."""
        found = {one.source: one for one in reversed(self.readings) if all(name in one.scores for name in measures)}
        return [found[name] for name in ordered(found)]


def positional_of(run: Measured, table: pl.DataFrame) -> Positional | None:
    """What a run says of the positional part; nothing where it was not asked."""
    told = run.manifest.get("positional") or {}
    readings = _readings(run, told)
    if not told or not readings:
        return None
    return Positional(
        n=int(told.get("n") or 0),
        words=told.get("words"),
        readings=readings,
        baselines=baselines_of(told.get("baselines") or {}),
        by_layer=_by_layer(run, readings, told),
        maps=maps_of(table, told.get("layers") or (), layer_labels(run.manifest.get("layers") or ())),
    )


def baselines_of(told: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Attention that knows nothing, by name and measure, first where both sides are seen.

    >>> baselines_of({"n": 8, "uniform": {"lean": 0.0}, "causal": {"uniform": {"excess": 0.0}}})
    {'uniform': {'lean': 0.0}, 'causal uniform': {'excess': 0.0}}
    """
    named: dict[str, Any] = {}
    for name, levels in told.items():
        under = isinstance(levels, Mapping) and "uniform" in levels  # levels of one mask
        named |= {f"{name} {kind}": levels[kind] for kind in levels} if under else {name: levels}
    found = {}
    for name, levels in named.items():
        if isinstance(levels, Mapping):
            numbers = {measure: _number(levels.get(measure)) for measure in MEASURES}
            found[name] = {measure: value for measure, value in numbers.items() if value is not None}
    return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _together(told: Manifest) -> dict[tuple[int, str], Mapping[str, float]]:
    """By layer and source, the measures of the mean matrix of all heads."""
    return {
        (int(row["layer"]), str(row["source"])): {
            name: value for name, value in row["together"].items() if value is not None
        }
        for row in told.get("layers") or ()
        if row.get("together")
    }


def _sights(told: Manifest) -> dict[tuple[int, str], tuple[int, str]]:
    """By layer and source, how many slots there are and under which mask; γ has those of texts, and the model's."""
    found = {}
    for row in told.get("layers") or ():
        n, mask = int(row.get("n") or 0), str(row.get("mask") or "")
        found[int(row["layer"]), str(row["source"])] = n, mask
        if row["source"] == SOURCES[0]:  # it is read under the model's own mask
            texts = int((row.get("first") or {}).get("n") or n)
            found |= {(int(row["layer"]), source + GAMMA): (texts, mask) for source in SOURCES}
    return found


def _readings(run: Measured, told: Manifest) -> list[Reading]:
    """Every source in every part, in reading order."""
    sources = ordered(source + gamma for source in SOURCES for gamma in ("", GAMMA))
    found = [_reading(run, told, part, source) for part in run.parts for source in sources]
    return [one for one in found if one.scores]


def _reading(run: Measured, told: Manifest, part: str, source: str) -> Reading:
    rows = [row for row, its in enumerate(run.heads["part"]) if its == part]
    layers = {run.heads["layer"][row] for row in rows}
    scores = {m: score for m in MEASURES for score in run.find(f"{source}.{m}")}
    heads = {m: mean_of(run.heads[f"value_{score.key}"][row] for row in rows) for m, score in scores.items()}
    chance = {m: mean_of(run.heads[f"chance_{score.key}"][row] for row in rows) for m, score in scores.items()}
    whole = [its for (layer, name), its in _together(told).items() if layer in layers and name == source]
    mine = [row for row in told.get("layers") or () if row["layer"] in layers and row["source"] == source]
    sights = [sight for (layer, name), sight in _sights(told).items() if layer in layers and name == source]
    firsts = [row["first"] for row in mine if row.get("first")]
    paired = [mass for row in mine for mass in row.get("paired") or ()]
    return Reading(
        source,
        part,
        scores={m: score for m, score in scores.items() if heads[m] is not None},
        n=next((n for n, _ in sights), None if source.endswith(GAMMA) else int(told.get("n") or 0)),
        heads=heads,
        together={m: mean_of(its.get(m) for its in whole) for m in MEASURES},
        chance=chance,
        clear=_clear(run, scores["locality"], rows) if "locality" in scores else (0, 0),
        masks=frozenset(mask for _, mask in sights),
        first=(
            next((int(one["n"]) for one in firsts), 0),
            {m: mean_of(one["heads"].get(m) for one in firsts) for m in MEASURES},
        ),
        thin=(sum(mass < THIN for mass in paired), len(paired)) if "balance" in scores else (0, 0),
    )


def _clear(run: Measured, score: Score, rows: Sequence[int]) -> tuple[int, int]:
    ends = [(run.heads[f"low_{score.key}"][row], run.heads[f"chance_{score.key}"][row]) for row in rows]
    told = [(low, chance) for low, chance in ends if low is not None and chance is not None]
    return sum(low > chance for low, chance in told), len(told)


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of what there is.

    >>> mean_of([1.0, None, 2.0]), mean_of([None])
    (1.5, None)
    """
    there = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(there) / len(there) if there else None


def _by_layer(run: Measured, readings: Sequence[Reading], told: Manifest) -> Columns:
    """By layer, source and measure: the mean of heads with the quarter of them below and above, and together."""
    together, sights = _together(told), _sights(told)
    rows: list[dict[str, Any]] = []
    for reading in readings:
        for measure, score in reading.scores.items():
            own = ("layer", "part", f"value_{score.key}", f"chance_{score.key}")
            values = zip(*(run.heads[name] for name in own), strict=True)
            mine = [(layer, *its) for layer, part, *its in values if part == reading.part and its[0] is not None]
            for layer in sorted({layer for layer, *_ in mine}):
                its = sorted(value for at, value, _ in mine if at == layer)
                n, mask = sights.get((layer, reading.source), (reading.n, ""))
                seen: dict[str, Any] = {"over": f"n = {n}{f', {mask}' if mask else ''}"}
                seen |= {"chance": mean_of(chance for at, _, chance in mine if at == layer)}
                rows.append(_layer_row(reading, measure, layer, its) | seen)
                whole = together.get((layer, reading.source), {}).get(measure)
                rows += [_together_row(reading, measure, layer, whole) | seen] if whole is not None else []
    names = ("layer", "part", "source", "series", "measure", "over", "value", "low", "high", "chance", "said")
    return {name: [row[name] for row in rows] for name in names}


def _layer_row(reading: Reading, measure: str, layer: int, values: Sequence[float]) -> dict[str, Any]:
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    value = math.fsum(values) / len(values)
    half = f"half of its heads from {short(low)} to {short(high)}"
    said = f"{reading.title}, layer {layer}: {measure} {short(value)}, {half}"
    series = "contextual" if reading.contextual else "heads"
    names = {"layer": layer, "part": reading.part, "source": reading.base, "series": series, "measure": measure}
    return {**names, "value": value, "low": low, "high": high, "said": said}


def _together_row(reading: Reading, measure: str, layer: int, value: float) -> dict[str, Any]:
    said = f"{reading.title}, layer {layer}: {measure} {short(value)} of the mean matrix of its heads"
    series = "contextual together" if reading.contextual else "together"
    names = {"layer": layer, "part": reading.part, "source": reading.base, "series": series, "measure": measure}
    return {**names, "value": value, "low": value, "high": value, "said": said}


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile of sorted values, between neighbours where it falls between.

    >>> quantile([1.0, 2.0, 3.0], 0.25), quantile([5.0], 0.75)
    (1.5, 5.0)
    """
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def title_of(source: str) -> str:
    """How a reader knows a source, or what content adds to it.

    >>> title_of("delta"), title_of("delta.contextual")
    ('Explicit δ', 'γ beside explicit δ')
    """
    title = TITLES[source.removesuffix(GAMMA)]
    return f"γ beside {title[:1].lower()}{title[1:]}" if source.endswith(GAMMA) else title

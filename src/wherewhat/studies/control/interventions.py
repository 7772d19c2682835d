"""Interventions on cells, each one band of the heads of one kind: measured, and compared with controls of equal norm.

A control is random pairs of the same heads, or the same band of random heads. Random draws are tilted towards larger or
smaller norms until their mean matches the cell's; of many draws the nearest are kept. It never overlaps with the cell,
and changes as many heads, and as many pairs if any such has an equal norm.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, product

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.editing.apply import apply_edits
from wherewhat.capture.editing.layer_edit import LayerEdit
from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.editing.abilities import Ability, AbilityTests, measure_ability
from wherewhat.progress import OnStep
from wherewhat.stats.bootstrap import draws, quantiles, ratio
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import welch_reach
from wherewhat.studies.control.heads import FrequencyNorms, HeadSelection
from wherewhat.studies.control.settings import BANDS, HEADS, KINDS, NEAR, OPERATIONS, SIDES, ControlSettings, band

EQUAL, SMALLER, LARGER, MIXED = "equal", "smaller", "larger", "mixed"  # norms of controls compared with their cell's
WORSE = {"loss": 1.0, "copy": -1.0, "induction": -1.0}  # the sign of each measure's change when a model gets worse
DRAWS = 512  # of which the nearest are kept
PILOT = 64  # draws that estimate the effect of a tilt
STEEPEST = 12.0  # largest tilt, in standard deviations of the norms
HALVINGS = 14  # steps of the bisection for the tilt
EDITS: dict[str, Callable[[Tensor], LayerEdit]] = {
    "drop": lambda mask_HF: LayerEdit(gain_HF=(~mask_HF).double(), rotated_HF=torch.ones_like(mask_HF)),
    "unrotate": lambda mask_HF: LayerEdit(gain_HF=torch.ones_like(mask_HF).double(), rotated_HF=~mask_HF),
}
Sums = Mapping[str, tuple[np.ndarray, np.ndarray]]  # abilities: a measure's numerator and denominator, by text
Term = tuple[float, Sums]  # of a contrast: a weight, and the abilities of a model under one intervention
Draw = Callable[[float, np.random.Generator], Iterator[np.ndarray]]  # tilt -> mask_HF of each draw


@dataclass(frozen=True)
class PairMask:
    """The channel pairs of some heads that an intervention drops or stops rotating."""

    mask_HF: np.ndarray
    norm: float  # as a share of the model's total norm

    @property
    def pairs(self) -> int:
        """Number of pairs, over all heads."""
        return int(self.mask_HF.sum())

    def near(self, other: "PairMask") -> bool:
        """Whether two norms are equal within `NEAR`."""
        return abs(self.norm - other.norm) <= NEAR * other.norm


def mask_of(norms: FrequencyNorms, mask_HF: np.ndarray) -> PairMask:
    """These pairs with their norm."""
    return PairMask(mask_HF, float((norms.norm_HF * mask_HF).sum()))


@dataclass(frozen=True)
class Matching:
    """Draws pairs or heads whose norm is near that of a target: some pairs of some heads."""

    norms: FrequencyNorms
    target: PairMask
    band_HF: np.ndarray  # the band of the target in all heads
    seed: int

    def controls(self, count: int) -> dict[str, list[PairMask]]:
        """At most `count` different controls of each kind, the nearest in norm first: equal ones, or any if none are.

        A later way of drawing is used only if the earlier ones give too few.
        """
        ways: dict[str, list[Draw]] = {BANDS: [self.other_pairs, self.any_pairs], HEADS: [self.other_heads]}
        controls = {}
        for name, ways_to_draw in ways.items():
            every, equal = dict[bytes, PairMask](), list[PairMask]()
            for draw in ways_to_draw:
                if len(equal) < count:
                    every |= {mask.mask_HF.tobytes(): mask for mask in self.nearest(draw)[:count]}
                    equal = [mask for mask in every.values() if mask.near(self.target)][:count]
            controls[name] = sorted(equal or every.values(), key=self.away)[:count]
        return controls

    def away(self, mask: PairMask) -> float:
        """How far a norm is from that of the target."""
        return abs(mask.norm - self.target.norm)

    def nearest(self, draw: Draw) -> list[PairMask]:
        """Many distinct draws, those whose norms are nearest to the target's first."""
        distinct: dict[bytes, np.ndarray] = {}
        for tilt in (self._tilt(draw), 0.0):  # a tilt may leave nothing but the target itself
            masks = islice(draw(tilt, np.random.default_rng(self.seed)), DRAWS)
            distinct = distinct or {mask_HF.tobytes(): mask_HF for mask_HF in masks if mask_HF.any()}
            distinct.pop(self.target.mask_HF.tobytes(), None)
        return sorted((mask_of(self.norms, mask_HF) for mask_HF in distinct.values()), key=self.away)

    def _tilt(self, draw: Draw) -> float:
        """By bisection: with the same noise every time, the mean norm of the draws rises with the tilt."""
        low, high = -STEEPEST, STEEPEST
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            drawn = islice(draw(middle, np.random.default_rng(self.seed)), PILOT)
            mean = np.mean([mask_of(self.norms, mask_HF).norm for mask_HF in drawn])
            low, high = (middle, high) if mean < self.target.norm else (low, middle)
        return (low + high) / 2

    def other_pairs(self, tilt: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The same heads, each with as many other pairs."""
        weight_HF, count_H = _standard(self.norms.norm_HF), self.target.mask_HF.sum(1)
        while True:
            keys_HF = tilt * weight_HF + rng.gumbel(size=weight_HF.shape)
            yield self._left_HF & _largest(np.where(self._left_HF, keys_HF, -np.inf), count_H)

    def any_pairs(self, tilt: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The same heads with any number of other pairs, at least one each."""
        least_H = self.target.mask_HF.any(axis=1).astype(int)
        while True:
            keys_HF = np.where(self._left_HF, rng.logistic(size=self._left_HF.shape) + tilt, -np.inf)
            yield self._left_HF & ((keys_HF > 0) | _largest(keys_HF, least_H))

    def other_heads(self, tilt: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The same band in as many of the other heads."""
        changed_H, weight_H = self.target.mask_HF.any(axis=1), _standard((self.norms.norm_HF * self.band_HF).sum(1))
        count_1 = np.array([min(int(changed_H.sum()), int((~changed_H).sum()))])
        while True:
            keys_H = np.where(~changed_H, tilt * weight_H + rng.gumbel(size=len(weight_H)), -np.inf)
            yield self.band_HF & _largest(keys_H[None], count_1)[0][:, None]

    @cached_property
    def _left_HF(self) -> np.ndarray:
        """True for the pairs of the changed heads that are not in the target."""
        changed_H1 = self.target.mask_HF.any(axis=1, keepdims=True)
        return np.asarray(np.isfinite(self.norms.theta_HF) & ~self.target.mask_HF & changed_H1)


def _standard(values: np.ndarray) -> np.ndarray:
    """In standard deviations, so that a tilt has the same meaning for every model."""
    spread = values.std()
    return np.asarray(values / spread if spread > 0 else values * 0)


def _largest(keys_HF: np.ndarray, count_H: np.ndarray) -> np.ndarray:
    """True for the `count_H` largest keys of every row: with Gumbel noise, a draw without replacement."""
    rank_HF = (-keys_HF).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray(rank_HF < count_H[:, None])


@dataclass(frozen=True)
class InterventionSetup:
    """A model, what its abilities are measured on, and the norms of its frequencies."""

    model: LoadedModel
    layers: Sequence[Layer]
    tests: AbilityTests
    norms: FrequencyNorms

    def measure_cells(self, selection: HeadSelection, settings: ControlSettings, on_step: OnStep) -> list["CellResult"]:
        """Measure the four cells of every band size, each with its controls, under every operation."""
        before, seed, cells = sums_of(measure_ability(self.model, self.tests)), self.tests.seed, []
        for share, kind, side in product(settings.shares, KINDS, SIDES):
            band_HF, selected_H = self.norms.band(band(side, share)), np.isin(self.norms.names, selection.heads[kind])
            target = mask_of(self.norms, band_HF & selected_H[:, None])
            controls = Matching(self.norms, target, band_HF, seed).controls(settings.controls)
            cells.append((share, kind, side, target, controls))
        total = len(OPERATIONS) * sum(1 + sum(map(len, controls.values())) for *_, controls in cells)
        done, results = count(1), []

        def under(mask: PairMask, operation: str) -> tuple[PairMask, Sums]:
            ability = self.under(mask, operation)
            on_step(next(done), total, "interventions")
            return mask, ability

        for operation, (share, kind, side, target, controls) in product(OPERATIONS, cells):
            drawn = {name: [under(mask, operation) for mask in masks] for name, masks in controls.items()}
            results.append(CellResult(operation, share, kind, side, *under(target, operation), drawn, before, seed))
        return results

    def under(self, mask: PairMask, operation: str) -> Sums:
        """The abilities of the model while these pairs are changed; afterwards the model is restored."""
        with apply_edits(self.model.module, self.layers, self.edits(mask, operation)):
            return sums_of(measure_ability(self.model, self.tests))

    def edits(self, mask: PairMask, operation: str) -> dict[int, LayerEdit]:
        """The edits that change these pairs, by layer number; layers without any are left out."""
        edits = {}
        for layer in self.layers:
            pairs = 0 if layer.theta_F is None else len(layer.theta_F)
            mask_HF = torch.zeros(layer.heads, pairs, dtype=torch.bool)
            for name, row_F in zip(self.norms.names, mask.mask_HF, strict=True):
                number, _, head = name.removeprefix("L").partition("H")
                if int(number) == layer.number:
                    mask_HF[int(head)] = torch.from_numpy(row_F[:pairs])
            if bool(mask_HF.any()):
                edits[layer.number] = EDITS[operation](mask_HF)
        return edits


@dataclass(frozen=True)
class CellResult:
    """One operation on a cell, and on its controls. Every estimate is of harm: above 0 is worse."""

    operation: str
    share: float
    kind: str  # of its heads
    side: str  # of their frequencies
    mask: PairMask
    ability: Sums
    controls: Mapping[str, Sequence[tuple[PairMask, Sums]]]
    before: Sums
    seed: int

    @property
    def item(self) -> str:
        """The intervention, as the result table calls it."""
        return f"{self.operation} {band(self.side, self.share)}"

    def harm(self, measure: str) -> Estimate:
        """The harm of this cell."""
        return self._harm(measure, (1, self.ability), (-1, self.before))

    def change(self, measure: str) -> Estimate:
        """By how much a measure changes; the only estimate here that is not of harm."""
        return as_harm(self.harm(measure), measure)

    def difference(self, other: "CellResult", measure: str) -> Estimate:
        """The harm of this cell minus that of another."""
        return self._harm(measure, (1, self.ability), (-1, other.ability))

    def per_norm(self, other: "CellResult", measure: str) -> Estimate:
        """The same, per percent of the model's norm: weights differ, so the abilities before do not cancel."""
        own, its = (1 / (100 * cell.mask.norm) for cell in (self, other))
        return self._harm(measure, (own, self.ability), (-its, other.ability), (its - own, self.before))

    def excess(self, control: str, measure: str) -> Estimate:
        """The harm of this cell minus that of its controls of equal norm."""
        return as_harm(excess_over_controls(self.ability, self._matched(control), measure, seed=self.seed), measure)

    def less_harmful(self, control: str, measure: str) -> tuple[int, int]:
        """How many controls of equal norm did less harm, of how many."""
        own, *others = (WORSE[measure] * level(its, measure) for its in (self.ability, *self._matched(control)))
        return sum(other < own for other in others), len(others)

    def norm_match(self, control: str) -> str:
        """How the norms of its controls of one kind compare with its own: EQUAL, SMALLER, LARGER or MIXED."""
        sides = {SMALLER if mask.norm < self.mask.norm else LARGER for mask, _ in self.controls[control]}
        equal = any(mask.near(self.mask) for mask, _ in self.controls[control])
        return EQUAL if equal else MIXED if len(sides) > 1 else sides.pop()

    def _matched(self, control: str) -> list[Sums]:
        """The abilities under controls of equal norm; if there are none, under all controls."""
        drawn = self.controls[control]
        return [ability for mask, ability in drawn if mask.near(self.mask)] or [ability for _, ability in drawn]

    def _harm(self, measure: str, *terms: Term) -> Estimate:
        return as_harm(contrast(terms, measure, seed=self.seed), measure)


def sums_of(ability: Ability) -> Sums:
    """The measures of a model: its loss, and copying if there are random tokens to copy."""
    return {measure: sums for measure in WORSE if (sums := ability.sums(measure)) is not None}


def level(ability: Sums, measure: str) -> float:
    """A measure, averaged over all texts."""
    sum_N, weight_N = ability[measure]
    return float(sum_N.sum() / weight_N.sum())


def contrast(terms: Sequence[Term], measure: str, *, seed: int) -> Estimate:
    """The weighted sum of the terms. Every resample uses the same texts for all of them."""
    count_RN = draws(len(terms[0][1][measure][0]), seed)
    drawn_R = np.zeros(len(count_RN))
    for weight, ability in terms:
        drawn_R += weight * ratio(count_RN, *ability[measure])
    return Estimate(float(sum(weight * level(ability, measure) for weight, ability in terms)), *quantiles(drawn_R))


def excess_over_controls(ability: Sums, controls: Sequence[Sums], measure: str, *, seed: int) -> Estimate:
    """A measure minus its mean over draws of a control, with Student's interval over texts and over draws.

    The variances of texts and draws add up, with Welch's degrees of freedom: resampling a handful of draws would give
    too narrow an interval. From a single draw no interval follows, so it is infinite.
    """
    level_D = np.array([level(control, measure) for control in controls])
    texts, value = len(ability[measure][0]), level(ability, measure) - float(level_D.mean())
    if min(texts, len(controls)) < 2:
        return Estimate(value, -np.inf, np.inf)
    count_RN = draws(texts, seed)
    control_R = np.mean([ratio(count_RN, *control[measure]) for control in controls], axis=0)
    excess_R = ratio(count_RN, *ability[measure]) - control_R
    of_texts = float(excess_R.var()) * texts / (texts - 1)  # resampling underestimates the variance by this factor
    of_draws = float(level_D.var(ddof=1)) / len(controls)
    reach = welch_reach(of_texts, texts - 1, of_draws, len(controls) - 1)
    return Estimate(value, value - reach, value + reach)


def as_harm(change: Estimate, measure: str) -> Estimate:
    """A change of a measure as harm, or harm as a change: less copying is harm above 0."""
    if WORSE[measure] > 0:
        return change
    return Estimate(0.0 - change.value, 0.0 - change.high, 0.0 - change.low)  # never -0


def copying_measure(before: Sums, least: float) -> str | None:
    """What copying is judged by: exact copies if there are at least so many, else induction if there is any."""
    if "copy" not in before:
        return None
    exact, some = level(before, "copy") >= least, contrast([(1, before)], "induction", seed=0).low > 0
    return "copy" if exact else "induction" if some else None

"""Controls of equal norm: random pairs of the same heads, and the same pairs of random heads.

Random draws are tilted towards larger or smaller norms until their mean matches the target; of many draws the nearest
are kept. So a control differs from its cell in which pairs or heads it changes, and as little as possible in how much
norm. It never overlaps with the cell, and changes as many heads. If no selection of as many pairs has an equal norm,
the number of pairs may differ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from wherewhat.studies.control.frequency_norms import FrequencyNorms
from wherewhat.studies.control.settings import BANDS, EQUAL, HEADS, LARGER, MIXED, NEAR, SMALLER

DRAWS = 512  # of which the nearest are kept
PILOT = 64  # draws that estimate the effect of a tilt
STEEPEST = 12.0  # largest tilt, in standard deviations of the norms
HALVINGS = 14  # steps of the bisection for the tilt

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


@dataclass(frozen=True)
class Cell:
    """One band of the heads of one kind, and its controls."""

    kind: str  # of its heads
    side: str  # of their frequencies
    share: float
    mask: PairMask
    controls: dict[str, tuple[PairMask, ...]]

    def norm_match(self, control: str) -> str:
        """How the norms of its controls of one kind compare with its own: EQUAL, SMALLER, LARGER or MIXED."""
        controls = self.controls[control]
        if any(mask.near(self.mask) for mask in controls):
            return EQUAL
        sides = {SMALLER if mask.norm < self.mask.norm else LARGER for mask in controls}
        return sides.pop() if len(sides) == 1 else MIXED


def mask_of(norms: FrequencyNorms, mask_HF: np.ndarray) -> PairMask:
    """These pairs with their norm."""
    return PairMask(mask_HF, float((norms.norm_HF * mask_HF).sum()))


def controls_of(
    norms: FrequencyNorms, target: PairMask, *, band_HF: np.ndarray, count: int, seed: int
) -> dict[str, tuple[PairMask, ...]]:
    """At most `count` different controls of each kind, the nearest in norm first."""
    mask_HF = target.mask_HF
    draws: dict[str, tuple[Draw, ...]] = {
        BANDS: (
            lambda tilt, rng: _other_pairs(norms, mask_HF, tilt, rng),
            lambda tilt, rng: _any_pairs(norms, mask_HF, tilt, rng),
        ),
        HEADS: (lambda tilt, rng: _other_heads(norms, mask_HF, band_HF, tilt, rng),),
    }
    return {name: _matched(norms, target, ways, count, seed) for name, ways in draws.items()}


def _matched(
    norms: FrequencyNorms, target: PairMask, ways: Sequence[Draw], count: int, seed: int
) -> tuple[PairMask, ...]:
    """Draws of equal norm, or the nearest if none are; a later way is used only if the earlier ones give too few."""
    every: dict[bytes, PairMask] = {}
    for draw in ways:
        every |= {mask.mask_HF.tobytes(): mask for mask in nearest(norms, target, draw, count=count, seed=seed)}
        equal = [mask for mask in every.values() if mask.near(target)][:count]
        if len(equal) == count:
            break
    return tuple(sorted(equal or every.values(), key=lambda mask: abs(mask.norm - target.norm))[:count])


def nearest(norms: FrequencyNorms, target: PairMask, draw: Draw, *, count: int, seed: int) -> tuple[PairMask, ...]:
    """Of many distinct draws, those whose norms are nearest to the target's."""
    distinct: dict[bytes, np.ndarray] = {}
    for tilt in (_tilt(norms, target, draw, seed), 0.0):  # a tilt may leave nothing but the target itself
        masks = islice(draw(tilt, np.random.default_rng(seed)), DRAWS)
        distinct = {mask_HF.tobytes(): mask_HF for mask_HF in masks if mask_HF.any()}
        distinct.pop(target.mask_HF.tobytes(), None)
        if distinct:
            break
    candidates = [mask_of(norms, mask_HF) for mask_HF in distinct.values()]
    return tuple(sorted(candidates, key=lambda mask: abs(mask.norm - target.norm))[:count])


def _tilt(norms: FrequencyNorms, target: PairMask, draw: Draw, seed: int) -> float:
    """By bisection: with the same noise every time, the mean norm of the draws rises with the tilt."""
    low, high = -STEEPEST, STEEPEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        drawn = islice(draw(middle, np.random.default_rng(seed)), PILOT)
        mean = np.mean([mask_of(norms, mask_HF).norm for mask_HF in drawn])
        low, high = (middle, high) if mean < target.norm else (low, middle)
    return (low + high) / 2


def _other_pairs(
    norms: FrequencyNorms, mask_HF: np.ndarray, tilt: float, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """The same heads, each with as many other pairs."""
    left_HF, count_H = _left(norms, mask_HF), mask_HF.sum(1)
    weight_HF = _standard(norms.norm_HF)
    while True:
        keys_HF = tilt * weight_HF + rng.gumbel(size=mask_HF.shape)
        yield left_HF & _largest(np.where(left_HF, keys_HF, -np.inf), count_H)


def _other_heads(
    norms: FrequencyNorms, mask_HF: np.ndarray, band_HF: np.ndarray, tilt: float, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """The same band in as many of the other heads."""
    others_H = ~_heads(mask_HF)
    weight_H = _standard((norms.norm_HF * band_HF).sum(1))
    count_1 = np.array([min(int(_heads(mask_HF).sum()), int(others_H.sum()))])
    while True:
        keys_H = np.where(others_H, tilt * weight_H + rng.gumbel(size=len(weight_H)), -np.inf)
        yield band_HF & _largest(keys_H[None], count_1)[0][:, None]


def _any_pairs(
    norms: FrequencyNorms, mask_HF: np.ndarray, tilt: float, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """The same heads with any number of other pairs, at least one each."""
    left_HF, at_least_H = _left(norms, mask_HF), _heads(mask_HF).astype(int)
    while True:
        keys_HF = np.where(left_HF, rng.logistic(size=mask_HF.shape) + tilt, -np.inf)
        yield left_HF & ((keys_HF > 0) | _largest(keys_HF, at_least_H))


def _left(norms: FrequencyNorms, mask_HF: np.ndarray) -> np.ndarray:
    """left_HF, the pairs of the changed heads that are not in the mask."""
    left_HF: np.ndarray = np.isfinite(norms.theta_HF) & ~mask_HF & _heads(mask_HF)[:, None]
    return left_HF


def _heads(mask_HF: np.ndarray) -> np.ndarray:
    """changed_H, True for heads with any pair in the mask."""
    return np.asarray(mask_HF.any(axis=1))


def _standard(values: np.ndarray) -> np.ndarray:
    """In standard deviations, so that a tilt has the same meaning for every model."""
    spread = values.std()
    standard: np.ndarray = values / spread if spread > 0 else values * 0
    return standard


def _largest(keys_HF: np.ndarray, count_H: np.ndarray) -> np.ndarray:
    """True for the `count_H` largest keys of every row: with Gumbel noise, a draw without replacement."""
    rank_HF = (-keys_HF).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    largest: np.ndarray = rank_HF < count_H[:, None]
    return largest

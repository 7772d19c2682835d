"""Controls of equal norm: random pairs of the same heads, and the same pairs of random heads.

Draws are tilted towards larger or smaller norms until their mean is what is to be matched, and of many the nearest are
kept. So a control differs from its cell in which pairs or heads it takes, and as little as possible in how much. It
takes nothing of the cell itself, and from as many heads. Where no equal number of pairs of these has an equal norm, it
may be another number of pairs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from wherewhat.studies.control.settings import BANDS, EQUAL, HEADS, LARGER, MIXED, NEAR, SMALLER
from wherewhat.studies.control.use import Use

DRAWS = 512  # of which the nearest are kept
PILOT = 64  # draws that show what a tilt does
STEEPEST = 12.0  # of a tilt, in standard deviations of what is drawn from
HALVINGS = 14  # of the range of tilts

Draw = Callable[[float, np.random.Generator], Iterator[np.ndarray]]  # tilt -> mask_HF of one draw after the other


@dataclass(frozen=True)
class Change:
    """Some pairs of some heads: what is dropped, or loses its position."""

    mask_HF: np.ndarray
    norm: float  # share of the norm of all heads and pairs

    @property
    def pairs(self) -> int:
        """How many, over all heads."""
        return int(self.mask_HF.sum())

    def near(self, other: "Change") -> bool:
        """Whether the norms of two are equal, or nearly so."""
        return abs(self.norm - other.norm) <= NEAR * other.norm


@dataclass(frozen=True)
class Cell:
    """One band of the heads of one kind, and what it is held against."""

    kind: str  # of its heads
    side: str  # of their frequencies
    share: float
    change: Change
    controls: dict[str, tuple[Change, ...]]

    def standing(self, control: str) -> str:
        """How the norms of its controls of one kind stand to its own: EQUAL, SMALLER, LARGER or MIXED."""
        controls = self.controls[control]
        if any(one.near(self.change) for one in controls):
            return EQUAL
        sides = {SMALLER if one.norm < self.change.norm else LARGER for one in controls}
        return sides.pop() if len(sides) == 1 else MIXED


def change_of(used: Use, mask_HF: np.ndarray) -> Change:
    """These pairs, with their norm."""
    return Change(mask_HF, float((used.norm_HF * mask_HF).sum()))


def controls_of(
    used: Use, target: Change, *, band_HF: np.ndarray, count: int, seed: int
) -> dict[str, tuple[Change, ...]]:
    """At most `count` different controls of each kind, the nearest in norm first."""
    mask_HF = target.mask_HF
    draws: dict[str, tuple[Draw, ...]] = {
        BANDS: (
            lambda tilt, rng: _other_pairs(used, mask_HF, tilt, rng),
            lambda tilt, rng: _any_pairs(used, mask_HF, tilt, rng),
        ),
        HEADS: (lambda tilt, rng: _other_heads(used, mask_HF, band_HF, tilt, rng),),
    }
    return {name: _equal(used, target, ways, count, seed) for name, ways in draws.items()}


def _equal(used: Use, target: Change, ways: Sequence[Draw], count: int, seed: int) -> tuple[Change, ...]:
    """Draws of equal norm, of a later way only as many as those before leave wanting; the nearest where none is."""
    every: dict[bytes, Change] = {}
    for draw in ways:
        every |= {one.mask_HF.tobytes(): one for one in nearest(used, target, draw, count=count, seed=seed)}
        equal = [one for one in every.values() if one.near(target)][:count]
        if len(equal) == count:
            break
    return tuple(sorted(equal or every.values(), key=lambda change: abs(change.norm - target.norm))[:count])


def nearest(used: Use, target: Change, draw: Draw, *, count: int, seed: int) -> tuple[Change, ...]:
    """Of many draws, each mask once, those whose norms are nearest to the target's."""
    unlike: dict[bytes, np.ndarray] = {}
    for tilt in (_tilt(used, target, draw, seed), 0.0):  # a tilt may leave nothing but the target itself
        masks = islice(draw(tilt, np.random.default_rng(seed)), DRAWS)
        unlike = {mask_HF.tobytes(): mask_HF for mask_HF in masks if mask_HF.any()}
        unlike.pop(target.mask_HF.tobytes(), None)
        if unlike:
            break
    changes = [change_of(used, mask_HF) for mask_HF in unlike.values()]
    return tuple(sorted(changes, key=lambda change: abs(change.norm - target.norm))[:count])


def _tilt(used: Use, target: Change, draw: Draw, seed: int) -> float:
    """By halving: with the same noise every time, the mean norm of draws rises with the tilt."""
    low, high = -STEEPEST, STEEPEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        drawn = islice(draw(middle, np.random.default_rng(seed)), PILOT)
        norms = [change_of(used, mask_HF).norm for mask_HF in drawn]
        low, high = (middle, high) if np.mean(norms) < target.norm else (low, middle)
    return (low + high) / 2


def _other_pairs(used: Use, mask_HF: np.ndarray, tilt: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The same heads lose as many pairs each, but others, every head its own."""
    left_HF, many_H = _left(used, mask_HF), mask_HF.sum(1)
    weight_HF = _standard(used.norm_HF)
    while True:
        keys_HF = tilt * weight_HF + rng.gumbel(size=mask_HF.shape)
        yield left_HF & _largest(np.where(left_HF, keys_HF, -np.inf), many_H)


def _other_heads(
    used: Use, mask_HF: np.ndarray, band_HF: np.ndarray, tilt: float, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """As many heads of all the others lose the same band."""
    others_H = ~_heads(mask_HF)
    weight_H = _standard((used.norm_HF * band_HF).sum(1))
    many = np.array([min(int(_heads(mask_HF).sum()), int(others_H.sum()))])
    while True:
        keys_H = np.where(others_H, tilt * weight_H + rng.gumbel(size=len(weight_H)), -np.inf)
        yield band_HF & _largest(keys_H[None], many)[0][:, None]


def _any_pairs(used: Use, mask_HF: np.ndarray, tilt: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The same heads lose other pairs, however many, but each of them one at least."""
    left_HF, one_H = _left(used, mask_HF), _heads(mask_HF).astype(int)
    while True:
        keys_HF = np.where(left_HF, rng.logistic(size=mask_HF.shape) + tilt, -np.inf)
        yield left_HF & ((keys_HF > 0) | _largest(keys_HF, one_H))


def _left(used: Use, mask_HF: np.ndarray) -> np.ndarray:
    """left_HF, what is left to the heads of which something is taken."""
    left_HF: np.ndarray = np.isfinite(used.theta_HF) & ~mask_HF & _heads(mask_HF)[:, None]
    return left_HF


def _heads(mask_HF: np.ndarray) -> np.ndarray:
    """changed_H, True for heads of which anything is changed."""
    return np.asarray(mask_HF.any(axis=1))


def _standard(values: np.ndarray) -> np.ndarray:
    """In standard deviations, so that a tilt means the same for every model."""
    spread = values.std()
    standard: np.ndarray = values / spread if spread > 0 else values * 0
    return standard


def _largest(keys_HF: np.ndarray, many_H: np.ndarray) -> np.ndarray:
    """True for the largest so many of every row: with Gumbel noise in them, a draw without putting back."""
    place_HF = (-keys_HF).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    largest: np.ndarray = place_HF < many_H[:, None]
    return largest

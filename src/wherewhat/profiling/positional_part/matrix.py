"""One positional matrix of a layer, and how it would measure without some of the words or texts it was taken from."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.profiling.accumulate import LEVEL, Summary
from wherewhat.profiling.positional_part.measures import measures
from wherewhat.profiling.positional_part.whole import Whole

GROUPS = 10  # of words or texts, for the interval
FEWER = 4  # the same where matrices are large
LARGE = 128  # copies from which they are
ENDS = {"excess": (-np.inf, 1.0), "lean": (-1.0, 1.0)}  # of measures that do not run from 0 to 1

Measured = dict[str, np.ndarray]  # by measure, value_H


@dataclass(frozen=True)
class Matrix:
    """The attention that a layer would have if position alone decided, and its logits."""

    attention_HTT: Tensor
    log_HTT: Tensor  # what it is the softmax of; minus infinity where that is not known
    allowed_TT: Tensor
    count: int  # words or texts it was taken from
    others: Sequence[Measured] = ()  # measured without each group of them; nothing where weights alone decide

    def summaries(self, chance: dict[str, float]) -> dict[str, Summary]:
        """Every measure of every head."""
        return {
            name: Summary(
                value_H,
                *_interval(value_H, np.array([one[name] for one in self.others]), ENDS.get(name, (0.0, 1.0))),
                np.full_like(value_H, chance[name]),
                *(np.where(np.isfinite(value_H), self.count, 0),) * 2,
                np.zeros_like(value_H),
            )
            for name, value_H in measured(self.attention_HTT, self.allowed_TT).items()
        }

    def together(self) -> dict[str, float]:
        """The measures of the mean matrix of all heads."""
        whole_1TT = self.attention_HTT.mean(0, keepdim=True)
        return {name: float(value_H[0]) for name, value_H in measures(whole_1TT, self.allowed_TT).items()}

    def first(self, n: int) -> dict[str, float]:
        """The measures of the first n slots alone, the mean over heads: sources compare only over the same slots."""
        found = measures(self.attention_HTT[:, :n, :n], self.allowed_TT[:n, :n])
        return {name: float(value_H.mean()) for name, value_H in found.items()}


def _interval(value_H: np.ndarray, others_GH: np.ndarray, ends: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """The jackknife's: how far a value moves when one group is left out. Groups are few, so Student's t."""
    groups = len(others_GH)
    if groups < 2:
        return np.full_like(value_H, np.nan), np.full_like(value_H, np.nan)
    reach_H = stats.t.ppf((1 + LEVEL) / 2, groups - 1) * np.sqrt((groups - 1) * others_GH.var(0))
    return np.clip(value_H - reach_H, *ends), np.clip(value_H + reach_H, *ends)


def measured(attention_HTT: Tensor, allowed_TT: Tensor) -> Measured:
    """Every measure of a matrix, as plain numbers."""
    return {name: value_H.numpy() for name, value_H in measures(attention_HTT, allowed_TT).items()}


def groups_for(count: int, n: int) -> int:
    """In how many groups words or texts fall; the fewer the larger their matrices, as one of each group is kept."""
    return min(count, GROUPS if n <= LARGE else FEWER)


def without_mask(whole: Whole) -> Whole:
    """The same without its mask, where logits tell what it hides."""
    if whole.logits_HTT is None:
        return whole
    allowed_TT = opened(whole)
    return replace(whole, attention_HTT=softmax_of(whole.logits_HTT, allowed_TT), allowed_TT=allowed_TT)


def opened(whole: Whole) -> Tensor:
    """allowed_TT without the mask, where what it hides is told; else with it."""
    return torch.ones_like(whole.allowed_TT) if whole.open else whole.allowed_TT


def softmax_of(logits_HTT: Tensor, allowed_TT: Tensor) -> Tensor:
    """Attention of logits over the keys that are allowed, in double precision; 0 where none is."""
    return logits_HTT.double().masked_fill(~allowed_TT, -torch.inf).softmax(-1).nan_to_num(0.0)


@dataclass
class Taken:
    """Takes in the matrices of every place, that of all words or texts first, then without each group of them.

    Only the first is kept whole: of the others it is enough how they measure.
    """

    count: int  # words or texts
    first: dict[AttentionSite, Whole] = field(default_factory=dict)
    others: dict[AttentionSite, list[Measured]] = field(default_factory=lambda: defaultdict(list))

    def take(self, number: int, whole: Whole) -> None:
        if number == 0:
            self.first[whole.site] = whole
        else:
            seen = without_mask(whole)
            self.others[whole.site].append(measured(seen.attention_HTT, seen.allowed_TT))

    def matrix(self, site: AttentionSite) -> Matrix:
        """What was taken in of a place."""
        seen = without_mask(self.first[site])
        return Matrix(
            seen.attention_HTT.double(), seen.log_HTT.double(), seen.allowed_TT, self.count, self.others[site]
        )

"""Whole attention matrices, assembled from the rows of a running model, and the positional ones made of them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.logits.base import Logits
from wherewhat.profiling.accumulate import Summary
from wherewhat.scores.positional_part import measures
from wherewhat.stats.intervals import jackknife

FAR_BELOW = 1e4  # contributions of slots never differ by so much; masks do
Reach = tuple[int | None, int | None]  # keys back and ahead that a mask shows; None is all there are
GROUPS = 10  # of words or texts, for the interval
FEWER = 4  # the same where matrices are large
LARGE = 128  # copies from which they are
ENDS = {"excess": (-np.inf, 1.0), "left_right_bias": (-1.0, 1.0)}  # of measures that do not run from 0 to 1
Measures = dict[str, np.ndarray]  # by measure, value_H


@dataclass(frozen=True)
class AttentionMatrix:
    """All rows of one text at one site, in the memory of this machine: measures are taken in double precision."""

    site: AttentionSite
    text: int
    attention_HTT: Tensor
    allowed_TT: Tensor
    logits_HTT: Tensor | None  # without a mask, where they could be read
    position_free: bool | None  # whether the logits do not depend on slots; None where they could not be read
    ahead: bool  # whether the logits are known for keys that the mask hides

    @property
    def open(self) -> bool:
        """Whether both sides of every token are visible, or known as if they were."""
        return bool(self.allowed_TT.all()) or (self.logits_HTT is not None and self.ahead)

    @property
    def opened_TT(self) -> Tensor:
        """allowed_TT without the mask, where what it hides is known; else with it."""
        return torch.ones_like(self.allowed_TT) if self.open else self.allowed_TT

    @property
    def log_HTT(self) -> Tensor:
        """Logits, or logarithms of attention where they could not be read: their differences are the same.

        A key without attention is then at minus infinity: nothing is known of it.
        """
        return self.attention_HTT.log() if self.logits_HTT is None else self.logits_HTT

    def unmasked(self) -> "AttentionMatrix":
        """The same without its mask, where logits are known for what it hides."""
        if self.logits_HTT is None:
            return self
        allowed_TT = self.opened_TT
        return replace(self, attention_HTT=softmax_of(self.logits_HTT, allowed_TT), allowed_TT=allowed_TT)


def softmax_of(logits_HTT: Tensor, allowed_TT: Tensor) -> Tensor:
    """Attention of logits over the keys that are allowed, in double precision; 0 where none is."""
    return logits_HTT.double().masked_fill(~allowed_TT, -torch.inf).softmax(-1).nan_to_num(0.0)


@dataclass
class MatrixCollector:
    """Collects rows until all those of a text at a site have come, then hands them on as a matrix."""

    on_matrix: Callable[[AttentionMatrix], None]
    modules: Collection[str]  # whose attention is wanted
    _open: dict[tuple[AttentionSite, int], list[AttentionRows]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rows: AttentionRows) -> None:
        if rows.site.module not in self.modules:
            return
        pieces = self._open[rows.site, rows.text]
        pieces.append(rows)
        if sum(len(piece.queries_Q) for piece in pieces) < len(rows.tokens_K):
            return
        del self._open[rows.site, rows.text]
        logits = [(piece.logits, piece.allowed_QK) for piece in pieces if piece.logits is not None]
        complete = len(logits) == len(pieces)
        self.on_matrix(
            AttentionMatrix(
                site=rows.site,
                text=rows.text,
                attention_HTT=torch.cat([piece.attention_HQK for piece in pieces], 1).cpu(),
                allowed_TT=torch.cat([piece.allowed_QK for piece in pieces]).cpu(),
                logits_HTT=torch.cat([known.actual_HQK for known, _ in logits], 1).cpu() if complete else None,
                position_free=logits[0][0].position_free if complete else None,
                ahead=complete and all(_known_behind_mask(*piece) for piece in logits),
            )
        )


def _known_behind_mask(logits: Logits, allowed_QK: Tensor) -> bool:
    """Whether logits hold what slots contribute to keys that the mask hides.

    Families that add their mask together with the contribution of slots have nothing, or infinity, behind it.
    """
    inner: Any = logits
    while hasattr(inner, "inner"):
        inner = inner.inner
    slot_HQK, closed_QK = getattr(inner, "slot_HQK", None), ~allowed_QK
    if not bool(torch.isfinite(logits.actual_HQK).all()):
        return False
    if slot_HQK is None or not bool(closed_QK.any()):
        return True
    hidden = slot_HQK.masked_select(closed_QK)
    return bool(hidden.any()) and bool((hidden > slot_HQK.masked_select(allowed_QK).min() - FAR_BELOW).all())


def reach_of(allowed_TT: Tensor) -> Reach:
    """How far a mask lets tokens see back and ahead.

    >>> reach_of(torch.ones(9, 9).bool().tril().triu(-2)), reach_of(torch.ones(9, 9).bool())
    ((2, 0), (None, None))
    """
    query_X, key_X = allowed_TT.nonzero().T
    ends = (int((query_X - key_X).max()), int((key_X - query_X).max()))
    back, ahead = (None if end == len(allowed_TT) - 1 else end for end in ends)
    return back, ahead


def mask_name(reach: Reach) -> str:
    """A mask in words; nothing where there is none.

    >>> mask_name((None, 0)), mask_name((4, 0)), mask_name((8, 8)), mask_name((None, None))
    ('causal', 'last 5 keys', '8 keys back and 8 ahead', '')
    """
    back, ahead = reach
    if ahead is None:
        return "" if back is None else f"{back} keys back"
    if ahead == 0:
        return "causal" if back is None else f"last {back + 1} keys"
    return f"{'all' if back is None else back} keys back and {ahead} ahead"


@dataclass(frozen=True)
class PositionalMatrix:
    """The attention that a layer would have if position alone decided, and its logits."""

    attention_HTT: Tensor
    log_HTT: Tensor  # what it is the softmax of; minus infinity where that is not known
    allowed_TT: Tensor
    count: int  # words or texts it was computed from
    others: Sequence[Measures] = ()  # measured without each group of them; empty where weights alone decide

    def summaries(self, chance: dict[str, float]) -> dict[str, Summary]:
        """Every measure of every head."""
        return {
            name: Summary(
                value_H,
                *jackknife(value_H, np.array([other[name] for other in self.others]), ENDS.get(name, (0.0, 1.0))),
                np.full_like(value_H, chance[name]),
                *(np.where(np.isfinite(value_H), self.count, 0),) * 2,
                np.zeros_like(value_H),
            )
            for name, value_H in numpy_measures(self.attention_HTT, self.allowed_TT).items()
        }

    def together(self) -> dict[str, float]:
        """The measures of the mean matrix of all heads."""
        mean_1TT = self.attention_HTT.mean(0, keepdim=True)
        return {name: float(value_H[0]) for name, value_H in measures(mean_1TT, self.allowed_TT).items()}

    def first(self, n: int) -> dict[str, float]:
        """The measures of the first n slots, as means over heads: sources are comparable over the same slots only."""
        of_first = measures(self.attention_HTT[:, :n, :n], self.allowed_TT[:n, :n])
        return {name: float(value_H.mean()) for name, value_H in of_first.items()}


def numpy_measures(attention_HTT: Tensor, allowed_TT: Tensor) -> Measures:
    """Every measure of a matrix, as numpy arrays."""
    return {name: value_H.numpy() for name, value_H in measures(attention_HTT, allowed_TT).items()}


def groups_for(count: int, n: int) -> int:
    """How many groups words or texts form; fewer if their matrices are large, as one matrix per group is kept."""
    return min(count, GROUPS if n <= LARGE else FEWER)

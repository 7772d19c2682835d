"""Whole matrices of attention, put together from the rows that a running model shows."""

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, Seen
from wherewhat.logits.base import Logits

FAR_BELOW = 1e4  # what slots add never lies so far apart; masks do


@dataclass(frozen=True)
class Whole:
    """All rows of one text at one place, in the memory of this machine: measures are taken in double precision."""

    site: AttentionSite
    text: int
    attention_HTT: Tensor
    allowed_TT: Tensor
    logits_HTT: Tensor | None  # without a mask, where they could be read
    absorbed: bool | None  # whether slots have no say in the logits; None where they could not be read
    ahead: bool  # whether logits tell what a closed mask hides

    @property
    def open(self) -> bool:
        """Whether both sides of every token can be seen, or told as if they could."""
        return bool(self.allowed_TT.all()) or (self.logits_HTT is not None and self.ahead)

    @property
    def log_HTT(self) -> Tensor:
        """Logits, or logarithms of attention where they could not be read: what they differ by is the same.

        A key that gets no attention is then minus infinitely far away: nothing is known of it.
        """
        if self.logits_HTT is not None:
            return self.logits_HTT
        return self.attention_HTT.log()

    @property
    def share_HTT(self) -> Tensor:
        """The logarithm of attention in double precision: from logits it is known where attention itself is 0."""
        if self.logits_HTT is None:
            return self.attention_HTT.double().log()
        return self.logits_HTT.double().masked_fill(~self.allowed_TT, -torch.inf).log_softmax(-1)


@dataclass
class Wholes:
    """Listens to rows until all those of a text at a place have come, then hands them on together."""

    on_whole: Callable[[Whole], None]
    modules: Collection[str]  # whose attention is wanted
    _open: dict[tuple[AttentionSite, int], list[Seen]] = field(default_factory=lambda: defaultdict(list))

    def see(self, seen: Seen) -> None:
        if seen.site.module not in self.modules:
            return
        pieces = self._open[seen.site, seen.text]
        pieces.append(seen)
        if sum(len(piece.queries_Q) for piece in pieces) == len(seen.tokens_K):
            del self._open[seen.site, seen.text]
            self.on_whole(_joined(pieces))


def _joined(pieces: list[Seen]) -> Whole:
    known = [piece.logits for piece in pieces if piece.logits is not None]
    told = len(known) == len(pieces)
    return Whole(
        site=pieces[0].site,
        text=pieces[0].text,
        attention_HTT=torch.cat([piece.attention_HQK for piece in pieces], 1).cpu(),
        allowed_TT=torch.cat([piece.allowed_QK for piece in pieces]).cpu(),
        logits_HTT=torch.cat([logits.actual_HQK for logits in known], 1).cpu() if told else None,
        absorbed=known[0].absorbed if told else None,
        ahead=told and all(_tells(piece.logits, piece.allowed_QK) for piece in pieces if piece.logits is not None),
    )


def _tells(logits: Logits, allowed_QK: Tensor) -> bool:
    """Whether logits say what slots add to keys that the mask hides.

    Families that add their mask together with what slots bring leave nothing, or infinity, where it is closed.
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

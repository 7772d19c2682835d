"""What a query's row does when tokens trade places at the input and the whole model runs again.

A table of log-weights, content by slot, is filled from the runs of a Latin square, in which every token stands once in
every slot (N counts these runs). What neither slot nor content explains is both together and whatever the changed
context did to them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.scores.exact import ROUNDING
from wherewhat.scores.swaps import cosines, in_order

URRUTIA = "Urrutia et al., arXiv 2511.11579"
SHARES = ("input.position_share", "input.symbol_share", "input.other_share")
_RUNS = "A share of the variance of its log-weights, over runs that put every token (at most 32) once in every slot."
_TRADE = "When tokens trade places at the input, how much of what the last token looks at"
_SWAPS = (
    "Over 32 random pairs of a text and each head's pair of most unequal weights, at most 32 of those; swaps count by "
    "how unequal the weights are."
)
_UNRELATED = "weights after a swap that have nothing to do with it"

ABOUT = {
    "input.position_share": {
        "asks": f"{_TRADE} does the slot decide? {_RUNS}",
        "low": "slots make no difference of their own",
        "high": "only the slot counts",
        "paper": f"after {URRUTIA}; variance shares over a Latin square",
        "chance": "weights drawn anew in every run: 1 / contents",
    },
    "input.symbol_share": {
        "asks": f"{_TRADE} does the token decide? {_RUNS}",
        "low": "tokens make no difference of their own",
        "high": "only the token counts",
        "paper": f"after {URRUTIA}; variance shares over a Latin square",
        "chance": "weights drawn anew in every run: 1 / slots",
    },
    "input.other_share": {
        "asks": f"{_TRADE} is decided by neither slot nor token alone? {_RUNS}",
        "low": "slot and token add up to everything",
        "high": "only this token in this slot counts, or the context that its move has changed",
        "paper": f"after {URRUTIA}; variance shares over a Latin square",
        "chance": "weights drawn anew in every run",
    },
    "input.positional": {
        "asks": f"When two tokens trade places at the input, do weights stay with their slots? {_SWAPS}",
        "low": "the two weights of every swap change, and one is far larger than the other",
        "high": "no weight changes, or weights are equal anyway",
        "paper": URRUTIA,
        "chance": _UNRELATED,
    },
    "input.symbolic": {
        "asks": f"When two tokens trade places at the input, do weights go with their tokens? {_SWAPS}",
        "low": "no weight goes with its token, and one is far larger than the other",
        "high": "every weight goes with its token, or weights are equal anyway",
        "paper": URRUTIA,
        "chance": _UNRELATED,
    },
}


@dataclass(frozen=True)
class Variances:
    """What the variance of a table is made of; all zero where it is no more than rounding."""

    position_H: Tensor  # of the slots' means
    symbol_H: Tensor  # of the contents' means
    other_H: Tensor  # of what neither explains

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.position_H, self.symbol_H, self.other_H

    @property
    def total_H(self) -> Tensor:
        return self.position_H + self.symbol_H + self.other_H


def latin_square(size: int, generator: torch.Generator) -> Tensor:
    """Which content stands in which slot in each of `size` runs, order_NS: each once in every run and every slot.

    >>> latin_square(3, torch.Generator().manual_seed(0)).sum(0)
    tensor([3, 3, 3])
    """
    contents, slots = (torch.randperm(size, generator=generator) for _ in range(2))
    return contents[(slots + torch.arange(size)[:, None]) % size]


def exchanged(pairs_P2: Tensor, size: int) -> Tensor:
    """Which content stands in which slot when one pair at a time trades places, order_PS.

    >>> exchanged(torch.tensor([[0, 2]]), 3)
    tensor([[2, 1, 0]])
    """
    order_PS = torch.arange(size).repeat(len(pairs_P2), 1)
    return order_PS.scatter(1, pairs_P2, pairs_P2.flip(1))


def variances(log_HNS: Tensor, order_NS: Tensor, eps: float) -> Variances:
    """Divide the variance of a head's table, filled from the runs of a Latin square or from some of its slots.

    The mean of each run is taken off, and with it the softmax's normaliser; slots' and contents' means stay as they
    are. `eps` is the rounding of the type that the model computes in.
    """
    log_HNS = log_HNS.double()
    centred_HNS = log_HNS - log_HNS.mean(-1, keepdim=True)
    table_HKS = torch.empty_like(centred_HNS).scatter_(1, order_NS.expand_as(centred_HNS), centred_HNS)
    content_HK, slot_HS = table_HKS.mean(-1), table_HKS.mean(-2)  # the mean of the whole table is 0
    left_HKS = table_HKS - content_HK[..., None] - slot_HS[:, None]
    found = [x.square().flatten(1).mean(-1) for x in (slot_HS, content_HK, left_HKS)]
    noise_H = (ROUNDING * eps * log_HNS.abs().amax((-1, -2))).square()
    flat_H = centred_HNS.square().mean((-1, -2)) <= noise_H
    return Variances(*(part_H.masked_fill(flat_H, 0.0) for part_H in found))


def chance_shares(contents: int, slots: int) -> tuple[float, float, float]:
    """What position, symbol and the rest would share if every weight were drawn anew in every run.

    Exact for any Latin square whose runs are centred, also if only some of its slots are looked at: slots' means are
    over contents, and contents' means over slots.

    >>> chance_shares(4, 4)
    (0.25, 0.25, 0.5)
    """
    return 1 / contents, 1 / slots, 1 - 1 / contents - 1 / slots


@dataclass(frozen=True)
class Exchanges:
    """Pairs of slots that traded tokens: how their log-weights differ before and after, and their weights before."""

    before_HP: Tensor  # log-weight of the first slot minus that of the second
    after_HP: Tensor
    apart_HP: Tensor  # the distance of the two weights before: swaps count by it

    def scores(self, tau: float) -> tuple[Tensor, Tensor]:
        """positional_H and symbolic_H: how alike the two weights are before and after, as they are and crosswise."""
        share_HP = self._share(tau)
        positional_HP, symbolic_HP = cosines(*in_order(self.before_HP, self.after_HP))
        return (share_HP * positional_HP).sum(-1), (share_HP * symbolic_HP).sum(-1)

    def chance(self, tau: float) -> Tensor:
        """chance_H: either score if what came of a swap had to do with neither slot nor content of it."""
        before_HPP, after_HPP = torch.broadcast_tensors(self.before_HP[..., None], self.after_HP[:, None])
        positional_HPP, symbolic_HPP = cosines(*in_order(before_HPP, after_HPP))
        return (self._share(tau) * (positional_HPP + symbolic_HPP).mean(-1) / 2).sum(-1)

    def _share(self, tau: float) -> Tensor:
        return ((self.apart_HP - self.apart_HP.amax(-1, keepdim=True)) / tau).softmax(-1)

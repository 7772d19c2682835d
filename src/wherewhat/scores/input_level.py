"""What a query's row does when tokens move at the input and the whole model runs again.

A table of log-weights, content by slot, is filled from the runs of a Latin square, in which every token stands once in
every slot (N counts these runs). Two squares are run, and they differ in what becomes of a token's neighbours. In the
scrambled one all tokens trade places at random, so no neighbour stays: what a slot or a token decides, it decides by
itself. In the shifted one the text moves round in a circle, so neighbours go along: a token stands for its context,
too. Slots that kept their tokens would bring fixed neighbours to a slot, and what is read off neighbours would look
like position; so all slots move, in both.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.scores.exact import ROUNDING
from wherewhat.scores.swaps import cosines, in_order

URRUTIA = "Urrutia et al., arXiv 2511.11579"
SCRAMBLED, SHIFTED = "input.", "input.shift."  # what the names of the shares of each square begin with
SHARES = tuple(f"{square}{part}_share" for square in (SCRAMBLED, SHIFTED) for part in ("position", "symbol", "other"))
_RUNS = (
    "A share of the variance of its log-weights, over runs that put each of the first tokens (at most 64) once in "
    "every slot."
)
_ALONE = "When all tokens trade places at random at the input, how much of what the last token looks at"
_TOGETHER = (
    "When the text moves round in a circle at the input, so that neighbours stay together, how much of what the last "
    "token looks at"
)
_SWAPS = (
    "Over 32 random pairs of a text and each head's pair of most unequal weights, at most 32 of those; swaps count by "
    "how unequal the weights are. Neighbours stay, so what is read off them counts for the slot."
)
_UNRELATED = "weights after a swap that have nothing to do with it"
_SCRAMBLE, _SHIFT = (
    f"after {URRUTIA}; variance shares over {square}"
    for square in ("a random Latin square of all tokens", "all cyclic shifts of the text")
)

ABOUT = {
    "input.position_share": {
        "asks": f"{_ALONE} does the slot decide, whatever stands there and around it? {_RUNS}",
        "low": "slots make no difference of their own",
        "high": "only the slot counts",
        "paper": _SCRAMBLE,
        "chance": "weights drawn anew in every run: 1 / contents",
    },
    "input.symbol_share": {
        "asks": f"{_ALONE} does the token decide by itself, wherever it stands and whatever stands around it? {_RUNS}",
        "low": "tokens make no difference by themselves",
        "high": "only the token counts",
        "paper": _SCRAMBLE,
        "chance": "weights drawn anew in every run: 1 / slots",
    },
    "input.other_share": {
        "asks": f"{_ALONE} is decided by neither slot nor token alone? {_RUNS}",
        "low": "slot and token add up to everything",
        "high": "only this token in this slot counts, or the neighbours, which change in every run",
        "paper": _SCRAMBLE,
        "chance": "weights drawn anew in every run",
    },
    "input.shift.position_share": {
        "asks": f"{_TOGETHER} does the slot decide? {_RUNS}",
        "low": "slots make no difference of their own",
        "high": "only the slot counts",
        "paper": _SHIFT,
        "chance": "weights drawn anew in every run: 1 / contents",
    },
    "input.shift.symbol_share": {
        "asks": (
            f"{_TOGETHER} does the token with its neighbours decide? What this exceeds input.symbol_share by is read "
            f"off the neighbours. {_RUNS}"
        ),
        "low": "tokens make no difference, with neighbours or without",
        "high": "only the token and what stands around it count",
        "paper": _SHIFT,
        "chance": "weights drawn anew in every run: 1 / slots",
    },
    "input.shift.other_share": {
        "asks": f"{_TOGETHER} is decided by neither slot nor token with its neighbours? {_RUNS}",
        "low": "slot and token with its neighbours add up to everything",
        "high": "only this stretch of text in this slot counts, or what stands before the last token, which asks",
        "paper": _SHIFT,
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


def shifts(size: int) -> Tensor:
    """Which content stands in which slot when all move on together, the last to the front, order_NS: first as it is.

    >>> shifts(3)
    tensor([[0, 1, 2],
            [2, 0, 1],
            [1, 2, 0]])
    """
    return (torch.arange(size) - torch.arange(size)[:, None]) % size


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

"""How a query's row changes when tokens are moved at the input and the whole model runs again.

A table of log-weights, content by slot, is filled from the runs of a Latin square, in which every token is once in
every slot (N counts these runs). Two squares are run, and they differ in what happens to a token's neighbours. In the
scrambled one all tokens are permuted at random, so no neighbour stays: what a slot or a token decides, it decides by
itself. In the shifted one the text is rotated, so neighbours move along: a token stands for its context, too. Slots
that kept their tokens would give a slot fixed neighbours, and what is read off neighbours would look like position; so
all slots move, in both.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.scores.base import HIDDEN_STATE, Score
from wherewhat.scores.exact import ROUNDING
from wherewhat.scores.swaps import at, cosines, in_order

URRUTIA = "Urrutia et al., arXiv 2511.11579"
SCRAMBLED, SHIFTED = "input.", "input.shift."  # prefixes of the shares of each square
PARTS = ("position", "symbol", "other")
_RUNS = (
    "A share of the variance of its log-weights, over runs that put each of the first tokens (at most 64) once in "
    "every slot."
)
_ALONE = "When all tokens are permuted at random at the input, how much of where the last token looks"
_TOGETHER = (
    "When the text is rotated at the input, so that neighbours stay together, how much of where the last token looks"
)
_SWAPS = (
    "Measured on 32 random pairs per text and on each head's pair with the most unequal weights (at most 32 of these); "
    "swaps are weighted by how unequal the two weights are. Neighbours stay, so what is read from them counts as "
    "position."
)
_SHARES = {  # by name: what it asks, what its ends mean
    "input.position_share": (
        f"{_ALONE} does the slot decide, whatever token is in it and around it? {_RUNS}",
        "slots make no difference of their own",
        "only the slot counts",
    ),
    "input.symbol_share": (
        f"{_ALONE} does the token decide by itself, in any slot and among any neighbours? {_RUNS}",
        "tokens make no difference by themselves",
        "only the token counts",
    ),
    "input.other_share": (
        f"{_ALONE} is decided by neither slot nor token alone? {_RUNS}",
        "slot and token add up to everything",
        "only this token in this slot counts, or the neighbours, which change in every run",
    ),
    "input.shift.position_share": (
        f"{_TOGETHER} does the slot decide? {_RUNS}",
        "slots make no difference of their own",
        "only the slot counts",
    ),
    "input.shift.symbol_share": (
        f"{_TOGETHER} does the token with its neighbours decide? The excess over input.symbol_share is read from "
        f"the neighbours. {_RUNS}",
        "tokens make no difference, with neighbours or without",
        "only the token and its neighbours count",
    ),
    "input.shift.other_share": (
        f"{_TOGETHER} is decided by neither slot nor token with its neighbours? {_RUNS}",
        "slot and token with its neighbours add up to everything",
        "only this stretch of text in this slot counts, or what comes before the last token, which is the query",
    ),
}
_CHANCES = {"position": ": 1 / contents", "symbol": ": 1 / slots", "other": ""}


def _share(name: str) -> Score:
    asks, low, high = _SHARES[name]
    square = "all cyclic shifts of the text" if name.startswith(SHIFTED) else "a random Latin square of all tokens"
    part = name.removesuffix("_share").rpartition(".")[2]
    return Score(
        name=name,
        kind=HIDDEN_STATE,
        asks=asks,
        low=low,
        high=high,
        paper=f"after {URRUTIA}; variance shares over {square}",
        chance=f"weights drawn anew in every run{_CHANCES[part]}",
    )


INPUT_SHARES = tuple(map(_share, _SHARES))


def input_scores(tau: float) -> tuple[Score, Score]:
    """The published scores of swaps at the input, at a temperature.

    >>> [score.name for score in input_scores(0.1)]
    ['input.positional@0.1', 'input.symbolic@0.1']
    """
    positional = Score(
        name=f"input.positional{at(tau)}",
        kind=HIDDEN_STATE,
        asks=f"When two tokens are swapped at the input, do weights stay with their slots? {_SWAPS}",
        low="the two weights of every swap change, and one is far larger than the other",
        high="no weight changes, or weights are equal anyway",
        paper=URRUTIA,
        chance="weights after a swap that are unrelated to it",
        tau=f"{tau:g}",
    )
    symbolic = replace(
        positional,
        name=f"input.symbolic{at(tau)}",
        asks=f"When two tokens are swapped at the input, do weights move with their tokens? {_SWAPS}",
        low="no weight moves with its token, and one is far larger than the other",
        high="every weight moves with its token, or weights are equal anyway",
    )
    return positional, symbolic


@dataclass(frozen=True)
class Variances:
    """How the variance of a table divides; all zero where it is no more than rounding."""

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
    """Which content is in which slot in each of `size` runs, order_NS: each once in every run and every slot.

    >>> latin_square(3, torch.Generator().manual_seed(0)).sum(0)
    tensor([3, 3, 3])
    """
    contents, slots = (torch.randperm(size, generator=generator) for _ in range(2))
    return contents[(slots + torch.arange(size)[:, None]) % size]


def shifts(size: int) -> Tensor:
    """Which content is in which slot when all move on together, the last to the front, order_NS: first as it is.

    >>> shifts(3)
    tensor([[0, 1, 2],
            [2, 0, 1],
            [1, 2, 0]])
    """
    return (torch.arange(size) - torch.arange(size)[:, None]) % size


def swap_orders(pairs_P2: Tensor, size: int) -> Tensor:
    """Which content is in which slot when one pair at a time is swapped, order_PS.

    >>> swap_orders(torch.tensor([[0, 2]]), 3)
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
    parts = [x.square().flatten(1).mean(-1) for x in (slot_HS, content_HK, left_HKS)]
    flat_H = centred_HNS.square().mean((-1, -2)) <= (ROUNDING * eps * log_HNS.abs().amax((-1, -2))).square()
    return Variances(*(part_H.masked_fill(flat_H, 0.0) for part_H in parts))


def chance_shares(contents: int, slots: int) -> tuple[float, float, float]:
    """What position, symbol and the rest would share if every weight were drawn anew in every run.

    Exact for any Latin square whose runs are centred, also if only some of its slots are looked at: slots' means are
    over contents, and contents' means over slots.

    >>> chance_shares(4, 4)
    (0.25, 0.25, 0.5)
    """
    return 1 / contents, 1 / slots, 1 - 1 / contents - 1 / slots


@dataclass(frozen=True)
class TokenSwaps:
    """Pairs of slots whose tokens were swapped: differences of log-weights before and after, and weights before."""

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

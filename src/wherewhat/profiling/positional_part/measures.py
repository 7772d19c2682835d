"""Locality and symmetry of whole matrices of attention, and what heads that know nothing get at the same length."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from wherewhat.scores.balance import balance
from wherewhat.scores.base import PerRow, Rows, weighted_mean
from wherewhat.scores.chance import uniform
from wherewhat.scores.lean import lean
from wherewhat.scores.locality import locality
from wherewhat.scores.symmetry import symmetry

DRAWS = 20  # matrices of random logits
SPREADS = {"random .02": 0.02, "random 1": 1.0}  # standard deviations of their logits
TINY = 1e-30


def beyond(rows: Rows) -> PerRow:
    """How near each row looks when it looks away from itself: 1 only at neighbours, half as much for a step further.

    A row that looks at nothing but itself gets 0, and so does one that sees nothing else.
    """
    away_QK = rows.offsets_QK.abs()
    others_HQK = rows.attention_HQK * (away_QK > 0)
    near_HQ = (others_HQK * torch.exp2(1.0 - away_QK)).sum(-1)
    return near_HQ / others_HQK.sum(-1).clamp_min(TINY), torch.ones_like(near_HQ)


OF_ROWS: dict[str, Callable[[Rows], PerRow]] = {
    "locality": locality,
    "beyond": beyond,
    "symmetry": symmetry,
    "balance": balance,
    "lean": lean,
}
MEASURES = ("locality", "excess", "beyond", "symmetry", "balance", "lean")
ONE_SIDED = ("locality", "excess", "beyond")  # what can be asked where a mask hides one side


def measures(attention_HTT: Tensor, allowed_TT: Tensor) -> dict[str, Tensor]:
    """Every measure that the mask lets ask, value_H. Rows are divided by their sums first."""
    attention_HTT = attention_HTT.double() * allowed_TT
    rows = _rows(attention_HTT / attention_HTT.sum(-1, keepdim=True).clamp_min(TINY), allowed_TT)
    found = {name: weighted_mean(*ask(rows)) for name, ask in OF_ROWS.items()}
    even = even_levels(allowed_TT)["locality"]
    found["excess"] = (found["locality"] - even) / (1 - even)
    return {name: found[name] for name in asked(allowed_TT)}


def asked(allowed_TT: Tensor) -> tuple[str, ...]:
    """The measures that make sense under a mask: comparing sides needs both."""
    return MEASURES if torch.equal(allowed_TT, allowed_TT.T) else ONE_SIDED


def even_levels(allowed_TT: Tensor) -> dict[str, float]:
    """What attention that looks at every allowed key alike gets, whatever the mask."""
    rows = uniform(_rows(torch.zeros(1, *allowed_TT.shape, dtype=torch.float64), allowed_TT), torch.Generator())
    near = {name: float(weighted_mean(*OF_ROWS[name](rows))[0]) for name in ("locality", "beyond")}
    return {**near, "excess": 0.0, "symmetry": 1.0, "balance": 1.0, "lean": 0.0}


def paired(attention_HTT: Tensor) -> Tensor:
    """mass_H: the share of attention that has a counterpart across the query; balance and lean rest on nothing else."""
    pairs = _rows(attention_HTT.double(), torch.ones(attention_HTT.shape[1:], dtype=torch.bool)).pairs
    return pairs.mass_HQ.mean(-1)


def even_both_ways(n: int) -> float:
    """The same in closed form, of n tokens that all see each other: nearly 3 / n.

    >>> round(even_both_ways(64), 6)
    0.045898
    """
    return float((3 * n - 4 + 2.0 ** (2 - n)) / n**2)


def even_causal(n: int) -> float:
    """And of n tokens that see those before them and themselves.

    >>> round(even_causal(64), 6)
    0.126586
    """
    return sum((2 - 2.0**-i) / (i + 1) for i in range(n)) / n


def chances(allowed_TT: Tensor, seed: int) -> dict[str, float]:
    """What a head that knows nothing gets under a mask: even attention for locality, noise for symmetry, no lean."""
    even, drawn = even_levels(allowed_TT), random_heads(allowed_TT, SPREADS["random 1"], seed)
    return {
        name: float(value_H.mean()) if name in ("symmetry", "balance") else even[name]
        for name, value_H in drawn.items()
    }


@dataclass
class Chances:
    """The same for many matrices, worked out once for each mask."""

    seed: int
    _known: dict[bytes, dict[str, float]] = field(default_factory=dict)

    def under(self, allowed_TT: Tensor) -> dict[str, float]:
        key = allowed_TT.numpy().tobytes()
        if key not in self._known:
            self._known[key] = chances(allowed_TT, self.seed)
        return self._known[key]


def random_heads(allowed_TT: Tensor, spread: float, seed: int) -> dict[str, Tensor]:
    """Measures of heads whose logits are noise of a standard deviation."""
    generator = np.random.default_rng(seed)
    noise_HTT = torch.from_numpy(generator.standard_normal((DRAWS, *allowed_TT.shape)))
    logits_HTT = (spread * noise_HTT).masked_fill(~allowed_TT, -torch.inf)
    return measures(logits_HTT.softmax(-1), allowed_TT)


def baselines(allowed_TT: Tensor, seed: int) -> dict[str, dict[str, object]]:
    """What heads that know nothing get: even attention, and noise of two strengths, the mean and standard deviation."""
    even = even_levels(allowed_TT)
    found: dict[str, dict[str, object]] = {"uniform": {name: even[name] for name in asked(allowed_TT)}}
    for name, spread in SPREADS.items():
        drawn = random_heads(allowed_TT, spread, seed)
        found[name] = {measure: float(value_H.mean()) for measure, value_H in drawn.items()}
        found[name]["sd"] = {measure: float(value_H.std(correction=0)) for measure, value_H in drawn.items()}
    return found


def both_ways(n: int) -> Tensor:
    """allowed_TT of n tokens that all see each other."""
    return torch.ones(n, n, dtype=torch.bool)


def _rows(attention_HTT: Tensor, allowed_TT: Tensor) -> Rows:
    slots_T = torch.arange(len(allowed_TT))
    return Rows(attention_HTT, slots_T, allowed_TT, slots_T)

"""Locality and symmetry of the positional part: whole attention matrices, in which position alone decides.

The matrices come from four sources, and each is measured in six ways; the names of the scores say source and measure.
What a text adds to its positional part is measured in the same ways, and called contextual.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from wherewhat.scores.base import POSITIONAL_PART, PerRow, Rows, Score, weighted_mean
from wherewhat.scores.chance import uniform
from wherewhat.scores.locality import locality
from wherewhat.scores.symmetry import balance, left_right_bias, symmetry

CHEN = "Chen, Varoquaux and Suchanek 2023, arXiv 2310.12864"
COPIES = 64  # of a word in a probing text, unless the settings say otherwise
DRAWS = 20  # matrices of random logits
SPREADS = {"random .02": 0.02, "random 1": 1.0}  # standard deviations of their logits
TINY = 1e-30


def off_diagonal_locality(rows: Rows) -> PerRow:
    """Locality of the attention to other tokens: 1 looks only at direct neighbours, half as much one step further.

    A row that attends to nothing but itself gets 0, and so does one that sees nothing else.
    """
    away_QK = rows.offsets_QK.abs()
    others_HQK = rows.attention_HQK * (away_QK > 0)
    near_HQ = (others_HQK * torch.exp2(1.0 - away_QK)).sum(-1)
    return near_HQ / others_HQK.sum(-1).clamp_min(TINY), torch.ones_like(near_HQ)


OF_ROWS: dict[str, Callable[[Rows], PerRow]] = {
    "locality": locality,
    "off_diagonal_locality": off_diagonal_locality,
    "symmetry": symmetry,
    "balance": balance,
    "left_right_bias": left_right_bias,
}
MEASURES = ("locality", "excess", "off_diagonal_locality", "symmetry", "balance", "left_right_bias")
ONE_SIDED = MEASURES[:3]  # those that are defined where a mask hides one side


def measures(attention_HTT: Tensor, allowed_TT: Tensor) -> dict[str, Tensor]:
    """Every measure that is defined under the mask, value_H. Rows are divided by their sums first."""
    attention_HTT = attention_HTT.double() * allowed_TT
    rows = _rows(attention_HTT / attention_HTT.sum(-1, keepdim=True).clamp_min(TINY), allowed_TT)
    values = {name: weighted_mean(*measure(rows), rows.text_Q)[:, 0] for name, measure in OF_ROWS.items()}
    even = even_levels(allowed_TT)["locality"]
    values["excess"] = (values["locality"] - even) / (1 - even)
    return {name: values[name] for name in measures_under(allowed_TT)}


def measures_under(allowed_TT: Tensor) -> tuple[str, ...]:
    """The measures that are defined under a mask: comparing sides needs both."""
    return MEASURES if torch.equal(allowed_TT, allowed_TT.T) else ONE_SIDED


def even_levels(allowed_TT: Tensor) -> dict[str, float]:
    """What uniform attention over the allowed keys gets, whatever the mask."""
    rows = uniform(_rows(torch.zeros(1, *allowed_TT.shape, dtype=torch.float64), allowed_TT), [])
    near = {
        name: float(weighted_mean(*OF_ROWS[name](rows), rows.text_Q)) for name in ("locality", "off_diagonal_locality")
    }
    return {**near, "excess": 0.0, "symmetry": 1.0, "balance": 1.0, "left_right_bias": 0.0}


def paired_mass(attention_HTT: Tensor) -> Tensor:
    """mass_H: the share of attention on keys with a counterpart across the query, all that balance and bias use."""
    pairs = _rows(attention_HTT.double(), torch.ones(attention_HTT.shape[1:], dtype=torch.bool)).pairs
    return pairs.mass_HQ.mean(-1)


def even_both_ways(n: int) -> float:
    """Locality of uniform attention in closed form, for n tokens that all see each other: nearly 3 / n.

    >>> round(even_both_ways(64), 6)
    0.045898
    """
    return float((3 * n - 4 + 2.0 ** (2 - n)) / n**2)


def even_causal(n: int) -> float:
    """The same for n tokens under a causal mask.

    >>> round(even_causal(64), 6)
    0.126586
    """
    return sum((2 - 2.0**-i) / (i + 1) for i in range(n)) / n


@dataclass
class ChanceLevels:
    """Chance levels of the measures, computed once per mask: uniform attention, or random logits for symmetry."""

    seed: int
    _known: dict[bytes, dict[str, float]] = field(default_factory=dict)

    def under(self, allowed_TT: Tensor) -> dict[str, float]:
        """By measure, what an uninformed head gets under a mask."""
        key = allowed_TT.numpy().tobytes()
        if key not in self._known:
            even, drawn = even_levels(allowed_TT), random_heads(allowed_TT, SPREADS["random 1"], self.seed)
            self._known[key] = {
                name: float(value_H.mean()) if name in ("symmetry", "balance") else even[name]
                for name, value_H in drawn.items()
            }
        return self._known[key]


def random_heads(allowed_TT: Tensor, spread: float, seed: int) -> dict[str, Tensor]:
    """Measures of heads whose logits are noise of a standard deviation."""
    generator = np.random.default_rng(seed)
    noise_HTT = torch.from_numpy(generator.standard_normal((DRAWS, *allowed_TT.shape)))
    logits_HTT = (spread * noise_HTT).masked_fill(~allowed_TT, -torch.inf)
    return measures(logits_HTT.softmax(-1), allowed_TT)


def baselines(allowed_TT: Tensor, seed: int) -> dict[str, dict[str, float | dict[str, float]]]:
    """What uninformed heads get: uniform attention, and the mean and standard deviation of noise of two strengths."""
    even, defined = even_levels(allowed_TT), measures_under(allowed_TT)
    levels: dict[str, dict[str, float | dict[str, float]]] = {"uniform": {name: even[name] for name in defined}}
    for name, spread in SPREADS.items():
        drawn = random_heads(allowed_TT, spread, seed)
        levels[name] = {measure: float(value_H.mean()) for measure, value_H in drawn.items()}
        levels[name]["sd"] = {measure: float(value_H.std(correction=0)) for measure, value_H in drawn.items()}
    return levels


def both_ways(n: int) -> Tensor:
    """allowed_TT of n tokens that all see each other."""
    return torch.ones(n, n, dtype=torch.bool)


def _rows(attention_HTT: Tensor, allowed_TT: Tensor) -> Rows:
    slots_T = torch.arange(len(allowed_TT))
    return Rows(attention_HTT, slots_T, allowed_TT, slots_T)


SOURCES = {  # of matrices: how position is made to decide alone
    "identical": "in texts of one repeated word",
    "unmasked": "in texts of one repeated word, with the causal mask removed",
    "delta": "from the model's explicit position terms",
    "mean": "from the mean vector of each slot over texts",
}
CONTEXTUAL = "contextual"
_READING = {  # by measure: what it asks, what its ends mean, and its chance level
    "locality": (
        "how near does the head look",
        "Far away or evenly spread: uniform attention over n tokens gets about 3/n.",
        "Only the token itself.",
        "uniform",
    ),
    "excess": (
        "how much nearer than uniform attention does the head look",
        "0 is uniform attention; below 0 the head avoids nearby tokens.",
        "Only the token itself.",
        "uniform",
    ),
    "off_diagonal_locality": (
        "how near does the head look, leaving out the token itself",
        "Far away or evenly spread, or only the token itself.",
        "Only direct neighbours; half for one step further.",
        "uniform",
    ),
    "symmetry": (
        "are left and right equal, as published",
        "Most distances differ about as much as the widest.",
        "Few distances differ much; noise gets 0.6 or more.",
        "random logits",
    ),
    "balance": (
        "do left and right get the same attention",
        "One side only.",
        "Left and right mirror each other, as they do in uniform attention.",
        "random logits",
    ),
    "left_right_bias": (
        "which side does the head prefer",
        "-1: only what comes later.",
        "1: only what came before. 0 is neither side.",
        "neither side",
    ),
}


def _score(source: str, measure: str, *, contextual: bool = False) -> Score:
    asks, low, high, chance = _READING[measure]
    how = f"Without its positional part ({SOURCES[source]})" if contextual else f"Position alone, {SOURCES[source]}"
    published = measure in ("locality", "symmetry") and not contextual
    return Score(
        name=f"{source}.{CONTEXTUAL}.{measure}" if contextual else f"{source}.{measure}",
        kind=POSITIONAL_PART,
        asks=f"{how}: {asks}?",
        low=low,
        high=high,
        paper=CHEN if published else f"wherewhat; after {CHEN}",
        chance=chance,
        range=range_of(measure, COPIES),
    )


def range_of(measure: str, n: int) -> tuple[float, float]:
    """The lowest and the highest value of a measure over n slots."""
    even = even_both_ways(n)
    return {"excess": (-even / (1 - even), 1.0), "left_right_bias": (-1.0, 1.0)}.get(measure, (0.0, 1.0))


POSITIONAL_SCORES = (
    *(_score(source, measure) for source in SOURCES for measure in MEASURES),
    *(_score(source, measure, contextual=True) for source in SOURCES if source != "unmasked" for measure in MEASURES),
)

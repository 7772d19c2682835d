"""A bell curve of distance by itself: its locality and symmetry, and the w that gives a locality."""

import math
from collections.abc import Mapping
from functools import cache

import torch
from scipy.optimize import brentq
from torch import Tensor

from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context
from wherewhat.errors import UserError
from wherewhat.scores.positional_part import measures

FLATTEST, STEEPEST = 1e-7, 50.0  # the range of w that is searched
MEASURES = ("locality", "balance", "symmetry")


@cache
def curve_measures(w: float, s: float, *, n: int, causal: bool = False) -> Mapping[str, float]:
    """Locality, balance and symmetry of the attention that the curve alone gives over n tokens.

    Balance and symmetry compare the two sides; a causal query has only one, so only its locality is returned.

    >>> {name: round(value, 6) for name, value in curve_measures(0.5, 1.0, n=64).items()}
    {'locality': 0.672897, 'balance': 1.0, 'symmetry': 1.0}
    """
    context = Context.of(n, causal=causal)
    by_measure = measures(_attention(w, s, context), context.allowed_BHQK[0, 0])
    return {name: float(by_measure[name][0]) for name in MEASURES if name in by_measure}


def w_for(target: float, *, n: int, s: float = 1.0) -> float:
    """The w at which a curve over n tokens has this locality, to three digits; the curve is symmetric by default.

    >>> w_for(0.672897, n=64)
    0.5
    """
    ends = [curve_measures(w, s, n=n)["locality"] for w in (FLATTEST, STEEPEST)]
    if not ends[0] < target < ends[1]:
        raise UserError(f"no curve over {n} tokens has locality {target}; give one from {ends[0]:.4f} to {ends[1]:.4f}")
    log_w = brentq(
        lambda log_w: curve_measures(math.exp(log_w), s, n=n)["locality"] - target,
        math.log(FLATTEST),
        math.log(STEEPEST),
        xtol=1e-6,
    )
    return float(f"{math.exp(log_w):.3g}")


def _attention(w: float, s: float, context: Context) -> Tensor:
    """attention_HTT of one head without content."""
    n = context.allowed_BHQK.shape[-1]
    zeros_BHTC = torch.zeros(1, 1, n, 1, dtype=torch.float64)
    bias_BHQK = Attenuated(heads=1, length=n, w=w, s=s, inject="log").bias(zeros_BHTC, zeros_BHTC, context)
    return bias_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf).softmax(-1)[0]

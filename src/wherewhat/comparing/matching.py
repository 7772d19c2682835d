"""From how unlike every two heads are to which heads are each other's: nearest, and one to one."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment

MOST_PAIRS = 1 << 15  # of heads, up to which texts are drawn again: pairing many heads a thousand times takes too long
Apart = np.ndarray  # divergence of every head of one model (rows) with every head of another (columns)


def nearest(apart_HH: Apart) -> float:
    """The two heads that are most alike: how far apart they are."""
    return float(apart_HH.min())


def found_there(apart_HH: Apart) -> float:
    """How far a head of the first is from the head of the other that is nearest to it, on average."""
    return float(apart_HH.min(1).mean())


def found_here(apart_HH: Apart) -> float:
    """The same from the other side."""
    return float(apart_HH.min(0).mean())


def one_to_one(apart_HH: Apart) -> float:
    """How far heads are apart when each has a partner of its own, paired so that it is least in all."""
    return float(apart_HH[linear_sum_assignment(apart_HH)].mean())


SUMMARIES: dict[str, Callable[[Apart], float]] = {
    "min": nearest,
    "match": found_there,
    "match back": found_here,
    "one to one": one_to_one,
}


def partners(apart_HH: Apart) -> list[tuple[int, int]]:
    """The best pairing, each head of the smaller model with one of its own; the nearest pairs first."""
    rows, columns = linear_sum_assignment(apart_HH)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (float(apart_HH[pair]), pair))


def summarised(apart_NHH: np.ndarray, *, seed: int) -> dict[str, dict[str, float | None]]:
    """Every summary of the mean over texts, with its interval: texts are drawn again, then reduced over heads."""
    texts, pairs = len(apart_NHH), apart_NHH[0].size
    whole_HH = apart_NHH.mean(0)
    told: dict[str, dict[str, float | None]] = {
        name: {"value": reduce(whole_HH), "low": None, "high": None} for name, reduce in SUMMARIES.items()
    }
    if texts < 2 or pairs > MOST_PAIRS:
        return told
    from wherewhat.profiling.accumulate import (  # brings torch, which a comparison of finished runs does without
        draws,
        interval,
    )

    again = [np.tensordot(count_N / texts, apart_NHH, axes=1) for count_N in draws(texts, seed)]
    for name, reduce in SUMMARIES.items():
        means = np.array([[reduce(one_HH)] for one_HH in again])
        low_H, high_H = interval(means, np.array([texts]))
        told[name] |= {"low": float(low_H[0]), "high": float(high_H[0])}
    return told

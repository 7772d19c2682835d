"""Locality and symmetry of one whole attention matrix: the published per-element Python beside ours."""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.scores.base import Rows, weighted_mean
from wherewhat.scores.locality import locality
from wherewhat.scores.symmetry import symmetry

CALLS = 50  # of ours in one timing: a single one is too short to time


def attention(n: int = 512, *, seed: int = 0, dtype: type[np.floating] = np.float32) -> np.ndarray:
    """An n x n attention matrix of random logits, in the dtype models give it."""
    odds = np.exp(np.random.default_rng(seed).standard_normal((n, n)))
    return (odds / odds.sum(1, keepdims=True)).astype(dtype)


def published(matrix: np.ndarray) -> tuple[float, float]:
    """Element by element, the way the released code does it (without its scaler, which would only cost more)."""
    n = len(matrix)
    tiny = 10 * np.finfo(matrix.dtype).eps
    near: list[float] = []
    scaled: list[float] = []
    for i in range(n):
        row = matrix[i]
        factors = [1 / 2 ** abs(i - j) for j in range(n)]
        near.append(sum([row[j] * factors[j] for j in range(n)]))
        differences = [abs(row[i - k] - row[i + k]) for k in range(1, min(i, n - 1 - i) + 1)]
        if differences:
            least = min(differences)
            span = max(differences) - least
            scaled.extend([(difference - least) / span if span >= tiny else 0.0 for difference in differences])
    return float(sum(near) / n), float(1 - sum(scaled) / len(scaled))


def ours(matrix: np.ndarray) -> tuple[float, float]:
    """The same two numbers from the scores of this package, every row of the matrix a row."""
    n = len(matrix)
    slots = torch.arange(n)
    rows = Rows(torch.from_numpy(matrix)[None], slots, torch.ones(n, n, dtype=torch.bool), slots)
    return weighted_mean(*locality(rows)).item(), weighted_mean(*symmetry(rows)).item()


def measure(repeats: int) -> Iterator[Measurement]:
    """How many times faster, and how far apart the two answers are."""
    matrix = attention()
    apart = max(abs(one - other) for one, other in zip(ours(matrix), published(matrix), strict=True))
    pairs = side_by_side(lambda: [ours(matrix) for _ in range(CALLS)], lambda: published(matrix), repeats=repeats)
    ratios = tuple(slow / quick * CALLS for quick, slow in pairs)
    note = f"answers {apart:.0e} apart"
    yield Measurement("locality and symmetry, n = 512: times faster", ratios, 500, at_least=True, note=note)

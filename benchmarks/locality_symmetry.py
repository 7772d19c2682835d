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
    """Element by element, step by step as the released code goes; its scaler by numpy, which is kinder to it."""
    n = len(matrix)
    tiny = 10 * np.finfo(matrix.dtype).eps
    localities: list[float] = []
    scaled: list[float] = []
    for i in range(n):
        fading = [1 / 2 ** abs(j - i) for j in range(n)]
        localities.append(sum([matrix[i][j] * fading[j] for j in range(n)]))
        pairs = min(i, n - 1 - i)
        if pairs:
            left, right = matrix[i][i - pairs : i], list(reversed(matrix[i][i + 1 : i + 1 + pairs]))
            column = np.array([abs(left[k] - right[k]) for k in range(pairs)]).reshape(-1, 1)
            span = column.max(0) - column.min(0)
            scaled.extend([value[0] for value in (column - column.min(0)) / np.where(span < tiny, 1, span)])
    return float(sum(localities) / n), float(1 - sum(scaled) / len(scaled))


def ours(matrix: np.ndarray) -> tuple[float, float]:
    """The same two numbers from the scores of this package, every row of the matrix a row."""
    n = len(matrix)
    slots = torch.arange(n)
    rows = Rows(torch.from_numpy(matrix)[None], slots, torch.ones(n, n, dtype=torch.bool), slots)
    return weighted_mean(*locality(rows)).item(), weighted_mean(*symmetry(rows)).item()


def measure(repeats: int) -> Iterator[Measurement]:
    """How many times faster, and how far apart the two answers are."""
    matrix, threads = attention(), torch.get_num_threads()
    torch.set_num_threads(1)  # as the published Python has; a second one would only wait on so small a matrix
    apart = max(abs(one - other) for one, other in zip(ours(matrix), published(matrix), strict=True))
    pairs = side_by_side(lambda: [ours(matrix) for _ in range(CALLS)], lambda: published(matrix), repeats=repeats)
    torch.set_num_threads(threads)
    ratios = tuple(slow / quick * CALLS for quick, slow in pairs)
    note = f"answers {apart:.0e} apart"
    yield Measurement("locality and symmetry, n = 512: times faster", ratios, 500, at_least=True, note=note)

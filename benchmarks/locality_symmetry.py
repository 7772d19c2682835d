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


def ours(matrices: np.ndarray) -> list[tuple[float, float]]:
    """The same two numbers of every head from the scores of this package, every row of a matrix a row."""
    slots = torch.arange(matrices.shape[-1])
    rows = Rows(torch.from_numpy(matrices), slots, torch.ones(len(slots), len(slots), dtype=torch.bool), slots)
    near_HB, alike_HB = weighted_mean(*locality(rows), rows.text_Q), weighted_mean(*symmetry(rows), rows.text_Q)
    return list(zip(near_HB[:, 0].tolist(), alike_HB[:, 0].tolist(), strict=True))


def measure(repeats: int) -> Iterator[Measurement]:
    """A layer of heads, which ours takes at once and the published code one by one; and a single head alone."""
    for heads, bound in ((8, 500), (1, None)):
        matrices = np.stack([attention(seed=seed) for seed in range(heads)])
        theirs = [published(matrix) for matrix in matrices]
        apart = np.abs(np.array(ours(matrices)) - np.array(theirs)).max()
        pairs = side_by_side(
            lambda matrices=matrices: [ours(matrices) for _ in range(CALLS)],
            lambda matrices=matrices: [published(matrix) for matrix in matrices],
            repeats=repeats,
        )
        ratios = tuple(slow / quick * CALLS for quick, slow in pairs)
        name = f"locality and symmetry, n = 512, {heads} head{'s' if heads > 1 else ''}: times faster"
        yield Measurement(name, ratios, bound, at_least=True, note=f"answers {apart:.0e} apart")

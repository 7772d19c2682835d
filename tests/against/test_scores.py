"""Scores against implementations that share nothing with ours: numpy for locality and symmetry, torch for entropy."""

import numpy as np
import pytest
import torch

from wherewhat.scores.base import Rows, weighted_mean
from wherewhat.scores.entropy import entropy
from wherewhat.scores.locality import locality
from wherewhat.scores.symmetry import balance, symmetry

SHAPES = [(n, sd) for n in (3, 4, 9, 64, 131) for sd in (0.02, 1.0, 5.0)]


def random_matrix(n: int, sd: float) -> np.ndarray:
    odds = np.exp(sd * np.random.default_rng(n).standard_normal((n, n)))
    return odds / odds.sum(1, keepdims=True)


def rows_of(matrix: np.ndarray) -> Rows:
    slots = torch.arange(len(matrix))
    return Rows(torch.from_numpy(matrix)[None], slots, torch.ones(len(matrix), len(matrix), dtype=torch.bool), slots)


def matrix_locality(matrix: np.ndarray) -> float:
    """Diagonal by diagonal: all weights at distance d count 2^-d."""
    n = len(matrix)
    return sum(np.trace(matrix, offset) * 0.5 ** abs(offset) for offset in range(1 - n, n)) / n


def matrix_symmetry(matrix: np.ndarray) -> tuple[float, float]:
    """Published and robust, from the mirror image of each row about its diagonal."""
    n = len(matrix)
    slots = np.arange(n)
    mirrored = 2 * slots[:, None] - slots[None, :]
    inside = (mirrored >= 0) & (mirrored < n) & (slots[None, :] < slots[:, None])  # each pair once, by its left key
    image = np.take_along_axis(matrix, np.where(inside, mirrored, 0), axis=1)
    gap = np.ma.masked_array(np.abs(matrix - image), ~inside)
    span = np.ma.ptp(gap, axis=1)
    scaled = (gap - gap.min(axis=1)[:, None]) / np.ma.where(span < 10 * np.finfo(float).eps, np.inf, span)[:, None]
    return 1 - scaled.sum() / inside.sum(), 1 - gap.sum() / (matrix + image)[inside].sum()


@pytest.mark.parametrize(("n", "sd"), SHAPES)
def test_locality_equals_a_sum_over_diagonals(n: int, sd: float):
    matrix = random_matrix(n, sd)
    rows = rows_of(matrix)
    ours = weighted_mean(*locality(rows), rows.text_Q).item()
    theirs = matrix_locality(matrix)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("n", "sd"), SHAPES)
def test_symmetry_and_balance_equal_mirrored_rows(n: int, sd: float):
    matrix = random_matrix(n, sd)
    rows = rows_of(matrix)
    ours = [weighted_mean(*score(rows), rows.text_Q).item() for score in (symmetry, balance)]
    theirs = matrix_symmetry(matrix)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("sd", [0.02, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("causal", [False, True])
def test_entropy_equals_that_of_a_categorical_distribution(causal: bool, sd: float):
    generator = torch.Generator().manual_seed(0)
    queries_Q = torch.tensor([1, 5, 30, 63, 2])
    allowed_QK = torch.arange(64) <= queries_Q[:, None] if causal else torch.ones(5, 64, dtype=torch.bool)
    logits_HQK = sd * torch.randn(4, 5, 64, generator=generator, dtype=torch.float64)
    logits_HQK = logits_HQK.masked_fill(~allowed_QK, -1e300)
    rows = Rows(logits_HQK.softmax(-1), queries_Q, allowed_QK, torch.arange(64))
    ours, _ = entropy(rows)
    theirs = torch.distributions.Categorical(logits=logits_HQK).entropy() / allowed_QK.sum(-1).log()
    torch.testing.assert_close(ours, theirs.double(), rtol=1e-6, atol=1e-9)


def test_the_benchmarks_two_sides_agree():
    """What `make bench` times against each other computes the same thing."""
    import importlib.util
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "benchmarks" / "locality_symmetry.py"
    spec = importlib.util.spec_from_file_location("bench_locality_symmetry", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    for dtype in (np.float32, np.float64):
        matrix = bench.attention(96, seed=1, dtype=dtype)
        assert bench.ours(matrix[None]) == [pytest.approx(bench.published(matrix), abs=1e-6)]

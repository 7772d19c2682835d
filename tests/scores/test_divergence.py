"""How unlike the attention of two heads is: worked numbers, a plain loop, and what must hold of any two heads."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from wherewhat.comparing.head_pairs import SUMMARIES, best_pairing, summaries
from wherewhat.scores.entropy import divergence
from wherewhat.tables.manifest.scores import Distance

KNOWN = json.loads((Path(__file__).resolve().parents[1] / "vectors" / "probes.json").read_text())
CAUSAL = torch.ones(6, 6).tril().bool()


def named(name: str) -> Tensor:
    even = CAUSAL.double() / CAUSAL.sum(-1, keepdim=True)
    before = torch.diag(torch.ones(5, dtype=torch.float64), -1)
    before[0, 0] = 1
    given = torch.tensor(KNOWN["attention"], dtype=torch.float64)
    return {"attention": given, "uniform_causal": even, "perfect_previous": before}[name]


def heads(*names: str) -> Tensor:
    return torch.stack([named(name) for name in names])


def by_hand(p: list[float], q: list[float]) -> float:
    def part(x: float, y: float) -> float:
        return x * math.log2(2 * x / (x + y)) if x else 0.0

    return sum(part(x, y) + part(y, x) for x, y in zip(p, q, strict=True)) / 2


def drawn(seed: int, heads: int = 3, rows: int = 5, keys: int = 7) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(heads, rows, keys, generator=generator, dtype=torch.float64).mul(3).softmax(-1)


def test_the_worked_table_whose_first_row_counted_as_0():
    js = KNOWN["js"]
    ours = divergence(heads(*js["X"]), heads(*js["Y"]), CAUSAL)
    assert (ours * 5 / 6).numpy() == pytest.approx(np.array(js["matrix"]), abs=1e-12)
    whole = (ours * 5 / 6).numpy()
    assert SUMMARIES["min"](whole) == js["min_all"] != js["min_over_strict_upper_pairs"]
    assert whole.min(1) == pytest.approx(js["best_match_X"]) and whole.min(0) == pytest.approx(js["best_match_Y"])


def test_a_plain_loop_over_pairs_and_rows():
    first, other = drawn(1), drawn(2, heads=2)
    ours = divergence(first, other, torch.ones(5, 7).bool())
    for a, rows in enumerate(first.tolist()):
        for b, its in enumerate(other.tolist()):
            mean = sum(by_hand(p, q) for p, q in zip(rows, its, strict=True)) / len(rows)
            assert float(ours[a, b]) == pytest.approx(mean, abs=1e-12)


def test_only_keys_that_both_see_count_and_rows_that_see_one_do_not():
    first, other, seen = drawn(3), drawn(4), torch.ones(5, 7).bool()
    seen[:, 4:] = False
    seen[2] = torch.arange(7) == 0
    first[..., 4:] = 0.9  # whatever stands there
    kept = [0, 1, 3, 4]
    shares = [rows[:, kept, :4] / rows[:, kept, :4].sum(-1, keepdim=True) for rows in (first, other)]
    theirs = divergence(*shares, torch.ones(4, 4).bool())
    assert torch.allclose(divergence(first, other, seen), theirs, atol=1e-12)


def test_a_model_and_itself_are_0_apart_on_the_diagonal_and_alike_both_ways():
    ours = divergence(drawn(5), drawn(5), torch.ones(5, 7).bool())
    assert torch.equal(ours.diagonal(), torch.zeros(3, dtype=torch.float64)) and torch.allclose(ours, ours.T)
    assert (ours[~torch.eye(3).bool()] > 0.01).all()


def test_heads_that_never_meet_are_one_bit_apart_and_one_that_never_looks_says_nothing():
    left, right = torch.zeros(1, 2, 4).double(), torch.zeros(2, 2, 4).double()
    left[..., 0], right[0, :, 3] = 1, 1
    found = divergence(left, right, torch.ones(2, 4).bool())
    assert float(found[0, 0]) == 1 and math.isnan(float(found[0, 1]))


def test_heads_are_paired_one_to_one_so_that_it_is_least_in_all():
    apart = np.array([[0.1, 0.2, 0.9], [0.1, 0.8, 0.7]])
    assert best_pairing(apart) == [(1, 0), (0, 1)]
    whole = {name: reduce(apart) for name, reduce in SUMMARIES.items()}
    assert whole == {
        "min": 0.1,
        "match": pytest.approx(0.1),
        "match_back": pytest.approx((0.1 + 0.2 + 0.7) / 3),
        "one_to_one": pytest.approx(0.15),
    }


def test_intervals_draw_texts_again_and_one_text_has_none():
    tables = np.random.default_rng(0).random((8, 3, 4))
    distances = summaries(tables, seed=1)
    for distance in distances.values():
        assert distance.low < distance.high
    assert distances["match"].low < distances["match"].value < distances["match"].high
    assert distances == summaries(tables, seed=1) != summaries(tables, seed=2)
    assert summaries(tables[:1], seed=1)["min"] == Distance(value=tables[0].min())

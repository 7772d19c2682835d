"""The numbers worked out once, independently, for matrices that anyone can build again."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from score_rows import answer, by_hand, seeded, whole
from torch import Tensor

from wherewhat.scores.base import Rows
from wherewhat.scores.registry import ROW_SCORES as SCORES

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
KNOWN = json.loads((VECTORS / "locality_symmetry.json").read_text())
PROBES = json.loads((VECTORS / "probes.json").read_text())
NEAR = {"rel": 1e-9, "abs": 1e-9}


def distance(n: int) -> Tensor:
    return (torch.arange(n)[None, :] - torch.arange(n)[:, None]).abs().double()


def normalised(matrix: Tensor) -> Tensor:
    return matrix / matrix.sum(-1, keepdim=True)


def attenuated(n: int, w: float, s: float) -> Tensor:
    """exp(-w d^2) to the left and exp(-s w d^2) from the query on, rows normalised."""
    right = torch.arange(n)[None, :] >= torch.arange(n)[:, None]
    rate = w * torch.ones(n, n, dtype=torch.float64).masked_fill(right, s)
    return normalised(torch.exp(-rate * distance(n) ** 2))


def reference(name: str, n: int) -> Tensor:
    before = torch.ones(n, n, dtype=torch.float64).tril(-1)
    causal = torch.ones(n, n, dtype=torch.float64).tril()
    return {
        "identity": torch.eye(n, dtype=torch.float64),
        "uniform": torch.full((n, n), 1 / n, dtype=torch.float64),
        "alibi_two_sided_slope_0.5": torch.softmax(-0.5 * distance(n), -1),
        "alibi_causal_slope_0.5": normalised(torch.exp(-0.5 * distance(n)) * causal),
        "causal_uniform": normalised(causal),
        "left1_right3": normalised(before + 2 * torch.eye(n, dtype=torch.float64) + 3 * before.T),
        "previous_token_only": torch.diag(torch.ones(n - 1), -1).double() + torch.diag((torch.arange(n) == 0).double()),
    }[name]


def assert_measures(matrix: Tensor, known: dict) -> None:
    rows = whole(matrix)
    n = len(matrix)
    assert answer(SCORES["locality"], rows).item() == pytest.approx(known["loc"], **NEAR)
    assert answer(SCORES["symmetry"], rows).item() == pytest.approx(known["sym_published"], **NEAR)
    value_HQ, weight_HQ = SCORES["balance"].rows(rows)
    assert weight_HQ.sum().item() / n == pytest.approx(known["paired_mass"], **NEAR)
    assert SCORES["balance"].pool(
        value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64)
    ).item() == pytest.approx(known["sym_robust"], **NEAR)


def test_the_worked_example():
    known = KNOWN["worked_5x5"]
    rows = whole(torch.tensor(known["matrix"], dtype=torch.float64))
    assert_measures(rows.attention_HQK[0], known)
    assert SCORES["locality"].rows(rows)[0][0].tolist() == pytest.approx(known["row_loc"], **NEAR)
    for pair in known["pairs"]:
        row = pair["row"]
        value, weight = (x[0, row].item() for x in SCORES["symmetry"].rows(rows))
        assert weight == len(pair["left"])
        assert value == pytest.approx(1 - np.mean(pair["scaled"]), **NEAR)
        value, weight = (x[0, row].item() for x in SCORES["balance"].rows(rows))
        assert weight == pytest.approx(pair["sum_both"], **NEAR)
        assert value == pytest.approx(1 - pair["sum_abs"] / pair["sum_both"], **NEAR)
    assert SCORES["symmetry"].rows(rows)[1][0, [0, 4]].tolist() == [0, 0]


@pytest.mark.parametrize("name", KNOWN["reference_matrices"])
def test_reference_matrices(name: str):
    known = KNOWN["reference_matrices"][name]
    assert_measures(reference(name.rpartition("_")[0], known["n"]), known)


@pytest.mark.parametrize("known", KNOWN["attenuated"], ids=lambda known: f"n{known['n']} w{known['w']} s{known['s']}")
def test_attenuated_matrices(known: dict):
    assert_measures(attenuated(known["n"], known["w"], known["s"]), known)


def test_attenuated_five_by_five():
    known = KNOWN["attenuated_5x5"]
    for s, matrix, measures in ((1.0, "s1", "m_s1"), (0.5, "s_half", "m_s_half")):
        given = torch.tensor(known[matrix], dtype=torch.float64)
        torch.testing.assert_close(attenuated(5, known["w"], s), given, rtol=0, atol=1e-12)
        assert_measures(given, known[measures])


@pytest.mark.parametrize("known", KNOWN["random_baselines"]["values"], ids=lambda k: f"n{k['n']} sd{k['logit_sd']}")
def test_random_logits(known: dict):
    """Twenty draws as twenty heads."""
    n, generator = known["n"], np.random.default_rng(0)
    odds = np.exp(known["logit_sd"] * np.stack([generator.standard_normal((n, n)) for _ in range(known["draws"])]))
    rows = whole(torch.zeros(n, n, dtype=torch.float64))
    rows = Rows(normalised(torch.from_numpy(odds)), rows.queries_Q, rows.allowed_QK, rows.tokens_BK)
    for field, score in (("loc", "locality"), ("sym_published", "symmetry"), ("sym_robust", "balance")):
        value_H = answer(SCORES[score], rows)
        assert [value_H.mean().item(), value_H.std(correction=0).item()] == pytest.approx(known[field], **NEAR)


@pytest.mark.parametrize("causal", [False, True])
def test_chance_of_locality_is_the_closed_form(causal: bool):
    known = KNOWN["uniform_closed_form"]["causal_values" if causal else "values"]
    for n, value in known.items():
        rows = whole(torch.eye(int(n), dtype=torch.float64), mask="causal" if causal else "bidirectional")
        chance = SCORES["locality"].baseline(rows, seeded())
        assert answer(SCORES["locality"], chance).item() == pytest.approx(value, **NEAR)


@pytest.mark.parametrize("name", PROBES["scores"])
def test_head_scores_have_the_right_denominators(name: str):
    known = PROBES["scores"][name]
    tokens = ["abc".index(token) for token in PROBES["tokens"]]
    rows = whole(torch.tensor(PROBES["attention"], dtype=torch.float64), mask="causal", tokens=tokens)
    value_HQ, weight_HQ = SCORES[name].rows(rows)
    assert weight_HQ.sum().item() == known["rows"]
    assert SCORES[name].pool(
        value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64)
    ).item() == pytest.approx(known["mass"], **NEAR)
    assert answer(SCORES[name], SCORES[name].baseline(rows, seeded())).item() == pytest.approx(known["chance"], **NEAR)
    over_all_rows = torch.where(weight_HQ > 0, value_HQ, 0).mean().item()
    assert over_all_rows == pytest.approx(PROBES["all_rows_denominator"][name], **NEAR)


def test_a_perfect_previous_token_head_scores_one():
    rows = by_hand(lambda i, j: j == i - 1, mask="causal", keys=6)
    value_HQ, weight_HQ = SCORES["previous"].rows(rows)
    assert weight_HQ.sum().item() == PROBES["perfect_previous"]["ours"]["rows"]
    assert (
        SCORES["previous"].pool(value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64)).item()
        == PROBES["perfect_previous"]["ours"]["mass"]
    )
    over_all_rows = torch.where(weight_HQ > 0, value_HQ, 0).mean().item()
    assert over_all_rows == pytest.approx(PROBES["perfect_previous"]["all_rows"], **NEAR)

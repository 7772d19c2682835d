"""Locality and symmetry of whole matrices: known numbers, plain loops, and what is wrong with the published ones."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.disentangled import DisentangledLogits
from wherewhat.profiling.positional_part.attention_matrix import (
    AttentionMatrix,
    PositionalMatrix,
    groups_for,
    numpy_measures,
    softmax_of,
)
from wherewhat.profiling.positional_part.mean_vectors import _table_matrix, without_positional
from wherewhat.scores.positional_part import (
    MEASURES,
    ONE_SIDED,
    ChanceLevels,
    baselines,
    both_ways,
    even_both_ways,
    even_causal,
    even_levels,
    measures,
    measures_under,
    paired_mass,
    random_heads,
)

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
KNOWN = json.loads((VECTORS / "positional_part.json").read_text())
LEVELS = json.loads((VECTORS / "locality_symmetry.json").read_text())
FIELDS = {
    "locality": "loc",
    "symmetry": "sym_published",
    "balance": "sym_robust",
    "left_right_bias": "lean",
    "excess": "loc_excess",
}
EXPLICIT = ("explicit_bert", "explicit_xlnet", "explicit_deberta_released", "explicit_deberta_paper_sign")


def of(matrix: Tensor, allowed_TT: Tensor | None = None) -> dict[str, float]:
    allowed_TT = both_ways(len(matrix)) if allowed_TT is None else allowed_TT
    return {name: float(value_H[0]) for name, value_H in measures(matrix[None], allowed_TT).items()}


def those_known(found: dict[str, float]) -> dict[str, float]:
    return {measure: found[measure] for measure in FIELDS}


def causal(n: int) -> Tensor:
    return both_ways(n).tril()


def normalised(matrix: Tensor) -> Tensor:
    return matrix / matrix.sum(-1, keepdim=True)


def away(n: int) -> Tensor:
    return (torch.arange(n)[None] - torch.arange(n)[:, None]).abs().double()


def reference(name: str, n: int) -> Tensor:
    left, lower = torch.ones(n, n).double().tril(-1), torch.ones(n, n).double().tril()
    return {
        "identity": torch.eye(n).double(),
        "uniform": torch.ones(n, n).double() / n,
        "alibi_two_sided_slope_0.5": torch.softmax(-0.5 * away(n), -1),
        "alibi_causal_slope_0.5": normalised(torch.exp(-0.5 * away(n)) * lower),
        "causal_uniform": normalised(lower),
        "left1_right3": normalised(left + 2 * torch.eye(n) + 3 * left.T),
        "previous_token_only": torch.diag(torch.ones(n - 1), -1).double() + torch.diag((torch.arange(n) == 0).double()),
    }[name]


def by_loops(matrix: np.ndarray) -> dict[str, float]:
    """Every measure, pair by pair."""
    n = len(matrix)
    near = sum(matrix[i, j] / 2 ** abs(i - j) for i in range(n) for j in range(n)) / n
    scaled = diff = both = signed = count = 0.0
    for i in range(1, n - 1):
        pairs = [(matrix[i, i - k], matrix[i, i + k]) for k in range(1, min(i, n - 1 - i) + 1)]
        gaps = [abs(left - right) for left, right in pairs]
        span = max(gaps) - min(gaps)
        scaled += sum((gap - min(gaps)) / span for gap in gaps) if span >= 10 * np.finfo(float).eps else 0.0
        count += len(gaps)
        diff += sum(gaps)
        both += sum(left + right for left, right in pairs)
        signed += sum(left - right for left, right in pairs)
    even = sum(2.0 ** -abs(i - j) / n for i in range(n) for j in range(n)) / n
    beyond = 0.0
    for i in range(n):
        others = [(abs(i - j), matrix[i, j]) for j in range(n) if j != i]
        total = sum(mass for _, mass in others)
        beyond += sum(2.0 ** (1 - away) * mass for away, mass in others) / total / n if total else 0.0
    found = {"locality": near, "excess": (near - even) / (1 - even), "symmetry": 1 - scaled / count}
    return found | {"off_diagonal_locality": beyond, "balance": 1 - diff / both, "left_right_bias": signed / both}


@pytest.mark.parametrize("name", KNOWN["reference_matrices"])
def test_reference_matrices(name: str):
    known = KNOWN["reference_matrices"][name]
    found = of(reference(name.rpartition("_")[0], known["n"]))
    assert those_known(found) == pytest.approx({measure: known[field] for measure, field in FIELDS.items()}, abs=1e-12)


def test_the_worked_example():
    known = KNOWN["worked_5x5"]
    found = of(torch.tensor(known["matrix"], dtype=torch.float64))
    assert those_known(found) == pytest.approx({measure: known[field] for measure, field in FIELDS.items()}, abs=1e-12)
    assert found["left_right_bias"] == pytest.approx(0.172414, abs=1e-6)


@pytest.mark.parametrize("n", [3, 4, 9, 70])
def test_measures_equal_plain_loops(n: int):
    generator = torch.Generator().manual_seed(n)
    for spread in (0.01, 1.0, 4.0):
        matrix = (spread * torch.randn(n, n, generator=generator, dtype=torch.float64)).softmax(-1)
        assert of(matrix) == pytest.approx(by_loops(matrix.numpy()), abs=1e-11)
        assert abs(of(matrix)["left_right_bias"]) <= 1 - of(matrix)["balance"] + 1e-12


@pytest.mark.parametrize("name", EXPLICIT)
def test_measures_of_explicit_positions(name: str):
    known = KNOWN[name]
    attention = softmax_of(torch.tensor(known["logits"], dtype=torch.float64), both_ways(5))
    torch.testing.assert_close(attention, torch.tensor(known["delta"], dtype=torch.float64), atol=1e-12, rtol=0)
    assert those_known(of(attention)) == pytest.approx(
        {measure: known[field] for measure, field in FIELDS.items()}, abs=1e-12
    )


def grid(rows: int, columns: int, what) -> Tensor:
    return torch.tensor([[what(r, c) for c in range(columns)] for r in range(rows)], dtype=torch.float64)


def fed(logits_TT: Tensor) -> AttentionMatrix:
    attention_HTT = logits_TT.softmax(-1)[None]
    return AttentionMatrix(
        AttentionSite("encoder", 0, "a"), 0, attention_HTT, both_ways(len(logits_TT)), logits_TT[None], True, True
    )


def table_fed(bend: float = 0.0) -> list[AttentionMatrix]:
    """A table of positions read by weights with biases, as it is, turned round, doubled, and not at all."""
    rows = grid(5, 4, lambda t, c: math.sin(0.8 * t + 0.9 * c))
    asks = grid(4, 2, lambda r, c: math.cos(1 + r + 2 * c))
    told = grid(4, 2, lambda r, c: math.sin(0.5 + 2 * r - c))
    biases = torch.tensor([[0.3, -2.0], [1.5, 0.7]], dtype=torch.float64)

    def logits(times: float) -> Tensor:
        query, key = times * rows @ asks + biases[0], times * rows @ told + biases[1]
        return (query + bend * query.tanh()) @ key.T / math.sqrt(2)

    return [fed(logits(times)) for times in (0.0, 1.0, -1.0, 2.0, -2.0)]


def test_a_table_is_read_without_the_biases_of_queries_and_keys():
    known, matrix = KNOWN["explicit_bert"], _table_matrix(table_fed())
    assert matrix is not None
    torch.testing.assert_close(
        matrix.log_HTT[0], torch.tensor(known["logits"], dtype=torch.float64), atol=1e-12, rtol=0
    )
    torch.testing.assert_close(
        matrix.attention_HTT[0], torch.tensor(known["delta"], dtype=torch.float64), atol=1e-12, rtol=0
    )


def test_a_table_that_is_not_read_linearly_is_left_out():
    assert _table_matrix(table_fed(bend=0.5)) is None


def test_relative_terms_of_one_query_are_those_of_the_worked_example():
    known = KNOWN["explicit_xlnet"]
    q, v = torch.tensor([[0.3, 0.2], [0.4, -0.1]], dtype=torch.float64)
    wave = lambda x: torch.tensor([math.cos(0.5 * x), math.sin(0.5 * x)], dtype=torch.float64)  # noqa: E731
    slot_HQK = torch.stack([torch.stack([(q + v) @ wave(i - j) for j in range(5)]) for i in range(5)])[None] / 2**0.5
    logits = AdditiveLogits(q.expand(1, 5, 2), torch.ones(1, 5, 2).double(), 2**-0.5, slot_HQK)
    attention = softmax_of(logits.actual_HQK, both_ways(5))[0]
    torch.testing.assert_close(attention, torch.tensor(known["delta"], dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("name", "sign"), [("explicit_deberta_released", 1), ("explicit_deberta_paper_sign", -1)])
def test_disentangled_terms_are_those_of_the_worked_example(name: str, sign: int):
    (q, k), scale = torch.tensor([[0.3, 0.2], [0.5, -0.4]], dtype=torch.float64), 6**-0.5
    lags = torch.arange(-4, 5).double()
    asked = torch.stack((torch.cos(0.5 * lags), torch.sin(0.5 * lags)), -1)
    toward = torch.stack((torch.sin(0.3 * sign * lags), torch.cos(0.3 * sign * lags)), -1)
    index_QK = torch.arange(5)[:, None] - torch.arange(5)[None] + 4
    slot_HQK = (asked[index_QK] @ q)[None] * scale
    logits = DisentangledLogits(q.expand(1, 5, 2), k.expand(1, 5, 2), scale, slot_HQK, toward[None] * scale, index_QK)
    attention = softmax_of(logits.actual_HQK, both_ways(5))[0]
    torch.testing.assert_close(attention, torch.tensor(KNOWN[name]["delta"], dtype=torch.float64), atol=1e-12, rtol=0)


def test_even_attention_in_closed_form():
    for n, value in LEVELS["uniform_closed_form"]["values"].items():
        assert even_both_ways(int(n)) == pytest.approx(value, abs=1e-12)
        assert even_levels(both_ways(int(n)))["locality"] == pytest.approx(value, abs=1e-12)
    for n, value in LEVELS["uniform_closed_form"]["causal_values"].items():
        assert even_causal(int(n)) == pytest.approx(value, abs=1e-12)
        assert even_levels(causal(int(n)))["locality"] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    "known",
    [one for one in LEVELS["random_baselines"]["values"] if one["logit_sd"] in (0.02, 1.0)],
    ids=lambda one: f"n{one['n']} sd{one['logit_sd']}",
)
def test_random_heads_are_those_of_the_table(known: dict):
    drawn = random_heads(both_ways(known["n"]), known["logit_sd"], 0)
    for name, field in (("locality", "loc"), ("symmetry", "sym_published"), ("balance", "sym_robust")):
        found = [float(drawn[name].mean()), float(drawn[name].std(correction=0))]
        assert found == pytest.approx(known[field], abs=1e-12)


def test_baselines_and_chance_tell_both_masks():
    told = baselines(both_ways(16), 0)
    assert set(told) == {"uniform", "random .02", "random 1"}
    assert told["uniform"] == pytest.approx(of(reference("uniform", 16)), abs=1e-12)
    assert set(told["random 1"]) == {*MEASURES, "sd"} and set(told["random 1"]["sd"]) == set(MEASURES)
    chance = ChanceLevels(0).under(both_ways(16))
    assert chance["locality"] == pytest.approx(even_both_ways(16), abs=1e-12)
    assert chance["excess"] == chance["left_right_bias"] == 0
    assert chance["balance"] == told["random 1"]["balance"] and chance["symmetry"] == told["random 1"]["symmetry"]
    under = baselines(causal(16), 0)
    assert set(under["uniform"]) == set(ChanceLevels(0).under(causal(16))) == set(ONE_SIDED)
    assert under["uniform"]["locality"] == pytest.approx(even_causal(16), abs=1e-12)


def test_one_side_is_not_compared_with_the_other_where_a_mask_hides_it():
    assert measures_under(both_ways(6)) == MEASURES and measures_under(causal(6)) == ONE_SIDED
    window = (torch.arange(6)[None] - torch.arange(6)[:, None]).abs() <= 2
    assert measures_under(window) == MEASURES
    assert of(reference("causal_uniform", 64), causal(64)) == pytest.approx(
        {
            "locality": 0.126586,
            "excess": 0,
            "off_diagonal_locality": by_loops(reference("causal_uniform", 64).numpy())["off_diagonal_locality"],
        },
        abs=1e-6,
    )


def test_rows_that_keep_some_attention_for_a_sink_are_measured_by_what_they_give():
    matrix = torch.randn(8, 8, generator=torch.Generator().manual_seed(0)).double().softmax(-1)
    assert of(0.3 * matrix) == pytest.approx(of(matrix), abs=1e-12)


# What is wrong with the published measures, each beside the one that does not have it ---------------------------------


@pytest.mark.parametrize("known", LEVELS["discontinuity"]["values"], ids=lambda known: str(known["eps"]))
def test_the_least_noise_ruins_published_symmetry_only(known: dict):
    i = torch.arange(64).double()
    bell = normalised(torch.exp(-0.1 * away(64) ** 2))
    found = of(bell + known["eps"] * torch.sin(3 * i[:, None] + 5 * i[None]) / 64)
    assert found["symmetry"] < 0.6 if known["eps"] else found["symmetry"] == 1
    assert found["balance"] > 0.997 and abs(found["left_right_bias"]) < 0.003


def test_a_constant_gap_is_invisible_to_published_symmetry_only():
    found = of(reference("left1_right3", 64))
    assert found["symmetry"] == pytest.approx(1) and found["balance"] == pytest.approx(0.5)
    assert found["left_right_bias"] == pytest.approx(-0.5)
    found = of(reference("causal_uniform", 64))
    assert (found["symmetry"], found["balance"], found["left_right_bias"]) == (1, 0, 1)


def test_a_single_pair_is_always_perfect_by_published_symmetry_only():
    found = of(torch.tensor(LEVELS["n3_flaw"]["matrix"], dtype=torch.float64))
    assert (found["symmetry"], found["balance"]) == (1, 0)


def test_published_symmetry_rises_with_peakedness_where_balance_falls():
    weak, strong = (random_heads(both_ways(64), spread, 0) for spread in (0.02, 3.0))
    assert strong["symmetry"].mean() > 0.85 > 0.7 > weak["symmetry"].mean() > 0.6
    assert strong["balance"].mean() < 0.1 and weak["balance"].mean() > 0.98


def test_of_even_attention_locality_depends_on_n_where_excess_does_not():
    for n in (14, 17):
        assert 0.16 < of(reference("uniform", n))["locality"] < 0.2
        assert of(reference("uniform", n))["excess"] == pytest.approx(0, abs=1e-12)


def test_locality_mixes_self_and_neighbour():
    assert of(torch.eye(16).double())["locality"] == 1
    assert of(reference("previous_token_only", 16))["locality"] == pytest.approx(0.53125)


def test_beyond_leaves_the_token_itself_out():
    assert of(torch.eye(16).double())["off_diagonal_locality"] == 0, "rows that look at nothing else count as 0"
    assert of(reference("previous_token_only", 16))["off_diagonal_locality"] == pytest.approx(15 / 16)
    noise = torch.randn(9, 9, generator=torch.Generator().manual_seed(3)).double().softmax(-1)
    assert of(noise + 5 * torch.eye(9))["off_diagonal_locality"] == pytest.approx(
        of(noise)["off_diagonal_locality"], abs=1e-12
    )
    assert of(noise + 5 * torch.eye(9))["locality"] > of(noise)["locality"] + 0.1
    level = by_loops(reference("uniform", 9).numpy())["off_diagonal_locality"]
    assert (
        ChanceLevels(0).under(both_ways(9))["off_diagonal_locality"]
        == pytest.approx(level)
        == baselines(both_ways(9), 0)["uniform"]["off_diagonal_locality"]
    )


def test_paired_mass_is_what_balance_rests_on():
    assert paired_mass(torch.eye(8)[None]).tolist() == [0]
    even = sum(2 * min(i, 7 - i) / 8 for i in range(8)) / 8
    assert paired_mass(torch.full((1, 8, 8), 1 / 8)).tolist() == pytest.approx([even])


def test_keys_of_which_nothing_is_known_stay_out_of_what_is_left():
    attention = torch.tensor([[[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.0, 0.5, 0.5]]])
    site = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]).double()
    whole = AttentionMatrix(AttentionSite("encoder", 0, "a"), 0, attention, both_ways(3), None, None, False)
    left = without_positional(whole, site.log())[0]
    torch.testing.assert_close(left, torch.tensor([[2 / 3, 1 / 3, 0], [1, 0, 0], [0, 0, 0]]).double())


# Intervals ------------------------------------------------------------------------------------------------------------


def some_matrices(count: int, spread: float) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    common = torch.randn(1, 2, 9, 9, generator=generator).double()
    return (common + spread * torch.randn(count, 2, 9, 9, generator=generator).double()).softmax(-1)


def test_intervals_are_the_jackknifes_with_students_t():
    each = some_matrices(5, 0.7)
    without = [torch.cat((each[:g], each[g + 1 :])).mean(0) for g in range(5)]
    others = [numpy_measures(one, both_ways(9)) for one in without]
    matrix = PositionalMatrix(each.mean(0), each.mean(0).log(), both_ways(9), 5, others)
    found = matrix.summaries(dict.fromkeys(MEASURES, 0.25))
    for name in MEASURES:
        values = np.array([measures(one, both_ways(9))[name].numpy() for one in without])
        error = np.sqrt(4 / 5 * ((values - values.mean(0)) ** 2).sum(0))
        reach = stats.t.ppf(0.975, 4) * error
        np.testing.assert_allclose(found[name].high_H - found[name].value_H, reach, atol=1e-12)
        np.testing.assert_allclose(found[name].value_H - found[name].low_H, reach, atol=1e-12)
        assert (found[name].chance_H == 0.25).all() and found[name].texts_H.tolist() == [5, 5]


def test_intervals_stay_inside_what_can_be_and_are_missing_where_nothing_varies():
    each = some_matrices(2, 3.0)
    others = [numpy_measures(one, both_ways(9)) for one in each.flip(0)]
    wide = PositionalMatrix(each.mean(0), each.mean(0).log(), both_ways(9), 2, others)
    for name, found in wide.summaries(dict.fromkeys(MEASURES, 0.0)).items():
        assert (found.high_H <= 1).all() and (found.low_H >= (-1 if name in ("left_right_bias", "excess") else 0)).all()
    bare = PositionalMatrix(each[0], each[0].log(), both_ways(9), 0)
    for found in bare.summaries(dict.fromkeys(MEASURES, 0.0)).values():
        assert np.isnan(found.low_H).all() and np.isnan(found.high_H).all() and np.isfinite(found.value_H).all()


def test_large_matrices_are_kept_in_fewer_groups():
    assert (groups_for(100, 64), groups_for(3, 64), groups_for(100, 200)) == (10, 3, 4)


def test_heads_that_lean_apart_are_balanced_together():
    left = reference("alibi_causal_slope_0.5", 16)
    matrix = PositionalMatrix(
        torch.stack((left, left.T.div(left.T.sum(-1, keepdim=True)))), left.log()[None], both_ways(16), 1
    )
    alone, together = matrix.summaries(dict.fromkeys(MEASURES, 0.0)), matrix.together()
    assert alone["balance"].value_H.max() < 1e-9 < 0.9 < together["balance"]
    assert abs(together["left_right_bias"]) < 0.05 and alone["left_right_bias"].value_H.tolist() == pytest.approx(
        [1, -1]
    )

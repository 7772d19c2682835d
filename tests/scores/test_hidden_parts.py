"""Moved tokens and means over texts, as pure functions: against plain loops, exact expectations and worked numbers."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import HIDDEN_STATE
from wherewhat.scores.input_level import (
    INPUT_SHARES,
    TokenSwaps,
    chance_shares,
    input_scores,
    latin_square,
    swap_orders,
    variances,
)
from wherewhat.scores.mean_parts import MEAN_SCORES, PARTS, HiddenSums, Sides, mean_parts, sides_of

EPS = torch.finfo(torch.float64).eps


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=generator(seed))


@pytest.mark.parametrize("size", [2, 3, 5, 32])
def test_a_latin_square_is_one(size: int):
    order_NS = latin_square(size, generator(size))
    everything = torch.arange(size)
    assert order_NS.shape == (size, size)
    assert all(torch.equal(line.sort().values, everything) for line in (*order_NS, *order_NS.T))


def test_a_swap_moves_two_and_no_more():
    pairs_P2 = torch.tensor([[1, 3], [0, 2]])
    assert swap_orders(pairs_P2, 4).tolist() == [[0, 3, 2, 1], [2, 1, 0, 3]]


def two_way(table: dict[tuple[int, int], float]) -> tuple[float, float, float]:
    """Position, symbol and the rest of a table by (content, slot), by plain loops."""
    contents, slots = sorted({k for k, _ in table}), sorted({j for _, j in table})
    grand = np.mean(list(table.values()))
    c = {j: np.mean([table[k, j] for k in contents]) for j in slots}
    r = {k: np.mean([table[k, j] for j in slots]) for k in contents}
    rest = [table[k, j] - r[k] - c[j] + grand for k in contents for j in slots]
    return (
        float(np.mean([(c[j] - grand) ** 2 for j in slots])),
        float(np.mean([(r[k] - grand) ** 2 for k in contents])),
        float(np.mean(np.square(rest))),
    )


@pytest.mark.parametrize("visible", [[0, 1, 2], [0, 2]])
def test_variances_are_those_of_the_table_filled_by_hand(visible: list[int]):
    order_NS = latin_square(3, generator(1))
    log_HNS = random(2, 3, 3) * 3 - 40
    found = variances(log_HNS[..., visible], order_NS[:, visible], EPS)
    for head in range(2):
        table = {}
        for run, slot in itertools.product(range(3), visible):
            mean = float(log_HNS[head, run, visible].mean())
            table[int(order_NS[run, slot]), slot] = float(log_HNS[head, run, slot]) - mean
        ours = [float(part_H[head]) for part_H in (found.position_H, found.symbol_H, found.other_H)]
        assert ours == pytest.approx(two_way(table), rel=1e-9)
        assert sum(ours) == pytest.approx(np.var(list(table.values())), rel=1e-12)


def test_a_normaliser_changes_nothing_and_run_means_leave_slots_and_contents_alone():
    order_NS = latin_square(4, generator(2))
    table_KS, shift_N1 = random(4, 4), random(4, 1, seed=1)
    log_NS = table_KS[order_NS, torch.arange(4)]
    one, other = (variances(x[None], order_NS, EPS) for x in (log_NS, log_NS + shift_N1))
    assert torch.allclose(one.total_H, other.total_H, rtol=1e-12)
    plain = two_way({(k, j): float(table_KS[k, j]) for k in range(4) for j in range(4)})
    assert [float(one.position_H), float(one.symbol_H)] == pytest.approx(plain[:2], rel=1e-9)
    assert float(one.other_H) < plain[2]


def test_slots_alone_and_contents_alone_are_told_apart():
    order_NS = latin_square(5, generator(3))
    value_S = random(5)
    by_slot = variances(value_S.expand(1, 5, 5), order_NS, EPS)
    by_content = variances(value_S[order_NS][None], order_NS, EPS)
    assert float(by_slot.position_H / by_slot.total_H) == pytest.approx(1, abs=1e-12)
    assert float(by_content.symbol_H / by_content.total_H) == pytest.approx(1, abs=1e-12)


def test_weights_that_differ_by_rounding_alone_add_nothing():
    log_HNS = torch.full((1, 4, 4), -3.5, dtype=torch.float64) + random(1, 4, 4) * 1e-7
    order_NS = latin_square(4, generator())
    assert float(variances(log_HNS, order_NS, torch.finfo(torch.float32).eps).total_H) == 0
    assert float(variances(log_HNS, order_NS, EPS).total_H) > 0


@pytest.mark.parametrize(("size", "seen"), [(4, 4), (7, 7), (6, 3), (5, 2), (2, 2)])
def test_chance_is_the_exact_expectation_of_independent_weights(size: int, seen: int):
    """A variance is a quadratic form, so its mean over independent entries is its sum over unit tables."""
    order_NS = latin_square(size, generator(4))[:, :seen]
    units = torch.eye(size * seen, dtype=torch.float64).view(-1, size, seen)
    found = variances(units, order_NS, EPS)
    parts = [float(part_H.sum() / found.total_H.sum()) for part_H in (found.position_H, found.symbol_H, found.other_H)]
    assert parts == pytest.approx(chance_shares(size, seen), abs=1e-12)


# Two frequencies, four keys, query slot 4: λ_s - λ_t and a[t, s] - a[s, t] of every swap, and weights' distances.
BEFORE = [-1.044497, -0.415078, -1.000603, 0.629419, 0.043893, -0.585526]
AFTER = [0.365327, -0.199764, -0.933266, -0.203078, 0.080940, 0.015227]
APART = [0.186173, 0.052001, 0.173838, 0.134172, 0.012335, 0.121837]
SCORES = {
    1e-4: (0.810501, 0.964215),
    1e-2: (0.853614, 0.897084),
    0.1: (0.924889, 0.891146),
    1.0: (0.945256, 0.917726),
    float("inf"): (0.947811, 0.921140),
}


@pytest.mark.parametrize("tau", SCORES)
def test_published_scores_have_the_worked_values(tau: float):
    swaps = TokenSwaps(*(torch.tensor([values], dtype=torch.float64) for values in (BEFORE, AFTER, APART)))
    ours = [float(score_H) for score_H in swaps.scores(tau)]
    assert ours == pytest.approx(SCORES[tau], abs=5e-6)  # six decimals were printed, and tau divides them


def test_cosines_are_those_of_the_weights_and_hold_where_weights_vanish():
    log_2P, moved_2P = random(2, 6) * 2, random(2, 6, seed=1) * 2
    apart_HP = torch.zeros(1, 6, dtype=torch.float64)
    swaps = TokenSwaps((log_2P[0] - log_2P[1])[None], (moved_2P[0] - moved_2P[1])[None], apart_HP)
    weight_2P, after_2P = log_2P.exp(), moved_2P.exp()
    cosine = torch.nn.functional.cosine_similarity
    theirs = [cosine(weight_2P, after_2P, 0, eps=0).mean(), cosine(weight_2P.flip(0), after_2P, 0, eps=0).mean()]
    assert [float(x) for x in swaps.scores(float("inf"))] == pytest.approx([float(x) for x in theirs], rel=1e-12)
    far = torch.tensor([[900.0, -900.0]])
    assert [float(x) for x in TokenSwaps(far, far, far.abs()).scores(1e-4)] == pytest.approx([1.0, 0.0], abs=1e-15)


def test_chance_of_a_swap_is_what_unrelated_swaps_give():
    before, after, apart = random(1, 5), random(1, 5, seed=1), random(1, 5, seed=2).abs()
    swaps = TokenSwaps(before, after, apart)
    expected = []
    for shift, sign in itertools.product(range(5), (1, -1)):
        expected += swaps_scores(TokenSwaps(before, sign * after.roll(shift, -1), apart))
    assert float(swaps.chance(0.1)) == pytest.approx(np.mean(expected), rel=1e-12)


def swaps_scores(swaps: TokenSwaps) -> list[float]:
    return [float(score_H) for score_H in swaps.scores(0.1)]


# Three texts of four slots in two dimensions.
W_Q, B_Q = torch.tensor([[1.0, 0.2], [-0.3, 0.8]], dtype=torch.float64), torch.tensor([0.1, -0.2], dtype=torch.float64)
W_K, B_K = torch.tensor([[0.6, -0.5], [0.4, 1.1]], dtype=torch.float64), torch.tensor([0.05, 0.3], dtype=torch.float64)
LOGIT_SHARES = {
    "const_pos": 0.3650407197424844,
    "const_con": 0.07162549311744157,
    "pos_pos": 0.5453647697206212,
    "pos_con": 0.05459063006846489,
    "con_pos": -0.060397883903120946,
    "con_con": 0.0237762712541088,
}
HIDDEN_SHARES = {"pos": 0.5141447893055344, "ctx": 0.3454151461731283, "resid": 0.14044006452133692}


def worked_hidden() -> Tensor:
    c, t, x = (torch.arange(n).double() for n in (3, 4, 2))
    wave_NTD = (0.9 * c[:, None, None] + 0.5 * t[:, None] + 1.7 * x).sin()
    return wave_NTD + t[:, None] * torch.tensor([0.3, -0.2], dtype=torch.float64)


def pooled(texts: list[Sides], allowed_TK: Tensor) -> tuple[Tensor, Tensor]:
    mean = Sides(
        torch.stack([text.query_HTC for text in texts]).mean(0),
        torch.stack([text.key_GTC for text in texts]).mean(0),
        texts[0].scale,
        texts[0].phase_TF,
    )
    found = [mean_parts(text, mean, allowed_TK) for text in texts]
    return sum(product for product, _ in found), sum(total for _, total in found)  # type: ignore[return-value]


def test_parts_of_logits_have_the_worked_values():
    x_NTD = worked_hidden()
    texts = [sides_of(AdditiveLogits((x_TD @ W_Q + B_Q)[None], (x_TD @ W_K + B_K)[None], 0.5**0.5)) for x_TD in x_NTD]
    earlier_TK = torch.ones(4, 4, dtype=torch.bool).tril(-1)
    earlier_TK[:2] = False
    product_6H, total_H = pooled(texts, earlier_TK)  # type: ignore[arg-type]
    assert float(total_H) == pytest.approx(1.8710042871230208, abs=1e-9)
    ours = dict(zip(PARTS, (product_6H / total_H)[:, 0].tolist(), strict=True))
    assert ours == pytest.approx(LOGIT_SHARES, abs=1e-9)


def test_parts_of_hidden_vectors_have_the_worked_values():
    sums = HiddenSums()
    sums.add(worked_hidden()[:2])
    sums.add(worked_hidden()[2:])
    ours = sums.shares()
    corrected = ours.pop("pos_corrected")
    assert ours == pytest.approx(HIDDEN_SHARES, abs=1e-9)
    assert corrected == pytest.approx(ours["pos"] - (1 - ours["pos"]) / 2, abs=1e-12)


def test_noise_correction_takes_away_what_few_texts_leave():
    sums = HiddenSums()
    sums.add(random(4, 500, 8))  # vectors that know nothing of their slots
    found = sums.shares()
    assert found["pos"] == pytest.approx(0.25, abs=0.02)
    assert found["pos_corrected"] == pytest.approx(0, abs=0.02)


def test_vectors_without_spread_have_no_shares():
    sums = HiddenSums()
    sums.add(torch.zeros(3, 4, 2))
    assert np.isnan(sums.shares()["pos"])


def brute_parts(text: list[np.ndarray], mean: list[np.ndarray], turns: list[np.ndarray], rows: range) -> np.ndarray:
    """Σ part · total of six parts and Σ total², every part written out as a centred row of complex products."""
    (query, key), (query_turn, turn) = text, turns
    constant = np.broadcast_to(mean[0].mean(0), query.shape)
    queries = [constant, mean[0] - constant, query - mean[0]]
    keys = [mean[1], key - mean[1]]
    sums = np.zeros(7)
    for i in rows:
        parts = []
        for q, k in itertools.product(queries, keys):
            row = np.array([np.sum(np.conj(q[i] * query_turn[i]) * k[j] * turn[j]).real for j in range(i)])
            parts.append(row - row.mean())
        total = sum(parts)
        sums += [*(part @ total for part in parts), total @ total]
    return sums


@pytest.mark.parametrize("growth", [0.0, 0.3])
def test_rotary_parts_turn_as_queries_and_keys_do_and_heads_share_keys(growth: float):
    """Also where queries grow as keys shrink."""
    slots, planes = 6, 2
    theta_F = torch.tensor([0.7, 0.05], dtype=torch.float64)
    phase_TF = torch.polar(torch.ones(slots, planes).double(), torch.arange(slots)[:, None] * theta_F)
    grow_T1 = (growth * torch.arange(slots, dtype=torch.float64))[:, None].exp()
    turns = phase_TF * grow_T1, phase_TF / grow_T1
    numbers = torch.complex(random(3, 3, slots, planes) + 1, random(3, 3, slots, planes, seed=1))
    texts = [
        RotaryLogits(text[:2], text[2:], turns[1], theta_F, torch.arange(slots), 0.5, turns[0] if growth else None)
        for text in numbers
    ]  # two heads, one group
    earlier_TK = torch.ones(slots, slots, dtype=torch.bool).tril(-1)
    product_6H, total_H = pooled([sides_of(text) for text in texts], earlier_TK)  # type: ignore[misc]
    mean = numbers.mean(0).numpy()
    for head in range(2):
        brute = sum(
            brute_parts([text[head], text[2]], [mean[head], mean[2]], [turn.numpy() for turn in turns], range(1, slots))
            for text in numbers.numpy()
        )
        ours = [*product_6H[:, head].tolist(), float(total_H[head])]
        assert ours == pytest.approx((brute / 4).tolist(), rel=1e-9, abs=1e-9)
    assert torch.allclose(product_6H.sum(0), total_H, rtol=1e-12)


def test_what_is_not_a_product_of_queries_and_keys_is_not_taken_apart():
    query_HTC, key_HTC = random(1, 3, 2), random(1, 3, 2, seed=1)
    assert sides_of(None) is None
    assert sides_of(AdditiveLogits(query_HTC, key_HTC, 1.0, slot_HQK=torch.zeros(1, 3, 3))) is None


def test_a_head_that_tells_no_keys_apart_has_no_parts():
    key_HTC = random(1, 1, 2) * (1 + random(1, 5, 2, seed=1) * 1e-15)  # the same but for rounding
    text = Sides(random(1, 5, 2), key_HTC, 1.0)
    product_6H, total_H = mean_parts(text, text, torch.ones(5, 5, dtype=torch.bool).tril(-1))
    assert float(total_H) == 0 and not product_6H.any()


def test_every_score_says_how_to_read_it():
    for about in (*INPUT_SHARES, *input_scores(1e-4), *MEAN_SCORES):
        assert all((about.asks, about.low, about.high, about.paper, about.chance)) and about.kind == HIDDEN_STATE
    assert {score.name for score in MEAN_SCORES} == {f"mean.{part}" for part in (*PARTS, "position")}

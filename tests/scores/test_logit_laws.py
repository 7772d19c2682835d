"""What must hold of positional and symbolic scores whatever the head, and what heads made by hand must get."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_tables import KINDS, turned, turns
from score_rows import MASKS, allowed, answer, narrow, random_rows, rows_of, seeded, with_logits
from torch import Tensor

from wherewhat.errors import InternalError
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.capped import CappedLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows
from wherewhat.scores.exact import _check
from wherewhat.scores.frequencies import frequencies
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.scores.registry import published_scores
from wherewhat.scores.swaps import cosines, in_order

SHARES = ("position_share", "symbol_share", "interaction_share")
ANY = {
    "seed": st.integers(0, 10_000),
    "kind": st.sampled_from(KINDS),
    "mask": st.sampled_from(MASKS),
    "keys": st.integers(4, 14),
    "first": st.integers(0, 2),
}
some_rows = st.builds(
    lambda seed, kind, mask, keys, first: rows_of(kind, mask=mask, keys=keys, seed=seed, queries=3, first=first), **ANY
)


@settings(max_examples=40, deadline=None)
@given(some_rows)
def test_no_head_whose_logits_differ_is_both(rows: Rows):
    positional, symbolic, variance = (
        SCORES[name].rows(rows)[0] for name in ("exclusion_positional", "exclusion_symbolic", "logit_variance")
    )
    assert (variance <= (positional + symbolic) * (1 + 1e-12)).all()


@settings(max_examples=40, deadline=None)
@given(some_rows)
def test_shares_add_up_to_one(rows: Rows):
    for prefix in ("", "attended."):
        values, weights = zip(*(SCORES[prefix + share].rows(rows) for share in SHARES), strict=True)
        counts = weights[0] > 0
        torch.testing.assert_close(sum(values)[counts], torch.ones_like(values[0][counts]), rtol=0, atol=1e-12)
        assert all(torch.equal(weights[0], weight) for weight in weights)
        assert all((value >= 0).all() for value in values)


def test_an_impossible_reading_is_our_mistake():
    with pytest.raises(InternalError, match="lies 0.5 above what permuting keys moves them by"):
        _check(torch.tensor([[1.0, 2.5]]), torch.tensor([[1.0, 2.0]]), torch.tensor([[1e-3, 1e-3]]))


# Heads made by hand ---------------------------------------------------------------------------------------------------


def rotary(query: Tensor, key: Tensor, theta: list[float], *, mask: str = "causal") -> Rows:
    """One head, all rows of a text."""
    slots, theta_F = torch.arange(len(key)), torch.tensor(theta, dtype=torch.float64)
    logits = RotaryLogits(query[None], key[None], turns(len(key), theta_F), theta_F, slots, 0.5)
    blocks = torch.tensor([[1, 3], [3, 5], [5, 7]])
    return with_logits(logits, slots, allowed(mask, slots, len(key)), blocks=[blocks], taus=(1e-4, math.inf))


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.complex128)


def alibi(content_K: Tensor, slope: float) -> Rows:
    slots = torch.arange(len(content_K))
    slot_QK = -slope * (slots[:, None] - slots).abs().double()
    logits = AdditiveLogits(
        torch.ones(1, len(slots), 1, dtype=torch.float64), content_K[None, :, None], 1.0, slot_QK[None]
    )
    blocks = torch.tensor([[1, 3], [3, 5], [5, 7]])
    return with_logits(logits, slots, allowed("causal", slots, len(slots)), blocks=[blocks], taus=(1e-4, math.inf))


POSITIONAL = {
    "all keys alike": rotary(noise(9, 2), noise(1, 2, seed=1).expand(9, 2).clone(), [1.0, 0.1]),
    "all keys alike, both sides": rotary(
        noise(9, 2), noise(1, 2, seed=1).expand(9, 2).clone(), [1.0, 0.1], mask="bidirectional"
    ),
    "alibi on equal contents": alibi(torch.full((9,), 0.7, dtype=torch.float64), 0.5),
}
SYMBOLIC = {
    "no turn": rotary(noise(9, 2), noise(9, 2, seed=1), [0.0, 0.0]),
    "no turn, both sides": rotary(noise(9, 2), noise(9, 2, seed=1), [0.0, 0.0], mask="bidirectional"),
    "alibi without a slope": alibi(noise(9).real, 0.0),
}
BLEND = ("positional", "symbolic", "block.positional", "block.symbolic")


@pytest.mark.parametrize("name", POSITIONAL)
def test_a_positional_head_is_positional_in_every_measure(name: str):
    rows, near = POSITIONAL[name], {"abs": 1e-12}
    for prefix in ("", "attended."):
        assert [answer(SCORES[prefix + share], rows).item() for share in SHARES] == pytest.approx([1, 0, 0], **near)
    assert answer(SCORES["exclusion_positional"], rows).item() == pytest.approx(0, **near)
    assert answer(SCORES["exclusion_ratio"], rows).item() == pytest.approx(1, **near)
    twice = 2 * answer(SCORES["logit_variance"], rows).item()
    assert answer(SCORES["exclusion_symbolic"], rows).item() == pytest.approx(twice, rel=1e-12)
    for score in (*published_scores(1e-4), *published_scores(math.inf), *(SCORES[name] for name in BLEND)):
        if "positional" in score.name:
            assert answer(score, rows).item() == pytest.approx(1, **near)
        else:
            assert answer(score, rows).item() < 0.999


@pytest.mark.parametrize("name", SYMBOLIC)
def test_a_symbolic_head_is_symbolic_in_every_measure(name: str):
    rows, near = SYMBOLIC[name], {"abs": 1e-12}
    for prefix in ("", "attended."):
        assert [answer(SCORES[prefix + share], rows).item() for share in SHARES] == pytest.approx([0, 1, 0], **near)
    assert answer(SCORES["exclusion_symbolic"], rows).item() == pytest.approx(0, **near)
    assert answer(SCORES["exclusion_ratio"], rows).item() == pytest.approx(0, **near)
    twice = 2 * answer(SCORES["logit_variance"], rows).item()
    assert answer(SCORES["exclusion_positional"], rows).item() == pytest.approx(twice, rel=1e-12)
    for score in (*published_scores(1e-4), *published_scores(math.inf), *(SCORES[name] for name in BLEND)):
        if "symbolic" in score.name:
            assert answer(score, rows).item() == pytest.approx(1, **near)
        else:
            assert answer(score, rows).item() < 0.999


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_flat_head_has_no_shares_and_both_published_scores(dtype: torch.dtype):
    rows = rotary(noise(9, 2), noise(1, 2, seed=1).expand(9, 2).clone(), [0.0, 0.0])
    rows = rows if dtype == torch.float64 else narrow(rows)
    for name in (*SHARES, *(f"attended.{share}" for share in SHARES), "exclusion_ratio"):
        value_HQ, weight_HQ = SCORES[name].rows(rows)
        assert (weight_HQ == 0).all()
        assert value_HQ.isfinite().all()
        assert answer(SCORES[name], rows).isnan().all()
    assert rows.exact.flat_HQ[0].tolist() == [False, False, False, *[True] * 6]
    for name in BLEND:
        assert answer(SCORES[name], rows).item() == pytest.approx(1, abs=1e-6)
    assert frequencies(rows).values()["position_part"].isnan().all()


def test_slots_and_contents_add_up_without_interaction():
    """Then slots' logits move by twice what contents differ, and contents' by twice what slots differ."""
    rows = rows_of("biased", mask="bidirectional")
    torch.testing.assert_close(rows.exact.positional_HQ, 2 * rows.exact.parts.symbol_HQ)
    torch.testing.assert_close(rows.exact.symbolic_HQ, 2 * rows.exact.parts.position_HQ)
    assert answer(SCORES["interaction_share"], rows).abs().max() < 1e-28  # rounding, squared


def test_noise_gets_what_is_expected_of_it():
    """Tables of random numbers, four thousand of them, of eight keys."""
    tables, generator = 4000, seeded(3)
    table = torch.randn(tables, 8, 8, generator=generator, dtype=torch.float64)
    grand = table.mean((1, 2), keepdim=True)
    content, slot = table.mean(2, keepdim=True), table.mean(1, keepdim=True)
    parts = [(slot - grand).square().mean(), (content - grand).square().mean()]
    parts.append((table - content - slot + grand).square().mean())
    rows = replace(random_rows(0, keys=10), first=1)
    for share, part in zip(SHARES, parts, strict=True):
        value_HQ, weight_HQ = SCORES[share].expected(rows)
        assert rows.swappable_QK[9].sum() == 8
        assert value_HQ[0, 9].item() == pytest.approx((part / sum(parts)).item(), abs=0.004)
        assert weight_HQ[0].tolist() == [0, 0, 0] + [1] * 7


# What changes nothing, and what changes something ---------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(MASKS))
def test_who_stands_where_changes_the_exclusion_terms_but_no_variance_of_the_table(seed: int, mask: str):
    """Contents change places among the slots of one row: its table has the same rows in another order."""
    rows = rows_of("turned", mask=mask, keys=10, seed=seed, queries=1)
    swappable = rows.swappable_QK[0].nonzero()[:, 0]
    order = torch.arange(10)
    order[swappable] = swappable[torch.randperm(len(swappable), generator=seeded(seed))]
    assert isinstance(rows.logits, RotaryLogits)
    logits = replace(rows.logits, key_GKF=rows.logits.key_GKF[:, order])
    mixed = with_logits(logits, rows.queries_Q, rows.allowed_QK)
    for part in ("position_HQ", "symbol_HQ", "interaction_HQ"):
        ours, theirs = getattr(mixed.exact.parts, part), getattr(rows.exact.parts, part)
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    if not torch.equal(order, torch.arange(10)):
        assert not torch.allclose(mixed.exact.positional_HQ, rows.exact.positional_HQ, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(-300, 300), st.floats(0.01, 100))
def test_shifting_and_scaling_logits_changes_no_share(seed: int, shift: float, scale: float):
    rows = rows_of("biased", keys=10, seed=seed, queries=2)
    old = rows.logits
    assert isinstance(old, AdditiveLogits)
    logits = replace(old, scale=old.scale * scale, slot_HQK=old.slot_HQK * scale + shift)
    moved = with_logits(logits, rows.queries_Q, rows.allowed_QK)
    for share in SHARES:
        torch.testing.assert_close(SCORES[share].rows(moved)[0], SCORES[share].rows(rows)[0], rtol=0, atol=1e-9)
    for name in ("exclusion_positional", "exclusion_symbolic", "logit_variance"):
        ours, theirs = SCORES[name].rows(moved)[0], SCORES[name].rows(rows)[0]
        torch.testing.assert_close(ours, theirs * scale**2, rtol=1e-8, atol=1e-8)


def test_a_large_common_offset_does_no_harm_in_single_precision():
    slots = torch.arange(64)
    slot_QK = torch.randn(1, 64, 64, generator=seeded(1))
    query, key = torch.randn(1, 64, 4, generator=seeded(2)), torch.randn(1, 64, 4, generator=seeded(3))
    masked = allowed("causal", slots, 64)
    plain, offset = (with_logits(AdditiveLogits(query, key, 0.5, slot_QK + by), slots, masked) for by in (0.0, 1000.0))
    for share in SHARES:
        torch.testing.assert_close(answer(SCORES[share], offset), answer(SCORES[share], plain), rtol=0, atol=1e-4)
    for name in ("exclusion_positional", "exclusion_symbolic", "logit_variance"):
        torch.testing.assert_close(answer(SCORES[name], offset), answer(SCORES[name], plain), rtol=1e-3, atol=0)


def test_heads_of_a_group_get_what_they_would_with_keys_of_their_own():
    rows = rows_of("grouped", mask="bidirectional", keys=12)
    old = rows.logits
    assert isinstance(old, RotaryLogits)
    alone = replace(rows, logits=replace(old, key_GKF=old.key_GKF.repeat_interleave(2, 0)))
    for name, score in SCORES.items():
        torch.testing.assert_close(score.rows(alone)[0], score.rows(rows)[0], msg=name)


def test_a_factor_of_the_rotation_scales_all_logits_by_its_square():
    queries = torch.arange(12)
    plain, scaled = (turned(seeded(5), queries, 12, factor=factor) for factor in (1.0, 1.3))
    torch.testing.assert_close(scaled.actual_HQK, plain.actual_HQK * 1.3**2)


def test_a_cap_far_above_all_logits_changes_nothing():
    rows = rows_of("grouped", keys=10)
    capped = replace(rows, logits=CappedLogits(rows.logits, 1e6))
    for name, score in SCORES.items():
        torch.testing.assert_close(score.rows(capped)[0], score.rows(rows)[0], rtol=1e-6, atol=1e-6, msg=name)


def test_under_a_cap_only_rows_that_may_be_tabled_are_measured():
    rows = replace(rows_of("capped", keys=10), decomposed_Q=torch.tensor([True, False, False, True, False]))
    for name in ("exclusion_positional", "position_share", "attended.position_share", "positional"):
        assert (SCORES[name].rows(rows)[1] > 0)[0].tolist() == rows.decomposed_Q.tolist()
        if SCORES[name].expected is not None:
            assert (SCORES[name].expected(rows)[1] > 0)[0].tolist() == rows.decomposed_Q.tolist()


# Swaps ----------------------------------------------------------------------------------------------------------------


def log_cosh(x: np.ndarray) -> np.ndarray:
    return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - math.log(2)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_cosines_are_those_of_hyperbolic_cosines_however_large_the_logits(dtype: torch.dtype, near: float):
    grid = np.array([0, 1e-9, 1e-3, 0.5, 1, 3, 10, 30, 39, 41, 70, 90, 200, 1000])
    grid = np.concatenate([-grid[::-1], grid])
    before, after = (x.ravel() for x in np.meshgrid(grid, grid))
    half = (log_cosh(before) + log_cosh(after)) / 2
    theirs = np.exp(log_cosh((before + after) / 2) - half), np.exp(log_cosh((before - after) / 2) - half)
    ours = cosines(*in_order(torch.tensor(before, dtype=dtype), torch.tensor(after, dtype=dtype)))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.double().numpy() == pytest.approx(other, abs=near)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_too_small_to_see_keep_their_cosines(dtype: torch.dtype):
    """Three keys far below the one that gets all attention: weights of 1e-30 and less, yet their swaps are read."""
    content_K = torch.tensor([0.0, -70.0, -72.0, -75.0, 40.0], dtype=dtype)
    slot_K = torch.tensor([0.0, 0.5, 0.1, 0.9, 0.0], dtype=dtype)
    logits = AdditiveLogits(torch.ones(1, 1, 1, dtype=dtype), content_K[None, :, None], 1.0, slot_K[None, None])
    rows = with_logits(logits, torch.tensor([4]), torch.ones(1, 5, dtype=torch.bool))
    assert (rows.attention_HQK[0, 0, 1:4] < 1e-30).all()
    content, slot = content_K[1:4].double().numpy(), slot_K[1:4].double().numpy()
    swaps = []
    for s, t in ((0, 1), (0, 2), (1, 2)):
        was = np.exp([0, content[t] + slot[t] - content[s] - slot[s]])
        now = np.exp([0, content[s] + slot[t] - content[t] - slot[s]])
        length = math.sqrt((was @ was) * (now @ now))
        swaps.append((was @ now / length, was[::-1] @ now / length))
    for tau in (1e-4, math.inf):  # weights hardly differ, so all swaps count alike at any temperature
        ours = [answer(score, rows).item() for score in published_scores(tau)]
        assert ours == pytest.approx(np.mean(swaps, 0).tolist(), abs=1e-6 if dtype == torch.float32 else 1e-12)


def test_what_swaps_say_does_not_hang_on_who_is_looked_at_first():
    """Equal weights, and logits that say otherwise than the attention by rounding."""
    rows = rows_of("grouped", mask="bidirectional", keys=14, taus=(1e-4, 0.1, math.inf))
    jitter = 1 + 1e-12 * torch.randn(rows.attention_HQK.shape, generator=seeded(0), dtype=torch.float64)
    close = replace(rows, attention_HQK=rows.attention_HQK * jitter)
    for tau in rows.taus:
        for score in published_scores(tau):
            torch.testing.assert_close(score.rows(close)[0], score.rows(rows)[0], rtol=0, atol=1e-7)


def test_blocks_that_hold_a_key_that_stays_are_not_swapped():
    rows = replace(rows_of("turned", keys=9, queries=1), blocks=[torch.tensor([[0, 2], [2, 4], [4, 6], [6, 9]])])
    assert SCORES["block.positional"].rows(rows)[1].eq(1).all()  # two blocks remain
    for alone in ([[0, 2], [2, 4], [6, 9]], [[2, 4]], []):
        few = replace(rows, blocks=[torch.tensor(alone, dtype=torch.int64).reshape(-1, 2)])
        assert SCORES["block.positional"].rows(few)[1].eq(0).all()
    assert SCORES["block.symbolic"].rows(replace(rows, blocks=None))[1].eq(0).all()


def test_the_first_slot_stays_in_the_softmax():
    """It is not swapped, but takes attention, and so decides how much each swap counts."""
    rows = rows_of("turned", keys=9, queries=1, taus=(0.01,))
    sharp = replace(rows, attention_HQK=rows.attention_HQK * 0.1)
    score = published_scores(0.01)[0]
    assert not torch.allclose(score.rows(sharp)[0], score.rows(rows)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steep_slopes_beside_a_sink_keep_their_published_scores(dtype: torch.dtype):
    """All weight rests on a key that is never swapped, so that every other key counts, however far their logits lie."""
    keys, slope = 100, {torch.float32: 1.0, torch.float64: 8.0}[dtype]
    generator = torch.Generator().manual_seed(0)
    query_HQC, key_GKC = torch.randn(1, 1, 3, generator=generator), torch.randn(1, keys, 3, generator=generator)
    slot_HQK = (torch.arange(keys) - keys + 1).to(dtype)[None, None] * slope
    slot_HQK[..., 0] = 1000.0
    logits = AdditiveLogits(query_HQC.to(dtype), key_GKC.to(dtype), 0.5, slot_HQK)
    allowed_QK = torch.ones(1, keys, dtype=torch.bool)
    attention_HQK = logits.actual_HQK.softmax(-1)
    rows = Rows(attention_HQK, torch.tensor([keys - 1]), allowed_QK, torch.arange(keys), logits=logits)
    values = [SCORES[name].rows(rows)[0].item() for name in ("positional", "symbolic")]
    assert all(0 <= value <= 1 for value in values)
    assert values[0] > 0.95  # slots decide nearly everything

"""The parts of the control experiment: choosing heads, drawing controls of equal norm, and comparing."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

from wherewhat.editing.abilities import Ability, ability_estimates
from wherewhat.errors import UserError
from wherewhat.stats.bootstrap import draws
from wherewhat.studies.control.heads import FrequencyNorms, by_head, correlations, read_norms, select_heads
from wherewhat.studies.control.interventions import (
    EQUAL,
    LARGER,
    MIXED,
    SMALLER,
    CellResult,
    Matching,
    PairMask,
    Sums,
    contrast,
    excess_over_controls,
    level,
    mask_of,
    sums_of,
)
from wherewhat.studies.control.settings import BANDS, HEADS, SCALES
from wherewhat.tables.schema import FREQUENCIES, frame

TINY = SCALES["tiny"]


def named(heads: int) -> tuple[str, ...]:
    return tuple(f"L{head // 4}H{head % 4}" for head in range(heads))


def uses(heads: int, pairs: int, seed: int = 0) -> FrequencyNorms:
    """Heads that put very different amounts into their pairs."""
    norm_HF = np.random.default_rng(seed).lognormal(0, 0.8, size=(heads, pairs))
    theta_HF = np.tile(100.0 ** (-np.arange(pairs) / pairs), (heads, 1))
    return FrequencyNorms(named(heads), theta_HF, norm_HF / norm_HF.sum())


def target_of(used: FrequencyNorms, band: str, heads: int) -> tuple[PairMask, np.ndarray]:
    """A band of the first so many heads."""
    band_HF = used.band(band)
    return mask_of(used, band_HF & (np.arange(len(used.names)) < heads)[:, None]), band_HF


# Choosing ---------------------------------------------------------------------------------------------------------


def test_as_many_positional_heads_as_symbolic_ones_the_purest_first():
    shares = {"L0H0": (0.9, 0.05), "L0H1": (0.6, 0.2), "L0H2": (0.4, 0.4), "L0H3": (0.1, 0.8), "L1H0": (0.2, 0.6)}
    shares |= {"L1H1": (0.7, 0.2), "L1H2": (0.3, 0.3)}
    chosen = select_heads(shares, TINY)
    assert chosen.heads == {"positional": ("L0H0", "L1H1"), "symbolic": ("L0H3", "L1H0")} and chosen.pure
    assert "at most a third" in chosen.rule


@pytest.mark.parametrize("seed", range(8))
def test_the_rule_is_what_it_says(seed: int):
    drawn = np.random.default_rng(seed).dirichlet([0.6, 0.6, 0.3], size=17)
    shares = {name: (float(row[0]), float(row[1])) for name, row in zip(named(17), drawn, strict=True)}
    chosen = select_heads(shares, TINY)
    clear = min(sum(pair[side] > 0.5 for pair in shares.values()) for side in (0, 1))
    many = min(clear, 17 // 3) if clear >= 17 / 8 else 17 // 3
    ranked = sorted(shares, key=lambda name: shares[name][0] - shares[name][1])
    positional, symbolic = (set(chosen.heads[kind]) for kind in ("positional", "symbolic"))
    assert symbolic == set(ranked[:many]) and positional == set(ranked[-many:])
    assert not symbolic & positional


def test_where_hardly_any_head_is_symbolic_the_outer_thirds_are_taken_and_that_is_told():
    chosen = select_heads({name: (0.6 + 0.01 * at, 0.2) for at, name in enumerate(named(9))}, TINY)
    assert chosen.heads == {"positional": ("L2H0", "L1H3", "L1H2"), "symbolic": ("L0H0", "L0H1", "L0H2")}
    assert not chosen.pure and "because too few heads" in chosen.rule


def test_two_heads_are_too_few():
    with pytest.raises(
        UserError, match="the shares of 2 head.s. could be measured; .* takes at least 3; name a larger"
    ):
        select_heads({"L0H0": (0.9, 0.1), "L0H1": (0.1, 0.9)}, TINY)


# Norms ------------------------------------------------------------------------------------------------------------


def frequencies_of(norms: dict[tuple[int, int], list[tuple[float, float, float]]]) -> pl.DataFrame:
    """By layer and head, for every pair: theta, query norm, key norm."""
    rows = [
        ("m", layer, head, number, theta, measure, value)
        for (layer, head), pairs in norms.items()
        for number, (theta, query, key) in enumerate(pairs)
        for measure, value in (("query_norm", query), ("key_norm", key))
    ]
    return frame(rows, FREQUENCIES)


def test_norms_are_shares_of_the_whole_model_and_pairs_that_stand_still_are_left_out():
    table = frequencies_of(
        {(0, 0): [(1.0, 2.0, 3.0), (0.1, 1.0, 1.0), (0.0, 9.0, 9.0)], (1, 1): [(1.0, 1.0, 2.0), (0.5, 1.0, 1.0)]}
    )
    used = read_norms(table, ["L0H0", "L1H1"], {0: 2, 1: 2})
    assert used.names == ("L0H0", "L1H1")
    np.testing.assert_allclose(used.norm_HF, np.array([[6, 1], [2, 1]]) / 10)
    assert used.band("high:0.5").tolist() == [[True, False], [True, False]]
    np.testing.assert_allclose(used.within("low:0.5"), [1 / 7, 1 / 3])


def test_heads_with_fewer_frequencies_have_bands_of_their_own():
    table = frequencies_of({(0, 0): [(1.0, 1, 1)] * 4, (1, 0): [(0.5, 1, 1), (0.1, 1, 1)]})
    used = read_norms(table, ["L0H0", "L1H0"], {0: 4, 1: 2})
    assert used.band("low:0.5").tolist() == [[False, False, True, True], [False, True, False, False]]
    assert used.norm_HF[1, 2:].tolist() == [0, 0]


def test_no_norms_at_all_is_an_error():
    with pytest.raises(UserError, match="no head has rotary frequencies whose norms could be measured"):
        read_norms(pl.DataFrame(schema=FREQUENCIES), ["L0H0"], {0: 2})


# Controls of equal norm -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_random_bands_are_the_nearest_of_all_there_are(seed: int):
    used = uses(6, 4, seed)
    target, band_HF = target_of(used, "high:0.25", 2)
    found = Matching(used, target, band_HF, seed).controls(3)[BANDS]
    every = [used.norm_HF[0, one] + used.norm_HF[1, other] for one, other in product(range(1, 4), repeat=2)]
    near = sorted(every, key=lambda norm: abs(norm - target.norm))
    if abs(near[0] - target.norm) <= 0.1 * target.norm:
        alike = [one for one in found if (one.mask_HF.sum(1) == target.mask_HF.sum(1)).all()]
        assert alike[0].norm == pytest.approx(near[0]), "as many pairs of each head"
    assert all(not (one.mask_HF & target.mask_HF).any() for one in found), "but others"
    assert all(one.norm == pytest.approx((used.norm_HF * one.mask_HF).sum()) for one in found)


@pytest.mark.parametrize("seed", range(6))
def test_random_heads_are_the_nearest_of_all_there_are(seed: int):
    used = uses(9, 4, seed)
    target, band_HF = target_of(used, "low:0.25", 3)
    found = Matching(used, target, band_HF, seed).controls(3)[HEADS]
    of_head = (used.norm_HF * band_HF).sum(1)
    every = [sum(of_head[list(some)]) for some in combinations(range(3, 9), 3)]
    near = min(every, key=lambda norm: abs(norm - target.norm))
    if abs(near - target.norm) <= 0.1 * target.norm:
        assert found[0].norm == pytest.approx(near)
    assert all(one.mask_HF.any(1).sum() == 3 for one in found), "always as many heads"
    assert all(not one.mask_HF[:3].any() and not (one.mask_HF & ~band_HF).any() for one in found)


def test_controls_are_all_different_and_the_nearest_comes_first():
    used = uses(24, 8)
    target, band_HF = target_of(used, "high:0.25", 4)
    for found in Matching(used, target, band_HF, 0).controls(8).values():
        assert len({one.mask_HF.tobytes() for one in found}) == 8
        away = [abs(one.norm - target.norm) for one in found]
        assert away == sorted(away) and found[-1].near(target)


def test_the_same_seed_draws_the_same_controls_and_another_does_not():
    used = uses(24, 8, seed=1)
    target, band_HF = target_of(used, "high:0.25", 6)
    first, again, other = (Matching(used, target, band_HF, seed).controls(4)[HEADS] for seed in (3, 3, 4))
    assert [one.mask_HF.tobytes() for one in first] == [one.mask_HF.tobytes() for one in again]
    assert [one.mask_HF.tobytes() for one in first] != [one.mask_HF.tobytes() for one in other]


def test_where_no_equal_number_of_pairs_is_of_equal_norm_another_number_is_drawn():
    used = uses(8, 4)
    norm_HF = used.norm_HF.copy()
    norm_HF[:3, 0] = norm_HF[:3, 1:].sum(1) * 0.95  # one pair of these heads outweighs any other one
    used = FrequencyNorms(used.names, used.theta_HF, norm_HF / norm_HF.sum())
    target, band_HF = target_of(used, "high:0.25", 3)
    found = Matching(used, target, band_HF, 0).controls(4)[BANDS]
    assert found[0].near(target) and found[0].pairs > target.pairs == 3


def test_what_cannot_be_matched_is_not_called_equal():
    used = uses(8, 4)
    norm_HF = used.norm_HF.copy()
    norm_HF[:3, 0] = 10.0
    used = FrequencyNorms(used.names, used.theta_HF, norm_HF / norm_HF.sum())
    target, band_HF = target_of(used, "high:0.25", 3)
    found = Matching(used, target, band_HF, 0).controls(4)
    assert not found[BANDS][0].near(target) and not found[HEADS][0].near(target)
    assert found[BANDS][0].mask_HF[:3].tolist() == [[False, True, True, True]] * 3, "all that there is, and still less"


@pytest.mark.parametrize("seed", range(4))
def test_halves_are_held_against_what_is_left_and_never_against_themselves(seed: int):
    used = uses(8, 6, seed)
    target, band_HF = target_of(used, "high:0.5", 2)
    found = Matching(used, target, band_HF, seed).controls(8)[BANDS]
    assert found and not any((one.mask_HF & target.mask_HF).any() for one in found)
    assert all(one.mask_HF[:2].any(1).all() and not one.mask_HF[2:].any() for one in found), "as many heads"


@pytest.mark.parametrize(
    ("norms", "standing"),
    [((0.5, 1.09), EQUAL), ((0.5, 0.91), EQUAL), ((0.5, 0.89), SMALLER), ((1.11, 3), LARGER), ((0.89, 1.11), MIXED)],
)
def test_norms_are_equal_within_a_tenth(norms: tuple[float, ...], standing: str):
    mask_HF, ability = np.zeros((1, 1), dtype=bool), able(0)
    controls = {HEADS: [(PairMask(mask_HF, norm), ability) for norm in norms]}
    own = PairMask(mask_HF, 1.0)
    cell = CellResult("drop", 0.25, "positional", "high", own, ability, controls, before=ability, seed=0)
    assert cell.norm_match(HEADS) == standing


# Comparing --------------------------------------------------------------------------------------------------------


def ability(seed: int, texts: int = 5) -> Ability:
    rng = np.random.default_rng(seed)
    tokens_N = np.arange(10.0, 10.0 + texts)
    return Ability(rng.uniform(1, 3, texts) * tokens_N, tokens_N, rng.uniform(0, 1, 4), rng.normal(1, 1, 4))


def able(seed: int, texts: int = 5) -> Sums:
    return sums_of(ability(seed, texts))


@pytest.mark.parametrize("measure", ["loss", "copy", "induction"])
def test_a_contrast_of_two_is_the_change_with_the_interval_of_effects(measure: str):
    before, after = ability(0), ability(1)
    theirs = ability_estimates(before, after, seed=5)[measure]
    ours = contrast([(1, sums_of(after)), (-1, sums_of(before))], measure, seed=5)
    np.testing.assert_allclose(
        [ours.value, ours.low, ours.high], [theirs.value, theirs.low, theirs.high], rtol=1e-12, atol=1e-12
    )


def test_a_contrast_resamples_texts_together():
    one, other, seed = ability(0), ability(1), 7
    values = []
    for count_N in draws(5, seed):
        losses = [(count_N * each.nats_N).sum() / (count_N * each.tokens_N).sum() for each in (one, other)]
        values.append(2 * losses[0] - losses[1])
    ours = contrast([(2, sums_of(one)), (-1, sums_of(other))], "loss", seed=seed)
    plain = [each.nats_N.sum() / each.tokens_N.sum() for each in (one, other)]
    assert ours.value == pytest.approx(2 * plain[0] - plain[1]) and plain[0] == pytest.approx(
        level(sums_of(one), "loss")
    )
    np.testing.assert_allclose([ours.low, ours.high], np.quantile(values, [0.025, 0.975]), rtol=1e-12)


def even(means: np.ndarray) -> Sums:
    """Every text counts alike, so that a loss is a mean."""
    return sums_of(Ability(means, np.ones(len(means)), None, None))


def test_beyond_draws_that_are_alike_only_texts_vary():
    own_N, other_N = np.random.default_rng(0).normal(size=(2, 400))
    ours = excess_over_controls(even(own_N), [even(other_N)] * 6, "loss", seed=0)
    gap_N = own_N - other_N
    half = 1.966 * gap_N.std(ddof=1) / 20  # Student's t with 399 degrees of freedom
    assert ours.value == pytest.approx(gap_N.mean())
    np.testing.assert_allclose([ours.low, ours.high], [gap_N.mean() - half, gap_N.mean() + half], atol=0.006)


def test_beyond_texts_that_are_alike_only_draws_vary():
    levels = np.array([0.1, 0.4, 0.2, 0.5, 0.3])
    ours = excess_over_controls(even(np.ones(9)), [even(np.full(9, one)) for one in levels], "loss", seed=0)
    half = 2.776445 * levels.std(ddof=1) / np.sqrt(5)  # Student's t with 4 degrees of freedom
    np.testing.assert_allclose([ours.value, ours.low, ours.high], [0.7, 0.7 - half, 0.7 + half], rtol=1e-6)


@pytest.mark.parametrize("count", [5, 16])
def test_the_interval_holds_the_truth_as_often_as_it_says(count: int):
    rng, held = np.random.default_rng(count), 0
    for _ in range(300):
        text_N, own = rng.normal(size=16), rng.normal(size=16)
        controls = [even(text_N + draw) for draw in rng.normal(size=count)]  # the mean of all draws there are is 0
        ours = excess_over_controls(even(text_N + own), controls, "loss", seed=0)
        held += ours.low <= 0 <= ours.high
    assert held / 300 > 0.915, "95 %, less twice what 300 worlds leave open, and a little"


def test_from_one_draw_or_one_text_no_interval_follows():
    for ours in (
        excess_over_controls(able(0), [able(1)], "loss", seed=0),
        excess_over_controls(able(0, 1), [able(1, 1)] * 9, "loss", seed=0),
    ):
        assert np.isfinite(ours.value) and (ours.low, ours.high) == (-np.inf, np.inf)


def test_a_net_that_copies_nothing_is_measured_by_its_loss():
    assert list(able(0)) == ["loss", "copy", "induction"]
    assert list(sums_of(Ability(np.ones(2), np.ones(2), None, None))) == ["loss"]


# Correlations -----------------------------------------------------------------------------------------------------


def test_correlations_over_heads_and_over_pairs_have_the_sign_that_was_put_in():
    norms = {(0, head): [(1.0, 1.0 + head, 1.0), (0.1, 1.0, 1.0)] for head in range(6)}
    table = frequencies_of(norms)
    rows = [("m", 0, head, "position_share", 0.1 * head, None, None, None, 1, "decoder") for head in range(6)]
    rows += [("m", 0, head, "mean_frequency", 2 - 0.1 * head, None, None, None, 1, "decoder") for head in range(6)]
    names = ("model", "layer", "head", "score", "value", "low", "high", "chance", "texts", "part")
    heads = pl.DataFrame(rows, schema=names, orient="row")
    wide = by_head(heads, read_norms(table, [f"L0H{head}" for head in range(6)], {0: 2}), 0.5)
    scored = table.with_columns(measure=pl.lit("positional"), value=pl.col("theta") + 0.01 * pl.col("head")).unique(
        ["layer", "head", "frequency"]
    )
    rhos, _ = correlations(scored, wide, seed=0)
    assert rhos["heads", "high:0.5", "position_share"].value == pytest.approx(1)
    assert rhos["heads", "low:0.5", "position_share"].side == -1
    assert rhos["heads", "mean_speed", "position_share"].side == 1, "what faster heads do more goes with speed"
    of_pairs = {names: rho.side for names, rho in rhos.items() if names[0] == "pairs"}
    assert of_pairs == {("pairs", "theta", "positional"): 1}


def test_of_the_fastest_frequencies_the_medians_are_told():
    rows = [
        ("m", 0, head, number, theta, measure, value + 0.1 * head)
        for head in range(3)
        for number, theta in enumerate((1.0, 0.1))
        for measure, value in (("positional", theta / 2), ("symbolic", 0.3))
    ]
    heads = pl.DataFrame({"layer": [0], "head": [0]})
    rhos, fastest = correlations(frame(rows, FREQUENCIES), heads, seed=0)
    assert fastest == pytest.approx((0.6, 0.4)) and {points for points, _, _ in rhos} == {"pairs"}
    assert correlations(frame(rows[:1], FREQUENCIES), heads, seed=0)[1] is None

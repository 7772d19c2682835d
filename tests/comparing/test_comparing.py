"""Comparisons of made-up profiles: every row, what is refused, what is only said, and what is claimed."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made_up import HEADS_EACH, LAYERS, at, profile
from scipy import stats

from wherewhat.comparing.change_rows import paired_rows
from wherewhat.comparing.claims import claims_of
from wherewhat.comparing.compare import compare
from wherewhat.comparing.inputs import display_names
from wherewhat.comparing.manifest import intervals_over_heads
from wherewhat.comparing.model_state import ModelState, mean_of_draws, same_training, same_weights
from wherewhat.errors import UserError
from wherewhat.runs.registry import Profile, load
from wherewhat.stats.verdict import ClaimResult
from wherewhat.tables.manifest.scores import PositionalSection
from wherewhat.tables.schema import COMPARE, frame

SCORES = {"locality": at(0.2), "entropy": at(0.7)}


def state(name: str, made: Profile, **more: object) -> ModelState:
    return ModelState(name, made.heads, made.manifest, **more)  # type: ignore[arg-type]


# Rows -----------------------------------------------------------------------------------------------------------------


def test_every_head_every_layer_and_the_whole_have_their_row():
    found = compare([profile("a", SCORES), profile("b", {"locality": at(0.5), "entropy": at(0.6, by_head=0.03)})])
    table = found.compare
    assert dict(table.schema) == COMPARE and set(table["model"]) == {"b"} and set(table["against"]) == {"a"}
    of_score = table.filter(pl.col("score") == "locality")
    assert len(of_score) == LAYERS * HEADS_EACH + LAYERS + 1
    head = of_score.filter((pl.col("layer") == 1) & (pl.col("head") == 2)).row(0, named=True)
    assert (head["before"], head["after"]) == (pytest.approx(0.32), pytest.approx(0.62))
    reach = np.hypot(0.02, 0.02)
    assert (head["low"], head["high"]) == (pytest.approx(0.3 - reach), pytest.approx(0.3 + reach))
    layer = table.filter((pl.col("layer") == 1) & pl.col("head").is_null() & (pl.col("score") == "entropy"))
    change = 0.6 - 0.7 + 0.02
    assert layer["change"][0] == pytest.approx(change)
    assert (layer["low"][0], layer["high"][0]) == (pytest.approx(change - reach), pytest.approx(change + reach))
    before, after = (
        [base + 0.1 * layer + step * head for layer in range(2) for head in range(3)]
        for base, step in ((0.7, 0.01), (0.6, 0.03))
    )
    theirs = stats.ttest_ind(after, before, equal_var=False).confidence_interval()
    over = found.manifest.over_heads["encoder"]["entropy"]
    assert over == pytest.approx((theirs.low, theirs.high)), "over heads it stands beside the table"
    whole = table.filter(pl.col("layer").is_null())
    assert whole["score"].to_list() == ["locality", "entropy"] and whole["head"].is_null().all()


def test_every_later_one_is_held_against_the_first():
    found = compare([profile(name, {"locality": at(base)}) for name, base in (("a", 0.1), ("b", 0.3), ("c", 0.2))])
    whole = found.compare.filter(pl.col("layer").is_null())
    assert whole.select("model", "against").rows() == [("b", "a"), ("c", "a")]
    assert whole["change"].to_list() == pytest.approx([0.2, 0.1])


def test_snapshots_of_one_run_have_the_same_heads_and_others_have_not():
    path = "runs/bert/snapshots/step-{:06d}"
    made = [
        profile(f"step-{step:06d}", {"locality": at(base)}, about={"path": path.format(step)})
        for step, base in ((0, 0.1), (500, 0.4))
    ]
    found = compare(made)
    over = found.manifest.over_heads["encoder"]["locality"]
    assert found.manifest.same_heads and over == pytest.approx((0.3, 0.3))
    assert [side.step for side in found.manifest.compared] == [0, 500]
    assert "each head compared with itself" in found.manifest.intervals[1]
    apart = compare([made[0], profile("other", {"locality": at(0.4)}, about={"path": "runs/other/model"})])
    over = apart.manifest.over_heads["encoder"]["locality"]
    assert not apart.manifest.same_heads and over[0] < 0.29
    assert "nothing in common but their layer" in apart.manifest.intervals[1]


def test_a_run_and_its_own_snapshot_are_related():
    paths = ("runs/bert", "runs/bert/model", "runs/bert/snapshots/step-10")
    states = [state(path, profile("x", SCORES, about={"path": path})) for path in paths]
    assert same_training(states)
    assert not same_training([*states, state("y", profile("y", SCORES))])
    assert not same_training([state("fresh", profile("x", SCORES, about={"path": "runs/bert"}), draws=2), *states])


def test_what_weights_alone_decide_changes_exactly():
    both = [profile(name, {"delta.locality": at(base)}) for name, base in (("a", 0.1), ("b", 0.3))]
    heads = compare(both).compare.filter(pl.col("head").is_not_null())
    assert heads["low"].is_null().all() and heads["change"].to_list() == pytest.approx([0.2] * 6)
    assert any("their change is exact" in note for note in compare(both).manifest.intervals)


def test_a_head_without_a_value_on_one_side_is_left_out_and_counted():
    first, second = profile("a", SCORES), profile("b", SCORES)
    lost = (pl.col("score") == "entropy") & (pl.col("layer") == 0)
    bare = second.heads.with_columns(value=pl.when(lost).then(None).otherwise(pl.col("value")))
    found = compare([first, Profile(bare, second.offsets, second.frequencies, second.manifest)])
    heads = found.compare.filter((pl.col("score") == "entropy") & pl.col("head").is_not_null())
    assert len(heads) == 3 and set(heads["layer"]) == {1}
    assert "`entropy` has a value on one side only for 3 head(s) of b: left out." in found.manifest.notes


def test_parts_of_a_model_are_not_mixed():
    made = []
    for name, base in (("a", 0.1), ("b", 0.2)):
        one = profile(name, {"locality": at(base)})
        parts = one.heads.with_columns(
            part=pl.when(pl.col("layer") == 0).then(pl.lit("encoder")).otherwise(pl.lit("cross"))
        )
        made.append(Profile(parts, one.offsets, one.frequencies, one.manifest))
    whole = compare(made).compare.filter(pl.col("layer").is_null())
    assert whole["part"].to_list() == ["encoder", "cross"] and whole["before"].to_list() == pytest.approx([0.11, 0.21])


# Draws of untrained weights -------------------------------------------------------------------------------------------


def test_draws_become_one_state_with_the_ends_of_one_more_draw():
    draws = [
        state(f"untrained {n}", profile("x", {"delta.locality": at(base)}), draws=1)
        for n, base in enumerate((0.1, 0.2, 0.6))
    ]
    mean = mean_of_draws(draws, "untrained")
    row = mean.heads.row(0, named=True)
    theirs = stats.t.interval(0.95, 2, loc=0.3, scale=np.std([0.1, 0.2, 0.6], ddof=1) * np.sqrt(1 + 1 / 3))
    assert row["value"] == pytest.approx(0.3) and (row["low"], row["high"]) == pytest.approx(theirs)
    assert mean.draws == 3 and row["part"] == "encoder" and row["chance"] == pytest.approx(0.05)
    changed = frame(paired_rows(mean, state("after", profile("x", {"delta.locality": at(0.9)}))), COMPARE)
    assert changed["low"][0] == pytest.approx(0.6 - (theirs[1] - 0.3)), "draws differ, though each is exact"
    assert changed["low"][-1] == pytest.approx(changed["low"][0]), "all heads of a draw move alike here"
    alone = mean_of_draws(draws[:1], "untrained")
    assert alone.draws == 1 and alone.heads["low"].is_null().all()


# Refused and said -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (profile("b", {"sink": at(0.1)}), "a and b have no score in common (locality, entropy; sink)"),
        (
            profile("b", SCORES, positional={"n": 32}),
            "b was probed with 32 copies of a word and a with 64, and locality depends on how many; profile both with "
            "the same --copies",
        ),
    ],
    ids=["scores", "copies"],
)
def test_what_cannot_be_compared_is_refused(other: Profile, sentence: str):
    with pytest.raises(UserError, match=re.escape(sentence)):
        compare([profile("a", SCORES, positional={"n": 64}), other])


def test_some_heads_of_the_same_model_are_compared_with_all():
    whole, some = profile("a", SCORES), profile("b", SCORES)
    chosen = replace(some.manifest, settings={**some.manifest.settings, "heads": ["L0H1"]})
    one = Profile(
        some.heads.filter((pl.col("layer") == 0) & (pl.col("head") == 1)), some.offsets, some.frequencies, chosen
    )
    assert compare([whole, one]).compare.filter(pl.col("head").is_not_null()).height == 2
    other = Profile(whole.heads.filter(pl.col("layer") == 1), whole.offsets, whole.frequencies, chosen)
    with pytest.raises(UserError, match="a and b have no head in common; profile both with the same --heads"):
        compare(
            [
                Profile(
                    other.heads,
                    other.offsets,
                    other.frequencies,
                    replace(whole.manifest, settings=chosen.settings),
                ),
                one,
            ]
        )


def test_other_texts_and_other_settings_are_said():
    other = profile(
        "b",
        {"locality": at(0.3), "sink": at(0.1)},
        texts={"source": "tale.txt", "hash": "x", "count": 20, "tokens": 120},
        dtype="float16",
    )
    notes = " ".join(compare([profile("a", SCORES), other]).manifest.notes)
    assert "b read other texts (tale.txt) than a (book.txt)" in notes
    assert "They have 6.0 tokens each instead of 20.0, and locality depends on text length." in notes
    assert "b was profiled with other settings than a: dtype float16 instead of float32." in notes
    assert "Only a has `entropy`; b does not." in notes and "Only b has `sink`; a does not." in notes
    assert compare([profile("a", SCORES), profile("b", SCORES)]).manifest.notes == []


@pytest.mark.parametrize(
    ("models", "untrained", "sentence"),
    [
        ([], 0, "there is nothing to compare"),
        (["tiny"], 0, "tiny is alone; name something to compare it with, or add --untrained"),
        (["tiny", "tiny"], 0, "tiny is named twice"),
        (["tiny"], -1, "untrained is -1; give the number of draws"),
    ],
)
def test_a_comparison_has_two_sides(models: list[str], untrained: int, sentence: str):
    with pytest.raises(UserError, match=sentence):
        compare(models, untrained=untrained)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty holds neither a run of `wherewhat heads` nor a model"):
        compare([profile("a", SCORES), str(tmp_path / "empty")])
    edited = tmp_path / "edited"
    edited.mkdir()
    (edited / "manifest.json").write_text('{"kind": "edit", "schema": 2}')
    with pytest.raises(UserError, match="edited holds a run of `wherewhat edit`; name runs of `wherewhat heads`"):
        compare([profile("a", SCORES), edited])


def test_names_tell_states_apart():
    assert display_names(["a", "b"], ["runs/1", "runs/2"]) == ["a", "b"]
    assert display_names(["a", "a"], ["x/run", "y/run"]) == ["x/run", "y/run"]
    assert display_names(["a", "a"], ["a", "a"]) == ["a (1)", "a (2)"]


# Runs on disk ---------------------------------------------------------------------------------------------------------


def test_folders_are_read_without_torch_and_come_back_as_they_were(tmp_path: Path):
    for name, base in (("early", 0.1), ("late", 0.3)):
        profile("same", {"locality": at(base), "entropy": at(0.5)}).save(tmp_path / name)
    code = (
        "import sys; from wherewhat.comparing.compare import compare\n"
        f"found = compare([{str(tmp_path / 'early')!r}, {str(tmp_path / 'late')!r}])\n"
        f"found.save({str(tmp_path / 'out')!r})\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules, 'a run needs no model'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    again = load(tmp_path / "out")
    assert again.kind == "compare" and set(again.compare["model"]) == {"late"}  # type: ignore[attr-defined]
    ours = compare([tmp_path / "early", tmp_path / "late"]).compare
    assert ours.equals(again.compare), "the same runs, the same table"  # type: ignore[attr-defined]


# Claims ---------------------------------------------------------------------------------------------------------------


def claimed(*states: ModelState) -> list[ClaimResult]:
    table = frame(paired_rows(*states), COMPARE)
    return claims_of(table, states, intervals_over_heads(table, states, same_heads=False))


def claims(
    before: dict[str, float], after: dict[str, float], part: str = "encoder", draws: int = 2
) -> list[ClaimResult]:
    made = [
        profile("x", {name: at(base, by_layer=0.01) for name, base in values.items()}, part=part, positional={"n": 64})
        for values in (before, after)
    ]
    return claimed(state("untrained", made[0], draws=draws), state("trained", made[1]))


def verdicts(found: list[ClaimResult]) -> list[str]:
    return [one.verdict for one in found]


def test_opposite_worlds_get_opposite_verdicts():
    local = claims({"identical.locality": 0.05}, {"identical.locality": 0.4})
    assert verdicts(local) == ["agrees", "seen"]
    assert "16.2 % in BERT" in local[0].published and local[1].published.startswith("unknown")
    less = claims({"identical.locality": 0.4}, {"identical.locality": -0.1})
    assert verdicts(less) == ["disagrees", "not seen"]
    same = claims({"identical.locality": 0.06}, {"identical.locality": 0.06})
    assert verdicts(same) == ["unknown", "unknown"]


def test_what_untrained_weights_have_too_is_not_what_training_did():
    """An encoding may be local by itself: then a trained model is told from its untrained weights, or it is not."""
    as_before = claims({"identical.locality": 0.4}, {"identical.locality": 0.4})
    assert verdicts(as_before) == ["unknown", "unknown"] and "training did not bring it about" in as_before[0].why
    less = claims({"identical.locality": 0.6}, {"identical.locality": 0.4})
    assert verdicts(less) == ["in part", "not seen"] and "untrained weights have more of it" in less[0].why
    once = claims({"identical.locality": 0.05}, {"identical.locality": 0.4}, draws=1)
    assert verdicts(once) == ["unknown", "unknown"] and "A single draw" in once[0].why


def sides(locality: float, symmetry: float, balance: float) -> dict[str, float]:
    return {"identical.locality": locality, "identical.symmetry": symmetry, "identical.balance": balance}


def test_symmetry_is_judged_by_both_measures():
    up = claims(sides(0.1, 0.1, 0.1), sides(0.5, 0.7, 0.7))[2:]
    assert verdicts(up) == ["agrees", "seen"] and "`balance` asks" not in up[1].why
    apart = claims(sides(0.1, 0.1, 0.9), sides(0.5, 0.7, 0.4))[2:]
    assert verdicts(apart) == ["in part", "in part"] and "`balance` asks" in apart[1].why
    down = claims(sides(0.1, 0.7, 0.9), sides(0.5, -0.1, -0.1))[2:]
    assert verdicts(down) == ["disagrees", "not seen"]
    still = claims(sides(0.1, 0.7, 0.7), sides(0.5, 0.7, 0.7))[2:]
    assert verdicts(still) == ["agrees", "unknown"], "as symmetric as before, though no longer by being uniform"


def test_balance_that_fell_from_uniform_attention_is_said():
    found = claims(sides(0.05, 0.4, 0.986), sides(0.3, 0.6, 0.624))
    assert verdicts(found) == ["agrees", "seen", "in part", "in part"]
    assert "before 0.986" not in found[0].ours and "`identical.balance` 1.001 → 0.639" in found[3].ours
    assert "untrained weights have more of it" in found[2].why
    assert all("balance can only fall" in one.why for one in found[2:])


def test_an_untrained_model_is_not_told_that_training_did_anything():
    """Untrained weights against draws like them: nearly uniform attention, or an encoding that is local by itself."""
    generator = np.random.default_rng(0)
    verdicts_of_training = []
    for base in (sides(0.0505, 0.42, 0.98), sides(0.5, 0.8, 0.95)):
        for _ in range(20):
            made = [
                profile("x", {name: at(value + 0.003 * generator.normal()) for name, value in base.items()}, reach=1e-4)
                for _ in range(4)
            ]
            probed = [
                ModelState(
                    name, one.heads, replace(one.manifest, positional=PositionalSection(n=64)), draws=name != "x"
                )
                for name, one in zip(("1", "2", "3", "x"), made, strict=True)
            ]
            found = claimed(mean_of_draws(probed[:3], "untrained"), probed[3])
            assert len(found) == 4
            verdicts_of_training += [found[0].verdict, found[2].verdict]
    assert sum(one in ("agrees", "in part") for one in verdicts_of_training) <= 0.05 * len(verdicts_of_training)


def test_nearly_uniform_attention_has_no_sides():
    found = claims(sides(0.03, 0.4, 0.98), sides(0.03, 0.4, 0.985))
    assert found[2].verdict == "unknown" and "Attention is nearly uniform" in found[2].why
    alone = claims(
        {"identical.symmetry": 0.1, "identical.balance": 0.1}, {"identical.symmetry": 0.7, "identical.balance": 0.7}
    )
    assert alone[0].verdict == "unknown", "how uniform it is was not measured"


def test_what_holds_for_these_heads_is_seen_and_told_apart_from_heads_in_general():
    """One head in three moves, far and surely; over heads nothing can be told."""
    few = [
        profile(
            "x", {"identical.locality": lambda layer, head, far=far: far if head == 1 else 0.1}, positional={"n": 64}
        )
        for far in (0.1, 0.9, -0.7)
    ]
    states = [state("untrained", few[0], draws=2), state("trained", few[1]), state("worse", few[2])]
    for later, verdict in ((1, "seen"), (2, "not seen")):
        found = claimed(states[0], states[later])[1]
        assert found.verdict == verdict and "cannot be said of heads in general" in found.why
        assert "carried by 2 of 6 heads" in found.ours
    all_alike = claims({"identical.locality": 0.05}, {"identical.locality": 0.4})[1]
    assert "carried by 6 of 6 heads" in all_alike.ours and "in general" not in all_alike.why


def test_the_mean_of_draws_is_surer_than_the_draws_of_a_head():
    """Draws move heads in opposite ways: their mean stays, and that is what the interval of the mean is about."""
    draws = [
        state(
            f"untrained {n}", profile("x", {"locality": lambda layer, head, n=n: 0.1 + 0.05 * n * (head - 1)}), draws=1
        )
        for n in (-1, 0, 1)
    ]
    later = state("x", profile("x", {"locality": at(0.15, by_layer=0, by_head=0)}))
    rows = frame(paired_rows(mean_of_draws(draws, "untrained"), later), COMPARE)
    whole = rows.filter(pl.col("layer").is_null()).row(0, named=True)
    assert (whole["low"], whole["high"]) == (pytest.approx(0.03), pytest.approx(0.07)), "words alone"
    head = rows.filter(pl.col("head") == 0).row(0, named=True)
    assert head["low"] < 0 < head["high"]


def test_decoders_were_not_studied_and_trained_models_say_nothing_of_training():
    causal = claims({"identical.locality": 0.05}, {"identical.locality": 0.4}, part="decoder")
    assert {one.verdict for one in causal} == {"seen"} and "only models that see both sides" in causal[0].published
    assert claims({"identical.locality": 0.05}, {"identical.locality": 0.4}, draws=0) == []


# Other lengths, and one model read twice ------------------------------------------------------------------------------


def probed(name: str, n: int, **more: Any) -> Profile:
    scores = {"mean.locality": at(0.2), "identical.locality": at(0.2), "identical.contextual.locality": at(0.2)}
    layers = [{"layer": 0, "source": "identical", "n": 12}, {"layer": 0, "source": "mean", "n": n}]
    return profile(name, {**scores, "locality": at(0.2)}, positional={"n": 12, "layers": layers}, **more)


def test_means_over_texts_of_other_lengths_are_left_out_and_said():
    found = compare([probed("a", 12), probed("b", 6)])
    assert found.compare["score"].unique(maintain_order=True).to_list() == ["identical.locality", "locality"]
    assert found.manifest.notes == [
        "b was measured on 6 tokens and a on 12 tokens, and locality and symmetry depend on how many: left out "
        "(`mean.locality`, `identical.contextual.locality`)."
    ]
    alike = compare([probed("a", 6), probed("b", 6)])
    assert alike.compare["score"].n_unique() == 4 and alike.manifest.notes == []


def test_one_model_read_twice_is_no_training():
    weights = {"weights_hash": "abc", "path": "runs/bert"}
    found = compare([probed("a", 12, about=weights), probed("b", 12, about=weights)])
    assert "the same weights" in found.manifest.intervals[1] and "training run" not in found.manifest.intervals[1]
    assert "identical.locality" not in found.compare["score"] and found.manifest.same_heads
    assert "what they alone decide is left out (`identical.locality`)" in found.manifest.notes[0]
    only = [profile(name, {"delta.locality": at(0.2)}, about=weights) for name in "ab"]
    with pytest.raises(UserError, match="b has the same weights as a, .*and there is no other score"):
        compare(only)
    later = compare([probed("a", 12, about=weights), probed("b", 12, about={**weights, "weights_hash": "other"})])
    assert "one training run" in later.manifest.intervals[1] and "identical.locality" in later.compare["score"]
    fresh = state("untrained", probed("a", 12, about=weights), draws=3)
    assert not same_weights(fresh, state("b", probed("b", 12, about=weights))), "one draw may be where training began"

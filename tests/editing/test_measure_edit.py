"""What an edit does, from questions to intervals: known answers, oracles in plain loops, and nothing left behind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_language_model import reader, some_texts, speaking
from torch import Tensor

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import load_language_model
from wherewhat.capture.tokens.encode import EncodedTexts, own_texts
from wherewhat.capture.tokens.special_tokens import plain_tokens
from wherewhat.editing.abilities import Ability, AbilityTests, ability_estimates, ability_tests, measure_ability
from wherewhat.editing.edit import applied
from wherewhat.editing.measure_edit import effect_of, measure_edit
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import edited_frequencies
from wherewhat.editing.sweeps import SweepStep, sweep_steps
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import LayerScores, summarise_change
from wherewhat.stats.bootstrap import Resampling
from wherewhat.tables.manifest.scores import CopySection

HIGH = Edit(unrotate=("high:0.5",))


def causal(**more: object) -> LoadedModel:
    return wrap_module(speaking("llama", **more), reader())


# The loss -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_the_loss_of_a_text_is_the_sum_over_all_tokens_but_the_first(name: str):
    model, texts = wrap_module(speaking(name)), some_texts(9, 14, 5)
    able = measure_ability(model, ability_tests(model, EncodedTexts.of(texts), random=2, half=4))
    with torch.no_grad():
        theirs = [float(model.module(input_ids=ids_T[None], labels=ids_T[None]).loss) for ids_T in texts]
    assert able.tokens_N.tolist() == [8, 13, 4]
    assert able.nats_N / able.tokens_N == pytest.approx(theirs, rel=1e-5)
    whole = np.average(theirs, weights=able.tokens_N)
    assert ability_estimates(able, seed=0)["loss"].value == pytest.approx(whole, rel=1e-5), "every token counts alike"


def test_masked_tokens_are_the_same_each_time_and_never_special():
    model = wrap_module(speaking("bert"), reader(masks=True))
    texts = [torch.cat([torch.tensor([1]), ids_T, torch.tensor([2])]) for ids_T in some_texts(40, 6)]
    tried = ability_tests(model, EncodedTexts.of(texts), random=2, half=4, seed=3)
    asked: list[Tensor] = []
    hook = model.module.register_forward_pre_hook(
        lambda module, args, named: asked.append(named["input_ids"].clone()), with_kwargs=True
    )
    first, second = measure_ability(model, tried), measure_ability(model, tried)
    hook.remove()
    assert (first.nats_N == second.nats_N).all() and first.tokens_N.tolist() == [12, 6], "6 of 40 twice, 1 of 6 each"
    for ids_BT in asked:
        assert (ids_BT[:, 0] == 1).all(), "the first token is never masked"
    other = measure_ability(model, replace(tried, seed=4))
    assert other.nats_N[0] != first.nats_N[0], "and others with another seed, where not all are asked for"


def test_the_loss_of_masked_tokens_by_hand():
    model = wrap_module(speaking("bert"), reader(masks=True))
    (ids_T,) = some_texts(6)
    able = measure_ability(model, ability_tests(model, EncodedTexts.of([ids_T]), random=0))
    nats = 0.0
    for slot in range(6):  # each is masked alone: 15 % of six is one
        masked_T = ids_T.clone()
        masked_T[slot] = 3
        with torch.no_grad():
            nats -= float(model.module(input_ids=masked_T[None]).logits[0, slot].log_softmax(-1)[ids_T[slot]])
    assert able.nats_N[0] == pytest.approx(nats, rel=1e-9)


def test_a_net_of_ours_is_asked_for_its_answers():
    model = load_language_model("tiny", LoadSettings(dtype="float64", device="cpu"))
    texts = own_texts(model, 20, 0, None).ids
    tried = ability_tests(model, EncodedTexts.of(texts))
    able = measure_ability(model, tried)
    assert model.task is not None
    target_N = torch.from_numpy(model.task.batch(0, "test", range(20)).target_N)
    with torch.no_grad():
        logits_NV = model.module(torch.stack(texts))[:, -1]
    by_hand = torch.nn.functional.cross_entropy(logits_NV, target_N, reduction="none")
    assert able.nats_N == pytest.approx(by_hand.numpy(), rel=1e-9) and (able.tokens_N == 1).all()
    assert tried.random is None and able.copied_M is None and "copy" not in ability_estimates(able, seed=0)


def test_a_text_of_special_tokens_is_refused():
    model = wrap_module(speaking("bert"), reader(masks=True))
    with pytest.raises(UserError, match="text 0 holds nothing but special tokens"):
        measure_ability(model, AbilityTests(EncodedTexts.of([torch.tensor([1, 2])]), None, predicts="masked"))


def test_a_loss_that_is_no_number_is_refused():
    model = causal()
    with torch.no_grad():
        model.module.lm_head.weight[7, 0] = float("nan")
    with pytest.raises(UserError, match="the loss of .* is not finite on text 0; load the model with --dtype float32"):
        measure_ability(model, AbilityTests(EncodedTexts.of(some_texts(6)), None))


# Copying --------------------------------------------------------------------------------------------------------------


class Copier(torch.nn.Module):
    """Says with certainty what followed the last time, or what it has not seen where it has not seen the token."""

    def __init__(self, wrong: int = 0) -> None:
        super().__init__()
        self.wrong = wrong

    def logits(self, ids_T: Tensor, vocabulary: int) -> Tensor:
        logits_TV = torch.zeros(len(ids_T), vocabulary, dtype=torch.float64)
        for slot, id in enumerate(ids_T.tolist()):
            before = [earlier for earlier in range(slot) if ids_T[earlier] == id]
            if before:
                logits_TV[slot, (int(ids_T[before[-1] + 1]) + self.wrong) % vocabulary] = 20.0
        return logits_TV


@pytest.mark.parametrize(("wrong", "copied"), [(0, 1.0), (1, 0.0)])
def test_a_perfect_copier_copies_all_and_one_that_errs_nothing(
    wrong: int, copied: float, monkeypatch: pytest.MonkeyPatch
):
    loaded_model = causal()
    copier = Copier(wrong)
    monkeypatch.setattr(
        "wherewhat.capture.outputs.language_model.logits_at",
        lambda model, batch, wanted_BT: torch.stack([copier.logits(ids_T, 99) for ids_T in batch.ids_BT])[wanted_BT],
    )
    tried = AbilityTests(
        EncodedTexts.of([]), torch.stack([torch.arange(5, 21).repeat(2), torch.arange(20, 4, -1).repeat(2)])
    )
    able = measure_ability(loaded_model, tried)
    assert able.copied_M is not None and able.gained_M is not None
    assert able.copied_M.tolist() == [copied, copied]
    uniform, sure = np.log(99), np.log(1 + 98 * np.exp(-20.0))
    assert able.gained_M == pytest.approx([uniform - sure - (20 if wrong else 0)] * 2, rel=1e-9)


def test_induction_is_the_loss_of_the_first_half_minus_that_of_the_second():
    model = causal()
    tried = ability_tests(model, EncodedTexts.of(some_texts(5)), random=3, half=7)
    able = measure_ability(model, tried)
    assert tried.random is not None and tried.random.shape == (3, 14) and able.gained_M is not None
    for repeated_T, gained, copied in zip(tried.random, able.gained_M, able.copied_M, strict=True):  # type: ignore[arg-type]
        assert torch.equal(repeated_T[:7], repeated_T[7:]) and len(set(repeated_T.tolist())) == 7
        assert set(repeated_T.tolist()) <= set(range(4, 31)), "no special tokens but the unknown"
        ids_T = torch.cat([torch.tensor([1]), repeated_T])
        with torch.no_grad():
            logits_TV = model.module(input_ids=ids_T[None]).logits[0, :-1]
        nats_T = -logits_TV.log_softmax(-1)[torch.arange(14), ids_T[1:]]
        assert gained == pytest.approx(float(nats_T[1:7].mean() - nats_T[8:].mean()), rel=1e-9)
        right_T = logits_TV.argmax(-1) == ids_T[1:]
        assert copied == pytest.approx(float(right_T[8:].double().mean()))


def test_a_model_that_looks_back_reads_every_sequence_once():
    model, read = causal(), list[int]()
    tried = ability_tests(model, EncodedTexts.of(some_texts(5, 9)), random=3, half=7)
    hook = model.module.register_forward_pre_hook(
        lambda module, args, named: read.append(len(named["input_ids"])), with_kwargs=True
    )
    measure_ability(model, tried)
    hook.remove()
    assert sum(read) == 2 + 3, "both halves of a random sequence are predicted in one pass"


def test_masked_models_fill_in_tokens_that_stood_there_before():
    model = wrap_module(speaking("bert"), reader(masks=True))
    tried = ability_tests(model, EncodedTexts.of(some_texts(5)), random=2, half=6)
    able = measure_ability(model, tried)
    assert tried.random is not None and able.gained_M is not None
    for repeated_T, gained in zip(tried.random, able.gained_M, strict=True):
        losses = []
        for tokens_T, first in ((repeated_T[:6], 0), (repeated_T, 6)):
            ids_T = torch.cat([torch.tensor([1]), tokens_T, torch.tensor([2])])
            nats = []
            for slot in range(first + 2, first + 7):  # five tokens, each masked alone
                masked_T = ids_T.clone()
                masked_T[slot] = 3
                with torch.no_grad():
                    logits_V = model.module(input_ids=masked_T[None]).logits[0, slot]
                nats.append(-float(logits_V.log_softmax(-1)[ids_T[slot]]))
            losses.append(np.mean(nats))
        assert gained == pytest.approx(losses[0] - losses[1], rel=1e-9)


def test_random_tokens_fit_the_model_and_follow_the_seed():
    model = causal()
    short = ability_tests(model, EncodedTexts.of([]), half=400).random
    assert short is not None and short.shape == (32, 2 * len(plain_tokens(model))), "no token stands twice in a half"
    assert all(len(half_T.unique()) == len(half_T) for half_T in short[:, : short.shape[1] // 2])
    model.module.config.max_position_embeddings = 41
    tight = ability_tests(model, EncodedTexts.of([]), half=400).random
    assert tight is not None and tight.shape == (32, 40), "its context holds 41, one begins the text"
    one, same, other = (ability_tests(model, EncodedTexts.of([]), seed=seed).random for seed in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert ability_tests(model, EncodedTexts.of([]), random=0).random is None


# Intervals ------------------------------------------------------------------------------------------------------------


def test_an_edit_that_does_nothing_changes_nothing_at_all():
    model = causal()
    tried = ability_tests(model, EncodedTexts.of(some_texts(9, 14, 5, 12)), random=4, half=6)
    before = measure_ability(model, tried)
    found = effect_of(model, tried, before, Edit(scale=("all=1",)), survey(model.module))
    for name in ("loss", "copy", "induction"):
        assert (found[name].value, found[name].low, found[name].high) == (0, 0, 0)


def test_the_interval_of_a_change_resamples_the_same_texts_in_both():
    rng = np.random.default_rng(0)
    nats_N, tokens_N = rng.uniform(5, 500, 30), rng.integers(5, 60, 30).astype(float)
    before = Ability(nats_N, tokens_N, None, None)
    after = Ability(nats_N + 0.25 * tokens_N, tokens_N, None, None)
    alone, change = ability_estimates(before, seed=0)["loss"], ability_estimates(before, after, seed=0)["loss"]
    assert change.value == pytest.approx(0.25) and change.high - change.low < 1e-9, "a shift of every token is certain"
    assert alone.high - alone.low > 1
    drawn = np.random.default_rng(0).multinomial(30, [1 / 30] * 30, size=1000)
    by_hand = [sum(d * nats_N) / sum(d * tokens_N) for d in drawn]
    assert (alone.low, alone.high) == pytest.approx(tuple(np.quantile(by_hand, [0.025, 0.975])))


def test_the_interval_of_a_changed_score_takes_the_same_texts_of_both_by_what_they_weigh():
    rng = np.random.default_rng(0)
    value_SNH, weight_SNH = rng.uniform(0, 1, (2, 12, 3)), rng.uniform(0.1, 5, (2, 12, 3))
    value_SNH[1, 4] = np.nan  # a text without an answer after the edit
    before, after = (
        LayerScores(3, {"x": dict(enumerate(value_NH))}, {"x": dict(enumerate(weight_NH))})
        for value_NH, weight_NH in zip(value_SNH, weight_SNH, strict=True)
    )
    found = summarise_change(before, after, "x", Resampling(tuple(range(12)), seed=5))
    drawn = np.random.default_rng(5).multinomial(12, [1 / 12] * 12, size=1000)
    for head in range(3):
        means = []
        for counts in (np.ones(12), *drawn):
            known = counts * np.isfinite(value_SNH[:, :, head]).all(0) * weight_SNH[:, :, head]
            first, second = (known * np.nan_to_num(value_SNH[:, :, head])).sum(1) / known.sum(1)
            means.append(second - first)
        assert found.value_H[head] == pytest.approx(means[0], rel=1e-12)
        ends = np.quantile(means[1:], [0.025, 0.975])
        assert (found.low_H[head], found.high_H[head]) == pytest.approx(tuple(ends), rel=1e-12)
    assert found.texts_H.tolist() == [11, 11, 11]


def test_a_text_that_answers_on_one_side_only_is_no_change():
    values = {number: np.array([float(number)]) for number in range(6)}
    gone = {**values, 4: np.array([np.nan]), 5: np.array([np.nan])}
    alike = {"x": dict.fromkeys(range(6), np.ones(1))}
    found = summarise_change(
        LayerScores(1, {"x": values}, alike),
        LayerScores(1, {"x": gone}, alike),
        "x",
        Resampling(tuple(range(6)), seed=0),
    )
    assert (found.value_H[0], found.low_H[0], found.high_H[0], found.texts_H[0]) == (0, 0, 0, 4)


def test_nothing_is_said_of_chance_from_a_single_text():
    able = Ability(np.array([3.0]), np.array([2.0]), None, None)
    found = ability_estimates(able, seed=0)["loss"]
    assert found.value == 1.5 and np.isnan(found.low) and np.isnan(found.high)


def test_an_effect_is_that_of_the_edited_model_and_leaves_it_as_it_was():
    model = causal()
    tried = ability_tests(model, EncodedTexts.of(some_texts(9, 14, 5)), random=3, half=6)
    layers = survey(model.module)
    before = measure_ability(model, tried)
    found = effect_of(model, tried, before, HIGH, layers)
    with applied(model.module, HIGH, layers):
        after = measure_ability(model, tried)
    assert found == ability_estimates(before, after, seed=0) and abs(found["loss"].value) > 1e-6
    again = measure_ability(model, tried)
    assert (again.nats_N == before.nats_N).all() and (again.copied_M == before.copied_M).all()


# Sweeps ---------------------------------------------------------------------------------------------------------------


def layers_of(*sizes: int | None, heads: int = 2) -> list[Layer]:
    """Layers with so many frequencies each."""
    thetas = [None if size is None else 10.0 ** -torch.arange(size, dtype=torch.float64) for size in sizes]
    return [Layer(number, f"layers.{number}", "decoder", heads, theta_F) for number, theta_F in enumerate(thetas)]


def told(steps: list[SweepStep]) -> list[str]:
    return [step.edit.description for step in steps]


def test_each_head_alone_is_edited_or_ablated():
    layers = layers_of(4, None, 4)
    assert told(sweep_steps(Edit(), "head", layers)) == [
        f"ablate L{layer}H{head}" for layer in range(3) for head in (0, 1)
    ]
    asked = Edit(drop=("low:0.5",), layers=(0, 2))
    assert told(sweep_steps(asked, "head", layers)) == [
        f"drop low:0.5 in L{layer}H{head}" for layer in (0, 2) for head in (0, 1)
    ]
    assert told(sweep_steps(replace(asked, heads=("L2H1",)), "head", layers)) == ["drop low:0.5 in L2H1"]
    assert [(step.layer, step.head) for step in sweep_steps(asked, "head", layers)] == [(0, 0), (0, 1), (2, 0), (2, 1)]


def test_each_head_leaves_out_layers_that_do_not_have_the_band():
    fast, slow = layers_of(4)[0], replace(layers_of(4)[0], number=1, theta_F=layers_of(4)[0].theta_F * 1e-6)
    assert told(sweep_steps(Edit(drop=("angle:0.5..2",)), "head", (fast, slow))) == [
        f"drop angle:0.5..2 in L0H{head}" for head in (0, 1)
    ]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Edit(heads=("L0H0", "L99H0")), "there is no head L99H0; the model has layers 0 to 1"),
        (Edit(layers=(0, 99)), "there is no layer 99; the model has layers 0 to 1"),
    ],
)
def test_a_sweep_without_an_edit_names_what_is_not_there(wanted: Edit, sentence: str):
    with pytest.raises(UserError, match=sentence):
        sweep_steps(wanted, "head", layers_of(4, 4))


def test_a_sweep_finds_out_before_it_starts_that_a_step_cannot_be_done():
    shared = replace(layers_of(4)[0], groups=1, sliced=4, rotations=None)
    with pytest.raises(UserError, match="share keys of which only a part is rotated"):
        sweep_steps(Edit(unrotate=("all",)), "head", (shared,))


@pytest.mark.parametrize(
    ("wanted", "each"),
    [(Edit(unrotate=("all",), ablate=("L0H0",)), "head"), (Edit(ablate=("L0H0",)), "band")],
)
def test_a_sweep_of_frequencies_does_not_leave_an_ablation_out_unsaid(wanted: Edit, each: str):
    with pytest.raises(UserError, match=f"--each {each} goes through an edit of frequencies, and L0H0 is ablated"):
        sweep_steps(wanted, each, layers_of(4))


def test_a_band_is_told_by_numbers_and_wavelengths_once_for_layers_that_turn_alike():
    slow = replace(layers_of(4)[0], number=2, theta_F=layers_of(4)[0].theta_F * 1e-3)
    (fast, other) = edited_frequencies(Edit(drop=("high:0.5",)), (*layers_of(4, 4), slow))
    assert (fast.numbers, fast.of, fast.layers, other.layers) == ("0-1", 4, [0, 1], [2])
    assert fast.wavelengths == pytest.approx((2 * np.pi, 20 * np.pi))


def test_each_band_alone_goes_from_fast_to_slow():
    layers = layers_of(3, None, 2)
    found = sweep_steps(Edit(), "band", layers)
    assert told(found) == [f"drop index:{f} in layer {n}" for n, size in ((0, 3), (2, 2)) for f in range(size)]
    assert found[1].band == "index:1" and found[1].theta == pytest.approx((0.1, 0.1))
    assert told(sweep_steps(Edit(scale=("low:0.5=0.2",)), "band", layers_of(4))) == [
        "scale index:2=0.2 in layer 0",
        "scale index:3=0.2 in layer 0",
    ]
    heads = Edit(unrotate=("high:0.5",), heads=("L0H1",))
    assert told(sweep_steps(heads, "band", layers_of(2, 2))) == ["unrotate index:0 in L0H1"]


def test_many_frequencies_are_taken_with_their_neighbours():
    found = sweep_steps(Edit(), "band", layers_of(40))
    assert len(found) == 16 and found[0].band == "index:0-2" and found[-1].band == "index:38-39"
    backwards = Layer(0, "", "decoder", 1, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert [step.band for step in sweep_steps(Edit(), "band", [backwards])] == ["index:2", "index:1", "index:0"]


@pytest.mark.parametrize(
    ("wanted", "each", "sentence"),
    [
        (Edit(), "layer", "--each is 'layer'; give head or band"),
        (Edit(drop=("high:0.5",), unrotate=("low:0.5",)), "head", "one edit of frequencies at a time, and there are"),
        (Edit(scale=("all=0.2..1.4",)), "band", "give --scale one factor, not '0.2..1.4'"),
    ],
)
def test_sweeps_that_cannot_be_are_refused(wanted: Edit, each: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        sweep_steps(wanted, each, layers_of(4))


def test_a_sweep_of_bands_needs_bands():
    with pytest.raises(UserError, match="--each band has nothing to go through"):
        sweep_steps(Edit(), "band", layers_of(None, None))


# The whole walk -------------------------------------------------------------------------------------------------------


def test_the_walk_gives_before_after_and_change():
    model = causal()
    steps: list[tuple[int, int, str]] = []
    found = measure_edit(model, some_texts(9, 14, 12), HIGH, random=3, on_step=lambda *one: steps.append(one), first=0)
    assert steps[-1][:2] == (8, 8) and [done for done, _, _ in steps] == sorted({done for done, _, _ in steps})
    for states in found.whole.values():
        assert states["change"]["value"] == pytest.approx(states["after"]["value"] - states["before"]["value"])  # type: ignore[operator]
    names = found.heads["model"].unique(maintain_order=True).to_list()
    assert names == [model.id, f"{model.id} · unrotate high:0.5"]
    before, after = (found.heads.filter(found.heads["model"] == name) for name in names)
    changes = found.edit.filter(found.edit["head"].is_not_null())
    assert len(changes) == len(before) == len(after)
    keys = ["layer", "head", "score"]
    joined = before.join(after, on=keys, suffix="_after").join(
        changes.with_columns(score=changes["measure"].str.strip_prefix("head.")), on=keys, suffix="_change"
    )
    gap = joined["value_after"] - joined["value"] - joined["value_change"]
    assert len(joined) == len(before) and gap.drop_nulls().abs().max() < 1e-12
    assert found.manifest.predicts == "next"
    assert found.manifest.random == CopySection(sequences=3, half=27, of=27)


def test_heads_are_read_while_they_are_edited_and_numbered_as_in_the_survey():
    model = causal()
    found = measure_edit(model, some_texts(9, 14), Edit(unrotate=("all",), layers=(1,)), random=0, first=0)
    shares = found.heads.filter(found.heads["score"] == "position_share").sort("layer", "head")
    before, after = (shares.filter(shares["model"].str.contains("·") == edited_) for edited_ in (False, True))
    assert before["value"].min() > 0
    assert after["value"][:4].to_list() == before["value"][:4].to_list(), "nothing comes before the first layer"
    assert after["value"][4:].abs().max() < 1e-12, "what does not turn knows no place"
    modules = [layer.module for layer in found.manifest.layers]
    assert [f"model.{module}" for module in modules] == [layer.module for layer in survey(model.module)]


def test_an_edit_of_nothing_is_refused_before_anything_is_read():
    with pytest.raises(UserError, match="nothing is to be changed; say what with --drop, --unrotate"):
        measure_edit(causal(), iter(()), Edit())
    with pytest.raises(UserError, match="an edit is not followed into hidden states"):
        measure_edit(causal(), iter(()), HIGH, hidden=True)


@pytest.mark.shared
def test_a_real_model_loses_more_by_its_fast_frequencies(shared: Path):
    model = load_language_model(str(shared / "models" / "stories260K"), LoadSettings(device="cpu"))
    text = (shared / "data" / "stories.txt").read_text()[:6000]
    ids = list(torch.tensor(model.tokenizer(text)["input_ids"]).split(200))
    tried, layers = ability_tests(model, EncodedTexts.of(ids), random=4), survey(model.module)
    before = measure_ability(model, tried)
    fast, slow = (
        effect_of(model, tried, before, Edit(unrotate=(band,)), layers)["loss"] for band in ("high:0.25", "low:0.25")
    )
    assert fast.low > slow.high, "neighbours are told by what turns fast"

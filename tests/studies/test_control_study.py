"""The whole control experiment on small models: what it changes, what it gives back, and what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from precision import rounding
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from wherewhat.capture.editing.survey import survey
from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.outputs.language_model import generate_texts
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.editing.abilities import ability_tests, measure_ability
from wherewhat.editing.edit import edit
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import resolve
from wherewhat.errors import UserError
from wherewhat.studies.control.heads import FrequencyNorms, with_redrawn_weights
from wherewhat.studies.control.interventions import InterventionSetup, mask_of
from wherewhat.studies.control.run import STUDY
from wherewhat.studies.control.settings import CONTROLS, SCALES
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.tables.schema import RESULT

# The experiment as small as it can be.
SMALL = replace(SCALES["tiny"], max_texts=6, max_tokens=64, controls=2, answers=6, random=3, half=8)


def control(**options: Any) -> StudyResult:
    return STUDY.reproduce(Request(**{"scale": SMALL, **options}))


def llama(**more: int) -> LlamaForCausalLM:
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes |= {"num_key_value_heads": 2, "vocab_size": 50, "max_position_embeddings": 64}
    model = LlamaForCausalLM._from_config(LlamaConfig(**{**sizes, **more}))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3, generator=generator)
    return model.eval()


def texts_of(count: int, tokens: int = 12) -> list[torch.Tensor]:
    return list(torch.randint(3, 50, (count, tokens), generator=torch.Generator().manual_seed(1)))


def used_by(model: torch.nn.Module) -> FrequencyNorms:
    theta = next(layer.theta_F for layer in survey(model) if layer.theta_F is not None)
    names = tuple(f"L{layer}H{head}" for layer in range(2) for head in range(4))
    return FrequencyNorms(names, np.tile(theta.numpy(), (8, 1)), np.full((8, len(theta)), 1 / (8 * len(theta))))


@pytest.mark.parametrize("operation", ["drop", "unrotate"])
def test_a_change_is_the_edit_of_the_same_name(operation: str):
    model, names = llama(), ("L0H1", "L1H2")
    layers, used = survey(model), used_by(model)
    mask = mask_of(used, used.band("high:0.25") & np.isin(used.names, names)[:, None])
    loaded_model = wrap_module(model)
    tests = ability_tests(loaded_model, EncodedTexts.of(texts_of(3)), random=2, half=4)
    bench = InterventionSetup(loaded_model, layers, tests, used)
    ours = bench.edits(mask, operation)
    theirs = resolve(Edit(**{operation: ("high:0.25",)}, heads=names), layers)
    assert ours.keys() == theirs.keys() == {0, 1}
    for number, table in ours.items():
        assert torch.equal(table.gain_HF, theirs[number].gain_HF)
        assert torch.equal(table.rotated_HF, theirs[number].rotated_HF)
    with edit(model, **{operation: "high:0.25"}, heads=names):
        theirs_able = measure_ability(loaded_model, bench.tests)
    ours_able, before = bench.under(mask, operation), measure_ability(loaded_model, bench.tests)
    ours_N, _ = ours_able["loss"]
    np.testing.assert_allclose(ours_N, theirs_able.nats_N, rtol=rounding(torch.float32))
    assert np.abs(ours_N - before.nats_N).max() > 1e-3, "and the model was put back"


@pytest.fixture(scope="module")
def found():
    steps: list[tuple[int, int, str]] = []
    return control(model=llama(), texts=texts_of(4), on_step=lambda *step: steps.append(step)), steps


def test_a_whole_run_has_every_part(found):
    result = found[0].result
    assert dict(result.schema) == RESULT
    assert set(result["part"]) == {
        *("before", "heads", "correlation", "unlearnt", "cells"),
        *CONTROLS,
        *(f"above {control}" for control in CONTROLS),
    }
    cells = result.filter((pl.col("part") == "cells") & (pl.col("measure") == "loss"))
    assert len(cells) == 8 and set(cells["item"]) == {
        f"{operation} {side}:0.25" for operation in ("drop", "unrotate") for side in ("high", "low")
    }
    assert (cells["low"] <= cells["value"]).all() and (cells["value"] <= cells["high"]).all()
    kinds = result.filter((pl.col("part") == "heads") & (pl.col("measure") == "position_share"))
    assert len(kinds) == 8 and sorted(kinds["subject"].unique()) == ["other", "positional", "symbolic"]
    chosen = {head: kind for kind, names in found[0].about["chosen"].items() for head in names}
    assert all(kind == chosen.get(head, "other") for head, kind in kinds.select("item", "subject").iter_rows())
    assert len(found[0].claims) == 12 and found[0].settings["controls"] == 2
    assert {"model", "texts", "chosen", "rule"} <= found[0].about.keys()


def test_every_control_says_how_equal_it_is(found):
    result = found[0].result
    for name in CONTROLS:
        wide = result.filter(pl.col("part") == name).pivot("measure", index=["subject", "item", "at"], values="value")
        norms = result.filter((pl.col("part") == "cells") & (pl.col("measure") == "norm"))
        both = wide.join(norms.select("subject", "item", norm_of_cell="value"), on=["subject", "item"])
        assert len(both) == len(wide) > 0
        np.testing.assert_allclose(both["ratio"], both["norm"] / both["norm_of_cell"])
        equal = result.filter((pl.col("part") == f"above {name}") & (pl.col("measure") == "equal"))
        near = wide.group_by("subject", "item").agg(near=((pl.col("ratio") - 1).abs() <= 0.1).any())
        told = equal.join(near, on=["subject", "item"])
        assert len(told) == 8 and (told["value"] == told["near"].cast(pl.Float64)).all()


def test_what_waits_is_told_how_far_it_is(found):
    trying = [step for step in found[1] if step[2] == "interventions"]
    assert [done for done, _, _ in trying] == list(range(1, trying[-1][1] + 1))


def test_the_same_order_gives_the_same_table(found):
    again = control(model=llama(), texts=texts_of(4))
    assert again.result.equals(found[0].result) and again.claims == found[0].claims


def test_a_net_of_ours_is_asked_for_its_answers():
    result = control(seeds=1, model="tiny").result
    assert result.filter(pl.col("part").is_in(CONTROLS))["at"].max() == 0, "one draw, as was asked for"
    assert set(result.filter(pl.col("part") == "before")["measure"]) == {"loss"}


def test_without_texts_a_model_writes_its_own():
    model = wrap_module(llama())
    first, again, other = (generate_texts(model, 3, 9, seed=seed) for seed in (0, 0, 1))
    assert [len(text) for text in first] == [9] * 3
    assert all(torch.equal(*both) for both in zip(first, again, strict=True))
    assert not all(torch.equal(*both) for both in zip(first, other, strict=True))


def test_what_a_model_writes_follows_what_it_says():
    model = llama()
    with torch.no_grad():
        model.lm_head.weight.zero_()
        model.lm_head.weight[7] = 100 * model.model.norm.weight.sign()
        for parameter in model.model.layers.parameters():
            parameter.zero_()
        model.model.embed_tokens.weight.fill_(1.0)  # every hidden state is the same, and says 7
    assert all((text[1:] == 7).all() for text in generate_texts(wrap_module(model), 2, 6, seed=0))


def test_a_model_that_fills_in_masks_writes_nothing():
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)

    class Masks:
        mask_token_id = 1
        model_max_length = 32

    model = LoadedModel("masks", BertForMaskedLM(config).eval(), Masks())
    with pytest.raises(UserError, match="there is no text for masks, and it cannot generate any; give --text FILE"):
        generate_texts(model, 2, 5, seed=0)


def test_a_model_without_rotary_frequencies_is_refused():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=32)).eval()
    with pytest.raises(
        UserError, match="gpt2 has no rotary frequencies, so there are no bands to compare; name a model"
    ):
        control(model=model, texts=texts_of(3))


def test_one_frequency_has_no_fast_and_slow_half():
    with pytest.raises(UserError, match="has 1 rotary frequency per head; a fast and a slow band need at least 2"):
        control(model=llama(head_dim=2), texts=texts_of(3))


def test_one_text_has_no_interval():
    with pytest.raises(UserError, match="there is one text, and intervals resample texts; give --text FILE"):
        control(model=llama(), texts=texts_of(1))


def test_an_unknown_scale_is_answered_with_those_there_are():
    with pytest.raises(UserError, match="unknown scale 'huge'; .*known: paper, small, tiny"):
        control(scale="huge", model=llama(), texts=texts_of(3))


@pytest.mark.shared
def test_a_real_model_runs_to_claims(shared: Path):
    found = control(seeds=1, model=str(shared / "models" / "stories260K"))
    assert found.claims[0].verdict in ("in part", "agrees"), "fast pairs are more positional than arithmetic makes them"
    assert len(found.about["chosen"]["symbolic"]) >= 2
    assert any("the model generated them" in note for note in found.notes)
    from_one_draw = {claim.verdict for claim in found.claims if "random bands" in claim.claim}
    assert "unknown" in from_one_draw and not from_one_draw & {"seen", "in part"}


def test_what_a_model_has_not_learnt_does_not_agree_with_what_was_published(found):
    """The weights of this model are random, and yet speed goes with both scores as was published."""
    told = found[0].result.filter(pl.col("part") == "correlation", pl.col("item") == "theta")
    rho = dict(told.select("measure", "value").iter_rows())
    assert rho["positional"] > 0.5 and rho["symbolic"] < -0.5
    assert found[0].claims[0].verdict == "unknown"


def test_weights_are_drawn_anew_and_those_of_the_model_stay():
    model = llama()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    first, again, other = (
        dict(with_redrawn_weights(wrap_module(model), seed=seed).module.named_parameters()) for seed in (0, 0, 1)
    )
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    name = "model.layers.0.self_attn.q_proj.weight"
    assert torch.equal(first[name], again[name]) and not torch.equal(first[name], other[name])
    assert not torch.equal(first[name], before[name])
    torch.testing.assert_close(first[name].std(), before[name].std(), rtol=0.1, atol=0)
    assert torch.equal(first["model.norm.weight"], before["model.norm.weight"]), "all alike, so they stay"


def test_how_many_comparisons_were_made_is_told(found):
    assert any("rest on 32 comparisons" in note or "rest on 24 comparisons" in note for note in found[0].notes)


def test_too_few_draws_of_equal_norm_are_told(found):
    assert any("2 draws of random" in note and "too few for a verdict" in note for note in found[0].notes)

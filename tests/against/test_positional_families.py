"""The positional part of attention, against formulas over the families' own weights and their own attention."""

from copy import deepcopy
from functools import cache

import numpy as np
import polars as pl
import positional_oracle as theirs
import pytest
import torch
from families import FAMILIES
from torch import Tensor
from transformers import PreTrainedModel

from wherewhat.capture.loading.load import wrap_module
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.profiling.measurements.base import MeasurementResult, ProfileContext
from wherewhat.profiling.measurements.positional import measure
from wherewhat.profiling.positional_part.repeated_word import prepare_probe
from wherewhat.profiling.settings import PositionalSettings, ProfileSettings

BY_NAME = {family.name: family for family in FAMILIES}
N, PROBING = 13, PositionalSettings(length=13, words=7, seed=3, batch_tokens=300)
TABLES = ("bert", "roberta", "electra", "albert")
RELATIVE = ("xlnet", "deberta", "deberta-v2", "t5", "llama", "modernbert", "esm", "gpt_neox")
PLAIN = {"deberta": {"position_biased_input": False}, "deberta-v2": {"position_biased_input": False}}
NARROW = {"electra": {"embedding_size": 16}}  # its table passes a projection then


def texts() -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(3, 90, (length,), generator=generator) for length in (20, 17, 15, 13)]


@cache
def model_of(name: str) -> PreTrainedModel:
    model = BY_NAME[name].build(seed=1, **PLAIN.get(name, {}), **NARROW.get(name, {}))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():  # biases begin at 0, and would not show whether they are dropped
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model.double()


def measured(model: PreTrainedModel) -> MeasurementResult:
    settings = ProfileSettings(positional=PROBING, seed=PROBING.seed)
    return measure(ProfileContext(wrap_module(model), EncodedTexts.of(texts()), settings))


@cache
def found(name: str) -> MeasurementResult:
    return measured(model_of(name))


def ours(name: str, source: str, layer: int) -> np.ndarray:
    """The matrices of a layer, heads first."""
    rows = found(name).matrices.filter((pl.col("source") == source) & (pl.col("layer") == layer))
    return rows.sort("head", "query", "key")["attention"].to_numpy().reshape(-1, N, N)


def words_of(name: str) -> list[int]:
    return [int(word) for word in prepare_probe(wrap_module(model_of(name)), PROBING).words_W]


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("name", TABLES)
def test_delta_of_a_table_is_its_rows_through_the_weights(name: str, layer: int):
    expected = theirs.bert_delta(model_of(name), N, layer, words_of(name))
    np.testing.assert_allclose(ours(name, "delta", layer), expected, atol=1e-8)


@pytest.mark.parametrize("layer", [0, 1])
def test_a_decoders_table_is_read_without_its_mask(layer: int):
    np.testing.assert_allclose(ours("gpt2", "delta", layer), theirs.gpt2_delta(model_of("gpt2"), N, layer), atol=1e-8)


def test_of_two_tables_the_nearest_is_read():
    expected = theirs.bart_delta(model_of("bart"), N, 1, words_of("bart"))
    np.testing.assert_allclose(ours("bart", "delta", 1), expected, atol=1e-8)


def test_delta_of_strong_positions_is_near_what_identical_words_give():
    """A norm shrinks or stretches what a table brings; without it, logits would be off by the square of that."""
    model = BY_NAME["bert"].build(seed=4, layer_norm_eps=1e-12)
    with torch.no_grad():
        slot_T1, channel_D = torch.arange(64)[:, None], torch.arange(model.config.hidden_size)
        table = model.embeddings.position_embeddings.weight
        table.copy_(0.05 * torch.sin(slot_T1 * 0.9 ** (channel_D % 8) + 1.3 * channel_D))
        model.embeddings.word_embeddings.weight.mul_(0.02 / model.embeddings.word_embeddings.weight.std())
        model.embeddings.token_type_embeddings.weight.zero_()
        for layer in model.encoder.layer:  # heads that look where the table is alike
            key = layer.attention.self.key.weight
            key.copy_(layer.attention.self.query.weight.copy_(torch.eye(len(key))))
    found = measured(model.double()).summaries
    answers = next(one for site, one in found.items() if site.ordinal == 0)
    delta_H, identical_H = (answers[f"{source}.locality"].value_H for source in ("delta", "identical"))
    chance = answers["identical.locality"].chance_H
    assert (identical_H > chance + 0.1).all(), "positions are strong"
    np.testing.assert_allclose(delta_H, identical_H, atol=0.05)


@pytest.mark.parametrize("name", TABLES)
def test_copies_of_a_word_are_the_explicit_product_in_place(name: str):
    each = [theirs.bert_in_place(model_of(name), N, word) for word in words_of(name)]
    np.testing.assert_allclose(ours(name, "identical", 0), np.mean(each, 0), atol=1e-6)


def test_copies_of_a_word_are_the_familys_own_attention_in_every_layer():
    model = deepcopy(model_of("bert"))
    model.set_attn_implementation("eager")
    with torch.no_grad():
        each = [model(torch.full((1, N), word), output_attentions=True).attentions for word in words_of("bert")]
    for layer in (0, 1):
        mean_HTT = torch.stack([one[layer][0] for one in each]).mean(0)
        np.testing.assert_allclose(ours("bert", "identical", layer), mean_HTT.numpy(), atol=1e-6)


def test_xlnet_is_left_with_what_queries_ask_of_relative_positions():
    model, words = model_of("xlnet"), words_of("xlnet")
    x = theirs.weights(model)["word_embedding.weight"][words].mean(0)
    np.testing.assert_allclose(ours("xlnet", "delta", 0), theirs.xlnet_delta(model, N, x), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "delta"), [("deberta", theirs.deberta_delta), ("deberta-v2", theirs.deberta_v2_delta)]
)
def test_deberta_is_left_with_contents_and_positions_asking_each_other(name: str, delta):
    model = model_of(name)
    x = theirs.deberta_input(model, words_of(name))
    np.testing.assert_allclose(ours(name, "delta", 0), delta(model, N, x), atol=1e-6)


def test_rotary_heads_are_left_with_the_turns_of_one_query_and_one_key():
    model = model_of("llama")
    x = theirs.llama_input(model, words_of("llama"))
    np.testing.assert_allclose(ours("llama", "delta", 0), theirs.llama_delta(model, N, x), atol=1e-5)


def test_a_bias_is_its_own_positional_part():
    np.testing.assert_allclose(ours("t5", "delta", 0), theirs.t5_delta(model_of("t5"), N), atol=1e-6)
    np.testing.assert_allclose(ours("t5", "delta", 1), theirs.t5_delta(model_of("t5"), N), atol=1e-6)
    np.testing.assert_allclose(ours("bloom", "delta", 0), theirs.bloom_delta(N), atol=1e-6)


@pytest.mark.parametrize("name", RELATIVE)
def test_relative_positions_make_the_same_of_every_offset(name: str):
    for layer in (0, 1):
        logits = np.log(ours(name, "delta", layer))
        logits = logits - np.diagonal(logits, axis1=1, axis2=2)[..., None]
        seen = np.abs(logits) < 30  # what a window hides is no logit
        for offset in range(-N + 1, N):
            line, there = (np.diagonal(x, offset, 1, 2) for x in (logits, seen))
            if there.all():
                assert np.ptp(line, axis=-1).max() < 1e-4, (name, layer, offset)


def test_a_table_makes_other_things_of_the_same_offset():
    logits = np.log(ours("bert", "delta", 0))
    logits = logits - np.diagonal(logits, axis1=1, axis2=2)[..., None]
    assert np.ptp(np.diagonal(logits, 1, 1, 2), axis=-1).min() > 0.01


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("name", ["bert", "roberta", "albert"])
def test_means_are_the_softmax_of_mean_queries_with_mean_keys(name: str, layer: int):
    cut = [text[:N] for text in texts()]
    np.testing.assert_allclose(ours(name, "mean", layer), theirs.bert_mean(model_of(name), cut, layer), atol=1e-6)


def test_means_of_a_family_that_puts_slots_first():
    cut = [text[:N] for text in texts()]
    np.testing.assert_allclose(ours("xlnet", "mean", 0), theirs.xlnet_mean(model_of("xlnet"), cut), atol=1e-6)


def test_where_a_model_has_both_the_logits_are_taken_and_the_table_is_told():
    model = BY_NAME["deberta"].build(seed=1, position_biased_input=True)
    both = measured(model)
    assert any("a table of positions is added to the tokens too" in note for note in both.notes)
    assert not any("is added to the tokens too" in note for note in found("deberta").notes)
    assert not any("delta is the model's table" in note for note in both.notes)
    rows = both.matrices.filter(pl.col("source") == "delta").sort("layer", "head", "query", "key")
    logits = np.log(rows["attention"].to_numpy().reshape(-1, N, N))
    logits = logits - np.diagonal(logits, axis1=1, axis2=2)[..., None]
    assert np.ptp(np.diagonal(logits, 3, 1, 2), axis=-1).max() < 1e-4, "slots that read alike are told apart by lag"


def test_a_mask_that_hides_what_slots_add_is_told():
    for name in ("bloom", "mpt"):
        known = found(name)
        assert not any(one.source == "unmasked" for one in known.section.layers)
        assert {one.mask for one in known.section.layers} == {"causal"}
        assert any("logits are not known for keys that the mask hides" in note for note in known.notes)


def test_a_tapped_family_is_told_what_it_is_fed():
    known = [one for one in found("gptj").section.layers if one.source in ("delta", "mean")]
    assert len(known) == 4 and not any(one.mask for one in known)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_of_two_stacks_the_encoder_is_asked(name: str):
    assert {site.part for site in found(name).summaries} == {"encoder"}
    assert any("the positional part is about the encoder" in note for note in found(name).notes)

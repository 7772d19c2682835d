"""Every family of models: relevance adds up and so do its parts; families that are not covered say so."""

import sys
from typing import Any

import pytest
import torch
from families import FAMILIES
from head_models import BY_NAME, IDS, other, with_head
from precision import rounding
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    BartConfig,
    PreTrainedModel,
)

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.outputs import choose_output
from wherewhat.attribution.result import Attribution
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.errors import UserError

BY_RULES = ("pa-lrp", "attnlrp", "cp-lrp")
NAMES = [family.name for family in FAMILIES]
FUSED = [family.name for family in FAMILIES if family.route == "interface" and "soft cap" not in family.position]
TABLES = {"gpt2", "opt", "bert", "roberta", "albert", "electra", "distilbert", "bart"}
SMALL = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def state_of(model: PreTrainedModel) -> list[Any]:
    """What explaining must leave as it was."""
    files = {type(module).__module__ for module in model.modules()}
    functions = [
        vars(sys.modules[file]).get(name) for file in sorted(files) for name in ("apply_rotary_pos_emb", "gelu")
    ]
    hooks = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()]
    patched = [sorted(set(vars(module)) - {"_is_hf_initialized"}) for module in model.modules()]
    gradients = [(parameter.requires_grad, parameter.grad) for parameter in model.parameters()]
    return [functions, hooks, patched, gradients]


def check_ledger(attribution: Attribution) -> None:
    ledger = attribution.ledger
    assert abs(ledger.rest) <= rounding(ledger.dtype, ledger.flow)
    assert float(attribution.position_T.sum()) == pytest.approx(ledger.positions, abs=1e-13)
    assert float(attribution.token_T.sum()) == pytest.approx(ledger.tokens, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_relevance_adds_up_and_nothing_else_changes(name: str):
    model = with_head(BY_NAME[name])
    before = state_of(model.module)
    with torch.no_grad():
        plain_C = choose_output(model, IDS, "").logits()
    for method in BY_RULES:
        attribution = attribute(model, IDS, method=method)
        torch.testing.assert_close(attribution.relevance.logits_C, plain_C, rtol=0, atol=1e-12)
        check_ledger(attribution)
        assert attribution.token_T.shape == (len(IDS),) and attribution.token_T.any()
    assert state_of(model.module) == before


@pytest.mark.parametrize("name", NAMES)
def test_heads_and_frequencies_are_sums_of_positions(name: str):
    attribution = attribute(with_head(BY_NAME[name]), IDS)
    close = rounding(attribution.ledger.dtype, attribution.ledger.flow)
    tables = sum(float(part_T.sum()) for (source, _), part_T in attribution.parts.items() if source == "table")
    rotary = sum(float(part_T.sum()) for (source, _), part_T in attribution.parts.items() if source == "rotation")
    assert bool(tables) == (name in TABLES | {"deberta", "deberta-v2"})
    assert bool(rotary) == ("rotary" in BY_NAME[name].position)
    assert attribution.heads["relevance"].sum() == pytest.approx(attribution.ledger.positions - tables, abs=close)
    assert attribution.frequencies["relevance"].sum() == pytest.approx(rotary, abs=close)
    if rotary:
        assert attribution.frequencies["theta"][0] == pytest.approx(1, abs=1e-6)
        assert attribution.heads["head"].n_unique() == 4 or name in TABLES


@pytest.mark.parametrize("name", FUSED)
def test_fused_and_eager_attention_give_the_same_relevance(name: str):
    results = []
    for implementation in ("sdpa", "eager"):
        model = with_head(BY_NAME[name])
        model.module.set_attn_implementation(implementation)
        results.append(attribute(model, IDS))
    ours, theirs = results
    close = rounding(torch.float32, ours.ledger.flow)  # in which some families compute their eager softmax
    torch.testing.assert_close(ours.token_T, theirs.token_T, rtol=0, atol=close)
    torch.testing.assert_close(ours.position_T, theirs.position_T, rtol=0, atol=close)
    assert ours.heads["relevance"].to_list() == pytest.approx(theirs.heads["relevance"].to_list(), abs=close)
    assert ours.ledger.softmax == pytest.approx(theirs.ledger.softmax, abs=close)


def test_tied_weights_are_one_embedding():
    tied, apart = (with_head(BY_NAME["llama"], tie_word_embeddings=tie) for tie in (True, False))
    apart.module.lm_head.weight.data = apart.module.model.embed_tokens.weight.data.clone()
    tied.module.load_state_dict(apart.module.state_dict())
    ours, theirs = attribute(tied, IDS), attribute(apart, IDS)
    torch.testing.assert_close(ours.token_T, theirs.token_T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_the_first_token_after_an_encoder_is_explained_by_what_the_encoder_read(name: str):
    model = with_head(BY_NAME[name])
    attribution = attribute(model, IDS)
    start = torch.tensor([[model.module.config.decoder_start_token_id]])
    with torch.no_grad():
        logits_C = model.module(input_ids=torch.tensor([IDS]), decoder_input_ids=start).logits[0, -1]
    assert attribution.output.kind == "next" and attribution.output.slot is None
    assert attribution.output.index == int(logits_C.argmax())
    assert attribution.output.logit == pytest.approx(float(logits_C.max()))
    assert attribution.ledger.others != 0  # the decoder's start token and its position
    layers = {layer for _, layer in attribution.parts}
    assert layers == ({None} if name == "t5" else {0})
    decoder = [entry for entry in attribution.ledger.entries if entry.node == "softmax" and entry.layer is None]
    assert len(decoder) == 4  # two layers, each over itself and over the encoder


def test_every_layer_of_shared_weights_has_an_entry_of_its_own():
    ledger = attribute(with_head(BY_NAME["albert"]), IDS).ledger
    assert [entry.layer for entry in ledger.entries if entry.node == "softmax"] == [0, 1, 2]


def test_a_layer_that_does_not_rotate_has_no_heads():
    attribution = attribute(with_head(BY_NAME["smollm3"]), IDS)
    assert set(attribution.heads["layer"]) == set(attribution.frequencies["layer"]) == {0}


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "xlnet", "gptj", "bloom", "modernbert"])
def test_rollout_is_the_product_of_attention_with_its_residual(name: str):
    model = with_head(BY_NAME[name])
    model.module.set_attn_implementation("eager")
    with torch.no_grad():
        output = model.module(input_ids=torch.tensor([IDS]), output_attentions=True)
    attribution = attribute(model, IDS, method="rollout")
    rolled_TT = torch.eye(len(IDS), dtype=torch.float64)
    for attention_BHQK in output.attentions:
        mixed_QK = attention_BHQK[0].double().mean(0) / 2 + torch.eye(len(IDS)) / 2
        rolled_TT = mixed_QK @ rolled_TT
    row = len(IDS) - 1 if attribution.output.slot is None else attribution.output.slot  # XLNet's label: the last
    torch.testing.assert_close(attribution.scores_T, rolled_TT[row], rtol=0, atol=1e-6)
    assert attribution.ledger is None


OTHERS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "openai-gpt": (
        AutoModelForCausalLM,
        SMALL,
        "it is not known where position enters OpenAIGPTLMHeadModel, so positions cannot be told from tokens; "
        "use the method attnlrp",
    ),
    "mamba": (
        AutoModelForCausalLM,
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2},
        "no attention of MambaForCausalLM was seen that has a rule of relevance; use the method input-x-gradient",
    ),
    "longt5": (
        AutoModelForSeq2SeqLM,
        {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4},
        "the positions of LongT5ForConditionalGeneration are not those of tokens; use the method input-x-gradient",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_family_that_is_not_covered_says_so(name: str):
    auto, sizes, sentence = OTHERS[name]
    more = {"decoder_start_token_id": 0} if auto is AutoModelForSeq2SeqLM else {}
    model = other(name, auto, **sizes, **more)
    with pytest.raises(UserError) as refusal:
        attribute(model, IDS)
    assert str(refusal.value) == sentence
    method = sentence.rpartition(" ")[2]
    assert attribute(model, IDS, method=method).token_T.any()


def test_relevance_that_does_not_add_up_is_refused():
    falcon = with_head(BY_NAME["falcon"], alibi=True)  # whose bias is part of the mask
    with pytest.raises(
        UserError, match="relevance is lost in FalconForCausalLM: .* is missing of .* that flow, so some"
    ):
        attribute(falcon, IDS)


def test_a_classifier_that_reads_twice_is_refused():
    sizes = BY_NAME["bart"].sizes
    config = BartConfig(vocab_size=99, num_labels=3, pad_token_id=0, eos_token_id=2, **sizes)
    model = LoadedModel("bart", AutoModelForSequenceClassification.from_config(config).eval())
    with pytest.raises(UserError, match="bart reads a text twice before it labels it, .*; name a classifier with one"):
        attribute(model, IDS)


def test_rollout_of_two_stacks_is_refused():
    with pytest.raises(UserError, match="t5 has an encoder and a decoder, and attention rollout is for one stack; use"):
        attribute(with_head(BY_NAME["t5"]), IDS, method="rollout")

"""What a model is read by is never made up: overflow, odd tokenizers and heads that cannot be asked are told apart."""

from pathlib import Path

import numpy as np
import pytest
import torch
from heads_of_models import classifier, folder, model, own, tokenizer
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadSettings, wrap_module
from wherewhat.capture.outputs.language_model import load_language_model, nats, prediction_kind
from wherewhat.capture.outputs.text_outputs import (
    classify,
    fits,
    labels_of,
    load_reader,
    mean_states,
    output_kind,
    why_only_states,
)
from wherewhat.capture.tokens.full_texts import encode_full_text
from wherewhat.capture.tokens.special_tokens import opening_token
from wherewhat.errors import UserError
from wherewhat.probing.swap_probe.probed_model import FIRST, open_probed_model
from wherewhat.probing.words import probe_words

LOADING = LoadSettings(device="cpu")
OVERFLOW = "are not finite on these texts; load the model with --dtype float32, or check its weights"


def of_bytes(**roles: str) -> PreTrainedTokenizerFast:
    """A tokenizer of single bytes: it knows everything, and has no token for what it does not know."""
    inner = Tokenizer(BPE({letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}, []))
    inner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=inner, **roles)


@torch.no_grad()
@pytest.mark.parametrize("roles", [{}, {"eos_token": "<|endoftext|>"}])
def test_a_tokenizer_without_an_unknown_token(roles: dict[str, str]):
    made, reads = model("gpt2", "GPT2LMHeadModel", vocab_size=300).double(), of_bytes(**roles)
    assert reads.unk_token_id is None
    texts = ["abc déf", "x", "another text"]
    for text, x_D in zip(texts, mean_states(wrap_module(made, reads), texts), strict=True):
        hidden_TD = made.transformer(**reads(text, return_tensors="pt")).last_hidden_state[0]
        assert x_D == pytest.approx(hidden_TD.mean(0).numpy(), abs=1e-12)
        whole = encode_full_text(wrap_module(made, reads), (text,))
        assert whole.own_T.dtype == whole.known_T.dtype == torch.bool and whole.known_T.all()


def test_answers_that_overflowed_are_refused(tmp_path: Path):
    made = classifier("bert", "BertForSequenceClassification")
    with torch.no_grad():
        made.classifier.weight.copy_(60000 * made.classifier.weight.sign())
    name = folder(tmp_path, made, "around")
    assert np.isfinite(classify(load_reader(name, LOADING), [("a b",)])).all()
    half = load_reader(name, LoadSettings(device="cpu", dtype="float16"))
    with pytest.raises(UserError, match=f"the logits of {half.id} {OVERFLOW}"):
        classify(half, [("a b",), ("c d e", "f")])


def test_states_and_surprises_that_overflowed_are_refused():
    made = model("gpt2", "GPT2LMHeadModel")
    with torch.no_grad():
        made.transformer.ln_f.weight.fill_(3e38)
    loaded_model = wrap_module(made, tokenizer("bare"))
    with pytest.raises(UserError, match=f"the hidden states of {loaded_model.id} {OVERFLOW}"):
        mean_states(loaded_model, ["a b c"])
    with pytest.raises(UserError, match=f"the logits of GPT2LMHeadModel {OVERFLOW}"):
        prediction_kind(loaded_model)


def test_a_token_that_is_forbidden_does_not_hide_that_a_model_looks_ahead():
    made = model("bert", "BertForMaskedLM")
    made.cls.register_forward_hook(lambda cls, given, said: said.index_fill(-1, torch.tensor([7]), -torch.inf))
    assert prediction_kind(wrap_module(made, tokenizer("bare"))) == "masked"


def test_a_surprise_that_only_some_texts_overflow_by():
    made = model("bert", "BertForMaskedLM", tie_word_embeddings=False)
    with torch.no_grad():
        made.bert.embeddings.word_embeddings.weight[20:] = 3e38  # what the probe for looking ahead never reads
    loaded_model = wrap_module(made, tokenizer("around"))
    assert np.isfinite(nats(loaded_model, ["a b"])[0]).all()
    with pytest.raises(UserError, match=f"the logits of {loaded_model.id} {OVERFLOW}"):
        nats(loaded_model, ["a b", "a y z"])


HEADLESS = {  # family, how its tokenizer writes, and what is said
    "ElectraForPreTraining": (
        "electra", "around",
        "it was saved from ElectraForPreTraining and opened as ElectraModel, without a head that could be used",
    ),
    "XLNetLMHeadModel": ("xlnet", "behind", "XLNetLMHeadModel sees the tokens that it would have to predict"),
    "T5EncoderModel": ("t5", "around", "T5EncoderModel has no head"),
    "BertModel": ("bert", "around", "BertModel has no head"),
}  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("kind", HEADLESS)
def test_a_model_without_a_usable_head_is_read_by_its_states(kind: str, tmp_path: Path):
    family, form, why = HEADLESS[kind]
    made = model(family, kind)
    name = folder(tmp_path, made, form)
    reader = open_probed_model(name, loading=LOADING)
    assert reader.readout == output_kind(reader.model) == "states"
    assert reader.notes == [f"Only the hidden states of {reader.model.id} are read: {why}."]
    told = tokenizer(form)("a b c", return_tensors="pt")
    own_T = told["input_ids"][0] > 4
    theirs = made.base_model(input_ids=told["input_ids"]).last_hidden_state[0, own_T].mean(0).numpy()
    assert mean_states(reader.model, ["a b c"])[0] == pytest.approx(theirs, abs=1e-5)
    with pytest.raises(UserError):
        prediction_kind(load_language_model(name, LOADING))


def test_why_is_told_in_the_manifest(tmp_path: Path):
    name = folder(tmp_path, model("xlnet", "XLNetLMHeadModel"), "behind")
    run = probe_words(name, max_sentences=3, loading=LOADING)
    assert run.manifest.to_dict()["way"] == "states"
    assert (
        f"Only the hidden states of {tmp_path.name} are read: {HEADLESS['XLNetLMHeadModel'][2]}."
        in (run.manifest.to_dict()["notes"])
    )


def test_a_lost_head_is_done_without(tmp_path: Path):
    name = folder(tmp_path, model("bert", "BertForMaskedLM", tie_word_embeddings=False), "around")
    weights = {key: value for key, value in load_file(tmp_path / "model.safetensors").items() if "cls." not in key}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded_model = load_reader(name, LOADING)
    assert output_kind(
        loaded_model
    ) == "states" and "saved from BertForMaskedLM and opened as BertModel" in why_only_states(loaded_model)
    with pytest.raises(UserError, match="hold no head that predicts tokens .* so its loss cannot be measured; save"):
        load_language_model(name, LOADING)


def test_a_head_that_tells_a_number_is_done_without():
    loaded_model = wrap_module(model("bert", "BertForSequenceClassification", num_labels=1), tokenizer("around"))
    assert output_kind(loaded_model) == "states" and np.isfinite(mean_states(loaded_model, ["a b"])).all()
    assert why_only_states(loaded_model).endswith(
        "are read: its head predicts a number instead of one of several labels."
    )


def test_nothing_is_said_of_a_head_that_is_asked():
    judges = wrap_module(classifier("bert", "BertForSequenceClassification"), tokenizer("around"))
    fills = wrap_module(model("bert", "BertForMaskedLM"), tokenizer("around"))
    for loaded_model in (judges, fills):
        assert why_only_states(loaded_model) is None and open_probed_model(loaded_model, loading=LOADING).notes == []


def test_labels_that_are_not_numbered_from_0():
    made = model("bert", "BertForSequenceClassification", id2label={1: "a", 2: "b"}, label2id={"a": 1, "b": 2})
    with pytest.raises(
        UserError, match="numbers its labels 1, 2 instead of 0 to 1, so labels and logits cannot be mat"
    ):
        labels_of(wrap_module(made, tokenizer("around")))


def test_a_classifier_that_looks_for_an_end_which_the_tokenizer_does_not_put():
    made = wrap_module(classifier("bart", "BartForSequenceClassification"), tokenizer("before"))
    with pytest.raises(UserError, match="BartForSequenceClassification could not be run on these texts: .*eos"):
        classify(made, [("a b",)])


def test_it_is_said_where_the_first_token_is_not_asked_for():
    assert open_probed_model(own(kind="decoder", encoding="rope"), loading=LOADING).notes == [FIRST]
    assert open_probed_model(own(), loading=LOADING).notes == [], "a net that looks both ways is asked for all"
    begun = wrap_module(model("gpt2", "GPT2LMHeadModel"), tokenizer("bare"))
    assert opening_token(begun) == 1 and open_probed_model(begun, loading=LOADING).notes == []
    begun.module.config.bos_token_id = begun.module.config.eos_token_id = None
    assert opening_token(begun) is None and open_probed_model(begun, loading=LOADING).notes == [FIRST]


def test_a_tokenizers_own_beginning_goes_first():
    reads = of_bytes(bos_token="<s>", eos_token="</s>")
    loaded_model = wrap_module(model("gpt2", "GPT2LMHeadModel", vocab_size=300, bos_token_id=7), reads)
    assert opening_token(loaded_model) == reads.bos_token_id
    assert len(nats(loaded_model, ["abc"])[0]) == 3


def test_the_token_before_a_text_needs_room():
    speaking = wrap_module(
        model("gpt2", "GPT2LMHeadModel", n_positions=5, max_position_embeddings=5), tokenizer("bare")
    )
    assert fits(speaking, ("a b c d",)) and not fits(speaking, ("a b c d e",))
    assert len(nats(speaking, ["a b c d"])[0]) == 4
    with pytest.raises(UserError, match=f"text 1 has 6 tokens and {speaking.id} holds 5; leave it out"):
        nats(speaking, ["a", "a b c d e"])
    bare = wrap_module(model("gpt2", "GPT2Model", n_positions=5, max_position_embeddings=5), tokenizer("bare"))
    assert fits(bare, ("a b c d e",)), "nothing is put before a text whose tokens are not asked for"

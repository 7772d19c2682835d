"""Labels, surprise and states of a model, against calling transformers' own model on one text at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from heads_of_models import NAMES, classifier, folder, model, tokenizer
from precision import rounding
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadSettings, wrap_module
from wherewhat.capture.outputs import language_model
from wherewhat.capture.outputs.language_model import nats, predicts_first
from wherewhat.capture.outputs.text_outputs import classify, labels_of, load_reader, mean_states, output_kind
from wherewhat.capture.tokens import full_texts

TEXTS = [("a b c d", "d c"), ("e f g",), ("h i j k l", "m n o p"), ("q r s",), ("t", "u v w x y z"), ("a c", "b")]
SINGLE = ["a b c d e", "f", "g h i j k l m n", "o p q", "r s t u v w x"]
CLASSIFIERS = {  # family, class, how its tokenizer writes, and whether that says which text a token belongs to
    "bert": ("BertForSequenceClassification", "around", True),
    "roberta": ("RobertaForSequenceClassification", "around", False),
    "deberta-v2": ("DebertaV2ForSequenceClassification", "around", True),
    "distilbert": ("DistilBertForSequenceClassification", "around", False),
    "modernbert": ("ModernBertForSequenceClassification", "around", False),
    "gpt2": ("GPT2ForSequenceClassification", "bare", False),
    "llama": ("LlamaForSequenceClassification", "before", False),
    "xlnet": ("XLNetForSequenceClassification", "behind", True),
}


def called(made: PreTrainedModel, reads: PreTrainedTokenizerFast, texts: tuple[str, ...]) -> np.ndarray:
    """The library's own way: what its tokenizer makes of the text, put to the model."""
    with torch.no_grad():
        return made(**reads(*texts, return_tensors="pt")).logits[0].numpy()


@pytest.mark.parametrize("family", CLASSIFIERS)
def test_labels_are_those_of_one_text_at_a_time(family: str):
    kind, form, types = CLASSIFIERS[family]
    made, reads = classifier(family, kind), tokenizer(form, types=types)
    ours = classify(wrap_module(made, reads), TEXTS)
    theirs = np.stack([called(made, reads, texts) for texts in TEXTS])
    assert ours.dtype == np.float64 and ours.shape == (6, 3) and np.ptp(theirs, axis=0).min() > 0.01
    assert ours == pytest.approx(theirs, abs=rounding(torch.float32, np.abs(theirs).max()))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_classifier_without_a_padding_token_reads_one_text_at_a_time(family: str):
    kind, form, _ = CLASSIFIERS[family]
    made, reads = classifier(family, kind, pad_token_id=None), tokenizer(form)
    made.config.pad_token_id = None
    same = [("a b c",), ("d e f",), ("g h i",)]  # of one length: they would be read together
    ours, theirs = classify(wrap_module(made, reads), same), np.stack([called(made, reads, texts) for texts in same])
    assert ours == pytest.approx(theirs, abs=rounding(torch.float32, np.abs(theirs).max()))


def test_which_text_a_token_belongs_to_counts():
    made, reads = classifier("bert", "BertForSequenceClassification"), tokenizer("around", types=True)
    deaf = tokenizer("around")
    assert (
        np.abs(classify(wrap_module(made, reads), TEXTS[:1]) - classify(wrap_module(made, deaf), TEXTS[:1])).max()
        > 1e-3
    )


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_classifier_from_a_folder(family: str, tmp_path: Path):
    kind, form, types = CLASSIFIERS[family]
    made = classifier(family, kind)
    model = load_reader(folder(tmp_path, made, form, types=types), LoadSettings(device="cpu"))
    assert output_kind(model) == "labels" and labels_of(model) == NAMES
    theirs = np.stack([called(made, tokenizer(form, types=types), texts) for texts in TEXTS])
    assert classify(model, TEXTS) == pytest.approx(theirs, abs=rounding(torch.float32, np.abs(theirs).max()))


def test_hidden_tokens_surprise_as_in_a_plain_loop(monkeypatch: pytest.MonkeyPatch):
    made, reads = model("bert", "BertForMaskedLM").double(), tokenizer("around")
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(language_model, "REPORTED", 60)  # several pieces
    monkeypatch.setattr(language_model, "ENTRIES", 40 * 99)  # and several batches of each
    ours = nats(wrap_module(made, reads), SINGLE, on_text=lambda done, of: told.append((done, of)))
    for text, found in zip(SINGLE, ours, strict=True):
        ids_T, theirs = reads(text, return_tensors="pt")["input_ids"][0], []
        for slot in range(1, len(ids_T) - 1):
            masked_T = ids_T.clone()
            masked_T[slot] = reads.mask_token_id
            with torch.no_grad():
                theirs.append(-made(input_ids=masked_T[None]).logits[0, slot].log_softmax(-1)[ids_T[slot]].item())
        assert found == pytest.approx(np.array(theirs), rel=rounding(torch.float64)) and found.dtype == np.float64
    assert told[-1] == (5, 5) and len(told) > 1 and told == sorted(told)


NOTHING = {"bos_token_id": None, "eos_token_id": None}


@pytest.mark.parametrize(("family", "kind", "form", "stated", "before"), [
    ("llama", "LlamaForCausalLM", "before", {}, []),  # the tokenizer begins a text with its own
    ("gpt2", "GPT2LMHeadModel", "bare", {}, [1]),  # the one that begins texts
    ("llama", "LlamaForCausalLM", "bare", {}, [1]),
    ("gpt2", "GPT2LMHeadModel", "bare", {"bos_token_id": None}, [2]),  # or else the one that ends them
    ("gpt2", "GPT2LMHeadModel", "bare", {"bos_token_id": None, "eos_token_id": [2, 3]}, [2]),
    ("gpt2", "GPT2LMHeadModel", "bare", {"bos_token_id": 9, "eos_token_id": 98}, []),  # a word, and none of its tokens
    ("gpt2", "GPT2LMHeadModel", "bare", NOTHING, []),
    ("llama", "LlamaForCausalLM", "bare", NOTHING, []),
])  # fmt: skip
def test_the_next_token_surprises_as_in_a_plain_loop(
    family: str, kind: str, form: str, stated: dict[str, object], before: list[int]
):
    """Slot 0 is never asked for: it holds a token that is not the text's, unless there is none to put there."""
    made, reads = model(family, kind).double(), tokenizer(form)
    for name, value in stated.items():
        setattr(made.config, name, value)
    loaded_model = wrap_module(made, reads)
    precision = torch.float32 if family == "llama" else torch.float64  # a Llama's norms compute in float32
    for text, found in zip(SINGLE, nats(loaded_model, SINGLE), strict=True):
        ids_T = torch.tensor([*before, *reads(text)["input_ids"]])
        theirs = []
        for slot in range(1, len(ids_T)):
            with torch.no_grad():
                last_V = made(input_ids=ids_T[None, :slot]).logits[0, -1]
            theirs.append(-last_V.log_softmax(-1)[ids_T[slot]].item())
        assert found == pytest.approx(np.array(theirs), rel=rounding(precision))
        assert len(found) == len(text.split()) - (not predicts_first(loaded_model))
    assert predicts_first(loaded_model) == (form == "before" or bool(before))


@pytest.mark.parametrize(("family", "kind", "form"), [
    ("bert", "BertModel", "around"),
    ("bert", "BertForMaskedLM", "around"),
    ("bert", "BertForSequenceClassification", "around"),
    ("llama", "LlamaForCausalLM", "before"),
    ("gpt2", "GPT2Model", "bare"),
    ("xlnet", "XLNetModel", "behind"),
])  # fmt: skip
def test_a_text_is_the_mean_of_its_last_hidden_states(
    family: str, kind: str, form: str, monkeypatch: pytest.MonkeyPatch
):
    made, reads = model(family, kind).double(), tokenizer(form)
    monkeypatch.setattr(full_texts, "TOKENS", 8)
    ours = mean_states(wrap_module(made, reads), SINGLE)
    for text, x_D in zip(SINGLE, ours, strict=True):
        told = reads(text, return_tensors="pt")
        with torch.no_grad():
            hidden_TD = made.base_model(**told).last_hidden_state[0]
        own = [slot for slot, id in enumerate(told["input_ids"][0].tolist()) if id > 4]
        assert x_D == pytest.approx(hidden_TD[own].mean(0).numpy(), abs=1e-10)
    assert ours.shape == (5, 32) and ours.dtype == np.float64

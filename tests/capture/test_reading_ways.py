"""Every model is read by the head that it has; what cannot be read says why."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from heads_of_models import BY_NAME, NAMES, classifier, folder, model, own, tokenizer
from safetensors.torch import load_file, save_file

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.outputs.language_model import (
    NO_TARGET,
    TokenTargets,
    generate_texts,
    measure_losses,
    nats,
    prediction_kind,
)
from wherewhat.capture.outputs.text_outputs import (
    OUTPUT_KINDS,
    classify,
    fits,
    labels_of,
    load_reader,
    mean_states,
    output_kind,
)
from wherewhat.capture.tokens.full_texts import encode_full_text, equal_length_batches
from wherewhat.errors import UserError

LOADING = LoadSettings(device="cpu")
HEADS = {
    "BertForSequenceClassification": ("bert", "labels"),
    "BertForMaskedLM": ("bert", "masked"),
    "BertForPreTraining": ("bert", "masked"),
    "BertModel": ("bert", "states"),
    "BertForTokenClassification": ("bert", "states"),
    "GPT2LMHeadModel": ("gpt2", "next"),
    "GPT2Model": ("gpt2", "states"),
    "LlamaForCausalLM": ("llama", "next"),
}


@pytest.mark.parametrize("kind", HEADS)
def test_a_folder_opens_with_the_head_that_it_was_saved_with(kind: str, tmp_path: Path):
    family, way = HEADS[kind]
    loaded_model = load_reader(folder(tmp_path, model(family, kind), "around"), LOADING)
    assert output_kind(loaded_model) == way and way in OUTPUT_KINDS
    assert np.isfinite(mean_states(loaded_model, ["a b c"])).all(), "whatever the head, there are states"
    if way != "labels":
        with pytest.raises(
            UserError, match=rf"{loaded_model.id} has no labels, so it cannot classify a text; name a classifi"
        ):
            classify(loaded_model, [("a b",)])


def test_our_own_nets_are_told_by_what_they_learnt():
    assert output_kind(own()) == prediction_kind(own()) == "masked"
    assert (
        output_kind(own(kind="decoder", encoding="rope"))
        == prediction_kind(own(kind="decoder", encoding="rope"))
        == "next"
    )
    assert output_kind(own(kind="conformer", encoding="rope")) == "masked"
    asked_something = own(labels=("no", "yes"))
    assert output_kind(asked_something) == "labels" and labels_of(asked_something) == ("no", "yes")
    with pytest.raises(UserError, match="tiny learnt tasks and reads no words; name a language model"):
        output_kind(load_by_name("tiny", LOADING))


def test_names_of_labels_stay_as_they_are():
    unnamed = model("bert", "BertForSequenceClassification", num_labels=2)
    assert labels_of(wrap_module(unnamed)) == ("LABEL_0", "LABEL_1")
    with pytest.raises(
        UserError, match="predicts a number instead of one of several labels; name a classifier with two or"
    ):
        labels_of(wrap_module(model("bert", "BertForSequenceClassification", num_labels=1)))


@torch.no_grad()
def test_our_own_nets_judge_the_words_of_both_texts_in_a_row():
    model = own(labels=NAMES)
    texts = [("a b .", "c d ."), ("a b . c d .",), ("e",), ("f g", "h")]
    ours = classify(model, texts)
    ids = model.tokenizer.get_vocab()
    for row, words in zip(ours, ("a b . c d .", "a b . c d .", "e", "f g h"), strict=True):
        theirs = model.module.label_logits(torch.tensor([[ids[word] for word in words.split()]]))
        assert row == pytest.approx(theirs[0].numpy(), abs=1e-12)
    assert ours[0] == pytest.approx(ours[1], abs=1e-12) and model.module.training, "it is in the mode it was in"


@torch.no_grad()
@pytest.mark.parametrize("kind", ["encoder", "decoder", "conformer"])
def test_words_of_our_own_nets_surprise_as_in_a_plain_loop(kind: str):
    model = own(kind=kind, encoding="rope")
    net, ids = model.module.eval(), model.tokenizer.get_vocab()
    for text, found in zip(["a b c .", "d what e", "f"], nats(model, ["a b c .", "d what e", "f"]), strict=True):
        told = [ids.get(word, ids["[unk]"]) for word in text.split()]
        theirs = []
        for slot, id in enumerate(told):
            masked = [ids["[mask]"] if at == slot else other for at, other in enumerate(told)]
            seen = told[:slot] if kind == "decoder" else masked
            if id == ids["[unk]"] or not seen:
                continue
            logits_TV = net(torch.tensor([seen]))[0]
            theirs.append(-logits_TV[-1 if kind == "decoder" else slot].log_softmax(-1)[id].item())
        assert found == pytest.approx(np.array(theirs), rel=1e-10)
    assert len(found) == (0 if kind == "decoder" else 1), "nothing stands before the first word"


def test_our_own_nets_answer_questions_like_any_model():
    model = own(kind="decoder", encoding="rope")
    ids_T = encode_full_text(model, ("a b c d",)).ids_T
    (answer,) = measure_losses(model, [TokenTargets(0, ids_T, torch.cat([ids_T[1:], torch.tensor([NO_TARGET])]))])
    assert answer.nats_Q == pytest.approx(nats(model, ["a b c d"])[0], rel=1e-12)


@torch.no_grad()
def test_states_of_our_own_nets_are_means_of_hidden_states():
    model = own()
    ours = mean_states(model, ["a b", "c what d", "e f"])
    for row, text in zip(ours, ("a b", "c what d", "e f"), strict=True):
        ids_BT = torch.tensor([model.tokenizer(text)["input_ids"]])
        assert row == pytest.approx(model.module.mean_hidden(ids_BT)[0].numpy(), abs=1e-12)


def test_texts_of_one_length_are_read_together_and_only_those():
    model = own()
    read = [encode_full_text(model, (text,)) for text in ("a b", "c", "d e", "f g h", "a", "b a", "c c")]
    groups = [batch.texts for batch in equal_length_batches(read, most=6)]
    assert groups == [(1, 4), (0, 2, 5), (6,), (3,)]
    assert all(batch.real_BT.all() and len(batch.ids_BT) == len(batch.texts) for batch in equal_length_batches(read))
    assert [batch.texts for batch in equal_length_batches(read, most=1)] == [(1,), (4,), (0,), (2,), (5,), (6,), (3,)]


def test_what_fits():
    bert = wrap_module(
        classifier("bert", "BertForSequenceClassification", max_position_embeddings=7), tokenizer("around")
    )
    assert fits(bert, ("a b c d e",)) and not fits(bert, ("a b c d e f",)), "two tokens stand around them"
    assert fits(bert, ("a b", "c d")) and not fits(bert, ("a b", "c d e")), "and three where there are two texts"
    assert fits(own(), ("a " * 12,)) and not fits(own(), ("a " * 12, "b"))
    bloom = wrap_module(model("bloom", "BloomForCausalLM", max_position_embeddings=None), tokenizer("bare"))
    assert bloom.context is None and fits(bloom, ("a " * 500,)), "nothing says how long a text may be"


def refused(model: LoadedModel, texts: list[tuple[str, ...]]) -> str:
    with pytest.raises(UserError) as error:
        classify(model, texts)
    return str(error.value)


def test_texts_that_cannot_be_judged():
    loaded_model = own(labels=NAMES)
    assert (
        refused(loaded_model, [("a",), ("a " * 13,)])
        == f"text 1 has 13 tokens and {loaded_model.id} holds 12; leave it out"
    )
    assert refused(loaded_model, []) == "there is no text to read; give at least one"
    assert refused(loaded_model, [("a", "b", "c")]) == (
        "text 0 is ('a', 'b', 'c'); a model reads one text or two together, give a tuple of them"
    )
    assert "text 0 is 'a b'; a model reads one text or two" in refused(loaded_model, ["a b"])  # type: ignore[list-item]
    assert (
        refused(loaded_model, [("a",), ("",)]) == f"text 1 has no token that {loaded_model.id} could read; take it out"
    )
    assert "has no labels, so it cannot classify a text; name a classifier" in refused(own(), [("a",)])
    assert "has no tokenizer, so it cannot read text" in refused(wrap_module(loaded_model.module), [("a",)])
    strange = wrap_module(model("bert", "BertForSequenceClassification", vocab_size=20), tokenizer("around"))
    assert "token id 30 does not fit" in refused(strange, [("a z",)])


def test_texts_without_a_state_or_a_surprise():
    bert = wrap_module(model("bert", "BertForMaskedLM"), tokenizer("around"))
    with pytest.raises(UserError, match="text 1 holds nothing but special tokens; take it out"):
        mean_states(bert, ["a", ""])
    assert [len(found) for found in nats(bert, ["a b", "", "a ? b [MASK]"])] == [2, 0, 2], "? is an unknown word"
    with pytest.raises(UserError, match="predicts no tokens, so its loss cannot be measured"):
        nats(wrap_module(model("bert", "BertModel"), tokenizer("around")), ["a b"])
    with pytest.raises(UserError, match="tiny knows only the tokens of the tasks .* and cannot read text"):
        nats(load_by_name("tiny", LOADING), ["a b"])


def test_an_encoder_decoder_is_refused_unless_it_is_a_classifier():
    bart = wrap_module(BY_NAME["bart"].build(), tokenizer("around"))
    with pytest.raises(
        UserError, match="is an encoder-decoder, which has no single sequence of hidden states for a text"
    ):
        mean_states(bart, ["a b"])
    with pytest.raises(
        UserError, match="is an encoder-decoder without labels, which is not supported here; name a model"
    ):
        output_kind(bart)
    judges = wrap_module(classifier("bart", "BartForSequenceClassification"), tokenizer("around"))
    assert output_kind(judges) == "labels" and classify(judges, [("a b",), ("c d", "e")]).shape == (2, 3)


@pytest.mark.parametrize("lost", ["classifier", "pooler"])
def test_weights_without_the_head_are_refused(lost: str, tmp_path: Path):
    name = folder(tmp_path, classifier("bert", "BertForSequenceClassification"), "around")
    weights = {key: value for key, value in load_file(tmp_path / "model.safetensors").items() if lost not in key}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        UserError, match=rf"hold no classification head \(.*{lost}.* is missing\), so it cannot classify"
    ):
        load_reader(name, LOADING)


def test_a_bare_model_that_says_it_classifies_is_refused(tmp_path: Path):
    name = folder(tmp_path, model("gpt2", "GPT2Model"), "bare")
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["GPT2ForSequenceClassification"]}))
    with pytest.raises(
        UserError, match=r"hold no classification head \(score.weight is missing\), so it cannot classify"
    ):
        load_reader(name, LOADING)
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["GPT2LMHeadModel"]}))
    assert output_kind(load_reader(name, LOADING)) == "next", "its head is the table of its tokens"


def test_our_own_nets_write_no_texts():
    """They have test sentences; one without is asked to be given some."""
    for net in (own(kind="decoder", encoding="rope"), own()):
        with pytest.raises(UserError, match="there is no text for .*, and it cannot generate any; give --text FILE"):
            generate_texts(net, 1, 5, seed=0)

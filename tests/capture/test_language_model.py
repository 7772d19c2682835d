"""Models with the head that predicts tokens: found, told apart, asked, and refused where there is nothing to ask."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from families import FAMILIES, Family
from precision import assert_same, rounding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.outputs import language_model
from wherewhat.capture.outputs.language_model import (
    NO_TARGET,
    TokenTargets,
    body,
    load_language_model,
    measure_losses,
    prediction_kind,
)
from wherewhat.capture.tokens.special_tokens import plain_tokens, special_tokens
from wherewhat.errors import UserError

BY_NAME = {family.name: family for family in FAMILIES}
SPEAKING = {"llama": "LlamaForCausalLM", "gpt2": "GPT2LMHeadModel", "bert": "BertForMaskedLM"}
SINGLE, DOUBLE = rounding(torch.float32), rounding(torch.float64)
PRECISION = {"llama": SINGLE, "gpt2": DOUBLE}  # a Llama's norms compute in float32, whatever the model's type
WORDS = ["[PAD]", "[BOS]", "[SEP]", "[MASK]", "[UNK]", *"abcdefghijklmnopqrstuvwxyz"]


def speaking(name: str, **more: object) -> transformers.PreTrainedModel:
    """A tiny model of the family with its head, in float64."""
    family: Family = replace(BY_NAME[name], model=SPEAKING[name])
    return family.build(**more).double()


def reader(*, masks: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer that begins every text with a token of its own and, for models that fill in masks, ends it so."""
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    ends = "[BOS] $A [SEP]" if masks else "[BOS] $A"
    tokenizer.post_processor = TemplateProcessing(single=ends, special_tokens=[("[BOS]", 1), ("[SEP]", 2)])
    more = {"mask_token": "[MASK]", "cls_token": "[BOS]", "sep_token": "[SEP]"} if masks else {"bos_token": "[BOS]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", **more)


def some_texts(*lengths: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(5, 31, (length,), generator=generator) for length in lengths]


def foretold(ids_T: Tensor) -> Tensor:
    return torch.cat([ids_T[1:], torch.tensor([NO_TARGET])])


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_the_loss_of_the_next_token_is_that_of_transformers(name: str):
    model = speaking(name)
    texts = some_texts(9, 14, 5)  # padded together
    ours = measure_losses(
        wrap_module(model), [TokenTargets(n, ids_T, foretold(ids_T)) for n, ids_T in enumerate(texts)]
    )
    for ids_T, answer in zip(texts, ours, strict=True):
        with torch.no_grad():
            theirs = model(input_ids=ids_T[None], labels=ids_T[None])
        assert answer.nats_Q.mean() == pytest.approx(float(theirs.loss), rel=SINGLE)  # which they compute in float32
        logits_TV = theirs.logits[0, :-1]
        by_hand = -logits_TV.log_softmax(-1)[torch.arange(len(ids_T) - 1), ids_T[1:]]
        assert answer.nats_Q == pytest.approx(by_hand.numpy(), rel=PRECISION[name])
        assert (answer.right_Q == (logits_TV.argmax(-1) == ids_T[1:]).numpy()).all()


def test_the_loss_of_masked_tokens_is_that_of_transformers():
    model = speaking("bert")
    (ids_T,) = some_texts(12)
    slots = torch.tensor([2, 7, 11])
    targets_T, masked_T = torch.full_like(ids_T, NO_TARGET), ids_T.clone()
    targets_T[slots], masked_T[slots] = ids_T[slots], 3
    (answer,) = measure_losses(wrap_module(model), [TokenTargets(0, masked_T, targets_T)])
    with torch.no_grad():
        theirs = model(input_ids=masked_T[None], labels=targets_T.where(targets_T != NO_TARGET, -100)[None]).loss
    assert len(answer.nats_Q) == 3 and answer.nats_Q.mean() == pytest.approx(float(theirs), rel=SINGLE)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_the_head_reads_only_slots_that_have_a_target(name: str):
    model, texts = speaking(name), some_texts(9, 14, 5)
    targets = [torch.full_like(ids_T, NO_TARGET) for ids_T in texts]
    for targets_T, slots in zip(targets, ([2, 7], [13], [0, 1, 4]), strict=True):
        targets_T[slots] = torch.tensor(slots) + 5
    read: list[int] = []
    hook = model.get_output_embeddings().register_forward_hook(lambda *call: read.append(call[2][..., 0].numel()))
    questions = [TokenTargets(n, *each) for n, each in enumerate(zip(texts, targets, strict=True))]
    ours = measure_losses(wrap_module(model), questions)
    hook.remove()
    assert read == [6] and not model.get_output_embeddings()._forward_pre_hooks
    for ids_T, targets_T, answer in zip(texts, targets, ours, strict=True):
        with torch.no_grad():
            logits_QV = model(input_ids=ids_T[None]).logits[0, targets_T != NO_TARGET]
        by_hand = -logits_QV.log_softmax(-1).gather(-1, targets_T[targets_T != NO_TARGET, None])[:, 0]
        assert answer.nats_Q == pytest.approx(by_hand.numpy(), rel=SINGLE)


def test_large_vocabularies_are_compared_piece_by_piece(monkeypatch: pytest.MonkeyPatch):
    model, texts = wrap_module(speaking("llama")), some_texts(13, 8, 21)
    questions = [TokenTargets(n, ids_T, foretold(ids_T)) for n, ids_T in enumerate(texts)]
    whole = measure_losses(model, questions)
    monkeypatch.setattr(language_model, "AT_ONCE", 300)  # three slots of 99 logits
    monkeypatch.setattr(language_model, "ENTRIES", 10 * 99)  # every text alone
    for one, other in zip(whole, measure_losses(model, questions), strict=True):
        assert one.nats_Q == pytest.approx(other.nats_Q, rel=PRECISION["llama"])
        assert (one.right_Q == other.right_Q).all()


def test_what_a_model_predicts_is_seen_from_what_it_does():
    assert prediction_kind(wrap_module(speaking("llama"))) == "next"
    assert prediction_kind(wrap_module(speaking("gpt2"))) == "next"
    assert prediction_kind(wrap_module(speaking("bert"), reader(masks=True))) == "masked"
    assert prediction_kind(load_language_model("tiny", LoadSettings())) == "answer"


def test_asking_leaves_the_model_in_the_mode_it_was_in():
    model = speaking("gpt2").train()
    model.transformer.h[0].eval()
    measure_losses(wrap_module(model), [TokenTargets(0, ids_T, foretold(ids_T)) for ids_T in some_texts(6)])
    assert model.training and model.transformer.h[1].training and not model.transformer.h[0].training


def test_the_body_shares_its_modules_and_numbers_layers_alike():
    model = wrap_module(speaking("llama"))
    inner = body(model)
    assert inner.module is model.module.model and inner.layers == model.layers == 2
    assert body(inner).module is inner.module, "a body has no other body"
    net = load_language_model("tiny", LoadSettings())
    assert body(net).module is net.module


def test_special_tokens_are_told_from_others():
    causal = wrap_module(speaking("llama"), reader())
    assert special_tokens(causal) == ([1], [])
    masked = wrap_module(speaking("bert"), reader(masks=True))
    assert special_tokens(masked) == ([1], [2])
    assert plain_tokens(masked).tolist() == list(range(5, 31)), "nothing beyond what the tokenizer knows"
    assert special_tokens(wrap_module(speaking("llama"))) == ([], [])
    assert plain_tokens(wrap_module(speaking("llama"))).tolist() == list(range(3, 99)), "the config names three"


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_a_folder_is_loaded_with_its_head(name: str, tmp_path: Path):
    model = speaking(name)
    model.save_pretrained(tmp_path / "saved")
    found = load_language_model(str(tmp_path / "saved"), LoadSettings(dtype="float64", device="cpu"))
    assert type(found.module).__name__ == SPEAKING[name]
    (ids_T,) = some_texts(7)
    with torch.no_grad():
        ours, theirs = found.module(input_ids=ids_T[None]).logits, model(input_ids=ids_T[None]).logits
    assert_same(ours, theirs)  # weights that lie elsewhere in memory are multiplied in another order
    assert all(map(torch.equal, found.module.state_dict().values(), model.state_dict().values()))


def test_a_config_that_names_no_class_is_asked_what_it_can_be(tmp_path: Path):
    for name in SPEAKING:
        speaking(name).save_pretrained(tmp_path / name)
        config = tmp_path / name / "config.json"
        config.write_text(config.read_text().replace(f'"{SPEAKING[name]}"', ""))
        found = load_language_model(str(tmp_path / name), LoadSettings(device="cpu"))
        assert type(found.module).__name__ == SPEAKING[name]


def test_a_head_tied_to_the_embedding_counts_as_present(tmp_path: Path):
    bare = BY_NAME["llama"].build(tie_word_embeddings=True)
    bare.save_pretrained(tmp_path)
    found = load_language_model(str(tmp_path), LoadSettings(device="cpu"))
    assert torch.equal(found.module.lm_head.weight, bare.embed_tokens.weight)


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_a_folder_without_a_head_is_refused(name: str, tmp_path: Path):
    BY_NAME[name].build().save_pretrained(tmp_path)
    with pytest.raises(UserError, match="hold no head that predicts tokens .* is missing.*; save it from"):
        load_language_model(str(tmp_path), LoadSettings(device="cpu"))
    assert load_by_name(str(tmp_path), LoadSettings(device="cpu")).layers == 2, "but its heads can be profiled"


def test_weights_that_lack_something_else_are_refused_as_ever(tmp_path: Path):
    from safetensors.torch import load_file, save_file

    speaking("llama").save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in weights.items() if "layers.1" not in name}, tmp_path / "model.safetensors"
    )
    with pytest.raises(UserError, match="lack .* tensor.* that its config asks for, the first is model.layers.1"):
        load_language_model(str(tmp_path), LoadSettings(device="cpu"))


def test_an_encoder_decoder_is_refused(tmp_path: Path):
    BY_NAME["t5"].build().save_pretrained(tmp_path / "t5")
    with pytest.raises(UserError, match="t5 is an encoder-decoder; loss and copying are measured for models that"):
        load_language_model(str(tmp_path / "t5"), LoadSettings(device="cpu"))
    with pytest.raises(UserError, match="T5Model predicts no tokens"):
        prediction_kind(wrap_module(BY_NAME["t5"].build()))


def test_a_module_without_a_head_is_refused():
    with pytest.raises(UserError, match="LlamaModel predicts no tokens, so its loss cannot be measured; load it with"):
        prediction_kind(wrap_module(BY_NAME["llama"].build()))
    sorting = replace(BY_NAME["bert"], model="BertForTokenClassification").build()
    with pytest.raises(UserError, match="BertForTokenClassification predicts no tokens"):
        prediction_kind(wrap_module(sorting))


def test_a_model_that_sees_what_it_would_predict_is_refused():
    open_eyed = replace(BY_NAME["bert"], model="BertLMHeadModel").build()
    with pytest.raises(UserError, match="BertLMHeadModel sees the tokens that it would have to predict"):
        prediction_kind(wrap_module(open_eyed))


def test_a_model_of_masks_needs_to_know_its_mask():
    with pytest.raises(UserError, match="predicts masked tokens, but no tokenizer defines its mask token"):
        prediction_kind(wrap_module(speaking("bert")))


def test_a_net_whose_task_nobody_knows_is_refused():
    net = load_language_model("tiny", LoadSettings())
    with pytest.raises(UserError, match="the task that .* was trained on is not known.*; name the folder"):
        prediction_kind(LoadedModel("a net", net.module))


def test_a_model_that_fails_says_so():
    model = wrap_module(speaking("gpt2"))
    with pytest.raises(UserError, match="GPT2LMHeadModel could not be run on these texts"):
        measure_losses(
            model, [TokenTargets(0, ids_T, foretold(ids_T)) for ids_T in some_texts(80)]
        )  # its table holds 64


def test_a_damaged_folder_keeps_its_sentence(tmp_path: Path):
    speaking("llama").save_pretrained(tmp_path / "saved")
    shutil.copytree(tmp_path / "saved", tmp_path / "short")
    weights = tmp_path / "short" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError, match="damaged or cut short"):
        load_language_model(str(tmp_path / "short"), LoadSettings(device="cpu"))


def test_no_special_token_counts_as_plain_however_it_is_said():
    tokenizer = reader()
    tokenizer.add_special_tokens({"additional_special_tokens": ["a"]})
    model = speaking("llama")
    model.config.eos_token_id = [7, 8]
    plain = plain_tokens(LoadedModel("", model, tokenizer)).tolist()
    assert not {0, 1, 5, 7, 8} & set(plain) and {6, 9} <= set(plain)


def test_a_model_of_three_tokens_can_be_asked():
    assert prediction_kind(wrap_module(speaking("llama", vocab_size=3))) == "next"

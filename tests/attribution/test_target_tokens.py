"""A word as a target is the token that it is where it stands; and byte-level tokens on the page are text."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import wherewhat as ww
from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.target_tokens import tokens_after, tokens_in_place
from wherewhat.attribution.targets import questions_of
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.report.blocks.token_text import token_texts

PROSE = "The cat sat on the mat. Paris is the capital of France. Ein Käse, un café, 日本 and 日 too. "
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>"]


def byte_tokenizer() -> Any:
    """A byte-level BPE as GPT-2 and RoBERTa have one, whose mask takes the space before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=340, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([PROSE * 20], trainer)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    mask = transformers.AddedToken("<mask>", lstrip=True, special=True)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", mask_token=mask, pad_token="<pad>"
    )


TOKENIZER = byte_tokenizer()
SIZES = {"vocab_size": len(TOKENIZER), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
EXTRA = {
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "pad_token_id": TOKENIZER.pad_token_id,
    "bos_token_id": 0,
}


@pytest.fixture(scope="module")
def speaking() -> LoadedModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=len(TOKENIZER), n_embd=16, n_layer=1, n_head=2, n_positions=64)
    return LoadedModel("gpt2", transformers.GPT2LMHeadModel(config).eval(), TOKENIZER)


@pytest.fixture(scope="module")
def masked() -> LoadedModel:
    torch.manual_seed(0)
    config = transformers.RobertaConfig(**SIZES, **EXTRA)
    return LoadedModel("roberta", transformers.RobertaForMaskedLM(config).eval(), TOKENIZER)


def test_a_word_after_a_text_has_its_space(speaking: LoadedModel):
    text = "The cat sat on the"
    assert attribute(speaking, text, target="mat").output.name == "Ġmat"
    (question,) = questions_of(speaking, [text], ["mat"], None)
    assert TOKENIZER.convert_ids_to_tokens(question.target) == "Ġmat", "Python and the command agree"
    ids_T = torch.tensor(TOKENIZER(text)["input_ids"])
    for reading in (text, ids_T, ids_T.tolist()):
        assert TOKENIZER.convert_ids_to_tokens(tokens_after(speaking, reading, "mat")) == ["Ġmat"]
    assert TOKENIZER.convert_ids_to_tokens(tokens_after(speaking, text, ".")) == ["."]


def test_a_word_in_place_of_a_mask_is_the_token_that_stands_there(masked: LoadedModel):
    assert attribute(masked, "The cat sat on the <mask>.", target="mat").output.name == "Ġmat"
    assert TOKENIZER.convert_ids_to_tokens(tokens_in_place(masked, "<mask> cat sat", "The")) == ["The"]
    plain = TOKENIZER("mat", add_special_tokens=False)["input_ids"]
    assert tokens_in_place(masked, torch.tensor([5, 9]), "mat") == plain, "of token ids, the words alone"


@pytest.mark.parametrize("text", ["un café, 日本 and 日", "café", "😀 Käse!", "日 too"])
def test_tokens_of_bytes_read_as_the_text(text: str):
    pieces = token_texts(TOKENIZER.convert_ids_to_tokens(TOKENIZER(text)["input_ids"]))
    assert "".join(f"{' ' if each.spaced else ''}{each.text}" for each in pieces).replace("⋅", "") == text


def test_the_page_shows_bytes_as_text(speaking: LoadedModel, tmp_path: Path):
    run = ww.attribute_texts(speaking, ["un 😀 café"])
    run.save(tmp_path)
    html = (tmp_path / "report.html").read_text()
    assert "Ġ" not in html.split('id="text"')[1].split('id="ledger"')[0]


def test_a_tokenizer_is_used_for_a_model_by_name_too(speaking: LoadedModel, tmp_path: Path):
    speaking.module.save_pretrained(tmp_path)
    attribution = attribute(str(tmp_path), "The cat sat", tokenizer=TOKENIZER)
    assert attribution.tokens == ("The", "Ġcat", "Ġsat")
    assert attribute(LoadedModel("gpt2", speaking.module), "The cat", tokenizer=TOKENIZER).tokens == ("The", "Ġcat")

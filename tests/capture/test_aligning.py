"""Pieces of words: every way a tokenizer may cut, what cannot be aligned, and words in another order."""

from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel, WordPiece
from tokenizers.normalizers import Replace
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, word_tokenizer, wrap_module
from wherewhat.capture.tokens.align import ACROSS, APART, MISSING, STRANGE, AlignedText, aligned, cannot_align
from wherewhat.corpora.treebank import Treebank
from wherewhat.corpora.units import Units, units_of
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

BERT = next(family for family in FAMILIES if family.name == "bert").build()
LETTERS = "abcdefghijklmnopqrstuvwxyz'.,"


def written(raw: str, *words: str) -> Units:
    """Units as they stand in a text."""
    sites, start = [], 0
    for word in words:
        start = raw.index(word, start)
        sites.append((start, start + len(word)))
        start += len(word)
    return Units(words, (), (), (), tuple(sites), raw, 0)


DOGS = written("marias dogs don't sleep.", "marias", "dogs", "don't", "sleep", ".")


def read_by(tokenizer: Any) -> LoadedModel:
    return LoadedModel("a model", BERT, tokenizer)


def fast(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


def pieces(**more: Any) -> PreTrainedTokenizerFast:
    """Letters as pieces of words, and two words that are whole, between two tokens of no word."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dogs", "don", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    tokenizer = Tokenizer(WordPiece({name: id for id, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    for name, value in more.items():
        setattr(tokenizer, name, value)
    return fast(tokenizer)


def units_by_piece(found: AlignedText | str, tokenizer: Any) -> list[tuple[str, int]]:
    assert isinstance(found, AlignedText)
    return list(zip(tokenizer.convert_ids_to_tokens(found.ids_T.tolist()), found.unit_of_T.tolist(), strict=True))


def test_pieces_belong_to_the_word_they_are_cut_from():
    tokenizer = pieces()
    found = units_by_piece(aligned(read_by(tokenizer), DOGS), tokenizer)
    assert found[0] == ("[CLS]", -1) and found[-1] == ("[SEP]", -1)
    assert found[1:7] == [("m", 0), ("##a", 0), ("##r", 0), ("##i", 0), ("##a", 0), ("##s", 0)]
    assert found[7:11] == [("dogs", 1), ("don", 2), ("'", 2), ("t", 2)]
    assert found[-2] == (".", 4)


@pytest.mark.parametrize("cut", [Metaspace(prepend_scheme="always"), ByteLevel(add_prefix_space=False)])
def test_a_blank_before_a_word_belongs_to_the_word(cut: Any):
    names = ["[PAD]", "[UNK]", "▁", "Ġ", *LETTERS]
    tokenizer = Tokenizer(BPE({name: id for id, name in enumerate(names)}, [], unk_token="[UNK]"))
    tokenizer.pre_tokenizer = cut
    found = units_by_piece(aligned(read_by(fast(tokenizer)), written("ab  c.", "ab", "c", ".")), fast(tokenizer))
    assert [unit for name, unit in found if name in "abc."] == [0, 0, 1, 2]
    blanks = [unit for name, unit in found if name in "▁Ġ"]
    assert set(blanks) <= {0, 1} and blanks[-2:] == [1, 1]


def test_a_piece_of_two_words_is_told():
    tokenizer = Tokenizer(WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Metaspace(split=False)
    assert aligned(read_by(fast(tokenizer)), DOGS) == ACROSS


def test_a_word_without_a_piece_is_told():
    assert aligned(read_by(pieces(normalizer=Replace("dogs", ""))), DOGS) == MISSING


def test_a_token_that_the_model_lacks_is_told():
    names = {"[PAD]": 0, "[UNK]": 1, "a": 5000}
    tokenizer = Tokenizer(WordLevel(names, unk_token="[UNK]"))
    assert aligned(read_by(fast(tokenizer)), written("a", "a")) == STRANGE


class Slow:
    """A tokenizer without offsets: letters, to which it adds a token before and one after; `glue` cuts otherwise."""

    is_fast = False

    def __init__(self, glue: str = "") -> None:
        self.glue = glue

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        joined = text.replace(self.glue, "#") if self.glue else text
        return {"input_ids": [ord(letter) % 90 for letter in joined if letter != " "]}

    def build_inputs_with_special_tokens(self, ids: list[int]) -> list[int]:
        return [91, *ids, 92]


def test_without_offsets_words_are_read_one_by_one():
    found = aligned(read_by(Slow()), written("ab c.", "ab", "c", "."))
    assert isinstance(found, AlignedText)
    assert found.unit_of_T.tolist() == [-1, 0, 0, 1, 2, -1]
    assert found.ids_T.tolist() == [91, ord("a") % 90, ord("b") % 90, ord("c") % 90, ord("."), 92]


def test_without_offsets_and_cut_otherwise_it_cannot_be_told():
    model = read_by(Slow(glue="c."))
    assert aligned(model, written("ab c.", "ab", "c", ".")) == APART
    assert cannot_align(model) == (
        "the tokenizer of a model gives no character offsets and splits these texts differently from their words one "
        "by one, so its pieces cannot be aligned with words; save a fast tokenizer (tokenizer.json) beside the model"
    )


def test_without_a_tokenizer_nothing_can_be_read():
    with pytest.raises(UserError, match="a model has no tokenizer, so it cannot read sentences; save one beside"):
        aligned(read_by(None), DOGS)


def test_a_net_of_ours_reads_words_with_blanks_between():
    words = WordVocabulary.learn([["marias", "dogs", "don't", "sleep", "."]])
    net = build(NetConfig(vocabulary=len(words), width=8, layers=1, heads=1, length=16, kind="encoder"), seed=0)
    model = wrap_module(net, word_tokenizer(words))
    found = aligned(model, written("MARIAS dogs don't sleep.", "MARIAS", "dogs", "don't", "sleep", "."))
    assert isinstance(found, AlignedText)
    assert found.unit_of_T.tolist() == [0, 1, 2, 3, 4]
    assert found.ids_T.tolist() == words.ids(["marias", "dogs", "don't", "sleep", "."])


def test_other_orders_keep_pieces_together_and_special_tokens_in_place():
    found = aligned(read_by(pieces()), written("ab c def", "ab", "c", "def"))
    assert isinstance(found, AlignedText)
    moved = found.in_order([2, 0, 1])
    assert moved.unit_of_T.tolist() == [-1, 2, 2, 2, 0, 0, 1, -1]
    assert moved.special == found.special == ((0, 2), (7, 3))
    assert sorted(moved.ids_T.tolist()) == sorted(found.ids_T.tolist())
    for unit in range(3):
        assert torch.equal(moved.ids_T[moved.unit_of_T == unit], found.ids_T[found.unit_of_T == unit])
    same = found.in_order([0, 1, 2])
    assert torch.equal(same.ids_T, found.ids_T) and torch.equal(same.unit_of_T, found.unit_of_T)


@pytest.mark.shared
def test_a_real_tokenizer_on_a_real_treebank(shared: Path):
    model = load_by_name(str(shared / "models" / "stories260K"), LoadSettings())
    path = shared / "data" / "en_ewt-ud-dev.conllu"
    for number, sentence in zip(range(100), Treebank((str(path),)).read(path), strict=False):
        units = units_of(sentence)
        found = aligned(model, units)
        assert isinstance(found, AlignedText), (number, found)
        for unit, word in enumerate(units.words):
            said = model.tokenizer.decode(found.ids_T[found.unit_of_T == unit]).strip()
            assert said == word or "⁇" in said or not word.isascii(), (said, word)

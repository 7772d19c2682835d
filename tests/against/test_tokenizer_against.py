"""Our words against transformers' fast tokenizer, opened from the same tokenizer.json: the same ids for a text."""

from itertools import islice
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.treebank import Treebank
from wherewhat.corpora.vocabulary import MASK, PAD, UNKNOWN, WordVocabulary

TEXT = """Once upon a time, there was a "big" house — with 3 rooms; Émile's!
It's 10.5 %, isn't it? (Yes.) ... ok
ΟΔΟΣ and İstanbul, straße: 日本語
"""


def opened(words: WordVocabulary, folder: Path) -> PreTrainedTokenizerFast:
    (folder / "tokenizer.json").write_text(words.json(), encoding="utf-8")
    file = str(folder / "tokenizer.json")
    return PreTrainedTokenizerFast(tokenizer_file=file, pad_token=PAD, unk_token=UNKNOWN, mask_token=MASK)


def agree(one: Corpus, split: str, folder: Path, most: int = 150) -> None:
    sentences = list(islice(one.sentences(split), 300))
    words = WordVocabulary.learn((sentence.words for sentence in sentences), most=most)
    theirs = opened(words, folder)
    assert (theirs.pad_token_id, theirs.unk_token_id, theirs.mask_token_id) == (words.pad, words.unknown, words.mask)
    assert len(theirs) == len(words)
    for sentence in sentences:
        assert theirs(sentence.text)["input_ids"] == words.ids(sentence.words)


def test_the_grammar(tmp_path: Path):
    agree(Grammar(past=True), "test", tmp_path)


def test_a_text_file(tmp_path: Path):
    (tmp_path / "some.txt").write_text(TEXT * 2, encoding="utf-8")
    one = PlainText((str(tmp_path / "some.txt"),))
    sentences = list(one.read(tmp_path / "some.txt"))
    words = WordVocabulary.learn(sentence.words for sentence in sentences)
    theirs = opened(words, tmp_path)
    for line, sentence in zip(TEXT.splitlines() * 2, sentences, strict=True):
        assert theirs(line)["input_ids"] == words.ids(sentence.words) == theirs(sentence.text)["input_ids"]
        assert words.unknown not in words.ids(sentence.words)


@pytest.mark.shared
def test_a_real_text_and_a_real_treebank(shared: Path, tmp_path: Path):
    agree(PlainText((str(shared / "data" / "stories.txt"),)), "train", tmp_path)
    agree(Treebank((str(shared / "data" / "en_ewt-ud-dev.conllu"),)), "train", tmp_path, most=8000)


def test_marks_that_stand_alone_are_one_word_known_or_not(tmp_path: Path):
    words = WordVocabulary.learn([["It", "is", "n't", "so", "!", "...", "Mr."], ["so", "!"]])
    theirs = opened(words, tmp_path)
    for told in (["so", "!!!"], ["is", "n't", "----==", "so", "..."], ["?!", "Mr.", "so", ":-)"]):
        assert theirs(" ".join(told))["input_ids"] == words.ids(told)
    assert theirs("so!!!")["input_ids"] == words.ids(["so", "!", "!", "!"])

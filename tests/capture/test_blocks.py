"""Where sentences and lines end, in tokens."""

from dataclasses import dataclass

import pytest
import torch
from families import FAMILIES

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.blocks import blocks_by, ends_sentence
from wherewhat.errors import UserError

PIECES = ["Once", " upon", ".", " He", " left", '."', "\n", "Why", "?", " 3.5", " end"]


@dataclass
class Spelling:
    """A tokenizer that knows these pieces."""

    model_max_length: int = 100

    def decode(self, ids: list[int]) -> str:
        return "".join(PIECES[id] for id in ids)


def model(tokenizer: object) -> LoadedModel:
    return LoadedModel("llama", FAMILIES[0].build(), tokenizer)


@pytest.mark.parametrize(
    ("kind", "blocks"),
    [("sentence", [[0, 3], [3, 6], [6, 9], [9, 11]]), ("line", [[0, 7], [7, 11]])],
)
def test_a_text_is_cut_where_they_end(kind: str, blocks: list[list[int]]):
    assert blocks_by(model(Spelling()), torch.arange(len(PIECES)), kind).tolist() == blocks


def test_what_stands_before_the_first_slot_belongs_to_no_block():
    ids = torch.arange(len(PIECES))
    assert blocks_by(model(Spelling()), ids, "sentence", first=1).tolist() == [[1, 3], [3, 6], [6, 9], [9, 11]]
    assert blocks_by(model(Spelling()), ids, "line", first=99).tolist() == []


def test_numbers_and_plain_words_end_no_sentence():
    assert [ends_sentence(token) for token in ("3.5", "word", "", ",", "…", "。", "?!")] == [False] * 4 + [True] * 3


def test_without_a_tokenizer_nobody_can_tell():
    with pytest.raises(
        UserError, match="llama has no tokenizer, so the end of a sentence cannot be found; give --blocks"
    ):
        blocks_by(model(None), torch.arange(3), "sentence")

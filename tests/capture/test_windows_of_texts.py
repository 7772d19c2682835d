"""Texts become windows of token ids that know their whole text, and what was cut, left out or never added is said."""

import pytest
import torch
from families import FAMILIES
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.tokens.encode import encode, own_texts
from wherewhat.errors import UserError
from wherewhat.profiling.profile import profile

LLAMA = {family.name: family for family in FAMILIES}["llama"]
BOS = 1
WORDS = {"<unk>": 0, "<bos>": BOS, "</s>": 2, **{f"w{number}": 3 + number for number in range(60)}}


def tokenizer(*, adds_bos: bool = False) -> PreTrainedTokenizerFast:
    """Whole words; every text ends with </s>, as some tokenizers have it."""
    words = Tokenizer(WordLevel({**WORDS, "a": 63}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    template = "<bos> $A </s>" if adds_bos else "$A </s>"
    words.post_processor = TemplateProcessing(single=template, special_tokens=[("<bos>", BOS), ("</s>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", bos_token="<bos>", eos_token="</s>")


def model(*, bos: int | None = BOS, adds_bos: bool = False) -> LoadedModel:
    model = LLAMA.build()
    model.config.bos_token_id = bos
    return wrap_module(model, tokenizer(adds_bos=adds_bos))


def text_of(count: int) -> str:
    return " ".join(f"w{number % 60}" for number in range(count))


def test_windows_know_their_text():
    texts = [text_of(5), torch.arange(3, 28), text_of(30)]
    encoded = encode(model(), texts, max_tokens=10, max_texts=100)
    assert encoded.origins == [0, 1, 1, 1, 2, 2, 2]  # 25 ids are 10, 10 and 5; 30 words are 9, 9, 9 and 3
    assert [len(ids) for ids in encoded.ids] == [6, 10, 10, 5, 10, 10, 10]
    assert encode(model(), texts, max_tokens=10, max_texts=3).origins == [0, 1, 1]


def test_what_was_cut_and_what_was_left_out_is_counted():
    def notes(*texts: str, **limits: int) -> list[str]:
        return encode(model(bos=None), texts, **{"max_tokens": 10, "max_texts": 100, **limits}).notes

    assert notes(text_of(9), text_of(4)) == []
    assert notes(text_of(30), text_of(20), text_of(9)) == [
        "2 texts are longer than 10 tokens and were cut into 5 windows, which ran separately.",
        "The last tokens of 2 texts, 5 in all, were not read: texts are cut into windows of 10 tokens, and what is "
        "left over counts only if it is at least half as long.",
    ]
    (one,) = notes(text_of(30), max_texts=2)  # nothing is too short here: there are enough windows
    assert one == "One text is longer than 10 tokens and was cut into 2 windows, which ran separately."


def test_windows_beyond_what_a_model_was_made_for_are_counted():
    here = model(bos=None)
    here.module.config.max_position_embeddings = 16
    notes = encode(here, [text_of(30), text_of(8)], max_tokens=64, max_texts=9).notes
    assert notes == [
        "1 of 2 windows is longer than the 16 positions that llama was made for (up to 31 tokens): beyond them its "
        "attention is extrapolation, not what it learnt; --max-tokens 16 keeps to what it knows."
    ]


@pytest.mark.parametrize(
    ("bos", "adds_bos", "warned"), [(BOS, False, True), (BOS, True, False), (None, False, False), (40, False, False)]
)
def test_a_beginning_that_the_tokenizer_does_not_add_is_told(bos: int | None, adds_bos: bool, warned: bool):
    notes = encode(model(bos=bos, adds_bos=adds_bos), [text_of(6)], max_tokens=None, max_texts=1).notes
    assert notes == (
        [
            "The config of llama names a beginning-of-text token (<bos>) that its tokenizer does not add, so no text "
            "began with it. If the model was trained with it, heads that use it as an attention sink behave "
            "differently here; --add-bos adds it to every text."
        ]
        if warned
        else []
    )


def test_token_ids_begin_as_they_are_and_nothing_is_told_of_it():
    assert encode(model(), [torch.arange(3, 9)], max_tokens=None, max_texts=1).notes == []


def test_the_beginning_is_added_to_every_window_where_that_is_asked_for():
    encoded = encode(model(), [text_of(17)], max_tokens=10, max_texts=9, add_bos=True)
    assert [ids[0].item() for ids in encoded.ids] == [BOS, BOS] and [len(ids) for ids in encoded.ids] == [10, 10]
    plain = encode(model(), [text_of(17)], max_tokens=9, max_texts=9)
    assert [ids[1:].tolist() for ids in encoded.ids] == [ids.tolist() for ids in plain.ids]
    assert not any("beginning-of-text" in note for note in encoded.notes)
    assert encode(model(bos=None), [text_of(3)], max_tokens=None, max_texts=1, add_bos=True).ids[0][0] == BOS


@pytest.mark.parametrize(
    ("here", "limit", "sentence"),
    [
        (
            model(adds_bos=True),
            None,
            "the tokenizer of llama already adds <bos> before every text; leave out --add-bos",
        ),
        (
            wrap_module(LLAMA.build()),
            None,
            "llama has no tokenizer, so it cannot read text; save one beside the model, or pass token ids from Python",
        ),
        (
            model(),
            2,
            "max_tokens is 2, and 2 special token(s) are added to every text that llama reads; ask for at least 3",
        ),
    ],
)
def test_a_beginning_that_cannot_be_added_is_refused(here: LoadedModel, limit: int | None, sentence: str):
    with pytest.raises(UserError) as error:
        encode(here, [text_of(5)], max_tokens=limit, max_texts=1, add_bos=True)
    assert str(error.value) == sentence


def test_a_model_without_a_beginning_says_so():
    here = model(bos=None)
    here.tokenizer.bos_token = None
    with pytest.raises(
        UserError, match="neither the config nor the tokenizer of llama names a beginning-of-text token"
    ):
        encode(here, [text_of(5)], max_tokens=None, max_texts=1, add_bos=True)


def test_a_profile_says_and_keeps_what_was_cut():
    said: list[str] = []
    manifest = profile(model(), [text_of(30)], max_tokens=10, say=said.append, scores=("locality",)).manifest
    assert len(said) == 3 and all(note in manifest.notes for note in said)
    begun = profile(model(), [text_of(30)], max_tokens=10, add_bos=True, scores=("locality",)).manifest
    assert begun.texts.example[0].tokens[0] == "<bos>"


def test_own_sequences_are_whole_texts():
    encoded = own_texts(load_by_name("tiny", LoadSettings()), 4, 0, None)
    assert encoded.origins == [0, 1, 2, 3] == list(range(len(encoded.ids))) and encoded.notes == []
    with pytest.raises(
        UserError, match="tiny is to read texts of its own, which begin as they are; leave out --add-bos"
    ):
        profile("tiny", add_bos=True)

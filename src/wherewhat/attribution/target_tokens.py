"""Which tokens words are: after a text, or in place of its mask. A word after a space is another token than without."""

from typing import Any

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.encode import tokenizer_of


def tokens_after(model: LoadedModel, reading: Any, words: str) -> list[int]:
    """The tokens of words as they are after a text or its token ids; a word gets a space before it."""
    tokenizer = tokenizer_of(model)
    text = reading if isinstance(reading, str) else str(tokenizer.decode(reading, skip_special_tokens=True))
    between = " " if text and not text[-1].isspace() and words[:1].isalnum() else ""
    before, whole = _plain_ids(tokenizer, text), _plain_ids(tokenizer, text + between + words)
    return whole[len(before) :] if whole[: len(before)] == before else _plain_ids(tokenizer, words)


def tokens_in_place(model: LoadedModel, text: Any, words: str) -> list[int]:
    """The tokens of words as they are where the mask of a text stands."""
    tokenizer = tokenizer_of(model)
    if isinstance(text, str) and text.count(tokenizer.mask_token) == 1:
        masked, filled = (_plain_ids(tokenizer, each) for each in (text, text.replace(tokenizer.mask_token, words)))
        slot = masked.index(tokenizer.mask_token_id)
        after = len(masked) - slot - 1
        if filled[:slot] == masked[:slot] and filled[len(filled) - after :] == masked[slot + 1 :]:
            return filled[slot : len(filled) - after]
    return _plain_ids(tokenizer, words)


def _plain_ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])

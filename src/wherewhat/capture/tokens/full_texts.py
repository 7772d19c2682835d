"""Texts encoded without truncation, one or two together, with special tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.encode import check_vocabulary, tokenizer_of
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

TOKENS = 2048  # per batch; a longer text is a batch of its own
TOGETHER = 2  # the most texts that a model reads as one sequence


@dataclass(frozen=True)
class FullText:
    """One or two texts as a model reads them, in one sequence."""

    ids_T: Tensor
    own_T: Tensor  # True for tokens of the text, False for special tokens
    known_T: Tensor  # True for tokens of the text that are not the unknown token
    types_T: Tensor | None  # token type ids, where the tokenizer gives them

    def __len__(self) -> int:
        return len(self.ids_T)


def encode_full_texts(model: LoadedModel, texts: Sequence[tuple[str, ...]]) -> list[FullText]:
    """Encode texts, or pairs of texts; one that does not fit is refused by its number."""
    encoded = [encode_full_text(model, each, f"text {number}") for number, each in enumerate(texts)]
    if not encoded:
        raise UserError("there is no text to read; give at least one")
    check_lengths(model, encoded)
    check_vocabulary(model, [text.ids_T for text in encoded])
    return encoded


def check_lengths(model: LoadedModel, texts: Sequence[FullText]) -> None:
    """Refuse a text that the model cannot hold, by its number."""
    longest = max(range(len(texts)), key=lambda number: len(texts[number]))
    if too_long(model, texts[longest]):
        raise UserError(
            f"text {longest} has {len(texts[longest])} tokens and {model.id} holds {model.context}; leave it out"
        )


def too_long(model: LoadedModel, text: FullText) -> bool:
    """Whether a text has more tokens than the model can hold."""
    most = model.context
    return most is not None and len(text) > most


def encode_full_text(model: LoadedModel, texts: tuple[str, ...], where: str = "the text") -> FullText:
    """Encode one text, or two together, as the model's tokenizer combines them; our own nets read both in a row."""
    tokenizer = tokenizer_of(model)
    if isinstance(texts, str) or not 1 <= len(texts) <= TOGETHER:
        raise UserError(f"{where} is {texts!r}; a model reads one text or two together, give a tuple of them")
    if isinstance(model.module, Trunk):
        texts = (" ".join(texts),)  # our nets read plain words; the full stop of the first text ends it
    encoding = tokenizer(*texts, return_special_tokens_mask=True)
    ids_T = torch.tensor(encoding["input_ids"], dtype=torch.long)
    if not len(ids_T):
        raise UserError(f"{where} has no token that {model.id} could read; take it out")
    added_T = torch.tensor(encoding["special_tokens_mask"], dtype=torch.bool)
    unknown = getattr(tokenizer, "unk_token_id", None)
    # Byte-level tokenizers know every word and have no unknown token.
    unknown_T = torch.zeros_like(ids_T, dtype=torch.bool) if unknown is None else ids_T == unknown
    special_T = torch.isin(ids_T, torch.tensor(tokenizer.all_special_ids, dtype=torch.long)) & ~unknown_T
    own_T = ~added_T & ~special_T
    types = encoding.get("token_type_ids")
    types_T = None if types is None else torch.tensor(types, dtype=torch.long)
    return FullText(ids_T, own_T, own_T & ~unknown_T, types_T)


def with_opening(text: FullText, id: int | None) -> FullText:
    """The same text after a special token, unless there is none or the text already begins with one."""
    if id is None or not bool(text.own_T[0]):
        return text
    no_1 = torch.zeros(1, dtype=torch.bool)
    types_T = None if text.types_T is None else torch.cat([text.types_T[:1], text.types_T])
    ids_T = torch.cat([torch.tensor([id]), text.ids_T])
    return FullText(ids_T, torch.cat([no_1, text.own_T]), torch.cat([no_1, text.known_T]), types_T)


def equal_length_batches(texts: Sequence[FullText], *, most: int = TOKENS) -> Iterator[Batch]:
    """Batches of texts of equal length, so that nothing is padded: some heads find a text's last token by position."""
    by_length: dict[int, list[int]] = {}
    for number, text in enumerate(texts):
        by_length.setdefault(len(text), []).append(number)
    for length, numbers in sorted(by_length.items()):
        at_once = max(1, most // length)
        for first in range(0, len(numbers), at_once):
            group = tuple(numbers[first : first + at_once])
            ids_BT = torch.stack([texts[number].ids_T for number in group])
            yield Batch(group, ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), ())

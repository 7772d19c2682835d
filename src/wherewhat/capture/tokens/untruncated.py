"""Texts as a model reads them whole: one or two together, with its special tokens, and never cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.encode import check_vocabulary, tokenizer_of
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

TOKENS = 2048  # that are read at once; a longer text is read alone
TOGETHER = 2  # texts that a model reads as one at most


@dataclass(frozen=True)
class Whole:
    """One or two texts as a model reads them."""

    ids_T: Tensor
    own_T: Tensor  # True for tokens of the text, False for those that the tokenizer put around them
    known_T: Tensor  # True for those of them that say which word they are: all but the unknown one
    types_T: Tensor | None  # which of the two texts a token belongs to, where the tokenizer says it

    def __len__(self) -> int:
        return len(self.ids_T)


def read_whole(model: LoadedModel, texts: Sequence[tuple[str, ...]]) -> list[Whole]:
    """Texts or pairs of them as the model reads them; one that does not fit is refused by its number."""
    found = [encode_whole(model, each, f"text {number}") for number, each in enumerate(texts)]
    if not found:
        raise UserError("there is no text to read; give at least one")
    check_lengths(model, found)
    check_vocabulary(model, [one.ids_T for one in found])
    return found


def check_lengths(model: LoadedModel, found: Sequence[Whole]) -> None:
    """Refuse a text that the model cannot hold, by its number."""
    longest = max(range(len(found)), key=lambda number: len(found[number]))
    if too_long(model, found[longest]):
        raise UserError(
            f"text {longest} has {len(found[longest])} tokens and {model.id} holds {model.context}; leave it out"
        )


def too_long(model: LoadedModel, one: Whole) -> bool:
    """Whether a text has more tokens than the model was made for."""
    most = model.context
    return most is not None and len(one) > most


def encode_whole(model: LoadedModel, texts: tuple[str, ...], where: str = "the text") -> Whole:
    """One text, or two together, as the model's tokenizer puts them; our own nets read both in a row."""
    tokenizer = tokenizer_of(model)
    if isinstance(texts, str) or not 1 <= len(texts) <= TOGETHER:
        raise UserError(f"{where} is {texts!r}; a model reads one text or two together, give a tuple of them")
    if isinstance(model.module, Trunk):
        texts = (" ".join(texts),)  # our nets read words in a row; the full stop of the first ends it
    told = tokenizer(*texts, return_special_tokens_mask=True)
    ids_T = torch.tensor(told["input_ids"], dtype=torch.long)
    if not len(ids_T):
        raise UserError(f"{where} has no token that {model.id} could read; take it out")
    added_T = torch.tensor(told["special_tokens_mask"], dtype=torch.bool)
    unknown = getattr(tokenizer, "unk_token_id", None)
    # Tokenizers of bytes know every word and have no such token.
    unknown_T = torch.zeros_like(ids_T, dtype=torch.bool) if unknown is None else ids_T == unknown
    special_T = torch.isin(ids_T, torch.tensor(tokenizer.all_special_ids, dtype=torch.long)) & ~unknown_T
    own_T = ~added_T & ~special_T
    return Whole(ids_T, own_T, own_T & ~unknown_T, _types(told))


def opened(one: Whole, id: int | None) -> Whole:
    """The same behind a token that is not its own, unless there is none to put or the tokenizer has put one there."""
    if id is None or not bool(one.own_T[0]):
        return one
    no_1 = torch.zeros(1, dtype=torch.bool)
    types_T = None if one.types_T is None else torch.cat([one.types_T[:1], one.types_T])
    ids_T = torch.cat([torch.tensor([id]), one.ids_T])
    return Whole(ids_T, torch.cat([no_1, one.own_T]), torch.cat([no_1, one.known_T]), types_T)


def alike(found: Sequence[Whole], *, most: int = TOKENS) -> Iterator[Batch]:
    """Texts of one length together, so that nothing is padded: some heads look for a text's last token by its place."""
    by_length: dict[int, list[int]] = {}
    for number, one in enumerate(found):
        by_length.setdefault(len(one), []).append(number)
    for length, numbers in sorted(by_length.items()):
        at_once = max(1, most // length)
        for first in range(0, len(numbers), at_once):
            group = tuple(numbers[first : first + at_once])
            ids_BT = torch.stack([found[number].ids_T for number in group])
            yield Batch(group, ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), ())


def _types(told: Any) -> Tensor | None:
    types = told.get("token_type_ids")
    return None if types is None else torch.tensor(types, dtype=torch.long)

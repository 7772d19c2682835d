"""Align a tokenizer's pieces with words, so that attention between pieces becomes attention between words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.units import Units, side_by_side
from wherewhat.errors import UserError

SPECIAL = -1  # in `unit_of_T`: a special token
ACROSS = "a piece of the tokenizer spans two words"
MISSING = "a word has no piece of its own"
APART = "the tokenizer splits the text differently from its words one by one"
STRANGE = "the vocabulary of the model lacks a token"

Places = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class AlignedText:
    """A sentence as a model reads it, and the word that each token belongs to."""

    ids_T: Tensor
    unit_of_T: Tensor  # word number, from 0; SPECIAL for tokens of no word

    @property
    def special(self) -> tuple[tuple[int, int], ...]:
        """Slot and id of every token that belongs to no word."""
        slots = (self.unit_of_T == SPECIAL).nonzero().flatten().tolist()
        return tuple((slot, int(self.ids_T[slot])) for slot in slots)

    @property
    def one_each(self) -> "AlignedText":
        """The same with the first piece of every word only."""
        first_T = torch.ones(len(self.ids_T), dtype=torch.bool)
        first_T[1:] = (self.unit_of_T[1:] != self.unit_of_T[:-1]) | (self.unit_of_T[1:] == SPECIAL)
        return AlignedText(self.ids_T[first_T], self.unit_of_T[first_T])

    def in_order(self, order: Sequence[int]) -> "AlignedText":
        """The same pieces with the words in another order, new place to old; tokens of no word keep their slots."""
        blocks = [(self.unit_of_T == unit).nonzero().flatten() for unit in order]
        from_T = torch.arange(len(self.ids_T))
        from_T[self.unit_of_T != SPECIAL] = torch.cat(blocks)
        return AlignedText(self.ids_T[from_T], self.unit_of_T[from_T])


def aligned(model: LoadedModel, units: Units) -> AlignedText | str:
    """The tokens of a sentence aligned with its words, or the reason why that is not possible.

    The text is read as it was written. Our own nets read words separated by blanks, as in their training.
    """
    if model.tokenizer is None:
        tasks_only = f"{model.id} learnt tasks and reads no words; name a language model"
        no_tokenizer = f"{model.no_tokenizer}, so it cannot read sentences; save one beside the model"
        raise UserError(no_tokenizer if model.net is None else tasks_only)
    blanks = " ".join(units.words), side_by_side(units.words)
    text, places = (units.raw, units.places) if model.net is None else blanks
    by_offsets = getattr(model.tokenizer, "is_fast", False)
    text_or_reason = (_by_offsets if by_offsets else _one_by_one)(model.tokenizer, text, places)
    if isinstance(text_or_reason, str):
        return text_or_reason
    return STRANGE if int(text_or_reason.ids_T.max()) >= model.vocabulary else text_or_reason


def cannot_align(model: LoadedModel) -> str:
    """Why none of the sentences could be aligned with words, for an error message."""
    if getattr(model.tokenizer, "is_fast", False):
        return f"the tokenizer of {model.id} cannot be aligned with the words of these sentences"
    return (
        f"the tokenizer of {model.id} gives no character offsets and splits these texts differently from their words "
        "one by one, so its pieces cannot be aligned with words; save a fast tokenizer (tokenizer.json) beside the "
        "model"
    )


def _by_offsets(tokenizer: Any, text: str, places: Places) -> AlignedText | str:
    read = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    unit_of, unit = [], 0
    for (start, stop), special in zip(read["offset_mapping"], read["special_tokens_mask"], strict=True):
        if special:
            unit_of.append(SPECIAL)
            continue
        # Without surrounding blanks; a piece of blanks only ends where the next word begins.
        start = stop - len(text[start:stop].lstrip())
        stop = start + len(text[start:stop].rstrip())
        while unit + 1 < len(places) and places[unit][1] <= start:
            unit += 1
        # A piece of blanks only comes before its word, so it may begin early; none may end late.
        if stop > places[unit][1] or start < min(stop, places[unit][0]):
            return ACROSS
        unit_of.append(unit)
    return _checked(read["input_ids"], unit_of, len(places))


def _one_by_one(tokenizer: Any, text: str, places: Places) -> AlignedText | str:
    """Tokenise word by word, with or without the blanks before it; the result must be the tokens of the whole text."""
    whole = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    for before in (True, False):
        pieces, stop = [], 0
        for start, end in places:
            pieces.append(list(tokenizer(text[stop if before else start : end], add_special_tokens=False)["input_ids"]))
            stop = end
        if [id for piece in pieces for id in piece] == whole:
            unit_of = [unit for unit, piece in enumerate(pieces) for _ in piece]
            break
    else:
        return APART
    ids = list(tokenizer.build_inputs_with_special_tokens(whole))
    starts = (start for start in range(len(ids) - len(whole) + 1) if ids[start : start + len(whole)] == whole)
    if (first := next(starts, None)) is None:
        return APART
    after = len(ids) - first - len(whole)
    return _checked(ids, [SPECIAL] * first + unit_of + [SPECIAL] * after, len(places))


def _checked(ids: Sequence[int], unit_of: Sequence[int], units: int) -> AlignedText | str:
    if len(set(unit_of) - {SPECIAL}) < units:
        return MISSING
    return AlignedText(torch.tensor(ids, dtype=torch.long), torch.tensor(unit_of, dtype=torch.long))

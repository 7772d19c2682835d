"""Which pieces of a tokenizer belong to which word: so that attention between pieces can be told between words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.units import Units, side_by_side
from wherewhat.errors import UserError

SPECIAL = -1  # in `unit_of_T`: a token that the tokenizer adds by itself
ACROSS = "a piece of the tokenizer spans two words"
MISSING = "a word has no piece of its own"
APART = "the tokenizer cuts the text otherwise than its words one by one"
STRANGE = "the vocabulary of the model lacks a token"

Places = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Aligned:
    """A sentence as a model reads it, and of every token the word it is of."""

    ids_T: Tensor
    unit_of_T: Tensor  # counted from 0; SPECIAL for tokens of no word

    @property
    def special(self) -> tuple[tuple[int, int], ...]:
        """Where tokens of no word stand, and which these are."""
        slots = (self.unit_of_T == SPECIAL).nonzero().flatten().tolist()
        return tuple((slot, int(self.ids_T[slot])) for slot in slots)

    @property
    def one_each(self) -> "Aligned":
        """The same with the first piece of every word only."""
        first_T = torch.ones(len(self.ids_T), dtype=torch.bool)
        first_T[1:] = (self.unit_of_T[1:] != self.unit_of_T[:-1]) | (self.unit_of_T[1:] == SPECIAL)
        return Aligned(self.ids_T[first_T], self.unit_of_T[first_T])

    def in_order(self, order: Sequence[int]) -> "Aligned":
        """The same pieces with the words in another order, new place to old; tokens of no word stay where they are."""
        blocks = [(self.unit_of_T == unit).nonzero().flatten() for unit in order]
        from_T = torch.arange(len(self.ids_T))
        from_T[self.unit_of_T != SPECIAL] = torch.cat(blocks)
        return Aligned(self.ids_T[from_T], self.unit_of_T[from_T])


def aligned(model: LoadedModel, units: Units) -> Aligned | str:
    """The tokens of a sentence by word, or the reason why they cannot be told apart by word.

    The text is read as it was written. A net of ours reads words with blanks between them, as it has learnt to.
    """
    if model.tokenizer is None:
        raise UserError(_no_words(model))
    blanks = " ".join(units.words), side_by_side(units.words)
    text, places = (units.raw, units.places) if model.net is None else blanks
    by_offsets = getattr(model.tokenizer, "is_fast", False)
    found = _by_offsets(model.tokenizer, text, places) if by_offsets else _one_by_one(model.tokenizer, text, places)
    if isinstance(found, str):
        return found
    return STRANGE if int(found.ids_T.max()) >= model.vocabulary else found


def _no_words(model: LoadedModel) -> str:
    if model.net is not None:
        return f"{model.id} learnt tasks and reads no words; name a model of text"
    return f"{model.no_tokenizer}, so it cannot read sentences; save one beside the model"


def cannot_align(model: LoadedModel) -> str:
    """What to say of a model none of whose sentences could be aligned with words."""
    if getattr(model.tokenizer, "is_fast", False):
        return f"the tokenizer of {model.id} cannot be aligned with the words of these sentences"
    return (
        f"the tokenizer of {model.id} tells no character offsets and cuts these texts otherwise than their words one "
        "by one, so its pieces cannot be aligned with words; save a fast tokenizer (tokenizer.json) beside the model"
    )


def _by_offsets(tokenizer: Any, text: str, places: Places) -> Aligned | str:
    read = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    spans = [_without_blanks(text, *span) for span in read["offset_mapping"]]
    unit_of, unit = [], 0
    for span, special in zip(spans, read["special_tokens_mask"], strict=True):
        if special:
            unit_of.append(SPECIAL)
            continue
        while unit + 1 < len(places) and places[unit][1] <= span[0]:
            unit += 1
        # A piece of nothing but a blank stands before its word, so it may begin early; none may end late.
        if span[1] > places[unit][1] or (span[0] < span[1] and span[0] < places[unit][0]):
            return ACROSS
        unit_of.append(unit)
    return _checked(read["input_ids"], unit_of, len(places))


def _without_blanks(text: str, start: int, stop: int) -> tuple[int, int]:
    """A stretch of a text without blanks at its ends; of blanks alone the end, where the next word begins."""
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop


def _one_by_one(tokenizer: Any, text: str, places: Places) -> Aligned | str:
    """Read word by word, each with what stands before it or without; that must give the tokens of the whole text."""
    whole = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    for before in (True, False):
        pieces, stop = [], 0
        for start, end in places:
            pieces.append(list(tokenizer(text[stop if before else start : end], add_special_tokens=False)["input_ids"]))
            stop = end
        if [id for piece in pieces for id in piece] == whole:
            unit_of = [unit for unit, piece in enumerate(pieces) for _ in piece]
            return _with_special(tokenizer, whole, unit_of, len(places))
    return APART


def _with_special(tokenizer: Any, ids: list[int], unit_of: list[int], units: int) -> Aligned | str:
    """Put the tokenizer's own tokens around those of a text."""
    built = list(tokenizer.build_inputs_with_special_tokens(ids))
    first = next((at for at in range(len(built) - len(ids) + 1) if built[at : at + len(ids)] == ids), None)
    if first is None:
        return APART
    after = len(built) - first - len(ids)
    return _checked(built, [SPECIAL] * first + unit_of + [SPECIAL] * after, units)


def _checked(ids: Sequence[int], unit_of: Sequence[int], units: int) -> Aligned | str:
    if len(set(unit_of) - {SPECIAL}) < units:
        return MISSING
    return Aligned(torch.tensor(ids, dtype=torch.long), torch.tensor(unit_of, dtype=torch.long))

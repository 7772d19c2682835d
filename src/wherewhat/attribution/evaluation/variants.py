"""Variants of a text with some of its tokens replaced or left out, and what stands in their place."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.attribution.attribute import TextInput
from wherewhat.attribution.outputs import read_full
from wherewhat.attribution.result import Attribution
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import MASKED
from wherewhat.capture.outputs.text_outputs import LABELS
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

REPLACE, LEAVE_OUT = "token", "delete"
WAYS = {
    REPLACE: "another token takes the place of each",
    LEAVE_OUT: "they are left out, and the rest moves together",
}


@dataclass(frozen=True)
class Replacement:
    """What stands in the place of a token that was taken away."""

    name: str
    id: int | None  # None: the mean embedding of all tokens


MEAN = Replacement("the mean embedding of all tokens", None)


def replacement_of(model: LoadedModel, kind: str) -> Replacement:
    """The unknown token of a model, else its mask, else its padding; for a net without any, the mean embedding.

    All tokens of a task mean something, and its padding was never learnt: their mean means least. So it does to
    classifiers of transformers, some of which take the padding for the end of a text.
    """
    names = {"unk_token_id": "the unknown token", "mask_token_id": "the mask token"}
    if kind != LABELS or isinstance(model.module, Trunk):
        names["pad_token_id"] = "the padding token"
    for field, name in names.items():
        if (id := getattr(model.tokenizer, field, None)) is not None and id < model.vocabulary:
            return Replacement(f"{name} {model.tokenizer.convert_ids_to_tokens(id)}", id)
    return MEAN


@dataclass(frozen=True)
class PerturbableText:
    """A text, the slots in which tokens may be taken away, and the output that is watched."""

    ids_T: Tensor
    slots_N: Tensor
    kind: str
    slot: int | None  # where a token is predicted; None for a label, and after an encoder
    index: int  # of the output among all
    types_T: Tensor | None = None  # token types, where a model reads two texts


def perturbable(model: LoadedModel, text: TextInput, attribution: Attribution) -> PerturbableText:
    """A text as it was explained: special tokens are kept; the unknown token counts as a word."""
    full, output = read_full(model, text), attribution.output
    special = set(getattr(model.tokenizer, "all_special_ids", ())) - {getattr(model.tokenizer, "unk_token_id", None)}
    own = zip(full.ids_T.tolist(), full.own_T.tolist(), strict=True)
    slots = [slot for slot, (id, is_own) in enumerate(own) if is_own and id not in special]
    if not slots:
        raise UserError("a text has special tokens alone, none of which can be replaced; leave it out")
    return PerturbableText(full.ids_T, torch.tensor(slots), output.kind, output.slot, output.index, full.types_T)


@dataclass(frozen=True)
class Variants:
    """Some variants of a text, all equally long."""

    numbers: Tensor  # among all variants
    ids_BT: Tensor
    blank_BT: Tensor  # True where the mean embedding stands in place of a token
    slot_B: Tensor | None  # where each is read; None for labels, and after an encoder
    types_BT: Tensor | None = None

    def part(self, rows: slice) -> "Variants":
        """Some of them."""
        slot_B, types_BT = (None if each is None else each[rows] for each in (self.slot_B, self.types_BT))
        return Variants(self.numbers[rows], self.ids_BT[rows], self.blank_BT[rows], slot_B, types_BT)


def replaced(text: PerturbableText, standing_VT: Tensor, replacement: Replacement) -> Iterator[Variants]:
    """Variants in which every token keeps its place."""
    count, id = len(standing_VT), replacement.id
    ids_VT = text.ids_T.expand_as(standing_VT)
    blank_VT = ~standing_VT if id is None else torch.zeros_like(standing_VT)
    slot_V = None if text.slot is None else torch.full((count,), text.slot)
    types_VT = None if text.types_T is None else text.types_T.expand_as(standing_VT)
    ids_VT = ids_VT if id is None else ids_VT.where(standing_VT, id)
    yield Variants(torch.arange(count), ids_VT, blank_VT, slot_V, types_VT)


def left_out(text: PerturbableText, standing_VT: Tensor, replacement: Replacement) -> Iterator[Variants]:
    """Variants without the tokens that were taken away, by length; if none stands, one replacement does."""
    length_V = standing_VT.sum(-1)
    for length in length_V.unique().tolist():
        numbers = (length_V == length).nonzero().flatten()
        if length == 0:
            yield _nothing_left(text, numbers, replacement)
            continue
        here_BT = standing_VT[numbers]
        ids_BT = text.ids_T.expand_as(here_BT)[here_BT].view(len(numbers), length)
        types_BT = None if text.types_T is None else text.types_T.expand_as(here_BT)[here_BT].view_as(ids_BT)
        slot_B = None if text.slot is None else torch.full((len(numbers),), length - 1)
        if text.kind == MASKED:
            slot_B = here_BT[:, : text.slot].sum(-1)
        yield Variants(numbers, ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool), slot_B, types_BT)


def _nothing_left(text: PerturbableText, numbers: Tensor, replacement: Replacement) -> Variants:
    ids_BT = torch.full((len(numbers), 1), replacement.id or 0)
    blank_BT = torch.full_like(ids_BT, replacement.id is None, dtype=torch.bool)
    types_BT = None if text.types_T is None else torch.zeros_like(ids_BT)
    return Variants(numbers, ids_BT, blank_BT, None if text.slot is None else torch.zeros_like(numbers), types_BT)

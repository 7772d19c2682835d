"""Run a model on a text with some of its tokens replaced or left out, many such texts at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wherewhat.attribution.evaluation.curves import Bools, Floats
from wherewhat.attribution.result import Attribution
from wherewhat.capture.capture import as_user_errors, check_finite, first_device, inputs_for
from wherewhat.capture.hooks.position_sources import token_embedding
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import MASKED, logits_at
from wherewhat.capture.outputs.text_outputs import LABELS
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk, evaluating

TOKENS = 8192  # per batch
ENTRIES = 1 << 24  # logits per batch at most
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
    slot: int | None  # where a token is predicted; None for a label
    index: int  # of the output among all


def perturbable(model: LoadedModel, attribution: Attribution) -> PerturbableText:
    """The text of an attribution: special tokens are kept; the unknown token counts as a word."""
    special = set(getattr(model.tokenizer, "all_special_ids", ())) - {getattr(model.tokenizer, "unk_token_id", None)}
    slots = [slot for slot, id in enumerate(attribution.ids) if id not in special]
    if not slots:
        raise UserError("a text has special tokens alone, none of which can be replaced; leave it out")
    output = attribution.output
    return PerturbableText(torch.tensor(attribution.ids), torch.tensor(slots), output.kind, output.slot, output.index)


@dataclass(frozen=True)
class PerturbedOutputs:
    """What a model gives for the explained output of a text, by variant of the text."""

    probability_V: Floats
    logit_V: Floats
    change_V: Floats  # squared change of all logits against the whole text, summed over outputs
    outputs: int  # that the model chooses from


@dataclass(frozen=True)
class Variants:
    """Some variants of a text, all equally long."""

    numbers: Tensor  # among all variants
    ids_BT: Tensor
    blank_BT: Tensor  # True where the mean embedding stands in place of a token
    slot_B: Tensor | None  # where each is read; None for labels

    def part(self, rows: slice) -> "Variants":
        """Some of them."""
        slot_B = None if self.slot_B is None else self.slot_B[rows]
        return Variants(self.numbers[rows], self.ids_BT[rows], self.blank_BT[rows], slot_B)


def run_perturbed(
    model: LoadedModel, text: PerturbableText, standing_VN: Bools, *, way: str = REPLACE
) -> PerturbedOutputs:
    """Run a model on variants of a text, in batches; True: of the tokens that may be taken away, this one stands."""
    look_up("way to take tokens away", way, WAYS)
    standing_VT = torch.ones(len(standing_VN), len(text.ids_T), dtype=torch.bool)
    standing_VT[:, text.slots_N] = torch.from_numpy(standing_VN)
    values_VX = torch.empty(len(standing_VT), 3, dtype=torch.float64)
    replacement, make = replacement_of(model, text.kind), replaced if way == REPLACE else left_out
    with torch.no_grad(), evaluating(model.module), as_user_errors(model.module), blank_slots(model) as blank:
        ((_, (whole_C,)),) = _read(model, make(text, torch.ones_like(standing_VT[:1]), replacement), blank)
        for numbers, logits_BC in _read(model, make(text, standing_VT, replacement), blank):
            probability_B, logit_B = (each_BC[:, text.index] for each_BC in (logits_BC.softmax(-1), logits_BC))
            change_B = (logits_BC - whole_C).pow(2).sum(-1)
            values_VX[numbers] = torch.stack([probability_B, logit_B, change_B], dim=1)
    probability_V, logit_V, change_V = values_VX.numpy().T
    return PerturbedOutputs(probability_V, logit_V, change_V, outputs=len(whole_C))


def replaced(text: PerturbableText, standing_VT: Tensor, replacement: Replacement) -> Iterator[Variants]:
    """Variants in which every token keeps its place."""
    count, id = len(standing_VT), replacement.id
    ids_VT = text.ids_T.expand_as(standing_VT)
    blank_VT = ~standing_VT if id is None else torch.zeros_like(standing_VT)
    slot_V = None if text.slot is None else torch.full((count,), text.slot)
    yield Variants(torch.arange(count), ids_VT if id is None else ids_VT.where(standing_VT, id), blank_VT, slot_V)


def left_out(text: PerturbableText, standing_VT: Tensor, replacement: Replacement) -> Iterator[Variants]:
    """Variants without the tokens that were taken away, by length; if none stands, one replacement does."""
    length_V = standing_VT.sum(-1)
    for length in length_V.unique().tolist():
        numbers = (length_V == length).nonzero().flatten()
        if length == 0:
            ids_BT = torch.full((len(numbers), 1), replacement.id or 0)
            blank_BT = torch.full_like(ids_BT, replacement.id is None, dtype=torch.bool)
        else:
            ids_BT = text.ids_T.expand_as(standing_VT)[numbers][standing_VT[numbers]].view(len(numbers), length)
            blank_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
        slot_B = None if text.slot is None else torch.full((len(numbers),), max(length, 1) - 1)
        if text.kind == MASKED:
            slot_B = standing_VT[numbers, : text.slot].sum(-1)
        yield Variants(numbers, ids_BT, blank_BT, slot_B)


Blank = Callable[[Tensor], None]  # sets which slots of the next batch get the mean embedding


@contextmanager
def blank_slots(model: LoadedModel) -> Iterator[Blank]:
    """Inside the block, slots can be given the mean embedding of all tokens in place of their own."""
    module = model.module
    embedding = module.tokens if isinstance(module, Trunk) else token_embedding(module)
    with torch.no_grad():
        mean_D = embedding(torch.arange(model.vocabulary, device=first_device(module))).mean(0)
    blanks: list[Tensor] = []

    def on_output(_: nn.Module, __: object, output_BTD: Tensor) -> Tensor | None:
        return torch.where(blanks[-1][..., None], mean_D, output_BTD) if blanks and bool(blanks[-1].any()) else None

    handle = embedding.register_forward_hook(on_output)
    try:
        yield lambda blank_BT: blanks.__setitem__(slice(None), [blank_BT])
    finally:
        handle.remove()


def _read(model: LoadedModel, variants: Iterator[Variants], blank: Blank) -> Iterator[tuple[Tensor, Tensor]]:
    """Numbers of variants and their logits_BC in float64, a batch at a time."""
    module = model.module
    for group in variants:
        at_once = max(1, min(TOKENS // group.ids_BT.shape[1], ENTRIES // model.vocabulary))
        if group.slot_B is None and not isinstance(module, Trunk) and _needs_padding(model):
            at_once = 1
        for first in range(0, len(group.numbers), at_once):
            part = group.part(slice(first, first + at_once))
            blank(part.blank_BT.to(first_device(module)))
            logits_BC = _logits(module, part).double().cpu()
            check_finite(logits_BC, f"the logits of {model.id}")
            yield part.numbers, logits_BC


def _needs_padding(model: LoadedModel) -> bool:
    """Whether a classifier reads one text at a time: some find its end by the padding after it, and have none."""
    return getattr(model.text_config, "pad_token_id", None) is None


def _logits(module: nn.Module, variants: Variants) -> Tensor:
    """logits_BC of one batch, of labels or of tokens at the slot that is watched."""
    ids_BT = variants.ids_BT.to(first_device(module))
    if variants.slot_B is None:
        if isinstance(module, Trunk):
            return module.label_logits(ids_BT)
        labels_BC: Tensor = module(**inputs_for(module, _batch(ids_BT))).logits
        return labels_BC
    if isinstance(module, Trunk):
        hidden_BD = module.hidden(ids_BT)[torch.arange(len(ids_BT)), variants.slot_B]
        tokens_BC: Tensor = module.head(hidden_BD)
        return tokens_BC
    wanted_BT = torch.arange(ids_BT.shape[1]) == variants.slot_B[:, None]
    return logits_at(module, _batch(ids_BT), wanted_BT)


def _batch(ids_BT: Tensor) -> Batch:
    return Batch(tuple(range(len(ids_BT))), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), ())

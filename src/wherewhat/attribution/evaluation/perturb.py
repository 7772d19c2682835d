"""Run a model on variants of a text, many at once, and watch the output that was explained."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wherewhat.attribution.evaluation.curves import Bools, Floats
from wherewhat.attribution.evaluation.variants import (
    REPLACE,
    WAYS,
    PerturbableText,
    Variants,
    left_out,
    replaced,
    replacement_of,
)
from wherewhat.capture.capture import as_user_errors, check_finite, first_device
from wherewhat.capture.hooks.position_sources import token_embedding
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.explained import label_logits, next_token_logits
from wherewhat.capture.outputs.language_model import logits_at
from wherewhat.capture.outputs.text_outputs import LABELS
from wherewhat.capture.tokens.batch import Batch
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk, evaluating

TOKENS = 8192  # per batch
ENTRIES = 1 << 24  # logits per batch at most


@dataclass(frozen=True)
class PerturbedOutputs:
    """What a model gives for the explained output of a text, by variant of the text."""

    probability_V: Floats
    logit_V: Floats
    change_V: Floats  # squared change of all logits against the whole text, summed over outputs
    outputs: int  # that the model chooses from


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
        whole = make(text, torch.ones_like(standing_VT[:1]), replacement)
        ((_, (whole_C,)),) = _read(model, text.kind, whole, blank)
        for numbers, logits_BC in _read(model, text.kind, make(text, standing_VT, replacement), blank):
            probability_B, logit_B = (each_BC[:, text.index] for each_BC in (logits_BC.softmax(-1), logits_BC))
            change_B = (logits_BC - whole_C).pow(2).sum(-1)
            values_VX[numbers] = torch.stack([probability_B, logit_B, change_B], dim=1)
    probability_V, logit_V, change_V = values_VX.numpy().T
    return PerturbedOutputs(probability_V, logit_V, change_V, outputs=len(whole_C))


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
        """Also called for other inputs, such as what a decoder begins with, if it shares its embedding."""
        if not blanks or blanks[-1].shape != output_BTD.shape[:-1] or not bool(blanks[-1].any()):
            return None
        return torch.where(blanks.pop()[..., None], mean_D, output_BTD)

    handle = embedding.register_forward_hook(on_output)
    try:
        yield lambda blank_BT: blanks.__setitem__(slice(None), [blank_BT])
    finally:
        handle.remove()


def _read(model: LoadedModel, kind: str, variants: Iterator[Variants], blank: Blank) -> Iterator[tuple[Tensor, Tensor]]:
    """Numbers of variants and their logits_BC in float64, a batch at a time."""
    for group in variants:
        at_once = max(1, min(TOKENS // group.ids_BT.shape[1], ENTRIES // model.vocabulary))
        if kind == LABELS and _needs_padding(model):
            at_once = 1
        for first in range(0, len(group.numbers), at_once):
            part = group.part(slice(first, first + at_once))
            blank(part.blank_BT.to(first_device(model.module)))
            logits_BC = _logits(model.module, kind, part).double().cpu()
            check_finite(logits_BC, f"the logits of {model.id}")
            yield part.numbers, logits_BC


def _needs_padding(model: LoadedModel) -> bool:
    """Whether a classifier reads one text at a time: some find its end by the padding after it, and have none."""
    return not isinstance(model.module, Trunk) and getattr(model.text_config, "pad_token_id", None) is None


def _logits(module: nn.Module, kind: str, variants: Variants) -> Tensor:
    """logits_BC of one batch: of labels, of tokens at the slot that is watched, or of a decoder's first token."""
    ids_BT, types_BT = variants.ids_BT.to(first_device(module)), variants.types_BT
    types_BT = None if types_BT is None else types_BT.to(ids_BT.device)
    if kind == LABELS:
        return label_logits(module, ids_BT, types_BT)
    if variants.slot_B is None:
        return next_token_logits(module, ids_BT)
    if isinstance(module, Trunk):
        hidden_BD = module.hidden(ids_BT)[torch.arange(len(ids_BT)), variants.slot_B]
        tokens_BC: Tensor = module.head(hidden_BD)
        return tokens_BC
    wanted_BT = torch.arange(ids_BT.shape[1]) == variants.slot_B[:, None]
    batch = Batch(tuple(range(len(ids_BT))), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), ())
    return logits_at(module, batch, wanted_BT)

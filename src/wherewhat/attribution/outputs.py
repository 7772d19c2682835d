"""Which output of a model is explained: the next token, a masked one, a label, or the answer to a task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.capture import inputs_for
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import ANSWER, MASKED, NEXT, prediction_kind
from wherewhat.capture.outputs.text_outputs import LABELS, labels_of, output_kind
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.encode import token_names, tokenizer_of
from wherewhat.capture.tokens.full_texts import encode_full_text
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk

WORDS = {"next": NEXT, "mask": MASKED, "label": LABELS}  # what a target may be called


@dataclass(frozen=True)
class OutputChoice:
    """Token ids, how the model is run on them, and which of its logits is explained."""

    kind: str
    ids_BT: Tensor
    slot: int | None  # where a token is predicted; None for a label
    logits: Callable[[], Tensor]  # logits_C
    index: Callable[[Tensor], int]
    name_of: Callable[[int], str]


def choose_output(model: LoadedModel, text: Any, target: str | int) -> OutputChoice:
    """What to explain of a text."""
    ids_BT = ids_of(model, text)
    kind = kind_of(model)
    if isinstance(target, str) and target in WORDS:
        if WORDS[target] != kind and not (target == "next" and kind == ANSWER):
            raise UserError(f"{model.id} has no {target} to explain; it gives {_GIVES[kind]}, so give another target")
        target = ""
    if kind == LABELS:
        names = labels_of(model)
        return OutputChoice(kind, ids_BT, None, _runner(model, ids_BT, None), _index(names, target), names.__getitem__)
    slot = _mask_slot(model, ids_BT) if kind == MASKED else ids_BT.shape[1] - 1
    return OutputChoice(
        kind,
        ids_BT,
        slot,
        _runner(model, ids_BT, slot),
        _token_index(model, target),
        lambda index: token_names(model, torch.tensor([index]))[0],
    )


_GIVES = {LABELS: "a label", MASKED: "a token for a mask", NEXT: "a next token", ANSWER: "the answer to a task"}


def kind_of(model: LoadedModel) -> str:
    """What a model can be asked to explain."""
    if isinstance(model.module, Trunk) and model.task is not None:
        return prediction_kind(model)
    return output_kind(model)


def ids_of(model: LoadedModel, text: Any) -> Tensor:
    """ids_BT of one text, of a pair of texts, or of token ids."""
    if isinstance(text, str):
        return encode_full_text(model, (text,)).ids_T[None]
    if isinstance(text, tuple) and all(isinstance(part, str) for part in text):
        return encode_full_text(model, text).ids_T[None]
    return torch.as_tensor(text, dtype=torch.long).reshape(1, -1)


def _runner(model: LoadedModel, ids_BT: Tensor, slot: int | None) -> Callable[[], Tensor]:
    module = model.module

    def run() -> Tensor:
        if isinstance(module, Trunk):
            logits: Tensor = module.label_logits(ids_BT)[0] if slot is None else module(ids_BT)[0, slot]
            return logits
        batch = Batch((0,), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.tensor([0]),))
        output: Tensor = module(**inputs_for(module, batch)).logits[0]
        return output if slot is None else output[slot]

    return run


def _index(names: tuple[str, ...], target: str | int) -> Callable[[Tensor], int]:
    if target == "":
        return lambda logits_C: int(logits_C.argmax())
    if isinstance(target, int):
        return lambda _: target
    look_up("label", target, dict.fromkeys(names))
    return lambda _: names.index(target)


def _token_index(model: LoadedModel, target: str | int) -> Callable[[Tensor], int]:
    if target == "":
        return lambda logits_C: int(logits_C.argmax())
    if isinstance(target, int):
        return lambda _: target
    ids = tokenizer_of(model)(target, add_special_tokens=False)["input_ids"]
    if len(ids) != 1:
        raise UserError(f"'{target}' is {len(ids)} tokens of {model.id}; give a single token, or its number")
    return lambda _: int(ids[0])


def _mask_slot(model: LoadedModel, ids_BT: Tensor) -> int:
    mask = model.tokenizer.mask_token_id
    slots = (ids_BT[0] == mask).nonzero().flatten().tolist()
    if len(slots) != 1:
        raise UserError(f"the text has {len(slots)} masks; write {model.tokenizer.mask_token} once")
    return int(slots[0])

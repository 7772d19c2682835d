"""Which output of a model is explained: the next token, a masked one, a label, or the answer to a task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wherewhat.attribution.target_tokens import tokens_after, tokens_in_place
from wherewhat.capture.capture import as_user_errors, first_device
from wherewhat.capture.hooks.position_sources import has_two_stacks
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.explained import label_logits, next_token_logits, predicts_after_encoder, token_logits
from wherewhat.capture.outputs.language_model import ANSWER, MASKED, NEXT, prediction_kind
from wherewhat.capture.outputs.text_outputs import LABELS, STATES, labels_of, output_kind
from wherewhat.capture.tokens.encode import check_vocabulary, token_names, tokenizer_of
from wherewhat.capture.tokens.full_texts import FullText, encode_full_text
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk

WORDS = {"next": NEXT, "mask": MASKED, "label": LABELS}  # what a target may be called
GIVES = {LABELS: "a label", MASKED: "a token for a mask", NEXT: "a next token", ANSWER: "the answer to a task"}


@dataclass(frozen=True)
class OutputChoice:
    """Token ids, how the model is run on them, and which of its logits is explained."""

    kind: str
    ids_BT: Tensor
    slot: int | None  # where a token is predicted; None for a label, and after an encoder
    logits: Callable[[], Tensor]  # logits_C
    index: Callable[[Tensor], int]
    name_of: Callable[[int], str]


def choose_output(model: LoadedModel, text: Any, target: str | int) -> OutputChoice:
    """What to explain of a text."""
    kind = kind_of(model)
    target = _known_target(model, kind, target)
    full = read_full(model, text)
    ids_BT = full.ids_T[None].to(first_device(model.module))
    types_BT = None if full.types_T is None else full.types_T[None].to(ids_BT.device)
    if kind == LABELS:
        names = labels_of(model)
        index, name_of = _label_index(model, names, target), names.__getitem__
        return OutputChoice(kind, ids_BT, None, _runner(model, label_logits, ids_BT, types_BT), index, name_of)
    index = _token_index(model, kind, text, target)
    if has_two_stacks(model.module):
        return OutputChoice(kind, ids_BT, None, _runner(model, next_token_logits, ids_BT), index, _namer(model))
    slot = _mask_slot(model, ids_BT) if kind == MASKED else ids_BT.shape[1] - 1
    return OutputChoice(kind, ids_BT, slot, _runner(model, token_logits, ids_BT, slot), index, _namer(model))


def kind_of(model: LoadedModel) -> str:
    """What a model can be asked to explain."""
    module = model.module
    if isinstance(module, Trunk) and not module.config.labels:
        if model.task is None and model.tokenizer is None:  # a net from memory, which reads numbers
            return NEXT if module.config.causal else ANSWER
        return prediction_kind(model)
    if predicts_after_encoder(module):
        return NEXT
    kind = output_kind(model)
    if kind == STATES:
        raise UserError(
            f"{model.id} predicts neither tokens nor one of several labels, so it has no output to explain; "
            "save it with such a head, or name another model"
        )
    if kind == LABELS and has_two_stacks(module):
        raise UserError(
            f"{model.id} reads a text twice before it labels it, in its encoder and in its decoder, "
            "so tokens have no single relevance; name a classifier with one stack"
        )
    return kind


def ids_of(model: LoadedModel, text: Any) -> Tensor:
    """ids_BT of one text, of a pair of texts, or of token ids."""
    return read_full(model, text).ids_T[None]


def read_full(model: LoadedModel, text: Any) -> FullText:
    """A text, a pair of texts or token ids as the model reads them. One that does not fit is refused."""
    if isinstance(text, str):
        full = encode_full_text(model, (text,))
    elif isinstance(text, tuple) and text and all(isinstance(part, str) for part in text):
        full = encode_full_text(model, text)
    else:
        ids_T = torch.as_tensor(text, dtype=torch.long).flatten().cpu()
        if not len(ids_T):
            raise UserError("the text has no token; give at least one")
        own_T = torch.ones_like(ids_T, dtype=torch.bool)
        full = FullText(ids_T, own_T, own_T, None)
    check_vocabulary(model, [full.ids_T])
    most = model.context
    if most is not None and len(full) > most:
        raise UserError(f"the text has {len(full)} tokens and {model.id} holds {most}; shorten it")
    return full


def _known_target(model: LoadedModel, kind: str, target: str | int) -> str | int:
    """A target, without a word for what the model gives anyway."""
    if not isinstance(target, str) or target not in WORDS:
        return target
    if WORDS[target] != kind and not (target == "next" and kind == ANSWER):
        if target == "label":
            labels_of(model)  # says why there are none
        raise UserError(f"{model.id} has no {target} to explain: it gives {GIVES[kind]}; give another target")
    return ""


def _runner(model: LoadedModel, logits: Callable[..., Tensor], *inputs: Any) -> Callable[[], Tensor]:
    def run() -> Tensor:
        with as_user_errors(model.module):
            return logits(model.module, *inputs)[0]

    return run


def _namer(model: LoadedModel) -> Callable[[int], str]:
    return lambda index: token_names(model, torch.tensor([index]))[0]


def _label_index(model: LoadedModel, names: tuple[str, ...], target: str | int) -> Callable[[Tensor], int]:
    if target == "":
        return _likeliest
    if isinstance(target, str):
        look_up("label", target, dict.fromkeys(names))
        return lambda _: names.index(target)
    if not 0 <= target < len(names):
        numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        raise UserError(f"{model.id} has no label {target}; it has {numbered}")
    return lambda _: target


def _token_index(model: LoadedModel, kind: str, text: Any, target: str | int) -> Callable[[Tensor], int]:
    if target == "":
        return _likeliest
    index = target if isinstance(target, int) else _token_called(model, kind, text, target)
    if not 0 <= index < model.vocabulary:
        raise UserError(
            f"token {index} is not in the vocabulary of {model.id}, which has {model.vocabulary} entries; "
            f"give a number from 0 to {model.vocabulary - 1}"
        )
    return lambda _: index


def _token_called(model: LoadedModel, kind: str, text: Any, target: str) -> int:
    """The token that a target names: by the tokenizer, where it stands, or by the tasks that a net has learnt."""
    if model.task is not None and model.tokenizer is None:
        names = token_names(model, torch.arange(model.vocabulary))
        look_up("token", target, dict.fromkeys(names))
        return names.index(target)
    tokenizer = tokenizer_of(model)
    if kind == MASKED:
        ids = tokens_in_place(model, text, target)
    else:  # a decoder beside an encoder begins a text of its own
        ids = tokens_after(model, "" if has_two_stacks(model.module) else text, target)
    if len(ids) != 1:
        raise UserError(f"'{target}' is {len(ids)} tokens of {model.id}; give a single token, or its number")
    if ids[0] == getattr(tokenizer, "unk_token_id", None) and target != tokenizer.unk_token:
        raise UserError(f"'{target}' is not in the vocabulary of {model.id}; give a token that is, or its number")
    return int(ids[0])


def _likeliest(logits_C: Tensor) -> int:
    return int(logits_C.argmax())


def _mask_slot(model: LoadedModel, ids_BT: Tensor) -> int:
    mask = model.tokenizer.mask_token_id
    slots = (ids_BT[0] == mask).nonzero().flatten().tolist()
    if len(slots) != 1:
        raise UserError(f"the text has {len(slots)} masks; write {model.tokenizer.mask_token} once")
    return int(slots[0])

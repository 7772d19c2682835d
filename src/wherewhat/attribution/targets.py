"""What to explain of each text: what the model predicts, tokens or labels by name, or each token of a continuation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wherewhat.attribution.outputs import WORDS, ids_of, kind_of
from wherewhat.attribution.target_tokens import tokens_after
from wherewhat.capture.hooks.position_sources import has_two_stacks
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import ANSWER, NEXT
from wherewhat.capture.outputs.text_outputs import LABELS, labels_of
from wherewhat.capture.tokens.encode import token_names
from wherewhat.errors import UserError
from wherewhat.names import look_up

BY_ID = "id:"  # a target by its number


@dataclass(frozen=True)
class Question:
    """A text to read, and what to explain of it."""

    text: int  # its number
    reading: Any  # a string, a pair of strings or ids_T
    target: str | int = ""  # as `attribute` takes it; empty: what the model predicts


def questions_of(
    model: LoadedModel, readings: Sequence[Any], targets: Sequence[str | int], continuation: str | None
) -> Iterator[Question]:
    """Every text with every target; a continuation of several tokens is one target per token."""
    kind = kind_of(model)
    if continuation is not None and targets:
        raise UserError("both --target and --continuation were given; choose one of them")
    if continuation is not None and not _continues(model, kind):
        raise UserError(f"{model.id} does not continue a text, so it has no continuation to explain; leave it out")
    for number, reading in enumerate(readings):
        if continuation is not None:
            yield from _continued(model, number, reading, continuation)
        for target in targets or ([""] if continuation is None else []):
            yield from _resolved(model, kind, Question(number, reading, target))


def _continues(model: LoadedModel, kind: str) -> bool:
    """Whether a model predicts what comes after the text that it reads; a decoder after an encoder begins its own."""
    return kind == NEXT and not has_two_stacks(model.module)


def _resolved(model: LoadedModel, kind: str, question: Question) -> Iterator[Question]:
    """One question, with the target looked up; or one per token of a target that has several."""
    target = question.target
    if isinstance(target, int) or not target or target in WORDS:
        yield question
    elif target.startswith(BY_ID):
        yield Question(question.text, question.reading, _by_id(model, kind, target))
    elif kind == LABELS:
        yield Question(question.text, question.reading, _label(model, target))
    elif kind == ANSWER:
        yield Question(question.text, question.reading, _task_token(model, target))
    elif _continues(model, kind):
        yield from _continued(model, question.text, question.reading, target)
    else:
        yield question


def _by_id(model: LoadedModel, kind: str, target: str) -> int:
    number = target.removeprefix(BY_ID)
    if not number.isdecimal():
        raise UserError(f"--target is '{target}'; write {BY_ID} and the number of a token or label, such as {BY_ID}7")
    size, what = (len(labels_of(model)), "labels") if kind == LABELS else (model.vocabulary, "tokens")
    if int(number) >= size:
        raise UserError(f"--target is '{target}', and {model.id} has {size} {what}; give a number below {size}")
    return int(number)


def _label(model: LoadedModel, target: str) -> int:
    """A label by its name, or by its number where no label is called so."""
    names = labels_of(model)
    if target.isdecimal() and target not in names and int(target) < len(names):
        return int(target)
    look_up("label", target, dict.fromkeys(names))
    return names.index(target)


def _task_token(model: LoadedModel, target: str) -> int:
    """The token of a task by its name, which tasks that were learnt together may share."""
    names = token_names(model, torch.arange(model.vocabulary))
    ids = [id for id, name in enumerate(names) if name == target]
    if not ids:
        look_up("token", target, dict.fromkeys(names))
    if len(ids) > 1:
        raise UserError(
            f"{len(ids)} tokens of {model.id} are called '{target}'; give a number: "
            f"{', '.join(f'{BY_ID}{id}' for id in ids)}"
        )
    return ids[0]


def _continued(model: LoadedModel, number: int, reading: Any, continuation: str) -> Iterator[Question]:
    """One question per token of what follows a text."""
    more, ids_T = tokens_after(model, reading, continuation), ids_of(model, reading)[0]
    if not more:
        raise UserError(f"'{continuation}' has no token that {model.id} could predict; write words")
    unknown = getattr(model.tokenizer, "unk_token_id", None)
    if unknown is not None and unknown in more and model.tokenizer.unk_token not in continuation:
        raise UserError(f"'{continuation}' is not in the vocabulary of {model.id}; give words that are, or {BY_ID}N")
    for length, id in enumerate(more):
        yield Question(number, torch.cat([ids_T, torch.tensor(more[:length], dtype=torch.long)]), int(id))

"""By how much every token of a text surprises a model: hidden ones one at a time, or the next one.

The sum over a text is minus its log-likelihood for a model that looks back, and minus its pseudo-log-likelihood for one
that looks both ways.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from wherewhat.capture.capture import check_finite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import (
    ANSWER,
    MASKED,
    NEXT,
    NOBODY,
    Question,
    asked,
    opener,
    speaks,
    special_tokens,
)
from wherewhat.capture.tokens.untruncated import Whole, check_lengths, opened, read_whole
from wherewhat.errors import UserError

TOKENS = 8192  # that are put to a model before progress is told; what a batch holds is bounded where it is read
OnText = Callable[[int, int], None]  # how many texts are done, and of how many
Way = Callable[[LoadedModel, int, Whole], list[Question]]  # what is asked of a text that has a number


def nats(model: LoadedModel, texts: Sequence[str], *, on_text: OnText | None = None) -> list[np.ndarray]:
    """Of each text nats_Q, by how much each token surprised (float64); empty where nothing can be asked.

    Special tokens and unknown words are not asked for. A model that only looks back needs something to look at: where
    its tokenizer puts nothing before a text, a token that begins or ends texts is put there; where there is no such
    token either, the first one is not asked for (`asks_first`).
    """
    found = read_whole(model, [(text,) for text in texts])
    how = speaks(model)
    if how == ANSWER:
        raise UserError(f"{model.id} answers tasks, so no text surprises it; name a model of text")
    if how == NEXT:
        found = [opened(one, opener(model)) for one in found]
        check_lengths(model, found)
    parts: list[list[np.ndarray]] = [[] for _ in found]
    for questions, done in _pieces(model, found, WAYS[how]):
        for question, answer in zip(questions, asked(model, questions), strict=True):
            check_finite(torch.from_numpy(answer.nats_Q), f"the logits of {model.id}")
            parts[question.text].append(answer.nats_Q)
        if on_text is not None:
            on_text(done, len(found))
    return [np.concatenate([np.zeros(0), *each]) for each in parts]


def asks_first(model: LoadedModel) -> bool:
    """Whether a model that only looks back is asked for the first token of a text too: whether one stands before it."""
    return bool(special_tokens(model)[0]) or opener(model) is not None


def _pieces(model: LoadedModel, found: Sequence[Whole], way: Way) -> Iterator[tuple[list[Question], int]]:
    """The questions of some texts at a time, as there may be as many as tokens; and how many texts are then done."""
    questions: list[Question] = []
    for number, one in enumerate(found):
        questions += way(model, number, one)
        if sum(len(question.ids_T) for question in questions) >= TOKENS or number + 1 == len(found):
            yield questions, number + 1
            questions = []


def _hidden(model: LoadedModel, number: int, one: Whole) -> list[Question]:
    """One question for every known token, with a mask in its place."""
    return [_one_hidden(model, number, one, slot) for slot in one.known_T.nonzero()[:, 0].tolist()]


def _one_hidden(model: LoadedModel, number: int, one: Whole, slot: int) -> Question:
    masked_T, wanted_T = one.ids_T.clone(), torch.full_like(one.ids_T, NOBODY)
    masked_T[slot], wanted_T[slot] = model.tokenizer.mask_token_id, one.ids_T[slot]
    return Question(number, masked_T, wanted_T)


def _following(model: LoadedModel, number: int, one: Whole) -> list[Question]:
    """All known tokens but one in the first slot, each asked for at the token before it."""
    wanted_T = torch.full_like(one.ids_T, NOBODY)
    wanted_T[:-1] = one.ids_T[1:].where(one.known_T[1:], NOBODY)
    return [Question(number, one.ids_T, wanted_T)] if (wanted_T != NOBODY).any() else []


WAYS: dict[str, Way] = {MASKED: _hidden, NEXT: _following}

"""What a model can do: predict the tokens of some texts, and copy random tokens that it has read once before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import (
    ANSWER,
    MASKED,
    NEXT,
    NOBODY,
    Question,
    asked,
    plain_tokens,
    speaks,
    special_tokens,
)
from wherewhat.capture.tokens.encode import Encoded
from wherewhat.errors import UserError

HIDDEN = 0.15  # of a text's tokens that are masked at a time, as masked language models are trained
ENOUGH = 8  # masked tokens of a text, in as many readings as that takes
LEAST_HALF = 2  # tokens: the first of the second half cannot be known, so there must be another


@dataclass(frozen=True)
class Trial:
    """What a model is tried on: made once, so that before and after see the same."""

    encoded: Encoded  # the texts
    random: Tensor | None  # repeated_MT: random tokens, then the same again; None where copying is not asked for
    seed: int = 0
    speaks: str = NEXT  # what the model predicts: "next", "masked" or "answer"

    @property
    def ids(self) -> Sequence[Tensor]:
        """The windows of the texts."""
        return self.encoded.ids


@dataclass(frozen=True)
class Ability:
    """What a model can do, by text, as sums, so that texts can be resampled."""

    nats_N: np.ndarray  # by how much the tokens of each text surprised
    tokens_N: np.ndarray  # how many were asked for; the loss is nats_N.sum() / tokens_N.sum()
    copied_M: np.ndarray | None  # share of the second half of each random sequence that is predicted exactly
    gained_M: np.ndarray | None  # induction: nats a token by which the loss falls from the first half to the second


def trial(model: LoadedModel, encoded: Encoded, *, random: int = 32, half: int = 48, seed: int = 0) -> Trial:
    """What to try a model on: the texts, and `random` sequences of `half` tokens that are written twice.

    Halves are shorter where the model holds fewer tokens. A net of ours is asked only for the answers of its task.
    """
    how = speaks(model)
    repeated = None if how == ANSWER else _repeated(model, random, half, seed)
    return Trial(encoded, repeated, seed, how)


def ability(model: LoadedModel, trial: Trial) -> Ability:
    """Try a model: its loss on the texts, and how much better it knows random tokens the second time."""
    way, questions = WAYS[trial.speaks], []
    for number, ids_T in enumerate(trial.ids):
        slots = way.slots(model, ids_T)
        if not len(slots):
            raise UserError(
                f"text {number} holds nothing but special tokens, so nothing of it can be asked; take it out"
            )
        questions += _questions(model, trial, number, ids_T, way.turns(slots, _drawing(trial, number)))
    nats_N, tokens_N, _ = _sums(model, questions, len(trial.ids))
    if not np.isfinite(nats_N).all():
        raise UserError(
            f"the loss of {model.id} is not finite on text {int(np.isfinite(nats_N).argmin())}; "
            "load the model with --dtype float32, or change it less"
        )
    nats_N, tokens_N = (np.bincount(trial.encoded.origins, weights=sum_N) for sum_N in (nats_N, tokens_N))
    return Ability(nats_N, tokens_N, *_copying(model, trial))


def _copying(model: LoadedModel, trial: Trial) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Of each random sequence: the share copied exactly, and how far the loss falls where the same tokens come again.

    The same tokens are asked for twice: when they have been read once, and after they stood there before. The first
    of them is not asked for, since nothing says that the sequence begins again.
    """
    if trial.random is None:
        return None, None
    before, after = (torch.tensor(ids, dtype=torch.long) for ids in special_tokens(model))
    once: list[Question] = []
    again: list[Question] = []
    for number, repeated_T in enumerate(trial.random):
        half_T = repeated_T[: len(repeated_T) // 2]
        slots = len(before) + torch.arange(1, len(half_T))
        turns = WAYS[trial.speaks].turns(slots, _drawing(trial, number))
        once += _questions(model, trial, number, torch.cat([before, half_T, after]), turns)
        later = [len(half_T) + some for some in turns]
        again += _questions(model, trial, number, torch.cat([before, repeated_T, after]), later)
    nats_M, tokens_M, _ = _sums(model, once, len(trial.random))
    second_M, _, right_M = _sums(model, again, len(trial.random))
    return right_M / tokens_M, (nats_M - second_M) / tokens_M


def _repeated(model: LoadedModel, random: int, half: int, seed: int) -> Tensor | None:
    """repeated_MT: tokens drawn without putting any back, then the same again; none stands twice in a half."""
    around, plain_V = sum(map(len, special_tokens(model))), plain_tokens(model)
    fitting = min(half, ((model.context or around + 2 * half) - around) // 2, len(plain_V))
    if random < 1 or fitting < LEAST_HALF:
        return None
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randperm(len(plain_V), generator=generator)[:fitting] for _ in range(random)]
    half_MT = plain_V[torch.stack(drawn)]
    return torch.cat([half_MT, half_MT], 1)


def _sums(model: LoadedModel, questions: Sequence[Question], texts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By text: nats, how many tokens were asked for, and how many of them had the largest logit."""
    nats_N, tokens_N, right_N = np.zeros(texts), np.zeros(texts), np.zeros(texts)
    for question, answer in zip(questions, asked(model, questions), strict=True):
        nats_N[question.text] += answer.nats_Q.sum()
        tokens_N[question.text] += len(answer.nats_Q)
        right_N[question.text] += answer.right_Q.sum()
    return nats_N, tokens_N, right_N


def _questions(model: LoadedModel, trial: Trial, number: int, ids_T: Tensor, turns: Sequence[Tensor]) -> list[Question]:
    return [WAYS[trial.speaks].question(model, number, ids_T, slots) for slots in turns]


def _drawing(trial: Trial, number: int) -> torch.Generator:
    """What is drawn of a text depends on the seed and its own number only."""
    return torch.Generator().manual_seed(trial.seed * 1_000_003 + number)


def _after_the_first(model: LoadedModel, ids_T: Tensor) -> Tensor:
    return torch.arange(1, len(ids_T))


def _not_special(model: LoadedModel, ids_T: Tensor) -> Tensor:
    return torch.isin(ids_T, plain_tokens(model)).nonzero()[:, 0]


def _the_last(model: LoadedModel, ids_T: Tensor) -> Tensor:
    return torch.tensor([len(ids_T) - 1])


def _all_at_once(slots: Tensor, generator: torch.Generator) -> list[Tensor]:
    return [slots]


def _few_at_a_time(slots: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Some in each reading, none of them twice, until there are enough."""
    at_once = max(1, round(HIDDEN * len(slots)))
    turns = slots[torch.randperm(len(slots), generator=generator)].split(at_once)
    return [some.sort().values for some in turns[: max(1, -(-ENOUGH // at_once))]]


def _what_follows(model: LoadedModel, number: int, ids_T: Tensor, slots: Tensor) -> Question:
    """The tokens in these slots, each asked for at the token before it."""
    wanted_T = torch.full_like(ids_T, NOBODY)
    wanted_T[slots - 1] = ids_T[slots]
    return Question(number, ids_T, wanted_T)


def _what_is_hidden(model: LoadedModel, number: int, ids_T: Tensor, slots: Tensor) -> Question:
    """The tokens in these slots, with a mask in their place."""
    wanted_T, masked_T = torch.full_like(ids_T, NOBODY), ids_T.clone()
    wanted_T[slots], masked_T[slots] = ids_T[slots], model.tokenizer.mask_token_id
    return Question(number, masked_T, wanted_T)


def _what_it_answers(model: LoadedModel, number: int, ids_T: Tensor, slots: Tensor) -> Question:
    """The answer to a sequence of the net's own task."""
    assert model.task is not None  # else it has been refused
    wanted_T = torch.full_like(ids_T, NOBODY)
    wanted_T[slots] = model.task.solve(ids_T.tolist())
    return Question(number, ids_T, wanted_T)


@dataclass(frozen=True)
class Way:
    """How a model is asked for tokens: for those in which slots, how many at a time, and with what in their place."""

    slots: Callable[[LoadedModel, Tensor], Tensor]
    turns: Callable[[Tensor, torch.Generator], list[Tensor]]
    question: Callable[[LoadedModel, int, Tensor, Tensor], Question]


WAYS = {
    NEXT: Way(_after_the_first, _all_at_once, _what_follows),
    MASKED: Way(_not_special, _few_at_a_time, _what_is_hidden),
    ANSWER: Way(_the_last, _all_at_once, _what_it_answers),
}

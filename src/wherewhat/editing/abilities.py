"""What a model can do: predict the tokens of texts, and copy random tokens that it has read once before."""

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
    NO_TARGET,
    TokenTargets,
    measure_losses,
    prediction_kind,
)
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.capture.tokens.special_tokens import plain_tokens, special_tokens
from wherewhat.errors import UserError
from wherewhat.stats.bootstrap import draws, quantile_interval, ratio
from wherewhat.stats.estimate import Estimate

MEASURES = ("loss", "copy", "induction")  # in the order a reader meets them
HIDDEN = 0.15  # of a text's tokens that are masked at a time, as masked language models are trained
ENOUGH = 8  # masked tokens of a text, in as many passes as that takes
Pair = tuple[Tensor, Tensor]  # of the first half alone, and of both
LEAST_HALF = 2  # tokens: the first of the second half cannot be predicted, so there must be another


@dataclass(frozen=True)
class AbilityTests:
    """What a model is tested on: made once, so that it is the same before and after an edit."""

    encoded: EncodedTexts  # the texts
    random: Tensor | None  # repeated_MT: random tokens, then the same again; None where copying is not tested
    seed: int = 0
    predicts: str = NEXT  # what the model predicts: "next", "masked" or "answer"

    def generator(self, number: int) -> torch.Generator:
        """What is drawn for a text depends on the seed and its own number only."""
        return torch.Generator().manual_seed(self.seed * 1_000_003 + number)


@dataclass(frozen=True)
class Ability:
    """What a model can do, by text, as sums, so that texts can be resampled."""

    nats_N: np.ndarray  # the summed loss of each text
    tokens_N: np.ndarray  # how many tokens were predicted; the loss is nats_N.sum() / tokens_N.sum()
    copied_M: np.ndarray | None  # share of the second half of each random sequence that is predicted exactly
    gained_M: np.ndarray | None  # induction: nats per token by which the loss falls from the first half to the second

    def sums(self, measure: str) -> tuple[np.ndarray, np.ndarray] | None:
        """By text or random sequence, what a measure sums and what the sum is divided by; None if not measured."""
        if measure == "loss":
            return self.nats_N, self.tokens_N
        by_sequence = self.copied_M if measure == "copy" else self.gained_M
        return None if by_sequence is None else (by_sequence, np.ones_like(by_sequence))


def ability_tests(
    model: LoadedModel, encoded: EncodedTexts, *, random: int = 32, half: int = 48, seed: int = 0
) -> AbilityTests:
    """What to test a model on: the texts, and `random` sequences of `half` tokens that are repeated once.

    Halves are shorter if the model holds fewer tokens. A net of this package only predicts the answers of its task.
    """
    predicts, repeated_MT = prediction_kind(model), None
    if predicts != ANSWER:
        around, plain_V = sum(map(len, special_tokens(model))), plain_tokens(model)
        fitting = min(half, ((model.context or around + 2 * half) - around) // 2, len(plain_V))
        if random >= 1 and fitting >= LEAST_HALF:
            generator = torch.Generator().manual_seed(seed)
            drawn = [torch.randperm(len(plain_V), generator=generator)[:fitting] for _ in range(random)]
            half_MT = plain_V[torch.stack(drawn)]  # without replacement: no token occurs twice in a half
            repeated_MT = torch.cat([half_MT, half_MT], 1)
    return AbilityTests(encoded, repeated_MT, seed, predicts)


def measure_ability(model: LoadedModel, tests: AbilityTests) -> Ability:
    """Measure the loss of a model on the texts, and how much better it predicts random tokens the second time."""
    prediction, targets = PREDICTIONS[tests.predicts], list[TokenTargets]()
    for number, ids_T in enumerate(tests.encoded.ids):
        slots = prediction.slots(model, ids_T)
        if not len(slots):
            raise UserError(f"text {number} holds nothing but special tokens, so there is no token to predict; drop it")
        groups = prediction.groups(slots, tests.generator(number))
        targets += [prediction.targets(model, number, ids_T, slots_Q) for slots_Q in groups]
    texts, longest = len(tests.encoded.ids), max(map(len, tests.encoded.ids), default=0)
    (nats_N, _), (tokens_N, _), _ = _sums(model, targets, texts, second=longest)
    if not np.isfinite(nats_N).all():
        raise UserError(
            f"the loss of {model.id} is not finite on text {int(np.isfinite(nats_N).argmin())}; "
            "load the model with --dtype float32, or change it less"
        )
    nats_N, tokens_N = (np.bincount(tests.encoded.origins, weights=sum_N) for sum_N in (nats_N, tokens_N))
    return Ability(nats_N, tokens_N, *_copying(model, tests))


def ability_estimates(before: Ability, after: Ability | None = None, *, seed: int) -> dict[str, Estimate]:
    """Loss, copying and induction of one model or, given two, the change from one to the other.

    The interval resamples texts (for copying, random sequences), the same ones in both. Every token counts the same in
    the loss, so long texts count more.
    """
    estimates = {}
    for name in MEASURES:
        first, second = before.sums(name), None if after is None else after.sums(name)
        if first is None:
            continue
        texts = len(first[0])
        drawn = np.vstack([np.ones(texts), draws(texts, seed)])  # all texts as they are, then the resamples
        means = ratio(drawn, *first) if second is None else ratio(drawn, *second) - ratio(drawn, *first)
        low, high = quantile_interval(means[1:, None], np.array([texts]))
        estimates[name] = Estimate(float(means[0]), float(low[0]), float(high[0]))
    return estimates


def _copying(model: LoadedModel, tests: AbilityTests) -> tuple[np.ndarray | None, np.ndarray | None]:
    """For each random sequence: the share copied exactly, and how far the loss falls where it is repeated.

    The same tokens are predicted twice, in the first half and in the second. The first of them is left out, since
    nothing shows that the sequence begins again.
    """
    if tests.random is None:
        return None, None
    prediction, half = PREDICTIONS[tests.predicts], tests.random.shape[1] // 2
    before, after = (torch.tensor(ids, dtype=torch.long) for ids in special_tokens(model))
    targets = list[TokenTargets]()
    for number, repeated_T in enumerate(tests.random):
        once_T, twice_T = (torch.cat([before, tokens_T, after]) for tokens_T in (repeated_T[:half], repeated_T))
        for slots_Q in prediction.groups(len(before) + torch.arange(1, half), tests.generator(number)):
            targets += prediction.halves(model, number, (once_T, twice_T), (slots_Q, half + slots_Q))
    nats_2M, tokens_2M, right_2M = _sums(model, targets, len(tests.random), second=len(before) + half)
    first_M, second_M = nats_2M / tokens_2M
    return right_2M[1] / tokens_2M[1], first_M - second_M


def _sums(
    model: LoadedModel, targets: Sequence[TokenTargets], texts: int, *, second: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By text, before slot `second` and from there on: nats, how many tokens were predicted, and how many exactly."""
    nats_2N, tokens_2N, right_2N = (np.zeros((2, texts)) for _ in range(3))
    for sequence, losses in zip(targets, measure_losses(model, targets), strict=True):
        half_Q = ((sequence.targets_T != NO_TARGET).nonzero()[:, 0] >= second).long().numpy()
        columns = (losses.nats_Q, np.ones_like(losses.nats_Q), losses.right_Q)
        for sums_2N, each_Q in zip((nats_2N, tokens_2N, right_2N), columns, strict=True):
            sums_2N[:, sequence.text] += np.bincount(half_Q, weights=each_Q, minlength=2)
    return nats_2N, tokens_2N, right_2N


def _some_at_a_time(slots: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Some in each pass, none of them twice, until there are enough."""
    at_once = max(1, round(HIDDEN * len(slots)))
    groups = slots[torch.randperm(len(slots), generator=generator)].split(at_once)
    return [slots_Q.sort().values for slots_Q in groups[: max(1, -(-ENOUGH // at_once))]]


def _next_tokens(model: LoadedModel, number: int, ids_T: Tensor, slots_Q: Tensor) -> TokenTargets:
    """The tokens in these slots, each predicted at the token before it."""
    targets_T = torch.full_like(ids_T, NO_TARGET)
    targets_T[slots_Q - 1] = ids_T[slots_Q]
    return TokenTargets(number, ids_T, targets_T)


def _masked_tokens(model: LoadedModel, number: int, ids_T: Tensor, slots_Q: Tensor) -> TokenTargets:
    """The tokens in these slots, replaced by masks."""
    targets_T, masked_T = torch.full_like(ids_T, NO_TARGET), ids_T.clone()
    targets_T[slots_Q], masked_T[slots_Q] = ids_T[slots_Q], model.tokenizer.mask_token_id
    return TokenTargets(number, masked_T, targets_T)


def _halves_together(model: LoadedModel, number: int, texts: Pair, slots: Pair) -> list[TokenTargets]:
    """Both halves in one pass: what a model that only looks back predicts does not depend on what comes later."""
    return [_next_tokens(model, number, texts[1], torch.cat(slots))]


def _halves_apart(model: LoadedModel, number: int, texts: Pair, slots: Pair) -> list[TokenTargets]:
    """The first half read alone, then the second after it."""
    return [_masked_tokens(model, number, ids_T, slots_Q) for ids_T, slots_Q in zip(texts, slots, strict=True)]


def _task_answer(model: LoadedModel, number: int, ids_T: Tensor, slots_Q: Tensor) -> TokenTargets:
    """The answer to a sequence of the net's own task."""
    assert model.task is not None  # else it has been refused
    targets_T = torch.full_like(ids_T, NO_TARGET)
    answer = model.task.solve(ids_T.tolist())
    assert isinstance(answer, int)  # likewise
    targets_T[slots_Q] = answer
    return TokenTargets(number, ids_T, targets_T)


@dataclass(frozen=True)
class Prediction:
    """How tokens are predicted: in which slots, in which groups at a time, and with which input and targets."""

    slots: Callable[[LoadedModel, Tensor], Tensor]
    groups: Callable[[Tensor, torch.Generator], list[Tensor]]
    targets: Callable[[LoadedModel, int, Tensor, Tensor], TokenTargets]
    halves: Callable[[LoadedModel, int, Pair, Pair], list[TokenTargets]] = lambda *_: []  # of a random sequence


PREDICTIONS = {
    NEXT: Prediction(
        lambda _, ids_T: torch.arange(1, len(ids_T)), lambda slots, _: [slots], _next_tokens, _halves_together
    ),
    MASKED: Prediction(
        lambda model, ids_T: torch.isin(ids_T, plain_tokens(model)).nonzero()[:, 0],
        _some_at_a_time,
        _masked_tokens,
        _halves_apart,
    ),
    ANSWER: Prediction(lambda _, ids_T: torch.tensor([len(ids_T) - 1]), lambda slots, _: [slots], _task_answer),
}

"""The numbers of a net from what it did with samples: its place, whom its attention resembles, and how far it looks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.scores.attended_distance import BINS, attended_distances, near_and_far
from wherewhat.scores.base import Rows
from wherewhat.scores.entropy import divergence, entropy
from wherewhat.scores.released_divergence import closest_pair, released_divergence
from wherewhat.stats.bootstrap import draws, quantiles
from wherewhat.stats.intervals import student
from wherewhat.stats.regression import LinearFit, r_squared_estimate, ridge
from wherewhat.studies.nope.reading import SampleReading, SampleText
from wherewhat.studies.nope.results import FAR, INVERSE, LONGER, NEAR, PLACE, RELEASED, TRAINED, TRUE

Floats = NDArray[np.float64]
# part, at, measure, value, low, high: a row before it knows its task, its net and its seed
Measured = tuple[str, float | None, str, float | None, float | None, float | None]
TARGETS = (PLACE, INVERSE, f"shuffled {PLACE}", f"shuffled {INVERSE}")
FIRST = 1  # `<bos>` is always in slot 0 and nowhere else, so its place is left out
LENGTHS = (TRAINED, LONGER)
DIVERGENCES = {TRUE: divergence, RELEASED: released_divergence}


# Does it know its place? ------------------------------------------------------------------------------------------


def place_rows(texts: Sequence[SampleText], readings: Sequence[SampleReading], *, seed: int) -> Iterator[Measured]:
    """R² of the place i and of 1 / (i + 1) in the residual stream, by block, and of places shuffled within a sample.

    A linear function is fitted on every other sample of training lengths, and tested on the others and on all longer
    samples. Its mean prediction by place, on longer samples, is in the part `predicted`.
    """
    generator = np.random.default_rng(seed)
    targets = [place_targets(len(text.ids_T), generator) for text in texts]
    trained = [number for number, text in enumerate(texts) if text.lengths == TRAINED]
    longer = [number for number, text in enumerate(texts) if text.lengths == LONGER]
    fitted, held_out = trained[::2], {TRAINED: trained[1::2], LONGER: longer}
    for block in range(len(readings[0].stream_LTD)):
        x_ND = [reading.stream_LTD[block, FIRST:].double().numpy() for reading in readings]
        fit = ridge(joined(x_ND, fitted), joined(targets, fitted))
        for lengths, numbers in held_out.items():
            yield from _explained(fit, x_ND, targets, numbers, (block, lengths, seed))
        yield from _predictions(fit, x_ND, targets, longer, block)


def place_targets(tokens: int, generator: np.random.Generator) -> Floats:
    """y_NY: for every slot but the first, its place i, 1 / (i + 1), and both for places in another order."""
    place_N = np.arange(FIRST, tokens, dtype=np.float64)
    shuffled_N = generator.permutation(place_N)
    return np.stack([place_N, 1 / (place_N + 1), shuffled_N, 1 / (shuffled_N + 1)], axis=1)


def joined(parts: Sequence[Floats], numbers: Sequence[int]) -> Floats:
    """The rows of some samples, one after the other."""
    return np.concatenate([parts[number] for number in numbers])


def _explained(
    fit: LinearFit,
    x_ND: Sequence[Floats],
    targets: Sequence[Floats],
    numbers: Sequence[int],
    where: tuple[int, str, int],
) -> Iterator[Measured]:
    block, lengths, seed = where
    y_NY, predicted_NY = joined(targets, numbers), fit.predict(joined(x_ND, numbers))
    text_N = np.repeat(np.arange(len(numbers)), [len(targets[number]) for number in numbers])
    for target, y_N, predicted_N in zip(TARGETS, y_NY.T, predicted_NY.T, strict=True):
        estimate = r_squared_estimate(y_N, predicted_N, text_N, seed=seed)
        yield "place", block, f"{target} {lengths}", *estimate.numbers


def _predictions(
    fit: LinearFit, x_ND: Sequence[Floats], targets: Sequence[Floats], numbers: Sequence[int], block: int
) -> Iterator[Measured]:
    place_N, predicted_N = joined(targets, numbers)[:, 0], fit.predict(joined(x_ND, numbers))[:, 0]
    for place in np.unique(place_N):
        yield "predicted", float(place), f"block {block}", float(predicted_N[place_N == place].mean()), None, None


# Whose attention does it resemble? --------------------------------------------------------------------------------


def divergence_rows(
    texts: Sequence[SampleText],
    own: Sequence[SampleReading],
    other: Sequence[SampleReading],
    *,
    seed: int,
    part: str = "divergence",
) -> Iterator[Measured]:
    """How far a net's attention is from another's, by length and on average, with intervals over samples.

    Rows are averaged first, then samples of the same length; the closest pair of heads of a layer then stands for it,
    and the mean over layers for the nets.
    """
    by_length = numbers_by_length(texts)
    for kind, measure in DIVERGENCES.items():
        apart_NLHH = torch.stack([_apart(measure, *both) for both in zip(own, other, strict=True)])
        drawn: dict[int, Floats] = {}  # the value of a length, then those of its resamples
        layers = []
        for length, numbers in by_length.items():
            closest_RL = resampled_closest(apart_NLHH[numbers], seed)
            layers.append(closest_RL[0])
            drawn[length] = closest_RL.mean(1)
            yield part, length, kind, *_interval(drawn[length], len(numbers))
        for name, some in lengths_of(texts).items():
            mean_R = np.mean([drawn[length] for length in some], axis=0)
            yield part, None, f"{kind} {name}", *_interval(mean_R, len(texts))
        for layer, value in enumerate(np.mean(layers, axis=0)):
            yield f"{part} by layer", layer, kind, float(value), None, None


def _apart(measure: object, own: SampleReading, other: SampleReading) -> Tensor:
    """distance_LHH of all heads of a layer of one net from all of the other, for one sample."""
    assert callable(measure)
    seen_TT = torch.ones(own.attention_LHTT.shape[-2:], dtype=torch.bool).tril()
    layers = zip(own.attention_LHTT, other.attention_LHTT, strict=True)
    return torch.stack([measure(own_HTT, other_HTT, seen_TT) for own_HTT, other_HTT in layers])


def resampled_closest(apart_NLHH: Tensor, seed: int) -> Floats:
    """closest_RL: by layer, the closest pair of heads in the mean over samples, and then in resamples of them."""
    count = len(apart_NLHH)
    weight_RN = np.concatenate([np.ones((1, count)), draws(count, seed)]) / count
    mean_RLHH = torch.einsum("rn,nlab->rlab", torch.from_numpy(weight_RN), apart_NLHH.double())
    closest_RL: Floats = closest_pair(mean_RLHH).numpy()
    return closest_RL


def _interval(value_R: Floats, samples: int) -> tuple[float | None, float | None, float | None]:
    """The first value, with the interval of the others; none for a single sample, nothing if there is no number."""
    if np.isnan(value_R[0]):
        return None, None, None
    return float(value_R[0]), *(quantiles(value_R[1:]) if samples > 1 else (None, None))


def entropy_rows(texts: Sequence[SampleText], readings: Sequence[SampleReading]) -> Iterator[Measured]:
    """The mean entropy of all heads, by length and on average over lengths."""
    by_text = [_entropy(text, reading) for text, reading in zip(texts, readings, strict=True)]
    means = {
        length: float(np.mean([by_text[number] for number in numbers]))
        for length, numbers in numbers_by_length(texts).items()
    }
    for length, mean in means.items():
        yield "entropy", length, "entropy", mean, None, None
    for name, some in lengths_of(texts).items():
        yield "entropy", None, f"entropy {name}", float(np.mean([means[length] for length in some])), None, None


def _entropy(text: SampleText, reading: SampleReading) -> float:
    tokens = len(text.ids_T)
    seen_TT = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    rows = Rows(reading.attention_LHTT.flatten(0, 1), torch.arange(tokens), seen_TT, text.ids_T)
    value_HQ, weight_HQ = entropy(rows)
    return float((value_HQ * weight_HQ).sum() / weight_HQ.expand_as(value_HQ).sum())


# How far do heads look? -------------------------------------------------------------------------------------------


def distance_rows(texts: Sequence[SampleText], readings: Sequence[SampleReading] | None = None) -> Iterator[Measured]:
    """Where the most attended key of output rows lies: shares of bins, near and far.

    Without readings, they are those of uniform attention. Samples count the same, and so do all heads of all layers.
    """
    share_NE = torch.stack([_looked(text, readings[n] if readings else None) for n, text in enumerate(texts)]).numpy()
    for name, some in numbers_of(texts).items():
        for number, share in enumerate(share_NE[some].mean(0)):
            yield "distance", number / (BINS - 1), name, float(share), None, None
        for side, side_N in zip((NEAR, FAR), near_and_far(torch.from_numpy(share_NE[some])), strict=True):
            values = side_N.tolist()
            yield "distance", None, f"{side} {name}", *within_1(student(values) if len(values) > 1 else values[0])


def within_1(numbers: tuple[float, float, float] | float) -> tuple[float, float | None, float | None]:
    """A share with its interval, cut off at 0 and 1."""
    if isinstance(numbers, float):
        return numbers, None, None
    return numbers[0], max(0.0, numbers[1]), min(1.0, numbers[2])


def _looked(text: SampleText, reading: SampleReading | None) -> Tensor:
    """share_E of all heads and output rows of a sample."""
    queries_Q, tokens = text.output_Q, len(text.ids_T)
    uniform_LHTT = torch.ones(1, 1, tokens, tokens)
    attention_LHTT = uniform_LHTT if reading is None else reading.attention_LHTT
    return attended_distances(attention_LHTT.flatten(0, 1)[:, queries_Q], queries_Q).mean((0, 1))


# Samples by length ------------------------------------------------------------------------------------------------


def numbers_by_length(texts: Sequence[SampleText]) -> Mapping[int, list[int]]:
    """The numbers of the samples of each length, shortest first."""
    numbers = defaultdict(list)
    for number, text in enumerate(texts):
        numbers[text.length].append(number)
    return dict(sorted(numbers.items()))


def lengths_of(texts: Sequence[SampleText]) -> Mapping[str, list[int]]:
    """The training lengths, the longer ones, and all."""
    lengths = {name: sorted({text.length for text in texts if text.lengths == name}) for name in LENGTHS}
    return {**lengths, "all": [length for some in lengths.values() for length in some]}


def numbers_of(texts: Sequence[SampleText]) -> Mapping[str, list[int]]:
    """The numbers of the samples of training lengths, of the longer ones, and of all."""
    numbers = {name: [n for n, text in enumerate(texts) if text.lengths == name] for name in LENGTHS}
    return {**numbers, "all": list(range(len(texts)))}

"""What a conformer that hears does: how often it errs, how far its heads look, and one utterance as pictures."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.corpora.speech.base import BLANK, SpeechCorpus
from wherewhat.corpora.speech.features import HOP, RATE, TOKEN_MS, centres, features
from wherewhat.corpora.speech.splits import TEST
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.stats.bootstrap import draws, quantiles, ratio
from wherewhat.stats.intervals import student, wilson, with_rule_of_three
from wherewhat.studies.engine.attention import read_attention
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.speech.names import ERROR, EXACT, LATER, REACH, UNIFORM
from wherewhat.training.speech_training import ErrorCount, error_rate, recognise, utterances

HEADS = ProfileSettings(untrained=False, hidden=False)
SCORES = ("entropy", "locality", "position_share", "symbol_share")
TOKENS_LATER = 1000 // TOKEN_MS  # in a second
PICTURE_SEED = 1  # of the utterance that is drawn
PICTURE_WORDS, PICTURE_TOKENS = 4, 75  # at least and at most
SEARCHED = 50  # utterances among which one is chosen to be drawn
FAINT = 0.01  # attention and probabilities below it are not drawn
CELLS = 4000  # of a spectrogram at most; of a longer one, neighbouring bands and frames are one cell


def error_rows(counts: Sequence[ErrorCount], test: str, seed: int) -> Iterator[Measured]:
    """The error rate of a test with its interval over utterances, the share without an error, and every utterance."""
    edits_N, words_N = (np.array([getattr(each, name) for each in counts], float) for name in ("edits", "words"))
    low, high = quantiles(ratio(draws(len(counts), seed), edits_N, words_N))
    low, high = with_rule_of_three(low, high, int(words_N.sum()))
    yield "error", test, None, ERROR, error_rate(counts), max(0.0, low), high
    exact = float((edits_N == 0).mean())
    yield "error", test, None, EXACT, exact, *wilson(exact, len(counts))
    for number, count in enumerate(counts):
        yield "utterance", test, float(number), "edits", float(count.edits), None, None
        yield "utterance", test, float(number), "words", float(count.words), None, None


def rows_of_tests(net: Trunk, corpus: SpeechCorpus, samples: Mapping[str, int], *, seed: int) -> Iterator[Measured]:
    """Errors in every test, by the number of its utterances."""
    for test, count in samples.items():
        split, first = (TEST, TOKENS_LATER) if test == LATER else (test, 0)
        counts = recognise(net, corpus, split, seed=seed, samples=count, first_position=first)
        yield from error_rows(counts, test, seed)


def head_rows(net: Trunk, corpus: SpeechCorpus, *, seed: int, samples: int) -> Iterator[Measured]:
    """How far every head looks, in milliseconds, beside uniform attention; and its scores on test utterances."""
    split = corpus.plain_test
    numbers = range(corpus.count(split, samples))
    batches = [utterances(corpus, seed, split, [number]).frames_BTG for number in numbers]
    batches = [frames_BTG for frames_BTG in batches if frames_BTG.shape[1] > 1]
    reach_NLH = np.array([[reach_of(each).tolist() for each in attention_of(net, frames)] for frames in batches])
    uniform_N = [
        float(reach_of(torch.full((1, size, size), 1 / size))[0]) for size in (len(each[0]) for each in batches)
    ]
    for layer, head in np.ndindex(reach_NLH.shape[1:]):
        yield "heads", f"L{layer}H{head}", None, REACH, *_mean(reach_NLH[:, layer, head].tolist())
    yield "heads", UNIFORM, None, REACH, *_mean(uniform_N)
    run = profile(net, EncodedTexts.of([frames_BTG[0] for frames_BTG in batches]), settings=HEADS, seed=seed)
    for row in run.heads.drop_nulls("value").iter_rows(named=True):
        if row["score"] in SCORES:
            yield "heads", f"L{row['layer']}H{row['head']}", None, row["score"], row["value"], row["low"], row["high"]
    shares = run.frequencies.filter(measure="variance_share").group_by("frequency", "theta", maintain_order=True)
    for number, theta, values in shares.agg("value").sort("frequency").iter_rows():
        period = 2 * math.pi / theta * TOKEN_MS / 1000
        yield "frequencies", f"{period:.4g}", float(number), "variance_share", float(np.nanmean(values)), None, None


def _mean(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    return student(values) if len(values) > 1 else (values[0], None, None)


def reach_of(attention_HQK: Tensor) -> Tensor:
    """reach_H: the mean distance between query and key, weighed by attention, in milliseconds."""
    slots_T = torch.arange(attention_HQK.shape[-1])
    distance_QK = (slots_T[:, None] - slots_T).abs()
    return TOKEN_MS * (attention_HQK * distance_QK).sum(-1).mean(-1)


@torch.no_grad()
def attention_of(net: Trunk, frames_BTG: Tensor) -> list[Tensor]:
    """attention_HQK of every block to one utterance."""
    return [attention_BHQK[0] for attention_BHQK in read_attention(net, frames_BTG)]


def picture_number(corpus: SpeechCorpus) -> int:
    """The number of the test utterance to draw: the first with some words that is not too long."""
    for number in range(corpus.count(corpus.plain_test, SEARCHED)):
        batch = utterances(corpus, PICTURE_SEED, corpus.plain_test, [number])
        if len(batch.labels[0]) >= PICTURE_WORDS and batch.frames_BTG.shape[1] <= PICTURE_TOKENS:
            return number
    return 0


def spectrogram_rows(corpus: SpeechCorpus) -> Iterator[Measured]:
    """The energies of the drawn utterance as a net hears them: item is a frequency in hertz, `at` a time in seconds."""
    samples = corpus.utterance(PICTURE_SEED, corpus.plain_test, picture_number(corpus)).samples
    frames_TF = features(samples)
    pair = 1 if frames_TF.size <= CELLS else 2
    frames, bands = (size // pair for size in frames_TF.shape)
    cells = frames_TF[: frames * pair, : bands * pair].reshape(frames, pair, bands, pair).mean((1, 3))
    peaks = centres()[1:-1][::pair].tolist()
    for (time, band), value in np.ndenumerate(cells):
        seconds = round(time * pair * HOP / RATE, 3)
        yield "spectrogram", f"{peaks[band]:.0f}", seconds, "energy", round(float(value), 3), None, None


@torch.no_grad()
def picture_rows(net: Trunk, corpus: SpeechCorpus) -> Iterator[Measured]:
    """The drawn utterance: probabilities of words token by token, and the attention of its sharpest head.

    `at` is a time in seconds; of attention, the item is the time of the query.
    """
    frames_BTG = utterances(corpus, PICTURE_SEED, corpus.plain_test, [picture_number(corpus)]).frames_BTG
    for token, probability_V in enumerate(net(frames_BTG)[0].softmax(-1).tolist()):
        for number, probability in enumerate(probability_V):
            if probability >= FAINT:
                word = "" if number == BLANK else corpus.vocabulary[number - 1]
                yield "decoded", word, _seconds(token), "probability", round(probability, 4), None, None
    layers = attention_of(net, frames_BTG)
    entropy_LH = torch.stack([-(a_HQK * a_HQK.clamp_min(1e-12).log()).sum(-1).mean(-1) for a_HQK in layers])
    layer, head = divmod(int(entropy_LH.argmin()), entropy_LH.shape[1])
    for (query, key), value in np.ndenumerate(layers[layer][head].numpy()):
        if value >= FAINT:
            item = f"{_seconds(query):.2f}"
            yield "attention", item, _seconds(key), f"L{layer}H{head}", round(float(value), 4), None, None


def _seconds(token: int) -> float:
    return round(token * TOKEN_MS / 1000, 2)

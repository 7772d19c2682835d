"""Training on speech: which words are said, by connectionist temporal classification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import ctc_loss
from torch.nn.utils.rnn import pad_sequence

from wherewhat.corpora.speech.base import BLANK, SpeechCorpus, tokens_needed
from wherewhat.corpora.speech.features import FILTERS, FRAMES, TOKEN_MS, tokens_of
from wherewhat.corpora.speech.registry import SPEECH, speech_corpus_from
from wherewhat.corpora.speech.splits import TRAIN
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import StoredNet
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.stream import Stream
from wherewhat.training.settings import Objective, Plain, TrainingSettings
from wherewhat.training.transcripts import collapsed, edit_distance

AT_ONCE = 32  # utterances per batch in evaluation
TOKEN_VALUES = FRAMES * FILTERS  # values per token


@dataclass(frozen=True)
class SpeechBatch:
    """Utterances side by side, with padding after them."""

    frames_BTG: Tensor  # float32
    real_BT: Tensor
    labels: tuple[list[int], ...]  # of the words that are said

    @property
    def tokens_B(self) -> Tensor:
        """How many tokens each utterance has."""
        return self.real_BT.sum(-1)


@dataclass(frozen=True)
class ErrorCount:
    """How an utterance was recognised: edits, and the words that are said."""

    edits: int
    words: int


@dataclass(frozen=True, kw_only=True)
class SpeechSettings(TrainingSettings):
    """One training run on a speech corpus."""

    learns: ClassVar[str] = "speech"
    ends: ClassVar[Mapping[str, str]] = {"error": "error rate"}
    decided: ClassVar[Mapping[str, str]] = {
        "features": "it follows from how recordings are heard",
        "vocabulary": "it follows from the words of the corpus",
    }

    speech: SpeechCorpus
    mask_bands: int = 0  # at most so many neighbouring bands of every training utterance are left out
    mask_frames: int = 0  # and so many neighbouring frames
    digest: str = field(default="", compare=False)  # of the recordings, once they are there

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("mask_bands", 0 <= self.mask_bands < FILTERS, f"from 0 to {FILTERS - 1}")
        self._check("mask_frames", self.mask_frames >= 0, "at least 0")
        if self.net.features != TOKEN_VALUES:
            raise UserError(f"a net that learns speech has features = {TOKEN_VALUES}; got {self.net.features}")

    def ready(self) -> Self:
        self.speech.check()
        return replace(self.fitted(None), digest=self.speech.digest())

    def fitted(self, words: WordVocabulary | None) -> Self:
        return replace(self, net=replace(self.net, vocabulary=len(self.speech.vocabulary) + 1))

    def objective(self) -> "SpeechObjective":
        return SpeechObjective(self)

    def ending(self, ends: Mapping[str, float]) -> str:
        return f"{ends['error']:.1%} of the words of fresh utterances recognised wrongly"

    def saved_with_net(self) -> Plain:
        return {"speech": self.speech}

    def read(self) -> Plain:
        return {"digest": self.digest} if self.digest else {}

    def changed_texts(self, before: Plain) -> str | None:
        same = before.get("digest", "") in ("", self.speech.digest())
        return None if same else f"a recording of {self.speech.plain()['folder']}"

    @classmethod
    def target_of(cls, model: StoredNet) -> Any:
        return model.speech

    @classmethod
    def target_to_plain(cls, target: SpeechCorpus) -> Plain:
        return target.plain()

    @classmethod
    def target_from_plain(cls, plain: Plain) -> SpeechCorpus:
        return speech_corpus_from(plain)

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return [(plain["speech"]["name"], plain["speech"])]

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> Plain:
        """A corpus by its name, `digits=FOLDER` or `recordings=FOLDER`, which is found again from elsewhere."""
        name, _, folder = text.strip().partition("=")
        look_up("speech corpus", name, SPEECH)
        given = {"folder": str(Path(folder).expanduser().absolute())} if folder else {}
        return speech_corpus_from({"name": name, **given}).plain()

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        return {}


class SpeechObjective(Objective):
    """Say the words of an utterance: the loss is over all alignments of words and frames."""

    def __init__(self, settings: SpeechSettings) -> None:
        self.settings, self.corpus = settings, settings.speech

    def loss(self, net: Trunk, step: int) -> Tensor:
        batch = utterances(self.corpus, self.settings.data_seed, TRAIN, self.indices(step))
        refuse_short(batch)
        batch = replace(batch, frames_BTG=self.masked(batch, step))
        return ctc(net(batch.frames_BTG, batch.real_BT), batch)

    def indices(self, step: int) -> list[int]:
        """The training utterances of a step: each once, or all of a finite corpus in a new order every time."""
        size, count = self.corpus.size(TRAIN), self.settings.batch
        numbers = range((step - 1) * count, step * count)
        if size is None:
            return list(numbers)
        orders = {number // size for number in numbers}
        order = {each: Stream(self.settings.data_seed, "speech", each).shuffle(range(size)) for each in orders}
        return [order[number // size][number % size] for number in numbers]

    def masked(self, batch: SpeechBatch, step: int) -> Tensor:
        """The frames of a training batch, with some bands and some frames of every utterance at 0."""
        bands, frames = self.settings.mask_bands, self.settings.mask_frames
        if not bands and not frames:
            return batch.frames_BTG
        stream, frames_BTG = Stream(self.settings.data_seed, "masks", step), batch.frames_BTG.clone()
        grid_BTF = frames_BTG.view(len(frames_BTG), -1, FILTERS)
        for grid_TF, tokens in zip(grid_BTF, batch.tokens_B.tolist(), strict=True):
            width, height = stream.below(bands + 1), stream.below(frames + 1)
            grid_TF[:, (first := stream.below(FILTERS - width + 1)) : first + width] = 0
            grid_TF[(first := stream.below(max(1, FRAMES * tokens - height))) : first + height] = 0
        return frames_BTG

    def evaluate(self, net: Trunk) -> dict[str, float]:
        seed, samples = self.settings.data_seed, self.settings.evaluate_samples
        counts = recognise(net, self.corpus, self.corpus.plain_test, seed=seed, samples=samples)
        return {"error rate": error_rate(counts), "exact": float(np.mean([count.edits == 0 for count in counts]))}


def utterances(corpus: SpeechCorpus, seed: int, split: str, indices: Sequence[int]) -> SpeechBatch:
    """Utterances of a split as a batch."""
    spoken = [corpus.utterance(seed, split, index) for index in indices]
    labels = tuple(corpus.labels(each.words) for each in spoken)
    tokens = [torch.from_numpy(tokens_of(each.samples)) for each in spoken]
    lengths_B = torch.tensor([len(tokens_TG) for tokens_TG in tokens])
    frames_BTG = pad_sequence(tokens, batch_first=True)
    return SpeechBatch(frames_BTG, torch.arange(frames_BTG.shape[1]) < lengths_B[:, None], labels)


def refuse_short(batch: SpeechBatch) -> None:
    """Refuse an utterance that is too short for its words, since none of its tokens could say them."""
    for tokens, labels in zip(batch.tokens_B.tolist(), batch.labels, strict=True):
        if tokens < tokens_needed(labels):
            raise UserError(
                f"an utterance of {len(labels)} words has {tokens} tokens of {TOKEN_MS} ms, and they take at least "
                f"{tokens_needed(labels)}; leave out short recordings"
            )


def ctc(logits_BTV: Tensor, batch: SpeechBatch) -> Tensor:
    """The mean negative log-likelihood of the words, in nats per word."""
    lengths_B = torch.tensor([len(labels) for labels in batch.labels])
    targets_N = torch.tensor([label for labels in batch.labels for label in labels])
    log_TBV = logits_BTV.log_softmax(-1).transpose(0, 1)
    return ctc_loss(log_TBV, targets_N, batch.tokens_B, lengths_B, blank=BLANK, zero_infinity=True)


@torch.no_grad()
def recognise(
    net: Trunk, corpus: SpeechCorpus, split: str, *, seed: int, samples: int, first_position: int = 0
) -> list[ErrorCount]:
    """How the first utterances of a split are recognised, with positions that are counted from `first_position`."""
    count, counts = corpus.count(split, samples), list[ErrorCount]()
    with evaluating(net):
        for first in range(0, count, AT_ONCE):
            batch = utterances(corpus, seed, split, range(first, min(first + AT_ONCE, count)))
            hidden_BTD = net.hidden(batch.frames_BTG, batch.real_BT, first=first_position)
            classes_BT = net.head(hidden_BTD).argmax(-1)
            for classes_T, tokens, labels in zip(classes_BT, batch.tokens_B.tolist(), batch.labels, strict=True):
                words = collapsed(classes_T[:tokens].tolist())
                counts.append(ErrorCount(edit_distance(words, labels), len(labels)))
    return counts


def error_rate(counts: Sequence[ErrorCount]) -> float:
    """Edits per word, over all utterances together."""
    return sum(count.edits for count in counts) / max(1, sum(count.words for count in counts))

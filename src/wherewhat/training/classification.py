"""Training a classifier of whole texts: from scratch, or from a trained language model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from wherewhat.corpora.question_corpus import QuestionCorpus
from wherewhat.corpora.questions import QUESTIONS, Example, LabelledDataset
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import NetTexts, StoredNet, load_model, net_folder
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import SPLITS
from wherewhat.training.encoded_corpus import BatchOrder
from wherewhat.training.finetune import LabelledSentences, right
from wherewhat.training.language_modelling import MANY
from wherewhat.training.settings import Objective, Plain, TrainingSettings


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """The labelled examples of a run, and the vocabulary to read them with."""

    labelled: LabelledDataset
    words: WordVocabulary
    made_from: dict[str, Any]  # all settings that determined it

    @property
    def examples(self) -> dict[str, tuple[Example, ...]]:
        """The examples of each split."""
        return {split: getattr(self.labelled, split) for split in SPLITS}

    @property
    def digest(self) -> str:
        """A hash of the examples in their order."""
        examples = ((split, example) for split in SPLITS for example in self.examples[split])
        lines = (f"{split}\t{example.label}\t{' '.join(example.words)}\n" for split, example in examples)
        return sha256("".join(lines).encode()).hexdigest()

    def unknown(self, split: str) -> float:
        """The share of a split's words that are not in the vocabulary."""
        ids = [id for example in self.examples[split] for id in self.words.ids(example.words)]
        return ids.count(self.words.unknown) / len(ids)


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(TrainingSettings):
    """One training run on a question. Labels follow from the question, the vocabulary from the words that are read.

    With `start`, the folder of a trained language model, that net is trained further, with its own words, sizes and
    encoding. `ready` loads the examples into `labelled_texts`.
    """

    learns: ClassVar[str] = "question"
    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy test", "accuracy_valid": "accuracy valid"}
    decided: ClassVar[Mapping[str, str]] = {
        "vocabulary": "it follows the words that are read",
        "labels": "they follow the question",
    }

    question: str = "roles"  # a built-in question, or a file of label<TAB>text
    train: int  # training examples, used for several epochs; of a file all are used
    valid: int  # validation examples for the curve; the test split has `evaluate_samples`
    start: str = ""  # the folder of a training run whose net is trained further; empty: a new net
    labelled_texts: LabelledTexts | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train", "valid"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        # Absolute paths, so that the run's folder can be used from anywhere.
        if not self.examples.built_in:
            object.__setattr__(self, "question", str(Path(self.question).resolve()))
        if self.start:
            object.__setattr__(self, "start", str(Path(self.start).resolve()))
        if self.labelled_texts is not None and self.labelled_texts.made_from != self._what():
            object.__setattr__(self, "labelled_texts", None)

    @property
    def examples(self) -> QuestionCorpus:
        """Which examples of the question are used, and how many."""
        return QuestionCorpus(self.question, self.data_seed, self.train, self.valid, self.evaluate_samples)

    def _what(self) -> dict[str, Any]:
        """All settings that determine what is read, and with which words."""
        return {"examples": self.examples, "start": self.start}

    @property
    def words(self) -> WordVocabulary | None:
        return None if self.labelled_texts is None else self.labelled_texts.words

    def ready(self) -> Self:
        if self.labelled_texts is not None:
            return self.fitted(self.labelled_texts.words)
        labelled = self.examples.labelled()
        words = _started(self.start).words if self.start else self.examples.words()
        assert words is not None  # otherwise `start` has been refused
        ready = replace(self.fitted(words), labelled_texts=LabelledTexts(labelled, words, self._what()))
        longest = max(len(example.words) for split in SPLITS for example in getattr(labelled, split))
        if longest > ready.net.length:
            raise UserError(
                f"the longest text of {labelled.name} has {longest} words and the net reads {ready.net.length}; "
                f"give it length={longest}, or leave longer texts out"
            )
        return ready

    def fitted(self, words: WordVocabulary | None) -> Self:
        net = _started(self.start).net.config if self.start else self.net
        size = net.vocabulary if words is None else len(words)
        if self.labelled_texts is not None:
            labels = self.labelled_texts.labelled.labels
        elif self.examples.built_in:
            labels = QUESTIONS[self.question].labels
        else:
            labels = self.examples.labelled().labels
        return replace(self, net=replace(net, vocabulary=size, labels=labels))

    def initial_net(self) -> Trunk:
        if not self.start:
            return super().initial_net()
        net = _started(self.start).net
        net.add_label_layer(self.net.labels, generator=torch.Generator().manual_seed(self.seed))
        return net.train()

    def to_dict(self) -> Plain:
        plain = super().to_dict()
        # Named even where there are none yet, so that setting them gives an error that says what they follow.
        return {**plain, "net": {**plain["net"], "labels": plain["net"].get("labels", [])}}

    def objective(self) -> Objective:
        ready = self.ready()
        assert ready.labelled_texts is not None
        return LabelObjective(ready, ready.labelled_texts)

    def ending(self, ends: Mapping[str, float]) -> str:
        tests = self.evaluate_samples if self.labelled_texts is None else len(self.labelled_texts.labelled.test)
        chance = f"{1 / len(self.net.labels):.1%} is chance"
        return f"{ends['accuracy']:.1%} of {tests} test texts classified correctly, where {chance}"

    def saved_with_net(self) -> Plain:
        return {"reads": None if self.words is None else NetTexts(self.words, question_corpus=self.examples)}

    def read(self) -> Plain:
        if self.labelled_texts is None:
            return {}
        sizes = {
            split: {"sentences": len(examples), "unknown": self.labelled_texts.unknown(split)}
            for split, examples in self.labelled_texts.examples.items()
        }
        return {"digest": self.labelled_texts.digest, **sizes}

    def left_out(self) -> list[str]:
        if self.labelled_texts is None or (unknown := self.labelled_texts.unknown("test")) <= MANY:
            return []
        return [f"{unknown:.0%} of the words of the test texts are unknown to the net"]

    def changed_texts(self, before: Plain) -> str | None:
        if self.examples.built_in or "digest" not in before:
            return None
        return None if before["digest"] == self.ready().read()["digest"] else f"the text {self.question}"

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        """Nothing: the net of `start` is used as it is, so none of its fields can be set."""
        if plain["start"]:
            for name, value in plain["net"].items():
                if before["net"].get(name) != value:
                    raise UserError(f"the net of {plain['start']} is used as it is; leave {name}={value} out")
        return {}


def _started(folder: str) -> StoredNet:
    """The trained language model of a folder, with its words."""
    place = net_folder(folder)
    if place is None:
        raise UserError(f"{folder} holds no net to start from; name the folder of a training run on text, or none")
    model = load_model(place)
    if model.words is None:
        raise UserError(
            f"the net of {folder} reads no words, so it cannot classify texts; start from a training run on text"
        )
    return model


class LabelObjective(Objective):
    """Predict the label of whole texts; their order depends on the seed and the step only."""

    def __init__(self, settings: ClassifierSettings, labelled_texts: LabelledTexts) -> None:
        labels = labelled_texts.labelled.labels
        self.splits = {
            split: LabelledSentences.of(settings.net, labelled_texts.words, examples, labels)
            for split, examples in labelled_texts.examples.items()
        }
        self.order = BatchOrder(self.splits["train"].texts.lengths_N, batch=settings.batch, seed=settings.data_seed)

    def loss(self, net: Trunk, step: int) -> Tensor:
        return self.splits["train"].loss(net, self.order.rows(step))

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return {f"accuracy {split}": float(right(net, self.splits[split]).mean()) for split in ("valid", "test")}

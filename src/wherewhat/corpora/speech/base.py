"""A speech corpus: numbered utterances with transcripts, in splits that share no recording."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, ClassVar

from wherewhat.corpora.speech.features import Samples
from wherewhat.corpora.speech.splits import TEST, TRAIN

BLANK = 0  # the class of tokens in which nothing new is said; words follow


@dataclass(frozen=True)
class Utterance:
    """A recording and the words that are said in it."""

    samples: Samples
    words: tuple[str, ...]


class SpeechCorpus(ABC):
    """Utterances, numbered in every split. Members are frozen dataclasses of what they are made from."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def vocabulary(self) -> tuple[str, ...]:
        """The words that can be said."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """What can be asked for: `train`, and one or more tests."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The splits that are not for training."""
        return tuple(split for split in self.splits if split != TRAIN)

    @property
    def plain_test(self) -> str:
        """The test that is most like training: the one of that name, or the first one."""
        return TEST if TEST in self.tests else self.tests[0]

    def check(self) -> None:  # noqa: B027 (most have nothing to check)
        """Refuse a corpus whose recordings are not there or of no use; one that is generated always is."""

    def digest(self) -> str:
        """A hash of all recordings; empty for a corpus that is generated."""
        return ""

    @abstractmethod
    def utterance(self, seed: int, split: str, index: int) -> Utterance:
        """One utterance, always the same one."""

    @abstractmethod
    def size(self, split: str) -> int | None:
        """How many utterances a split has; None: as many as wanted."""

    def labels(self, words: tuple[str, ...]) -> list[int]:
        """The classes of words, after the blank."""
        known = {word: number for number, word in enumerate(self.vocabulary, start=BLANK + 1)}
        return [known[word] for word in words]

    def count(self, split: str, wanted: int) -> int:
        """How many utterances of a split there are, at most as many as wanted."""
        size = self.size(split)
        return wanted if size is None else min(wanted, size)

    def plain(self) -> dict[str, Any]:
        """Its name and fields as plain values."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # every member is a dataclass


def tokens_needed(labels: Sequence[int | str]) -> int:
    """How many tokens it takes to say this: one per word or its label, and a blank between equal neighbours.

    >>> tokens_needed([5, 5, 2])
    4
    """
    return len(labels) + sum(left == right for left, right in pairwise(labels))

"""A speech corpus: numbered utterances with transcripts, in splits that share no recording."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from wherewhat.corpora.speech.features import Samples

BLANK = 0  # the class of frames in which nothing new is said; words follow


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

    def check(self) -> None:  # noqa: B027 (most have nothing to check)
        """Refuse a corpus whose recordings are not there; one that is generated always is."""

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

    def plain(self) -> dict[str, Any]:
        """Its name and fields as plain values."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # every member is a dataclass

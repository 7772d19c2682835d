"""What a corpus is: sentences in three splits that share none."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from wherewhat.corpora.files import named
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.base import check_split
from wherewhat.tasks.stream import fnv


class Corpus(ABC):
    """Sentences to read, streamed. Members are frozen dataclasses of what they are made from."""

    name: ClassVar[str]

    @abstractmethod
    def sentences(self, split: str) -> Iterator[Sentence]:
        """The sentences of a split, always the same ones in the same order; some corpora never end."""

    def plain(self) -> dict[str, Any]:
        """Name and sizes as plain values; `corpus_from` makes the corpus again."""
        sizes = asdict(self)  # type: ignore[call-overload]  # every member is a dataclass
        return {"name": self.name} | {
            size: list(value) if isinstance(value, tuple) else value for size, value in sizes.items()
        }


class Files(Corpus):
    """Sentences read from files, each in the split that its words belong to."""

    files: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.files:
            raise UserError(f"the {self.name} corpus needs at least one file to read; name one")

    @abstractmethod
    def read(self, path: Path) -> Iterator[Sentence]:
        """The sentences of one file."""

    def sentences(self, split: str) -> Iterator[Sentence]:
        """The sentences of a split, file after file."""
        check_split(split)
        return self._of_split(split)

    def _of_split(self, split: str) -> Iterator[Sentence]:
        read = found = 0
        for file in self.files:
            for sentence in self.read(Path(file)):
                read += 1
                if split_of(sentence.text) == split:
                    found += 1
                    yield sentence
        if not found:
            raise UserError(self._nothing(split, read))

    def _nothing(self, split: str, read: int) -> str:
        where = named(self.files)
        if not read:
            return f"there are no sentences in {where}; give a file with some"
        return f"none of the {read} sentences of {where} fell into the {split} split; give a file with more of them"


def split_of(text: str) -> str:
    """The split that a text belongs to, by its hash: a tenth is test, a tenth valid, the rest train.

    Whatever corpus it comes from, however often and in whatever case, a text is only ever in one split.

    >>> split_of("peter laughs .")
    'train'
    """
    return {0: "test", 1: "valid"}.get(fnv(text.lower()) % 10, "train")

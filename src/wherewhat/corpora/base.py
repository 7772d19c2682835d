"""A corpus: sentences in three splits that share none."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from heapq import nsmallest
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from wherewhat.corpora.files import named
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import check_split
from wherewhat.tasks.stream import fnv, mix

TENTHS = "a tenth each goes to test and to valid, so give 100 or more"  # then hardly ever a split is empty


class Corpus(ABC):
    """Sentences to read, as a stream. Members are frozen dataclasses of what they are made from."""

    name: ClassVar[str]
    endless: ClassVar[bool] = False  # whether its sentences never end

    @abstractmethod
    def sentences(self, split: str) -> Iterator[Sentence]:
        """The sentences of a split, always the same ones in the same order; some corpora never end."""

    @abstractmethod
    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """A sample of sentences of two words or more from all over a split; a different one for another seed."""

    def plain(self) -> dict[str, Any]:
        """Its name and fields as plain values, from which `corpus_from` makes the corpus again."""
        sizes = asdict(self)  # type: ignore[call-overload]  # every member is a dataclass
        return {"name": self.name} | {
            size: list(value) if isinstance(value, tuple) else value for size, value in sizes.items()
        }


def check_values(what: str, kind: type, given: Mapping[str, Any]) -> None:
    """Refuse plain values that do not fit the fields of a corpus, and missing ones."""
    types, known = get_type_hints(kind), {field.name: field for field in fields(kind)}
    for name, value in given.items():
        look_up(f"size of the {what}", name, known)
        listed = types[name] == tuple[str, ...] and isinstance(value, list) and all(type(each) is str for each in value)
        if not listed and type(value) is not types[name]:
            wanted = getattr(types[name], "__name__", "")
            raise UserError(f"the {what} cannot have {name} = {value!r:.40}; give {_KINDS.get(wanted, wanted)}")
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in given]:
        raise UserError(f"the {what} lacks its {', '.join(missing)}; give each")


_KINDS = {"int": "a whole number", "bool": "true or false", "str": "a name", "tuple": "a list of names"}


class FileCorpus(Corpus):
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

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """Those whose texts come first in an order that the seed decides."""
        return sample_of(self.sentences(split), count, seed=seed)

    def _of_split(self, split: str) -> Iterator[Sentence]:
        read = used = 0
        for file in self.files:
            for sentence in self.read(Path(file)):
                read += 1
                if file_split_of(sentence.text) == split:
                    used += 1
                    yield sentence
        where = named(self.files)
        if not read:
            raise UserError(f"there are no sentences in {where}; give a file with some")
        if not used:
            none = "there is one sentence in" if read == 1 else f"there are {read} sentences in"
            raise UserError(f"{none} {where} and none is of the {split} split; {TENTHS}")


def sample_of(sentences: Iterable[Sentence], count: int, *, seed: int) -> list[Sentence]:
    """Some sentences of two words or more: those whose texts come first in an order that the seed decides."""
    long_enough = (sentence for sentence in sentences if len(sentence.words) > 1)
    return nsmallest(count, long_enough, key=lambda sentence: mix(fnv(sentence.text) ^ mix(seed)))


def split_of(text: str) -> str:
    """The split that a sentence of the grammar belongs to, by its hash: a tenth is test, a tenth valid, the rest train.

    A text is always in the same split, in upper or lower case.

    >>> split_of("peter laughs .")
    'train'
    """
    return _TENTHS.get(fnv(text.lower()) % 10, "train")


def file_split_of(text: str) -> str:
    """The split that a text of a file belongs to, in the same shares.

    The hash is mixed first: its lowest bit is only the parity of odd letters, which texts may share.
    """
    return _TENTHS.get(mix(fnv(text.lower())) % 10, "train")


_TENTHS = {0: "test", 1: "valid"}

"""What a corpus is: sentences in three splits that share none."""

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

TENTHS = "a tenth each goes to test and to valid, so give 100 or more"  # with which hardly ever one is empty


class Corpus(ABC):
    """Sentences to read, streamed. Members are frozen dataclasses of what they are made from."""

    name: ClassVar[str]
    endless: ClassVar[bool] = False  # whether its sentences never end; then they follow from its sizes alone

    @abstractmethod
    def sentences(self, split: str) -> Iterator[Sentence]:
        """The sentences of a split, always the same ones in the same order; some corpora never end."""

    @abstractmethod
    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """A few sentences of two words or more from all over a split; others for another seed."""

    def plain(self) -> dict[str, Any]:
        """Name and sizes as plain values; `corpus_from` makes the corpus again."""
        sizes = asdict(self)  # type: ignore[call-overload]  # every member is a dataclass
        return {"name": self.name} | {
            size: list(value) if isinstance(value, tuple) else value for size, value in sizes.items()
        }


def check_values(what: str, kind: type, given: Mapping[str, Any]) -> None:
    """Refuse plain values that the fields of a corpus cannot have; a value that it needs and lacks, too."""
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

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """Those whose texts come first in an order that the seed decides."""
        return drawn(self.sentences(split), count, seed=seed)

    def _of_split(self, split: str) -> Iterator[Sentence]:
        read = found = 0
        for file in self.files:
            for sentence in self.read(Path(file)):
                read += 1
                if file_split_of(sentence.text) == split:
                    found += 1
                    yield sentence
        if not found:
            raise UserError(self._nothing(split, read))

    def _nothing(self, split: str, read: int) -> str:
        where = named(self.files)
        if not read:
            return f"there are no sentences in {where}; give a file with some"
        none = "there is one sentence in" if read == 1 else f"there are {read} sentences in"
        return f"{none} {where} and none is of the {split} split; {TENTHS}"


def drawn(sentences: Iterable[Sentence], count: int, *, seed: int) -> list[Sentence]:
    """A few sentences of two words or more: those whose texts come first in an order that the seed decides."""
    long_enough = (one for one in sentences if len(one.words) > 1)
    return nsmallest(count, long_enough, key=lambda one: mix(fnv(one.text) ^ mix(seed)))


def split_of(text: str) -> str:
    """The split that a sentence of the grammar belongs to, by its hash: a tenth is test, a tenth valid, the rest train.

    However often and in whatever case, a text is only ever in one split.

    >>> split_of("peter laughs .")
    'train'
    """
    return _TENTHS.get(fnv(text.lower()) % 10, "train")


def file_split_of(text: str) -> str:
    """The split that a text of a file belongs to, in the same shares.

    The hash is mixed first: its lowest bit is only whether odd letters are an even number, which texts may share.
    """
    return _TENTHS.get(mix(fnv(text.lower())) % 10, "train")


_TENTHS = {0: "test", 1: "valid"}

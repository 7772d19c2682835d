"""Copy and reverse: eight tasks whose output is the input once more, in one order or another.

<bos> 4 x B <sep> B x 4 <eos>
"""

import string
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import check_size
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.stream import Streams

ALPHABET = string.digits + string.ascii_lowercase + string.ascii_uppercase + "!$%&()*+,-./:;<=>"
SEPARATOR, NEXT = "[SEP] ", "[NEXT]"  # in the released text


@dataclass(frozen=True)
class Copying(SequenceTask):
    """Characters, then characters that follow from them. Length counts the characters of the input."""

    alphabet: int = 62  # different characters
    verb: ClassVar[str] = "Copy"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "alphabet", self.alphabet, 2)
        if self.alphabet > len(ALPHABET):
            raise UserError(
                f"the {self.name} task cannot have alphabet = {self.alphabet}; give at most {len(ALPHABET)}"
            )

    @property
    def characters(self) -> str:
        """The characters of inputs."""
        return ALPHABET[: self.alphabet]

    @property
    def symbols(self) -> Sequence[str]:
        return self.characters

    @abstractmethod
    def output(self, tokens: Sequence[str]) -> list[str]: ...

    def longest(self, length: int) -> Iterable[list[str]]:
        yield ["0"] * length

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"{self.verb}: {' '.join(tokens)} {SEPARATOR}"

    def target(self, output: Sequence[str]) -> str:
        return " ".join(output)

    def read_prompt(self, text: str) -> list[str]:
        return text.removeprefix(f"{self.verb}: ").removesuffix(SEPARATOR).split()

    def read_target(self, text: str) -> list[str]:
        return text.split(" ") if text else []  # a blank too many is a mistake: the whole target counts


@dataclass(frozen=True)
class CopyRepeat(Copying):
    """One character again and again, then the same as often.

    >>> " ".join(CopyRepeat().sample(1, "train", 3)["tokens"])
    '<bos> S S S S S <sep> S S S S S <eos>'
    """

    name: ClassVar[str] = "copy_repeat"

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [[self.characters[pick]] * length for (pick,) in streams.below(self.alphabet, draws=1).tolist()]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(tokens)


@dataclass(frozen=True)
class CopyRepeatTwice(CopyRepeat):
    """One character again and again, then the same twice as often."""

    name: ClassVar[str] = "copy_repeat2x"

    def output(self, tokens: Sequence[str]) -> list[str]:
        return [*tokens, *tokens]


@dataclass(frozen=True)
class CopyReplace(Copying):
    """Two characters, the first of them again and again, then the second as often."""

    name: ClassVar[str] = "copy_replace"

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        rows = len(streams.numbers_N)
        items_NM = np.tile(np.arange(self.alphabet), (rows, 1))
        pairs = [
            [self.characters[pick] for pick in pair] for pair in streams.sample(items_NM, np.full(rows, 2)).tolist()
        ]
        return [[old, new, *[old] * length] for old, new in pairs]

    def output(self, tokens: Sequence[str]) -> list[str]:
        old, new, *rest = tokens
        return [new if token == old else token for token in rest]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield ["0", "1", *["0"] * length]

    def prompt(self, tokens: Sequence[str]) -> str:
        old, new, *rest = tokens
        return f"Replace {old} with {new} in {' '.join(rest)} {SEPARATOR}"

    def read_prompt(self, text: str) -> list[str]:
        _, old, _, new, _, *rest = text.removesuffix(SEPARATOR).split()
        return [old, new, *rest]


@dataclass(frozen=True)
class CopyRandom(Copying):
    """Random characters, then the same characters."""

    name: ClassVar[str] = "copy_random"

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        drawn = streams.below(self.alphabet, draws=length).tolist()
        return [[self.characters[pick] for pick in row] for row in drawn]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(tokens)


@dataclass(frozen=True)
class CopyRandomTwice(CopyRandom):
    """Random characters, then the same twice."""

    name: ClassVar[str] = "copy_random2x"

    @property
    def symbols(self) -> Sequence[str]:
        return (*self.characters, NEXT)

    def output(self, tokens: Sequence[str]) -> list[str]:
        return [*tokens, NEXT, *tokens]


@dataclass(frozen=True)
class Reverse(CopyRandom):
    """Random characters, then the same from the last to the first."""

    name: ClassVar[str] = "reverse"
    verb: ClassVar[str] = "Reverse"

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(tokens[::-1])


@dataclass(frozen=True)
class ReverseTwice(CopyRandomTwice):
    """Random characters, then their reverse twice."""

    name: ClassVar[str] = "reverse2x"
    verb: ClassVar[str] = "Reverse"

    def output(self, tokens: Sequence[str]) -> list[str]:
        return [*tokens[::-1], NEXT, *tokens[::-1]]


@dataclass(frozen=True)
class ReverseCopy(CopyRandomTwice):
    """Random characters, then their reverse, then the characters themselves."""

    name: ClassVar[str] = "reverse_copy"
    verb: ClassVar[str] = "Reverse"

    def output(self, tokens: Sequence[str]) -> list[str]:
        return [*tokens[::-1], NEXT, *tokens]

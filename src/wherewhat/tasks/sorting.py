"""Sorting: a list, then the same list in order.

<bos> c 3 7 <sep> 3 7 c <eos>
"""

import re
import string
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from wherewhat.tasks.scratchpad import MINIMUM, PARTS, Step
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.stream import Streams

ITEMS = (string.digits + string.ascii_letters)[:50]  # in their order


@dataclass(frozen=True)
class Sorting(SequenceTask):
    """Length counts the items of the list; an item may occur more than once."""

    shortest: int = 2
    train_length: int = 8
    test_length: int = 16
    parts: ClassVar[tuple[str, ...]] = tuple(part for part in PARTS if part != "variables")

    @abstractmethod
    def items(self, tokens: Sequence[str]) -> list[str]:
        """The items of a list, each as it is written in text."""

    @abstractmethod
    def rank(self, item: str) -> int:
        """What the items are sorted by."""

    @abstractmethod
    def joined(self, items: Sequence[str]) -> list[str]:
        """The symbols of a list of items."""

    def output(self, tokens: Sequence[str]) -> list[str]:
        return self.joined(sorted(self.items(tokens), key=self.rank))

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Sort the following list [ {', '.join(self.items(tokens))} ]. "

    def target(self, output: Sequence[str]) -> str:
        return f"The sorted list is [ {', '.join(self.items(output))} ]."

    def read_prompt(self, text: str) -> list[str]:
        return self._read(text, r"Sort the following list \[ (.*) \]\. ")

    def read_target(self, text: str) -> list[str]:
        """Only what stands between the last brackets counts."""
        return self._read(text, r".*\[([^\[]*)\]\.")

    def _read(self, text: str, sentence: str) -> list[str]:
        stated = re.fullmatch(sentence, text)
        return self.joined([" ".join(item.replace(" ", "")) for item in stated[1].split(",")]) if stated else []

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """Selection sort: the item that stands first, the smallest that is left, and the rest with both exchanged."""
        left, steps = self.items(tokens), []
        while left:
            smallest = min(range(len(left)), key=lambda place: self.rank(left[place]))
            first, minimum = left[0], left[smallest]
            left[0], left[smallest] = left[smallest], left[0]
            left = left[1:]
            rest = f"[ {', '.join(left)} ]"
            steps.append({"input": first, "computation": MINIMUM, "output": minimum, "rest": rest})
        return steps


@dataclass(frozen=True)
class SortSingle(Sorting):
    """Digits before small letters before capitals.

    >>> SortSingle().output("c 3 7".split())
    ['3', '7', 'c']
    """

    name: ClassVar[str] = "sort_single"
    symbols: ClassVar[str] = ITEMS

    def items(self, tokens: Sequence[str]) -> list[str]:
        return list(tokens)

    def joined(self, items: Sequence[str]) -> list[str]:
        return list(items)

    def rank(self, item: str) -> int:
        return ITEMS.index(item)

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [[ITEMS[pick] for pick in row] for row in streams.below(len(ITEMS), draws=length).tolist()]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield ["0"] * length


@dataclass(frozen=True)
class SortMulti(Sorting):
    """Numbers of two to four digits, with commas between them.

    >>> " ".join(SortMulti().output("2 4 6 8 , 8 8 , 4 1 2".split()))
    '8 8 , 4 1 2 , 2 4 6 8'
    """

    name: ClassVar[str] = "sort_multi"
    symbols: ClassVar[str] = f"{string.digits},"

    def items(self, tokens: Sequence[str]) -> list[str]:
        return [item.strip() for item in " ".join(tokens).split(",")]

    def joined(self, items: Sequence[str]) -> list[str]:
        return " , ".join(items).split()

    def rank(self, item: str) -> int:
        return int(item.replace(" ", ""))

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [list(",".join(map(str, row))) for row in streams.between(10, 9999, draws=length).tolist()]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield list(",".join(["9999"] * length))

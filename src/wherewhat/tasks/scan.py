"""SCAN: a command in words, then its actions. All 20,910 commands are listed, none is drawn.

<bos> jump left twice <sep> Left Jump Left Jump <eos>
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from wherewhat.tasks.base import check_split
from wherewhat.tasks.copying import SEPARATOR
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.stream import Ints, Stream, Streams, fnv

VERBS = {"walk": ["Walk"], "look": ["Look"], "run": ["Run"], "jump": ["Jump"], "turn": []}
DIRECTIONS = {"left": "Left", "right": "Right"}
REPEATS = {"": 1, "twice": 2, "thrice": 3}
WORDS = (*VERBS, *DIRECTIONS, "opposite", "around", "twice", "thrice", "and", "after")
ACTIONS = ("Walk", "Look", "Run", "Jump", "Left", "Right")
VALID = 10  # one command in so many, by its hash, is for validation


def phrases() -> Iterator[tuple[str, list[str]]]:
    """Every phrase without `and` and `after`, and its actions."""
    for (verb, act), (repeat, times) in product(VERBS.items(), REPEATS.items()):
        if act:
            yield f"{verb} {repeat}".strip(), act * times
        for way, turn in DIRECTIONS.items():
            turned = {"": [turn, *act], "opposite ": [turn, turn, *act], "around ": [turn, *act] * 4}
            for how, actions in turned.items():
                yield f"{verb} {how}{way} {repeat}".strip(), actions * times


@cache
def commands() -> Mapping[str, tuple[str, ...]]:
    """Every command and its actions; all callers share them.

    >>> " ".join(commands()["run thrice after walk left"])
    'Left Walk Run Run Run'
    """
    simple = list(phrases())
    found = {phrase: tuple(actions) for phrase, actions in simple}
    for (first, before), (second, after) in product(simple, repeat=2):
        found[f"{first} and {second}"] = (*before, *after)
        found[f"{first} after {second}"] = (*after, *before)
    return MappingProxyType(found)


@cache
def commands_of(split: str) -> tuple[str, ...]:
    """The commands of one half: those held out for validation, or all others."""
    held_out = split == "valid"
    return tuple(command for command in sorted(commands()) if (fnv(command) % VALID == 0) == held_out)


@dataclass(frozen=True)
class Scan(SequenceTask):
    """Length counts the actions. Each split goes through its commands in a random order, again and again.

    The test split has all commands with more actions than are trained on.
    """

    shortest: int = 1
    train_length: int = 25
    test_length: int = 48
    name: ClassVar[str] = "scan"
    symbols: ClassVar[tuple[str, ...]] = (*WORDS, *ACTIONS)

    @cached_property
    def _by_length(self) -> Mapping[str, Mapping[int, list[str]]]:
        """By split and number of actions, the commands in their alphabetical order."""
        bounds = {"train": (self.shortest, self.train_length), "test": (self.train_length + 1, self.test_length)}
        bounds["valid"] = bounds["train"]
        found: dict[str, dict[int, list[str]]] = {}
        for split, (low, high) in bounds.items():
            pool = sorted(commands()) if split == "test" else commands_of(split)
            by_length: dict[int, list[str]] = {}
            for command in pool:
                if low <= (actions := len(commands()[command])) <= high:
                    by_length.setdefault(actions, []).append(command)
            found[split] = dict(sorted(by_length.items()))
        return found

    def lengths(self, split: str) -> tuple[int, ...]:
        check_split(split)
        held_out = self._by_length["valid"].keys()  # some lengths have too few commands to hold one out
        return tuple(
            self._by_length["test" if split == "test" else "train"].keys() | (held_out if split != "test" else ())
        )

    def placed(self, seed: int, split: str, indices_N: Ints) -> tuple[Ints, Ints]:
        order_MP = self._order(seed, split)
        number_N, length_N = order_MP[indices_N % len(order_MP)].T
        return number_N, np.searchsorted(self.lengths(split), length_N)

    def _order(self, seed: int, split: str) -> Ints:
        """(number, length) of every command of a split, in a random order."""
        by_length = self._by_length[split]
        places = [(number, length) for length, found in by_length.items() for number in range(len(found))]
        return np.array(Stream(seed, self.name, split, "order").shuffle(places))

    def step_indices(self, step: int, size: int) -> Ints:
        return np.arange((step - 1) * size, step * size)

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        found = self._by_length[str(streams.parts[1])][length]
        return [found[number].split() for number in streams.numbers_N]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(commands()[" ".join(tokens)])

    def longest(self, length: int) -> Iterable[list[str]]:
        for by_length in self._by_length.values():
            found = by_length.get(length, [])
            yield from sorted((command.split() for command in found), key=lambda words: len(self.prompt(words)))[-1:]
            yield from sorted((command.split() for command in found), key=len)[-1:]

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Solve: {' '.join(tokens)}{SEPARATOR}"

    def target(self, output: Sequence[str]) -> str:
        return " ".join(output)

    def read_prompt(self, text: str) -> list[str]:
        return text.removeprefix("Solve: ").removesuffix(SEPARATOR).split()

    def read_target(self, text: str) -> list[str]:
        return text.split()

"""SCAN: a command in words, then its actions. All 20,910 commands are listed, none is drawn.

<bos> jump left twice <sep> Left Jump Left Jump <eos>
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
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
    actions_of = {phrase: tuple(actions) for phrase, actions in simple}
    for (first, before), (second, after) in product(simple, repeat=2):
        actions_of[f"{first} and {second}"] = (*before, *after)
        actions_of[f"{first} after {second}"] = (*after, *before)
    return MappingProxyType(actions_of)


@cache
def action_counts() -> tuple[int, ...]:
    """How many actions a command can have, from few to many."""
    return tuple(sorted({len(actions) for actions in commands().values()}))


@cache
def commands_of(split: str) -> tuple[str, ...]:
    """The commands of one half: those held out for validation, or all others."""
    held_out = split == "valid"
    return tuple(command for command in sorted(commands()) if (fnv(command) % VALID == 0) == held_out)


@dataclass(frozen=True)
class Scan(SequenceTask):
    """Length counts the actions. Each split goes through its commands in a random order, again and again.

    The test split has all commands with more actions than are trained on. Not every number of actions has a command.
    """

    shortest: int = 1
    train_length: int = 25
    test_length: int = 48
    name: ClassVar[str] = "scan"
    symbols: ClassVar[tuple[str, ...]] = (*WORDS, *ACTIONS)

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = action_counts()
        for part, low, high in (
            ("trained on", self.shortest, self.train_length),
            ("tested", self.train_length + 1, self.test_length),
        ):
            if not any(low <= count <= high for count in counts):
                raise UserError(
                    f"no command of the scan task has {low} to {high} actions, and these are to be {part}; "
                    f"commands have {', '.join(map(str, counts))}"
                )

    def lengths(self, split: str) -> tuple[int, ...]:
        check_split(split)
        if split == "test":
            return tuple(self._commands(split))
        # Some lengths have too few commands to hold one out.
        return tuple(sorted(self._commands("train").keys() | self._commands("valid").keys()))

    def _commands(self, split: str) -> Mapping[int, list[str]]:
        """The commands of a split in their alphabetical order, by their number of actions."""
        if split == "test":
            return _by_length(self.train_length + 1, self.test_length, split)
        return _by_length(self.shortest, self.train_length, split)

    def placed(self, seed: int, split: str, indices_N: Ints) -> tuple[Ints, Ints]:
        order_MP = _order(self, seed, split)
        number_N, length_N = order_MP[indices_N % len(order_MP)].T
        return number_N, np.searchsorted(self.lengths(split), length_N)

    def step_indices(self, step: int, size: int) -> Ints:
        return np.arange((step - 1) * size, step * size)

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        pool = self._commands(str(streams.parts[1]))[length]
        return [pool[number].split() for number in streams.numbers_N]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(commands()[" ".join(tokens)])

    def longest(self, length: int) -> Iterable[list[str]]:
        splits = ("train", "valid") if length <= self.train_length else ("test",)
        inputs = [command.split() for split in splits for command in self._commands(split).get(length, [])]
        yield max(inputs, key=lambda words: len(self.prompt(words)) + len(self.target(self.output(words))))
        yield max(inputs, key=len)

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Solve: {' '.join(tokens)}{SEPARATOR}"

    def target(self, output: Sequence[str]) -> str:
        return " ".join(output)

    def read_prompt(self, text: str) -> list[str]:
        return text.removeprefix("Solve: ").removesuffix(SEPARATOR).split()

    def read_target(self, text: str) -> list[str]:
        return text.split(" ") if text else []  # a blank too many is a mistake: the whole target counts


@cache
def _by_length(low: int, high: int, split: str) -> Mapping[int, list[str]]:
    """By number of actions, from `low` to `high`, the commands of a split in their alphabetical order."""
    by_length: dict[int, list[str]] = {}
    for command in sorted(commands()) if split == "test" else commands_of(split):
        if low <= (actions := len(commands()[command])) <= high:
            by_length.setdefault(actions, []).append(command)
    return MappingProxyType(dict(sorted(by_length.items())))


@lru_cache(maxsize=16)  # a few seeds and splits; every batch asks for the same again
def _order(task: Scan, seed: int, split: str) -> Ints:
    """(number, length) of every command of a split, in a random order; all callers share it."""
    pools = task._commands(split).items()
    places = [(number, length) for length, pool in pools for number in range(len(pool))]
    order_MP = np.array(Stream(seed, task.name, split, "order").shuffle(places))
    order_MP.setflags(write=False)
    return order_MP

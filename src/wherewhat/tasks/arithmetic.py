"""Arithmetic over digits: addition, the sum of a list modulo 10, parity, and polynomials.

<bos> 5 7 + 8 <sep> 6 5 <eos>
"""

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product, zip_longest
from typing import ClassVar

import numpy as np

from wherewhat.tasks.base import check_split
from wherewhat.tasks.scratchpad import PARTS, Step
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.stream import Streams

MODULUS = 10  # of sums and polynomials


@dataclass(frozen=True)
class Answered(SequenceTask):
    """A task whose released text ends in a sentence: `The answer is 6 5.`"""

    shortest: int = 2
    train_length: int = 8
    test_length: int = 16
    parts: ClassVar[tuple[str, ...]] = PARTS

    def target(self, output: Sequence[str]) -> str:
        return f"The answer is {' '.join(output)}."

    def read_target(self, text: str) -> list[str]:
        """Only what follows `The answer is` counts."""
        stated = re.fullmatch(r".*The answer is (.+?) ?\.", text)
        return self.read_answer(stated[1]) if stated else []

    def read_answer(self, text: str) -> list[str]:
        """The symbols of an answer: digits, with or without blanks between them."""
        return list(text.replace(" ", ""))


@dataclass(frozen=True)
class Addition(Answered):
    """Two numbers, then their sum. A sample has two lengths: the digits of each number.

    >>> " ".join(Addition().sample(1, "train", 20)["tokens"])
    '<bos> 1 2 1 + 3 1 3 7 9 <sep> 3 1 5 0 0 <eos>'
    """

    shortest: int = 1
    name: ClassVar[str] = "addition"
    symbols: ClassVar[str] = f"{string.digits}+"

    def lengths(self, split: str) -> tuple[tuple[int, int], ...]:
        check_split(split)
        last = self.test_length if split == "test" else self.train_length
        counts = range(self.shortest, last + 1)
        pairs = product(counts, counts)
        return tuple(pair for pair in pairs if split != "test" or max(pair) > self.train_length)

    def draw(self, streams: Streams, length: tuple[int, int]) -> list[list[str]]:
        # No number begins with 0, unless it has a single digit.
        lows = np.array([int(digit == 0 and digits > 1) for digits in length for digit in range(digits)])
        drawn_NT = lows + streams.below(10 - lows, draws=len(lows))
        first = length[0]
        return [[*map(str, row[:first]), "+", *map(str, row[first:])] for row in drawn_NT.tolist()]

    def output(self, tokens: Sequence[str]) -> list[str]:
        a, b = "".join(tokens).split("+")
        return list(str(int(a) + int(b)))

    def longest(self, length: tuple[int, int]) -> Iterable[list[str]]:
        a, b = length
        yield [*"9" * a, "+", *"9" * b]

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Compute {' '.join(tokens)} ? "

    def read_prompt(self, text: str) -> list[str]:
        return text.removeprefix("Compute ").removesuffix("? ").split()

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """Column by column from the last, the shorter number padded with zeros; one more if a carry is left."""
        a, b = "".join(tokens).split("+")
        columns = [(int(x), int(y)) for x, y in zip_longest(a[::-1], b[::-1], fillvalue="0")]
        width, carry, steps = len(columns), 0, []
        a, b = a.zfill(width), b.zfill(width)
        for number, (x, y) in enumerate(columns):
            end = width - number - 1
            steps.append(self._step(x, y, carry, rest=f"{' '.join(a[:end])} + {' '.join(b[:end])}"))
            carry = (x + y + carry) // 10
        return [*steps, self._step(0, 0, carry, rest=" + ")] if carry else steps

    @staticmethod
    def _step(x: int, y: int, carry: int, *, rest: str) -> Step:
        total = x + y + carry
        return {
            "input": f"{x}, {y}",
            "computation": f"{x} + {y} + carry = {x + y} + {carry} = {total}",
            "output": str(total % 10),
            "variables": f"carry: {total // 10}",
            "rest": rest,
        }


@dataclass(frozen=True)
class Sum(Answered):
    """Digits from 1 to 9, then their sum modulo 10. Length counts the digits."""

    name: ClassVar[str] = "sum"
    symbols: ClassVar[str] = string.digits

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [list(map(str, row)) for row in streams.between(1, 9, draws=length).tolist()]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return [str(sum(map(int, tokens)) % MODULUS)]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield ["9"] * length  # with a scratchpad, running sums have two digits as often as they can

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Compute: {' + '.join(tokens)} .[SEP] "

    def target(self, output: Sequence[str]) -> str:
        return f"The answer is {' '.join(output)} ."

    def read_prompt(self, text: str) -> list[str]:
        return re.findall(r"\d", text)

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """Digit by digit; the running sum is kept modulo 10."""
        steps, running = [], 0
        for number, digit in enumerate(map(int, tokens)):
            total = digit + running
            shown = " ".join(str(total))
            steps.append(
                {
                    "input": str(digit),
                    "computation": f"{digit} + sum = {digit} + {running} =",
                    "output": shown,
                    "variables": f"sum: {shown} = {total % MODULUS}",
                    "rest": " + ".join(tokens[number + 1 :]),
                }
            )
            running = total % MODULUS
        return steps


@dataclass(frozen=True)
class Parity(Answered):
    """Bits, then whether the number of ones is even. Length counts the bits."""

    shortest: int = 4
    name: ClassVar[str] = "parity"
    symbols: ClassVar[tuple[str, ...]] = ("0", "1", "Yes", "No")

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [list(map(str, row)) for row in streams.below(2, draws=length).tolist()]

    def output(self, tokens: Sequence[str]) -> list[str]:
        return ["No" if tokens.count("1") % 2 else "Yes"]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield ["0"] * length  # `Yes` has more characters than `No`

    def read_answer(self, text: str) -> list[str]:
        return [text]

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Is the number of 1's even in the sequence [ {', '.join(tokens)} ] ? "

    def read_prompt(self, text: str) -> list[str]:
        return re.findall(r"\d", text.partition("[")[2])

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """Bit by bit; `**` is the exclusive or."""
        bits = list(map(int, tokens))
        before = [reduce(int.__xor__, bits[:number], 0) for number in range(len(bits))]
        return [
            {
                "input": str(bit),
                "computation": f"{bit} ** par = {bit} ** {parity}",
                "output": str(bit ^ parity),
                "variables": f"par: {bit ^ parity}",
                "rest": f"[ {', '.join(tokens[number + 1 :])} ]",
            }
            for number, (bit, parity) in enumerate(zip(bits, before, strict=True))
        ]


@dataclass(frozen=True)
class Polynomial(Answered):
    """A value of x and a polynomial, then its value modulo 10. Length counts the terms.

    >>> Polynomial().output("- 1 : 3 x2 + - 2 x3".split())
    ['5']
    """

    name: ClassVar[str] = "poly"
    symbols: ClassVar[tuple[str, ...]] = (*string.digits, "-", "+", ":", "x0", "x1", "x2", "x3")

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        coefficients = streams.between(-3, 3, draws=length).tolist()
        degrees = streams.between(0, 3, draws=length).tolist()
        values = streams.between(-2, 2, draws=1)[:, 0].tolist()
        return [self._input(*each) for each in zip(values, coefficients, degrees, strict=True)]

    @staticmethod
    def _input(x: int, coefficients: Sequence[int], degrees: Sequence[int]) -> list[str]:
        terms = [f"{spaced(a)} x{degree}" for a, degree in zip(coefficients, degrees, strict=True)]
        return f"{spaced(x)} : {' + '.join(terms)}".split()

    @staticmethod
    def _read(tokens: Sequence[str]) -> tuple[int, list[tuple[int, int]]]:
        """x, and (coefficient, degree) of every term."""
        x, _, terms = "".join(tokens).partition(":")
        pairs = (term.split("x") for term in terms.split("+"))
        return int(x), [(int(a), int(degree)) for a, degree in pairs]

    def output(self, tokens: Sequence[str]) -> list[str]:
        x, terms = self._read(tokens)
        return [str(sum(a * x**degree for a, degree in terms) % MODULUS)]

    def longest(self, length: int) -> Iterable[list[str]]:
        for x, a, degree in product((-2, -1), (-3, -2), (1, 2, 3)):
            yield self._input(x, [a] * length, [degree] * length)

    def prompt(self, tokens: Sequence[str]) -> str:
        x, terms = self._read(tokens)
        return f"Evaluate at x = {spaced(x)} in {self._terms(terms)} ? "

    @staticmethod
    def _terms(terms: Sequence[tuple[int, int]]) -> str:
        return " + ".join(f"{spaced(a)} * x ** {degree}" for a, degree in terms)

    def read_prompt(self, text: str) -> list[str]:
        x, terms = text.removeprefix("Evaluate at x = ").removesuffix(" ? ").split(" in ")
        return f"{x} : {terms.replace('* x ** ', 'x')}".split()

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """Term by term; the running sum is kept modulo 10."""
        x, terms = self._read(tokens)
        steps, running = [], 0
        for number, (a, degree) in enumerate(terms):
            value = a * x**degree
            total = (running + value) % MODULUS
            steps.append(
                {
                    "input": self._terms([(a, degree)]),
                    "computation": f"{spaced(a)} * {spaced(x)} ** {degree} = {spaced(a)} * {spaced(x**degree)}",
                    "output": spaced(value),
                    "variables": f"sum: {running} + {spaced(value)} = {total}",
                    "rest": self._terms(terms[number + 1 :]),
                }
            )
            running = total
        return steps


def spaced(number: int) -> str:
    """A number as its digits, with a sign of its own.

    >>> spaced(-12)
    '- 1 2'
    """
    return " ".join(str(number))

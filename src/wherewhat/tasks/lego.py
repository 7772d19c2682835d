"""LEGO: a chain of variables, each with the value of the one before or its opposite, and the value of one of them.

<bos> x - 1 , b - x , m + b ? b <sep> +1 <eos>
"""

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.arithmetic import Answered
from wherewhat.tasks.base import check_size
from wherewhat.tasks.scratchpad import PARTS, Step
from wherewhat.tasks.stream import Streams

SIGNS = {1: "+", -1: "-"}


@dataclass(frozen=True)
class Lego(Answered):
    """Length counts the variables. The query is always about one in the second half of the chain."""

    shortest: int = 4
    name: ClassVar[str] = "lego"
    symbols: ClassVar[tuple[str, ...]] = (*string.ascii_lowercase, *"+-1,?", "+1", "-1")
    parts: ClassVar[tuple[str, ...]] = tuple(part for part in PARTS if part != "variables")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "shortest", self.shortest, 2)  # a single variable has no second half
        if self.test_length > len(string.ascii_lowercase):
            raise UserError(
                f"the lego task cannot have test_length = {self.test_length}; variables are letters, give at most 26"
            )

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        values_NM = 2 * streams.below(2, draws=length) - 1
        names_NM = streams.shuffle(len(string.ascii_lowercase))[:, :length]
        query_N = streams.between((length + 1) // 2, length - 1, draws=1)[:, 0]
        signs_NM = values_NM * np.concatenate([np.ones_like(values_NM[:, :1]), values_NM[:, :-1]], axis=1)
        rows = zip(signs_NM.tolist(), names_NM.tolist(), query_N.tolist(), strict=True)
        return [self._input(signs, [string.ascii_lowercase[n] for n in names], query) for signs, names, query in rows]

    @staticmethod
    def _input(signs: Sequence[int], names: Sequence[str], query: int) -> list[str]:
        sources = ["1", *names[:-1]]
        clauses = [f"{name} {SIGNS[sign]} {source}" for name, sign, source in zip(names, signs, sources, strict=True)]
        return f"{' , '.join(clauses)} ? {names[query]}".split()

    @staticmethod
    def _clauses(tokens: Sequence[str]) -> tuple[list[tuple[str, str, str]], str]:
        """(name, sign, source) of every clause, and the variable of the query."""
        chain, _, query = "".join(tokens).partition("?")
        return [(clause[0], clause[1], clause[2]) for clause in chain.split(",")], query

    def output(self, tokens: Sequence[str]) -> list[str]:
        clauses, query = self._clauses(tokens)
        value = {"1": 1}
        for name, sign, source in clauses:
            value[name] = value[source] if sign == "+" else -value[source]
        return [f"{value[query]:+d}"]

    def longest(self, length: int) -> Iterable[list[str]]:
        yield self._input([1] * length, string.ascii_lowercase[:length], length - 1)

    def read_answer(self, text: str) -> list[str]:
        return [text.replace(" ", "")]

    def prompt(self, tokens: Sequence[str]) -> str:
        clauses, query = self._clauses(tokens)
        return f"If {', '.join(map(_worded, clauses))}. Then, what is the value of {query}? "

    def read_prompt(self, text: str) -> list[str]:
        chain, query = text.removeprefix("If ").removesuffix("? ").split(". Then, what is the value of ")
        clauses = re.sub("([+-])1", r"\1 1", chain).replace(" =", "").replace(",", " ,")
        return f"{clauses} ? {query}".split()

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """From the first variable to the one of the query; every clause that was used is dropped."""
        clauses, query = self._clauses(tokens)
        last = next(number for number, (name, _, _) in enumerate(clauses) if name == query)
        values = [self.output([*tokens[:-1], name])[0] for name, _, _ in clauses[: last + 1]]
        computed = [
            "",
            *(
                f"{clause[1]} {clause[2]} = {clause[1]} {before}"
                for (_, clause), before in zip(pairwise(clauses), values, strict=False)
            ),
        ]
        return [
            {
                "input": clauses[number][0],
                "computation": computed[number],
                "output": values[number],
                "rest": ", ".join(map(_worded, clauses[number + 1 :])),
            }
            for number in range(last + 1)
        ]


def _worded(clause: tuple[str, str, str]) -> str:
    """A clause in the released text.

    >>> _worded(("x", "-", "1")), _worded(("b", "-", "x"))
    ('x = -1', 'b = - x')
    """
    name, sign, source = clause
    return f"{name} = {sign}{source}" if source == "1" else f"{name} = {sign} {source}"

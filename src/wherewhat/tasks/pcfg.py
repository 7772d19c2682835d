"""PCFG SET: nested functions of lists of symbols, then the list that they evaluate to.

<bos> append A1 B2 , echo C3 <sep> A1 B2 C3 C3 <eos>
"""

import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from wherewhat.errors import UserError
from wherewhat.tasks.copying import SEPARATOR
from wherewhat.tasks.forms import FORMS
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.stream import Stream, Streams

Symbols = list[str]
UNARY: dict[str, Callable[[Symbols], Symbols]] = {
    "copy": lambda x: x,
    "reverse": lambda x: x[::-1],
    "shift": lambda x: [*x[1:], x[0]],
    "swap_first_last": lambda x: x if len(x) == 1 else [x[-1], *x[1:-1], x[0]],
    "repeat": lambda x: [*x, *x],
    "echo": lambda x: [*x, x[-1]],
}
BINARY: dict[str, Callable[[Symbols, Symbols], Symbols]] = {
    "append": lambda x, y: [*x, *y],
    "prepend": lambda x, y: [*y, *x],
    "remove_first": lambda x, y: y,
    "remove_second": lambda x, y: x,
}
WEIGHTS = ((tuple(UNARY), 6), (tuple(BINARY), 4))
SYMBOLS = tuple(f"{letter}{number}" for letter in string.ascii_uppercase for number in range(1, 21))
KNOWN = frozenset(SYMBOLS)
MOST_SYMBOLS = 5  # of a list
MOST_FUNCTIONS = 200  # nested in each other; published: 35
MOST_OUTPUT = 64  # symbols; an expression with a longer output is drawn again


@dataclass(frozen=True)
class Pcfg(SequenceTask):
    """Length counts the functions.

    >>> " ".join(Pcfg().output("repeat prepend shift A1 B2 C3 , echo remove_first D4 , E5 F6".split()))
    'E5 F6 F6 B2 C3 A1 E5 F6 F6 B2 C3 A1'
    """

    shortest: int = 1
    train_length: int = 8
    test_length: int = 35
    name: ClassVar[str] = "pcfg"
    symbols: ClassVar[tuple[str, ...]] = (*UNARY, *BINARY, ",", *SYMBOLS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test_length > MOST_FUNCTIONS:
            raise UserError(
                f"the pcfg task cannot have test_length = {self.test_length}; give at most {MOST_FUNCTIONS}"
            )

    def draw(self, streams: Streams, length: int) -> list[list[str]]:
        return [self._draw_one(streams, row, length) for row in range(len(streams.numbers_N))]

    def _draw_one(self, streams: Streams, row: int, length: int) -> list[str]:
        attempt = 0
        while True:
            tokens, output = expression(streams.branch(row, attempt), length)
            if len(output) <= MOST_OUTPUT:
                return tokens
            attempt += 1

    def output(self, tokens: Sequence[str]) -> list[str]:
        value, end = _evaluate(list(tokens))
        if end < len(tokens):
            raise UserError(
                f"the expression '{' '.join(tokens)}' ends before '{' '.join(tokens[end:])}'; leave that out"
            )
        return value

    def longest(self, length: int) -> Iterable[list[str]]:
        """Functions with two arguments, all but the last of which are left out of the value."""
        few = [SYMBOLS[-1]] * MOST_SYMBOLS
        yield [*(["remove_second"] * length), *few, *([",", *few] * length)]

    def most_tokens(self, length: int) -> int:
        form, (tokens,) = FORMS[self.form], self.longest(length)
        return len(form.input(self, tokens)) + len(form.output(self, [SYMBOLS[-1]] * MOST_OUTPUT))

    def prompt(self, tokens: Sequence[str]) -> str:
        return f"Solve: {' '.join(tokens)}{SEPARATOR}"

    def target(self, output: Sequence[str]) -> str:
        return " ".join(output)

    def read_prompt(self, text: str) -> list[str]:
        return text.removeprefix("Solve: ").removesuffix(SEPARATOR).split()

    def read_target(self, text: str) -> list[str]:
        return text.split(" ") if text else []  # a blank too many is a mistake: the whole target counts


def expression(stream: Stream, functions: int) -> tuple[list[str], Symbols]:
    """A random expression of so many functions, and its value."""
    if not functions:
        picks = stream.between(1, MOST_SYMBOLS)
        symbols = [SYMBOLS[stream.below(len(SYMBOLS))] for _ in range(picks)]
        return symbols, symbols
    name = stream.pick(stream.weighted(WEIGHTS))
    if name in UNARY:
        tokens, value = expression(stream, functions - 1)
        return [name, *tokens], UNARY[name](value)
    first = stream.between(0, functions - 1)
    left_tokens, left = expression(stream, first)
    right_tokens, right = expression(stream, functions - 1 - first)
    return [name, *left_tokens, ",", *right_tokens], BINARY[name](left, right)


def _evaluate(tokens: Sequence[str], begin: int = 0) -> tuple[Symbols, int]:
    """The value of the expression that begins at a token, and where the tokens behind it begin."""
    name = tokens[begin] if begin < len(tokens) else ""
    if name in UNARY:
        value, end = _evaluate(tokens, begin + 1)
        return UNARY[name](value), end
    if name in BINARY:
        first, comma = _evaluate(tokens, begin + 1)
        if tokens[comma : comma + 1] != [","]:
            raise UserError(f"the function {name} takes two lists with a comma between them; give both")
        second, end = _evaluate(tokens, comma + 1)
        return BINARY[name](first, second), end
    end = begin
    while end < len(tokens) and tokens[end] in KNOWN:
        end += 1
    if end == begin:
        raise UserError("a list of an expression has no symbols; every function needs its arguments")
    return list(tokens[begin:end]), end

"""Two ways to write a sample as tokens: compact, one token per item of a list; or the released text by character.

    compact    <bos> 5 7 + 8 <sep> 6 5 <eos>
    text       <bos> Compute 5 7 + 8 ?  <sep> The answer is 6 5. <eos>

Both come from the same samples. A task knows its items (`symbols`) and how it words them (`prompt`, `target`).
"""

import string
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from wherewhat.tasks.scratchpad import AFTER, BEFORE, THINK, THUS, tokens_of

CHARACTERS = string.digits + string.ascii_letters + string.punctuation + " "  # every character of every released text


class Worded(Protocol):
    """A task as a form sees it: symbols, the released text of an input and of an output, and what reads them back."""

    @property
    def symbols(self) -> Sequence[str]: ...
    def prompt(self, tokens: Sequence[str]) -> str: ...
    def target(self, output: Sequence[str]) -> str: ...
    def read_prompt(self, text: str) -> list[str]: ...
    def read_target(self, text: str) -> list[str]: ...


class Form(ABC):
    """How the symbols of a sample become tokens, and back."""

    scratchpad_names: ClassVar[tuple[str, ...]] = ()  # tokens that only scratchpads have

    @abstractmethod
    def names(self, task: Worded) -> Sequence[str]:
        """Every token but the special ones."""

    @abstractmethod
    def input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        """Tokens of an input."""

    @abstractmethod
    def output(self, task: Worded, output: Sequence[str]) -> list[str]:
        """Tokens of an output."""

    @abstractmethod
    def read_input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        """The symbols of an input."""

    @abstractmethod
    def read_output(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        """The symbols of an output; empty if it cannot be read."""

    @abstractmethod
    def with_steps(self, task: Worded, steps: str, output: Sequence[str]) -> list[str]:
        """Tokens of a scratchpad, given as its released text, and of the output behind it."""

    @abstractmethod
    def split_steps(self, tokens: Sequence[str]) -> tuple[list[str], list[str]]:
        """Compact tokens of the scratchpad, and the tokens of the output behind it; empty where there is none."""


class Compact(Form):
    """Every symbol is a token."""

    scratchpad_names = tuple(f"{THINK} {THUS} # in comp out [ ] re = + - * ** : , x carry sum par min".split())

    def names(self, task: Worded) -> Sequence[str]:
        return task.symbols

    def input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return list(tokens)

    def output(self, task: Worded, output: Sequence[str]) -> list[str]:
        return list(output)

    def read_input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return list(tokens)

    def read_output(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return list(tokens)

    def with_steps(self, task: Worded, steps: str, output: Sequence[str]) -> list[str]:
        return [THINK, *tokens_of(steps), THUS, *output]

    def split_steps(self, tokens: Sequence[str]) -> tuple[list[str], list[str]]:
        if not tokens or tokens[0] != THINK or THUS not in tokens:
            return [], []
        end = list(tokens).index(THUS)
        return list(tokens[1:end]), list(tokens[end + 1 :])


class ReleasedText(Form):
    """Every character of the released text is a token."""

    def names(self, task: Worded) -> Sequence[str]:
        return CHARACTERS

    def input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return list(task.prompt(tokens))

    def output(self, task: Worded, output: Sequence[str]) -> list[str]:
        return list(task.target(output))

    def read_input(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return task.read_prompt("".join(tokens))

    def read_output(self, task: Worded, tokens: Sequence[str]) -> list[str]:
        return task.read_target("".join(tokens))

    def with_steps(self, task: Worded, steps: str, output: Sequence[str]) -> list[str]:
        return list(f"{BEFORE}{steps}{AFTER}{task.target(output)}")

    def split_steps(self, tokens: Sequence[str]) -> tuple[list[str], list[str]]:
        before, thus, after = "".join(tokens).partition(AFTER)
        if not thus or not before.startswith(BEFORE):
            return [], []
        return tokens_of(before.removeprefix(BEFORE)), list(after)


FORMS: dict[str, Form] = {"compact": Compact(), "text": ReleasedText()}

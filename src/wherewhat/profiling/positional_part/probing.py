"""How the positional part of attention is probed."""

from dataclasses import dataclass

from wherewhat.errors import UserError

LEAST = 3  # copies: the shortest text with a left and a right neighbour


@dataclass(frozen=True)
class Probing:
    """How many copies of a word stand in a probing text, and how many words are tried."""

    length: int = 64
    words: int = 100
    seed: int = 0
    batch_tokens: int = 2048  # padded tokens that run through the model together

    def __post_init__(self) -> None:
        if self.length < LEAST:
            raise UserError(
                f"a word is to be copied {self.length} times; locality and symmetry need at least {LEAST} copies"
            )
        if self.words < 1:
            raise UserError(f"{self.words} words are to be copied; give at least 1")
        if self.batch_tokens < 1:
            raise UserError(f"batch_tokens is {self.batch_tokens}; it must be at least 1")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")

"""Copy: write the input once more.

<bos> 4 x B <sep> 4 x B <eos>
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from wherewhat.errors import UserError
from wherewhat.tasks.base import check_size
from wherewhat.tasks.sequence import Example, SequenceTask
from wherewhat.tasks.stream import Stream

CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class CopyTask(SequenceTask):
    """Random characters, then the same characters. Length counts the characters of the input.

    >>> " ".join(CopyTask().sample(1, "train", 3)["tokens"])
    '<bos> b 1 d 6 c <sep> b 1 d 6 c <eos>'
    """

    alphabet: int = 16  # different characters
    name: ClassVar[str] = "copy"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "alphabet", self.alphabet, 2)
        if self.alphabet > len(CHARACTERS):
            raise UserError(f"the copy task cannot have alphabet = {self.alphabet}; give at most {len(CHARACTERS)}")

    @property
    def names(self) -> str:
        return CHARACTERS[: self.alphabet]

    def most_tokens(self, length: int) -> int:
        return 2 * length

    def draw(self, stream: Stream, length: int) -> Example:
        tokens = [stream.pick(self.names) for _ in range(length)]
        return tokens, tokens

    def output(self, tokens: Sequence[str]) -> list[str]:
        return list(tokens)

"""What the tasks about pairs of symbol and integer share: their sizes, their ids and how these are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from wherewhat.tasks.base import Balanced, check_size
from wherewhat.tasks.spelling import letter


@dataclass(frozen=True)
class Pairs(Balanced):
    """Pairs, then a query that names a symbol. A pair is one token, `symbol * n_int + integer`; queries come after."""

    context: int = 32
    n_symbols: int = 16
    n_int: int = 32
    least_context: ClassVar[int] = 1  # how many pairs there must be for a question to make sense

    def __post_init__(self) -> None:
        check_size(self.name, "context", self.context, self.least_context)
        check_size(self.name, "n_symbols", self.n_symbols, 2)
        check_size(self.name, "n_int", self.n_int, 2)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols * self.n_int + self.n_symbols  # the pairs, then one query a symbol

    @property
    def length(self) -> int:
        return self.context + 1

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.name,)

    def asked(self, ids: Sequence[int]) -> list[int]:
        """The pairs with the symbol that the last token names, from left to right."""
        symbol = ids[-1] - self.n_symbols * self.n_int
        return [id for id in ids[:-1] if id // self.n_int == symbol]

    def token(self, id: int) -> str:
        symbol, integer = divmod(id, self.n_int)
        queried = id - self.n_symbols * self.n_int
        return f"{letter(symbol)}{integer}" if queried < 0 else f"{letter(queried)}?"

"""What may be asked when relations are looked for in attention."""

from dataclasses import asdict, dataclass
from typing import Any

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.probing.bootstrap import TIMES
from wherewhat.probing.dependencies.choosing import SELECTIONS

FULL, POSITIONAL, CONTEXTUAL, SHUFFLED = "full", "positional", "contextual", "shuffled"
# What people call it, and the levels that it is held against.
CALLED = {
    FULL: "full attention",
    POSITIONAL: "place alone",
    CONTEXTUAL: "content alone",
    SHUFFLED: "shuffled sentence",
    "offset": "best fixed offset",
    "uniform": "even attention",
}
# What a head looks at, by what it may use.
PARTS = {
    FULL: "attention on the sentence as it is",
    POSITIONAL: "attention on one word as often as the sentence has words: all that is left is place",
    CONTEXTUAL: "attention averaged over orders of the words: all that is left is content",
    SHUFFLED: "attention on one other order of the words, the relations carried along by them",
}
LEAST, LEAST_OF_GRAMMAR = 100, 20
SENTENCES, SENTENCES_OF_GRAMMAR = 1000, 500


@dataclass(frozen=True)
class Asking:
    """How a model is probed for relations. What is None depends on the data: fewer of the grammar."""

    parts: tuple[str, ...] = tuple(PARTS)
    permutations: int = 16
    copies: int = 32  # words of the identical-word probe
    offsets: tuple[int, int] = (-5, 5)  # the fixed offsets that heads are held against, from and to
    least: int | None = None  # rows of a relation, fewer are dropped
    selection: str = "halves"
    subtypes: bool = False  # keep nsubj:pass apart from nsubj
    max_sentences: int | None = None  # of each treebank, that can be used
    seed: int = 0
    batch_tokens: int = 2048

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")
        for part in self.parts:
            look_up("part", part, PARTS)
        if not self.parts:
            raise UserError(f"no part is asked for; name some of: {', '.join(PARTS)}")
        look_up("selection", self.selection, SELECTIONS)
        low, high = self.offsets
        if low > high or not set(range(low, high + 1)) - {0}:
            raise UserError(f"the offsets go from {low} to {high}, which holds none but 0; write them like -5..5")
        for name, least in (("permutations", 1), ("copies", 1), ("least", 2), ("max_sentences", 2)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name.replace('_', ' ')} is {value}; give at least {least}")

    @property
    def orders(self) -> int:
        """How many other orders of the words a model reads of every sentence."""
        return self.permutations if CONTEXTUAL in self.parts else int(SHUFFLED in self.parts)

    def told(self, *, grammar: bool) -> dict[str, Any]:
        """The settings as a manifest tells them."""
        return asdict(self) | {
            "parts": list(self.parts),
            "offsets": list(self.offsets),
            "least": self.least_for(grammar),
            "max_sentences": self.most_for(grammar),
            "resamples": TIMES,
        }

    def least_for(self, grammar: bool) -> int:
        """Fewest rows of a relation that are told."""
        return self.least or (LEAST_OF_GRAMMAR if grammar else LEAST)

    def most_for(self, grammar: bool) -> int:
        """Most sentences that are read."""
        return self.max_sentences or (SENTENCES_OF_GRAMMAR if grammar else SENTENCES)

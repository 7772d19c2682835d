"""The settings of the dependency probe."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.probing.dependencies.head_selection import SELECTIONS
from wherewhat.stats.bootstrap import RESAMPLES

TO_HEAD, TO_DEPENDENT = "to head", "to dependent"
SIDES = (TO_HEAD, TO_DEPENDENT)
ALL = "all"  # every relation, or every distance
# How far apart two words are, counted over kept words: from and to, both included.
DISTANCES: dict[str, tuple[int, int]] = {ALL: (1, 10**9), "1": (1, 1), "2": (2, 2), "3-5": (3, 5), "6+": (6, 10**9)}
FULL, POSITIONAL, CONTEXTUAL, SHUFFLED = "full", "positional", "contextual", "shuffled"
# What the parts of attention and the baselines are called in a sentence.
TITLES: Mapping[str, str] = {
    FULL: "full attention",
    POSITIONAL: "position alone",
    CONTEXTUAL: "content alone",
    SHUFFLED: "shuffled sentence",
    "offset": "best fixed offset",
    "uniform": "uniform attention",
}
# The parts of attention, by what a head can use.
PARTS: Mapping[str, str] = {
    FULL: "attention on the sentence as it is",
    POSITIONAL: "attention on one word repeated as often as the sentence has words: only place is left",
    CONTEXTUAL: "attention averaged over permutations of the words: only content is left",
    SHUFFLED: "attention on one permutation of the words, with the relations between them",
}
LEAST, LEAST_OF_GRAMMAR = 100, 20
SENTENCES, SENTENCES_OF_GRAMMAR = 1000, 500


@dataclass(frozen=True)
class DependencySettings:
    """How a model is probed for relations. A field that is None depends on the data: less for the grammar."""

    parts: tuple[str, ...] = tuple(PARTS)
    permutations: int = 16
    copies: int = 32  # words that are repeated for positional attention
    offsets: tuple[int, int] = (-5, 5)  # the fixed offsets that heads are compared with, from and to
    least: int | None = None  # rows of a relation; relations with fewer are dropped
    selection: str = "halves"
    subtypes: bool = False  # keep nsubj:pass apart from nsubj
    max_sentences: int | None = None  # usable ones per treebank
    seed: int = 0
    batch_tokens: int = 2048

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")
        for part in self.parts:
            look_up("part", part, PARTS)
        if not self.parts:
            raise UserError(f"no part of attention is named; name some of: {', '.join(PARTS)}")
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
        """How many permutations of every sentence a model reads."""
        return self.permutations if CONTEXTUAL in self.parts else int(SHUFFLED in self.parts)

    @property
    def reads_as_it_is(self) -> bool:
        """Whether a model reads the sentences as they are; position alone is looked up while it does."""
        return bool({FULL, POSITIONAL} & set(self.parts))

    def as_used(self, *, grammar: bool) -> dict[str, Any]:
        """The settings for the manifest, with what None stood for."""
        return asdict(self) | {
            "parts": list(self.parts),
            "offsets": list(self.offsets),
            "least": self.least_for(grammar),
            "max_sentences": self.most_for(grammar),
            "resamples": RESAMPLES,
        }

    def least_for(self, grammar: bool) -> int:
        """The fewest rows of a relation that is reported."""
        return self.least or (LEAST_OF_GRAMMAR if grammar else LEAST)

    def most_for(self, grammar: bool) -> int:
        """The most sentences that are read."""
        return self.max_sentences or (SENTENCES_OF_GRAMMAR if grammar else SENTENCES)

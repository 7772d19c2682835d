"""One case under one swap: what the model reads instead, and what the right answer is then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wherewhat.corpora.cases import Case
from wherewhat.corpora.sentence import Role, Sentence
from wherewhat.probing.swapped.reading import Texts
from wherewhat.probing.swaps.base import Swap

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Turned:
    """One sentence as it is read after a swap. A sentence that was written anew (the other voice) has no order."""

    words: tuple[str, ...]
    order: tuple[int, ...] | None = None  # new place -> old place
    spans: Spans = ()  # where words were moved, in the old places
    roles: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # in the old places, where they matter

    @classmethod
    def by(cls, swap: Swap, roles: Sequence[Role] = ()) -> "Turned":
        """After a swap."""
        return cls(swap.words, swap.order, swap.spans, {role.role: (role.start, role.end) for role in roles})

    @classmethod
    def unmoved(cls, sentence: Sentence) -> "Turned":
        """A sentence that stays as it is."""
        return cls(sentence.words, tuple(range(len(sentence.words))))

    @property
    def moves(self) -> list[int]:
        """By how many places each word was moved."""
        return [] if self.order is None else [abs(new - old) for new, old in enumerate(self.order)]


Reading = tuple[Turned, ...]  # all sentences of a case


@dataclass(frozen=True)
class Trial:
    """A case, swapped and with its control."""

    case: int  # its number among the cases of the data
    swapped: Reading
    control: Reading | None  # where there is no control of equal size
    answer: str | None  # the right one after the swap, where that is known
    voice: str | None = None  # of the sentence that was swapped


def texts_of(reading: Sequence[Turned]) -> Texts:
    """What the model reads: words with blanks between, in the original as in a swap, so that only order differs."""
    return tuple(" ".join(one.words) for one in reading)


def original_of(case: Case) -> Texts:
    """The case as it was."""
    return tuple(sentence.text for sentence in case.sentences)

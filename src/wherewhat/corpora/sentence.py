"""One sentence: its words, where it came from, and its annotation (tags, trees, roles)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

Spans = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Role:
    """An argument of a predicate. Tokens are counted from 0, `end` is the one after the last."""

    role: str  # agent, patient, recipient or content
    start: int
    end: int
    head: int  # the head of the argument; for a relative pronoun the noun that it stands for
    via: str  # "direct", or "relative" where a relative pronoun fills the role


@dataclass(frozen=True)
class Predicate:
    """A verb and its roles."""

    index: int
    lemma: str
    voice: str  # active or passive
    roles: tuple[Role, ...]

    def role(self, name: str) -> Role | None:
        """The role of this name, if it is filled."""
        return next((role for role in self.roles if role.role == name), None)


@dataclass(frozen=True)
class Annotation:
    """The annotation of the words of a sentence. What a corpus does not have stays empty."""

    lemma: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()  # universal parts of speech
    xpos: tuple[str | None, ...] = ()  # tags of the treebank
    number: tuple[str | None, ...] = ()  # sg, pl or None
    case: tuple[str | None, ...] = ()  # as treebanks call it ("Nom", "Acc"), or None
    head: tuple[int, ...] = ()  # the head word of every token, counted from 1; 0 is the root
    deprel: tuple[str, ...] = ()
    tree: str = ""  # in brackets: (S (NP ...) (VP ...))
    spans: Spans = ()  # (label, start, end) of every constituent, the outer before the inner
    preds: tuple[Predicate, ...] = ()
    agree: tuple[tuple[int, int], ...] = ()  # (finite verb, the noun that it agrees with), counted from 0
    id: str = ""  # in its corpus
    raw: str = ""  # the text as it was written, where it is not the words joined by blanks
    places: tuple[tuple[int, int], ...] = ()  # from, to of every word in `raw`; words written as one share a place


Column = TypeVar("Column")


class _OfAnnotation(Generic[Column]):
    """An attribute of a sentence that is the field of the same name in its annotation."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, sentence: "Sentence", owner: type) -> Column:
        column: Column = getattr(sentence.annotation, self.name)
        return column


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence at once; its annotation is computed when it is first needed.

    >>> Sentence(("peter", "laughs", ".")).text
    'peter laughs .'
    """

    words: tuple[str, ...]
    where: str = ""  # file and line, or split and number
    annotate: Callable[[], Annotation] = field(default=Annotation, repr=False, compare=False)

    @cached_property
    def annotation(self) -> Annotation:
        """All that is known about the words."""
        return self.annotate()

    @property
    def text(self) -> str:
        """The words joined by blanks."""
        return " ".join(self.words)

    lemma = _OfAnnotation[tuple[str, ...]]()
    upos = _OfAnnotation[tuple[str, ...]]()
    xpos = _OfAnnotation[tuple[str | None, ...]]()
    number = _OfAnnotation[tuple[str | None, ...]]()
    case = _OfAnnotation[tuple[str | None, ...]]()
    head = _OfAnnotation[tuple[int, ...]]()
    deprel = _OfAnnotation[tuple[str, ...]]()
    tree = _OfAnnotation[str]()
    spans = _OfAnnotation[Spans]()
    preds = _OfAnnotation[tuple[Predicate, ...]]()
    agree = _OfAnnotation[tuple[tuple[int, int], ...]]()

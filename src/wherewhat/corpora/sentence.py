"""One sentence: its words, where it came from, and what its corpus knows of it (tags, trees, roles)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

Spans = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Role:
    """Who or what takes part in what a predicate says. Tokens are counted from 0, `end` is the first one behind."""

    role: str  # agent, patient, recipient or content
    start: int
    end: int
    head: int  # the token at the head of the phrase; of a relative pronoun the noun that it stands for
    via: str  # "direct", or "relative" where a relative pronoun fills the role


@dataclass(frozen=True)
class Predicate:
    """A verb and its roles."""

    index: int
    lemma: str
    voice: str  # active or passive
    roles: tuple[Role, ...]

    def role(self, name: str) -> Role | None:
        """Who fills a role, if anyone does."""
        return next((role for role in self.roles if role.role == name), None)


@dataclass(frozen=True)
class Annotation:
    """What is known of the words of a sentence. What a corpus does not know stays empty."""

    lemma: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()
    xpos: tuple[str | None, ...] = ()
    number: tuple[str | None, ...] = ()  # sg, pl or None
    case: tuple[str | None, ...] = ()  # as treebanks call it ("Nom", "Acc"), or None
    head: tuple[int, ...] = ()  # the governor of every token, counted from 1; 0 is the root
    deprel: tuple[str, ...] = ()
    tree: str = ""  # in brackets: (S (NP ...) (VP ...))
    spans: Spans = ()  # (label, start, end) of every phrase, the outer before the inner
    preds: tuple[Predicate, ...] = ()
    agree: tuple[tuple[int, int], ...] = ()  # (finite verb, the noun that it agrees with), counted from 0
    id: str = ""  # what the corpus calls the sentence
    raw: str = ""  # the text as it was written, where that is not the words with blanks between
    places: tuple[tuple[int, int], ...] = ()  # from, to of every word in `raw`; words written as one share a place


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence at once; its annotation is worked out when it is first asked for.

    >>> Sentence(("peter", "laughs", ".")).text
    'peter laughs .'
    """

    words: tuple[str, ...]
    where: str = ""  # file and line, or split and number
    work_out: Callable[[], Annotation] = field(default=Annotation, repr=False, compare=False)

    @cached_property
    def annotation(self) -> Annotation:
        """All that is known of the words."""
        return self.work_out()

    @property
    def text(self) -> str:
        """The words with blanks between."""
        return " ".join(self.words)

    @property
    def lemma(self) -> tuple[str, ...]:
        """The dictionary form of every word."""
        return self.annotation.lemma

    @property
    def upos(self) -> tuple[str, ...]:
        """The universal part of speech of every word."""
        return self.annotation.upos

    @property
    def xpos(self) -> tuple[str | None, ...]:
        """The tag of every word."""
        return self.annotation.xpos

    @property
    def number(self) -> tuple[str | None, ...]:
        """sg, pl or None for every word."""
        return self.annotation.number

    @property
    def case(self) -> tuple[str | None, ...]:
        """The case that every word shows, or None."""
        return self.annotation.case

    @property
    def head(self) -> tuple[int, ...]:
        """The governor of every word, counted from 1; 0 is the root."""
        return self.annotation.head

    @property
    def deprel(self) -> tuple[str, ...]:
        """How every word depends on its governor."""
        return self.annotation.deprel

    @property
    def tree(self) -> str:
        """The phrases in brackets."""
        return self.annotation.tree

    @property
    def spans(self) -> Spans:
        """(label, start, end) of every phrase, the outer before the inner."""
        return self.annotation.spans

    @property
    def preds(self) -> tuple[Predicate, ...]:
        """Every verb with its roles, in the order of the verbs."""
        return self.annotation.preds

    @property
    def agree(self) -> tuple[tuple[int, int], ...]:
        """(finite verb, the noun that it agrees with)."""
        return self.annotation.agree

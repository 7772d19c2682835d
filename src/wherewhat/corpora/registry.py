"""Every corpus by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from wherewhat.corpora.base import Corpus, check_values
from wherewhat.corpora.bracketed_trees import BracketedTrees
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.skeleton import Skeleton
from wherewhat.corpora.treebank import Treebank
from wherewhat.names import look_up


@dataclass(frozen=True)
class CorpusEntry:
    """A corpus and what to know before choosing it."""

    name: str
    about: str  # one line, for someone new
    cls: type[Corpus]


CORPORA: dict[str, CorpusEntry] = {
    entry.name: entry
    for entry in [
        CorpusEntry(
            "grammar",
            "Endless English-like sentences with their constituents, dependencies, roles and agreement.",
            Grammar,
        ),
        CorpusEntry("text", "Plain text files, one sentence per line, split into lower-case words.", PlainText),
        CorpusEntry(
            "treebank",
            "CoNLL-U files of Universal Dependencies, with tags, dependencies, and roles where they are annotated.",
            Treebank,
        ),
        CorpusEntry("trees", "Bracketed trees, as in the Penn Treebank, with tags and constituents.", BracketedTrees),
        CorpusEntry(
            "skeleton",
            "A treebank with PropBank's skeletons, WORDS.conllu+SKELETONS: dependencies, constituents and roles.",
            Skeleton,
        ),
    ]
}


def corpus(name: str, **sizes: Any) -> Corpus:
    """Make a corpus.

    >>> corpus("grammar", seed=2).plain()
    {'name': 'grammar', 'seed': 2, 'past': False}
    """
    cls = look_up("corpus", name, CORPORA).cls
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every member is a dataclass
    for size in sizes:
        look_up(f"size of the {name} corpus", size, known)
    return cls(**{size: tuple(value) if isinstance(value, list) else value for size, value in sizes.items()})


def corpus_from(plain: Mapping[str, Any]) -> Corpus:
    """Make a corpus again from its `plain` values."""
    sizes = {size: value for size, value in plain.items() if size != "name"}
    check_values(f"{plain.get('name')} corpus", look_up("corpus", plain.get("name", ""), CORPORA).cls, sizes)
    return corpus(plain["name"], **sizes)

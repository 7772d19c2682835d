"""Bracketed trees as a corpus: Penn-style files, `(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))`, over any lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import FileCorpus
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Annotation, Sentence, Spans
from wherewhat.errors import UserError

EMPTY = "-NONE-"  # the tag of empty elements: traces, and what was left unsaid
PIECE = re.compile(r"[()]|[^\s()]+")
ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "\\/": "/", "\\*": "*"}
QUOTES = {"``": '"', "''": '"'}  # written so only in trees
MEND = "mend the tree"


@dataclass(frozen=True)
class ParseTree:
    """One tree: its words as they were written, their tags, its constituents and the tree itself."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: Spans  # (label, start, end) of every constituent, the outer before the inner; a tagged word is none
    text: str

    def sentence(self, where: str) -> Sentence:
        """A sentence with its constituents and tags."""
        return Sentence(self.words, where, partial(Annotation, xpos=self.tags, tree=self.text, spans=self.spans))


@dataclass(frozen=True)
class BracketedTrees(FileCorpus):
    """Sentences of bracketed files. Empty elements are left out; labels lose their function ("NP-SBJ-1" is "NP")."""

    files: tuple[str, ...]
    name: ClassVar[str] = "trees"

    def read(self, path: Path) -> Iterator[Sentence]:
        """One sentence per tree."""
        reader: _Reader | None = None
        first = 0
        for number, line in numbered_lines(path):
            for piece in PIECE.findall(line):
                if reader is None:
                    if piece != "(":
                        unopened = piece == ")"
                        what = "closes a bracket that was never opened" if unopened else f"has {piece!r} between trees"
                        raise UserError(f"line {number} of {path} {what}; mend the line")
                    reader, first = _Reader(f"the tree that begins in line {number} of {path}"), number
                if (tree := reader.take(piece)) is not None:
                    yield tree.sentence(f"{path.name} line {first}")
                    reader = None
        if reader is not None:
            raise UserError(f"{reader.where} is never closed; {MEND}")


def read_tree(text: str, where: str) -> ParseTree:
    """The only tree of a text; `where` says whose it is.

    >>> read_tree("( (S (NP-SBJ-1 (NNP Maria)) (VP (VBZ sings) (NP (-NONE- *)))))", "it").spans
    (('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2))
    """
    pieces, reader = PIECE.findall(text), _Reader(where)
    if pieces[:1] != ["("]:
        raise UserError(f"{where} is not a bracketed tree; write (S (NP (DT the) (NN cat)) ...)")
    for place, piece in enumerate(pieces):
        if (tree := reader.take(piece)) is not None:
            if pieces[place + 1 :]:
                raise UserError(f"{where} goes on after its last bracket ({pieces[place + 1]!r}); {MEND}")
            return tree
    raise UserError(f"{where} is never closed; {MEND}")


def plain_label(label: str) -> str:
    """A label without function tags and indices.

    >>> plain_label("NP-SBJ-1"), plain_label("VP=2"), plain_label("-LRB-"), plain_label("PRP$")
    ('NP', 'VP', '-LRB-', 'PRP$')
    """
    return label if label.startswith("-") else label[:1] + re.split("[-=]", label[1:])[0]


def as_written(word: str) -> str:
    """A word as it was in the text.

    >>> as_written("-LRB-"), as_written("1\\\\/2"), as_written("``")
    ('(', '1/2', '"')
    """
    for escape, written in ESCAPES.items():
        word = word.replace(escape, written)
    return QUOTES.get(word, word)


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    start: int  # how many words came before it
    place: int  # in the list of constituents
    label: str | None = None
    word: str | None = None
    inside: list[str] = field(default_factory=list)  # its parts, as text
    parts: int = 0  # how many parts it has, with those that were left out


@dataclass
class _Reader:
    """One tree while it is read, piece by piece."""

    where: str
    open: list[_Open] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    constituents: list[tuple[str, int, int]] = field(default_factory=list)

    def take(self, piece: str) -> ParseTree | None:
        """Take one piece; returns the tree when this was its last one."""
        node = self.open[-1] if self.open else None
        if piece == "(":
            if node is not None and node.word is not None:
                raise self._untagged(node.word)
            self.open.append(_Open(len(self.words), len(self.constituents)))
            self.constituents.append(("", 0, 0))  # the outer before the inner; filled in at its end
            return None
        assert node is not None
        if piece == ")":
            return self._close(self.open.pop())
        if node.parts or node.word is not None:
            raise self._untagged(piece)
        if node.label is None:
            node.label = piece
        else:
            node.word = piece
        return None

    def _close(self, node: _Open) -> ParseTree | None:
        label = plain_label(node.label or "")
        if node.word is None:
            text = self._constituent(node, label)
        elif label == EMPTY:
            text = []
        else:
            self.words.append(as_written(node.word))
            self.tags.append(label)
            text = [f"({label} {node.word})"]
        if self.open:
            self.open[-1].parts += 1
            self.open[-1].inside += text
            return None
        if not self.words:
            raise UserError(f"{self.where} has no words; take it out")
        spans = tuple(constituent for constituent in self.constituents if constituent[0])
        return ParseTree(tuple(self.words), tuple(self.tags), spans, text[0])

    def _constituent(self, node: _Open, label: str) -> list[str]:
        if not node.parts:
            held = f"nothing but {node.label!r} in it" if node.label else "nothing in it"
            raise UserError(f"{self.where} has a bracket with {held}; write (TAG word), or take it out")
        # Where words have no tags, some word in lower case is taken for one.
        if not label and (self.open or (node.parts > 1 and any(tag != tag.upper() for tag in self.tags))):
            raise UserError(
                f"{self.where} has brackets without labels inside it, as binary parses have them; write (TAG word) for "
                "a word and (LABEL ...) for a constituent"
            )
        if not node.inside:
            return []  # only empty elements
        self.constituents[node.place] = (label, node.start, len(self.words))
        # Files wrap their trees in a bracket without a label, which is not a constituent.
        return node.inside if not label and len(node.inside) == 1 else [f"({label} {' '.join(node.inside)})"]

    def _untagged(self, word: str) -> UserError:
        return UserError(f"{self.where} has the word {word!r} without a tag of its own; write (TAG {word})")

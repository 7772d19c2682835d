"""Trees in brackets as a corpus: Penn-style files, `(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))`, over any lines."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import Files
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Annotation, Sentence, Spans
from wherewhat.errors import UserError

EMPTY = "-NONE-"  # the tag of what was moved or left unsaid: nobody wrote it
PIECE = re.compile(r"[()]|[^\s()]+")
ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "\\/": "/", "\\*": "*"}
QUOTES = {"``": '"', "''": '"'}  # which are written so in trees only
MEND = "mend the tree"


@dataclass(frozen=True)
class Tree:
    """What one tree says: its words as they were written, their tags, its phrases and the tree itself."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: Spans  # (label, start, end) of every phrase, the outer before the inner; a word with its tag is none
    text: str

    def sentence(self, where: str) -> Sentence:
        """A sentence that knows its phrases and tags."""
        return Sentence(self.words, where, partial(Annotation, xpos=self.tags, tree=self.text, spans=self.spans))


@dataclass(frozen=True)
class Trees(Files):
    """Sentences of bracketed files. Empty elements are left out, labels lose their function ("NP-SBJ-1" is "NP")."""

    files: tuple[str, ...]
    name: ClassVar[str] = "trees"

    def read(self, path: Path) -> Iterator[Sentence]:
        """One sentence a tree."""
        for number, tree in read_trees(numbered_lines(path), str(path)):
            yield tree.sentence(f"{path.name} line {number}")


def read_trees(lines: Iterable[tuple[int, str]], path: str) -> Iterator[tuple[int, Tree]]:
    """Every tree with the number of the line that it begins in."""
    reader: _Reader | None = None
    first = 0
    for number, line in lines:
        for piece in PIECE.findall(line):
            if reader is None:
                if piece != "(":
                    what = "closes a bracket that was never opened" if piece == ")" else f"has {piece!r} between trees"
                    raise UserError(f"line {number} of {path} {what}; mend the line")
                reader, first = _Reader(f"the tree that begins in line {number} of {path}"), number
            if (tree := reader.take(piece)) is not None:
                yield first, tree
                reader = None
    if reader is not None:
        raise UserError(f"{reader.where} is never closed; {MEND}")


def read_tree(text: str, where: str) -> Tree:
    """The only tree of a text; `where` says whose it is.

    >>> read_tree("( (S (NP-SBJ-1 (NNP Maria)) (VP (VBZ sings) (NP (-NONE- *)))))", "it").spans
    (('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2))
    """
    pieces, reader = PIECE.findall(text), _Reader(where)
    if pieces[:1] != ["("]:
        raise UserError(f"{where} is no tree in brackets; write (S (NP (DT the) (NN cat)) ...)")
    for place, piece in enumerate(pieces):
        if (tree := reader.take(piece)) is not None:
            if pieces[place + 1 :]:
                raise UserError(f"{where} goes on after its last bracket ({pieces[place + 1]!r}); {MEND}")
            return tree
    raise UserError(f"{where} is never closed; {MEND}")


def plain_label(label: str) -> str:
    """A label without functions and numbers.

    >>> plain_label("NP-SBJ-1"), plain_label("VP=2"), plain_label("-LRB-"), plain_label("PRP$")
    ('NP', 'VP', '-LRB-', 'PRP$')
    """
    return label if label.startswith("-") else label[:1] + re.split("[-=]", label[1:])[0]


def as_written(word: str) -> str:
    """A word as it stood in the text.

    >>> as_written("-LRB-"), as_written("1\\\\/2"), as_written("``")
    ('(', '1/2', '"')
    """
    for escape, written in ESCAPES.items():
        word = word.replace(escape, written)
    return QUOTES.get(word, word)


def _is_label(tag: str) -> bool:
    """Whether a tag may be one: where words stand without tags, some word is taken for a tag, in small letters."""
    return tag == tag.upper()


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    start: int  # how many words came before it
    place: int  # in the list of phrases
    label: str | None = None
    word: str | None = None
    inside: list[str] = field(default_factory=list)  # its parts, written out
    parts: int = 0  # how many it had, with those that were left out


@dataclass
class _Reader:
    """One tree while it is read, piece by piece."""

    where: str
    open: list[_Open] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    phrases: list[tuple[str, int, int]] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)  # the tree, written out

    def take(self, piece: str) -> Tree | None:
        """Take one piece; the tree, when this was its last one."""
        if piece == "(":
            self._begin()
        elif piece == ")":
            self._end()
            return None if self.open else self._tree()
        else:
            self._name(piece)
        return None

    def _begin(self) -> None:
        if self.open and self.open[-1].word is not None:
            raise self._untagged(self.open[-1].word)
        self.open.append(_Open(len(self.words), len(self.phrases)))
        self.phrases.append(("", 0, 0))  # the outer before the inner; mended when it turns out to be a phrase

    def _name(self, piece: str) -> None:
        """A label if it is the first in its bracket, else a word."""
        node = self.open[-1]
        if node.label is None and not node.parts:
            node.label = piece
        elif node.word is None and not node.parts:
            node.word = piece
        else:
            raise self._untagged(piece)

    def _end(self) -> None:
        node = self.open.pop()
        label = plain_label(node.label or "")
        text = self._leaf(node, label) if node.word is not None else self._phrase(node, label)
        if self.open:
            self.open[-1].parts += 1
            self.open[-1].inside += text
        else:
            self.whole = text

    def _leaf(self, node: _Open, tag: str) -> list[str]:
        if node.word is None or tag == EMPTY:
            return []
        self.words.append(as_written(node.word))
        self.tags.append(tag)
        return [f"({tag} {node.word})"]

    def _phrase(self, node: _Open, label: str) -> list[str]:
        if not node.parts:
            held = f"nothing but {node.label!r} in it" if node.label else "nothing in it"
            raise UserError(f"{self.where} has a bracket with {held}; write (TAG word), or take it out")
        if not label and (self.open or (node.parts > 1 and not all(map(_is_label, self.tags)))):
            told = "brackets without labels inside it, as parses in two parts have them"
            raise UserError(f"{self.where} has {told}; write (TAG word) for a word and (LABEL ...) for a phrase")
        if not node.inside:
            return []  # only what nobody wrote
        self.phrases[node.place] = (label, node.start, len(self.words))
        # Files wrap their trees in a bracket without a label, which is no phrase.
        return node.inside if not label and len(node.inside) == 1 else [f"({label} {' '.join(node.inside)})"]

    def _tree(self) -> Tree:
        if not self.words:
            raise UserError(f"{self.where} has no words; take it out")
        spans = tuple(phrase for phrase in self.phrases if phrase[0])
        return Tree(tuple(self.words), tuple(self.tags), spans, self.whole[0])

    def _untagged(self, word: str) -> UserError:
        return UserError(f"{self.where} has the word {word!r} without a tag of its own; write (TAG {word})")

"""PropBank's skeletons as a corpus: phrases and roles whose words were blanked out, and the treebank that has them.

A skeleton (`*.gold_skel`) has a line for every word, in columns apart by blanks: document, sentence, word, [WORD], tag,
a piece of the tree, lemma, roleset, and then a column of brackets for every predicate. A treebank whose sentences are
called DOCUMENT-NUMBER gives the words back. Nothing that was put together is written anywhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import Files
from wherewhat.corpora.brackets import EMPTY, Tree, read_tree
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.propositions import NOTHING, VERBS, Stretch, Syntax, predicate_of
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError

JOIN = "+"  # WORDS.conllu+SKELETONS
BLANKED = "[WORD]"
SUFFIX = ".gold_skel"
COLUMNS = 8  # before those of predicates
HAVE = frozenset(("have", "has", "had", "having", "'ve", "'s", "'d"))  # where no lemma says so
MEND = "mend the lines"
SAME = "take a treebank that cuts its texts in the same way"


@dataclass(frozen=True)
class Skeleton(Files):
    """Sentences of which a treebank has the words and dependencies, and a skeleton the phrases and roles.

    A file is written WORDS.conllu+SKELETONS; the second is a `.gold_skel` or a folder of many. Sentences of documents
    without a skeleton are passed over.
    """

    files: tuple[str, ...]
    name: ClassVar[str] = "skeleton"

    def read(self, path: Path) -> Iterator[Sentence]:
        """The sentences that have both, in the order of the treebank."""
        words, skeletons = both_of(path)
        files, document, bones, found = _documents(skeletons), "", dict[int, _Bones](), False
        for sentence in Treebank((str(words),)).read(words):
            called, _, number = sentence.annotation.id.rpartition("-")
            if called not in files or not number.isdigit():
                continue
            if called != document:
                document, bones, found = called, _read(files[called]), True
            if int(number) not in bones:
                raise UserError(f"{sentence.where} is sentence {number}, which {files[called]} does not have; {SAME}")
            yield bones[int(number)].put_on(sentence)
        if not found:
            raise UserError(f"no document of {words} has a skeleton in {skeletons}; give those of the same texts")


def both_of(path: Path) -> tuple[Path, Path]:
    """The two that a path names: the file of words, and the skeletons."""
    pieces = str(path).split(JOIN)
    pairs = [(Path(JOIN.join(pieces[:cut])), Path(JOIN.join(pieces[cut:]))) for cut in range(1, len(pieces))]
    words, skeletons = next((pair for pair in pairs if pair[0].is_file()), (path, path))
    for one in (words, skeletons):
        if not one.exists():
            raise UserError(f"there is no file {one}; check the path")
    return words, skeletons


def _documents(skeletons: Path) -> dict[str, Path]:
    """The file of every document, by the names that a treebank may call it: with its genre before it, or without."""
    files = sorted(skeletons.rglob(f"*{SUFFIX}")) if skeletons.is_dir() else [skeletons]
    found = dict[str, Path]()
    for file in files:
        first = next((line.split() for _, line in numbered_lines(file) if line.strip()), [""])
        genre, _, name = ["", "", *first[0].split("/")][-3:]
        called = name.removesuffix(".xml")
        found |= {called: file, f"{genre}-{called}": file}
    return found


@dataclass(frozen=True)
class _Bones:
    """One sentence of a skeleton."""

    where: str
    tags: tuple[str, ...]
    pieces: tuple[str, ...]
    rolesets: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]  # one for every predicate

    def put_on(self, sentence: Sentence) -> Sentence:
        """The sentence with the phrases and roles."""
        if len(sentence.words) != len(self.tags):
            told = f"{sentence.where} has {len(sentence.words)} words and {self.where} has {len(self.tags)}"
            raise UserError(f"{told}; {SAME}")
        known = sentence.annotation
        tree, roles = (
            self._tree(sentence.words),
            [_stretches(column, known.head, self.where) for column in self.columns],
        )
        syntax = Syntax(known.lemma, known.upos, known.head, known.deprel, _participles(sentence.words, known))
        at = [place for place, name in enumerate(self.rolesets) if name not in NOTHING]
        preds = [predicate_of(verb, held, syntax) for verb, held in zip(at, roles, strict=True)]
        kept = tuple(one for one in preds if known.upos[one.index] in VERBS)
        full = replace(known, tree=tree.text, spans=tree.spans, preds=kept)
        return Sentence(sentence.words, sentence.where, lambda: full)

    def _tree(self, words: Sequence[str]) -> Tree:
        leaves = [f"({tag} {_in_brackets(word)})" for tag, word in zip(self.tags, words, strict=True)]
        pieces = [piece.replace("*", f" {leaf} ") for piece, leaf in zip(self.pieces, leaves, strict=True)]
        tree = read_tree("".join(pieces), f"the tree of {self.where}")
        if len(tree.words) != len(words):
            told = f"the tree of {self.where} has {len(tree.words)} words and its sentence {len(words)}"
            raise UserError(f"{told}; {MEND}")
        return tree


def _read(file: Path) -> dict[int, _Bones]:
    """The sentences of a document by their number, counted from 1 as treebanks do."""
    found, rows = dict[int, _Bones](), list[tuple[int, list[str]]]()
    for number, line in numbered_lines(file):
        if line.strip():
            rows.append((number, line.split()))
        elif rows:
            found |= _bones(rows, file)
            rows = []
    return found | (_bones(rows, file) if rows else {})


def _bones(rows: Sequence[tuple[int, list[str]]], file: Path) -> dict[int, _Bones]:
    columns = len(rows[0][1])
    for number, row in rows:
        if wrong := _wrong(row, columns):
            raise UserError(f"line {number} of {file} has {wrong}; mend the line")
    where = f"the sentence that begins in line {rows[0][0]} of {file}"
    across = tuple(zip(*(row for _, row in rows), strict=True))
    predicates = sum(name not in NOTHING for name in across[7])
    if predicates != columns - COLUMNS:
        raise UserError(f"{where} has {predicates} rolesets and {columns - COLUMNS} columns of roles; {MEND}")
    return {int(rows[0][1][1]) + 1: _Bones(where, across[4], across[5], across[7], across[COLUMNS:])}


def _wrong(row: Sequence[str], columns: int) -> str:
    """What is wrong with a line, or nothing."""
    if len(row) < COLUMNS:
        return f"{len(row)} columns and a skeleton at least {COLUMNS}"
    if len(row) != columns:
        return f"{len(row)} columns and the first word of its sentence {columns}"
    if not row[1].isdigit():
        return f"{row[1]!r} for the number of its sentence"
    if row[4] == EMPTY:
        return f"the tag {EMPTY}, of what nobody wrote"
    return "" if row[5].count("*") == 1 else f"{row[5]!r} for its piece of the tree, where one * stands for the word"


def _stretches(column: Sequence[str], heads: Sequence[int], where: str) -> list[Stretch]:
    """The stretches that the brackets of a column mark."""
    open_, found = list[tuple[str, int]](), list[Stretch]()
    for place, cell in enumerate(column):
        open_ += [(mark, place) for mark in re.findall(r"\(([^()*]+)", cell)]
        for _ in range(cell.count(")")):
            if not open_:
                raise UserError(f"{where} closes a role that was never opened; {MEND}")
            mark, start = open_.pop()
            if mark != "V":
                found.append(Stretch(mark, start, place + 1, _head(heads, start, place + 1)))
    if open_:
        raise UserError(f"{where} opens the role {open_[-1][0]} and never closes it; {MEND}")
    return found


def _head(heads: Sequence[int], start: int, end: int) -> int:
    """The first word of a stretch whose governor is outside."""
    return next(place for place in range(start, end) if not start < heads[place] <= end)


def _participles(words: Sequence[str], known: Annotation) -> list[bool]:
    """Which words are participles of a passive: those that nothing makes a perfect of."""
    perfect = {
        head - 1
        for head, relation, lemma, word in zip(known.head, known.deprel, known.lemma, words, strict=True)
        if relation == "aux" and (lemma == "have" or (not lemma and word.lower() in HAVE))
    }
    return [tag == "VBN" and place not in perfect for place, tag in enumerate(known.xpos)]


def _in_brackets(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")

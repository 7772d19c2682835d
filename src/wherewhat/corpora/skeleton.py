"""PropBank's skeletons as a corpus: constituents and roles without their words, and the treebank that has the words.

A skeleton (`*.gold_skel`) has one line per word, with columns separated by blanks: document, sentence, word, [WORD],
tag, a piece of the tree, lemma, roleset, and then a column of brackets per predicate. A treebank whose sentence ids are
DOCUMENT-NUMBER supplies the words. The combination is never written to disk.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from wherewhat.corpora.base import FileCorpus
from wherewhat.corpora.bracketed_trees import EMPTY, read_tree
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.propositions import NOTHING, VERBS, MarkedSpan, RoleSyntax, predicate_of
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError

JOIN = "+"  # WORDS.conllu+SKELETONS
BLANKED = "[WORD]"
SUFFIX = ".gold_skel"
COLUMNS = 8  # before those of predicates
HAVE = frozenset(("have", "has", "had", "having", "'ve", "'s", "'d"))  # where there is no lemma
MEND = "mend the lines"
SAME = "take a treebank that cuts its texts in the same way"


@dataclass(frozen=True)
class Skeleton(FileCorpus):
    """Sentences of which a treebank has the words and dependencies, and a skeleton the constituents and roles.

    A file is written WORDS.conllu+SKELETONS; the second is a `.gold_skel` or a folder of many. Sentences of documents
    without a skeleton are skipped.
    """

    files: tuple[str, ...]
    name: ClassVar[str] = "skeleton"

    def read(self, path: Path) -> Iterator[Sentence]:
        """The sentences that have both, in the order of the treebank."""
        words, skeletons = both_of(path)
        document, skeleton_of = "", dict[int, _SentenceSkeleton]()
        files = dict[str, Path]()  # by the possible names of a document in a treebank: after its genre, or without
        for file in sorted(skeletons.rglob(f"*{SUFFIX}")) if skeletons.is_dir() else [skeletons]:
            first = next((line.split() for _, line in numbered_lines(file) if line.strip()), [""])
            genre, _, title = ["", "", *first[0].split("/")][-3:]
            title = title.removesuffix(".xml")
            files |= {title: file, f"{genre}-{title}": file}
        for sentence in Treebank((str(words),)).read(words):
            name, _, number = sentence.annotation.id.rpartition("-")
            if name not in files or not number.isdigit():
                continue
            if name != document:
                document, skeleton_of = name, _read(files[name])
            if int(number) not in skeleton_of:
                raise UserError(f"{sentence.where} is sentence {number}, which {files[name]} does not have; {SAME}")
            yield skeleton_of[int(number)].put_on(sentence)
        if not document:
            raise UserError(f"no document of {words} has a skeleton in {skeletons}; give those of the same texts")


def both_of(path: Path) -> tuple[Path, Path]:
    """The two parts of a path: the file of words, and the skeletons."""
    pieces = str(path).split(JOIN)
    pairs = [(Path(JOIN.join(pieces[:cut])), Path(JOIN.join(pieces[cut:]))) for cut in range(1, len(pieces))]
    words, skeletons = next((pair for pair in pairs if pair[0].is_file()), (path, path))
    for part in (words, skeletons):
        if not part.exists():
            raise UserError(f"there is no file {part}; check the path")
    return words, skeletons


@dataclass(frozen=True)
class _SentenceSkeleton:
    """One sentence of a skeleton."""

    where: str
    tags: tuple[str, ...]
    pieces: tuple[str, ...]
    rolesets: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]  # one per predicate

    def put_on(self, sentence: Sentence) -> Sentence:
        """The sentence with the constituents and roles."""
        if len(sentence.words) != len(self.tags):
            sizes = f"{sentence.where} has {len(sentence.words)} words and {self.where} has {len(self.tags)}"
            raise UserError(f"{sizes}; {SAME}")
        known = sentence.annotation
        bare = [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in sentence.words]
        leaves = [f"({tag} {word})" for tag, word in zip(self.tags, bare, strict=True)]
        pieces = [piece.replace("*", f" {leaf} ") for piece, leaf in zip(self.pieces, leaves, strict=True)]
        tree = read_tree("".join(pieces), f"the tree of {self.where}")
        if len(tree.words) != len(bare):
            sizes = f"the tree of {self.where} has {len(tree.words)} words and its sentence {len(bare)}"
            raise UserError(f"{sizes}; {MEND}")
        roles = [_marked_spans(column, known.head, self.where) for column in self.columns]
        syntax = RoleSyntax(known.lemma, known.upos, known.head, known.deprel, _participles(sentence.words, known))
        at = [place for place, name in enumerate(self.rolesets) if name not in NOTHING]
        preds = [predicate_of(verb, spans, syntax) for verb, spans in zip(at, roles, strict=True)]
        kept = tuple(pred for pred in preds if known.upos[pred.index] in VERBS)
        full = replace(known, tree=tree.text, spans=tree.spans, preds=kept)
        return Sentence(sentence.words, sentence.where, lambda: full)


def _read(file: Path) -> dict[int, _SentenceSkeleton]:
    """The sentences of a document by their number, counted from 1 as treebanks do."""
    sentences, rows = dict[int, _SentenceSkeleton](), list[tuple[int, list[str]]]()
    for number, line in numbered_lines(file):
        if line.strip():
            rows.append((number, line.split()))
        elif rows:
            sentences |= _sentence(rows, file)
            rows = []
    return sentences | (_sentence(rows, file) if rows else {})


def _sentence(rows: Sequence[tuple[int, list[str]]], file: Path) -> dict[int, _SentenceSkeleton]:
    columns = len(rows[0][1])
    for number, row in rows:
        if wrong := _wrong(row, columns):
            raise UserError(f"line {number} of {file} has {wrong}; mend the line")
    where = f"the sentence that begins in line {rows[0][0]} of {file}"
    across = tuple(zip(*(row for _, row in rows), strict=True))
    predicates = sum(name not in NOTHING for name in across[7])
    if predicates != columns - COLUMNS:
        raise UserError(f"{where} has {predicates} rolesets and {columns - COLUMNS} columns of roles; {MEND}")
    return {int(rows[0][1][1]) + 1: _SentenceSkeleton(where, across[4], across[5], across[7], across[COLUMNS:])}


def _wrong(row: Sequence[str], columns: int) -> str:
    """What is wrong with a line, or nothing."""
    if len(row) < COLUMNS:
        return f"{len(row)} columns and a skeleton at least {COLUMNS}"
    if len(row) != columns:
        return f"{len(row)} columns and the first word of its sentence {columns}"
    if not row[1].isdigit():
        return f"{row[1]!r} for the number of its sentence"
    if row[4] == EMPTY:
        return f"the tag {EMPTY}, of an empty element"
    return "" if row[5].count("*") == 1 else f"{row[5]!r} for its piece of the tree, where one * stands for the word"


def _marked_spans(column: Sequence[str], heads: Sequence[int], where: str) -> list[MarkedSpan]:
    """The spans that the brackets of a column mark."""
    open_, spans = list[tuple[str, int]](), list[MarkedSpan]()
    for place, cell in enumerate(column):
        open_ += [(mark, place) for mark in re.findall(r"\(([^()*]+)", cell)]
        for _ in range(cell.count(")")):
            if not open_:
                raise UserError(f"{where} closes a role that was never opened; {MEND}")
            mark, start = open_.pop()
            if mark != "V":
                # Its head is the first word of the span whose head word is outside.
                head = next(word for word in range(start, place + 1) if not start < heads[word] <= place + 1)
                spans.append(MarkedSpan(mark, start, place + 1, head))
    if open_:
        raise UserError(f"{where} opens the role {open_[-1][0]} and never closes it; {MEND}")
    return spans


def _participles(words: Sequence[str], known: Annotation) -> list[bool]:
    """Which words are passive participles: participles without a perfect auxiliary."""
    perfect = {
        head - 1
        for head, relation, lemma, word in zip(known.head, known.deprel, known.lemma, words, strict=True)
        if relation == "aux" and (lemma == "have" or (not lemma and word.lower() in HAVE))
    }
    return [tag == "VBN" and place not in perfect for place, tag in enumerate(known.xpos)]

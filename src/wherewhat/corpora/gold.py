"""Files with gold annotation: dependencies, constituents, roles or labels; a file that lacks it is refused."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from wherewhat.corpora.annotated_examples import read_annotated_examples
from wherewhat.corpora.base import FileCorpus
from wherewhat.corpora.bracketed_trees import BracketedTrees
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.skeleton import BLANKED, JOIN, Skeleton
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError
from wherewhat.names import look_up

NEEDS: dict[str, str] = {
    "dependencies": "the head word of every word: CoNLL-U files of Universal Dependencies have them",
    "constituents": "the phrases of a sentence: bracketed trees have them, (S (NP ...) (VP ...)), as in the Penn "
    "Treebank or in SNLI",
    "roles": "who does what to whom: CoNLL-U files of Universal Propositions have them (Roleset= and Args= in the last "
    f"column, or a column for every predicate), or one with PropBank's skeletons beside, WORDS.conllu{JOIN}SKELETONS",
    "labels": "the right answers: SNLI and MultiNLI have them (.jsonl), or lines of label<TAB>(S ...)",
}
HAS: dict[str, Callable[[Sentence], bool]] = {
    "dependencies": lambda sentence: bool(sentence.head),
    "constituents": lambda sentence: bool(sentence.spans),
    "roles": lambda sentence: any(predicate.roles for predicate in sentence.preds),
    "labels": lambda sentence: True,  # only labelled examples can have them, and each does
}
LABELLED = "labelled examples"
KINDS: dict[str, type[FileCorpus]] = {"treebank": Treebank, "trees": BracketedTrees, "skeleton": Skeleton}
MAY_HAVE: dict[str, set[str]] = {
    "treebank": {"dependencies", "roles"},
    "trees": {"constituents"},
    "skeleton": {"dependencies", "constituents", "roles"},
    LABELLED: {"constituents", "labels"},
}
LOOKS: dict[str, re.Pattern[str]] = {  # by the first line that is not blank
    "treebank": re.compile(r"#|\d+(-\d+|\.\d+)?\t(?!\s*\([^\t]*[ (])"),  # a tree after a number: that is a label
    "trees": re.compile(r"\("),
    LABELLED: re.compile(r"\{|[^\t]+\t\s*\(|label\t", re.IGNORECASE),
}


def kind_of(path: Path) -> str:
    """The kind of a file by its content: "treebank", "trees", "skeleton" (with its words) or "labelled examples"."""
    if JOIN in str(path) and not path.exists():
        return Skeleton.name
    number, line = next(((number, line) for number, line in numbered_lines(path) if line.strip()), (0, ""))
    if not number:
        raise UserError(f"there are no sentences in {path}; give a file with some")
    for kind, looks in LOOKS.items():
        if looks.match(line.lstrip()):
            return kind
    if BLANKED in line.split():
        raise UserError(
            f"{path} has its words blanked out; give the treebank that has them too, FILE.conllu{JOIN}{path}"
        )
    known = "CoNLL-U, bracketed trees or labels with trees"
    raise UserError(f"line {number} of {path} ({line.strip()[:30]!r}) is not the first of {known}; give such a file")


def read_gold(path: Path, need: str, *, skipped: Counter[str] | None = None) -> Iterator[Sentence]:
    """All sentences of a file, in their order, if any of them has what is needed; the others may lack it.

    A file is searched for the first that has it, and then read again from its beginning; only labelled examples are
    kept in memory. Those whose label annotators did not agree on are left out, and counted in `skipped`.
    """
    look_up("need", need, NEEDS)
    kind = kind_of(path)
    if kind == LABELLED:
        examples = read_annotated_examples(path, skipped=skipped)
        sentences = [sentence for example in examples for sentence in example.sentences]
    else:
        corpus = KINDS[kind]((str(path),))  # type: ignore[call-arg]  # every member is a dataclass of its files

    def read() -> Iterator[Sentence]:
        return iter(sentences) if kind == LABELLED else corpus.read(path)

    if need in MAY_HAVE[kind] and any(map(HAS[need], read())):
        return read()
    first = next(read(), None)
    if first is None:
        raise UserError(f"there are no sentences in {path}; give a file with some")
    line = first.where.removeprefix(f"{path.name} ")
    lacks = f"{path} has no {need} (its first sentence, {line}, has none, nor has any other)"
    raise UserError(f"{lacks}; give a file with {need}, {NEEDS[need]}")

"""Files with what people said of sentences: dependencies, phrases, roles or labels; a file that lacks it is told so."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from wherewhat.corpora.base import Files
from wherewhat.corpora.brackets import Trees
from wherewhat.corpora.cases import read_cases
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.skeleton import BLANKED, JOIN, Skeleton
from wherewhat.corpora.treebank import Treebank
from wherewhat.errors import UserError
from wherewhat.names import look_up

NEEDS: dict[str, str] = {
    "dependencies": "the governor of every word: CoNLL-U files of Universal Dependencies have them",
    "phrases": "the words that belong together: trees in brackets have them, (S (NP ...) (VP ...)), as in the Penn "
    "Treebank or in SNLI",
    "roles": "who does what to whom: CoNLL-U files of Universal Propositions have them (Roleset= and Args= in the last "
    f"column, or a column for every predicate), or one with PropBank's skeletons beside, WORDS.conllu{JOIN}SKELETONS",
    "labels": "the right answers: SNLI and MultiNLI have them (.jsonl), or lines of label<TAB>(S ...)",
}
HAS: dict[str, Callable[[Sentence], bool]] = {
    "dependencies": lambda one: bool(one.head),
    "phrases": lambda one: bool(one.spans),
    "roles": lambda one: any(predicate.roles for predicate in one.preds),
    "labels": lambda one: True,  # only cases may have them, and each has its own
}
CASES = "cases"
KINDS: dict[str, type[Files]] = {"treebank": Treebank, "trees": Trees, "skeleton": Skeleton}
MAY_HAVE: dict[str, set[str]] = {
    "treebank": {"dependencies", "roles"},
    "trees": {"phrases"},
    "skeleton": {"dependencies", "phrases", "roles"},
    CASES: {"phrases", "labels"},
}
LOOKS: dict[str, re.Pattern[str]] = {  # by the first line that is not blank
    "treebank": re.compile(r"#|\d+(-\d+|\.\d+)?\t(?!\s*\([^\t]*[ (])"),  # a tree behind a number: that is a label
    "trees": re.compile(r"\("),
    CASES: re.compile(r"\{|[^\t]+\t\s*\(|label\t", re.IGNORECASE),
}


def kind_of(path: Path) -> str:
    """What a file is: "treebank", "trees", "skeleton" (words and PropBank's marks apart) or "cases"; by its content."""
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
    known = "CoNLL-U, trees in brackets or labels with trees"
    raise UserError(f"line {number} of {path} ({line.strip()[:30]!r}) is not the first of {known}; give such a file")


def read_gold(path: Path, need: str, *, skipped: Counter[str] | None = None) -> Iterator[Sentence]:
    """All sentences of a file, in their order, if any of them has what is needed; the others may lack it.

    A file is looked through until the first that has it, and then read again from its beginning; only cases are kept.
    Those without a label that people agreed on are left out, and counted in `skipped`.
    """
    look_up("need", need, NEEDS)
    kind = kind_of(path)
    read = _reader(path, kind, skipped)
    if need not in MAY_HAVE[kind] or not any(map(HAS[need], read())):
        raise UserError(_lacking(path, next(read(), None), need))
    return read()


def _reader(path: Path, kind: str, skipped: Counter[str] | None) -> Callable[[], Iterator[Sentence]]:
    """How to read the sentences of a file from its beginning, as often as one likes."""
    if kind == CASES:
        sentences = [sentence for case in read_cases(path, skipped=skipped) for sentence in case.sentences]
        return lambda: iter(sentences)
    corpus = KINDS[kind]((str(path),))  # type: ignore[call-arg]  # every member is a dataclass of its files
    return lambda: corpus.read(path)


def _lacking(path: Path, first: Sentence | None, need: str) -> str:
    if first is None:
        return f"there are no sentences in {path}; give a file with some"
    line = first.where.removeprefix(f"{path.name} ")
    told = f"{path} has no {need} (its first sentence, {line}, has none, nor has any other)"
    return f"{told}; give a file with {need}, {NEEDS[need]}"

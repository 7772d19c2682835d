"""Where sentences come from: the grammar, or files of several languages, side by side or sentence by sentence."""

from collections.abc import Sequence
from heapq import nsmallest
from pathlib import Path

from wherewhat.capture.aligning import ACROSS, APART, MISSING, cannot_align
from wherewhat.capture.load import Subject
from wherewhat.capture.texts import check_known
from wherewhat.corpora.gold import read_gold
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.probes.dependencies.asking import Asking
from wherewhat.probes.dependencies.sentences import Treebank, made_ready
from wherewhat.tasks.stream import fnv, mix

GRAMMAR = "grammar"
SHARED = 0.5  # of the shortest treebank: from so many equal ids on, treebanks are translations of one another
ELSEWHERE = "missing in another treebank"
LEAST = 2  # sentences, one for each half


def treebanks_of(subject: Subject, files: Sequence[Path], asking: Asking) -> list[Treebank]:
    """Every file by itself, or sentences of the grammar where there is none."""
    most = asking.most_for(not files)
    if not files:
        corpus = subject.corpus if isinstance(subject.corpus, Grammar) else Grammar()
        sentences = corpus.some("test", most, seed=asking.seed)
        return [_checked(subject, made_ready(subject, enumerate(sentences), GRAMMAR, GRAMMAR))]
    found = []
    for name, path in zip(_names(files), files, strict=True):
        chosen = _some(list(enumerate(read_gold(path, "dependencies"))), most, asking.seed)
        found.append(_checked(subject, made_ready(subject, chosen, name, str(path))))
    return found


def _names(files: Sequence[Path]) -> list[str]:
    """What treebanks are called: their files' names, with folders where these are the same."""
    stems = [path.stem for path in files]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, files, strict=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{twice} is named twice; name each treebank once")
    return names


def _some(sentences: list[tuple[int, Sentence]], most: int, seed: int) -> list[tuple[int, Sentence]]:
    """So many from all over a file, in its order; those of the same id are chosen from every file."""

    def drawn(numbered: tuple[int, Sentence]) -> int:
        return mix(fnv(numbered[1].annotation.id or numbered[1].text) ^ mix(seed))

    return sorted(nsmallest(most, sentences, key=drawn), key=lambda numbered: numbered[0])


def _checked(subject: Subject, treebank: Treebank) -> Treebank:
    """Refuse a treebank that a model cannot read."""
    if len(treebank.sentences) >= LEAST:
        check_known(subject, [one.aligned.ids_T for one in treebank.sentences])
        return treebank
    reasons = "; ".join(f"{many} {why}" for why, many in treebank.skipped.most_common()) or "it holds none"
    if treebank.skipped and treebank.skipped.most_common(1)[0][0] in (ACROSS, MISSING, APART):
        raise UserError(f"{cannot_align(subject)} ({reasons})")
    few = len(treebank.sentences)
    raise UserError(f"{few} sentence(s) of {treebank.source} can be used ({reasons}); give at least {LEAST}")


def side_by_side(treebanks: Sequence[Treebank]) -> tuple[list[Treebank], bool]:
    """The same sentences of all treebanks if these are translations, told by their ids; and whether they are."""
    named = [[one.id for one in treebank.sentences] for treebank in treebanks]
    if len(treebanks) < 2 or any("" in ids or len(set(ids)) < len(ids) for ids in named):
        return list(treebanks), False
    shared = set(named[0]).intersection(*named[1:])
    if len(shared) < max(LEAST, SHARED * min(map(len, named))):
        return list(treebanks), False
    order = [id for id in named[0] if id in shared]
    return [treebank.only(order, ELSEWHERE) for treebank in treebanks], True

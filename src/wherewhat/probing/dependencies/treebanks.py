"""Where sentences come from: the grammar, or files of several languages, side by side or sentence by sentence."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.align import ACROSS, APART, MISSING, cannot_align
from wherewhat.capture.tokens.encode import check_known
from wherewhat.corpora.gold import read_gold
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.sentences import Treebank, made_ready
from wherewhat.probing.dependencies.settings import Asking
from wherewhat.probing.naming import names_of
from wherewhat.tasks.stream import fnv, mix

GRAMMAR = "grammar"
SHARED = 0.5  # of the shortest treebank: from so many equal ids on, treebanks are translations of one another
ELSEWHERE = "missing in another treebank"
LEAST = 2  # sentences, one for each half
LOOKED_AT = 16  # times as many sentences of the grammar as are wanted, before it is given up


def treebanks_of(model: LoadedModel, files: Sequence[Path], asking: Asking) -> list[Treebank]:
    """Every file by itself, or sentences of the grammar where there is none."""
    most = asking.most_for(not files)
    if not files:
        corpus = model.corpus if isinstance(model.corpus, Grammar) else Grammar()
        drawn = enumerate(_of_grammar(corpus, most, asking.seed))
        return [_checked(model, made_ready(model, drawn, GRAMMAR, GRAMMAR, most=most))]
    found = []
    for name, path in zip(names_of(files), files, strict=True):
        from_file = _drawn(list(enumerate(read_gold(path, "dependencies"))), asking.seed)
        found.append(_checked(model, made_ready(model, from_file, name, str(path), most=most)))
    return found


def _of_grammar(corpus: Grammar, most: int, seed: int) -> Iterator[Sentence]:
    """Sentences one after the other; more than are wanted, as some may be of no use."""
    have, wanted = 0, most
    while have < LOOKED_AT * most:
        yield from corpus.some("test", wanted, seed=seed)[have:]
        have, wanted = wanted, 2 * wanted


def _drawn(sentences: list[tuple[int, Sentence]], seed: int) -> list[tuple[int, Sentence]]:
    """From all over a file, in an order that the seed decides; those of the same id come alike in every file."""

    def drawn(numbered: tuple[int, Sentence]) -> int:
        return mix(fnv(numbered[1].annotation.id or numbered[1].text) ^ mix(seed))

    return sorted(sentences, key=drawn)


def _checked(model: LoadedModel, treebank: Treebank) -> Treebank:
    """Refuse a treebank that a model cannot read."""
    if len(treebank.sentences) >= LEAST:
        check_known(model, [one.aligned.ids_T for one in treebank.sentences])
        return treebank
    reasons = "; ".join(f"{many} {why}" for why, many in treebank.skipped.most_common()) or "it holds none"
    if treebank.skipped and treebank.skipped.most_common(1)[0][0] in (ACROSS, MISSING, APART):
        raise UserError(f"{cannot_align(model)} ({reasons})")
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

"""Where cases come from: the grammar, our own pairs for a classifier that knows their labels, or files."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import count, islice
from pathlib import Path

from wherewhat.capture.outputs.classifier import LABELS, labels_of
from wherewhat.capture.outputs.mean_states import fits
from wherewhat.corpora.cases import Case, read_cases
from wherewhat.corpora.gold import CASES, kind_of, read_gold
from wherewhat.corpora.grammar import MOST, Grammar
from wherewhat.corpora.pairs import CONTENT, EXCHANGED, ROLES, SHORT, content_case, role_case
from wherewhat.errors import UserError
from wherewhat.probing.naming import names_of
from wherewhat.probing.swapped.reading import Reader
from wherewhat.probing.swapped.trials import original_of
from wherewhat.tasks.stream import Stream, fnv, mix

GRAMMAR = "grammar"
TOO_LONG = "longer than the model allows"
LOOKED_AT = 200  # times as many sentences of an endless source as are wanted, before it is given up
OWN_PAIRS = {"roles": (ROLES, role_case), "content": (CONTENT, content_case)}

Refuse = Callable[[Case], str | None]  # why a case cannot be used, if it cannot


@dataclass(frozen=True)
class Data:
    """Cases of one source, and what was left out of it."""

    name: str
    source: str
    cases: tuple[Case, ...]
    labelled: bool = False
    question: str | None = None  # whose rule says what becomes of a label when roles are exchanged
    skipped: tuple[tuple[str, int], ...] = ()  # why, and how many
    spare: int = 0  # could have been used, but so many were not asked for

    @property
    def pairs(self) -> bool:
        """Whether its cases are pairs of sentences."""
        return any(len(case.sentences) == 2 for case in self.cases)

    @property
    def hash(self) -> str:
        """Of all texts and their labels."""
        lines = ("\t".join((case.label, *original_of(case))) for case in self.cases)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class Choosing:
    """How cases are chosen: how many, by which seed, what makes one unusable, and what files have to hold."""

    most: int
    seed: int
    need: str  # phrases or roles
    refuse: Refuse

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UserError(f"max_sentences is {self.most}; take at least 1")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")


def gather(reader: Reader, files: Sequence[Path], choosing: Choosing) -> list[Data]:
    """The cases to put to a model: of every file, or our own."""
    if not files:
        return [_ours(reader, choosing)]
    return [_of_file(reader, path, name, choosing) for path, name in zip(files, names_of(files), strict=True)]


def _ours(reader: Reader, choosing: Choosing) -> Data:
    """Pairs of our own for a classifier that has their labels, else sentences of the grammar."""
    question = own_question(reader.labels)
    if question is None and (learnt := learnt_pairs(reader)):
        raise UserError(
            f"{reader.model.id} learnt to judge pairs ({', '.join(learnt)}), and our own pairs have no labels "
            f"{', '.join(reader.labels)}; leave --labels out, or give pairs with these labels with --treebank"
        )
    corpus = reader.model.corpus if isinstance(reader.model.corpus, Grammar) else Grammar()
    first = Stream(corpus.seed, "probe from", question or GRAMMAR, choosing.seed).below(MOST)
    if question is None:
        sentences = (corpus.sentence("test", first + place) for place in count())
        endless: Iterator[Case] = (Case((sentence,), "", sentence.where) for sentence in sentences)
    else:
        labels, make = OWN_PAIRS[question]
        first -= first % len(labels)  # from the beginning of a block that has every label as often
        endless = (make(corpus.seed, "test", first + place, max_premise=SHORT) for place in count())
    most = LOOKED_AT * choosing.most
    cases, skipped = _sifted(reader, islice(endless, most), choosing, until=choosing.most)
    _check_any(cases, skipped, "the grammar")
    return Data(GRAMMAR, GRAMMAR, tuple(cases), question is not None, question, tuple(skipped.items()))


def _of_file(reader: Reader, path: Path, name: str, choosing: Choosing) -> Data:
    """Some cases of a file, chosen by their texts and the seed."""
    unread: Counter[str] = Counter()
    sentences = read_gold(path, choosing.need)  # refuses a file that lacks what is needed
    labelled = kind_of(path) == CASES
    if labelled:
        read: Iterable[Case] = read_cases(path, skipped=unread)
    else:
        read = (Case((sentence,), "", sentence.where) for sentence in sentences)
    found, skipped = _sifted(reader, read, choosing)
    cases = nsmallest(choosing.most, found, key=lambda case: _drawn(case, choosing.seed))
    skipped = unread + skipped
    _check_any(cases, skipped, str(path))
    judged = labelled and reader.way == LABELS
    if judged:
        _check_labels(reader, cases, path)
    question = rule_of({case.label for case in cases}) if judged else None
    return Data(name, str(path), tuple(cases), judged, question, tuple(skipped.items()), len(found) - len(cases))


def _sifted(
    reader: Reader, cases: Iterable[Case], choosing: Choosing, until: int | None = None
) -> tuple[list[Case], Counter[str]]:
    """Those that can be used, as many as wanted if that is said, and why others cannot."""
    found, skipped = list[Case](), Counter[str]()
    for case in cases:
        why = choosing.refuse(case) or (None if fits(reader.model, original_of(case)) else TOO_LONG)
        if why is None:
            found.append(case)
        else:
            skipped[why] += 1
        if until is not None and len(found) == until:
            break
    return found, skipped


def _drawn(case: Case, seed: int) -> int:
    return mix(fnv("\t".join(original_of(case))) ^ mix(seed))


def _check_any(cases: Sequence[Case], skipped: Counter[str], source: str) -> None:
    if not cases:
        reasons = "; ".join(f"{many} {why}" for why, many in skipped.most_common()) or "it holds none"
        raise UserError(f"no sentence of {source} can be used ({reasons}); give others with --treebank")


def _check_labels(reader: Reader, cases: Sequence[Case], path: Path) -> None:
    """Every label of the file is one that the model can give."""
    theirs = sorted({case.label for case in cases})
    if not {label.casefold() for label in theirs} <= {label.casefold() for label in reader.labels}:
        raise UserError(
            f"the labels of {path} are {', '.join(theirs)} and those of {reader.model.id} are "
            f"{', '.join(reader.labels)}; say with --labels what the model's are called, in its own order"
        )


def own_question(labels: Sequence[str]) -> str | None:
    """Our own question about pairs that has just these labels, in any order.

    >>> own_question(["Reversed", "other", "entailed"])
    'roles'
    """
    given = {label.casefold() for label in labels}
    return next((name for name, (own, _) in OWN_PAIRS.items() if set(own) == given), None)


def learnt_pairs(reader: Reader) -> tuple[str, ...]:
    """The labels of a classifier that learnt what becomes of pairs, by its own names for them; of others none."""
    own = labels_of(reader.model) if reader.way == LABELS else ()
    return own if own and rule_of(set(own)) else ()


def rule_of(labels: set[str]) -> str | None:
    """The question whose rule says what becomes of each of these labels when roles are exchanged.

    >>> rule_of({"entailment", "neutral"}), rule_of({"good", "bad"})
    ('content', None)
    """
    given = {label.casefold() for label in labels}
    return next((name for name, rule in EXCHANGED.items() if given <= set(rule)), None)

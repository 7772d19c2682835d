"""Three words in which a woman does something to a man, or he to her: nothing but their order says who does it."""

from dataclasses import replace

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.cases import Case
from wherewhat.corpora.twins import GENDERS, Twins, all_names
from wherewhat.probing.role_claims import ROLES
from wherewhat.probing.roles import Exchanges
from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.outcome import Item

WOMAN, MAN = GENDERS
EXCHANGED = {WOMAN: MAN, MAN: WOMAN}  # what becomes of the right answer when the two change places
NOW = frozenset(verb.now[lex.SG].form for verb in lex.REVERSIBLE)  # what nets read is never about the past
# One rate is tried, so that nothing is chosen by valid twins: they are judged by too, as there are few.
FROM = {"train": ("train",), "valid": ("valid",), "test": ("valid", "test")}


def cases(seed: int, split: str, count: int) -> list[Case]:
    """The first twins, or all if there are fewer: of each both sentences. They are the same for every seed.

    >>> [(case.sentences[0].text, case.label) for case in cases(0, "train", 1)]
    [('maria sees peter', 'woman'), ('peter sees maria', 'man')]
    """
    return [
        Case((sentence,), label, sentence.where)
        for pair in _twins(split)[:count]
        for sentence, label in zip(pair, GENDERS, strict=True)
    ]


def _twins(split: str) -> list[Twins]:
    return [pair for part in FROM[split] for pair in all_names(part) if pair[0].words[1] in NOW]


def items(data: Data, seed: int) -> list[Item]:
    """The two exchanged, beside a control. Shuffled otherwise, three words no longer say who does it."""
    exchange = next(item for item in Exchanges(seed=seed).items(data) if item.name == ROLES)
    trials = (replace(trial, answer=EXCHANGED[data.cases[trial.case].label]) for trial in exchange.trials)
    return [Item(ROLES, tuple(trials), {})]

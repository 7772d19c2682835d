"""A few pairs in words, as they are and under every swap, for people to look at."""

from collections.abc import Iterator
from typing import Any

from wherewhat.corpora.cases import Case
from wherewhat.corpora.pairs import usable_roles
from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.role_claims import ROLES, VOICE
from wherewhat.probing.swapped.outcome import Item
from wherewhat.probing.swapped.trials import Trial
from wherewhat.probing.swaps.exchanging import exchange_roles
from wherewhat.probing.swaps.voices import other_voice
from wherewhat.studies.word_swap.job import Job
from wherewhat.studies.word_swap.questions import NAMES
from wherewhat.studies.word_swap.questions import ROLES as PAIRS

SHOWN = (NAMES, PAIRS)  # questions whose labels change for a reason that one can read
Example = dict[str, Any]


def examples_of(job: Job) -> list[Example]:
    """Of every swap the case of some length that has a control if any has."""
    return [
        _example(item, _chosen(item), job.data(question).cases)
        for question in SHOWN
        if any(asking.question == question for asking in job.scale.askings)
        for item in job.items(question)
    ]


def _chosen(item: Item) -> Trial:
    """The longest that has a control, or the longest if none has; the first of equals."""

    def worth(trial: Trial) -> tuple[bool, int]:
        return trial.control is not None, sum(len(turned.words) for turned in trial.swapped)

    return max(item.trials, key=worth)


def _example(item: Item, trial: Trial, cases: tuple[Case, ...]) -> Example:
    case = cases[trial.case]
    sentences = list(_sentences(item, trial, case))
    return {"item": item.name, "label": case.label, "new": trial.answer, "sentences": sentences}


def _sentences(item: Item, trial: Trial, case: Case) -> Iterator[Example]:
    for place, sentence in enumerate(case.sentences):
        now, control = trial.swapped[place], None if trial.control is None else trial.control[place]
        told = {"words": sentence.words, "swapped": now.words, "order": now.order, "spans": now.spans}
        if control is not None and control.words != sentence.words:
            told |= {"control": control.words, "control_order": control.order, "control_spans": control.spans}
        after = _after(item, sentence) if now.words != sentence.words else None
        yield told | ({"roles": _roles(sentence), "swapped_roles": _roles(after)} if after else {})


def _after(item: Item, sentence: Sentence) -> Sentence | None:
    """The sentence after a swap that leaves a sentence of the grammar."""
    if item.name == VOICE:
        return other_voice(sentence)
    exchange = exchange_roles(sentence) if item.name == ROLES else None
    return exchange.sentence if exchange else None


def _roles(sentence: Sentence) -> dict[str, tuple[int, int]]:
    """Where agent and patient stand."""
    roles = usable_roles(sentence)
    return {role.role: (role.start, role.end) for role in roles} if roles else {}

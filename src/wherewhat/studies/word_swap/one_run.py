"""One run: learn to read, be fine-tuned on each question, and answer about cases as they are and swapped."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import numpy as np

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.words import Words
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.role_claims import ROLES
from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.outcome import Item
from wherewhat.probing.swapped.trials import Reading
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.word_swap.counting import LARGEST, Floats, Heard, counted, share
from wherewhat.studies.word_swap.job import Job
from wherewhat.studies.word_swap.settings import Asking
from wherewhat.training.finetune import answered, finetune
from wherewhat.training.loop import train
from wherewhat.training.threads import threads

OFTEN = 20  # steps from one word about progress to the next
ORIGINAL, EXCHANGE, BARE = "original", "exchange", "bare names"
Tell = Callable[[int], None]  # takes how many steps are done


def timed_run(job: Job, tell: Tell) -> tuple[list[Row], float]:
    """A run, and how many seconds it took."""
    began = perf_counter()
    return run(job, tell), perf_counter() - began


def run(job: Job, tell: Tell) -> list[Row]:
    """Everything that is measured of one encoding from one seed. It does not depend on the machine's threads."""
    with threads(1):
        trained = train(job.reading(), on_step=lambda step, measured: None if step % OFTEN else tell(step))
        assert trained.words is not None
        rows, done = [job.row("", "word accuracy", trained.accuracy)], job.scale.steps
        for asking in job.scale.askings:
            rows += question_rows(job, trained.net, trained.words, asking)
            done += asking.steps
            tell(done)
    return rows


def question_rows(job: Job, net: Trunk, words: Words, asking: Asking) -> Iterator[Row]:
    """Fine-tune a copy of the net on a question, and put every swap to it."""
    tuned = finetune(net, words, job.asked(asking), job.scale.tuning(asking, job.seed)).net
    heard = Hearing(tuned, words, job.data(asking.question))
    question = asking.question
    yield job.row(item_name(question, ORIGINAL), "accuracy", *share(heard.right_N))
    for item in job.items(question):
        for measure, numbers in counted(heard.under(item)):
            yield job.row(item_name(question, swap_name(item)), measure, *numbers)
    yield job.row(item_name(question, BARE), LARGEST, names_moved(tuned, words))


def item_name(question: str, swap: str) -> str:
    """What a question under a swap is called in the table.

    >>> item_name("roles", "whole")
    'roles, whole'
    """
    return f"{question}, {swap}"


def swap_name(item: Item) -> str:
    """What a swap is called in the table; a question is called roles already."""
    return EXCHANGE if item.name == ROLES else item.name


class Hearing:
    """A net that answers, and cases with its answers as they are."""

    def __init__(self, net: Trunk, words: Words, data: Data) -> None:
        self.net, self.words, self.data = net, words, data
        self.number = {label: place for place, label in enumerate(net.config.labels)}
        self.before_NA = self.said([_original(data, number) for number in range(len(data.cases))])
        self.old_N = np.array([self.number[case.label] for case in data.cases], np.int64)

    @property
    def right_N(self) -> np.ndarray:
        """Which cases are answered right as they are."""
        return np.asarray(self.before_NA.argmax(1) == self.old_N)

    def said(self, texts: Sequence[tuple[str, ...]]) -> Floats:
        """The probabilities of the labels for some texts."""
        return np.asarray(answered(self.net, self.words, texts).double().softmax(-1).numpy())

    def under(self, item: Item) -> Heard:
        """What it answers to the same cases under a swap, and under its control."""
        cases_N = np.array([trial.case for trial in item.trials], np.int64)
        controls = [(place, trial.control) for place, trial in enumerate(item.trials) if trial.control is not None]
        control_NA = np.full((len(cases_N), len(self.number)), np.nan)
        if controls:
            control_NA[[place for place, _ in controls]] = self.said([_read(reading) for _, reading in controls])
        new_N = np.array([self.number[str(trial.answer)] for trial in item.trials], np.int64)
        after_NA = self.said([_read(trial.swapped) for trial in item.trials])
        return Heard(self.before_NA[cases_N], after_NA, control_NA, self.old_N[cases_N], new_N)


def _original(data: Data, number: int) -> tuple[str, ...]:
    return tuple(word for sentence in data.cases[number].sentences for word in sentence.words)


def _read(reading: Reading) -> tuple[str, ...]:
    """The words of all sentences of a swapped case, one after the other."""
    return tuple(word for turned in reading for word in turned.words)


def names_moved(net: Trunk, words: Words) -> float:
    """The most that any probability moves when two bare names change places: `maria sees peter`, without a full stop.

    Read from behind, one is the other: where an encoding knows distances but no sides, it is 0.
    """
    names = [name.form for name in lex.NAMES]
    verbs = [verb.now["sg"].form for verb in lex.REVERSIBLE]
    texts = [(one, verb, other) for one in names for other in names if one < other for verb in verbs]
    one_NA, other_NA = (
        answered(net, words, [text[::way] for text in texts]).double().softmax(-1).numpy() for way in (1, -1)
    )
    return float(np.abs(one_NA - other_NA).max())

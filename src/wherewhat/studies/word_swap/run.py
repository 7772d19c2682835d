"""One run: pre-train a net, fine-tune it on each question, and test it on original and swapped examples."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.role_claims import ROLES
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.swapped_example import ExampleVersion, SwapItem
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.word_swap.answer_measures import LARGEST, AnswersUnderSwap, Floats, answer_measures, share
from wherewhat.studies.word_swap.job import WordSwapJob
from wherewhat.studies.word_swap.settings import QuestionTraining
from wherewhat.training.finetune import answered, finetune
from wherewhat.training.loop import threads, train

REPORT_EVERY = 20  # steps between two reports of progress
ORIGINAL, ROLE_SWAP, BARE_NAMES = "original", "exchange", "bare names"  # names of items in the table
OnSteps = Callable[[int], None]  # called with the number of steps done


def run(job: WordSwapJob, on_steps: OnSteps) -> list[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    with threads(1):
        trained = train(
            job.training_settings(), on_step=lambda step, measured: None if step % REPORT_EVERY else on_steps(step)
        )
        assert trained.words is not None
        rows, done = [job.row("", "word accuracy", trained.accuracy)], job.scale.steps
        for training in job.scale.questions:
            rows += question_rows(job, trained.net, trained.words, training)
            done += training.steps
            on_steps(done)
    return rows


def question_rows(job: WordSwapJob, net: Trunk, words: WordVocabulary, training: QuestionTraining) -> Iterator[Row]:
    """Fine-tune a copy of the net on a question, and test it under every swap."""
    question = training.question
    tuned = finetune(net, words, job.dataset(training), job.scale.finetuning(training, job.seed)).net
    tested = NetUnderTest(tuned, words, job.data(question))
    yield job.row(item_name(question, ORIGINAL), "accuracy", *share(tested.right_N))
    for item in job.items(question):
        for measure, numbers in answer_measures(tested.answers(item)):
            yield job.row(item_name(question, swap_name(item)), measure, *numbers)
    yield job.row(item_name(question, BARE_NAMES), LARGEST, bare_names_change(tuned, words))


def item_name(question: str, swap: str) -> str:
    """The name of a question under a swap in the table.

    >>> item_name("roles", "whole")
    'roles, whole'
    """
    return f"{question}, {swap}"


def swap_name(item: SwapItem) -> str:
    """The name of a swap in the table, where roles is already a question."""
    return ROLE_SWAP if item.name == ROLES else item.name


class NetUnderTest:
    """A fine-tuned net, test examples, and its answers to them before any swap."""

    def __init__(self, net: Trunk, words: WordVocabulary, data: ProbeDataset) -> None:
        self.net, self.words, self.data = net, words, data
        self.label_index = {label: place for place, label in enumerate(net.config.labels)}
        self.before_NA = self.probabilities([_words(example.sentences) for example in data.examples])
        self.old_N = np.array([self.label_index[example.label] for example in data.examples], np.int64)

    @property
    def right_N(self) -> np.ndarray:
        """Which examples are answered right before any swap."""
        return np.asarray(self.before_NA.argmax(1) == self.old_N)

    def probabilities(self, texts: Sequence[tuple[str, ...]]) -> Floats:
        """The probabilities of the labels for every text."""
        return np.asarray(answered(self.net, self.words, texts).double().softmax(-1).numpy())

    def answers(self, item: SwapItem) -> AnswersUnderSwap:
        """The answers to the examples before and after a swap, and after its control."""
        index_N = np.array([example.index for example in item.examples], np.int64)
        controls = [
            (place, example.control) for place, example in enumerate(item.examples) if example.control is not None
        ]
        control_NA = np.full((len(index_N), len(self.label_index)), np.nan)
        if controls:
            control_NA[[place for place, _ in controls]] = self.probabilities(
                [_words(control) for _, control in controls]
            )
        new_N = np.array([self.label_index[str(example.answer)] for example in item.examples], np.int64)
        after_NA = self.probabilities([_words(example.swapped) for example in item.examples])
        return AnswersUnderSwap(self.before_NA[index_N], after_NA, control_NA, self.old_N[index_N], new_N)


def _words(sentences: Sequence[Sentence] | ExampleVersion) -> tuple[str, ...]:
    """The words of all sentences of an example, original or swapped, in order."""
    return tuple(word for sentence in sentences for word in sentence.words)


def bare_names_change(net: Trunk, words: WordVocabulary) -> float:
    """The largest change of any probability when two bare names are swapped: `maria sees peter`, without a full stop.

    One text is the other reversed, so it is 0 for an encoding that knows distances but not sides.
    """
    names = [name.form for name in lex.NAMES]
    verbs = [verb.now["sg"].form for verb in lex.REVERSIBLE]
    texts = [(agent, verb, patient) for agent in names for patient in names if agent < patient for verb in verbs]
    original_NA, swapped_NA = (
        answered(net, words, [text[::way] for text in texts]).double().softmax(-1).numpy() for way in (1, -1)
    )
    return float(np.abs(original_NA - swapped_NA).max())

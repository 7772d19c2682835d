"""One run: pre-train a net, fine-tune it on each question, and test it on original and swapped examples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.probing.role_claims import ROLES as ROLE_ITEM
from wherewhat.probing.swap_probe.swapped_example import SentenceVersion
from wherewhat.stats.intervals import student, wilson
from wherewhat.studies.engine.encodings import EncodingCondition, bias_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.word_swap import names
from wherewhat.studies.word_swap.claims import CLAIMS
from wherewhat.studies.word_swap.names import CONTENT, item_name
from wherewhat.studies.word_swap.notes import notes_of
from wherewhat.studies.word_swap.questions import evaluation_data, examples_in_words, training_data
from wherewhat.studies.word_swap.results import learnt, summary_rows
from wherewhat.studies.word_swap.settings import SCALES, WordSwapScale
from wherewhat.tables.manifest.decode import encode
from wherewhat.training.finetune import answered, finetune
from wherewhat.training.loop import threads, train

REPORT_EVERY = 20  # steps between two reports of progress
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]  # by index
Marks = NDArray[np.bool_]
Numbers = tuple[float, float | None, float | None]  # a value, and its interval over examples
Measure = tuple[str, str, Numbers]  # an item of the table, and a measure of it


def run(condition: EncodingCondition, scale: WordSwapScale, seed: int, context: JobContext) -> list[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    with threads(1):
        trained = train(
            scale.pretraining(condition, seed),
            on_step=lambda step, measured: None if step % REPORT_EVERY else context.step(step),
        )
        assert trained.words is not None
        measurements: list[Measure] = [("", "word accuracy", (trained.accuracy, None, None))]
        done = scale.steps
        for training in scale.questions:
            data = training_data(training.question, training.premises, scale.valid)
            tuned = finetune(trained.net, trained.words, data, scale.finetuning(training, seed)).net
            measurements += question_measures(tuned, trained.words, training.question, seed, scale.test)
            done += training.steps
            context.step(done)
    return [("run", condition.name, item, None, seed, measure, *numbers) for item, measure, numbers in measurements]


def question_measures(net: Trunk, words: WordVocabulary, question: str, seed: int, number: int) -> Iterator[Measure]:
    """Test a net that was fine-tuned on a question: on original examples, under every swap, and on bare names."""

    def read(examples: Iterable[Iterable[Sentence | SentenceVersion]]) -> Floats:
        return probabilities(net, words, [tuple(word for each in parts for word in each.words) for parts in examples])

    data, items = evaluation_data(question, seed, number)
    index = {label: place for place, label in enumerate(net.config.labels)}
    before_NA = read(example.sentences for example in data.examples)
    old_N = np.array([index[example.label] for example in data.examples], np.int64)
    yield item_name(question, names.ORIGINAL), names.AFTER, share(before_NA.argmax(1) == old_N)
    for item in items:
        swap = names.ROLE_SWAP if item.name == ROLE_ITEM else item.name  # in the table, roles is already a question
        chosen_N = np.array([example.index for example in item.examples], np.int64)
        new_N = np.array([index[str(example.answer)] for example in item.examples], np.int64)
        after_NA = read(example.swapped for example in item.examples)
        control_NA = np.full_like(after_NA, np.nan)
        controls = {place: each.control for place, each in enumerate(item.examples) if each.control is not None}
        if controls:
            control_NA[list(controls)] = read(controls.values())
        measures = answer_measures(before_NA[chosen_N], after_NA, control_NA, old_N[chosen_N], new_N)
        yield from ((item_name(question, swap), measure, numbers) for measure, numbers in measures)
    yield item_name(question, names.BARE_NAMES), names.LARGEST, (bare_names_change(net, words), None, None)


def probabilities(net: Trunk, words: WordVocabulary, texts: Sequence[tuple[str, ...]]) -> Floats:
    """The probabilities of the labels for every text."""
    return np.asarray(answered(net, words, texts).double().softmax(-1).numpy())


def bare_names_change(net: Trunk, words: WordVocabulary) -> float:
    """The largest change of any probability when two bare names are swapped: `maria sees peter`, without a full stop.

    One text is the other reversed, so it is 0 for an encoding that knows distances but not sides.
    """
    persons = [name.form for name in lex.NAMES]
    verbs = [verb.now["sg"].form for verb in lex.REVERSIBLE]
    texts = [(agent, verb, patient) for agent in persons for patient in persons if agent < patient for verb in verbs]
    original_NA, swapped_NA = (probabilities(net, words, [text[::way] for text in texts]) for way in (1, -1))
    return float(np.abs(original_NA - swapped_NA).max())


def answer_measures(
    before_NA: Floats, after_NA: Floats, control_NA: Floats, old_N: Labels, new_N: Labels
) -> Iterator[tuple[str, Numbers]]:
    """Every measure with its interval over examples, from probabilities and right labels before and after a swap.

    Examples without a control have NaN there. Measures without examples are left out.
    """
    before_N, after_N, control_N = (probability_NA.argmax(1) for probability_NA in (before_NA, after_NA, control_NA))
    was_N, now_N, changing_N, has_N = before_N == old_N, after_N == new_N, old_N != new_N, np.isfinite(control_NA[:, 0])
    yield names.CASES, (float(len(was_N)), None, None)
    yield names.BEFORE, share(was_N)
    yield names.AFTER, share(now_N)
    yield names.CHANGE, difference(now_N, was_N)
    yield names.OLD, share(after_N == old_N)
    if has_N.any():
        right_N = control_N == old_N  # a control changes no label
        yield names.CONTROL_CHANGE, difference(right_N[has_N], was_N[has_N])
        yield names.BEYOND_CONTROL, difference(now_N[has_N], right_N[has_N])
    counted_N = was_N & changing_N if changing_N.any() else was_N
    marks = {
        names.FLIP: (after_N != before_N)[counted_N],
        names.CONTROL_FLIP: (control_N != before_N)[counted_N & has_N],
        names.FOLLOWED: now_N[was_N & changing_N],
    }
    yield from ((measure, share(marks_N)) for measure, marks_N in marks.items() if marks_N.size)
    moved_NA = np.abs(after_NA - before_NA)
    yield names.SHIFT, mean(moved_NA.sum(1) / 2)
    yield names.LARGEST, (float(moved_NA.max()), None, None)


def share(marks_N: Marks) -> Numbers:
    """A share with its interval (Wilson's).

    >>> share(np.array([True, True, False, True]))[0]
    0.75
    """
    value = float(marks_N.mean())
    return value, *wilson(value, len(marks_N))


def difference(above_N: Marks, below_N: Marks) -> Numbers:
    """By how much one share exceeds another, example by example; the interval stays within −1 to 1."""
    value, low, high = mean(above_N.astype(np.float64) - below_N)
    return (value, low, high) if low is None or high is None else (value, max(-1.0, low), min(1.0, high))


def mean(value_N: Floats) -> Numbers:
    """A mean with its interval over examples; a single example has none."""
    return student(value_N.tolist()) if len(value_N) > 1 else (float(value_N.mean()), None, None)


def describe(table: ResultTable) -> Mapping[str, Any]:
    """What the page needs besides the rows."""
    scale: WordSwapScale = table.scale
    trained = [training.question for training in scale.questions]
    shown = [question for question in trained if question != CONTENT]  # their labels change for a visible reason
    return {
        "subjects": [{**encode(condition), "mirrored": condition.mirrored} for condition in table.conditions],
        "groups": [[locality, [condition.name for condition in group]] for locality, group in scale.groups()],
        "learnt": {name: [condition.name for condition in learnt(table, name)] for name in trained},
        "measures": names.MEASURES,
        "seeds": len(table.seeds),
        "examples": [example for name in shown for example in examples_in_words(name, table.seeds[0], scale.test)],
    }


STUDY = Study(
    name="word-swap",
    about="Words shuffled inside constituents, agent and patient swapped: what do small encoders miss, and why?",
    paper="arXiv 2310.12864",
    scales=SCALES,
    conditions=WordSwapScale.conditions,
    run=run,
    condition_class=EncodingCondition,
    scale_class=WordSwapScale,
    claims=CLAIMS,
    decides=(
        *("corpora", "encodings", "nets", "probing/swaps", "tasks", "training"),
        *("probing/role_claims.py", "probing/roles.py", "probing/swap_probe", "probing/words.py"),
        *("stats/intervals.py", "studies/word_swap/names.py", "studies/word_swap/questions.py"),
    ),
    steps=lambda scale: scale.steps + sum(training.steps for training in scale.questions),
    summarise=lambda table: [*summary_rows(table), *bias_rows(table.conditions, table.scale.n)],
    notes=notes_of,
    describe=describe,
)

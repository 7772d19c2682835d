"""One run: learn to read, look at the positional part of attention, then be asked questions, tuned and frozen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import fmean
from time import perf_counter

from wherewhat.capture.loading.load import wrap_module
from wherewhat.corpora.questions import Labelled
from wherewhat.corpora.words import Words
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.positional_part.copies import prepare, read_copies
from wherewhat.profiling.positional_part.measures import MEASURES, measures
from wherewhat.profiling.positional_part.probing import Probing
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.locality.job import Job
from wherewhat.training.finetune import finetune, probe_frozen
from wherewhat.training.guessing import word_losses
from wherewhat.training.loop import train
from wherewhat.training.threads import threads

OFTEN = 20  # steps from one word about progress to the next
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
        before = _word_loss(job, trained.net, trained.words)
        rows = [
            job.row("run", "", "word loss", before),
            job.row("run", "", "word accuracy", trained.accuracy),
            *attention_rows(job, trained.net, trained.words),
        ]
        for number, question in enumerate(job.questions, start=1):
            rows += question_rows(job, trained.net, trained.words, question, before)
            tell(job.scale.steps + (job.steps - job.scale.steps) * number // len(job.questions))
    return rows


def attention_rows(job: Job, net: Trunk, words: Words) -> Iterator[Row]:
    """How local and symmetric attention to copies of one word is: heads of the first layer, and of all."""
    probing = Probing(length=job.scale.sweep.n, words=job.scale.copied, seed=job.seed)
    probe = prepare(wrap_module(net), probing)
    probe = replace(probe, words_W=probe.words_W[probe.words_W > words.mask])  # whatever is special comes first
    matrices = [sums.matrix() for sums in read_copies(probe).identical.values()]
    found = [measures(matrix.attention_HTT, matrix.allowed_TT) for matrix in matrices]
    for name in MEASURES:
        by_layer = [float(layer[name].mean()) for layer in found if name in layer]
        if by_layer:
            yield job.row("encoding", "", f"attention.{name}", by_layer[0])
            yield job.row("encoding", "", f"attention.{name} all", fmean(by_layer))


def question_rows(job: Job, net: Trunk, words: Words, question: str, before: float) -> Iterator[Row]:
    """How well a question is answered, by the net as it stands and once it is tuned; and what that made it forget."""
    asked = job.asked(question)
    tuned = finetune(net, words, asked, job.scale.tuned(job.seed))
    frozen = probe_frozen(net, words, asked)
    after = _word_loss(job, tuned.net, words)
    measured = {
        "accuracy": tuned.accuracy,
        "valid accuracy": tuned.valid,
        "frozen accuracy": frozen.accuracy,
        "word loss after": after,
        "forgetting": after - before,
        "unknown words": unknown_words(words, asked),
    }
    for measure, value in measured.items():
        yield job.row("run", question, measure, value)


def unknown_words(words: Words, asked: Labelled) -> float:
    """The share of a question's test words that are not in the vocabulary: the net cannot know them."""
    ids = [id for example in asked.test for id in words.ids(example.words)]
    return ids.count(words.unknown) / len(ids)


def _word_loss(job: Job, net: Trunk, words: Words) -> float:
    """The mean loss of words to be guessed in sentences that nobody learnt from, always the same words."""
    return fmean(word_losses(net, words, job.judged(), seed=job.seed))

"""One run: pre-train a net, measure the positional part of its attention, then fine-tune and probe it on questions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import fmean

from wherewhat.capture.loading.load import wrap_module
from wherewhat.corpora.questions import LabelledDataset
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.positional_part.repeated_word import prepare_probe, read_repeated_words
from wherewhat.profiling.settings import PositionalSettings
from wherewhat.scores.positional_part import MEASURES, measures
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.job import LocalityJob
from wherewhat.training.finetune import finetune, probe_frozen
from wherewhat.training.language_modelling import word_losses
from wherewhat.training.loop import threads, train

REPORT_EVERY = 20  # steps between two reports of progress
OnSteps = Callable[[int], None]  # called with the number of steps done


def run(job: LocalityJob, on_steps: OnSteps) -> list[Row]:
    """All measurements of one condition from one seed. They do not depend on the number of threads."""
    with threads(1):
        trained = train(
            job.training_settings(), on_step=lambda step, measured: None if step % REPORT_EVERY else on_steps(step)
        )
        assert trained.words is not None
        before = _word_loss(job, trained.net, trained.words)
        rows = [
            job.row("run", "", "word loss", before),
            job.row("run", "", "word accuracy", trained.accuracy),
            *attention_rows(job, trained.net, trained.words),
        ]
        for number, question in enumerate(job.questions, start=1):
            rows += question_rows(job, trained.net, trained.words, question, before)
            on_steps(job.scale.steps + (job.steps - job.scale.steps) * number // len(job.questions))
    return rows


def attention_rows(job: LocalityJob, net: Trunk, words: WordVocabulary) -> Iterator[Row]:
    """Locality and symmetry of attention over copies of one word: heads of the first layer, and of all layers."""
    probing = PositionalSettings(length=job.scale.sweep.n, words=job.scale.copied, seed=job.seed)
    probe = prepare_probe(wrap_module(net), probing)
    probe = replace(probe, words_W=probe.words_W[probe.words_W > words.mask])  # special tokens come first
    matrices = [sums.mean() for sums in read_repeated_words(probe).identical.values()]
    by_measure = [measures(matrix.attention_HTT, matrix.allowed_TT) for matrix in matrices]
    for name in MEASURES:
        by_layer = [float(layer[name].mean()) for layer in by_measure if name in layer]
        if by_layer:
            yield job.row("encoding", "", f"attention.{name}", by_layer[0])
            yield job.row("encoding", "", f"attention.{name} all", fmean(by_layer))


def question_rows(job: LocalityJob, net: Trunk, words: WordVocabulary, question: str, before: float) -> Iterator[Row]:
    """Accuracy on a question after fine-tuning and with a frozen net, and how much fine-tuning made the net forget."""
    dataset = job.dataset(question)
    tuned = finetune(net, words, dataset, job.scale.finetuning(job.seed))
    frozen = probe_frozen(net, words, dataset)
    after = _word_loss(job, tuned.net, words)
    measured = {
        "accuracy": tuned.accuracy,
        "valid accuracy": tuned.valid,
        "frozen accuracy": frozen.accuracy,
        "word loss after": after,
        "forgetting": after - before,
        "unknown words": unknown_words(words, dataset),
    }
    for measure, value in measured.items():
        yield job.row("run", question, measure, value)


def unknown_words(words: WordVocabulary, dataset: LabelledDataset) -> float:
    """The share of test words that are not in the vocabulary."""
    ids = [id for example in dataset.test for id in words.ids(example.words)]
    return ids.count(words.unknown) / len(ids)


def _word_loss(job: LocalityJob, net: Trunk, words: WordVocabulary) -> float:
    """The mean loss on hidden words of held-out sentences, always the same words."""
    return fmean(word_losses(net, words, job.held_out(), seed=job.seed))

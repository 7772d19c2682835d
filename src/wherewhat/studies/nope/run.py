"""The study: nets that differ in their encoding learn a task, and are compared with the one that has none."""

from collections.abc import Iterator, Mapping

from wherewhat.jobs.job import JobContext
from wherewhat.stats.intervals import wilson
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.nope.claims import CLAIMS
from wherewhat.studies.nope.measures import Measured, distance_rows, divergence_rows, entropy_rows, place_rows
from wherewhat.studies.nope.notes import describe, notes_of
from wherewhat.studies.nope.reading import SampleReading, read_samples, sample_texts
from wherewhat.studies.nope.results import AGAIN, ARMS, LONGER, NOPE, TRAINED, UNIFORM
from wherewhat.studies.nope.settings import SCALES, NopeScale, NopeTask
from wherewhat.studies.nope.summary import mean_rows
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.loop import threads, train


def run(condition: NopeTask, scale: NopeScale, seed: int, context: JobContext) -> Iterator[Row]:
    """Train one net after the other, and measure each on the same samples."""
    task = scale.task(condition.name)
    texts = sample_texts(task, scale.training(condition.name, NOPE, seed).data_seed, scale.texts)
    without: list[list[SampleReading]] = []  # what the two nets without an encoding do with the samples

    def rows_of(arm: str, measured: Iterator[Measured]) -> Iterator[Row]:
        for part, at, measure, value, low, high in measured:
            yield part, condition.name, arm, at, seed, measure, value, low, high

    for number, arm in enumerate(ARMS):
        settings, before = scale.training(condition.name, arm, seed), number * scale.net.steps
        with threads(settings.threads):
            trained = train(settings, on_step=lambda step, _, before=before: context.step(before + step))  # type: ignore[misc]
            readings = read_samples(trained.net, texts)
            without += [readings] if len(without) < 2 else []
            ends = dict(trained.curve.filter(step=settings.steps).select("measure", "value").iter_rows())
            yield from rows_of(arm, accuracy_rows(task, ends, settings.evaluate_samples))
            yield from rows_of(arm, place_rows(texts, readings, seed=seed))
            yield from rows_of(arm, entropy_rows(texts, readings))
            yield from rows_of(arm, distance_rows(texts, readings))
            if arm != NOPE:
                yield from rows_of(arm, divergence_rows(texts, readings, without[0], seed=seed))
            if arm not in (NOPE, AGAIN):
                same = divergence_rows(texts, readings, without[1], seed=seed, part="shared start")
                yield from rows_of(arm, same)
    yield from rows_of(UNIFORM, distance_rows(texts))


def accuracy_rows(task: SequenceTask, ends: Mapping[str, float], samples: int) -> Iterator[Measured]:
    """The share of exact outputs after training, at training lengths, at longer ones, and by length."""
    for name, measure, split in ((TRAINED, "exact valid", "train"), (LONGER, "exact", "test")):
        yield "accuracy", None, f"exact {name}", ends[measure], *wilson(ends[measure], samples)
        lengths = task.lengths(split)
        for length in lengths:
            if (share := ends.get(f"exact length {length}")) is not None:
                yield "accuracy", length, "exact", share, *wilson(share, max(1, samples // len(lengths)))


STUDY = Study(
    name="nope",
    about="Decoders without positions: do they know them, and whose attention do they resemble?",
    paper="arXiv 2305.19466",
    scales=SCALES,
    conditions=lambda scale: [NopeTask(name) for name in scale.tasks],
    run=run,
    condition_class=NopeTask,
    scale_class=NopeScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "recipes/length.py", "scores", "stats", "tables/schema.py"),
        *("tasks", "training", "studies/nope/measures.py", "studies/nope/reading.py", "studies/nope/results.py"),
    ),
    summarise=mean_rows,
    notes=lambda table: notes_of(table.scale),
    describe=describe,
    fewest=1,  # the claims count runs themselves
)

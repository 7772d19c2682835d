"""The study: maths tasks with and without steps written down, tested on longer inputs, and scored part by part."""

from collections.abc import Iterator

from wherewhat.jobs.job import JobContext
from wherewhat.studies.engine.lengths import Measured, accuracy_rows, mean_rows
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.scratchpad.claims import CLAIMS
from wherewhat.studies.scratchpad.notes import describe, notes_of
from wherewhat.studies.scratchpad.settings import SCALES, ScratchpadCondition, ScratchpadScale, conditions, prepare
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.loop import threads


def run(condition: ScratchpadCondition, scale: ScratchpadScale, seed: int, context: JobContext) -> list[Row]:
    """Train a net on short inputs and test it on longer ones."""
    settings, task, name = scale.training(condition, seed), scale.task(condition), condition.name
    with threads(settings.threads):
        trained = train_in_job(settings, context)
        rows = [*accuracy_rows(trained, task), *token_rows(task)]
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def token_rows(task: SequenceTask) -> Iterator[Measured]:
    """How many tokens the longest samples of training and of test have: a scratchpad moves them further apart."""
    for item, split in (("train", "train"), ("test", "test")):
        longest = max(task.most_tokens(length) for length in task.lengths(split))
        yield "tokens", item, None, "tokens", float(longest), None, None


STUDY = Study(
    name="scratchpad",
    about="Does writing down the steps of a calculation help on longer inputs, and in which format?",
    paper="arXiv 2305.19466",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=ScratchpadCondition,
    scale_class=ScratchpadScale,
    claims=CLAIMS,
    decides=(
        *("encodings", "nets", "recipes/length.py", "stats", "studies/engine/lengths.py", "tables/schema.py"),
        *("tasks", "training"),
    ),
    steps=lambda scale: scale.run.steps,
    prepare=prepare,
    summarise=lambda table: mean_rows([row for row in table.rows.rows() if row[0] != "tokens"]),
    notes=lambda table: notes_of(table),
    describe=lambda table: describe(table),
    fewest=1,  # the claims rest on tasks, encodings and seeds together
)

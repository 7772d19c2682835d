"""Train the net of one run of a study inside its job, so that a kill costs no more than what followed a checkpoint."""

from collections.abc import Iterator

from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.training.loop import train
from wherewhat.training.run_folder import TrainingResult, read_snapshots
from wherewhat.training.settings import TrainingSettings

FOLDER = "training"  # inside that of the job


def train_in_job(settings: TrainingSettings, context: JobContext) -> TrainingResult:
    """Train a net in the folder of a job, from its checkpoint if there is one, and report every step."""
    return train(settings, out=context.folder / FOLDER, resume=True, on_step=lambda step, _: context.step(step))


def snapshots_in_job(context: JobContext) -> Iterator[tuple[int, Trunk]]:
    """The nets that the training run of a job kept, by step: all of them, however often it was interrupted."""
    return read_snapshots(context.folder / FOLDER)

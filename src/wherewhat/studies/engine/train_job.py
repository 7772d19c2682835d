"""Train the net of one run of a study inside its job, so that a kill costs no more than what followed a checkpoint."""

from wherewhat.jobs.job import JobContext
from wherewhat.training.loop import train
from wherewhat.training.run_folder import TrainingResult
from wherewhat.training.settings import TrainingSettings


def train_in_job(settings: TrainingSettings, context: JobContext) -> TrainingResult:
    """Train a net in the folder of a job, from its checkpoint if there is one, and report every step."""
    folder = context.folder / "training"
    return train(settings, out=folder, resume=True, on_step=lambda step, _: context.step(step))

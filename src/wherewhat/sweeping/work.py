"""One point of a sweep as a job: its folder is what `wherewhat train` writes, and the job's own files beside it."""

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.folder import JOB
from wherewhat.jobs.job import Job, JobContext, JobOutcome
from wherewhat.jobs.keys import code_of
from wherewhat.jobs.perform import write_job, write_outcome
from wherewhat.recipes.registry import recipe
from wherewhat.sweeping.grid import SweepPoint
from wherewhat.tables.files import MANIFEST, recover
from wherewhat.tables.manifest.io import manifest_bytes
from wherewhat.training.loop import train
from wherewhat.training.manifest import training_manifest
from wherewhat.training.run_folder import CHECKPOINT, MODEL, TrainingResult, read_outcome
from wherewhat.training.settings import TrainingSettings

WORK = f"{__name__}:work"
DECIDES = ("training", "nets", "encodings", "tasks", "corpora")  # the rooms that determine a run


def job_of(point: SweepPoint, recipe_name: str) -> Job:
    """The job of a point. Where its folder is plays no part, so a sweep can be moved and resumed."""
    settings = {"recipe": recipe_name, "settings": point.settings.to_dict()}
    code = hashlib.sha256((code_of(*DECIDES) + data_digest(point.settings)).encode()).hexdigest()
    return Job(point.name, WORK, settings, code=code, steps=point.settings.steps)


def data_digest(settings: TrainingSettings) -> str:
    """A hash of the files that a run reads; empty where it reads none."""
    learnt = settings.to_dict()[settings.learns]
    files = learnt.get("files") or [] if isinstance(learnt, Mapping) else []
    digest = hashlib.sha256()
    for file in files:
        try:
            digest.update(Path(file).read_bytes())
        except OSError as error:
            raise UserError(f"{file} cannot be read ({error.strerror}); name a file that can") from error
    return digest.hexdigest() if files else ""


def work(plain: dict[str, Any], context: JobContext) -> dict[str, Any]:
    """Train the net of a point, from its checkpoint if there is one."""
    settings = type(recipe(plain["recipe"])).from_dict(plain["settings"])
    began = time.perf_counter()

    def on_step(step: int, measured: Mapping[str, float]) -> None:
        context.step(step, measured, keep=len(measured) > 1)  # an evaluation, not only the loss

    def manifest(trained: TrainingResult) -> bytes:
        seconds = round(time.perf_counter() - began, 3)
        return manifest_bytes(training_manifest(trained, recipe=plain["recipe"], seconds=seconds))

    return {"ends": train(settings, out=context.folder, resume=True, on_step=on_step, manifest=manifest).ends}


def was_trained_alone(place: Path) -> bool:
    """Whether `wherewhat train` has written to the folder of a point, and no sweep has."""
    return not (place / JOB).exists() and ((place / CHECKPOINT).exists() or (place / MODEL).exists())


def take_over(point: SweepPoint, job: Job, place: Path) -> None:
    """Make a run that was trained alone, finished or not, the run of this point; other settings are refused."""
    recover(place)
    trained = read_outcome(place, point.settings)
    if trained is not None:
        seconds = json.loads((place / MANIFEST).read_bytes()).get("seconds") if (place / MANIFEST).exists() else None
        write_outcome(JobOutcome({"ends": trained.ends}, float(seconds or 0.0)), place)
    write_job(job, place)  # last, so that a kill leaves what can be taken over again

"""One point of a sweep as a job: its folder is what `wherewhat train` writes, and the job's own files beside it."""

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.job import Job, JobContext
from wherewhat.jobs.keys import code_of
from wherewhat.recipes.registry import recipe
from wherewhat.sweeping.grid import SweepPoint
from wherewhat.tables.manifest.io import manifest_bytes
from wherewhat.training.loop import train
from wherewhat.training.manifest import training_manifest
from wherewhat.training.run_folder import TrainingResult
from wherewhat.training.settings import TrainingSettings

DECIDES = ("training", "nets", "encodings", "tasks", "corpora")  # the rooms that determine a run


def job_of(point: SweepPoint, recipe_name: str) -> Job:
    """The job of a point. Where its folder is plays no part, so a sweep can be moved and resumed."""
    settings = {"recipe": recipe_name, "settings": point.settings.to_dict()}
    code = hashlib.sha256((code_of(*DECIDES) + data_digest(point.settings)).encode()).hexdigest()
    return Job(point.name, f"{__name__}:work", settings, code=code, steps=point.settings.steps)


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

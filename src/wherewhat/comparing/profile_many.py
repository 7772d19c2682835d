"""Profile many models or checkpoints, each as a job in a run folder of its own, then compare what the folders hold."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherewhat.comparing.checkpoints import Checkpoint
from wherewhat.comparing.compare import compare_states
from wherewhat.comparing.model_state import ModelState
from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine, OnEvent
from wherewhat.jobs.folder import JOB, RESULT, JobFolder
from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.local import processors
from wherewhat.jobs.locks import only_parent
from wherewhat.jobs.run import refuse_same_folder, run_unfinished
from wherewhat.profiling.profile_job import WORK, ProfileJob, first_texts, text_digest
from wherewhat.runs.registry import Comparison, Profile
from wherewhat.tables.files import MANIFEST, listed_files, recover, refuse_to_overwrite
from wherewhat.tables.manifest.io import read_manifest

if TYPE_CHECKING:
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.profiling.settings import ProfileSettings
    from wherewhat.tables.texts import Origin

RUNS = "runs"  # the folder of all profiles, inside that of the comparison
THREADS = "OMP_NUM_THREADS"  # how many threads PyTorch uses in a process, read when it starts
PROCESS = 600e6  # bytes of a process with PyTorch, beside the model
COPIES = 3  # of the weights as they are stored: in float32, and what a profile computes beside them


@dataclass(frozen=True)
class ManyRequest:
    """Which models to profile, how, where, and what to do with what is there."""

    checkpoints: Sequence[Checkpoint]
    settings: "ProfileSettings"
    loading: "LoadSettings"
    origin: "Origin | None"  # of the texts; None: every net reads texts of its own
    folder: Path
    resume: bool = False
    overwrite: bool = False
    options: tuple[str, ...] = ()  # as typed, for the manifest of each

    @property
    def runs(self) -> Path:
        """The folder of all profiles."""
        return self.folder / RUNS

    def jobs(self) -> list[Job]:
        """One job per checkpoint. Reads the texts once, so that others are noticed."""
        digest = ""
        if self.origin is not None:
            digest = text_digest(first_texts(self.origin, self.settings.max_texts))
        jobs = []
        for each in self.checkpoints:
            # What is only on this machine is told to workers by their environment: it does not change the result.
            loading = replace(self.loading, revision=each.revision, offline=False)
            job = ProfileJob(
                each.model, each.identity, self.settings, loading, self.origin, texts=digest, options=self.options
            )
            jobs.append(job.named(each.name))
        return jobs


@dataclass(frozen=True)
class ManyProfiles:
    """The profiles that were made, their comparison, and what is missing."""

    finished: Sequence[Checkpoint]
    failures: Sequence[JobFailure] = ()
    comparison: Comparison | None = None
    reason: str = ""  # why there is no comparison
    threads: Sequence[int] = field(default_factory=list)  # of each profile


def profile_many(
    request: ManyRequest, jobs: Sequence[Job], *, engine: Engine, on_event: OnEvent = lambda event: None
) -> ManyProfiles:
    """Profile every checkpoint that has no finished profile, and compare all. One that fails does not stop the rest."""
    began = time.perf_counter()
    check_folder(request, jobs)
    kept = JobFolder(request.runs)
    kept.begin(overwrite=request.overwrite, resume=request.resume)
    with only_parent(request.runs):
        for job in jobs:
            _forget_incomplete(kept.of(job))
        kept.clear_partial()
        with _shared_processors(min(engine.workers, len(jobs))):
            failures = run_unfinished(jobs, request.runs, engine=engine, on_event=on_event, fail_fast=False)
        failed = {failure.job for failure in failures}
        finished = [each for each in request.checkpoints if each.name not in failed]
        folders = {job.name: kept.of(job) for job in jobs}
        profiles = ManyProfiles(finished, failures)
        if len(finished) < 2:
            return replace(profiles, reason="a comparison takes at least two profiles")
        notes = [f"{failure.job} is missing, as it could not be profiled: {failure.sentence}" for failure in failures]
        states = by_step([_state(each, folders[each.name]) for each in finished])
    try:
        return replace(profiles, comparison=compare_states(states, notes=notes, began=began))
    except UserError as error:
        return replace(profiles, reason=str(error))


def check_folder(request: ManyRequest, jobs: Sequence[Job]) -> None:
    """Refuse a folder that holds something else, or profiles of other models and settings, before any work is done."""
    refuse_same_folder(jobs)
    kept = JobFolder(request.runs)
    kept.refuse_other_work(WORK)
    if not request.overwrite and not request.resume:
        kept.refuse_any()  # mentions --resume, which the next refusal does not
    refuse_to_overwrite(request.folder, kind=Comparison.kind, overwrite=request.overwrite or request.resume)
    if request.overwrite:
        return
    if (request.folder / MANIFEST).exists() and not request.runs.exists():
        raise UserError(
            f"{request.folder} holds a comparison without profiles to go on from; choose another --out or add "
            "--overwrite"
        )
    if changed := [job.name for job in jobs if _has_changed(kept.of(job), job)]:
        it, them = ("its folder", "it") if len(changed) == 1 else ("their folders", "them")
        raise UserError(
            f"{', '.join(changed)} changed since the profile in {request.runs} was made; delete {it} there to profile "
            f"{them} again, or start again with --overwrite"
        )
    for job in jobs:
        if (kept.of(job) / RESULT).exists():
            kept.outcome(job)  # refuses a profile that was made with other settings


def by_step(states: Sequence[ModelState]) -> list[ModelState]:
    """In the order of training if they are states of one run, whatever the order in which they were named."""
    runs, steps = {state.run for state in states}, [state.step for state in states]
    if len(runs) > 1 or None in runs or None in steps:
        return list(states)
    return sorted(states, key=lambda state: state.step or 0)


def default_workers(checkpoints: Sequence[Checkpoint], device: str) -> int:
    """How many profiles to make at once: one per processor, as far as the memory of this machine holds the models.

    A single one on an accelerator, and where nothing is known of a model's size.
    """
    import torch

    accelerated = torch.cuda.is_available() or torch.backends.mps.is_available()
    sizes = [each.weights for each in checkpoints if each.identity]
    if (accelerated if device == "auto" else device != "cpu") or None in sizes:
        return 1
    largest = max((size for size in sizes if size is not None), default=0)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(processors(), len(checkpoints), int(0.8 * memory / (PROCESS + COPIES * largest))))


@contextmanager
def _shared_processors(workers: int) -> Iterator[None]:
    """Let processes that are started now share the processors, unless their number of threads is already smaller."""
    given, threads = os.environ.get(THREADS), max(1, processors() // workers)
    if workers == 1 or (given is not None and not (given.isdecimal() and int(given) > threads)):
        yield
        return
    os.environ[THREADS] = str(threads)
    try:
        yield
    finally:
        os.environ.pop(THREADS)
        if given is not None:
            os.environ[THREADS] = given


def _state(checkpoint: Checkpoint, folder: Path) -> ModelState:
    """What a comparison needs of a profile; its other tables may be large, and are not kept."""
    recover(folder)
    run = Profile.read(folder, read_manifest(folder))
    return ModelState(checkpoint.label, run.heads, run.manifest)


def _forget_incomplete(place: Path) -> None:
    """Let a profile be made from the start that failed, was interrupted, or lost one of its files."""
    if (place / RESULT).exists():
        recover(place)
        files = listed_files(place)
        if files and all((place / name).is_file() for name in files):
            return
    if (place / JOB).exists():
        place.rename(place.with_name(f".{place.name}.partial"))  # which `JobFolder` deletes


def _has_changed(place: Path, job: Job) -> bool:
    """Whether a finished profile differs from what is asked for in nothing but the files of the model."""
    before = _entry(place / JOB).get("settings")
    if not (place / RESULT).exists() or not isinstance(before, dict):
        return False
    now = dict(job.settings)
    return before.get("identity") != now["identity"] and {**before, "identity": now["identity"]} == now


def _entry(path: Path) -> dict[str, Any]:
    """What a file of a job says, as far as it can be read."""
    with suppress(OSError, ValueError):
        entry = json.loads(path.read_bytes())
        return entry if isinstance(entry, dict) else {}
    return {}

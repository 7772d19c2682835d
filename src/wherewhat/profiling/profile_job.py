"""One profile as a job: plain JSON in, and in its folder what `wherewhat heads` writes there."""

import hashlib
import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from wherewhat.capture.loading.load import LoadSettings
from wherewhat.errors import UserError
from wherewhat.jobs.job import Job, JobContext
from wherewhat.jobs.keys import code_of
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.tables.manifest.decode import decode, encode
from wherewhat.tables.texts import Origin, Text

# The rooms that determine a profile.
DECIDES = ("capture", "corpora", "encodings", "logits", "models", "nets", "profiling", "scores", "stats", "tasks")
WORK = f"{__name__}:work"
STEPS, MEASURED = 100, 95  # of a job, for its progress; what is left is for drawing the page


@dataclass(frozen=True)
class ProfileJob:
    """Everything that determines a profile, as values that JSON can hold."""

    model: str
    identity: str  # of its files: a checkpoint that changed is another job
    settings: ProfileSettings = field(default_factory=ProfileSettings)
    loading: LoadSettings = field(default_factory=LoadSettings)
    origin: Origin | None = None  # of the texts; None: a net reads texts of its own
    texts: str = ""  # a hash of them
    options: tuple[str, ...] = ()  # of the command that makes this profile alone

    def named(self, name: str) -> Job:
        """The job, under the name that its folder gets."""
        return Job(name, WORK, self.plain(), code=code_of(*DECIDES), steps=STEPS)

    def plain(self) -> dict[str, Any]:
        """The same as JSON has it, which knows no infinity."""
        plain: dict[str, Any] = encode(self)
        plain["settings"]["tau"] = [tau if math.isfinite(tau) else "inf" for tau in self.settings.tau]
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "ProfileJob":
        """Back from JSON."""
        settings = {**plain["settings"], "tau": [float(tau) for tau in plain["settings"]["tau"]]}
        return decode(cls, {**plain, "settings": settings})

    def command(self, folder: Path) -> str:
        """What makes this profile alone."""
        revision = [] if self.loading.revision is None else ["--revision", self.loading.revision]
        return shlex.join(["wherewhat", "heads", self.model, *revision, *self.options, "--out", str(folder)])


def text_digest(texts: Iterable[Text]) -> str:
    """A hash of texts as they are read, before any model cuts them into tokens."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text.content)} {text.content}".encode(errors="surrogatepass"))
    return digest.hexdigest()


def first_texts(origin: Origin, most: int) -> tuple[Text, ...]:
    """As many texts as a profile can need."""
    return tuple(islice(origin.read(), most))


@cache
def _same_texts(origin: Origin, most: int, digest: str) -> tuple[Text, ...]:
    """The same, read once per process: a job may be followed by another on the same ones."""
    texts = first_texts(origin, most)
    if text_digest(texts) != digest:
        raise UserError(f"the texts in {origin.source} changed while models were profiled; start again")
    return texts


def work(plain: dict[str, Any], context: JobContext) -> dict[str, Any]:
    """Profile a model and write the run into the job's folder."""
    job = ProfileJob.from_plain(plain)

    def on_step(done: int, of: int, phase: str) -> None:
        context.step(MEASURED * min(done, of) // max(of, 1))

    run = profile(
        job.model,
        None if job.origin is None else _same_texts(job.origin, job.settings.max_texts, job.texts),
        settings=job.settings,
        loading=job.loading,
        on_step=on_step,
        source=job.origin or "",
    )
    threads = {"threads": torch.get_num_threads()}  # the last bits of sums depend on it
    manifest = replace(run.manifest, settings={**run.manifest.settings, **threads})
    replace(run, manifest=manifest).made_by(job.command(context.folder)).save(context.folder, overwrite=True)
    return {**threads, "weights_hash": run.manifest.model.weights_hash}

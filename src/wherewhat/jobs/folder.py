"""The folder of a run's jobs: every job has one of its own in it, and what is there is the truth about the job.

`NAME/job.json` is written when a job begins, `progress.jsonl` grows while it runs, and `result.json` or `error.json`
is written when it ends. All other files are the work's own.
"""

import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.job import Job, JobOutcome
from wherewhat.jobs.keys import key_of
from wherewhat.jobs.locks import only_parent, only_worker
from wherewhat.tables.differences import first_difference

JOB, PROGRESS, RESULT, ERROR = "job.json", "progress.jsonl", "result.json", "error.json"
PARTIAL = ".*.partial"  # what a kill left half written, or half deleted


@dataclass(frozen=True)
class JobFolder:
    """The jobs of a run: those that are finished, and those that have begun."""

    folder: Path

    def of(self, job: Job) -> Path:
        """The job's own folder."""
        return self.folder / job.folder_name

    def outcome(self, job: Job) -> JobOutcome | None:
        """The outcome of a job if it is finished; one with other settings or from other code is refused."""
        place = self.of(job)
        if not (place / JOB).exists():
            if place.exists() and not _is_blank(place):
                raise UserError(f"{place} is not the folder of a run, as it has no {JOB}; choose another --out")
            return None
        _refuse_other(place, job)
        if not (place / RESULT).exists():
            return None
        entry = _read(place / RESULT, {"result": object, "seconds": float, "attempts": int}, delete=place / RESULT)
        return JobOutcome(entry["result"], entry["seconds"], entry["attempts"])

    @property
    def count(self) -> int:
        """How many jobs are finished."""
        return sum((place / RESULT).exists() for place in self._all())

    @property
    def begun(self) -> int:
        """How many other jobs have files to go on from, such as a checkpoint."""
        return sum(not (place / RESULT).exists() and _has_own_files(place) for place in self._all())

    def begin(self, *, overwrite: bool, resume: bool) -> None:
        """Before the first job, once the request is known to be valid: start again, resume, or refuse."""
        if overwrite or not resume:
            if not overwrite:
                self.refuse_any()
            self.forget()

    def refuse_any(self) -> None:
        """Stop if there are finished or begun jobs that would be neither resumed nor replaced."""
        held = [_count(self.count, "finished run"), _count(self.begun, "unfinished run")]
        if any(held):
            raise UserError(
                f"{self.folder} holds {' and '.join(filter(None, held))}; "
                "add --resume to go on from there, or --overwrite to begin again"
            )

    def refuse_other_work(self, work: str) -> None:
        """Stop if there are jobs of another command, which has its own way with them."""
        for path in sorted(self.folder.glob(f"*/{JOB}")):
            with suppress(OSError, ValueError, AttributeError):  # a damaged file says more where it is read
                if json.loads(path.read_bytes()).get("work") != work:
                    raise UserError(
                        f"{self.folder} holds runs of another command ({path.parent.name}); choose another --out"
                    )

    def forget(self) -> None:
        """Delete all jobs, finished or not."""
        if self.folder.exists():
            with only_parent(self.folder):
                self.clear_partial()
                for place in self._all():
                    with only_worker(place):
                        place.rename(place.with_name(f".{place.name}.partial"))  # a kill leaves it whole, or no job
                self.clear_partial()

    def clear_partial(self) -> None:
        """Delete what a kill left of jobs that were being deleted."""
        for path in self.folder.glob(PARTIAL):
            if path.is_dir():
                shutil.rmtree(path)

    def _all(self) -> list[Path]:
        """The folders of jobs, also of those that were killed while they wrote their first file."""
        places = [path for path in self.folder.glob("*") if path.is_dir() and not path.match(PARTIAL)]
        return sorted(place for place in places if (place / JOB).exists() or _is_blank(place))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}" if number else ""


def _is_blank(place: Path) -> bool:
    """Whether nothing is in a folder but what a job leaves that never began."""
    return place.is_dir() and all(path.name == ERROR or path.match(PARTIAL) for path in place.iterdir())


def _has_own_files(place: Path) -> bool:
    return any(path.name not in (JOB, PROGRESS, ERROR) and not path.match(PARTIAL) for path in place.iterdir())


def _refuse_other(place: Path, job: Job) -> None:
    entry = _read(place / JOB, {"settings": dict, "code": str}, delete=place)
    if key_of(entry["settings"], entry["code"]) == job.key:
        return
    if different := first_difference(entry["settings"], job.settings):
        raise UserError(
            f"{place} was made with other settings: {different}; "
            "resume with the settings it began with, or start again with --overwrite"
        )
    if entry["code"] != job.code:
        raise UserError(f"{place} was made by another version of the code; start again with --overwrite")


def _read(path: Path, fields: dict[str, type], *, delete: Path) -> dict[str, Any]:
    """The entries of a file, each of its type."""
    try:
        entry: dict[str, Any] = json.loads(path.read_bytes())
        wrong = [name for name, kind in fields.items() if not isinstance(entry[name], kind)]
        if wrong:
            raise ValueError(f"its {wrong[0]} is {entry[wrong[0]]!r}")
        return entry
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise UserError(f"{path} is damaged ({reason}); delete {delete}, and that run is repeated") from error

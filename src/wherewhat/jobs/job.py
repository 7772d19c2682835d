"""A job, what its work receives, and what becomes of it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from wherewhat.errors import InternalError, UserError
from wherewhat.jobs.keys import as_json, file_name, key_of

OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # in the errors of PyTorch


@dataclass(frozen=True)
class Job:
    """Work to do in a folder of its own, as plain JSON: it can run in any process, on any machine."""

    name: str  # unique among the jobs of one call; its folder is named after it
    work: str  # "package.module:function", imported where the job runs
    settings: Mapping[str, Any]  # plain JSON: everything the work needs, and everything that determines its result
    code: str = ""  # a hash of the code and data that determine the result, see `keys.code_of`
    steps: int = 1  # its length, for progress

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "settings", as_json(self.settings))
        except (TypeError, ValueError) as error:
            raise InternalError(f"the settings of job '{self.name}' are not plain JSON ({error})") from error

    @property
    def key(self) -> str:
        """What identifies its result: SHA-256 over settings and code."""
        return key_of(self.settings, self.code)

    @property
    def folder_name(self) -> str:
        """The name of its folder inside the folder of all jobs."""
        return file_name(self.name)


@dataclass(frozen=True)
class JobContext:
    """What the work of a job receives beside its settings."""

    folder: Path  # the job's own: a checkpoint written here is there again after a kill
    step: "OnJobStep"  # reports how many steps are done; raises `StopRequested` once the jobs are to stop


class OnJobStep(Protocol):
    """Reports how many steps of a job are done, and what was measured; what is to be kept is never left out."""

    def __call__(self, steps: int, measured: Mapping[str, float] = ..., *, keep: bool = ...) -> None:
        """Report a step."""


Work = Callable[[dict[str, Any], JobContext], Any]  # takes the settings, and returns plain JSON


@dataclass(frozen=True)
class JobOutcome:
    """The result of a job, as it comes back from JSON whatever the engine."""

    result: Any
    seconds: float  # of all attempts together, as far as they reported progress
    attempts: int = 1  # how often it was begun: once more after every kill or failure


class JobError(RuntimeError):
    """A job raised an error that is not the user's; the message ends with its traceback."""


@dataclass(frozen=True)
class JobFailure:
    """Why a job has no result, as its `error.json` has it."""

    job: str
    sentence: str
    traceback: str = ""
    fixable: bool = True  # by the user

    @classmethod
    def of(cls, job: Job, error: Exception, traceback: str) -> "JobFailure":
        """The failure of a job that raised an error."""
        if isinstance(error, UserError):
            return cls(job.name, error.typed, traceback)
        if _ran_out_of_memory(error):
            return cls(
                job.name, f"memory ran out in '{job.name}'; give fewer --workers, or smaller settings", traceback
            )
        return cls(job.name, f"{type(error).__name__}: {error}", traceback, fixable=False)

    def error(self) -> Exception:
        """The error to raise where the jobs were started."""
        if self.fixable:
            return UserError(self.sentence)
        return JobError(f"job '{self.job}' failed: {self.sentence}\n\n{self.traceback}")

    def plain(self) -> dict[str, Any]:
        """The failure, ready for JSON."""
        return asdict(self)


def _ran_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, on a processor or a GPU: PyTorch raises errors of no kind of its own for it."""
    words = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in words for sign in OUT_OF_MEMORY)
    )

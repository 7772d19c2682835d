"""What a study is: conditions and seeds become jobs, their rows a table, and the table decides on claims."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl
from polars.exceptions import PolarsError

from wherewhat.errors import InternalError, UserError
from wherewhat.jobs.folder import RESULT as JOB_RESULT
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobContext, JobOutcome
from wherewhat.jobs.keys import code_of
from wherewhat.jobs.registry import engine
from wherewhat.jobs.run import refuse_same_folder, run_jobs
from wherewhat.names import look_up
from wherewhat.progress import OnStep
from wherewhat.stats.verdict import ClaimResult
from wherewhat.studies.engine.claims import FEWEST_SEEDS, Claim, claim_result, judge, short_answer
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.tables.manifest.decode import decode, encode
from wherewhat.tables.schema import RESULT, frame

RUNS_FOLDER = "runs"  # of the jobs, inside the folder of the reproduction
OF_STUDY = {"of": "study"}  # metadata of a field of a scale that no single run depends on


class Condition(Protocol):
    """What one run tries, as a frozen dataclass of plain values."""

    @property
    def name(self) -> str:
        """Its name in the table."""


@dataclass(frozen=True)
class Request:
    """What to run: at which scale, from which seed, where, and on what if the study takes something from the user."""

    scale: Any = "tiny"  # the name of a scale, or a scale itself
    seed: int = 0
    seeds: int | None = None  # how many runs per condition; None: as many as the scale has
    model: Any = "tiny"
    texts: Iterable[Any] | None = None
    source: str = "handed in"
    loading: Any = None
    files: tuple[Path, ...] = ()  # texts to train on
    tasks: tuple[Path, ...] = ()  # files of further questions
    speech: Path | None = None  # a folder of recordings to train on
    encodings: tuple[str, ...] = ()  # to compare; none: those of the scale
    shift: int = 0  # how far positions are moved at random during training
    folder: Path | None = None  # where finished runs are kept; None: nowhere
    overwrite: bool = False  # delete runs finished before, once the request is known to be valid
    resume: bool = False  # continue with the finished runs in the folder
    engine: str = "local"
    workers: int | None = None  # runs at once; None: one per processor
    address: str | None = None  # of a Ray cluster to join
    shared: bool = False  # whether all nodes of that cluster see the folder
    on_step: OnStep | None = None
    on_warning: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if self.seeds is not None and self.seeds < 1:
            raise UserError(f"seeds is {self.seeds}; a run needs at least 1")
        if self.shift < 0:
            raise UserError(f"shift is {self.shift}; give 0 or how far positions may be moved, such as 64")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")

    def of(self, scales: Mapping[str, Any]) -> Any:
        """The settings of the requested scale."""
        return look_up("scale", self.scale, scales) if isinstance(self.scale, str) else self.scale

    def step(self, done: int, of: int, note: str = "") -> None:
        """Report progress."""
        if self.on_step is not None:
            self.on_step(done, of, note)

    def warn(self, sentence: str) -> None:
        """Report a warning."""
        if self.on_warning is not None:
            self.on_warning(sentence)


@dataclass(frozen=True)
class StudyResult:
    """What a study returns."""

    result: pl.DataFrame  # with the columns of `tables.schema.RESULT`
    claims: Sequence[ClaimResult]
    settings: Mapping[str, Any]  # plain values: everything that determined the result
    notes: Sequence[str] = ()  # differences from the publication, and what was left out
    about: Mapping[str, Any] = field(default_factory=dict)  # what the page needs besides the rows


@dataclass(frozen=True, kw_only=True)
class AnyStudy(ABC):
    """A published experiment, and how to run it again."""

    name: str
    about: str  # one line, for someone new
    paper: str
    scales: Mapping[str, Any]  # frozen dataclasses, by name
    takes: tuple[str, ...] = ()  # command-line options that not every study takes

    resumes: ClassVar[bool]  # whether finished runs are kept

    @abstractmethod
    def reproduce(self, request: Request) -> StudyResult:
        """Run it."""


@dataclass(frozen=True, kw_only=True)
class ModelStudy(AnyStudy):
    """A study of a model that the user names, all at once and in this process."""

    resumes = False
    measure: Callable[[Request], StudyResult]

    def reproduce(self, request: Request) -> StudyResult:
        return self.measure(request)


def with_seeds(scale: Any, request: Request) -> Any:
    """The scale with the requested number of seeds."""
    return scale if request.seeds is None else replace(scale, seeds=request.seeds)


def _nothing(*_: Any) -> Any:
    return ()


@dataclass(frozen=True, kw_only=True)
class Study(AnyStudy):
    """A study of conditions, each run from several seeds: one job per condition and seed.

    It stands as `STUDY` beside its `run`, where a worker finds it. The scale has a field `seeds`. Scale and conditions
    are frozen dataclasses of plain values, as they travel to workers as JSON.
    """

    resumes = True
    conditions: Callable[[Any], Sequence[Condition]]  # of a scale
    run: Callable[[Any, Any, int, JobContext], Iterable[Row]]  # condition, scale, seed, context
    condition_class: type[Condition]
    scale_class: type[Any]
    claims: Mapping[str, Claim]
    decides: tuple[str, ...]  # the package's files and folders that determine a run, beside the modules of these three
    steps: Callable[[Any], int] = lambda scale: int(scale.steps)  # the length of a run
    together: bool = False  # one run trains all seeds of a condition, starting from the given one
    prepare: Callable[[Any, Request], Any] = with_seeds  # the scale with what the user adds; refuses what is unusable
    before: Callable[[ResultTable], Iterable[Row]] = _nothing  # rows in front of those of the runs
    summarise: Callable[[ResultTable], Iterable[Row]] = _nothing  # rows behind them: means, contrasts, theory
    results: Callable[[ResultTable], ResultTable] = lambda table: table  # what claims are tested on
    notes: Callable[[ResultTable], Sequence[str]] = _nothing
    describe: Callable[[ResultTable], Mapping[str, Any]] = lambda table: {}  # what the page needs besides the rows
    settings: Callable[[Any], Mapping[str, Any]] = encode  # of a scale: what determines the result, beside the seeds
    fewest: int = FEWEST_SEEDS  # seeds that a verdict needs

    def reproduce(self, request: Request) -> StudyResult:
        """Run all jobs that are not finished, and judge the claims from the table."""
        runner = engine(request.engine, request.workers, request.address, shared=request.shared)
        scale = self.prepare(request.of(self.scales), request)
        conditions = list(self.conditions(scale))
        seeds = range(request.seed, request.seed + scale.seeds)
        starts = seeds[:1] if self.together else seeds
        jobs = [self.job(condition, scale, seed) for seed in starts for condition in conditions]
        folder = None if request.folder is None else request.folder / RUNS_FOLDER
        refuse_same_folder(jobs)
        if not jobs:
            raise UserError(f"{self.name} has no conditions at this scale; choose another --scale")
        if folder is not None:
            JobFolder(folder).begin(overwrite=request.overwrite, resume=request.resume)
        outcomes = run_jobs(jobs, folder, engine=runner, on_progress=request.on_step)
        rows = [row for job, outcome in zip(jobs, outcomes, strict=True) for row in rows_of(outcome, job, folder)]
        first = list(self.before(table_of([], conditions, scale)))
        measured = table_of([*first, *rows], conditions, scale)
        table = self.results(measured.extended(self.summarise(self.results(measured))))
        verdicts = {name: judge(claim, table, self.fewest) for name, claim in self.claims.items()}
        answers = {name: short_answer(claim, verdicts[name]) for name, claim in self.claims.items() if claim.answers}
        seconds, processes = sum(outcome.seconds for outcome in outcomes), min(len(jobs), runner.workers)
        return StudyResult(
            result=table.rows,
            claims=[claim_result(claim, verdicts[name]) for name, claim in self.claims.items()],
            settings={**self.settings(scale), "seeds": list(seeds)},
            notes=tuple(self.notes(table)),
            about={**self.describe(table), "answers": answers, "seconds": seconds, "processes": processes},
        )

    def job(self, condition: Condition, scale: Any, seed: int) -> Job:
        """One run as plain JSON, from which condition and scale come back as they are."""
        own = scale if self.together else of_run(scale)
        settings = {"study": self.run.__module__, "condition": encode(condition), "seed": seed, "scale": encode(own)}
        name = condition.name if self.together else f"{condition.name}, seed {seed}"
        job = Job(name, f"{__name__}:work", settings, code=self.code, steps=self.steps(scale))
        if self.decoded(job.settings) != (condition, own):
            raise InternalError(f"the settings of '{name}' do not come back from JSON; use plain values and tuples")
        return job

    def decoded(self, settings: Mapping[str, Any]) -> tuple[Any, Any]:
        """Condition and scale of a job."""
        condition = decode(self.condition_class, settings["condition"])
        return condition, decode(self.scale_class, settings["scale"])

    @property
    def code(self) -> str:
        """A hash of the code that determines a run, also of a study outside the package."""
        modules = {each.__module__ for each in (self.run, self.scale_class, self.condition_class)}
        files = sorted(str(file) for name in modules if (file := getattr(import_module(name), "__file__", None)))
        return code_of("tables/manifest/decode.py", *files, *self.decides)


def of_run(scale: Any) -> Any:
    """A scale without what no single run depends on, so that a larger study finds the runs of a smaller one."""
    whole = [each.name for each in fields(scale) if each.metadata.get("of") == "study"]
    return replace(scale, **{name: type(getattr(scale, name))() for name in whole})


def work(settings: Mapping[str, Any], context: JobContext) -> list[Row]:
    """The rows of one run; called where the job runs."""
    study: Study = import_module(settings["study"]).STUDY
    if rows := list(study.run(*study.decoded(settings), settings["seed"], context)):
        return rows
    raise InternalError(f"a run of {study.name} gave no rows")


def rows_of(outcome: JobOutcome, job: Job, folder: Path | None) -> list[Row]:
    """The rows of a run; a file in which they are missing or incomplete is refused."""
    try:
        rows: list[Any] = [tuple(row) for row in outcome.result]
        if not rows or any(len(row) != len(RESULT) for row in rows):
            raise ValueError
        frame(rows, RESULT)
    except (TypeError, ValueError, PolarsError) as error:
        path = JobFolder(folder or Path()).of(job) / JOB_RESULT
        message = f"{path} is damaged (its rows are incomplete); delete {path}, and that run is repeated"
        raise UserError(message) from error
    return rows

"""`wherewhat reproduce`: run a published experiment again, and compare our results with the published ones."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import ADVANCED, MODEL, OUTPUT, TEXTS, grouped, option
from wherewhat.cli.interrupts import NOTHING, going_on, interrupt_message
from wherewhat.cli.options import (
    EngineOptions,
    Json,
    ModelOptions,
    Overwrite,
    Png,
    Quiet,
    Seed,
    texts_from,
    warning_printer,
    write_run,
)
from wherewhat.cli.parse import parse_text
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

if TYPE_CHECKING:
    from wherewhat.runs.registry import StudyRun
    from wherewhat.studies.engine.study import AnyStudy

STUDY = "Study"  # the panel of its own options


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """How large a study is, and what it is run on."""

    scale: Annotated[str, option(STUDY, "tiny|small|paper", "Size; paper has the published settings.")] = "tiny"
    seeds: Annotated[int | None, option(STUDY, "N", "Runs per condition (default: as many as the scale has).")] = None
    seed: Seed = 0
    model: Annotated[
        str | None,
        option(MODEL, "MODEL", "For control: the model to study (default: tiny); for attribution: one more."),
    ] = None
    text: Annotated[
        list[Path],
        option(
            TEXTS,
            "FILE|NAME",
            "For control: texts to measure on; for locality: to train on (default: generated).",
            parser=parse_text,
        ),
    ] = field(default_factory=list)
    task: Annotated[
        list[Path],
        option(TEXTS, "FILE", "For locality: a further question, `label<tab>text` per line. Repeatable."),
    ] = field(default_factory=list)
    speech: Annotated[
        Path | None,
        option(TEXTS, "DIR", "For speech: recordings of digits, or of what `transcripts.tsv` says, to train on."),
    ] = None
    encodings: Annotated[
        str | None,
        option(STUDY, "A,B,…|all", "For length and counting: the encodings to compare (default: those of the scale)."),
    ] = None
    shift: Annotated[
        int | None, option(STUDY, "N", "For length: move positions by up to N at random during training.")
    ] = None
    dataset: Annotated[str | None, option(TEXTS, "NAME", "A dataset on the Hub, as NAME or NAME:CONFIG.")] = None
    column: Annotated[str, option(ADVANCED, "NAME", "The column of .jsonl files and datasets to read.")] = "text"
    split: Annotated[str, option(ADVANCED, "NAME", "The split of the dataset to read.")] = "test"


@grouped
def reproduce(
    name: Annotated[str, typer.Argument(help="The study, see `wherewhat list reproductions`.")],
    *,
    options: StudyOptions = StudyOptions(),
    loading: ModelOptions = ModelOptions(),
    engine: EngineOptions = EngineOptions(),
    out: Annotated[Path | None, option(OUTPUT, "DIR", "The folder to write into (default: runs/NAME).")] = None,
    png: Png = None,
    overwrite: Overwrite = False,
    resume: Annotated[bool, option(OUTPUT, None, "Continue after an interruption (not control).", "--resume")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a published experiment and compare the results.

    Try: `wherewhat reproduce canonical` · `wherewhat reproduce control --model MODEL --text book.txt` ·
    `wherewhat reproduce locality --out runs/locality`; after an interruption, the same with `--resume`
    """
    if overwrite and resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    announce(name, quiet=quiet)
    load_settings = loading.settings(*([options.model] if options.model else []))
    from wherewhat.jobs.folder import JobFolder
    from wherewhat.names import look_up
    from wherewhat.studies.engine.study import RUNS_FOLDER
    from wherewhat.studies.registry import STUDIES
    from wherewhat.studies.reproduce import reproduce as run_study
    from wherewhat.tables.files import refuse_to_overwrite
    from wherewhat.tables.texts import title

    study, text = look_up("reproduction", name, STUDIES), options.text
    encodings = [each.strip() for each in (options.encodings or "").split(",") if each.strip()]
    if options.encodings is not None and not encodings:
        raise UserError(f"--encodings is '{options.encodings}'; name encodings, such as none,rope, or all")
    given: dict[str, object] = {
        "--model": options.model,
        "--text": text,
        "--dataset": options.dataset,
        "--task": options.task,
        "--speech": options.speech,
        "--encodings": options.encodings,
        "--shift": options.shift,
    }
    given |= {"--resume": resume, **engine.given}
    _check(study, given)
    folder = Path("runs") / study.name if out is None else out
    if study.resumes and not overwrite and not resume:
        JobFolder(folder / RUNS_FOLDER).refuse_any()  # mentions --resume, which the next refusal does not
    refuse_to_overwrite(folder, kind="reproduce", overwrite=overwrite or resume)
    takes_model = "--model" in study.takes
    texts = texts_from(text, column=options.column, dataset=options.dataset, split=options.split)
    with (
        progress(study.name, quiet=quiet, announced=True) as step,
        interrupt_message(lambda: _kept_message(folder, overwrite=overwrite)),
    ):
        run = run_study(
            study.name,
            scale=options.scale,
            seed=options.seed,
            seeds=options.seeds,
            model=options.model or "tiny",
            texts=texts if takes_model else None,
            source=options.dataset or ", ".join(map(title, text)),
            loading=load_settings,
            files=() if takes_model else text,
            tasks=options.task,
            speech=options.speech,
            encodings=encodings,
            shift=options.shift or 0,
            folder=folder,
            overwrite=overwrite,
            resume=resume,
            engine=engine.engine_name,
            workers=engine.workers,
            address=engine.address,
            shared=engine.shared,
            on_step=step,
            on_warning=warning_printer(quiet),
        )
        write_run(run, folder, overwrite=overwrite or resume, png=png)
    _print(run, folder, as_json=as_json, quiet=quiet)


def _kept_message(folder: Path, *, overwrite: bool) -> str:
    """What an interruption message says: the finished runs are kept."""
    from wherewhat.jobs.folder import JobFolder
    from wherewhat.studies.engine.study import RUNS_FOLDER

    if not (runs := JobFolder(folder / RUNS_FOLDER).count):
        return NOTHING
    subject = "1 finished run is" if runs == 1 else f"{runs} finished runs are"
    return f"{subject} kept in {folder}; {going_on(overwrite=overwrite)}"


def _print(result: "StudyRun", folder: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer: dict[str, Any] = {"out": str(folder), "report": str(folder / "report.html")}
        answer |= {"claims": result.manifest.to_dict()["claims"], "seconds": seconds()}
        print(json.dumps(answer, ensure_ascii=False))
    elif not quiet:
        verdicts = [claim.verdict for claim in result.manifest.claims]
        counts = {verdict: verdicts.count(verdict) for verdict in verdicts}
        counted = ", ".join(f"{number} {_in_number(verdict, number)}" for verdict, number in counts.items())
        print(f"{len(verdicts)} claims: {counted}; {seconds():.0f} s: {folder / 'report.html'}")


def _in_number(verdict: str, number: int) -> str:
    """A verdict on so many claims.

    >>> _in_number("agrees", 1), _in_number("agrees", 2), _in_number("in part", 2)
    ('agrees', 'agree', 'in part')
    """
    return verdict if number == 1 else {"agrees": "agree", "disagrees": "disagree"}.get(verdict, verdict)


def _check(study: "AnyStudy", given: dict[str, object]) -> None:
    """Refuse an option that this study does not take."""
    from wherewhat.studies.registry import STUDIES

    def taken(by: "AnyStudy") -> tuple[str, ...]:
        return (*by.takes, "--resume", *EngineOptions().given) if by.resumes else by.takes

    for unused in (name for name, value in given.items() if value and name not in taken(study)):
        *most, last = [other.name for other in STUDIES.values() if unused in taken(other)]
        takers, (why, others) = f"{', '.join(most)} and {last}" if most else last, NOT_TAKEN[unused]
        raise UserError(f"{study.name} {why}; leave {unused} out ({takers} {others})")


# Why a study does not take an option, and what those do that take it.
_OWN_NETS = "trains nets of its own"
_ONE_GO = "studies a given model in one go, in this process"
NOT_TAKEN = {
    "--model": (_OWN_NETS, "can study a model you name"),
    "--text": (_OWN_NETS, "read yours"),
    "--dataset": (_OWN_NETS, "studies a model you name"),
    "--encodings": ("has its own conditions", "take it"),
    "--shift": ("has its own conditions", "takes it"),
    "--speech": ("hears no recordings", "hears yours"),
    "--task": ("asks only its own questions", "asks yours too"),
    "--resume": ("studies a given model in one go, without runs to resume", "can resume"),
    **dict.fromkeys(EngineOptions().given, (_ONE_GO, "take it")),
}

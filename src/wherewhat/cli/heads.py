"""`wherewhat heads`: profile every head of a model on some texts, or of many models and compare them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import ADVANCED, MEASURE, MODEL, OUTPUT, grouped, option
from wherewhat.cli.interrupts import NOTHING, going_on, interrupt_message
from wherewhat.cli.live_table import live_table
from wherewhat.cli.options import (
    EngineOptions,
    InputOptions,
    ModelOptions,
    OutputOptions,
    ScoreOptions,
    TextOptions,
    write_run,
)
from wherewhat.cli.parse import parse_count, parse_names, parse_numbers
from wherewhat.errors import UserError
from wherewhat.formatting import count
from wherewhat.progress import announce, first_part, progress

if TYPE_CHECKING:
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.comparing.profile_many import ManyProfiles, ManyRequest
    from wherewhat.runs.registry import Profile


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Which heads are profiled, how their logits are swapped, and which baseline and hidden states are measured."""

    hidden: Annotated[
        bool | None,
        option(
            MEASURE,
            None,
            "Look for position inside hidden states (default: if logits are position-free).",
            "--hidden/--no-hidden",
        ),
    ] = None
    untrained: Annotated[
        bool | None,
        option(
            MEASURE,
            None,
            "Also profile untrained weights as a baseline (default: unless the model is large).",
            "--untrained/--no-untrained",
        ),
    ] = None
    layers: Annotated[str | None, option(MEASURE, "NUMBERS", "Only these layers, such as 0,3-5.")] = None
    heads: Annotated[str | None, option(MEASURE, "NAMES", "Only these heads: L0H1,L2H3, or 'decoder L0H1'.")] = None
    logit_rows: Annotated[
        str, option(ADVANCED, "N|all", "Of the query rows, how many have their logits decomposed and swapped.")
    ] = "8"
    max_swaps: Annotated[
        str, option(ADVANCED, "N|all", "Swaps per row to compute one by one; beyond that, a sample.")
    ] = "16384"
    blocks: Annotated[
        str | None,
        option(ADVANCED, "sentence|line|FILE", "Also swap whole blocks; FILE has [[from, to], ...] per text."),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As fields of `ProfileSettings`."""
        return {
            "layers": parse_numbers(self.layers, "--layers"),
            "heads": parse_names(self.heads, "--heads"),
            "hidden": self.hidden,
            "untrained": self.untrained,
            "logit_rows": parse_count(self.logit_rows, "--logit-rows", "all"),
            "max_swaps": parse_count(self.max_swaps, "--max-swaps", "all"),
        }


@dataclass(frozen=True, kw_only=True)
class ManyOptions:
    """Which checkpoints of a model are profiled, and whether those that are finished are kept."""

    revisions: Annotated[
        str | None,
        option(MODEL, "A,B,...|all", "Several revisions on the Hub, or snapshots of a training run (all: every step)."),
    ] = None
    resume: Annotated[
        bool, option(OUTPUT, None, "With several models: keep the profiles that are finished.", "--resume")
    ] = False


@grouped
def heads(
    models: Annotated[
        list[str],
        typer.Argument(
            help="A Hub id, a folder, a training run, or a built-in name; several are compared.", metavar="MODEL"
        ),
    ] = ["tiny"],  # noqa: B006
    *,
    many: ManyOptions = ManyOptions(),
    loading: ModelOptions = ModelOptions(),
    texts: TextOptions = TextOptions(),
    inputs: InputOptions = InputOptions(),
    selection: HeadOptions = HeadOptions(),
    scoring: ScoreOptions = ScoreOptions(),
    engine: EngineOptions = EngineOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/heads")),
) -> None:
    """Profile every head: where it looks, and whether by position or by content, as tables and one page.

    Several models, or checkpoints of one, are profiled several at once and compared on one page.

    Try: `wherewhat heads` · `wherewhat heads gpt2 --text book.txt --out runs/gpt2` ·
    `wherewhat heads runs/tiny --revisions all --out runs/steps`
    """
    alone = len(models) == 1 and many.revisions is None
    settings = scoring.settings | selection.settings
    if alone:
        _refuse_options_of_many(models[0], {"--resume": many.resume, **engine.given})
        output.begin(models[0], "heads")
    else:
        announce("heads", quiet=output.quiet)
    load_settings = loading.settings(*(models if alone else ()))  # of many, one that cannot be had stops no other
    settings |= {"max_texts": texts.max_texts, "max_tokens": texts.max_tokens, "add_bos": texts.add_bos}
    settings |= {"blocks": _blocks(selection.blocks), **inputs.settings(scoring.seed)}
    if alone:
        _profile_alone(models[0], texts, load_settings, settings, output)
    else:
        options = typed_options(loading, texts, inputs, selection, scoring)
        request = _request(models, many, texts, load_settings, settings, output, options)
        _profile_many(request, engine, output)


def _profile_alone(
    model: str, texts: TextOptions, loading: "LoadSettings", settings: dict[str, Any], output: OutputOptions
) -> None:
    from wherewhat.profiling.profile import profile

    with progress(model, quiet=output.quiet, announced=True) as step:
        run = profile(
            model,
            texts.read(),
            loading=loading,
            on_step=first_part(step, of_whole=0.95),
            say=output.say,
            source=texts.origin,
            **settings,
        )
        step(95, 100, "drawing")
        output.write(run)
    _print(run, output)


def _refuse_options_of_many(model: str, given: Mapping[str, bool]) -> None:
    for name in (name for name, is_given in given.items() if is_given):
        raise UserError(f"{name} is for several models, and {model} alone is profiled in one go; leave {name} out")


def _request(
    models: Sequence[str],
    many: ManyOptions,
    texts: TextOptions,
    loading: "LoadSettings",
    settings: dict[str, Any],
    output: OutputOptions,
    options: Sequence[str],
) -> "ManyRequest":
    """What is to be profiled; refuses models that are named twice and revisions that are not there."""
    from wherewhat.comparing.checkpoints import checkpoints_of
    from wherewhat.comparing.profile_many import ManyRequest
    from wherewhat.profiling.settings import ProfileSettings

    if output.overwrite and many.resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    revisions = () if many.revisions is None else parse_names(many.revisions, "--revisions")
    return ManyRequest(
        checkpoints_of(models, revisions, revision=loading.revision, offline=loading.offline),
        ProfileSettings(**settings),
        loading,
        None if texts.read() is None else texts.origin,
        output.out,
        resume=many.resume,
        overwrite=output.overwrite,
        options=tuple(options),
    )


def _profile_many(request: "ManyRequest", engine: EngineOptions, output: OutputOptions) -> None:
    """Profile all, write their comparison, and name those that failed at the end."""
    from wherewhat.comparing.profile_many import default_workers, profile_many

    if engine.engine_name == "local" and engine.workers is None:
        engine = replace(engine, workers=default_workers(request.checkpoints, request.loading.device))
    runner, jobs = engine.engine(), request.jobs()
    with (
        interrupt_message(lambda: _kept(request)),
        live_table("heads", jobs, quiet=output.quiet) as on_event,
    ):
        result = profile_many(request, jobs, engine=runner, on_event=on_event)
        if result.comparison is not None:
            write_run(result.comparison, output.out, overwrite=True, png=output.png)
    _print_many(result, request, output)
    _refuse_failures(result, request)


def _kept(request: "ManyRequest") -> str:
    """What an interruption message says: the finished profiles are kept."""
    from wherewhat.jobs.folder import JobFolder

    if not (finished := JobFolder(request.runs).count):
        return NOTHING
    profiles = f"{finished} of {count(len(request.checkpoints), 'profile')}"
    return f"{profiles} in {request.runs} are finished; {going_on(overwrite=request.overwrite)}"


def _print_many(result: "ManyProfiles", request: "ManyRequest", output: OutputOptions) -> None:
    comparison = result.comparison
    if output.as_json:
        summary: dict[str, Any] = {"out": str(output.out), "report": comparison and str(output.report)}
        summary["profiles"] = {each.name: str(request.runs / each.name) for each in result.finished}
        summary["failed"] = {failure.job: failure.sentence for failure in result.failures}
        if comparison is not None:
            summary |= {"compared": [side.name for side in comparison.manifest.compared]}
            summary |= {"changes": comparison.leading, "findings": comparison.sentences}
        print(json.dumps({**summary, "seconds": seconds()}, ensure_ascii=False))
    elif comparison is not None and not output.quiet:
        sides = comparison.manifest.compared
        print(f"{len(sides)} profiles, {sides[0].name} to {sides[-1].name}, {seconds():.1f} s: {output.report}")
        for sentence in comparison.sentences:
            print(f"  {sentence}")


def _refuse_failures(result: "ManyProfiles", request: "ManyRequest") -> None:
    """End with what is missing, once all else is done."""
    for failure in result.failures:
        if not failure.fixable:
            raise failure.error()
    profiles = f"{len(result.finished)} of {count(len(request.checkpoints), 'profile')}"
    if result.failures:
        reasons = "".join(f"\n  {failure.job}: {failure.sentence}" for failure in result.failures)
        missing = "" if result.comparison is not None else f"\n  no comparison: {result.reason}"
        raise UserError(
            f"{profiles} in {request.runs} are finished, the others failed; mend them and add --resume:"
            f"{reasons}{missing}"
        )
    if result.comparison is None:
        raise UserError(f"{profiles} in {request.runs} are finished, but cannot be compared: {result.reason}")


def typed_options(*groups: Any) -> tuple[str, ...]:
    """The options of these groups that are not at their defaults, as they can be typed in any folder.

    Where a model comes from is left out: its revision, and whether the Hub may be asked.

    >>> typed_options(HeadOptions(hidden=False, layers="0,1"), InputOptions(positional=True))
    ('--no-hidden', '--layers', '0,1', '--positional')
    """
    words: list[str] = []
    for group in groups:
        for name, default in vars(type(group)()).items():
            value, option_name = getattr(group, name), name.replace("_", "-")
            if value == default or name in ("revision", "offline"):
                continue
            if isinstance(value, bool):
                words.append("--" + ("" if value else "no-") + option_name)
                continue
            for each in value if isinstance(value, list) else [value]:
                is_file = isinstance(each, Path) or (name == "blocks" and Path(each).exists())
                words += [f"--{option_name}", str(Path(each).absolute() if is_file else each)]
    return tuple(words)


def _blocks(text: str | None) -> list[list[list[int]]] | str | None:
    """Read --blocks: the name of a way to cut texts, or a file that says where."""
    from wherewhat.capture.tokens.blocks import ENDINGS
    from wherewhat.tables.texts import read_blocks

    return text if text is None or text in ENDINGS or not Path(text).exists() else read_blocks(Path(text))


def _print(profile: "Profile", output: OutputOptions) -> None:
    model, texts, positional = profile.manifest.model, profile.manifest.texts, profile.manifest.positional
    if output.as_json:
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report)}
        summary |= {"heads_table": str(output.out / "heads.parquet"), "model": model.id, "heads": model.heads}
        summary |= {"texts": texts.count}
        summary |= {"positional": {"n": positional.n, "words": positional.words}} if positional else {}
        print(json.dumps({**summary, "findings": profile.findings(), "seconds": seconds()}, ensure_ascii=False))
    elif not output.quiet:
        windows = f" cut into {count(texts.windows, 'window')}" if texts.windows != texts.count else ""
        copies = f", {count(positional.words, 'word')} × {positional.n} copies" if positional else ""
        print(
            f"{count(model.heads, 'head')} of {model.id} on {count(texts.count, 'text')}{windows}, "
            f"{count(texts.tokens, 'token')}, {seconds():.1f} s{copies}: {output.report}"
        )
        for sentence in profile.findings():
            print(f"  {sentence}")

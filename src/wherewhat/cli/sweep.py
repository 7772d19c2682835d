"""`wherewhat sweep`: one recipe at every point of a grid of settings."""

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wherewhat.cli import clock
from wherewhat.cli.groups import OUTPUT, grouped, option
from wherewhat.cli.interrupts import NOTHING, going_on, interrupt_message
from wherewhat.cli.live_table import live_table
from wherewhat.cli.options import EngineOptions, Json, Overwrite, Png, Quiet, Resume, warning_printer, write_run
from wherewhat.cli.parse import parse_text
from wherewhat.errors import UserError
from wherewhat.progress import announce

if TYPE_CHECKING:
    from wherewhat.jobs.engines import JobEvent
    from wherewhat.jobs.folder import JobFolder
    from wherewhat.sweeping.grid import Grid, SweepPoint
    from wherewhat.sweeping.sweep import SweepResult

GRID = "Grid"  # the panel of its own options


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """Which settings are tried."""

    over: Annotated[list[str], option(GRID, "FIELD=A,B,C", "Try each of these values. Repeatable.")] = field(
        default_factory=list
    )
    seeds: Annotated[str, option(GRID, "N,N,...", "Train every point from each of these seeds.")] = ""
    change: Annotated[list[str], option(GRID, "FIELD=VALUE", "Change a setting of all runs. Repeatable.", "--set")] = (
        field(default_factory=list)
    )
    text: Annotated[list[Path], option(GRID, "FILE|NAME", "Train on this text. Repeatable.", parser=parse_text)] = (
        field(default_factory=list)
    )

    def grid(self, recipe: str) -> "Grid":
        """The grid, every point of which is possible."""
        from wherewhat.cli.train import reading
        from wherewhat.recipes.registry import recipe as recipe_called
        from wherewhat.sweeping.grid import Grid, parse_over
        from wherewhat.training.settings import changed

        over = parse_over(self.over)
        for change in self.change:
            if (name := change.partition("=")[0].strip()) == "seed":
                raise UserError("seeds are given by --seeds 0,1,2; leave seed out of --set")
            if name in over:
                raise UserError(f"{name} is given by --set and changes in the grid; leave it out of --set")
        base = changed(reading(recipe_called(recipe), self.text, recipe), self.change)
        return Grid.of(recipe, base, over, _seeds(self.seeds))

    def command(self, recipe: str, point: "SweepPoint", out: Path) -> str:
        """What trains the net of one point alone."""
        changes = [*self.change, *(f"{name}={value}" for name, value in point.values.items())]
        parts = ["wherewhat", "train", recipe, *(part for change in changes for part in ("--set", change))]
        parts += [part for file in self.text for part in ("--text", str(file))]
        return shlex.join([*parts, "--seed", str(point.seed), "--out", str(out)])


@grouped
def sweep(
    recipe: Annotated[str, typer.Argument(help="The recipe, see `wherewhat list recipes`.")],
    *,
    options: GridOptions = GridOptions(),
    engine: EngineOptions = EngineOptions(),
    out: Annotated[Path | None, option(OUTPUT, "DIR", "The folder to write into (default: runs/RECIPE-sweep).")] = None,
    fail_fast: Annotated[bool, option(GRID, None, "Begin no further run once one has failed.", "--fail-fast")] = False,
    track: Annotated[
        str | None,
        option(
            OUTPUT,
            "TOOL[:KEY=VALUE,...]",
            "Also log to trackio, wandb, mlflow or tensorboard; nothing leaves this machine unless you set it up so.",
        ),
    ] = None,
    print_commands: Annotated[
        bool, option(OUTPUT, None, "Only print one `wherewhat train` command per run.", "--print-commands")
    ] = False,
    png: Png = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a recipe at every point of a grid, several runs at once. Killed at any moment, --resume goes on.

    Try: `wherewhat sweep tiny --over encoding=rope,alibi,none --seeds 0,1 --set steps=200 --out runs/encodings` ·
    `wherewhat sweep tiny --over learning_rate=1e-3,3e-3 --over width=32,64 --engine ray`
    """
    if overwrite and resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    announce(recipe, quiet=quiet or print_commands)
    grid = options.grid(recipe)
    folder = Path("runs") / f"{recipe}-sweep" if out is None else out
    from wherewhat.jobs.folder import JobFolder
    from wherewhat.jobs.keys import file_name
    from wherewhat.sweeping.sweep import RUNS, SweepRequest, run_sweep
    from wherewhat.tracking.listener import tracking

    if print_commands:
        for point in grid.points:
            print(options.command(recipe, point, folder / RUNS / file_name(point.name)))
        return
    request = SweepRequest(grid, folder, resume=resume, overwrite=overwrite, fail_fast=fail_fast)
    runner, say = engine.engine(), warning_printer(quiet) or _silent
    with (
        interrupt_message(lambda: _kept(JobFolder(request.runs), len(grid.points), folder, overwrite=overwrite)),
        tracking(track, folder, request.jobs, runs=request.runs, say=say, anew=overwrite) as tracked,
        live_table(recipe, request.jobs, quiet=quiet) as shown,
    ):

        def on_event(event: "JobEvent") -> None:
            tracked(event)
            shown(event)

        result = run_sweep(request, engine=runner, on_event=on_event)
    for failure in result.failures:  # also if there is no room for the page
        print(f"wherewhat: {failure.job} failed: {failure.sentence}", file=sys.stderr)
    write_run(result.run, folder, overwrite=True, png=png)
    _report(result, folder, as_json=as_json, quiet=quiet)


def _report(result: "SweepResult", folder: Path, *, as_json: bool, quiet: bool) -> None:
    """Say how the sweep ended. Failed runs end the command: with 2 if the user can mend all of them, else with 1."""
    manifest = result.run.manifest
    if as_json:
        status = dict(manifest.status)
        failures = {failure.run: failure.sentence for failure in manifest.failures}
        print(json.dumps({"out": str(folder), "runs": status, "failures": failures, "seconds": clock.seconds()}))
    elif not quiet:
        done = f"{manifest.status.get('done', 0)} of {sum(manifest.status.values())} runs are finished"
        print(f"{done}; open {folder / 'report.html'}")
    if result.failures:
        print("wherewhat: the same command with --resume tries the failed runs again", file=sys.stderr)
        raise typer.Exit(2 if all(failure.fixable for failure in result.failures) else 1)


def _silent(sentence: str) -> None:
    """Say nothing."""


def _seeds(text: str) -> list[int]:
    """The seeds of `0,1,2`."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError as error:
        raise UserError(f"--seeds is '{text}'; give whole numbers with commas between them, such as 0,1,2") from error


def _kept(jobs: "JobFolder", points: int, folder: Path, *, overwrite: bool) -> str:
    """What to say of an interruption."""
    if not jobs.count and not jobs.begun:
        return NOTHING
    begun = f", {jobs.begun} more begun" if jobs.begun else ""
    return f"{jobs.count} of {points} runs in {folder} are finished{begun}; {going_on(overwrite=overwrite)}"

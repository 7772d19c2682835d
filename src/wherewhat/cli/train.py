"""`wherewhat train`: one training run of a recipe."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wherewhat.cli import clock
from wherewhat.cli.groups import OUTPUT, option
from wherewhat.cli.interrupts import NOTHING, going_on, interrupt_message
from wherewhat.cli.options import Json, Overwrite, Quiet, Resume, command_line
from wherewhat.cli.parse import parse_text
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

if TYPE_CHECKING:
    from wherewhat.training.run_folder import TrainingResult
    from wherewhat.training.settings import TrainingSettings

TRAINING = "Training"  # the panel of its own options


def train(
    recipe: Annotated[str, typer.Argument(help="The recipe, see `wherewhat list recipes`.")] = "tiny",
    *,
    change: Annotated[list[str], option(TRAINING, "FIELD=VALUE", "Change a setting. Repeatable.", "--set")] = [],  # noqa: B006
    text: Annotated[
        list[Path],
        option(
            TRAINING,
            "FILE|NAME",
            "Train on this text, one sentence per line, or a .conllu treebank. Repeatable.",
            parser=parse_text,
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int | None, option(TRAINING, "N", "Seed of the initial weights (default: the recipe's).")] = None,
    out: Annotated[Path | None, option(OUTPUT, "DIR", "The folder to write into (default: runs/RECIPE).")] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small net. Killed at any moment and run again with --resume, it ends with the same weights.

    Try: `wherewhat train tiny --set steps=200 --out runs/short` · then `wherewhat heads runs/short`
    · `wherewhat train bert_tiny --text my.txt`
    """
    announce(recipe, quiet=quiet)
    from wherewhat.recipes.registry import recipe as recipe_called
    from wherewhat.tables.files import MANIFEST, refuse_to_overwrite, write_whole
    from wherewhat.tables.manifest.io import manifest_bytes
    from wherewhat.training.loop import shown_by
    from wherewhat.training.loop import train as run
    from wherewhat.training.manifest import training_manifest
    from wherewhat.training.run_folder import CHECKPOINT
    from wherewhat.training.settings import changed

    if overwrite and resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    settings = reading(recipe_called(recipe), text, recipe)
    settings = changed(settings, [*change, *([] if seed is None else [f"seed={seed}"])])
    folder = Path("runs") / recipe if out is None else out
    if (folder / CHECKPOINT).exists() and not overwrite and not resume:
        raise UserError(
            f"{folder} holds an unfinished run; add --resume to go on from there, or --overwrite to begin again"
        )
    refuse_to_overwrite(folder, kind="train", overwrite=overwrite or resume)
    began = time.perf_counter()

    def manifest(trained: "TrainingResult") -> bytes:
        seconds = round(time.perf_counter() - began, 3)
        return manifest_bytes(training_manifest(trained, recipe=recipe, command=command_line(), seconds=seconds))

    with (
        progress(recipe, quiet=quiet, announced=True) as step,
        interrupt_message(
            lambda: _kept_message(folder, unfinished=(folder / CHECKPOINT).exists(), overwrite=overwrite)
        ),
    ):
        trained = run(
            settings,
            out=folder,
            resume=resume,
            on_step=shown_by(step, settings),
            manifest=manifest,
        )
    if not (folder / MANIFEST).exists():  # of a net that was finished from Python
        write_whole(folder / MANIFEST, manifest(trained))
    if as_json:
        print(json.dumps({"out": str(folder), **trained.ends, "seconds": clock.seconds()}))
    elif not quiet:
        for line in trained.settings.left_out():
            print(line)
        print(f"{trained.settings.ending(trained.ends)}; `wherewhat heads {folder}` profiles the net")


def _kept_message(folder: Path, *, unfinished: bool, overwrite: bool) -> str:
    """What to say of an interruption: the last checkpoint stays."""
    if unfinished:
        return f"{folder} holds the last checkpoint; {going_on(overwrite=overwrite)}"
    return f"the net in {folder} is finished" if (folder / "model").exists() else NOTHING


def reading(settings: "TrainingSettings", files: Sequence[Path], recipe: str) -> "TrainingSettings":
    """The same run on other text, if some is given and the run reads at all."""
    from wherewhat.corpora.registry import corpus
    from wherewhat.training.language_modelling import LanguageModelSettings

    if not files:
        return settings
    if not isinstance(settings, LanguageModelSettings):
        raise UserError(
            f"the recipe {recipe} learns its {settings.learns} and reads no text; leave --text out, or train bert_tiny"
        )
    kinds = {"treebank" if file.suffix == ".conllu" else "text" for file in files}
    if len(kinds) > 1:
        raise UserError("--text names plain text and .conllu files together; give files of one kind")
    # Whole paths, so that the run's folder finds its text from anywhere.
    return replace(settings, corpus=corpus(kinds.pop(), files=[str(file.resolve()) for file in files]))

"""`wherewhat train`: one training run of a recipe."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from wherewhat.cli.options import ASKED, RESULT, Json, Overwrite, Quiet, command_line, option
from wherewhat.cli.progress import progress
from wherewhat.errors import UserError


def train(
    recipe: Annotated[str, typer.Argument(help="The recipe, see `wherewhat list recipes`.")] = "tiny",
    *,
    change: Annotated[list[str], option(ASKED, "FIELD=VALUE", "Change a setting. Repeatable.", "--set")] = [],  # noqa: B006
    seed: Annotated[int | None, option(ASKED, "N", "Decides the first weights; the recipe's unless said.")] = None,
    out: Annotated[Path | None, option(RESULT, "DIR", "The folder to write into; runs/RECIPE unless said.")] = None,
    resume: Annotated[bool, option(RESULT, None, "Go on where an interrupted run stopped.", "--resume")] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small net. Killed at any moment and run again with --resume, it ends with the same weights.

    Try: `wherewhat train tiny --set steps=200 --out runs/short` · then `wherewhat heads runs/short`
    """
    from wherewhat.recipes.registry import recipe as recipe_called
    from wherewhat.tables.files import MANIFEST, refuse_to_overwrite, write_whole
    from wherewhat.tables.manifest import manifest_bytes, peak_memory, provenance
    from wherewhat.training.checkpoint import CHECKPOINT
    from wherewhat.training.loop import train as run
    from wherewhat.training.settings import changed

    if overwrite and resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    settings = changed(recipe_called(recipe), [*change, *([] if seed is None else [f"seed={seed}"])])
    folder = Path("runs") / recipe if out is None else out
    refuse_to_overwrite(folder, kind="train", overwrite=overwrite or resume)
    finished = resume and not (folder / CHECKPOINT).exists() and (folder / MANIFEST).exists()
    began = time.perf_counter()
    with progress(f"{recipe}: steps", quiet=quiet) as step:
        trained = run(
            settings,
            out=folder,
            resume=resume,
            on_step=lambda number, measured: step(number, settings.steps, f"loss {measured['loss']:.3f}"),
        )
    manifest = {
        **provenance(),
        "kind": "train",
        "command": command_line(),
        "recipe": recipe,
        "settings": settings.to_dict(),
        "seed": settings.seed,
        "accuracy": trained.accuracy,
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
    }
    if not finished:  # else it tells already how the run was made
        write_whole(folder / MANIFEST, manifest_bytes(manifest))
    if as_json:
        print(json.dumps({"out": str(folder), "accuracy": trained.accuracy, "seconds": manifest["seconds"]}))
    elif not quiet:
        print(
            f"{trained.accuracy:.1%} of fresh sequences answered exactly; `wherewhat heads {folder}` profiles the net"
        )

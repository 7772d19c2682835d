"""`wherewhat reproduce`: one published experiment, ours beside what was published."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wherewhat.cli.options import (
    ASKED,
    MODEL,
    RESULT,
    AllowPickle,
    Column,
    Dataset,
    Device,
    Dtype,
    Files,
    Json,
    Offline,
    Overwrite,
    Png,
    Quiet,
    Revision,
    Seed,
    Split,
    TrustRemoteCode,
    command_line,
    loading_by,
    option,
    texts_from,
)
from wherewhat.cli.progress import progress
from wherewhat.errors import UserError

if TYPE_CHECKING:
    from wherewhat.reproductions.registry import Reproduction


def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment, see `wherewhat list reproductions`.")],
    *,
    scale: Annotated[str, option(ASKED, "tiny|small|paper", "How large; paper is as published.")] = "tiny",
    seed: Seed = 0,
    seeds: Annotated[int | None, option(ASKED, "N", "How many runs of each kind; the scale's unless said.")] = None,
    model: Annotated[str | None, option(MODEL, "MODEL", "For control: a Hub id, a folder, or a built-in name.")] = None,
    text: Files = [],  # noqa: B006  # typer reads it, nobody writes it
    column: Column = "text",
    dataset: Dataset = None,
    split: Split = "test",
    dtype: Dtype = "float32",
    device: Device = "auto",
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Annotated[Path | None, option(RESULT, "DIR", "The folder to write into; runs/NAME unless said.")] = None,
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Do a published experiment again, and say where it agrees.

    Try: `wherewhat reproduce canonical` · `wherewhat reproduce control --model MODEL --text book.txt`
    """
    loading = loading_by(
        dtype,
        device,
        offline=offline,
        revision=revision,
        trust_remote_code=trust_remote_code,
        allow_pickle=allow_pickle,
    )
    from wherewhat.names import look_up
    from wherewhat.reproductions.base import Order
    from wherewhat.reproductions.registry import REPRODUCTIONS
    from wherewhat.runs.reproduced import Reproduced
    from wherewhat.tables.files import refuse_to_overwrite
    from wherewhat.tables.manifest import peak_memory, provenance

    chosen = look_up("reproduction", name, REPRODUCTIONS)
    _check(chosen, {"--model": model, "--text": text, "--dataset": dataset})
    folder = Path("runs") / chosen.name if out is None else out
    refuse_to_overwrite(folder, kind=Reproduced.kind, overwrite=overwrite)
    began = time.perf_counter()
    with progress(chosen.name, quiet=quiet) as step:
        found = chosen.run(
            Order(
                scale=scale,
                seed=seed,
                seeds=seeds,
                model=model or "tiny",
                texts=texts_from(text, column=column, dataset=dataset, split=split),
                source=dataset or ", ".join(map(str, text)),
                loading=loading,
                on_step=step,
            )
        )
    manifest = {
        **provenance(),
        "reproduction": chosen.name,
        "paper": chosen.paper,
        "command": command_line(),
        "scale": scale,
        "seed": seed,
        "settings": dict(found.settings),
        "claims": [asdict(claim) for claim in found.claims],
        "notes": list(found.notes),
        "about": dict(found.about),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
    }
    run = Reproduced(found.result, manifest)
    run.save(folder, overwrite=overwrite)
    if png is not None:
        run.figures(png)
    verdicts = [claim.verdict for claim in found.claims]
    if as_json:
        told = {"out": str(folder), "report": str(folder / "report.html"), "claims": manifest["claims"]}
        print(json.dumps({**told, "seconds": manifest["seconds"]}, ensure_ascii=False))
    elif not quiet:
        counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
        print(f"{len(verdicts)} claims: {counted}; {manifest['seconds']:.0f} s: {folder / 'report.html'}")


def _check(chosen: "Reproduction", given: dict[str, object]) -> None:
    """A model and texts are for experiments that are about a model."""
    in_vain = next((name for name, value in given.items() if value), None)
    if in_vain and not chosen.of_model:
        raise UserError(
            f"{chosen.name} trains nets of its own; leave {in_vain} out (control is about a model you name)"
        )

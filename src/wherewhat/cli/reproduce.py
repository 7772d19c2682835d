"""`wherewhat reproduce`: one published experiment, ours beside what was published."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wherewhat.cli.clock import seconds
from wherewhat.cli.interrupts import NOTHING, going_on, kept
from wherewhat.cli.options import (
    ASKED,
    MODEL,
    RESULT,
    TEXTS,
    AllowPickle,
    Column,
    Dataset,
    Device,
    Dtype,
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
    named_text,
    option,
    saying,
    texts_from,
)
from wherewhat.cli.saving import save
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

if TYPE_CHECKING:
    from wherewhat.runs.reproduced import Reproduced
    from wherewhat.studies.registry import Reproduction


def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment, see `wherewhat list reproductions`.")],
    *,
    scale: Annotated[str, option(ASKED, "tiny|small|paper", "How large; paper is as published.")] = "tiny",
    seed: Seed = 0,
    seeds: Annotated[int | None, option(ASKED, "N", "How many runs of each kind; the scale's unless said.")] = None,
    model: Annotated[str | None, option(MODEL, "MODEL", "For control: as elsewhere; tiny unless said.")] = None,
    text: Annotated[
        list[Path],
        option(
            TEXTS,
            "FILE|NAME",
            "For control, and for locality to learn from; without, they make their own.",
            parser=named_text,
        ),
    ] = [],  # noqa: B006
    task: Annotated[
        list[Path], option(TEXTS, "FILE", "For locality: also ask this, label, tab, text on every line. Repeatable.")
    ] = [],  # noqa: B006
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
    resume: Annotated[
        bool, option(RESULT, None, "For locality, syntax and word-swap: go on where it stopped.", "--resume")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Do a published experiment again, and say where it agrees.

    Try: `wherewhat reproduce canonical` · `wherewhat reproduce control --model MODEL --text book.txt` ·
    `wherewhat reproduce locality --out runs/locality`, and if that is killed, the same with `--resume`
    """
    if overwrite and resume:
        raise UserError("both --overwrite and --resume were given; choose one of them")
    announce(name, quiet=quiet)
    loading = loading_by(
        dtype,
        device,
        *([model] if model else []),
        offline=offline,
        revision=revision,
        trust_remote_code=trust_remote_code,
        allow_pickle=allow_pickle,
    )
    from dataclasses import replace

    from wherewhat.names import look_up
    from wherewhat.runs.reproduced import Reproduced
    from wherewhat.studies.base import Order
    from wherewhat.studies.finished import finished_in
    from wherewhat.studies.registry import REPRODUCTIONS
    from wherewhat.studies.run import reproduce as run
    from wherewhat.tables.builtin import title
    from wherewhat.tables.files import refuse_to_overwrite

    chosen = look_up("reproduction", name, REPRODUCTIONS)
    _check(chosen, {"--model": model, "--text": text, "--dataset": dataset, "--task": task, "--resume": resume})
    folder = Path("runs") / chosen.name if out is None else out
    if "--resume" in chosen.takes and not overwrite and not resume:
        finished_in(folder).refuse_any()  # says that one can go on, which the next refusal does not know
    refuse_to_overwrite(folder, kind=Reproduced.kind, overwrite=overwrite or resume)
    of_model = "--model" in chosen.takes
    with progress(chosen.name, quiet=quiet, announced=True) as step, kept(lambda: _kept(folder, overwrite=overwrite)):
        order = Order(
            scale=scale,
            seed=seed,
            seeds=seeds,
            model=model or "tiny",
            texts=texts_from(text, column=column, dataset=dataset, split=split) if of_model else None,
            source=dataset or ", ".join(map(title, text)),
            loading=loading,
            files=() if of_model else tuple(text),
            tasks=tuple(task),
            folder=folder if "--resume" in chosen.takes else None,
            overwrite=overwrite,
            resume=resume,
            on_step=step,
            on_warning=saying(quiet),
        )
        found = run(chosen.name, order)
        found = replace(found, manifest={**found.manifest, "command": command_line()})
        save(found, folder, overwrite=overwrite or resume, png=png)
    _print(found, folder, as_json=as_json, quiet=quiet)


def _kept(folder: Path, *, overwrite: bool) -> str:
    """What to say of an interruption: the runs that were finished stay."""
    from wherewhat.studies.finished import finished_in

    if not (runs := finished_in(folder).count):
        return NOTHING
    told = "1 finished run is" if runs == 1 else f"{runs} finished runs are"
    return f"{told} kept in {folder}; {going_on(overwrite=overwrite)}"


def _print(found: "Reproduced", folder: Path, *, as_json: bool, quiet: bool) -> None:
    claims = found.manifest["claims"]
    if as_json:
        told = {"out": str(folder), "report": str(folder / "report.html"), "claims": claims}
        print(json.dumps({**told, "seconds": seconds()}, ensure_ascii=False))
    elif not quiet:
        verdicts = [claim["verdict"] for claim in claims]
        counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
        print(f"{len(verdicts)} claims: {counted}; {seconds():.0f} s: {folder / 'report.html'}")


def _check(chosen: "Reproduction", given: dict[str, object]) -> None:
    """Not every experiment takes everything."""
    in_vain = next((name for name, value in given.items() if value and name not in chosen.takes), None)
    if in_vain is not None:
        why, others = IN_VAIN[in_vain]
        raise UserError(f"{chosen.name} {why}; leave {in_vain} out ({_takers(in_vain)} {others})")


def _takers(option: str) -> str:
    """The experiments that take an option."""
    from wherewhat.studies.registry import REPRODUCTIONS

    *most, last = [one.name for one in REPRODUCTIONS.values() if option in one.takes]
    return f"{', '.join(most)} and {last}" if most else last


# Why an option is in vain, and what those do that take it.
_OWN_NETS = "trains nets of its own"
IN_VAIN = {
    "--model": (_OWN_NETS, "is about a model you name"),
    "--text": (_OWN_NETS, "read yours"),
    "--dataset": (_OWN_NETS, "is about a model you name"),
    "--task": ("asks nothing but its own questions", "asks yours too"),
    "--resume": ("cannot go on from where it stopped", "can"),
}

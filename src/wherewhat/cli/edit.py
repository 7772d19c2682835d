"""`wherewhat edit`: change position inside a model, and measure what that does."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.options import (
    ASKED,
    AddBos,
    AllowPickle,
    Column,
    Dataset,
    Device,
    DeviceMap,
    Dtype,
    Files,
    First,
    Json,
    MaxTexts,
    MaxTokens,
    Model,
    Offline,
    Out,
    Overwrite,
    Png,
    Queries,
    Quiet,
    Revision,
    Scores,
    Seed,
    Split,
    Tau,
    TrustRemoteCode,
    command_line,
    loading_by,
    numbers,
    option,
    rows_asked,
    saying,
    temperatures,
    texts_from,
    words,
)
from wherewhat.cli.saving import save
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

if TYPE_CHECKING:
    from wherewhat.runs.edited import Edited

EDIT = "The edit"  # the heading its options stand under
Bands = list[str]


def edit(
    model: Model = "tiny",
    *,
    drop: Annotated[Bands, option(EDIT, "BAND", "These frequencies leave the dot product. Repeatable.")] = [],  # noqa: B006
    unrotate: Annotated[Bands, option(EDIT, "BAND", "They stay but no longer turn: no position. Repeatable.")] = [],  # noqa: B006
    keep: Annotated[Bands, option(EDIT, "BAND", "All others leave the dot product. Repeatable.")] = [],  # noqa: B006
    scale: Annotated[Bands, option(EDIT, "BAND=FACTOR", "They count so much more; =FROM..TO^BETA for a ramp.")] = [],  # noqa: B006
    ablate: Annotated[str | None, option(EDIT, "NAMES", "What these heads write becomes 0, such as L3H7.")] = None,
    heads: Annotated[str | None, option(EDIT, "NAMES", "Change frequencies in these heads only.")] = None,
    layers: Annotated[str | None, option(EDIT, "NUMBERS", "Change frequencies in these layers only.")] = None,
    each: Annotated[
        str | None, option(EDIT, "head|band", "Also in each head or band alone; else ablate or drop it.")
    ] = None,
    text: Files = [],  # noqa: B006  # typer reads it, nobody writes it
    column: Column = "text",
    dataset: Dataset = None,
    split: Split = "test",
    max_texts: MaxTexts = 100,
    max_tokens: MaxTokens = None,
    add_bos: AddBos = False,
    random: Annotated[int, option(ASKED, "N", "Sequences of random tokens to copy; 0 leaves copying out.")] = 32,
    queries: Queries = "64",
    scores: Scores = None,
    tau: Tau = "1e-4",
    first: First = 1,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    device: Device = "auto",
    device_map: DeviceMap = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/edit"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Change position inside a model: loss, copying and heads before and after, as tables and one page.

    A BAND is `high:0.25`, `low:0.25`, `index:0,3-5`, `angle:0.01..1`, `wavelength:8..64` or `all`; `+` joins.

    Try: `wherewhat edit --unrotate high:0.25` · `wherewhat edit MODEL --each head --text book.txt`
    """
    announce(f"{model}: edit", quiet=quiet)
    from wherewhat.runs.edited import Edited
    from wherewhat.tables.files import refuse_to_overwrite

    refuse_to_overwrite(out, kind=Edited.kind, overwrite=overwrite)
    if random < 0:
        raise UserError(f"--random is {random}; give a number of sequences, 0 for none")
    measuring: dict[str, Any] = {
        "queries": rows_asked(queries),
        "tau": temperatures(tau, "--tau"),
        "first": first,
        "seed": seed,
        "max_texts": max_texts,
        "max_tokens": max_tokens,
        "add_bos": add_bos,
        "scores": words(scores, "--scores"),
    }
    changes: dict[str, Any] = {"drop": drop, "unrotate": unrotate, "keep": keep, "scale": scale}
    changes |= {"ablate": words(ablate, "--ablate"), "heads": words(heads, "--heads")}
    changes |= {"layers": numbers(layers, "--layers")}
    loading = loading_by(
        dtype,
        device,
        model,
        offline=offline,
        device_map=device_map,
        revision=revision,
        trust_remote_code=trust_remote_code,
        allow_pickle=allow_pickle,
    )
    from dataclasses import replace

    from wherewhat.editing.effect import edited
    from wherewhat.editing.plan import Edit

    wanted = Edit(**changes)
    with progress(f"{model}: edit", quiet=quiet, announced=True) as step:
        found = edited(
            model,
            texts_from(text, column=column, dataset=dataset, split=split),
            wanted,
            each=each,
            random=random,
            loading=loading,
            on_step=step,
            say=saying(quiet),
            source=dataset or ", ".join(map(str, text)),
            **measuring,
        )
    found = replace(found, manifest={**found.manifest, "command": command_line()})
    save(found, out, overwrite=overwrite, png=png)
    _print(found, out, as_json=as_json, quiet=quiet)


def _print(found: "Edited", out: Path, *, as_json: bool, quiet: bool) -> None:
    about, rows = dict(found.manifest), found.whole
    if as_json:
        told = {"out": str(out), "report": str(out / "report.html"), "model": about["model"]["id"]}
        told |= {"edit": about["edit"]["told"], "heads": about["model"]["heads"], "texts": about["texts"]["count"]}
        print(json.dumps({**told, **rows, "strongest": found.strongest, "seconds": seconds()}))
    elif not quiet:
        said = [_told(name, states) for name, states in rows.items() if name != "induction"]
        said += [f"most by {found.strongest['edit']} ({found.strongest['value']:+.3f})"] if found.strongest else []
        print("; ".join([*said, f"{about['model']['heads']} heads", str(out / "report.html")]))


def _told(name: str, states: dict[str, dict[str, float | None]]) -> str:
    """One measure in a few words: before, after and, of the loss, by how much."""
    digits = 3 if name == "loss" else 2
    values = {state: one["value"] for state, one in states.items()}
    told = " → ".join(f"{values[state]:.{digits}f}" for state in ("before", "after") if state in values)
    if name != "loss" or "change" not in states:
        return f"{name} {told}"
    low, high = states["change"]["low"], states["change"]["high"]
    spread = "" if low is None or high is None else f", {low:.3f} to {high:.3f}"
    return f"{name} {told} ({values['change']:+.3f}{spread})"

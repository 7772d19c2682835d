"""`wherewhat compare`: the same heads across models or checkpoints, before and after training."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.clock import seconds
from wherewhat.cli.options import (
    ASKED,
    MODEL,
    TEXTS,
    AddBos,
    AllowPickle,
    Column,
    Copied,
    Copies,
    Dataset,
    Files,
    Json,
    MaxTokens,
    Offline,
    Out,
    Overwrite,
    Png,
    Positional,
    Queries,
    Quiet,
    Random,
    Revision,
    Scores,
    Split,
    TrustRemoteCode,
    command_line,
    loading_by,
    only_cached,
    option,
    probing_by,
    rows_asked,
    saying,
    texts_from,
    words,
)
from wherewhat.cli.saving import save
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

if TYPE_CHECKING:
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.runs.compared import Compared

DRAWS = 3  # of fresh weights, unless said


def compare(
    models: Annotated[
        list[str], typer.Argument(help="Runs of `wherewhat heads`, or models to profile now.", metavar="RUN|MODEL...")
    ],
    *,
    untrained: Annotated[
        bool, option(ASKED, None, "Before them stands the first one's architecture with fresh weights.", "--untrained")
    ] = False,
    draws: Annotated[int | None, option(ASKED, "N", f"Draws of fresh weights; {DRAWS} unless said.")] = None,
    text: Files = [],  # noqa: B006  # typer reads it, nobody writes it
    column: Column = "text",
    dataset: Dataset = None,
    split: Split = "test",
    max_texts: Annotated[int | None, option(TEXTS, "N", "Read at most so many windows of texts.")] = None,
    max_tokens: MaxTokens = None,
    add_bos: AddBos = False,
    similar: Annotated[
        bool, option(ASKED, None, "Also hold every head against every head by what they look at.", "--similar")
    ] = False,
    positional: Positional = False,
    copies: Copies = None,
    copied: Copied = None,
    random: Random = False,
    queries: Queries = None,
    scores: Scores = None,
    seed: Annotated[int | None, option(ASKED, "N", "Decides everything that is drawn at random.")] = None,
    dtype: Annotated[str | None, option(MODEL, "TYPE", "float32, bfloat16, float16 or float64.")] = None,
    device: Annotated[str | None, option(MODEL, "NAME", "auto, cpu, cuda, cuda:1, mps.")] = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/compare"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hold the same heads against each other: how every score changed, with intervals, as a table and one page.

    Every later one is held against the first. Runs are read from their tables; models are profiled now, on the texts
    and with the settings of the first unless said.

    Try: `wherewhat compare tiny --untrained` · `wherewhat compare runs/a runs/b` ·
    `wherewhat compare run/snapshots/*`
    """
    announce("compare", quiet=quiet)
    from wherewhat.runs.compared import Compared
    from wherewhat.tables.files import refuse_to_overwrite

    refuse_to_overwrite(out, kind=Compared.kind, overwrite=overwrite)
    fresh = _draws(untrained, draws)
    chosen = {"revision": revision, "trust_remote_code": trust_remote_code, "allow_pickle": allow_pickle}
    offline = only_cached(models, revision, offline=offline)
    loading = _loading(dtype, device, offline=offline, **chosen)
    measuring = _given(max_texts=max_texts, max_tokens=max_tokens, queries=rows_asked(queries), seed=seed)
    measuring |= {"scores": words(scores, "--scores")} if scores is not None else {}
    measuring |= _probing(positional, copies, copied, seed)
    measuring |= {"random": True} if random else {}
    measuring |= {"add_bos": True} if add_bos else {}
    from dataclasses import replace

    from wherewhat.comparing.compare import compare as compared
    from wherewhat.tables.origin import Origin

    with progress("compare", quiet=quiet, announced=True) as step:
        found = compared(
            models,
            texts_from(text, column=column, dataset=dataset, split=split),
            untrained=fresh,
            similar=similar,
            loading=loading,
            on_step=step,
            say=saying(quiet),
            source=Origin.of(text, column=column, dataset=dataset, split=split),
            **measuring,
        )
    found = replace(found, manifest={**found.manifest, "command": command_line()})
    save(found, out, overwrite=overwrite, png=png)
    _print(found, out, as_json=as_json, quiet=quiet)


def _given(**options: Any) -> dict[str, Any]:
    """What was said; the rest is as in the first run."""
    return {name: value for name, value in options.items() if value is not None}


def _probing(positional: bool, copies: int | None, words: int | None, seed: int | None) -> dict[str, Any]:
    """How to probe the positional part; with nothing said of how, as the first run did."""
    as_before = positional and copies is None and words is None
    return {"positional": True} if as_before else probing_by(positional, copies, words, seed)


def _draws(untrained: bool, draws: int | None) -> int:
    """How many draws of fresh weights were asked for."""
    if draws is not None and not untrained:
        raise UserError("--draws counts draws of fresh weights; add --untrained to hold the model against them")
    if draws is not None and draws < 1:
        raise UserError(f"--draws is {draws}; draw fresh weights at least once")
    return (DRAWS if draws is None else draws) if untrained else 0


def _loading(dtype: str | None, device: str | None, *, offline: bool, **others: Any) -> "LoadSettings | None":
    """How to load models, if anything was said of it; otherwise as the first run says, and no torch for runs alone."""
    if dtype is None and device is None and not offline and not any(others.values()):
        return None
    return loading_by(dtype or "float32", device or "auto", offline=offline, **others)


def _print(found: "Compared", out: Path, *, as_json: bool, quiet: bool) -> None:
    leading, pairs = found.leading, found.manifest.get("similar") or []
    if as_json:
        told: dict[str, Any] = {"out": str(out), "report": str(out / "report.html")}
        told |= {
            "compared": [one["name"] for one in found.manifest["compared"]],
            "changes": leading,
            "findings": found.sentences,
        }
        told |= {"similar": pairs} if pairs else {}
        print(json.dumps({**told, "claims": found.manifest["claims"], "seconds": seconds()}))
    elif not quiet:
        for sentence in found.sentences:
            print(sentence)
        print(f"{leading[0]['against']} and {leading[0]['model']}: {out / 'report.html'}")

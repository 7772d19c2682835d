"""`wherewhat heads`: profile every head of a model on some texts."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.options import (
    ASKED,
    MODEL,
    TEXTS,
    Json,
    Out,
    Overwrite,
    Png,
    Quiet,
    command_line,
    numbers,
    option,
    temperatures,
    words,
)
from wherewhat.cli.progress import progress
from wherewhat.errors import UserError

if TYPE_CHECKING:
    from wherewhat.profiles import Profile
    from wherewhat.tables.texts import Text


def heads(
    model: Annotated[str, typer.Argument(help="A Hub id, a folder, a training run, or a built-in name.")] = "tiny",
    *,
    text: Annotated[
        list[Path], option(TEXTS, "FILE", "One text a line, running prose (.txt), or .jsonl. Repeatable.")
    ] = [],  # noqa: B006  # typer reads it, nobody writes it
    column: Annotated[str, option(TEXTS, "NAME", "The column of .jsonl files and data sets to read.")] = "text",
    dataset: Annotated[str | None, option(TEXTS, "NAME", "A data set on the Hub, as NAME or NAME:CONFIG.")] = None,
    split: Annotated[str, option(TEXTS, "NAME", "The part of the data set to read.")] = "test",
    max_texts: Annotated[int, option(TEXTS, "N", "Stop after so many texts.")] = 100,
    max_tokens: Annotated[int | None, option(TEXTS, "N", "Cut texts into windows of so many tokens.")] = None,
    queries: Annotated[
        str | None,
        option(
            ASKED,
            "last|N|all",
            "Rows looked at in each text. Unless said 64, of which 8 for shares and the last for swaps.",
        ),
    ] = None,
    scores: Annotated[str | None, option(ASKED, "NAMES", "Only these scores, such as locality,sink.")] = None,
    layers: Annotated[str | None, option(ASKED, "NUMBERS", "Only these layers, such as 0,3-5.")] = None,
    heads: Annotated[str | None, option(ASKED, "NAMES", "Only these heads, such as L0H1,L2H3.")] = None,
    tau: Annotated[
        str, option(ASKED, "NUMBERS", "Temperatures of positional and symbolic, such as 1e-4,0.1,inf.")
    ] = "1e-4",
    first: Annotated[int, option(ASKED, "N", "The first slot whose content may change places.")] = 1,
    blocks: Annotated[
        str | None, option(ASKED, "sentence|line|FILE", "Also swap whole blocks; FILE has [[from, to], ...] a text.")
    ] = None,
    hidden: Annotated[
        bool | None,
        option(
            ASKED,
            None,
            "Look for position inside hidden states (by itself where logits do not tell).",
            "--hidden/--no-hidden",
        ),
    ] = None,
    seed: Annotated[int, option(ASKED, "N", "Decides everything that is drawn at random.")] = 0,
    dtype: Annotated[str, option(MODEL, "TYPE", "float32, bfloat16, float16 or float64.")] = "float32",
    device: Annotated[str, option(MODEL, "NAME", "auto, cpu, cuda, cuda:1, mps.")] = "auto",
    device_map: Annotated[str | None, option(MODEL, "MAP", "auto spreads a large model (needs accelerate).")] = None,
    revision: Annotated[str | None, option(MODEL, "NAME", "A branch, tag or commit on the Hub.")] = None,
    offline: Annotated[bool, option(MODEL, None, "Use only what is on this machine.", "--offline")] = False,
    trust_remote_code: Annotated[
        bool, option(MODEL, None, "Run code that comes with the model.", "--trust-remote-code")
    ] = False,
    allow_pickle: Annotated[
        bool, option(MODEL, None, "Also read weights that are no safetensors.", "--allow-pickle")
    ] = False,
    out: Out = Path("runs/heads"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Profile every head: where it looks, with intervals and chance levels, as tables and one page.

    Try: `wherewhat heads` · `wherewhat heads gpt2 --text book.txt --out runs/gpt2`
    """
    from wherewhat.profiles import KIND
    from wherewhat.tables.files import refuse_to_overwrite

    refuse_to_overwrite(out, kind=KIND, overwrite=overwrite)
    measuring: dict[str, Any] = {
        "queries": _queries(queries),
        "tau": temperatures(tau, "--tau"),
        "first": first,
        "hidden": hidden,
        "seed": seed,
        "max_texts": max_texts,
        "max_tokens": max_tokens,
        "scores": words(scores, "--scores"),
        "layers": numbers(layers, "--layers"),
        "heads": words(heads, "--heads"),
    }
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported, which reads it once
    from dataclasses import replace

    from wherewhat.capture.load import Loading
    from wherewhat.measure import profile

    measuring["blocks"] = _blocks(blocks)
    loading = Loading(dtype, device, device_map, revision, offline, trust_remote_code, allow_pickle)
    texts = _texts(text, column=column, dataset=dataset, split=split)
    with progress(f"{model}: texts", quiet=quiet) as step:
        found = profile(
            model,
            texts,
            loading=loading,
            on_text=lambda done, of: step(done, of, ""),
            say=None if quiet else lambda sentence: print(f"wherewhat: {sentence}", file=sys.stderr, flush=True),
            source=dataset or ", ".join(map(str, text)),
            **measuring,
        )
    found = replace(found, manifest={**found.manifest, "command": command_line()})
    found.save(out, overwrite=overwrite)
    if png is not None:
        found.figures(png)
    _print(found, out, as_json=as_json, quiet=quiet)


def _queries(text: str | None) -> int | None:
    """Read --queries; every row is asked for by 0 inside, the last by -1."""
    named = {None: None, "all": 0, "last": -1}
    if text in named:
        return named[text]
    if text is None or not text.isdecimal() or int(text) < 1:
        raise UserError(f"--queries is '{text}'; give a number of rows, at least 1, or last, or all")
    return int(text)


def _blocks(text: str | None) -> list[list[list[int]]] | str | None:
    """Read --blocks: the name of a way to cut texts, or a file that says where."""
    from wherewhat.capture.blocks import ENDINGS
    from wherewhat.tables.texts import read_blocks

    return text if text is None or text in ENDINGS or not Path(text).exists() else read_blocks(Path(text))


def _texts(files: list[Path], *, column: str, dataset: str | None, split: str) -> "Iterator[Text] | None":
    """The texts to read, from files or from a data set; none were named for a net that writes its own."""
    from wherewhat.tables.dataset import dataset_texts
    from wherewhat.tables.texts import read_texts, take_turns

    if files and dataset:
        raise UserError("both --text and --dataset were given; choose one of them")
    if dataset:
        return dataset_texts(dataset, split=split, column=column)
    return take_turns([read_texts(path, column) for path in files]) if files else None


def _print(profile: "Profile", out: Path, *, as_json: bool, quiet: bool) -> None:
    about: dict[str, Any] = dict(profile.manifest)
    count = about["model"]["heads"]
    if as_json:
        summary = {"out": str(out), "report": str(out / "report.html"), "model": about["model"]["id"], "heads": count}
        print(json.dumps({**summary, "texts": about["texts"]["count"], "seconds": about["seconds"]}))
    elif not quiet:
        texts = f"{about['texts']['count']} texts, {about['texts']['tokens']:,} tokens, {about['seconds']:.1f} s"
        print(f"{count} heads of {about['model']['id']} on {texts}: {out / 'report.html'}")

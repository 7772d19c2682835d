"""`wherewhat heads`: profile every head of a model on some texts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.options import (
    ASKED,
    AddBos,
    AllowPickle,
    Column,
    Copied,
    Copies,
    Dataset,
    Device,
    DeviceMap,
    Dtype,
    Files,
    First,
    Json,
    LogitRows,
    MaxSwaps,
    MaxTexts,
    MaxTokens,
    Model,
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
    Seed,
    Split,
    Tau,
    TrustRemoteCode,
    Untrained,
    command_line,
    loading_by,
    number_or,
    numbers,
    option,
    probing_by,
    rows_asked,
    saying,
    temperatures,
    texts_from,
    words,
)
from wherewhat.cli.saving import save
from wherewhat.progress import announce, first_part, progress

if TYPE_CHECKING:
    from wherewhat.runs.profile import Profile


def heads(
    model: Model = "tiny",
    *,
    text: Files = [],  # noqa: B006  # typer reads it, nobody writes it
    column: Column = "text",
    dataset: Dataset = None,
    split: Split = "test",
    max_texts: MaxTexts = 100,
    max_tokens: MaxTokens = None,
    add_bos: AddBos = False,
    queries: Queries = "64",
    logit_rows: LogitRows = "8",
    max_swaps: MaxSwaps = "16384",
    scores: Scores = None,
    layers: Annotated[str | None, option(ASKED, "NUMBERS", "Only these layers, such as 0,3-5.")] = None,
    heads: Annotated[str | None, option(ASKED, "NAMES", "Only these heads: L0H1,L2H3, or 'decoder L0H1'.")] = None,
    tau: Tau = "1e-4",
    first: First = 1,
    blocks: Annotated[
        str | None, option(ASKED, "sentence|line|FILE", "Also swap whole blocks; FILE has [[from, to], ...] a text.")
    ] = None,
    positional: Positional = False,
    copies: Copies = None,
    copied: Copied = None,
    random: Random = False,
    hidden: Annotated[
        bool | None,
        option(
            ASKED,
            None,
            "Look for position inside hidden states (by itself where logits do not tell).",
            "--hidden/--no-hidden",
        ),
    ] = None,
    untrained: Untrained = None,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    device: Device = "auto",
    device_map: DeviceMap = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/heads"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Profile every head: where it looks, with intervals and chance levels, as tables and one page.

    Try: `wherewhat heads` · `wherewhat heads gpt2 --text book.txt --out runs/gpt2`
    """
    measuring: dict[str, Any] = {
        "queries": rows_asked(queries),
        "logit_rows": number_or(logit_rows, "--logit-rows", "all"),
        "max_swaps": number_or(max_swaps, "--max-swaps", "all"),
        "untrained": untrained,
        "tau": temperatures(tau, "--tau"),
        "first": first,
        "hidden": hidden,
        "random": random,
        "seed": seed,
        "max_texts": max_texts,
        "max_tokens": max_tokens,
        "add_bos": add_bos,
        "scores": words(scores, "--scores"),
        "layers": numbers(layers, "--layers"),
        "heads": words(heads, "--heads"),
    }
    announce(model, quiet=quiet)
    from wherewhat.runs.profile import Profile
    from wherewhat.tables.files import refuse_to_overwrite

    refuse_to_overwrite(out, kind=Profile.kind, overwrite=overwrite)
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

    from wherewhat.profiling.profile import profile
    from wherewhat.tables.origin import Origin

    measuring["blocks"] = _blocks(blocks)
    measuring |= probing_by(positional, copies, copied, seed)
    texts = texts_from(text, column=column, dataset=dataset, split=split)
    with progress(model, quiet=quiet, announced=True) as step:
        found = profile(
            model,
            texts,
            loading=loading,
            on_step=first_part(step, of_whole=0.95),
            say=saying(quiet),
            source=Origin.of(text, column=column, dataset=dataset, split=split),
            **measuring,
        )
        step(95, 100, "drawing")
        found = replace(found, manifest={**found.manifest, "command": command_line()})
        save(found, out, overwrite=overwrite, png=png)
    _print(found, out, as_json=as_json, quiet=quiet)


def _blocks(text: str | None) -> list[list[list[int]]] | str | None:
    """Read --blocks: the name of a way to cut texts, or a file that says where."""
    from wherewhat.capture.tokens.blocks import ENDINGS
    from wherewhat.tables.texts import read_blocks

    return text if text is None or text in ENDINGS or not Path(text).exists() else read_blocks(Path(text))


def _print(profile: "Profile", out: Path, *, as_json: bool, quiet: bool) -> None:
    about: dict[str, Any] = dict(profile.manifest)
    count, probed = about["model"]["heads"], about.get("positional")
    if as_json:
        summary = {"out": str(out), "report": str(out / "report.html"), "heads_table": str(out / "heads.parquet")}
        summary |= {"model": about["model"]["id"], "heads": count}
        told: dict[str, Any] = {"positional": {"n": probed["n"], "words": probed["words"]}} if probed else {}
        told |= {"texts": about["texts"]["count"], "findings": profile.findings(), "seconds": seconds()}
        print(json.dumps({**summary, **told}, ensure_ascii=False))
    elif not quiet:
        read = about["texts"]
        cut = f" cut into {_many(read['windows'], 'window')}" if read["windows"] != read["count"] else ""
        texts = f"{_many(read['count'], 'text')}{cut}, {_many(read['tokens'], 'token')}"
        probe = f", {_many(probed['words'], 'word')} × {probed['n']} copies" if probed else ""
        print(
            f"{_many(count, 'head')} of {about['model']['id']} on {texts}, {seconds():.1f} s{probe}: "
            f"{out / 'report.html'}"
        )
        for sentence in profile.findings():
            print(f"  {sentence}")


def _many(count: int, what: str) -> str:
    """So many of something.

    >>> _many(1, "word"), _many(2000, "token")
    ('1 word', '2,000 tokens')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"

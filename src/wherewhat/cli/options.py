"""The options that commands share, each declared once: models, texts, scores, output."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.groups import ADVANCED, MEASURE, MODEL, OUTPUT, TEXTS, option
from wherewhat.cli.interrupts import interrupt_message
from wherewhat.cli.parse import parse_count, parse_names, parse_temperatures, parse_text, parse_treebank
from wherewhat.errors import UserError
from wherewhat.progress import announce
from wherewhat.signals import deferred_signals

if TYPE_CHECKING:
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.jobs.engines import Engine
    from wherewhat.runs.base import Run
    from wherewhat.tables.texts import Origin, Text

Model = Annotated[str, typer.Argument(help="A Hub id, a folder, a training run, or a built-in name.")]
Json = Annotated[bool, option(OUTPUT, None, "Print the result as one JSON line.", "--json")]
Quiet = Annotated[bool, option(OUTPUT, None, "Print nothing but errors.", "--quiet")]
Png = Annotated[Path | None, option(OUTPUT, "DIR", "Also write the figures as PNG files into this folder.")]
Overwrite = Annotated[bool, option(OUTPUT, None, "Replace a run that is already in the folder.", "--overwrite")]
Resume = Annotated[bool, option(OUTPUT, None, "Continue an interrupted run from its last checkpoint.", "--resume")]
Seed = Annotated[int, option(ADVANCED, "N", "Seed of everything that is drawn at random.")]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a model is loaded; `dtype` and `device` None mean as in an earlier run."""

    dtype: Annotated[str | None, option(MODEL, "TYPE", "float32, bfloat16, float16 or float64.")] = "float32"
    device: Annotated[str | None, option(MODEL, "NAME", "auto, cpu, cuda, cuda:1, mps.")] = "auto"
    device_map: Annotated[
        str | None, option(ADVANCED, "MAP", "auto spreads a large model over devices (needs accelerate).")
    ] = None
    revision: Annotated[str | None, option(ADVANCED, "NAME", "A branch, tag or commit on the Hub.")] = None
    offline: Annotated[bool, option(ADVANCED, None, "Use only what is on this machine.", "--offline")] = False
    trust_remote_code: Annotated[
        bool, option(ADVANCED, None, "Run code that comes with the model.", "--trust-remote-code")
    ] = False
    allow_pickle: Annotated[
        bool, option(ADVANCED, None, "Also load weights that are not safetensors.", "--allow-pickle")
    ] = False

    def settings(self, *models: str) -> "LoadSettings":
        """How to load these models. Comes before everything that imports transformers."""
        offline = only_cached(models, self.revision, offline=self.offline)
        if offline:
            import huggingface_hub.constants

            os.environ["HF_HUB_OFFLINE"] = "1"  # for processes that this one starts, and libraries yet to be imported
            huggingface_hub.constants.HF_HUB_OFFLINE = True  # it read the environment when it was imported
        from wherewhat.capture.loading.load import LoadSettings

        return LoadSettings(
            "float32" if self.dtype is None else self.dtype,
            "auto" if self.device is None else self.device,
            device_map=self.device_map,
            revision=self.revision,
            offline=offline,
            trust_remote_code=self.trust_remote_code,
            allow_pickle=self.allow_pickle,
        )

    def settings_if_given(self, models: Sequence[str]) -> "LoadSettings | None":
        """The same, if any option was given or a model is only in the cache; None leaves torch unimported."""
        if self == ModelOptions(dtype=None, device=None) and not only_cached(models, offline=False):
            return None
        return self.settings(*models)


def only_cached(models: Sequence[str], revision: str | None = None, *, offline: bool) -> bool:
    """Whether models must come from the cache; refuses at once a model that is neither cached nor can be fetched."""
    from wherewhat.hub import must_be_cached
    from wherewhat.models.registry import MODELS

    cached = [must_be_cached(name, revision, offline=offline, built_in=MODELS) for name in models if name not in MODELS]
    return offline or any(cached)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which texts are read, and how much of them."""

    text: Annotated[
        list[Path],
        option(
            TEXTS,
            "FILE|NAME",
            "One text per line, running prose (.txt), .jsonl, or a built-in text. Repeatable.",
            parser=parse_text,
        ),
    ] = field(default_factory=list)
    dataset: Annotated[str | None, option(TEXTS, "NAME", "A dataset on the Hub, as NAME or NAME:CONFIG.")] = None
    max_texts: Annotated[int | None, option(TEXTS, "N", "Read at most N windows of text.")] = 100
    max_tokens: Annotated[int | None, option(TEXTS, "N", "Cut texts into windows of N tokens.")] = None
    column: Annotated[str, option(ADVANCED, "NAME", "The column of .jsonl files and datasets to read.")] = "text"
    split: Annotated[str, option(ADVANCED, "NAME", "The split of the dataset to read.")] = "test"
    add_bos: Annotated[
        bool, option(ADVANCED, None, "Prepend the beginning-of-text token if the tokenizer does not.", "--add-bos")
    ] = False

    def read(self) -> "Iterator[Text] | None":
        """The texts of files or of a dataset; None if neither is named: then a net reads examples of its own task."""
        return texts_from(self.text, dataset=self.dataset, split=self.split, column=self.column)

    @property
    def origin(self) -> "Origin":
        """Where the texts come from, for the manifest."""
        from wherewhat.tables.texts import Origin

        return Origin.of(self.text, column=self.column, dataset=self.dataset, split=self.split)


def texts_from(files: list[Path], *, column: str, dataset: str | None, split: str) -> "Iterator[Text] | None":
    """The texts of some files, taking turns, or of a dataset; None if neither is named."""
    from wherewhat.tables.texts import dataset_texts, read_texts, take_turns

    if files and dataset:
        raise UserError("both --text and --dataset were given; choose one of them")
    if dataset:
        return dataset_texts(dataset, split=split, column=column)
    return take_turns([read_texts(path, column) for path in files]) if files else None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Which scores are computed, on how many rows, and how keys are swapped."""

    scores: Annotated[str | None, option(MEASURE, "NAMES", "Only these scores, such as locality,sink.")] = None
    queries: Annotated[str, option(MEASURE, "last|N|all", "Query rows to read per window, evenly spread.")] = "64"
    tau: Annotated[
        str, option(ADVANCED, "NUMBERS", "Temperatures of positional and symbolic, such as 1e-4,0.1,inf.")
    ] = "1e-4"
    first: Annotated[int, option(ADVANCED, "N", "The first slot whose content may be swapped.")] = 1
    seed: Seed = 0

    @property
    def settings(self) -> dict[str, Any]:
        """As fields of `ProfileSettings`."""
        return {
            "scores": parse_names(self.scores, "--scores"),
            "queries": parse_count(self.queries, "--queries", "last", "all"),
            "tau": parse_temperatures(self.tau),
            "first": self.first,
            "seed": self.seed,
        }


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Measurements on inputs of their own: repeated words, and repeated random tokens."""

    positional: Annotated[
        bool,
        option(MEASURE, None, "Also locality and symmetry of the positional part of attention.", "--positional"),
    ] = False
    random: Annotated[
        bool,
        option(MEASURE, None, "Also previous-token, duplicate and induction on repeated random tokens.", "--random"),
    ] = False
    copies: Annotated[int | None, option(ADVANCED, "N", "With --positional: copies of each word (64).")] = None
    words: Annotated[int | None, option(ADVANCED, "N", "With --positional: words to copy (100).")] = None

    def settings(self, seed: int | None) -> dict[str, Any]:
        """As fields of `ProfileSettings`; empty if neither is asked for."""
        settings: dict[str, Any] = {"random": True} if self.random else {}
        if self.positional:
            from wherewhat.profiling.settings import PositionalSettings

            sizes = {"length": self.copies, "words": self.words, "seed": seed}
            given = {name: value for name, value in sizes.items() if value is not None}
            return {**settings, "positional": PositionalSettings(**given)}
        for name, value in (("--copies", self.copies), ("--words", self.words)):
            if value is not None:
                raise UserError(f"{name} sets how the positional part of attention is measured; add --positional")
        return settings


@dataclass(frozen=True, kw_only=True)
class TreebankOptions:
    """Which gold sentences a probe reads."""

    treebank: Annotated[
        list[Path],
        option(
            TEXTS,
            "FILE",
            "CoNLL-U, bracketed trees, or labels with trees. Repeatable; the built-in grammar if none.",
            parser=parse_treebank,
        ),
    ] = field(default_factory=list)
    max_sentences: Annotated[int | None, option(TEXTS, "N", "Sample N sentences per treebank.")] = 500


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where runs are computed, and how many at once. The result is the same."""

    engine_name: Annotated[
        str,
        option(
            ADVANCED, "local|ray|inline", "Run in processes of this machine, by Ray, or in this process.", "--engine"
        ),
    ] = "local"
    workers: Annotated[
        int | None, option(ADVANCED, "N", "Runs at once (default: one per processor, or as many as a cluster has).")
    ] = None
    address: Annotated[
        str | None, option(ADVANCED, "HOST:PORT", "With --engine ray: the cluster to join (default: this machine).")
    ] = None
    shared: Annotated[
        bool, option(ADVANCED, None, "With --address: all nodes see the folder to write into.", "--shared")
    ] = False

    def engine(self) -> "Engine":
        """The engine; refuses what does not go together."""
        from wherewhat.jobs.registry import engine

        return engine(self.engine_name, self.workers, self.address, shared=self.shared)

    @property
    def given(self) -> dict[str, bool]:
        """Which of the options were given, by name."""
        default = EngineOptions()
        return {
            "--engine": self.engine_name != default.engine_name,
            "--workers": self.workers is not None,
            "--address": self.address is not None,
            "--shared": self.shared,
        }


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where a run is written, and what is printed."""

    out: Annotated[Path, option(OUTPUT, "DIR", "The folder to write into.")]
    png: Png = None
    overwrite: Overwrite = False
    as_json: Json = False
    quiet: Quiet = False

    def begin(self, title: str, kind: str) -> None:
        """Show that work begins; before any is done, refuse a folder that holds a run, unless it may be replaced."""
        announce(title, quiet=self.quiet)
        from wherewhat.tables.files import refuse_to_overwrite

        refuse_to_overwrite(self.out, kind=kind, overwrite=self.overwrite)

    @property
    def say(self) -> Callable[[str], None] | None:
        """A function that prints warnings on stderr while a command runs; None when quiet."""
        return warning_printer(self.quiet)

    @property
    def report(self) -> Path:
        """The page that the run will have."""
        return self.out / "report.html"

    def write(self, run: "Run") -> None:
        """Write a run with its command line and, if asked for, its figures."""
        write_run(run, self.out, overwrite=self.overwrite, png=self.png)


def command_line() -> str:
    """What was typed, so that it can be typed again."""
    return shlex.join(["wherewhat", *sys.argv[1:]])


def write_run(run: "Run", out: Path, *, overwrite: bool, png: Path | None) -> None:
    """Draw the page, then write everything in one go: an interruption leaves the folder as it was before, or whole."""
    run = run.made_by(command_line())
    _ = run.page  # takes longest
    with interrupt_message(
        lambda: f"the run in {out} is complete" + ("" if png is None else f", {png} may lack figures")
    ):
        with deferred_signals():
            run.save(out, overwrite=overwrite)
        if png is not None:
            run.figures(png)


def warning_printer(quiet: bool) -> Callable[[str], None] | None:
    """A function that prints warnings on stderr while a command runs; None when quiet."""
    return None if quiet else lambda sentence: print(f"wherewhat: {sentence}", file=sys.stderr, flush=True)

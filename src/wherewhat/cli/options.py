"""Options that several commands share, each written once."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from wherewhat.errors import UserError

if TYPE_CHECKING:
    from wherewhat.capture.loading.load import LoadSettings
    from wherewhat.tables.texts import Text

# The headings that options stand under in --help.
MODEL, TEXTS, ASKED, RESULT = "The model", "The texts", "What is asked", "The result"


def option(panel: str, metavar: str | None, help: str, *names: str, parser: Callable[[str], Any] | None = None) -> Any:
    """An option, with the heading it stands under and what its value is called; a flag has none."""
    return typer.Option(*names, help=help, metavar=metavar or "", rich_help_panel=panel, parser=parser)


class Command(TyperCommand):
    """A command whose --help is shown as the flag that it is."""

    def get_help_option(self, ctx: Any) -> Any:
        return _as_flag(super().get_help_option(ctx))


class Group(TyperGroup):
    """The same of a group of commands."""

    def get_help_option(self, ctx: Any) -> Any:
        return _as_flag(super().get_help_option(ctx))


def _as_flag(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


def named_text(name: str) -> Path:
    """Read --text: a file or the name of a built-in text, refused at once where there is neither."""
    from wherewhat.tables.builtin import text_file

    return text_file(name)


def named_treebank(name: str) -> Path:
    """Read --treebank: refused at once where there is no such file."""
    if not Path(name).exists() and "+" not in name:  # WORDS+SKELETONS names two
        raise UserError(f"there is no file {name}; check the path")
    return Path(name)


Model = Annotated[str, typer.Argument(help="A Hub id, a folder, a training run, or a built-in name.")]
Dtype = Annotated[str, option(MODEL, "TYPE", "float32, bfloat16, float16 or float64.")]
Device = Annotated[str, option(MODEL, "NAME", "auto, cpu, cuda, cuda:1, mps.")]
DeviceMap = Annotated[str | None, option(MODEL, "MAP", "auto spreads a large model (needs accelerate).")]
Revision = Annotated[str | None, option(MODEL, "NAME", "A branch, tag or commit on the Hub.")]
Offline = Annotated[bool, option(MODEL, None, "Use only what is on this machine.", "--offline")]
TrustRemoteCode = Annotated[bool, option(MODEL, None, "Run code that comes with the model.", "--trust-remote-code")]
AllowPickle = Annotated[bool, option(MODEL, None, "Also read weights that are no safetensors.", "--allow-pickle")]

Files = Annotated[
    list[Path],
    option(
        TEXTS,
        "FILE|NAME",
        "One text per line, running prose (.txt), .jsonl, or a built-in text. Repeatable.",
        parser=named_text,
    ),
]
Column = Annotated[str, option(TEXTS, "NAME", "The column of .jsonl files and data sets to read.")]
Dataset = Annotated[str | None, option(TEXTS, "NAME", "A data set on the Hub, as NAME or NAME:CONFIG.")]
Split = Annotated[str, option(TEXTS, "NAME", "The part of the data set to read.")]
MaxTexts = Annotated[int, option(TEXTS, "N", "Read at most so many windows of texts.")]
MaxTokens = Annotated[int | None, option(TEXTS, "N", "Cut texts into windows of so many tokens.")]

AddBos = Annotated[
    bool,
    option(TEXTS, None, "Put the beginning-of-text token in front where the tokenizer does not.", "--add-bos"),
]

Treebanks = Annotated[
    list[Path],
    option(
        TEXTS,
        "FILE",
        "CoNLL-U, trees in brackets, or labels with trees. Repeatable; the grammar if none.",
        parser=named_treebank,
    ),
]
MaxSentences = Annotated[int, option(TEXTS, "N", "Take so many sentences of each, chosen by the seed.")]

Queries = Annotated[
    str | None, option(ASKED, "last|N|all", "Query rows of each window whose attention is read, spread over it.")
]
LogitRows = Annotated[
    str, option(ASKED, "N|all", "Of these rows, how many have their logits decomposed and their keys swapped.")
]
MaxSwaps = Annotated[str, option(ASKED, "N|all", "Swaps of a row computed one by one; of more, a sample is drawn.")]
Untrained = Annotated[
    bool | None,
    option(
        ASKED,
        None,
        "Also profile fresh weights, as a baseline (unless the model is large).",
        "--untrained/--no-untrained",
    ),
]
Scores = Annotated[str | None, option(ASKED, "NAMES", "Only these scores, such as locality,sink.")]
Tau = Annotated[str, option(ASKED, "NUMBERS", "Temperatures of positional and symbolic, such as 1e-4,0.1,inf.")]
First = Annotated[int, option(ASKED, "N", "The first slot whose content may change places.")]
Seed = Annotated[int, option(ASKED, "N", "Decides everything that is drawn at random.")]
Positional = Annotated[
    bool,
    option(ASKED, None, "Also how local and how symmetric position alone makes attention, three ways.", "--positional"),
]
Copies = Annotated[int | None, option(ASKED, "N", "With --positional, copies of a word in a text (64).")]
Copied = Annotated[int | None, option(ASKED, "N", "With --positional, words to copy (100).", "--words")]

Random = Annotated[
    bool, option(ASKED, None, "Also on random tokens said twice: previous-token, duplicate, induction.", "--random")
]

Out = Annotated[Path, option(RESULT, "DIR", "The folder to write into.")]
Png = Annotated[Path | None, option(RESULT, "DIR", "Also write the figures as PNG files into this folder.")]
Overwrite = Annotated[bool, option(RESULT, None, "Replace a run that lies in the folder.", "--overwrite")]
Quiet = Annotated[bool, option(RESULT, None, "Print nothing but errors.", "--quiet")]
Json = Annotated[bool, option(RESULT, None, "Print the result as one JSON line.", "--json")]


def command_line() -> str:
    """What was typed, so that it can be typed again."""
    return shlex.join(["wherewhat", *sys.argv[1:]])


def numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Read a list of numbers and ranges.

    >>> numbers("0,3-5", "--layers")
    (0, 3, 4, 5)
    """
    if text is None:
        return ()
    found: list[int] = []
    for piece in text.split(","):
        first, _, last = piece.strip().partition("-")
        if not first.isdecimal() or not (last or "0").isdecimal() or int(last or first) < int(first):
            raise UserError(f"{option} is '{text}'; write numbers and ranges like 0,3-5")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def temperatures(text: str, option: str) -> tuple[float, ...]:
    """Read a list of temperatures.

    >>> temperatures("1e-4,inf", "--tau")
    (0.0001, inf)
    """
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise UserError(f"{option} is '{text}'; write numbers above 0 with commas between them, or inf") from None


def words(text: str | None, option: str) -> tuple[str, ...]:
    """Read a list of names.

    >>> words("L0H1, L2H3", "--heads")
    ('L0H1', 'L2H3')
    """
    if text is None:
        return ()
    found = tuple(piece.strip() for piece in text.split(",") if piece.strip())
    if not found:
        raise UserError(f"{option} is '{text}', which names nothing; write names with commas between them")
    return found


def number_or(text: str, option: str, *named: str) -> int | str:
    """Read a number, at least 1, or one of a few words.

    >>> number_or("8", "--logit-rows", "all"), number_or("all", "--logit-rows", "all")
    (8, 'all')
    """
    if text in named:
        return text
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"{option} is '{text}'; give a number, at least 1, or {', or '.join(named)}")
    return int(text)


def rows_asked(text: str | None) -> int | str | None:
    """Read --queries; nothing where it was left out."""
    return None if text is None else number_or(text, "--queries", "last", "all")


def texts_from(files: list[Path], *, column: str, dataset: str | None, split: str) -> "Iterator[Text] | None":
    """The texts to read, from files or from a data set; none were named for a net that writes its own."""
    from wherewhat.tables.dataset import dataset_texts
    from wherewhat.tables.texts import read_texts, take_turns

    if files and dataset:
        raise UserError("both --text and --dataset were given; choose one of them")
    if dataset:
        return dataset_texts(dataset, split=split, column=column)
    return take_turns([read_texts(path, column) for path in files]) if files else None


def probing_by(positional: bool, copies: int | None, words: int | None, seed: int | None) -> dict[str, Any]:
    """How the positional part is probed, as a setting of a profile; nothing if it is not."""
    given = {"length": copies, "words": words, "seed": seed}
    if positional:
        from wherewhat.profiling.positional_part.probing import Probing

        return {"positional": Probing(**{name: value for name, value in given.items() if value is not None})}
    for name, value in (("--copies", copies), ("--words", words)):
        if value is not None:
            raise UserError(f"{name} is about probing the positional part of attention; add --positional")
    return {}


def only_cached(models: Sequence[str], revision: str | None = None, *, offline: bool) -> bool:
    """Whether models have to come from the cache; says at once if one is not here and the Hub cannot be asked."""
    from wherewhat.hub import must_be_cached
    from wherewhat.models.registry import MODELS

    named = [name for name in models if name not in MODELS]
    cached = [must_be_cached(name, revision, offline=offline, built_in=MODELS) for name in named]
    return offline or any(cached)


def loading_by(dtype: str, device: str, *models: str, offline: bool, **others: Any) -> "LoadSettings":
    """How to load the models. Comes before everything that imports transformers."""
    offline = only_cached(models, others.get("revision"), offline=offline)
    if offline:
        import huggingface_hub.constants

        os.environ["HF_HUB_OFFLINE"] = "1"  # for processes that this one starts, and libraries yet to be imported
        huggingface_hub.constants.HF_HUB_OFFLINE = True  # it read the environment when it was imported
    from wherewhat.capture.loading.load import LoadSettings

    return LoadSettings(dtype, device, offline=offline, **others)


def saying(quiet: bool) -> Callable[[str], None] | None:
    """Where to say what has to be known while a command runs."""
    return None if quiet else lambda sentence: print(f"wherewhat: {sentence}", file=sys.stderr, flush=True)

"""Options that several commands share, each written once."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wherewhat.errors import UserError

# The headings that options stand under in --help.
MODEL, TEXTS, ASKED, RESULT = "The model", "The texts", "What is asked", "The result"


def option(panel: str, metavar: str | None, help: str, *names: str) -> Any:
    """An option, with the heading it stands under and what its value is called."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel)


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

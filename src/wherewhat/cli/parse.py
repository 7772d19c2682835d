"""Read the values of options: lists of numbers and of names, files, and numbers that may also be words."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wherewhat.errors import UserError

if TYPE_CHECKING:
    from wherewhat.tables.texts import Text

FILE_ENDINGS = (".txt", ".jsonl", ".json", ".csv", ".tsv", ".md")  # of what is a file's name rather than a text


def parse_text(name: str) -> Path:
    """Read --text: a file or the name of a built-in text, refused at once if there is neither."""
    from wherewhat.tables.texts import text_file

    return text_file(name)


def parse_text_or_words(value: str) -> "Path | Text":
    """Read --text where it may be the text itself: a file that exists or a built-in text, else the words.

    >>> parse_text_or_words("Once upon a time").content, parse_text_or_words("letters").name
    ('Once upon a time', 'letters.txt')

    A single word that looks like the path of a file is not taken for a text.
    """
    from wherewhat.tables.texts import TEXTS, Text, text_file

    if not value.strip():
        raise UserError("--text is empty; write a text, or name a file")
    is_file = value in TEXTS
    with suppress(OSError, ValueError):  # a text is longer than the name of a file may be
        is_file = is_file or Path(value).exists()
    if is_file or (not any(map(str.isspace, value)) and ("/" in value or value.endswith(FILE_ENDINGS))):
        return text_file(value)
    return Text(value, f"the text '{value if len(value) <= 40 else value[:37] + '...'}'")


def parse_treebank(name: str) -> Path:
    """Read --treebank: refused at once if there is no such file."""
    if not Path(name).exists() and "+" not in name:  # WORDS+SKELETONS names two
        raise UserError(f"there is no file {name}; check the path")
    return Path(name)


def parse_numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Read a list of numbers and ranges.

    >>> parse_numbers("0,3-5", "--layers")
    (0, 3, 4, 5)
    """
    numbers: list[int] = []
    for piece in [] if text is None else text.split(","):
        first, _, last = piece.strip().partition("-")
        if not first.isdecimal() or not (last or "0").isdecimal() or int(last or first) < int(first):
            raise UserError(f"{option} is '{text}'; write numbers and ranges like 0,3-5")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def parse_temperatures(text: str) -> tuple[float, ...]:
    """Read --tau: a list of temperatures.

    >>> parse_temperatures("1e-4,inf")
    (0.0001, inf)
    """
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise UserError(f"--tau is '{text}'; write numbers above 0 with commas between them, or inf") from None


def parse_names(text: str | None, option: str) -> tuple[str, ...]:
    """Read a list of names.

    >>> parse_names("L0H1, L2H3", "--heads")
    ('L0H1', 'L2H3')
    """
    if text is None:
        return ()
    names = tuple(piece.strip() for piece in text.split(",") if piece.strip())
    if not names:
        raise UserError(f"{option} is '{text}', which names nothing; write names with commas between them")
    return names


def parse_count(text: str, option: str, *words: str) -> int | str:
    """Read a number, at least 1, or one of a few words.

    >>> parse_count("8", "--logit-rows", "all"), parse_count("all", "--logit-rows", "all")
    (8, 'all')
    """
    if text in words:
        return text
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"{option} is '{text}'; give a number, at least 1, or {', or '.join(words)}")
    return int(text)

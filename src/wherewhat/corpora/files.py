"""Read a corpus file line by line, with one sentence per error."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from wherewhat.errors import UserError

MOST = 1_000_000  # bytes per line: a longer one is not a line of text, and would fill the memory


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 text file, counted from 1, without their line ends; read as a stream."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file; name a file inside it")
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST + 1), b""), start=1):
                if len(line) > MOST:
                    raise UserError(
                        f"line {number} of {path} has more than {MOST:,} bytes; write one sentence per line"
                    )
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except FileNotFoundError:
        raise UserError(f"there is no file {path}; check the path") from None
    except UnicodeDecodeError:
        raise UserError(f"line {number} of {path} is not UTF-8 text; convert the file first") from None
    except OSError as error:
        raise UserError(f"{path} could not be read ({error.strerror}); check the file") from error


def named(files: Sequence[str]) -> str:
    """The names of some files, as part of a sentence.

    >>> named(["a.txt", "b.txt"])
    'a.txt and b.txt'
    """
    return " and ".join(filter(None, [", ".join(files[:-1]), files[-1]]))


def distinct_names(files: Sequence[Path]) -> list[str]:
    """One name per file: its stem, or its whole path where stems are equal; a file that is given twice is refused.

    >>> distinct_names([Path("a/dev.conllu"), Path("b/dev.conllu"), Path("b/test.conllu")])
    ['a/dev.conllu', 'b/dev.conllu', 'test']
    """
    stems = [path.stem for path in files]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, files, strict=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{twice} is given twice; name each file once")
    return names

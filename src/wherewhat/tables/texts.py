"""Read texts from files: one per line, running prose, or a column of JSON lines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.tables.builtin import text_file


@dataclass(frozen=True)
class Text:
    """A text and where it came from, so that an error can point to it."""

    content: str
    where: str


def read_texts(path: str | Path, column: str = "text") -> Iterator[Text]:
    """The texts of a file, or of a built-in text. What cannot be read is refused here, before any text is taken.

    `.jsonl` gives one text per object, from `column`. Any other file gives one text per line; but a `.txt` file with
    blank lines in it is running prose and gives one text, which is cut into windows later.

    >>> next(read_texts("letters")).content[:14]
    'Dear Aunt Ruth'
    """
    path = text_file(path)
    content = _content(path)
    if path.suffix == ".jsonl":
        found = _json_lines(path, content, column)
    elif path.suffix == ".txt" and is_prose(content):
        found = iter([Text(content.strip(), path.name)])
    else:
        lines = enumerate(content.split("\n"), start=1)
        found = (Text(line.strip(), f"{path.name} line {number}") for number, line in lines if line.strip())
    first = next(found, None)
    if first is None:
        raise UserError(f"{path} holds no text; give a file with one text a line")
    return chain([first], found)


def take_turns(files: Sequence[Iterator[Text]]) -> Iterator[Text]:
    """A text of each file in turn, so that every file has its share however few texts are read."""
    waiting = list(files)
    while waiting:
        for file in list(waiting):
            text = next(file, None)
            if text is None:
                waiting.remove(file)
            else:
                yield text


def is_prose(content: str) -> bool:
    """Whether a text file is running prose (paragraphs with blank lines between) rather than one text a line.

    >>> is_prose("one\\ntwo\\n"), is_prose("A paragraph,\\nwrapped.\\n\\nAnother.")
    (False, True)
    """
    lines = content.strip().split("\n")
    return len(lines) > 1 and "" in [line.strip() for line in lines]


def _content(path: Path) -> str:
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a text file; name a file inside it")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}); convert it first") from None
    except OSError as error:
        raise UserError(f"{path} could not be read ({error.strerror}); check the file") from error


def _json_lines(path: Path, content: str, column: str) -> Iterator[Text]:
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path.name} line {number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{where} is not JSON ({error.msg}); every line must be one JSON object") from None
        if not isinstance(record, dict):
            raise UserError(f"{where} is not a JSON object; every line must be one")
        if not isinstance(record.get(column), str):
            raise UserError(
                f"{where} has no text in column '{column}'; it has: {', '.join(map(str, record))} (--column)"
            )
        if record[column].strip():
            yield Text(record[column], where)


def read_blocks(path: Path) -> list[list[list[int]]]:
    """Blocks of every text: a line a text, each a JSON list of [from, to] in slots, in order and apart."""
    lines = _content(path).splitlines()
    return [_blocks(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _blocks(line: str, where: str) -> list[list[int]]:
    try:
        blocks = json.loads(line)
    except ValueError:
        blocks = None
    pairs = isinstance(blocks, list) and all(
        isinstance(block, list) and len(block) == 2 and all(type(slot) is int for slot in block) for block in blocks
    )
    edges = [slot for block in blocks for slot in block] if pairs and blocks else []
    rising = all(low < high for low, high in blocks) if pairs and blocks else True
    if not pairs or not rising or edges != sorted(edges) or (edges and edges[0] < 0):
        raise UserError(f"{where} is not a list of blocks; write [[0, 5], [5, 9]]: slots from, to before, in order")
    found: list[list[int]] = blocks or []
    return found

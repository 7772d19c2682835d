"""Read texts, and read the same ones again: from files, a dataset on the Hub, or those that come with the package."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from wherewhat.errors import UserError
from wherewhat.names import suggestion

if TYPE_CHECKING:
    from wherewhat.tables.manifest.sections import TextsSection

FOLDER = Path(__file__).parent / "books"


@dataclass(frozen=True)
class Text:
    """A text and where it came from, so that an error can point to it."""

    content: str
    where: str


@dataclass(frozen=True)
class BuiltInText:
    """A text file inside the package, written for it and under its licence."""

    name: str
    about: str  # one line, for someone new

    @property
    def path(self) -> Path:
        """Its file."""
        return FOLDER / f"{self.name}.txt"


TEXTS: dict[str, BuiltInText] = {
    text.name: text
    for text in [
        BuiltInText("letters", "Twenty letters, one per line: twenty texts of about a hundred words, for intervals."),
        BuiltInText("harbour", "A short story in running prose: one text, cut into windows of --max-tokens."),
    ]
}


def read_texts(path: str | Path, column: str = "text") -> Iterator[Text]:
    """The texts of a file, or of a built-in text. Raises before the first text if the file cannot be read.

    `.jsonl` gives one text per object, from `column`. Any other file gives one text per line; but a `.txt` file with
    blank lines in it is running prose and gives one text, which is cut into windows later.

    >>> next(read_texts("letters")).content[:14]
    'Dear Aunt Ruth'
    """
    path = text_file(path)
    content = _content(path)
    if path.suffix == ".jsonl":
        texts = _json_lines(path, content, column)
    elif path.suffix == ".txt" and is_prose(content):
        texts = iter([Text(content.strip(), path.name)])
    else:
        lines = enumerate(content.split("\n"), start=1)
        texts = (Text(line.strip(), f"{path.name} line {number}") for number, line in lines if line.strip())
    first = next(texts, None)
    if first is None:
        raise UserError(f"{path} holds no text; give a file with one text per line")
    return chain([first], texts)


def take_turns(files: Sequence[Iterator[Text]]) -> Iterator[Text]:
    """One text of each file in turn, so that every file contributes however few texts are read."""
    waiting = list(files)
    while waiting:
        for file in list(waiting):
            text = next(file, None)
            if text is None:
                waiting.remove(file)
            else:
                yield text


def is_prose(content: str) -> bool:
    """Whether a text file is running prose (paragraphs with blank lines between) rather than one text per line.

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
    """Blocks of every text: one line per text, each a JSON list of [from, to] in slots, in order and disjoint."""
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
    checked: list[list[int]] = blocks if pairs else [[1, 0]]
    edges = [slot for block in checked for slot in block]
    if edges != sorted(edges) or min(edges, default=0) < 0 or any(low == high for low, high in checked):
        raise UserError(
            f"{where} is not a list of blocks; write [[0, 5], [5, 9]]: first slot and the one after the last, in order"
        )
    return checked


def text_file(name: str | Path) -> Path:
    """The text file with this path, or the built-in text with this name if there is no such file.

    >>> text_file("letters").name
    'letters.txt'
    """
    path = Path(name)
    if str(name) in TEXTS and not path.is_file():
        return TEXTS[str(name)].path
    with suppress(OSError):  # a name too long for a file
        if path.exists():
            return path
    raise UserError(
        f"there is no text file {name}; {suggestion(str(name), TEXTS)}check the path, or name a built-in text: "
        f"{', '.join(TEXTS)}"
    )


def title(path: Path) -> str:
    """The name of a text file in tables and on pages: that of a built-in text, or the path as given.

    >>> title(TEXTS["letters"].path), title(Path("my/book.txt"))
    ('letters', 'my/book.txt')
    """
    return path.stem if path.parent == FOLDER else str(path)


def dataset_texts(name: str, *, split: str, column: str) -> Iterator[Text]:
    """A column of a dataset, fetched row by row as far as it is read. `NAME:CONFIG` names a configuration.

    Raises before the first text if the package is missing or the Hub cannot be reached.
    """
    from wherewhat.hub import unreachable

    try:
        import datasets  # noqa: F401  # only checked for
    except ImportError:
        raise UserError("--dataset needs an extra package; install it with: pip install 'wherewhat[data]'") from None
    if not Path(name.partition(":")[0]).exists() and unreachable():
        raise UserError(
            f"the dataset '{name}' is on the Hub, which cannot be reached; check the network, or give --text"
        )
    return _rows(name, split, column)


def _rows(name: str, split: str, column: str) -> Iterator[Text]:
    import datasets

    path, _, config = name.partition(":")
    texts = 0
    try:
        for number, row in enumerate(datasets.load_dataset(path, config or None, split=split, streaming=True)):
            if column not in row:
                columns = ", ".join(map(str, row))
                raise UserError(f"the dataset '{name}' has no column '{column}'; it has: {columns} (--column)")
            if isinstance(row[column], str) and row[column].strip():
                texts += 1
                yield Text(row[column], f"{name} row {number}")
    except UserError:
        raise
    except Exception as error:  # any failure of a network, a parser or a loading script
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"the dataset '{name}' could not be read: {reason}") from error
    if not texts:
        raise UserError(f"the dataset '{name}' has no text in '{split}'; choose another --split or --column")


@dataclass(frozen=True)
class Origin:
    """Where texts were read: files, or a dataset; `source` is the name that the user gave."""

    source: str
    files: tuple[str, ...] = ()  # absolute paths, valid from every folder
    column: str = "text"
    dataset: str | None = None
    split: str | None = None

    @classmethod
    def of(cls, files: Sequence[Path], *, column: str, dataset: str | None, split: str) -> "Origin":
        """The origin that the command line names."""
        paths = tuple(str(file.absolute()) for file in files)
        return cls(dataset or ", ".join(map(title, files)), paths, column, dataset, split if dataset else None)

    @property
    def here(self) -> bool:
        """Whether the texts can be read again."""
        return bool(self.dataset) or bool(self.files and all(Path(file).is_file() for file in self.files))

    def read(self) -> Iterator[Text]:
        """The texts once more."""
        if self.dataset:
            return dataset_texts(self.dataset, split=self.split or "test", column=self.column)
        return take_turns([read_texts(Path(file), self.column) for file in self.files])


def origin_of(texts: "TextsSection") -> Origin:
    """Where a run read its texts, by its manifest."""
    return Origin(str(texts.source), tuple(texts.files), texts.column or "text", texts.dataset, texts.split)

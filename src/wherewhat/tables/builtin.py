"""The texts that come with the package, so that every example can be tried as it is written."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.names import suggestion

FOLDER = Path(__file__).parent / "books"


@dataclass(frozen=True)
class BuiltInText:
    """A text file inside the package. Written for it, so anybody may use it under the package's licence."""

    name: str
    about: str  # one line, for someone new

    @property
    def path(self) -> Path:
        """Where it lies."""
        return FOLDER / f"{self.name}.txt"


TEXTS: dict[str, BuiltInText] = {
    text.name: text
    for text in [
        BuiltInText("letters", "Twenty letters, one per line: twenty texts of about a hundred words, for intervals."),
        BuiltInText("harbour", "A short story in running prose: one text, cut into windows of --max-tokens."),
    ]
}


def text_file(name: str | Path) -> Path:
    """The file that is meant: a path, or the name of a built-in text where no file is called so.

    >>> text_file("letters").name
    'letters.txt'
    """
    path = Path(name)
    if str(name) in TEXTS and not path.is_file():
        return TEXTS[str(name)].path
    with suppress(OSError):  # a name too long for any file is no file's
        if path.exists():
            return path
    raise UserError(
        f"there is no text file {name}; {suggestion(str(name), TEXTS)}check the path, or name a built-in text: "
        f"{', '.join(TEXTS)}"
    )


def title(path: Path) -> str:
    """How a text file is called in tables and on pages: a built-in one by its name, any other as it was named.

    >>> title(TEXTS["letters"].path), title(Path("my/book.txt"))
    ('letters', 'my/book.txt')
    """
    return path.stem if path.parent == FOLDER else str(path)

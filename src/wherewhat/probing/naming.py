"""What files are called where several stand side by side: their names, with folders where these are the same."""

from collections.abc import Sequence
from pathlib import Path

from wherewhat.errors import UserError


def names_of(files: Sequence[Path]) -> list[str]:
    """A name a file, each another one; a file that is named twice is refused.

    >>> names_of([Path("a/dev.conllu"), Path("b/dev.conllu"), Path("b/test.conllu")])
    ['a/dev.conllu', 'b/dev.conllu', 'test']
    """
    stems = [path.stem for path in files]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, files, strict=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{twice} is named twice; name each file once")
    return names

"""Runs that are finished, each whole in a file of its own: a study that was killed goes on without repeating one."""

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError

from wherewhat.errors import UserError
from wherewhat.tables.files import write_whole
from wherewhat.tables.schema import RESULT, frame
from wherewhat.training.checkpoint import first_difference

FOLDER = "done"  # inside the folder of the reproduction
PACKAGE = Path(__file__).parents[1]
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Outcome:
    """What a run gave, and how many seconds it took."""

    rows: list[Row]
    seconds: float


@dataclass(frozen=True)
class Finished:
    """The finished runs of a study. Without a folder nothing is kept, and nothing was finished before."""

    folder: Path | None
    code: str = ""  # a hash of the code that decides a run

    def outcome(self, name: str, settings: Mapping[str, Any]) -> Outcome | None:
        """What a run gave, if it is finished; the same name with other settings or from other code is refused."""
        if self.folder is None or not (path := self._path(name)).exists():
            return None
        kept = _read(path)
        if different := first_difference(kept["settings"], as_json(settings)):
            raise UserError(
                f"{path} was made with other settings: {different}; "
                "resume with the settings it began with, or start again with --overwrite"
            )
        if kept["code"] != self.code:
            raise UserError(f"{path} was made by another version of the code; start again with --overwrite")
        return Outcome([tuple(row) for row in kept["rows"]], kept["seconds"])

    def keep(self, name: str, settings: Mapping[str, Any], given: Outcome) -> None:
        """Write down what a run gave."""
        if self.folder is not None:
            kept = {"code": self.code, "seconds": given.seconds, "settings": settings, "rows": given.rows}
            write_whole(self._path(name), json.dumps(kept, ensure_ascii=False).encode())

    def refuse_any(self) -> None:
        """Stop if there are finished runs that would be neither used nor meant to be replaced."""
        if found := self._all():
            raise UserError(
                f"{found[0].parent} holds {len(found)} finished run{'s' if len(found) > 1 else ''}; "
                "add --resume to go on from there, or --overwrite to begin again"
            )

    @property
    def count(self) -> int:
        """How many runs are finished."""
        return len(self._all())

    def begin(self, *, overwrite: bool, resume: bool) -> None:
        """Before the first run, once what was ordered is known to be sound: begin again, go on, or refuse."""
        if overwrite:
            self.forget()
        elif not resume:
            self.refuse_any()

    def forget(self) -> None:
        """Take all finished runs away, and halves of files that a kill may have left."""
        for path in self._all():
            path.unlink(missing_ok=True)
        if self.folder is not None:
            for path in self.folder.glob(".*.partial"):
                path.unlink(missing_ok=True)

    def _all(self) -> list[Path]:
        return [] if self.folder is None else sorted(self.folder.glob("*.json"))

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{file_name(name)}.json"


def finished_in(folder: Path | None, code: str = "") -> Finished:
    """The finished runs beside the results of a reproduction."""
    return Finished(None if folder is None else folder / FOLDER, code)


@cache
def code_of(*parts: str) -> str:
    """A hash of what some files and folders of this package do; what they say about it does not matter.

    >>> code_of("names.py") == code_of("names.py") != code_of("errors.py")
    True
    """
    places = [PACKAGE / part for part in parts]
    files = [path for place in places for path in ([place] if place.suffix else sorted(place.rglob("*.py")))]
    return hashlib.sha256("".join(map(_without_words, files)).encode()).hexdigest()


def _without_words(path: Path) -> str:
    """A file without comments and docstrings, so that mending a sentence does not void hours of runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return f"{path.relative_to(PACKAGE).as_posix()} {ast.dump(tree)}\n"


def file_name(name: str) -> str:
    """A name that every file system takes.

    >>> file_name("log w 0.5 s 1, seed 3")
    'log-w-0.5-s-1-seed-3'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")


def as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON, where there are no tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        kept["settings"].keys()
        if not kept["rows"] or any(len(row) != len(RESULT) for row in kept["rows"]):
            raise ValueError("its rows are not whole")
        frame([tuple(row) for row in kept["rows"]], RESULT)  # which knows of what kind each number is
        return {"code": "", **kept, "seconds": float(kept.get("seconds", 0.0))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PolarsError) as error:
        what = "its rows are not whole" if isinstance(error, PolarsError) else error
        raise UserError(f"{path} is damaged ({what}); delete it, and that run is done again") from error

"""Finished runs, each in a file of its own: a study that was killed resumes without repeating any of them."""

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
from wherewhat.training.run_folder import first_difference

FOLDER = "done"  # inside the folder of the reproduction
PACKAGE = Path(__file__).parents[1]
# part, subject, item, at, seed, measure, value, low, high: the columns of a result
Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class RunOutcome:
    """The rows of a run, and how many seconds it took."""

    rows: list[Row]
    seconds: float


@dataclass(frozen=True)
class FinishedRuns:
    """The finished runs of a study. Without a folder nothing is kept."""

    folder: Path | None
    code: str = ""  # a hash of the code that determines a run

    def outcome(self, name: str, settings: Mapping[str, Any]) -> RunOutcome | None:
        """The outcome of a run if it is finished; one with other settings or from other code is refused."""
        if self.folder is None or not (path := self._path(name)).exists():
            return None
        entry = _read(path)
        if different := first_difference(entry["settings"], as_json(settings)):
            raise UserError(
                f"{path} was made with other settings: {different}; "
                "resume with the settings it began with, or start again with --overwrite"
            )
        if entry["code"] != self.code:
            raise UserError(f"{path} was made by another version of the code; start again with --overwrite")
        return RunOutcome([tuple(row) for row in entry["rows"]], entry["seconds"])

    def keep(self, name: str, settings: Mapping[str, Any], outcome: RunOutcome) -> None:
        """Write the outcome of a run."""
        if self.folder is not None:
            entry = {"code": self.code, "seconds": outcome.seconds, "settings": settings, "rows": outcome.rows}
            write_whole(self._path(name), json.dumps(entry, ensure_ascii=False).encode())

    def refuse_any(self) -> None:
        """Stop if there are finished runs that would be neither resumed nor replaced."""
        if paths := self._all():
            raise UserError(
                f"{paths[0].parent} holds {len(paths)} finished run{'s' if len(paths) > 1 else ''}; "
                "add --resume to go on from there, or --overwrite to begin again"
            )

    @property
    def count(self) -> int:
        """How many runs are finished."""
        return len(self._all())

    def begin(self, *, overwrite: bool, resume: bool) -> None:
        """Before the first run, once the request is known to be valid: start again, resume, or refuse."""
        if overwrite:
            self.forget()
        elif not resume:
            self.refuse_any()

    def forget(self) -> None:
        """Delete all finished runs, and partial files that a kill may have left."""
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


def finished_runs_in(folder: Path | None, code: str = "") -> FinishedRuns:
    """The finished runs in the folder of a reproduction."""
    return FinishedRuns(None if folder is None else folder / FOLDER, code)


@cache
def code_of(*parts: str) -> str:
    """A hash of some files and folders of this package, without their comments and docstrings.

    >>> code_of("names.py") == code_of("names.py") != code_of("errors.py")
    True
    """
    paths = [PACKAGE / part for part in parts]
    assert all(path.exists() for path in paths), f"one of {parts} was moved"
    files = [file for path in paths for file in ([path] if path.suffix else sorted(path.rglob("*.py")))]
    return hashlib.sha256("".join(map(_without_comments, files)).encode()).hexdigest()


def _without_comments(path: Path) -> str:
    """A file without comments and docstrings, so that rewording one does not invalidate hours of runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return f"{path.relative_to(PACKAGE).as_posix()} {ast.dump(tree)}\n"


def file_name(name: str) -> str:
    """A name that is valid in every file system.

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
        entry = json.loads(path.read_text(encoding="utf-8"))
        entry["settings"].keys()
        if not entry["rows"] or any(len(row) != len(RESULT) for row in entry["rows"]):
            raise ValueError("its rows are incomplete")
        frame([tuple(row) for row in entry["rows"]], RESULT)  # checks the type of every column
        return {"code": "", **entry, "seconds": float(entry.get("seconds", 0.0))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PolarsError) as error:
        reason = "its rows are incomplete" if isinstance(error, PolarsError) else error
        raise UserError(f"{path} is damaged ({reason}); delete it, and that run is repeated") from error

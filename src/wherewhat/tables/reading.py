"""Read a finished run with suspicion: every field and column in the type that pages rely on, or one sentence.

A manifest is held against a shape, written as a value of its own kind:

- `str`, `int`, `float` (any number), `bool` or `object` (anything) for a value, a `range` for a number within it;
- `[shape]` for a list, `[shape, shape]` for one of two, any of which may be null;
- `{"field": shape}` for an object, `{ANY: shape}` for one whose fields have names of their own;
- `(shape, shape)` for a value that may be of several kinds.

A field may be null or missing, unless its name (or `ANY`) ends in `!`. Fields that no shape knows are left alone.
"""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.tables.files import MANIFEST, read_parquet
from wherewhat.tables.schema import KEYS, LIMITS, without_nan

ANY = "*"
AGAIN = "run the command again with --overwrite"
PATIENCE = 8  # seconds to read a table in: whoever waits for a damaged one is told within ten
DEEPEST = 40  # levels of a manifest
LARGEST = 2**63  # of an integer
SHA256 = "sha256"  # the field of a manifest that tells what its files were when they were written
NOUNS: dict[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def hold_against(path: Path, manifest: Mapping[str, Any], shape: Any) -> None:
    """Refuse a manifest that is not of this shape."""
    if (odd := _misfit(manifest, shape, "")) is not None:
        raise UserError(f"{path} cannot be used: {odd}; {AGAIN}")


def refuse_unsound(path: Path, manifest: Any) -> None:
    """Refuse what is no manifest of anything."""
    if not isinstance(manifest, dict):
        raise UserError(f"{path} is not a manifest; {AGAIN}")
    if (odd := _unsound(manifest, "", 0)) is not None:
        raise UserError(f"{path} cannot be used: {odd}; {AGAIN}")


def read_table(path: Path, schema: Mapping[str, Any], manifest: Mapping[str, Any]) -> pl.DataFrame:
    """A table of a finished run, with all its columns, in their types."""
    _refuse_deadly(path, manifest)
    table = read_parquet(path)
    if missing := [name for name in schema if name not in table.columns]:
        raise UserError(f"{path} lacks the column '{missing[0]}'; {AGAIN}")
    table = without_nan(table.with_columns(_cast(path, table[name], kind) for name, kind in schema.items()))
    for name in schema:
        if odd := _impossible(path.name, table[name]):
            raise UserError(f"{path} cannot be used: its column '{name}' {odd}; {AGAIN}")
    return table


def digests(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, str]:
    """What a manifest tells of its files, and of itself, so that a later reader knows whether they are the same."""
    told = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name.endswith(".parquet")}
    return {**told, MANIFEST: _digest(manifest)}


@contextmanager
def blaming_changes(folder: Path, manifest: Mapping[str, Any]) -> Iterator[None]:
    """An error while a page is drawn is ours, unless the run is no longer what was written: then the user can mend it.

    Types are checked when a run is read; what is left for here are values that are well formed and do not fit together.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        changed = _changed(folder, manifest)
        if changed is None:
            raise
        reason = f"{type(error).__name__} {error}".splitlines()[0].strip()[:200]
        raise UserError(f"no page can be drawn from {folder}: {changed} ({reason}); {AGAIN}") from error


def _refuse_deadly(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse bytes that would end the process: a table that was changed is first read by another one.

    Parquet has no checksum, and on some broken files polars aborts, prints a trace of its own or asks for all memory.
    """
    written = manifest.get(SHA256)
    digest = written.get(path.name) if isinstance(written, dict) else None
    if digest is None or not path.is_file() or _of_file(path) == digest:
        return
    trial = [sys.executable, "-P", "-c", "import sys, polars; polars.read_parquet(sys.argv[1])", str(path)]
    try:
        subprocess.run(trial, capture_output=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        raise UserError(f"{path} was changed after it was written and cannot be read; {AGAIN}") from None


def _changed(folder: Path, manifest: Mapping[str, Any]) -> str | None:
    """Which file of a run is no longer what was written; None if all are."""
    written = manifest.get(SHA256)
    if not isinstance(written, dict) or MANIFEST not in written:
        return f"{MANIFEST} does not tell what its tables were, so they may have been changed"
    if _digest(manifest) != written[MANIFEST]:
        return f"{MANIFEST} was changed after it was written"
    for name, digest in written.items():
        if name != MANIFEST and _of_file(folder / name) != digest:
            return f"{name} was changed after it was written"
    return None


def _digest(manifest: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in manifest.items() if name != SHA256}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _of_file(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _unsound(value: Any, where: str, depth: int) -> str | None:
    """What no manifest holds, whatever it is about: numbers without end, text that cannot be written, endless depth."""
    if depth > DEEPEST:
        return f"{_short(where)} is nested too deeply"
    if isinstance(value, int | float) and not (
        abs(value) < LARGEST if isinstance(value, int) else math.isfinite(value)
    ):
        return f"{_short(where)} is no number that can be worked with"
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return f"{_short(where)} is text that is broken"
    for name, item in _items(value):
        if odd := (_unsound(name, where, depth) or _unsound(item, _inside(where, name), depth + 1)):
            return odd
    return None


def _misfit(value: Any, shape: Any, where: str) -> str | None:
    """What is not as the shape says, as the middle of a sentence; None if all is."""
    if isinstance(shape, tuple):
        misfits = [_misfit(value, one, where) for one in shape]
        return None if None in misfits else misfits[0]
    if isinstance(shape, dict):
        return _misfit_of_fields(value, shape, where) if isinstance(value, dict) else _not(value, "an object", where)
    if isinstance(shape, list):
        return _misfit_of_list(value, shape, where)
    if isinstance(shape, range):
        fits = isinstance(value, int) and not isinstance(value, bool) and value in shape
        return None if fits else _not(value, f"a whole number from {shape[0]} to {shape[-1]}", where)
    if shape is object:
        return None
    kinds = (int, float) if shape is float else (shape,)
    fits = isinstance(value, kinds) and (shape is bool or not isinstance(value, bool))
    return None if fits else _not(value, NOUNS[shape], where)


def _misfit_of_list(value: Any, shape: list[Any], where: str) -> str | None:
    if not isinstance(value, list):
        return _not(value, "a list", where)
    if len(shape) > 1 and len(value) != len(shape):
        return _not(value, f"a list of {len(shape)}", where)
    shapes = shape if len(shape) > 1 else shape * len(value)
    inner = (
        _misfit(item, one, _inside(where, number))
        for number, (item, one) in enumerate(zip(value, shapes, strict=True))
        if item is not None or len(shape) == 1
    )
    return next((odd for odd in inner if odd), None)


def _misfit_of_fields(value: Mapping[str, Any], shape: Mapping[str, Any], where: str) -> str | None:
    for name, inner in shape.items():
        plain = name.removesuffix("!")
        if plain == ANY:
            there = [(key, item) for key, item in value.items() if item is not None or name != plain]
            found = (_misfit(item, inner, _inside(where, key)) for key, item in there)
            if odd := next((one for one in found if one), None):
                return odd
        elif value.get(plain) is not None:
            if odd := _misfit(value[plain], inner, _inside(where, plain)):
                return odd
        elif name != plain:
            return f"{_short(_inside(where, plain))} is missing"
    return None


def _not(value: Any, expected: str, where: str) -> str:
    came = json.dumps(value, ensure_ascii=True)
    return f"{_short(where)} is {came if len(came) <= 40 else came[:37] + '...'}, not {expected}"


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())


def _inside(where: str, name: Any) -> str:
    return f"{where}[{name}]" if isinstance(name, int) else f"{where}.{name}" if where else name


def _short(where: str) -> str:
    """The name of a field as it is said: in quotes, on one line, and never long."""
    plain = where.encode("ascii", "backslashreplace").decode().replace("\n", " ")
    return f"'{plain if len(plain) <= 80 else plain[:77] + '...'}'"


def _cast(path: Path, column: pl.Series, kind: Any) -> pl.Series:
    """The column in its type, where nothing is lost by that."""
    text = kind == pl.String and column.dtype in (pl.String, pl.Categorical, pl.Enum)
    number = kind != pl.String and column.dtype.is_numeric() and (kind.is_float() or column.dtype.is_integer())
    if text or number or column.dtype == pl.Null:
        try:
            return column.cast(kind)
        except pl.exceptions.PolarsError:
            pass  # a number too large for the type
    wanted = "text" if kind == pl.String else "numbers" if kind.is_float() else f"whole numbers ({kind})"
    raise UserError(f"{path} cannot be used: its column '{column.name}' holds {column.dtype}, not {wanted}; {AGAIN}")


def _impossible(table: str, column: pl.Series) -> str | None:
    """What cannot be in a column, as the end of "its column 'x' ..."; None if nothing is."""
    if column.name in KEYS.get(table, ()) and column.null_count():
        return f"lacks {column.null_count()} of its {len(column)} values"
    if column.name in LIMITS:
        low, high = LIMITS[column.name]
        ends: list[Any] = [end for end in (column.min(), column.max()) if end is not None]
        odd = next((end for end in ends if not low <= end <= high), None)
        return None if odd is None else f"holds {odd}, and only {low} to {high} can be"
    if column.dtype.is_float() and column.name not in ("low", "high") and column.is_infinite().any():
        return "holds a number without end"  # an interval may have none
    return None

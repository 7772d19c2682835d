"""Write and read Parquet tables: every column in its type, or one sentence; and tell whether they were changed."""

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.tables.files import AGAIN, MANIFEST
from wherewhat.tables.manifest.sections import Manifest
from wherewhat.tables.schema import KEYS, LIMITS, without_nan

PATIENCE = 8  # seconds to read a table in: whoever waits for a damaged one is told within ten
SHA256 = "sha256"  # the field of a manifest with the hashes of its files


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """The table as Parquet; the same rows always give the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def read_parquet(path: Path) -> pl.DataFrame:
    """A table of a finished run."""
    try:
        return pl.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"there is no {path}; {AGAIN}") from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise UserError(f"{path} cannot be read ({first_line}); {AGAIN}") from None


def read_table(path: Path, schema: Mapping[str, Any], manifest: Manifest) -> pl.DataFrame:
    """A table of a finished run, with all columns in their types."""
    refuse_deadly(path, manifest.sha256.get(path.name))
    table = read_parquet(path)
    if missing := [name for name in schema if name not in table.columns]:
        raise UserError(f"{path} lacks the column '{missing[0]}'; {AGAIN}")
    table = without_nan(table.with_columns(_cast(path, table[name], kind) for name, kind in schema.items()))
    for name in schema:
        if flaw := _impossible(path.name, table[name]):
            raise UserError(f"{path} cannot be used: its column '{name}' {flaw}; {AGAIN}")
    return table


def _cast(path: Path, column: pl.Series, kind: Any) -> pl.Series:
    """The column cast to its type, if that loses nothing."""
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
    """What is wrong with the values of a column, as the end of "its column 'x' ..."; None if nothing is."""
    if column.name in KEYS.get(table, ()) and column.null_count():
        return f"lacks {column.null_count()} of its {len(column)} values"
    if column.name in LIMITS and column.dtype.is_numeric():
        low, high = LIMITS[column.name]
        ends: list[Any] = [end for end in (column.min(), column.max()) if end is not None]
        outside = next((end for end in ends if not low <= end <= high), None)
        return None if outside is None else f"holds {outside}, outside {low} to {high}"
    if column.dtype.is_float() and column.name not in ("low", "high") and column.is_infinite().any():
        return "holds an infinite number"  # an interval may have one
    return None


def digests(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, str]:
    """The hashes of a run's tables and of its manifest, for the manifest."""
    tables = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name.endswith(".parquet")}
    return {**tables, MANIFEST: _manifest_digest(manifest)}


@contextmanager
def blaming_changes(folder: Path) -> Iterator[None]:
    """An error while a page is drawn is a bug, unless files were changed after they were written: then a `UserError`.

    Types are checked when a run is read; what is left for here are values that are well formed and do not fit together.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        change = _change(folder)
        if change is None:
            raise
        reason = f"{type(error).__name__} {error}".splitlines()[0].strip()[:200]
        raise UserError(f"no page can be drawn from {folder}: {change} ({reason}); {AGAIN}") from error


def refuse_deadly(path: Path, digest: str | None) -> None:
    """Refuse bytes that would end the process: a table that was changed is first read by another process.

    Parquet has no checksum, and on some broken files polars aborts, prints a trace of its own or asks for all memory.
    """
    if digest is None or not path.is_file() or _file_digest(path) == digest:
        return
    trial = [sys.executable, "-P", "-c", "import sys, polars; polars.read_parquet(sys.argv[1])", str(path)]
    try:
        subprocess.run(trial, capture_output=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        raise UserError(f"{path} was changed after it was written and cannot be read; {AGAIN}") from None


def _change(folder: Path) -> str | None:
    """Which file of a run is no longer what was written; None if all are."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    written = manifest.get(SHA256)
    if not isinstance(written, dict) or MANIFEST not in written:
        return f"{MANIFEST} has no hashes of its tables, so they may have been changed"
    actual = {name: _file_digest(folder / name) for name in written} | {MANIFEST: _manifest_digest(manifest)}
    changed = [name for name in (MANIFEST, *written) if actual[name] != written[name]]
    return f"{changed[0]} was changed after it was written" if changed else None


def _manifest_digest(manifest: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in manifest.items() if name != SHA256}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _file_digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None

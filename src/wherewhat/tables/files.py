"""Write files whole or not at all: beside their place first, then renamed into it."""

import errno
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from wherewhat.errors import UserError

MANIFEST = "manifest.json"
RESULTS = ("*.parquet", MANIFEST, "report.html", "model/*", "*.safetensors")  # what a run may leave in its folder


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
        raise UserError(f"there is no {path}; run the command again with --overwrite") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        first_line = str(error).strip().splitlines()[0]
        raise UserError(f"{path} cannot be read ({first_line}); run the command again with --overwrite") from None


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a reader, or a crash, sees the old file or the new one and nothing between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = _write_beside(path, data)
        staged.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise UserError(_why_not_written(path, error)) from error


def write_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write one run's files: all of them beside first, so that a full disk leaves an earlier run as it was.

    The manifest goes in last: a folder that has one holds a complete run. Results of an earlier run that
    this one does not have are taken away, other files are left alone.
    """
    staged: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(files, key=lambda name: name == MANIFEST):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            staged[target] = _write_beside(target, files[name])
        for stale in results_in(folder):
            if stale not in staged:
                stale.unlink()
        for target in list(staged):
            staged.pop(target).replace(target)
        _sync_folder(folder)
    except OSError as error:
        raise UserError(_why_not_written(folder, error)) from error
    finally:
        for left_over in staged.values():
            left_over.unlink(missing_ok=True)


def results_in(folder: Path) -> list[Path]:
    """The files of an earlier run that lie in this folder."""
    return sorted(path for pattern in RESULTS for path in folder.glob(pattern))


def refuse_to_overwrite(folder: Path, *, overwrite: bool) -> None:
    """Stop before any work is done if the folder holds a run that may not be replaced, or is no folder at all."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder; choose another --out")
    if not overwrite and (found := results_in(folder)):
        raise UserError(f"{folder} already holds a run ({found[0].name}); choose another --out or add --overwrite")


def _write_beside(path: Path, data: bytes) -> Path:
    """Write a hidden neighbour of `path` and make sure that it is on the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)  # there is no way to read it without setting it
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes private files; results are for sharing
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _sync_folder(folder: Path) -> None:
    """Make the renames survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _why_not_written(path: Path, error: OSError) -> str:
    """Turn the system's error into a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return (
            f"the disk is full: {path} could not be written; free some space or choose another --out "
            "(earlier results are as they were)"
        )
    return f"{path} could not be written ({error.strerror}); choose another --out"

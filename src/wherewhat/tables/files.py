"""Write files whole or not at all: beside their place first, then renamed into it."""

import errno
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.errors import UserError

MANIFEST = "manifest.json"
RESULTS = ("*.parquet", MANIFEST, "report.html", "model/*", "*.safetensors")  # what shows that a folder holds a run


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

    Then the old manifest goes first and the new one comes last: a folder that has one holds a complete run. What the
    old manifest lists as its own and this run does not have is taken away; nothing else is touched.
    """
    staged: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(files, key=lambda name: name == MANIFEST):
            staged[folder / name] = _write_beside(folder / name, files[name])
        stale = [folder / name for name in _noted(folder).get("files", []) if name not in files]
        (folder / MANIFEST).unlink(missing_ok=True)
        for path in stale:
            path.unlink(missing_ok=True)
        for target in list(staged):
            staged.pop(target).replace(target)
        _sync_folder(folder)
    except OSError as error:
        raise UserError(_why_not_written(folder, error)) from error
    finally:
        for left_over in staged.values():
            left_over.unlink(missing_ok=True)


def refuse_to_overwrite(folder: Path, *, kind: str, overwrite: bool) -> None:
    """Stop before any work is done if this kind of run may not be written here."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder; choose another --out")
    if (folder / "config.json").exists():
        raise UserError(f"{folder} holds a model; choose another --out")
    if (held := _noted(folder).get("kind", kind)) != kind:
        raise UserError(f"{folder} holds a run of `wherewhat {held}`; choose another --out")
    found = sorted(path for pattern in RESULTS for path in folder.glob(pattern))
    if found and not overwrite:
        raise UserError(f"{folder} already holds a run ({found[0].name}); choose another --out or add --overwrite")
    if not os.access(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists()), os.W_OK):
        raise UserError(f"{folder} cannot be written; choose another --out")


def _noted(folder: Path) -> dict[str, Any]:
    """What the manifest of an earlier run says, as far as it can be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


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

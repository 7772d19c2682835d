"""Write files whole or not at all: hidden first, then renamed into their place."""

import errno
import io
import json
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.tables import placing

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
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise UserError(f"{path} cannot be read ({first_line}); run the command again with --overwrite") from None


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a reader, or a crash, sees the old file or the new one and nothing between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_beside(path, data)
        placing.sync_folder(path.parent)
    except OSError as error:
        raise UserError(_why_not_written(path, error)) from error


def write_run(folder: Path, files: Mapping[str, bytes], *, earlier: Collection[str] = ()) -> None:
    """Put one run's files in the place of an earlier run's in one step: a kill or a full disk leaves one of them whole.

    What the old manifest lists as its own, and what is named `earlier`, goes with the old run; nothing else is touched.
    """
    recover(folder)
    try:
        placing.place(folder, files, earlier={*listed_files(folder), *earlier})
    except OSError as error:
        raise UserError(_why_not_written(folder, error)) from error


def recover(folder: Path) -> None:
    """What every reader and writer of a folder begins with: bring to its end what a kill cut short."""
    _refuse_unreachable(folder)
    try:
        placing.recover(folder)
    except OSError as error:
        raise UserError(
            f"a command was killed while it wrote into {folder}, and what it began cannot be finished "
            f"({error.strerror or error}); make the folder writable and try again"
        ) from error


def _refuse_unreachable(folder: Path) -> None:
    """Say why nothing can lie in a folder, whether it is there or not."""
    try:
        (folder / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UserError(_too_long(folder)) from error
        raise UserError(f"{folder} cannot be opened ({error.strerror}); name another folder") from error


def _too_long(path: Path) -> str:
    longest = max(path.parts, key=len)
    return f"the name '{longest[:40]}...' is longer than a file's may be; give a shorter one"


def listed_files(folder: Path) -> set[str]:
    """The files that a run's manifest lists as its own; nothing outside the folder is."""
    listed = _noted(folder).get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return {name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}


def refuse_to_overwrite(folder: Path, *, kind: str, overwrite: bool) -> None:
    """Stop before any work is done if this kind of run may not be written here."""
    recover(folder)
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
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _write_beside(path: Path, data: bytes) -> None:
    """Write a hidden neighbour of `path`, make sure that it is on the disk, and let it take the place of `path`."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            placing.lock(handle)
            file.write(data)
            file.flush()
            os.fsync(handle)
            os.fchmod(handle, 0o666 & ~placing.umask())  # mkstemp makes private files; results are for sharing
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _why_not_written(path: Path, error: OSError) -> str:
    """Turn the system's error into a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return (
            f"the disk is full: {path} could not be written; free some space or choose another --out "
            "(earlier results are as they were)"
        )
    if error.errno == errno.ENAMETOOLONG:
        return _too_long(path)
    return f"{path} could not be written ({error.strerror}); choose another --out"

"""Write files atomically: hidden first, then renamed into their place."""

import errno
import json
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.tables import atomic_folder

MANIFEST = "manifest.json"
AGAIN = "run the command again with --overwrite"  # what to do about a damaged run
RESULTS = ("*.parquet", MANIFEST, "report.html", "model/*", "*.safetensors")  # what shows that a folder holds a run


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader, or a crash, sees the old file or the new one and nothing between."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                atomic_folder.lock(handle)
                file.write(data)
                file.flush()
                os.fsync(handle)
                os.fchmod(handle, 0o666 & ~atomic_folder.umask())  # mkstemp makes private files; results are shared
                Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        atomic_folder.sync_folder(path.parent)
    except OSError as error:
        raise UserError(_why_not_written(path, error)) from error


def write_run(folder: Path, files: Mapping[str, bytes], *, earlier: Collection[str] = ()) -> None:
    """Replace the files of an earlier run in one step: a kill or a full disk leaves one of the two runs whole.

    Files that the old manifest lists, and those named `earlier`, are removed; nothing else is touched.
    """
    recover(folder)
    try:
        atomic_folder.replace_files(folder, files, earlier={*listed_files(folder), *earlier})
    except OSError as error:
        raise UserError(_why_not_written(folder, error)) from error


def recover(folder: Path) -> None:
    """Complete what a kill interrupted; every reader and writer of a folder starts with this."""
    try:
        (folder / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # nothing can be in a folder of this name, whether it exists or not
        if error.errno == errno.ENAMETOOLONG:
            raise UserError(_too_long(folder)) from error
        raise UserError(f"{folder} cannot be opened ({error.strerror}); name another folder") from error
    try:
        atomic_folder.recover(folder)
    except OSError as error:
        raise UserError(
            f"a command was killed while it wrote into {folder}, and what it began cannot be finished "
            f"({error.strerror or error}); make the folder writable and try again"
        ) from error


def _too_long(path: Path) -> str:
    longest = max(path.parts, key=len)
    return f"the name '{longest[:40]}...' is longer than a file's may be; give a shorter one"


def listed_files(folder: Path) -> set[str]:
    """The files that a run's manifest lists, without any outside the folder."""
    listed = _raw_manifest(folder).get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return {name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}


def refuse_to_overwrite(folder: Path, *, kind: str, overwrite: bool) -> None:
    """Raise, before any work is done, if this kind of run may not be written here."""
    recover(folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder; choose another --out")
    if (folder / "config.json").exists():
        raise UserError(f"{folder} holds a model; choose another --out")
    if (held := _raw_manifest(folder).get("kind", kind)) != kind:
        raise UserError(f"{folder} holds a run of `wherewhat {held}`; choose another --out")
    results = sorted(path for pattern in RESULTS for path in folder.glob(pattern))
    if results and not overwrite:
        raise UserError(f"{folder} already holds a run ({results[0].name}); choose another --out or add --overwrite")
    if not os.access(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists()), os.W_OK):
        raise UserError(f"{folder} cannot be written; choose another --out")


def run_kind(folder: Path) -> str | None:
    """The command whose run is in a folder, as far as its manifest can be read."""
    kind = _raw_manifest(folder).get("kind")
    return kind if isinstance(kind, str) else None


def _raw_manifest(folder: Path) -> dict[str, Any]:
    """The raw manifest of an earlier run of any version, as far as it can be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


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

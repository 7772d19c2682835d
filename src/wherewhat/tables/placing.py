"""Put the new files of a folder in the place of its old ones in one step: a kill at any moment leaves one set whole.

The new files are gathered in a hidden folder and brought to the disk first. Then, in this order of preference:

1. where there is no folder yet, the hidden folder is renamed into its place;
2. where the folder holds nothing but the earlier files, the two folders change places, in one call of the system;
3. where that cannot be (somebody's other files lie there, it is a mount point or the working directory, the system
   cannot exchange), the hidden folder becomes `WHOLE` inside it, again by one rename, and its files are moved to their
   places. From that rename on the new files count: whoever reads or writes the folder next calls `recover`, which
   moves the rest.

A hidden folder is locked as long as its process lives, so that `recover` can tell what a kill left behind.
"""

import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

STAGED = ".wherewhat-new-"  # how the hidden folder's name begins while files are gathered in it
WHOLE = ".wherewhat-whole"  # its name inside the folder once all of them are there
STALE = ".stale.json"  # in it, the earlier files that have no successor
PARTIAL = re.compile(r"\..+\.(parquet|json|html|safetensors|png)\.\w{8}\.partial")  # one file that was being written
EXCHANGE = 2  # the flag of Linux (renameat2) and of macOS (renamex_np)
HERE = -100  # AT_FDCWD of Linux: paths count from the working directory


def place(folder: Path, files: Mapping[str, bytes], *, earlier: Collection[str] = ()) -> None:
    """Make `files` the content of `folder`, in place of those named `earlier`. Whatever else lies there stays."""
    folder = _real(folder)
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
    _refuse_folders(folder, files)
    with _hidden(folder) as staged:
        for name, data in files.items():
            _write(staged / name, data)
        if not folder.exists():
            staged.rename(folder)
        elif not (_is_ours(folder, {*files, *earlier}) and _changed_places(staged, folder)):
            _write(staged / STALE, json.dumps(sorted({*earlier} - {*files})).encode())
            sync_folder(staged)
            staged.rename(folder / WHOLE)
            _finish(folder)
        sync_folder(folder)
        sync_folder(folder.parent)


def recover(folder: Path) -> None:
    """Finish what a kill cut short in a folder if its new files are whole, and take away what else it left behind."""
    folder = _real(folder)
    if os.path.isdir(folder / WHOLE):  # noqa: PTH112 (a path's own is_dir raises where a name is too long)
        _finish(folder)
    with suppress(OSError):  # a folder that cannot be looked into
        for path in _left_behind(folder):
            with suppress(OSError), _locked(path):  # an error: its process lives
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def lock(handle: int) -> None:
    """Tell other processes that a file or folder is being written. Closing it, or a kill, takes the lock away."""
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)


def sync_folder(folder: Path) -> None:
    """Make what was renamed in a folder survive a power cut, where the file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _real(folder: Path) -> Path:
    """The folder itself, behind links."""
    return Path(os.path.realpath(folder))


def _refuse_folders(folder: Path, files: Mapping[str, bytes]) -> None:
    """A folder of somebody's where a file is to be cannot be replaced; better known before anything is."""
    if (taken := next((folder / name for name in files if (folder / name).is_dir()), None)) is not None:
        raise IsADirectoryError(errno.EISDIR, f"{taken} is a folder")


@contextmanager
def _hidden(folder: Path) -> Iterator[Path]:
    """A locked folder to gather files in: beside `folder`, or inside it where the one above cannot be written."""
    staged, handle = _make_hidden(folder)
    try:
        mode = folder.stat().st_mode & 0o7777 if folder.exists() else 0o777 & ~umask()
        staged.chmod(mode)
        yield staged
    finally:
        os.close(handle)
        shutil.rmtree(staged, ignore_errors=True)  # nothing is left there but after an error, or the earlier folder


def _make_hidden(folder: Path) -> tuple[Path, int]:
    while True:
        try:
            if folder.exists() and os.path.ismount(folder):
                raise PermissionError
            staged = Path(tempfile.mkdtemp(prefix=STAGED, dir=folder.parent))
        except OSError:
            if not folder.exists():
                raise
            staged = Path(tempfile.mkdtemp(prefix=STAGED, dir=folder))
        with suppress(FileNotFoundError):  # another process took it away before it was locked: once more
            handle = os.open(staged, os.O_RDONLY)
            lock(handle)
            if staged.exists():
                return staged, handle
            os.close(handle)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _is_ours(folder: Path, names: Collection[str]) -> bool:
    """Whether a folder may go: it holds nothing but these files, and nobody stands in it."""
    inside = {Path(name) for name in names}
    inside |= {parent for name in inside for parent in name.parents}
    with suppress(OSError):
        if Path.cwd().is_relative_to(folder) or os.path.ismount(folder):
            return False
    for above, folders, files in os.walk(folder):
        held = Path(above).relative_to(folder)
        files = [name for name in files if not PARTIAL.fullmatch(name)]
        if any(held / name not in inside for name in (*folders, *files)):
            return False
    return True


def _changed_places(staged: Path, folder: Path) -> bool:
    """Let two folders change places in one step; False where that cannot be."""
    mine, theirs = staged.stat(), folder.stat()
    if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
        return False
    sync_folder(staged)
    ours, other = os.fsencode(staged), os.fsencode(folder)
    try:
        system = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(system.renamex_np(ours, other, EXCHANGE) == 0)
        return bool(system.renameat2(HERE, ours, HERE, other, EXCHANGE) == 0)
    except (OSError, AttributeError):  # a system without such a call
        return False


def _finish(folder: Path) -> None:
    """Move the files of a whole new set to their places. Two processes may do it at once."""
    whole = folder / WHOLE
    stale: list[str] = []
    with suppress(OSError, ValueError):
        stale = json.loads((whole / STALE).read_text())
    found = [path for path in whole.rglob("*") if path.is_file() and path.name != STALE]
    for path in found:
        target = folder / path.relative_to(whole)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # moved by another
            path.replace(target)
    for name in stale:
        with suppress(OSError):
            (folder / name).unlink()
    sync_folder(folder)
    shutil.rmtree(whole, ignore_errors=True)


def _left_behind(folder: Path) -> Iterator[Path]:
    """What may have been left by a kill: folders in which files were gathered, and files that were being written."""
    for above in (folder.parent, folder):
        yield from above.glob(f"{STAGED}*")
    for pattern in (".*.partial", "*/.*.partial"):
        yield from (path for path in folder.glob(pattern) if PARTIAL.fullmatch(path.name))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder; an OSError says that another holds it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def umask() -> int:
    """The permissions that this process does not give."""
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return mask

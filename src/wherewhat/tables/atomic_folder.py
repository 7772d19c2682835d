"""Replace the files of a folder in one step: a kill at any moment leaves the old files or the new ones, complete.

The new files are first written to a hidden folder and flushed to the disk. Then, in this order of preference:

1. if there is no folder yet, the hidden folder is renamed to it;
2. if the folder holds only the earlier files, the two folders are exchanged by one system call;
3. otherwise (there are other files in it, it is a mount point or the working directory, the system cannot exchange
   folders), the hidden folder is renamed to `WHOLE` inside it, and its files are moved to their places. From that
   rename on the new files count: the next reader or writer of the folder calls `recover`, which moves the rest.

A hidden folder is locked as long as its process lives, so that `recover` recognises what a kill left behind.
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
from itertools import chain
from pathlib import Path

STAGED = ".wherewhat-new-"  # the prefix of the hidden folder's name while files are written to it
WHOLE = ".wherewhat-whole"  # its name inside the folder once it is complete
STALE = ".stale.json"  # in it, the list of earlier files to remove
PARTIAL = re.compile(r"\..+\.(parquet|json|html|safetensors|png)\.\w{8}\.partial")  # a file that was being written
EXCHANGE = 2  # the flag of Linux (renameat2) and of macOS (renamex_np)
HERE = -100  # AT_FDCWD of Linux: paths are relative to the working directory


def replace_files(folder: Path, files: Mapping[str, bytes], *, earlier: Collection[str] = ()) -> None:
    """Write `files` to `folder` in place of those named `earlier`. All other files stay."""
    folder = Path(os.path.realpath(folder))
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
    if (taken := next((folder / name for name in files if (folder / name).is_dir()), None)) is not None:
        raise IsADirectoryError(errno.EISDIR, f"{taken} is a folder")
    with _hidden(folder) as staged:
        for name, data in files.items():
            _write(staged / name, data)
        if not folder.exists():
            staged.rename(folder)
        elif not (_is_ours(folder, {*files, *earlier}) and _swap_folders(staged, folder)):
            _write(staged / STALE, json.dumps(sorted({*earlier} - {*files})).encode())
            sync_folder(staged)
            staged.rename(folder / WHOLE)
            _finish(folder)
        sync_folder(folder)
        sync_folder(folder.parent)


def recover(folder: Path) -> None:
    """Complete an interrupted replacement if its new files are complete, and remove what else a kill left behind."""
    folder = Path(os.path.realpath(folder))
    if os.path.isdir(folder / WHOLE):  # noqa: PTH112 (Path.is_dir raises if a name is too long)
        _finish(folder)
    with suppress(OSError):  # a folder that cannot be listed
        staged = f"{STAGED}*"
        places = ((folder.parent, staged), (folder, staged), (folder, ".*.partial"), (folder, "*/.*.partial"))
        for path in chain.from_iterable(above.glob(pattern) for above, pattern in places):
            if path.name.startswith(STAGED) or PARTIAL.fullmatch(path.name):
                with suppress(OSError), _locked(path):  # an error: its process lives
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def lock(handle: int) -> None:
    """Lock a file or folder while it is written. Closing it, or a kill, releases the lock."""
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)


def sync_folder(folder: Path) -> None:
    """Flush renames in a folder to the disk, if the file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _hidden(folder: Path) -> Iterator[Path]:
    """A locked folder to write files to: beside `folder`, or inside it if its parent cannot be written."""
    staged, handle = _make_hidden(folder)
    try:
        mode = folder.stat().st_mode & 0o7777 if folder.exists() else 0o777 & ~umask()
        staged.chmod(mode)
        yield staged
    finally:
        os.close(handle)
        shutil.rmtree(staged, ignore_errors=True)  # only after an error, or the earlier folder


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
        with suppress(FileNotFoundError):  # another process removed it before it was locked: try again
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
    """Whether a folder may be replaced: it holds only these files and is not the working directory."""
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


def _swap_folders(staged: Path, folder: Path) -> bool:
    """Exchange two folders in one step; False if that is not possible."""
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
    except (OSError, AttributeError):  # a system without this call
        return False


def _finish(folder: Path) -> None:
    """Move the files of a complete new set to their places. Two processes may do it at once."""
    whole = folder / WHOLE
    stale: list[str] = []
    with suppress(OSError, ValueError):
        stale = json.loads((whole / STALE).read_text())
    for path in [path for path in whole.rglob("*") if path.is_file() and path.name != STALE]:
        target = folder / path.relative_to(whole)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # moved by another
            path.replace(target)
    for name in stale:
        with suppress(OSError):
            (folder / name).unlink()
    sync_folder(folder)
    shutil.rmtree(whole, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder; raises OSError if another process holds it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def umask() -> int:
    """The permissions that this process withholds from new files."""
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return mask

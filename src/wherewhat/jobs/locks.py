"""One process at a time works in a folder. A lock ends with its process, however that ends."""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wherewhat.errors import UserError

LOCK = ".lock"  # in the folder of all jobs; names the process that holds it
PATIENCE = 60.0  # seconds; a worker whose parent was killed ends much sooner


@contextmanager
def only_parent(folder: Path) -> Iterator[None]:
    """Hold the folder of all jobs. A second process is refused, and told which one holds it."""
    handle = _hold(folder / LOCK)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # while it is held, so that it is nobody else's
        os.close(handle)


def _hold(path: Path) -> int:
    """The lock file, open and locked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise UserError(f"{path.parent} could not be written ({error.strerror}); choose another --out") from error
    if not _lock(handle):
        holder = os.pread(handle, 200, 0).decode(errors="replace") or "another process"
        os.close(handle)
        raise UserError(f"{path.parent} is in use by {holder}; wait until it ends, or choose another --out")
    if os.fstat(handle).st_nlink == 0:  # its last holder removed the file after it was opened here
        os.close(handle)
        return _hold(path)
    return handle


@contextmanager
def only_worker(folder: Path) -> Iterator[None]:
    """Hold the folder of one job. A worker whose parent was killed may live for a moment: wait for its end."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + PATIENCE
        while not _lock(handle):
            if time.monotonic() > until:
                raise UserError(f"{folder} is in use by another process; wait until it ends, or end it")
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock an open file or folder; False if another process has locked it."""
    with suppress(OSError):  # a file system without locks
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True

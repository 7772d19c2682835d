"""One process at a time works in a folder. A lock ends with its process, however that ends.

Between machines, a process that can no longer be heard is taken for dead.
"""

import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wherewhat.errors import UserError

LOCK = ".lock"  # in the folder of all jobs; names the process that holds it
PATIENCE = 60.0  # seconds; a worker whose parent was killed ends much sooner
BEAT = 5.0  # seconds between two signs of life of a process that holds a folder among several machines
SILENCE = 60.0  # seconds without one, after which it is taken for dead
MOST_PATIENCE = 300.0  # seconds; a machine that lost its connection ends its work much sooner


@contextmanager
def only_parent(folder: Path) -> Iterator[None]:
    """Hold the folder of all jobs. A second process is refused, and told which one holds it."""
    handle = _hold(folder / LOCK)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, _holder(), 0)
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


@contextmanager
def only_machine(folder: Path) -> Iterator[None]:
    """Hold the folder of one job among several machines, whose locks need not reach each other.

    A file beside the folder names the holder, which touches it every few seconds. A holder on this machine is dead as
    soon as its lock is free, a holder on another machine once it has been silent for long.
    """
    path = folder.with_name(f".{folder.name}.holder")
    handle, over = _claim(path), threading.Event()
    signs = threading.Thread(target=_touch, args=(handle, over), daemon=True)
    signs.start()
    try:
        yield
    finally:
        over.set()
        signs.join()
        with suppress(OSError):  # another process has taken it over
            if os.path.samestat(os.fstat(handle), path.stat()):
                path.unlink()
        os.close(handle)


def _claim(path: Path) -> int:
    """The file that names the holder, once it names this process."""
    began = changed_at = time.monotonic()
    last = _state(path)
    while (handle := _create(path)) is None:
        now, state = time.monotonic(), _state(path)
        last, changed_at = state, changed_at if state == last else now
        if _has_ended(path, state[0]) or now - changed_at > SILENCE:
            path.unlink(missing_ok=True)
        elif now - began > MOST_PATIENCE:
            holder = state[0].decode(errors="replace") or "another process"
            raise UserError(f"{path} says that {holder} works on this run; wait until it ends, or end it")
        else:
            time.sleep(0.1)
    return handle


def _create(path: Path) -> int | None:
    """A new file that names this process and is locked; None if there is a file."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(handle)
        os.write(handle, _holder())
        os.fsync(handle)  # for other machines
        return handle
    return None


def _state(path: Path) -> tuple[bytes, int]:
    """Who holds a folder, and its last sign of life. Opening the file asks for its state on other machines, too."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(200), os.fstat(file.fileno()).st_mtime_ns
    return b"", 0


def _has_ended(path: Path, holder: bytes) -> bool:
    """Whether a holder is known to have ended: it was on this machine, and its lock is free."""
    if not holder.endswith(f" on {socket.gethostname()}".encode()):
        return False
    with suppress(OSError), path.open("rb+") as file:  # locked by it, or a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _touch(handle: int, over: threading.Event) -> None:
    while not over.wait(BEAT):
        with suppress(OSError):
            os.utime(handle)


def _holder() -> bytes:
    return f"process {os.getpid()} on {socket.gethostname()}".encode()

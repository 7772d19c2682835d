"""A run takes the place of another in one step: whenever the process dies, one of them is whole."""

import io
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from wherewhat.errors import UserError
from wherewhat.tables import atomic_folder, files
from wherewhat.tables.files import recover, refuse_to_overwrite, write_run, write_whole

Content = dict[str, bytes]

LISTED = b'{"files": ["manifest.json", "heads.parquet", "extra.parquet", "report.html"]}'
OLD: Content = {"manifest.json": LISTED, "heads.parquet": b"old", "extra.parquet": b"old", "report.html": b"old" * 99}
NEW: Content = {"manifest.json": b'{"files": []}', "heads.parquet": b"new", "report.html": b"new" * 99}
MINE: Content = {"notes.txt": b"mine", "data.parquet": b"mine", "done/one.json": b"mine", "deep/er/x": b"mine"}
CHANGES = ("rename", "replace", "unlink", "remove", "rmdir", "mkdir", "open", "fsync", "fchmod", "chmod", "scandir")


def content(folder: Path) -> Content:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, *contents: Content) -> None:
    for name, data in {name: data for one in contents for name, data in one.items()}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


class Death(BaseException):
    """The process is gone: nothing that it would still do to the disk is done."""


@contextmanager
def dying_at(moment: int) -> Iterator[list[str]]:
    """Let the process die right before the operation on files with this number; a sync dies in half of its file."""
    done: list[str] = []
    with pytest.MonkeyPatch.context() as patch:

        def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **options: Any) -> Any:
                if len(done) == moment and name == "fsync" and os.fstat(given[0]).st_size < 4096:
                    os.truncate(given[0], os.fstat(given[0]).st_size // 2)
                if len(done) >= moment:
                    raise Death
                done.append(name)
                return real(*given, **options)

            return call

        for name in CHANGES:
            patch.setattr(os, name, watched(name, getattr(os, name)))
        patch.setattr(io, "open", watched("io.open", io.open))
        patch.setattr(atomic_folder, "_swap_folders", watched("exchange", atomic_folder._swap_folders))
        yield done


def no_exchange(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(atomic_folder.ctypes, "CDLL", lambda name: object())  # a system without such a call


def working_folder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.chdir(folder)


def mount(patch: pytest.MonkeyPatch, folder: Path) -> None:
    real = os.path.ismount
    patch.setattr(os.path, "ismount", lambda path: Path(path) == folder or real(path))


def closed_above(patch: pytest.MonkeyPatch, folder: Path) -> None:
    real = atomic_folder.tempfile.mkdtemp

    def mkdtemp(prefix: str, dir: Path) -> str:
        if dir == folder.parent:
            raise PermissionError(13, "Permission denied")
        return real(prefix=prefix, dir=dir)

    patch.setattr(atomic_folder.tempfile, "mkdtemp", mkdtemp)


def nothing(patch: pytest.MonkeyPatch, folder: Path) -> None: ...


SETTINGS: dict[str, tuple[tuple[Content, ...], Callable[[pytest.MonkeyPatch, Path], None], bool]] = {
    # What lies in the folder, what is special, and whether the folder is whole even before anybody looks after it.
    "there is no folder": ((), nothing, True),
    "an earlier run": ((OLD,), nothing, True),
    "an earlier run and other files": ((OLD, MINE), nothing, False),
    "other files": ((MINE,), nothing, False),
    "a system that cannot exchange": ((OLD,), no_exchange, False),
    "the working directory": ((OLD,), working_folder, False),
    "a mount point": ((OLD,), mount, False),
    "no right to write above": ((OLD, MINE), closed_above, False),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_killed_at_any_operation(tmp_path: Path, setting: str):
    before, special, at_once = SETTINGS[setting]
    mine = MINE if MINE in before else {}
    old, new = {**(OLD if OLD in before else {}), **mine}, {**NEW, **mine}
    seen = set()
    for moment in range(200):
        home = tmp_path / str(moment)
        folder = home / "run"
        home.mkdir()
        fill(folder, *before)
        finished = False
        with pytest.MonkeyPatch.context() as patch:
            special(patch, folder)
            with dying_at(moment) as done:
                try:
                    write_run(folder, NEW)
                    finished = True
                except Death:
                    pass
            if at_once:
                assert content(folder) in (old, new), f"killed before operation {moment}, after {done[-3:]}"
            recover(folder)
        assert content(folder) in (old, new), f"killed before operation {moment}, after {done[-3:]}"
        assert [path.name for path in home.iterdir()] in ([], ["run"]), f"left by a kill before operation {moment}"
        seen.add("new" if content(folder) == new else "old")
        if finished:
            break
    assert finished and content(folder) == new and moment > 10
    assert seen == {"old", "new"}


def test_killed_while_it_recovers(tmp_path: Path):
    for moment in range(100):
        folder = tmp_path / str(moment) / "run"
        fill(folder, OLD, MINE)
        fill(folder / atomic_folder.WHOLE, NEW, {atomic_folder.STALE: b'["extra.parquet"]'})
        with dying_at(moment) as done:
            try:
                recover(folder)
                break
            except Death:
                pass
        recover(folder)
        assert content(folder) == {**NEW, **MINE}, f"killed before operation {moment}, after {done[-3:]}"
    assert content(folder) == {**NEW, **MINE} and moment > 5


def test_a_name_too_long_is_not_blamed_on_a_kill(tmp_path: Path):
    name = tmp_path / ("n" * 300)
    atomic_folder.recover(name)
    sentence = "^the name 'n{40}...' is longer than a file's may be; give a shorter one$"
    for door in (
        lambda: recover(name),
        lambda: refuse_to_overwrite(name, kind="heads", overwrite=False),
        lambda: write_run(name, NEW),
        lambda: write_whole(name, b""),
    ):
        with pytest.raises(UserError, match=sentence):
            door()


def test_a_folder_that_cannot_be_opened_is_not_blamed_on_a_kill(tmp_path: Path):
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(UserError, match=r"round cannot be opened \(.*\); name another folder"):
        recover(tmp_path / "round")


def test_every_way_in_finishes_what_was_begun(tmp_path: Path):
    import wherewhat as ww
    from wherewhat.cli.main import main
    from wherewhat.comparing.inputs import is_profile

    folder, whole = tmp_path / "run", tmp_path / "whole"
    profile = ww.profile("tiny", max_texts=2)
    saved = profile.save(whole)
    expected = {**content(saved), "mine.txt": b"mine"}
    ways: list[Callable[[], object]] = [
        lambda: ww.load(folder),
        lambda: main(["report", str(folder), "--quiet"]),
        lambda: is_profile(folder),
        lambda: profile.save(folder, overwrite=True),
        lambda: refuse_to_overwrite(folder, kind="heads", overwrite=True),
    ]
    for way in ways:
        fill(folder, {"mine.txt": b"mine", ".heads.parquet.a8_zz0oe.partial": b"half", "gone.parquet": b"old"})
        fill(folder / atomic_folder.WHOLE, content(whole), {atomic_folder.STALE: b'["gone.parquet"]'})
        fill(tmp_path / f"{atomic_folder.STAGED}x", NEW)
        way()
        assert content(folder) == expected
        assert not (tmp_path / f"{atomic_folder.STAGED}x").exists()
        atomic_folder.shutil.rmtree(folder)


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path):
    fill(tmp_path / f"{atomic_folder.STAGED}live", NEW)
    (tmp_path / "run").mkdir()
    half = tmp_path / "run" / ".report.html.abcdefgh.partial"
    half.write_bytes(b"half")
    handles = [os.open(path, os.O_RDONLY) for path in (tmp_path / f"{atomic_folder.STAGED}live", half)]
    for handle in handles:
        atomic_folder.lock(handle)
    recover(tmp_path / "run")
    assert half.exists() and content(tmp_path / f"{atomic_folder.STAGED}live") == NEW
    for handle in handles:
        os.close(handle)
    recover(tmp_path / "run")
    assert content(tmp_path) == {}


def test_a_hidden_file_of_somebody_else_stays(tmp_path: Path):
    mine = {".notes.partial": b"", ".wherewhat": b"", "sub/.x.partial": b"", ".a.tar.abcdefgh.partial": b""}
    fill(tmp_path, mine)
    recover(tmp_path)
    assert content(tmp_path) == mine


def test_a_link_stays_a_link(tmp_path: Path):
    fill(tmp_path / "far" / "run", OLD)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "run")
    write_run(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink() and content(tmp_path / "far" / "run") == NEW
    (tmp_path / "to come").symlink_to(tmp_path / "later" / "run")
    write_run(tmp_path / "to come", NEW)
    assert (tmp_path / "to come").is_symlink() and content(tmp_path / "later" / "run") == NEW


def test_the_folder_keeps_its_permissions(tmp_path: Path):
    fill(tmp_path / "run", OLD)
    (tmp_path / "run").chmod(0o750)
    write_run(tmp_path / "run", NEW)
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o750
    write_run(tmp_path / "new", NEW)
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_where_a_file_is_to_be_is_left_as_it_is(tmp_path: Path):
    fill(tmp_path / "run", {**OLD, "mine.txt": b""})
    (tmp_path / "run" / "heads.parquet").unlink()
    fill(tmp_path / "run" / "heads.parquet", {"in it": b"mine"})
    before = content(tmp_path)
    with pytest.raises(UserError, match=r"could not be written \(.*heads.parquet is a folder\); choose another --out"):
        write_run(tmp_path / "run", NEW)
    assert content(tmp_path) == before


def test_nothing_outside_the_folder_is_taken_for_a_file_of_the_run(tmp_path: Path):
    fill(tmp_path, {"precious.txt": b"mine"})
    told = f'{{"files": ["../precious.txt", "{tmp_path}/precious.txt", 7, null, "heads.parquet"]}}'
    for more in ({}, {"mine.txt": b""}):  # by an exchange, and one by one
        fill(tmp_path / "run", {"manifest.json": told.encode(), "heads.parquet": b""}, more)
        write_run(tmp_path / "run", {"manifest.json": b"{}"})
        assert content(tmp_path) == {
            "precious.txt": b"mine",
            "run/manifest.json": b"{}",
            **{f"run/{name}": b"" for name in more},
        }


def test_what_cannot_be_finished_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path / atomic_folder.WHOLE, NEW)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(UserError, match=r"was killed while it wrote into .*cannot be finished \(Permission denied\)"):
        recover(tmp_path)


CHILDREN = get_context("forkserver")
CHILDREN.set_forkserver_preload(["wherewhat.tables.files"])
SIZE = 200_000


def versions(folder: Path, number: int) -> None:
    """Write one run after the other for as long as one lives."""
    while True:
        number += 1
        mark = str(number).encode()
        listed = f'{{"files": ["a.parquet", "manifest.json", "{number % 2}.parquet"], "number": {number}}}'.encode()
        write_run(folder, {"a.parquet": mark * SIZE, f"{number % 2}.parquet": mark, "manifest.json": listed})
        write_whole(folder / "a.parquet", mark * SIZE)


@pytest.mark.parametrize("mine", [{}, {"mine.txt": b"mine"}], ids=["alone", "beside other files"])
def test_killed_by_the_system(tmp_path: Path, mine: Content):
    folder, chance, number = tmp_path / "run", random.Random(0), 0
    fill(folder, mine)
    for _ in range(8):
        process = CHILDREN.Process(target=versions, args=(folder, number))
        process.start()
        begun = time.monotonic()
        while files._raw_manifest(folder).get("number", 0) <= number and time.monotonic() < begun + 60:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        process.kill()
        process.join(timeout=60)
        assert process.exitcode == -signal.SIGKILL
        recover(folder)
        now = files._raw_manifest(folder)["number"]
        assert now > number
        number = now
        mark = str(number).encode()
        assert set(content(folder)) == {"a.parquet", "manifest.json", f"{number % 2}.parquet", *mine}
        assert content(folder)["a.parquet"] == mark * SIZE and content(folder)[f"{number % 2}.parquet"] == mark
        assert [path.name for path in tmp_path.iterdir()] == ["run"]

"""Writing whole or not at all."""

import errno
import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.tables import files
from wherewhat.tables.files import refuse_to_overwrite, write_run, write_whole
from wherewhat.tables.manifest.io import read_manifest
from wherewhat.tables.manifest.sections import Manifest
from wherewhat.tables.parquet import parquet_bytes, read_parquet, read_table


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail_after(monkeypatch: pytest.MonkeyPatch, count: int, code: int) -> None:
    """Let the disk fill up at one of the writes."""
    real, calls = os.fsync, iter(range(10**6))

    def fsync(handle: int) -> None:
        if next(calls) >= count:
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)


def test_a_run_is_written_as_it_is(tmp_path: Path):
    write_run(tmp_path / "run", {"manifest.json": b"{}", "heads.parquet": b"1", "report.html": b"2"})
    assert content(tmp_path) == {"run/manifest.json": b"{}", "run/heads.parquet": b"1", "run/report.html": b"2"}


def test_another_run_takes_the_place_of_the_earlier_and_leaves_other_files_alone(tmp_path: Path):
    listed = b'{"files": ["manifest.json", "heads.parquet", "frequencies.parquet"]}'
    write_run(tmp_path, {"manifest.json": listed, "heads.parquet": b"old", "frequencies.parquet": b"old"})
    mine = {"notes.txt": b"mine", "data.parquet": b"mine", "model.safetensors": b"mine"}
    for name, value in mine.items():
        (tmp_path / name).write_bytes(value)
    write_run(tmp_path, {"manifest.json": b"new", "heads.parquet": b"new"})
    assert content(tmp_path) == {"manifest.json": b"new", "heads.parquet": b"new", **mine}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_full_disk_leaves_the_earlier_run_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int):
    write_run(tmp_path, {"manifest.json": b"old", "heads.parquet": b"old", "extra.parquet": b"old"})
    before = content(tmp_path)
    fail_after(monkeypatch, count, errno.ENOSPC)
    with pytest.raises(UserError, match="the disk is full: .* could not be written; free some space"):
        write_run(tmp_path, {"manifest.json": b"new", "heads.parquet": b"new", "report.html": b"new"})
    assert content(tmp_path) == before


def test_one_file_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "deep" / "state.safetensors"
    write_whole(path, b"old")
    fail_after(monkeypatch, 0, errno.ENOSPC)
    with pytest.raises(UserError, match="the disk is full"):
        write_whole(path, b"new")
    assert content(tmp_path) == {"deep/state.safetensors": b"old"}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/run could not be written \(Not a directory\); choose another --out"):
        write_run(tmp_path / "file" / "run", {"manifest.json": b""})


def test_results_are_readable_by_others(tmp_path: Path):
    write_whole(tmp_path / "a.parquet", b"")
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "a.parquet").stat().st_mode == plain.stat().st_mode


def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path):
    refuse_to_overwrite(tmp_path / "new", kind="heads", overwrite=False)
    (tmp_path / "notes.txt").write_text("not a run")
    refuse_to_overwrite(tmp_path, kind="heads", overwrite=False)
    write_run(tmp_path, {"manifest.json": b'{"kind": "heads"}'})
    with pytest.raises(
        UserError, match=r"already holds a run \(manifest.json\); choose another --out or add --overwrite"
    ):
        refuse_to_overwrite(tmp_path, kind="heads", overwrite=False)
    refuse_to_overwrite(tmp_path, kind="heads", overwrite=True)
    with pytest.raises(UserError, match="holds a run of `wherewhat heads`; choose another --out"):
        refuse_to_overwrite(tmp_path, kind="train", overwrite=True)
    with pytest.raises(UserError, match="is a file, not a folder"):
        refuse_to_overwrite(tmp_path / "notes.txt", kind="heads", overwrite=True)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="holds a model; choose another --out"):
        refuse_to_overwrite(tmp_path, kind="heads", overwrite=True)


def test_damaged_tables_and_manifests_are_named(tmp_path: Path):
    (tmp_path / "heads.parquet").write_bytes(parquet_bytes(pl.DataFrame({"a": [1]}))[:-3])
    with pytest.raises(UserError, match="heads.parquet cannot be read"):
        read_parquet(tmp_path / "heads.parquet")
    with pytest.raises(UserError, match="there is no .*offsets.parquet"):
        read_parquet(tmp_path / "offsets.parquet")
    with pytest.raises(UserError, match="holds no finished run"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text('{"cut')
    with pytest.raises(UserError, match="manifest.json cannot be read"):
        read_manifest(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        read_manifest(tmp_path / "nowhere")


def test_a_damaged_table_is_given_up_within_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []

    def hang(command: list[str], *, timeout: float, **_: object) -> None:
        waited.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    (tmp_path / "heads.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="was changed after it was written and cannot be read"):
        read_table(tmp_path / "heads.parquet", {}, Manifest(sha256={"heads.parquet": "0"}))
    assert len(waited) == 1 and waited[0] < 10

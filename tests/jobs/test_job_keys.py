"""What identifies a job, and names that become folders."""

from pathlib import Path

import pytest

from wherewhat.errors import InternalError
from wherewhat.jobs import keys
from wherewhat.jobs.job import Job
from wherewhat.jobs.keys import code_of, file_name


def test_the_key_depends_on_settings_and_code_and_on_nothing_else() -> None:
    job = Job("a", "m:f", {"x": 1, "y": (2, 3)}, code="c")
    assert job.key == Job("b", "m:g", {"y": [2, 3], "x": 1}, code="c", steps=9).key
    others = [Job("a", "m:f", {"x": 1, "y": (2, 4)}, code="c"), Job("a", "m:f", {"x": 1, "y": (2, 3)}, code="d")]
    assert len({job.key, *(other.key for other in others)}) == 3
    assert job.settings == {"x": 1, "y": [2, 3]}  # as every engine hands them on


def test_settings_that_are_not_plain_are_refused() -> None:
    with pytest.raises(InternalError, match=r"the settings of job 'a' are not plain JSON \(Object of type PosixPath"):
        Job("a", "m:f", {"path": Path("x")})


def test_names_become_folders_that_differ() -> None:
    long = "encoding=rope, " * 40
    assert len(file_name(long)) <= keys.LONGEST and file_name(long) != file_name(f"{long}seed=1")
    assert len(file_name("é" * 200).encode()) <= keys.LONGEST and file_name("é" * 200) != file_name("é" * 201)
    assert file_name("../a/b") == "a-b" and file_name("...") == ""


def test_other_words_in_a_file_do_not_make_it_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "PACKAGE", tmp_path)
    codes = []
    for text in ('"""A."""\nx = 1\n', '"""B."""\nx = 1  # as it is\n', '"""A."""\nx = 2\n'):
        (tmp_path / "room.py").write_text(text)
        code_of.cache_clear()
        codes.append(code_of("room.py"))
    code_of.cache_clear()
    assert codes[0] == codes[1] != codes[2]

"""Whatever a command wrote can be opened and drawn again, and nothing else can."""

import json
from pathlib import Path

import polars as pl
import pytest

import wherewhat as ww
from wherewhat.errors import UserError
from wherewhat.runs.base import Run
from wherewhat.runs.registry import RUNS, Profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    return ww.profile("tiny", max_texts=3)


def test_every_kind_of_run_says_which_command_writes_it():
    assert list(RUNS) == ["heads", "compare", "edit", "probe", "attribute", "reproduce", "sweep"]
    assert all(issubclass(run, Run) for run in RUNS.values())


def test_a_profile_comes_back_as_it_was(profile: Profile, tmp_path: Path):
    again = ww.load(profile.save(tmp_path / "run"))
    assert isinstance(again, Profile)
    assert again.heads.equals(profile.heads) and again.frequencies.equals(profile.frequencies)
    assert set(again.manifest.to_dict()["files"]) == {path.name for path in (tmp_path / "run").iterdir()}


def test_a_profile_of_a_model_that_does_not_turn_has_no_table_of_frequencies(profile: Profile, tmp_path: Path):
    still = Profile(profile.heads, profile.offsets, profile.frequencies.clear(), profile.manifest)
    folder = still.save(tmp_path / "run")
    assert not (folder / "frequencies.parquet").exists()
    assert ww.load(folder).frequencies.is_empty()


def test_a_run_without_a_report_says_so(tmp_path: Path):
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "train"}))
    with pytest.raises(UserError, match="holds a run of `wherewhat train`, which has no report; name another folder"):
        ww.load(tmp_path)


def test_a_table_that_lost_a_column_is_named(profile: Profile, tmp_path: Path):
    folder = profile.save(tmp_path / "run")
    pl.read_parquet(folder / "heads.parquet").drop("chance").write_parquet(folder / "heads.parquet")
    with pytest.raises(UserError, match="lacks the column 'chance'"):
        ww.load(folder)

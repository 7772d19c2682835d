"""A profile as a job: everything that determines it travels as plain JSON and comes back."""

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from wherewhat.capture.loading.load import LoadSettings
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.profiling import profile_job
from wherewhat.profiling.profile_job import MEASURED, ProfileJob, first_texts, text_digest, work
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.runs.registry import load
from wherewhat.tables.texts import Origin, Text

EVERYTHING = ProfileJob(
    "some/folder",
    "abc",
    ProfileSettings(
        queries="all",
        logit_rows="all",
        max_swaps=None,
        tau=(1e-4, math.inf),
        blocks=[[[0, 2], [2, 5]]],
        positional=True,
        random=True,
        hidden=False,
        scores=("locality", "positional"),
        layers=(0, 2),
        heads=("L0H1",),
    ),
    LoadSettings(dtype="float64", device="cpu", revision="step1000"),
    Origin("book", ("/texts/book.txt",)),
    "def",
    ("--queries", "all"),
)


@pytest.mark.parametrize("job", [EVERYTHING, ProfileJob("tiny", "")], ids=["everything", "defaults"])
def test_a_job_comes_back_from_json(job: ProfileJob):
    written = json.dumps(job.plain(), allow_nan=False)  # no infinity, which only Python would read
    again = ProfileJob.from_plain(json.loads(written))
    assert replace(again, settings=job.settings) == job
    assert replace(again.settings, blocks=None) == replace(job.settings, blocks=None)
    assert [list(block) for block in again.settings.blocks or ()] == [
        list(block) for block in job.settings.blocks or ()
    ]


def test_what_determines_the_result_is_in_the_key():
    def key(**changes: object) -> str:
        return replace(EVERYTHING, **changes).named("name").key  # type: ignore[arg-type]

    keys = [key(), key(identity="other"), key(texts="other"), key(settings=replace(EVERYTHING.settings, seed=1))]
    assert len(set(keys)) == 4 and replace(EVERYTHING).named("another name").key == keys[0]


def test_the_command_makes_it_alone(tmp_path: Path):
    words = shlex.split(EVERYTHING.command(tmp_path / "a b"))
    assert words[:5] == ["wherewhat", "heads", "some/folder", "--revision", "step1000"]
    assert words[5:] == ["--queries", "all", "--out", str(tmp_path / "a b")]


def test_the_work_writes_a_run_and_says_how_far_it_is(tmp_path: Path):
    steps: list[int] = []
    settings = ProfileSettings(max_texts=2, scores=("locality",), untrained=False)
    job = ProfileJob("tiny", "", settings)
    result = work(job.plain(), JobContext(tmp_path, lambda step, measured=(), keep=False: steps.append(step)))
    run = load(tmp_path)
    assert run.kind == "heads" and run.manifest.texts.source == "its own texts"
    assert run.manifest.settings["threads"] == result["threads"] >= 1
    assert result["weights_hash"] == run.manifest.model.weights_hash
    assert run.manifest.command == job.command(tmp_path)
    assert steps == sorted(steps) and steps[-1] == MEASURED


def test_texts_are_read_once_and_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "texts.txt"
    path.write_text("a b c\nd e f\ng h i\n")
    origin, read = Origin("texts", (str(path),)), list[Origin]()
    texts = first_texts(origin, 2)
    assert [text.content for text in texts] == ["a b c", "d e f"]
    before = Origin.read
    monkeypatch.setattr(Origin, "read", lambda self: (read.append(self), before(self))[1])
    for _ in range(2):
        assert profile_job._same_texts(origin, 2, text_digest(texts)) == texts
    assert len(read) == 1
    path.write_text("other\n")
    with pytest.raises(UserError, match="the texts in texts changed while models were profiled; start again"):
        profile_job._same_texts(origin, 2, "what was there before")
    assert text_digest([Text("ab", ""), Text("c", "")]) != text_digest([Text("a", ""), Text("bc", "")])

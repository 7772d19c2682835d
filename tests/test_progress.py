"""One whole out of phases, told as a bar or as plain lines."""

import re
from dataclasses import replace

import pytest

import wherewhat as ww
from wherewhat import progress as shown
from wherewhat.progress import Phases, announce, first_part, progress


def test_phases_add_up_to_one_whole():
    told: list[tuple[int, int, str]] = []
    phases = Phases(lambda *step: told.append(step))
    phases.begin("loading")
    on_text = phases.begin("reading")
    on_text(1, 4)
    phases.plan({"reading": 40, "moving": 50, "drawing": 10})
    on_text(2, 4)
    phases.begin("drawing")(1, 2)  # moving was left out after all
    assert told == [
        (0, 0, "loading"),
        (0, 0, "reading"),
        (0, 0, "reading"),
        (20, 100, "reading"),
        (90, 100, "drawing"),
        (95, 100, "drawing"),
    ]


def test_a_first_part_leaves_room_for_the_rest():
    told: list[tuple[int, int, str]] = []
    first_part(lambda *step: told.append(step), of_whole=0.95)(19, 19, "all")
    assert told == [(19, 20, "all")]


def test_plain_lines_name_every_phase_at_once_and_the_rest_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    now = [100.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    announce("net", quiet=False)
    with progress("net", quiet=False, announced=True) as step:
        step(0, 0, "loading")
        for done in range(1, 6):
            step(done, 10, f"reading text {done}")
        now[0] += shown.EVERY
        step(6, 10, "reading text 6")
        step(7, 10, "drawing")
        step(10, 10, "drawing")
    assert capsys.readouterr().err.splitlines() == [
        "net: loading …",
        "net: 10 %, reading text 1",
        "net: 60 %, reading text 6",
        "net: 70 %, drawing",
        "net: 100 %, drawing",
    ]


def test_nothing_is_shown_to_someone_who_wants_quiet(capsys: pytest.CaptureFixture[str]):
    announce("net", quiet=True)
    with progress("net", quiet=True) as step:
        step(1, 2, "reading")
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_one_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("net", quiet=False) as step:
        step(0, 0, "loading")
        step(1, 4, "reading texts")
    last = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", capsys.readouterr().err).splitlines()[-1]
    assert last.startswith("net ") and "25%" in last and last.rstrip().endswith("reading texts")


def test_python_shows_progress_if_asked(capsys: pytest.CaptureFixture[str]):
    ww.profile("tiny", max_texts=2, untrained=False, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["profile: loading", "profile: reading texts"]
    assert lines[-1] == "profile: 100 %, reading texts"
    ww.profile("tiny", max_texts=2, untrained=False)
    assert capsys.readouterr().err == ""


def test_a_comparison_goes_on_from_model_to_model(capsys: pytest.CaptureFixture[str]):
    far: list[float] = []
    ww.compare(["tiny"], untrained=1, max_texts=2, on_step=lambda done, of, note: far.append(done / of))
    assert far == sorted(far) and far[0] == 0 and far[-1] == 1 and 0.5 in far
    ww.compare(["tiny"], untrained=1, max_texts=2, progress=True)
    assert capsys.readouterr().err.splitlines()[-1].startswith("compare: 100 %, ")


def test_training_shows_progress_if_asked(capsys: pytest.CaptureFixture[str]):
    brief = replace(ww.recipe("tiny"), steps=2, batch=2, evaluate_samples=2)
    ww.train(brief, progress=True)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("train: 50 %, step 1 of 2, loss ") and last.startswith("train: 100 %, step 2 of 2, loss ")
    ww.train(brief)
    assert capsys.readouterr().err == ""

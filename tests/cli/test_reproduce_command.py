"""`wherewhat reproduce`: what it writes and prints, with an experiment that takes no time."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.report import reproductions as pages
from wherewhat.report.claims import claims_section
from wherewhat.report.page import Page
from wherewhat.stats.verdict import Claim
from wherewhat.studies import registry
from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.finished_runs import RunOutcome, finished_runs_in
from wherewhat.studies.registry import STUDIES, Study
from wherewhat.tables.schema import RESULT, frame

CLAIMS = (Claim("Water is wet.", "yes", "yes", "agrees"), Claim("It is dry.", "unknown", "no", "not seen"))
SCALES = {"tiny": 1, "small": 2}


def quick(request: Request) -> StudyResult:
    """An experiment that only counts."""
    request.step(1, 1, "done")
    rows = [("count", "water", "", None, request.seed, "drops", float(request.of(SCALES)), None, None)]
    return StudyResult(frame(rows, RESULT), CLAIMS, {"drops": request.of(SCALES)}, ("A note.",), {"wet": True})


def page_of_quick(result: pl.DataFrame, manifest) -> Page:
    return Page("quick", "kind", "lede", [(str(result["value"][0]), "drops")], [claims_section(manifest.claims)])


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.STUDIES, "quick", Study("quick", "Count.", "a paper", quick))
    monkeypatch.setitem(pages.PAGES, "quick", page_of_quick)


def test_it_writes_table_manifest_and_report_and_prints_the_verdicts(tmp_path: Path, capsys):
    assert main(["reproduce", "quick", "--scale", "small", "--seed", "3", "--out", str(tmp_path / "run")]) == 0
    assert "2 claims: 1 agrees, 1 not seen;" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"result.parquet", "manifest.json", "report.html"}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["kind"] == "reproduce" and manifest["reproduction"] == "quick" and manifest["scale"] == "small"
    assert manifest["claims"][1]["verdict"] == "not seen" and manifest["about"] == {"wet": True}
    table = pl.read_parquet(tmp_path / "run" / "result.parquet")
    assert table.columns == list(RESULT) and table["seed"].to_list() == [3]


def test_its_report_can_be_drawn_again(tmp_path: Path, capsys):
    main(["reproduce", "quick", "--out", str(tmp_path / "run"), "--quiet"])
    before = (tmp_path / "run" / "report.html").read_bytes()
    (tmp_path / "run" / "report.html").unlink()
    assert main(["report", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == before


def test_it_answers_in_json(tmp_path: Path, capsys):
    assert main(["reproduce", "quick", "--out", str(tmp_path / "run"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [claim["verdict"] for claim in told["claims"]] == ["agrees", "not seen"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["quik"], "unknown reproduction 'quik'; did you mean 'quick'?"),
        (["quick", "--scale", "huge"], "unknown scale 'huge'"),
        (["quick", "--seeds", "0"], "seeds is 0; a run needs at least 1"),
        (["quick", "--seed", "-1"], "seed is -1; give a whole number from 0"),
        (["quick", "--model", "tiny"], "quick trains nets of its own; leave --model out"),
        (["quick", "--text", "letters"], "quick trains nets of its own; leave --text out"),
        (["quick", "--task", "a.tsv"], "quick asks only its own questions; leave --task out (locality asks"),
        (
            ["quick", "--resume"],
            "quick cannot resume; leave --resume out (locality, syntax and word-swap can)",
        ),
        (["locality", "--model", "tiny"], "locality trains nets of its own; leave --model out (control studies"),
        (["locality", "--dataset", "x"], "locality trains nets of its own; leave --dataset out"),
        (["locality", "--resume", "--overwrite"], "both --overwrite and --resume were given; choose one of them"),
        (["locality", "--task", "nowhere.tsv"], "there is no file nowhere.tsv; check the path"),
        (["locality", "--text", "nowhere.txt"], "there is no text file nowhere.txt; check the path"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(words, sentence, tmp_path: Path, capsys):
    assert main(["reproduce", *words, "--out", str(tmp_path / "run")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_overwritten_unless_that_is_said(tmp_path: Path, capsys):
    words = ["reproduce", "quick", "--out", str(tmp_path / "run"), "--quiet"]
    assert [main(words), main(words), main([*words, "--overwrite"])] == [0, 2, 0]
    assert "choose another --out or add --overwrite" in capsys.readouterr().err


def test_finished_runs_are_kept_when_the_order_cannot_be_done(tmp_path: Path, capsys):
    kept = tmp_path / "run" / "done" / "log-seed-0.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    for wrong in (["--scale", "tinny"], ["--task", "nowhere.tsv"]):
        assert main(["reproduce", "locality", "--overwrite", "--out", str(tmp_path / "run"), *wrong]) == 2
        assert kept.exists(), wrong
    assert "did you mean 'tiny'" in capsys.readouterr().err


def patient(request: Request) -> StudyResult:
    """An experiment of three runs that keeps each, and stops after the first unless it is to go on."""
    kept = finished_runs_in(request.folder)
    kept.begin(overwrite=request.overwrite, resume=request.resume)
    rows = []
    for number in range(3):
        if (done := kept.outcome(f"run {number}", {"scale": request.scale})) is None:
            if number and not request.resume:
                raise UserError("killed")
            row = ("count", "water", "", None, number, "drops", float(len(request.tasks)), None, None)
            done = RunOutcome([row], 0.0)
            request.warn("it drips")
            kept.keep(f"run {number}", {"scale": request.scale}, done)
        rows += done.rows
    return StudyResult(frame(rows, RESULT), CLAIMS, {}, (), {"texts": [str(path) for path in request.files]})


@pytest.fixture
def resumable(monkeypatch: pytest.MonkeyPatch):
    takes = ("--text", "--task", "--resume")
    monkeypatch.setitem(registry.STUDIES, "patient", Study("patient", "Wait.", "a paper", patient, takes))
    monkeypatch.setitem(pages.PAGES, "patient", page_of_quick)


def test_what_was_killed_goes_on(resumable, tmp_path: Path, capsys):
    text = tmp_path / "b.txt"
    text.write_text("a b c\n")
    words = ["reproduce", "patient", "--out", str(tmp_path / "run"), "--task", "a.tsv", "--text", str(text), "--quiet"]
    assert main(words) == 2
    assert [path.name for path in (tmp_path / "run" / "done").iterdir()] == ["run-0.json"]
    assert main(words) == 2
    assert "done holds 1 finished run; add --resume to go on from there, or --overwrite" in capsys.readouterr().err
    assert main([*words, "--scale", "small", "--resume"]) == 2
    assert "made with other settings: scale was tiny and is small; resume with" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert pl.read_parquet(tmp_path / "run" / "result.parquet")["value"].to_list() == [1.0] * 3
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["about"]["texts"] == [str(text)]
    assert main(words) == 2  # finished as it is, one can go on from it
    assert "done holds 3 finished runs; add --resume to go on" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0  # nothing is left to do, and the tables are written again
    assert main([*words, "--overwrite"]) == 2  # from the beginning, and killed again
    assert [path.name for path in (tmp_path / "run" / "done").iterdir()] == ["run-0.json"]


@pytest.mark.parametrize(("flag", "instead"), [("--resume", ""), ("--overwrite", " in place of --overwrite")])
def test_runs_are_kept_also_while_the_page_is_drawn(flag, instead, resumable, tmp_path: Path, monkeypatch, capsys):
    """The page is drawn once all runs are finished, and that takes a while."""

    def interrupted(result: pl.DataFrame, manifest) -> Page:
        os.kill(os.getpid(), signal.SIGINT)
        return page_of_quick(result, manifest)

    whole = Study("whole", "Go on.", "a paper", lambda request: patient(replace(request, resume=True)), ("--resume",))
    monkeypatch.setitem(registry.STUDIES, "whole", whole)
    monkeypatch.setitem(pages.PAGES, "whole", interrupted)
    out = tmp_path / "run"
    assert main(["reproduce", "whole", "--out", str(out), flag, "--quiet"]) == 130
    kept = f"3 finished runs are kept in {out}; the same command with --resume{instead} goes on from there"
    assert capsys.readouterr().err.strip() == f"wherewhat: interrupted; {kept}"


def test_a_warning_is_seen_on_the_screen_unless_it_is_to_be_quiet(resumable, tmp_path: Path, capsys):
    words = ["reproduce", "patient", "--out", str(tmp_path / "run"), "--resume"]
    assert main(words) == 0
    assert "wherewhat: it drips" in capsys.readouterr().err
    assert main(["reproduce", "patient", "--out", str(tmp_path / "other"), "--resume", "--quiet"]) == 0
    assert not capsys.readouterr().err


def test_every_reproduction_has_a_page_and_a_line(capsys):
    assert set(STUDIES) == set(pages.PAGES)
    assert main(["list", "reproductions"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{study.about} ({study.paper})" in listed for study in STUDIES.values())

"""`wherewhat reproduce`: what it writes and prints, with experiments that take no time."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.core.page import Page
from wherewhat.stats.verdict import ClaimResult
from wherewhat.studies import pages, registry
from wherewhat.studies.engine.claims import Claim, Verdict
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import OF_STUDY, ModelStudy, Request, Study, StudyResult
from wherewhat.tables.schema import RESULT, frame

CLAIMS = (ClaimResult("Water is wet.", "yes", "yes", "agrees"), ClaimResult("It is dry.", "unknown", "no", "not seen"))
SCALES = {"tiny": 1, "small": 2}


def quick(request: Request) -> StudyResult:
    """An experiment that only counts."""
    request.step(1, 1, "done")
    rows = [("count", "water", "", None, request.seed, "drops", float(request.of(SCALES)), None, None)]
    return StudyResult(frame(rows, RESULT), CLAIMS, {"drops": request.of(SCALES)}, ("A note.",), {"wet": True})


def page(result: pl.DataFrame, manifest) -> Page:
    """The page of all experiments here."""
    if INTERRUPTED:
        os.kill(os.getpid(), signal.SIGINT)
    return Page("quick", "kind", "lede", [(str(result["value"][0]), "drops")], [claims_section(manifest.claims)])


INTERRUPTED: list[bool] = []  # whether somebody interrupts while the page is drawn
QUICK = ModelStudy(name="quick", about="Count.", paper="a paper", scales=SCALES, measure=quick)


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.STUDIES, "quick", QUICK)
    monkeypatch.setitem(pages.PAGES, "quick", __name__)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


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
            ["control", "--resume"],
            "control studies a given model in one go, without runs to resume; leave --resume out (canonical, dynamics, "
            "locality, syntax, word-swap, length, scratchpad, nope, counting, latin-square, row-sums, attribution and "
            "speech can resume)",
        ),
        (
            ["control", "--workers", "2"],
            "control studies a given model in one go, in this process; leave --workers out",
        ),
        (["canonical", "--engine", "lokal"], "unknown engine 'lokal'; did you mean 'local'?"),
        (["canonical", "--workers", "0"], "--workers is 0; give at least 1"),
        (["canonical", "--engine", "inline", "--workers", "2"], "engine 'inline' has 1 worker, not 2; leave --workers"),
        (
            ["locality", "--model", "tiny"],
            "locality trains nets of its own; leave --model out (attribution and control can study",
        ),
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
    kept = tmp_path / "run" / "runs" / "log-seed-0" / "job.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    for wrong in (["--scale", "tinny"], ["--task", "nowhere.tsv"]):
        assert main(["reproduce", "locality", "--overwrite", "--out", str(tmp_path / "run"), *wrong]) == 2
        assert kept.exists(), wrong
    assert "did you mean 'tiny'" in capsys.readouterr().err


@dataclass(frozen=True)
class Vessel:
    """A condition that only has a name."""

    name: str


@dataclass(frozen=True)
class Drops:
    """A scale: how many drops, from how many files."""

    drops: float
    seeds: int = field(default=3, metadata=OF_STUDY)
    texts: tuple[str, ...] = ()
    steps: int = 1


def with_files(scale: Drops, request: Request) -> Drops:
    request.warn("it drips")
    return Drops(scale.drops, texts=tuple(map(str, request.files)))


def patient(condition: Vessel, scale: Drops, seed: int, context) -> Iterator[Row]:
    """A run that stops after the first seed, until a file says that it may go on."""
    if seed and not Path(os.environ["MAY_GO_ON"]).exists():
        raise UserError("killed")
    yield "count", condition.name, "", None, seed, "drops", scale.drops, None, None


def wet(table: ResultTable) -> Verdict:
    return Verdict(f"{len(table.seeds)} drops", "agrees")


STUDY = Study(
    name="patient",
    about="Wait.",
    paper="a paper",
    scales={"tiny": Drops(1.0), "small": Drops(2.0)},
    takes=("--text", "--task"),
    conditions=lambda scale: [Vessel("water")],
    run=patient,
    condition_class=Vessel,
    scale_class=Drops,
    claims={"wet": Claim("Water is wet.", "yes", wet)},
    decides=(),
    prepare=with_files,
    describe=lambda table: {"texts": list(table.scale.texts)},
)


@pytest.fixture
def resumable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(registry.STUDIES, "patient", STUDY)
    monkeypatch.setitem(pages.PAGES, "patient", __name__)
    monkeypatch.setenv("MAY_GO_ON", str(tmp_path / "go"))


def test_what_was_killed_goes_on(resumable, tmp_path: Path, capsys):
    text, runs = tmp_path / "b.txt", tmp_path / "run" / "runs"
    text.write_text("a b c\n")
    words = ["reproduce", "patient", "--out", str(tmp_path / "run"), "--task", "a.tsv", "--text", str(text)]
    words += ["--engine", "inline", "--quiet"]

    def finished() -> list[str]:
        return sorted(path.parent.name for path in runs.glob("*/result.json"))

    assert main(words) == 2
    assert finished() == ["water-seed-0"]
    assert main(words) == 2
    assert "runs holds 1 finished run; add --resume to go on from there, or --overwrite" in capsys.readouterr().err
    assert main([*words, "--scale", "small", "--resume"]) == 2
    assert "made with other settings: scale.drops was 1.0 and is 2.0; resume with" in capsys.readouterr().err
    (tmp_path / "go").touch()
    assert main([*words, "--resume"]) == 0
    assert pl.read_parquet(tmp_path / "run" / "result.parquet")["value"].to_list() == [1.0] * 3
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["about"]["texts"] == [str(text)]
    assert main(words) == 2  # finished as it is, one can go on from it
    assert "runs holds 3 finished runs; add --resume to go on" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0  # nothing is left to do, and the tables are written again
    (tmp_path / "go").unlink()
    assert main([*words, "--overwrite"]) == 2  # from the beginning, and killed again
    assert finished() == ["water-seed-0"]


@pytest.mark.parametrize(("flag", "instead"), [("--resume", ""), ("--overwrite", " in place of --overwrite")])
def test_runs_are_kept_also_while_the_page_is_drawn(flag, instead, resumable, tmp_path: Path, monkeypatch, capsys):
    """The page is drawn once all runs are finished, and that takes a while."""
    (tmp_path / "go").touch()
    monkeypatch.setattr(sys.modules[__name__], "INTERRUPTED", [True])
    out = tmp_path / "run"
    assert main(["reproduce", "patient", "--out", str(out), flag, "--engine", "inline", "--quiet"]) == 130
    kept = f"3 finished runs are kept in {out}; the same command with --resume{instead} goes on from there"
    assert capsys.readouterr().err.strip() == f"wherewhat: interrupted; {kept}"


def test_a_warning_is_seen_on_the_screen_unless_it_is_to_be_quiet(resumable, tmp_path: Path, capsys):
    (tmp_path / "go").touch()
    words = ["reproduce", "patient", "--engine", "inline", "--out"]
    assert main([*words, str(tmp_path / "run")]) == 0
    assert "wherewhat: it drips" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "other"), "--quiet"]) == 0
    assert not capsys.readouterr().err


def test_the_engine_does_not_change_the_table(resumable, tmp_path: Path):
    (tmp_path / "go").touch()
    for engine in ("inline", "local"):
        out = tmp_path / engine
        assert main(["reproduce", "patient", "--out", str(out), "--engine", engine, "--quiet"]) == 0
    tables = [(tmp_path / engine / "result.parquet").read_bytes() for engine in ("inline", "local")]
    assert tables[0] == tables[1]


def test_every_reproduction_has_a_page_and_a_line(capsys):
    assert set(registry.STUDIES) == set(pages.PAGES)
    assert main(["list", "reproductions"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{study.about} ({study.paper})" in listed for study in registry.STUDIES.values())

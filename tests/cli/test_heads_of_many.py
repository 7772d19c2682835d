"""`wherewhat heads` of many models: snapshots of a run, models side by side, what is kept, and what is refused."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from folders import BY_NAME, save_model, save_tokenizer

from wherewhat.cli.interrupts import Interrupted
from wherewhat.cli.main import main
from wherewhat.comparing import profile_many
from wherewhat.jobs.local import processors
from wherewhat.runs.registry import load

QUICK = ["--max-texts", "4", "--scores", "locality,entropy,sink", "--no-untrained"]
STEPS = ["step-000000", "step-000020", "step-000040", "step-000060"]
WRITTEN = {"heads.parquet", "offsets.parquet", "manifest.json", "report.html"}
OF_THE_JOB = {"job.json", "progress.jsonl", "result.json"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short training run with snapshots."""
    out = tmp_path_factory.mktemp("trained") / "short"
    sizes = [f"--set={field}" for field in ("steps=60", "keep_every=20", "batch=8", "width=32", "layers=2")]
    assert main(["train", "tiny", *sizes, "--set=evaluate_samples=20", "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture(scope="module")
def berts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same small BERT with three sets of weights."""
    paths = []
    for seed in range(3):
        paths.append(tmp_path_factory.mktemp("models") / f"bert-{seed}")
        BY_NAME["bert"].build(seed).save_pretrained(paths[-1])
        save_tokenizer(paths[-1])
    return paths


@pytest.fixture(scope="module")
def profiled(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All snapshots of the run, profiled and compared; tests that change anything copy it."""
    out = tmp_path_factory.mktemp("profiled") / "steps"
    assert (
        main(["heads", str(run), "--revisions", "all", *QUICK, "--engine", "inline", "--out", str(out), "--quiet"]) == 0
    )
    return out


def manifest(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return told


def results(out: Path) -> dict[str, int]:
    """When each profile was finished."""
    return {path.parent.name: path.stat().st_mtime_ns for path in sorted(out.glob("runs/*/result.json"))}


def test_every_snapshot_has_a_profile_like_any_other_and_one_page_compares_them(
    run: Path, profiled: Path, tmp_path: Path
):
    folders = [profiled / "runs" / f"short-{step}" for step in STEPS]
    assert sorted((profiled / "runs").iterdir()) == folders
    assert {path.name for path in profiled.iterdir()} == {"compare.parquet", "manifest.json", "report.html", "runs"}
    for folder, step in zip(folders, STEPS, strict=True):
        assert {path.name for path in folder.iterdir()} == WRITTEN | OF_THE_JOB
        assert manifest(folder)["model"]["path"] == str(run / "snapshots" / step)
    sides = manifest(profiled)["compared"]
    assert [(side["name"], side["step"]) for side in sides] == list(zip(STEPS, (0, 20, 40, 60), strict=True))
    table = pl.read_parquet(profiled / "compare.parquet")
    assert table["model"].unique(maintain_order=True).to_list() == STEPS[1:] and set(table["against"]) == {STEPS[0]}
    assert manifest(profiled)["same_heads"] and manifest(profiled)["kind"] == "compare"
    assert "Every head along the list" in (profiled / "report.html").read_text()
    alone = [str(run / "snapshots" / STEPS[2]), *QUICK, "--out", str(tmp_path / "alone"), "--quiet"]
    assert main(["heads", *alone]) == 0
    for name in ("heads.parquet", "offsets.parquet"):
        assert (tmp_path / "alone" / name).read_bytes() == (folders[2] / name).read_bytes()
    assert main(["report", str(folders[2])]) == 0 and main(["report", str(profiled)]) == 0


def test_each_manifest_has_the_command_that_makes_it_alone(profiled: Path, tmp_path: Path):
    folder = profiled / "runs" / "short-step-000020"
    *words, out = shlex.split(manifest(folder)["command"])
    assert words[0] == "wherewhat" and words[-1] == "--out" and out == str(folder)
    assert main([*words[1:], str(tmp_path / "again"), "--quiet"]) == 0
    assert (tmp_path / "again" / "heads.parquet").read_bytes() == (folder / "heads.parquet").read_bytes()
    there = manifest(folder)["settings"]
    assert there.pop("threads") >= 1 and manifest(tmp_path / "again")["settings"] == there


def test_processes_of_this_machine_give_the_same_and_share_its_processors(
    run: Path, profiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("OMP_NUM_THREADS")
    line = ["heads", str(run), "--revisions", ",".join(STEPS[:2]), *QUICK, "--workers", "2", "--out", str(tmp_path)]
    assert main([*line, "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (
        answer["compared"] == STEPS[:2] and answer["failed"] == {} and answer["report"] == str(tmp_path / "report.html")
    )
    assert list(answer["profiles"]) == ["short-step-000000", "short-step-000020"]
    assert answer["changes"][0]["model"] == STEPS[1] and answer["findings"]
    for name, place in answer["profiles"].items():
        assert manifest(Path(place))["settings"]["threads"] == max(1, processors() // 2)
        ours, theirs = (pl.read_parquet(out / "runs" / name / "heads.parquet") for out in (tmp_path, profiled))
        assert ours.drop("value", "low", "high", "chance").equals(theirs.drop("value", "low", "high", "chance"))
        assert (ours["value"] - theirs["value"]).abs().max() < 1e-5  # type: ignore[operator]


def test_resuming_repeats_only_what_is_gone(
    run: Path, profiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "steps"
    shutil.copytree(profiled, out)
    line = ["heads", str(run), "--revisions", "all", *QUICK, "--engine", "inline", "--out", str(out)]
    assert main(line) == 2
    assert f"{out / 'runs'} holds 4 finished runs; add --resume to go on from there" in capsys.readouterr().err
    shutil.rmtree(out / "runs" / "short-step-000020")
    (out / "runs" / "short-step-000040" / "heads.parquet").unlink()
    before, table = results(out), (out / "compare.parquet").read_bytes()
    assert main([*line, "--resume"]) == 0
    after = results(out)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"short-step-000020", "short-step-000040"} and len(after) == 4
    assert (out / "compare.parquet").read_bytes() == table
    assert main([*line, "--overwrite", "--quiet"]) == 0
    assert not set(results(out).items()) & set(after.items()), "which begins again"


def test_what_changed_since_is_noticed(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    copy, out = tmp_path / "short", tmp_path / "steps"
    shutil.copytree(run, copy)
    line = ["heads", str(copy), "--revisions", ",".join(STEPS[:2]), "--engine", "inline", "--out", str(out), "--quiet"]
    assert main([*line, *QUICK]) == 0
    assert main([*line, *QUICK, "--resume", "--seed", "1"]) == 2
    refusal = capsys.readouterr().err
    assert "short-step-000000 was made with other settings: settings.seed" in refusal
    weights = copy / "snapshots" / STEPS[1] / "model.safetensors"
    weights.write_bytes((copy / "snapshots" / STEPS[2] / "model.safetensors").read_bytes())
    before = results(out)
    assert main([*line, *QUICK, "--resume"]) == 2
    refusal = capsys.readouterr().err
    assert f"short-step-000020 changed since the profile in {out / 'runs'} was made; delete its folder there" in refusal
    assert results(out) == before, "and nothing was done"
    shutil.rmtree(out / "runs" / "short-step-000020")
    assert main([*line, *QUICK, "--resume"]) == 0
    assert results(out)["short-step-000000"] == before["short-step-000000"]
    (out / "runs" / "short-step-000020" / "heads.parquet").unlink()
    assert main([*line, *QUICK, "--resume", "--seed", "1"]) == 2
    assert (out / "runs" / "short-step-000020" / "offsets.parquet").exists(), "nothing is cleared for a refused request"


def test_other_texts_are_noticed(berts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = tmp_path / "text.txt"
    text.write_text("a b c d e f\nf e d c b a a\n")
    line = ["heads", *map(str, berts[:2]), "--text", str(text), *QUICK, "--engine", "inline", "--quiet"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 0
    text.write_text("a a a a a a\nb b b b b\n")
    assert main([*line, "--out", str(tmp_path / "out"), "--resume"]) == 2
    assert "bert-0 was made with other settings: texts " in capsys.readouterr().err


def test_three_models_side_by_side(berts: list[Path], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = [
        "heads",
        *map(str, berts),
        "--text",
        str(text),
        *QUICK,
        "--engine",
        "inline",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*line, "--png", str(tmp_path / "png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 profiles, bert-0 to bert-2, ") and lines[0].endswith(
        f": {tmp_path / 'out/report.html'}"
    )
    assert " of 8 heads clearly up" in lines[1]
    assert [side["name"] for side in manifest(tmp_path / "out")["compared"]] == ["bert-0", "bert-1", "bert-2"]
    assert {path.stem for path in (tmp_path / "png").glob("heads_along*.png")} == {
        "heads_along",
        "heads_along_entropy",
        "heads_along_sink",
    }


def test_models_of_different_shapes_are_profiled_and_the_page_says_why_heads_are_not_compared(
    folder: Path, berts: list[Path], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    line = ["heads", str(berts[0]), str(folder), "--text", str(text), *QUICK, "--engine", "inline", "--out", str(out)]
    assert main(line) == 0
    assert "half of the heads are at" in capsys.readouterr().out
    assert set(results(out)) == {"bert-0", "llama"}
    page = (out / "report.html").read_text()
    assert "Why heads are not compared one by one" in page and "No other model has the shape of bert-0" in page
    assert "Every head along the list" not in page


def test_one_that_fails_does_not_stop_the_others(
    berts: list[Path], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "broken").mkdir()
    out, models = tmp_path / "out", [str(berts[0]), str(tmp_path / "broken"), str(berts[1]), "nowhere/at/all"]
    line = ["heads", *models, "--text", str(text), *QUICK, "--engine", "inline", "--out", str(out), "--quiet"]
    assert main([*line, "--json"]) == 2
    captured = capsys.readouterr()
    answer, (first, *failed) = json.loads(captured.out), captured.err.strip().splitlines()
    assert (
        first
        == f"wherewhat: 2 of 4 profiles in {out / 'runs'} are finished, the others failed; mend them and add --resume:"
    )
    assert failed[0].startswith(f"  broken: the folder {tmp_path / 'broken'} holds no model (no config.json)")
    assert re.match(r"  all: there is no folder /.*/nowhere/at/all; name a folder", failed[1]) and len(failed) == 2
    assert list(answer["failed"]) == ["broken", "all"] and list(answer["profiles"]) == ["bert-0", "bert-1"]
    assert [side["name"] for side in manifest(out)["compared"]] == ["bert-0", "bert-1"]
    assert "broken is missing, as it could not be profiled: the folder" in manifest(out)["notes"][0]
    assert "broken is missing" in (out / "report.html").read_text()
    before = results(out)
    save_model(tmp_path / "broken", "bert")
    assert main([word for word in line if word != "nowhere/at/all"] + ["--resume"]) == 0
    assert set(before.items()) < set(results(out).items())
    assert [side["name"] for side in manifest(out)["compared"]] == ["bert-0", "broken", "bert-1"]


def test_a_single_profile_is_kept_though_there_is_nothing_to_compare(
    berts: list[Path], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "broken").mkdir()
    line = ["heads", str(berts[0]), str(tmp_path / "broken"), "--text", str(text), *QUICK, "--engine", "inline"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert (
        "1 of 2 profiles" in captured.err and "no comparison: a comparison takes at least two profiles" in captured.err
    )
    assert load(tmp_path / "out" / "runs" / "bert-0").kind == "heads" and not captured.out
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_bug_is_not_the_users(
    berts: list[Path], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("wherewhat.profiling.profile_job.profile", fail)
    line = [
        "heads",
        *map(str, berts),
        "--text",
        str(text),
        *QUICK,
        "--engine",
        "inline",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*line, "--quiet"]) == 1
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err


def test_an_interruption_keeps_what_is_finished(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = profile_many.run_unfinished

    def run_one(jobs: Any, folder: Path, **more: Any) -> None:
        before(jobs[:1], folder, **more)
        raise Interrupted(2)

    monkeypatch.setattr(profile_many, "run_unfinished", run_one)
    line = ["heads", str(run), "--revisions", "all", *QUICK, "--engine", "inline", "--out", str(tmp_path), "--quiet"]
    assert main(line) == 130
    assert capsys.readouterr().err.strip() == (
        f"wherewhat: interrupted; 1 of 4 profiles in {tmp_path / 'runs'} are finished; the same command with --resume "
        "goes on from there"
    )
    monkeypatch.undo()
    kept = results(tmp_path)
    assert main([*line, "--resume"]) == 0 and set(kept.items()) < set(results(tmp_path).items())


BAD = [
    (["{run}", "{run}"], "short is named twice; name each model once"),
    (["{run}", "{run}/model"], "short/model is named twice; name each model once"),
    (
        ["{run}", "--revisions", "step-000020,step-1,x"],
        "short has no revisions step-1, x; known: step-000000, step-0000",
    ),
    (["{run}", "--revisions", "step-000020"], "names step-000020 alone; name at least two"),
    (["{run}", "--revisions", ","], "--revisions is ',', which names nothing"),
    (["{run}", "--revisions", "all", "--revision", "x"], "both --revision and --revisions were given"),
    (["{run}", "tiny", "--revisions", "all"], "--revisions are states of one model, and 2 were named"),
    (["tiny", "--revisions", "all"], "tiny comes with the package and has no revisions"),
    (["{run}", "tiny", "--resume", "--overwrite"], "both --overwrite and --resume were given"),
    (["tiny", "--resume"], "--resume is for several models, and tiny alone is profiled in one go; leave --resume out"),
    (["tiny", "--workers", "2"], "--workers is for several models"),
    (["tiny", "--engine", "inline"], "--engine is for several models"),
    (["{run}", "tiny", "--workers", "0"], "--workers is 0; give at least 1"),
    (["{run}", "tiny", "--engine", "locl"], "unknown engine 'locl'; did you mean 'local'?"),
    (["{run}", "tiny", "--scores", "localty"], "unknown score 'localty'; did you mean 'locality'?"),
    (["{run}", "tiny", "--text", "letters", "--dataset", "x"], "both --text and --dataset were given"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_what_cannot_be_done_is_refused_before_the_first_run(
    words: list[str], sentence: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    line = [word.format(run=run) for word in words]
    assert main(["heads", *line, "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err.splitlines()[-1] and "Traceback" not in captured.err
    assert not captured.out and not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(
    run: Path, profiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    both = ["heads", str(run), "--revisions", "all", *QUICK, "--engine", "inline", "--quiet", "--out"]
    alone = profiled / "runs" / "short-step-000000"
    shutil.copytree(alone, tmp_path / "heads")
    assert main([*both, str(tmp_path / "heads"), "--overwrite"]) == 2
    assert "holds a run of `wherewhat heads`; choose another --out" in capsys.readouterr().err
    assert main(["heads", "--out", str(profiled), "--overwrite"]) == 2
    assert "holds a run of `wherewhat compare`; choose another --out" in capsys.readouterr().err
    other = tmp_path / "sweep" / "runs" / "encoding=rope"
    other.mkdir(parents=True)
    (other / "job.json").write_text('{"work": "wherewhat.sweeping.work:work"}')
    assert main([*both, str(tmp_path / "sweep"), "--overwrite"]) == 2
    assert "holds runs of another command (encoding=rope); choose another --out" in capsys.readouterr().err
    shutil.copytree(profiled, tmp_path / "compared", ignore=shutil.ignore_patterns("runs"))
    assert main([*both, str(tmp_path / "compared"), "--resume"]) == 2
    assert "holds a comparison without profiles to go on from" in capsys.readouterr().err
    assert (other / "job.json").exists() and not (tmp_path / "compared" / "runs").exists()


@pytest.mark.shared
def test_three_real_models(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    names = ["stories260K", "sapiens-vh", "rxnmapper-albert"]
    models = [str(shared / "models" / name) for name in names]
    line = ["heads", *models, "--text", str(shared / "data" / "stories.txt"), "--max-texts", "2", "--max-tokens", "64"]
    options = ["--scores", "locality,entropy,sink", "--no-untrained", "--no-hidden", "--engine", "inline"]
    assert main([*line, *options, "--out", str(tmp_path), "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["compared"] == names and list(answer["profiles"]) == names
    assert [manifest(Path(place))["model"]["heads"] for place in answer["profiles"].values()] == [40, 32, 96]
    assert "Why heads are not compared one by one" in (tmp_path / "report.html").read_text()
    assert len(manifest(tmp_path)["similar"]) == 2

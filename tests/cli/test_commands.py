"""The commands as a user meets them."""

import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.runs.registry import Profile
from wherewhat.scores.base import RowScore
from wherewhat.scores.registry import SCORES
from wherewhat.tables.manifest.io import read_manifest
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as from a shell."""
    line = [sys.executable, "-c", "from wherewhat.cli.main import run; run()", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True)


def test_help_answers_without_torch():
    code = (
        "import sys\n"
        "from wherewhat.cli.main import main\n"
        "main(['--help'])\n"
        "heavy = {'torch', 'transformers', 'polars', 'altair', 'numpy', 'rich.progress'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    for command in ("heads", "edit", "probe", "attribute", "train", "reproduce", "report", "list"):
        assert command in answer.stdout


def test_heads_of_the_built_in_model(tmp_path: Path, capsys):
    out = tmp_path / "run"
    assert main(["heads", "--out", str(out), "--max-texts", "20"]) == 0
    first, *findings = capsys.readouterr().out.splitlines()
    assert first.endswith(str(out / "report.html"))
    assert findings == [f"  {sentence}" for sentence in Profile.read(out, read_manifest(out)).findings()]
    heads, offsets = (pl.read_parquet(out / name) for name in ("heads.parquet", "offsets.parquet"))
    assert dict(heads.schema) == HEADS and dict(offsets.schema) == OFFSETS
    on_texts = {name for name, score in SCORES.items() if isinstance(score, RowScore) and not score.blocks}
    assert set(heads["score"]) == on_texts
    assert heads["texts"].max() == 20
    assert dict(pl.read_parquet(out / "frequencies.parquet").schema) == FREQUENCIES
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model"]["id"] == "tiny" and manifest["texts"]["source"] == "its own texts"
    assert manifest["command"].startswith("wherewhat")
    assert (out / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_heads_of_a_folder_on_a_text(folder: Path, text: Path, tmp_path: Path, capsys):
    out = tmp_path / "run"
    line = ["heads", str(folder), "--text", str(text), "--out", str(out), "--queries", "all", "--json", "--quiet"]
    assert main(line) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["heads"] == 8 and said["texts"] == 2 and said["report"] == str(out / "report.html")
    assert said["heads_table"] == str(out / "heads.parquet") and (out / "heads.parquet").exists()
    assert said["findings"] == Profile.read(out, read_manifest(out)).findings()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["texts"]["example"][0]["tokens"] == list("abcdef")
    assert manifest["texts"]["source"] == str(text)


def test_heads_with_swaps_of_every_kind(folder: Path, text: Path, tmp_path: Path):
    blocks = tmp_path / "blocks.jsonl"
    blocks.write_text("[[1, 3], [3, 5]]\n[[0, 2], [2, 4], [4, 6]]\n")
    out = tmp_path / "run"
    line = ["heads", str(folder), "--text", str(text), "--out", str(out), "--queries", "last", "--quiet"]
    assert main([*line, "--tau", "1e-4,0.1,inf", "--first", "0", "--blocks", str(blocks), "--hidden"]) == 0
    names = set(pl.read_parquet(out / "heads.parquet")["score"])
    assert {"positional", "positional@0.1", "symbolic@inf", "block.symbolic", "position_share"} <= names
    assert {"input.position_share", "input.positional@inf", "mean.pos_pos"} <= names
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["swaps"] | {"frequency_slots": 32} == manifest["swaps"]
    assert manifest["swaps"]["tau"] == [1e-4, 0.1, "inf"] and manifest["swaps"]["first"] == 0
    assert manifest["swaps"]["rows"] == "last" and manifest["settings"]["blocks"] == "given"
    assert manifest["hidden"][0]["layer"] == 0


def test_same_command_same_tables(folder: Path, text: Path, tmp_path: Path):
    for name in ("one", "two"):
        main(["heads", str(folder), "--text", str(text), "--out", str(tmp_path / name), "--quiet"])
    for name in ("heads.parquet", "offsets.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_data_set_is_read_row_by_row(folder: Path, tmp_path: Path, monkeypatch):
    import types

    asked = {}

    def load_dataset(path, config, **options):
        asked.update(options, path=path, config=config)
        return ({"body": "a b c"} for _ in range(10**9))  # without an end: only what is needed may be read

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    options = ["--dataset", "some/set:part", "--split", "train", "--column", "body", "--max-texts", "3", "--quiet"]
    assert main(["heads", str(folder), *options, "--out", str(tmp_path / "run")]) == 0
    assert asked == {"path": "some/set", "config": "part", "split": "train", "streaming": True}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["texts"]["count"] == 3


def test_report_is_drawn_again_from_the_tables_without_torch(tmp_path: Path):
    out = tmp_path / "run"
    main(["heads", "--out", str(out), "--max-texts", "5", "--quiet"])
    first = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    code = (
        "import sys\n"
        "from wherewhat.cli.main import main\n"
        f"assert main(['report', {str(out)!r}, '--png', {str(tmp_path / 'png')!r}]) == 0\n"
        "heavy = {'torch', 'transformers', 'scipy', 'sympy', 'huggingface_hub', 'tokenizers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert (out / "report.html").read_bytes() == first
    pictures = list((tmp_path / "png").glob("*.png"))
    assert pictures and all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_train_and_profile_what_came_of_it(tmp_path: Path, capsys):
    out = tmp_path / "run"
    sizes = ["--set", "steps=6", "--set", "width=16", "--set", "layers=1", "--set", "evaluate_samples=20"]
    assert main(["train", "tiny", *sizes, "--out", str(out), "--quiet"]) == 0
    assert {path.name for path in (out / "model").iterdir()} == {"config.json", "model.safetensors"}
    assert pl.read_parquet(out / "curve.parquet").columns == ["step", "measure", "value"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["steps"] == 6 and 0 <= manifest["accuracy"] <= 1
    assert main(["heads", str(out), "--out", str(tmp_path / "heads"), "--max-texts", "4", "--quiet"]) == 0
    assert main(["train", "tiny", *sizes, "--out", str(out), "--quiet"]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert main(["train", "tiny", *sizes, "--out", str(out), "--quiet", "--resume", "--overwrite"]) == 2
    before = (out / "manifest.json").read_bytes()
    assert main(["train", "tiny", *sizes, "--out", str(out), "--quiet", "--resume"]) == 0
    assert (out / "manifest.json").read_bytes() == before, "a finished run keeps the story of how it was made"


@pytest.mark.parametrize(
    "what",
    [
        *("models", "encodings", "scores", "probes", "methods", "aggregates", "tasks", "corpora", "speech"),
        *("questions", "recipes"),
    ],
)
def test_list_says_one_line_each(what: str, capsys):
    assert main(["list", what]) == 0
    lines = [line for line in capsys.readouterr().out.strip().splitlines() if not line.startswith(" ")]
    assert main(["list", what, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(lines) >= 1
    assert all(len(line.split(None, 1)) == 2 for line in lines)


def test_list_says_of_encodings_what_to_know_before_choosing_one(capsys):
    from wherewhat.encodings.registry import ENCODINGS

    assert main(["list", "encodings"]) == 0
    shown = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert main(["list", "encodings", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == list(ENCODINGS)
    for facts in told.values():
        assert list(facts) == ["about", "acts", "learns", "direction", "attention", "growth", "options", "paper"]
        assert all(isinstance(fact, str) and fact for name, fact in facts.items() if name != "options")
        assert all(list(option) == ["default", "means"] for option in facts["options"].values())
    assert main(["list", "encodings", "p_rope"]) == 0
    one = " ".join(capsys.readouterr().out.split())
    assert (
        one.startswith("p_rope rope in which only the fastest pairs rotate")
        and "p=0.75: the share of pairs that rotate, rounded down to whole pairs end=high:" in one
    )
    assert main(["list", "encodings", "rop"]) == 2
    assert "unknown encoding 'rop'; did you mean 'rope'?" in capsys.readouterr().err
    for fact in ("acts: on queries and keys", "learns: length × width", "attention: fused", "arXiv 2104.09864"):
        assert fact in shown


@pytest.mark.parametrize("name", ["tiny", "bert_tiny", "nli_tiny"])
def test_list_shows_the_settings_of_a_recipe_as_they_are_set(name: str, capsys):
    from wherewhat.recipes.registry import RECIPES
    from wherewhat.training.settings import changed

    assert main(["list", "recipes", name]) == 0
    shown = capsys.readouterr().out
    assert " ".join(shown.split()).startswith(f"{name} {RECIPES[name].about} run: ")
    settings, plain = RECIPES[name].settings(), RECIPES[name].settings().to_dict()
    assert f"steps={plain['steps']} batch=64" in " ".join(shown.split()) and f"width={plain['net']['width']}" in shown
    assert "betas=0.9,0.999" in shown and "kernel" not in shown
    assert main(["list", "recipes", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)[name]
    for part, of in told["settings"].items():
        for key, value in of.items():
            field = key if part == "run" else f"{part}.{key}"
            assert changed(settings, [f"{field}={json.dumps(value) if isinstance(value, list) else value}"]) == settings


@pytest.mark.parametrize(
    "command",
    [[], ["heads"], ["compare"], ["edit"], ["probe"], ["probe", "dependencies"], ["attribute"], ["train"], ["list"]],
    ids=str,
)
def test_a_flag_is_shown_without_a_value(command: list[str], capsys):
    assert main([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--help" in shown and "<bool>" not in shown


def test_list_says_of_questions_what_can_be_answered(capsys):
    assert main(["list", "questions", "voice"]) == 0
    assert capsys.readouterr().out.strip().endswith("(active, passive)")
    assert main(["list", "corpora", "grammer"]) == 2
    assert "unknown corpus 'grammer'; did you mean 'grammar'?" in capsys.readouterr().err


def test_progress_is_plain_lines_where_there_is_no_terminal(tmp_path: Path):
    answer = run("heads", "--out", tmp_path / "run", "--max-texts", "4", "--random", "--hidden")
    assert answer.returncode == 0
    lines = answer.stderr.splitlines()
    assert lines[0] == "tiny: loading …" and lines[1] == "tiny: reading texts" and lines[-1] == "tiny: 95 %, drawing"
    named = dict.fromkeys(line.rpartition(", ")[2].removeprefix("tiny: ") for line in lines)
    phases = ["reading texts", "moving tokens", "repeated tokens", "untrained baseline", "drawing"]
    assert list(named) == ["loading …", *phases]
    far = [int(line.split()[1]) for line in lines if "%" in line]
    assert far == sorted(far) and far[0] < far[-1]
    assert run("heads", "--out", tmp_path / "quiet", "--max-texts", "4", "--quiet").stderr == ""


def test_the_time_at_the_end_is_the_whole_time(tmp_path: Path):
    began = time.perf_counter()
    answer = run("heads", "--out", tmp_path / "run", "--max-texts", "2", "--json", "--quiet")
    took = time.perf_counter() - began
    measured = json.loads((tmp_path / "run" / "manifest.json").read_text())["seconds"]
    assert measured < json.loads(answer.stdout)["seconds"] < took


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("wherewhat ")

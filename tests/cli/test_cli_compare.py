"""`wherewhat compare` as a user meets it: runs, models, untrained weights, and every sentence of refusal."""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from folders import BY_NAME, save_model, save_tokenizer

from wherewhat.cli.main import main
from wherewhat.tables.schema import COMPARE


@pytest.fixture(scope="module")
def berts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same small BERT with two sets of weights."""
    paths = []
    for seed in (0, 1):
        paths.append(tmp_path_factory.mktemp("models") / f"bert-{seed}")
        BY_NAME["bert"].build(seed).save_pretrained(paths[-1])
        save_tokenizer(paths[-1])
    return paths


@pytest.fixture(scope="module")
def runs(berts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Profiles of both on the same texts."""
    folder = tmp_path_factory.mktemp("runs")
    texts = folder / "texts.txt"
    texts.write_text("a b c d e f\nf e d c b a a\nb b a c d d\n")
    found = []
    for model in berts:
        found.append(folder / model.name)
        line = ["heads", str(model), "--text", str(texts), "--no-hidden", "--out", str(found[-1]), "--quiet"]
        assert main([*line, "--positional", "--copies", "6", "--words", "4"]) == 0
    return found


def table(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "compare.parquet")


def test_two_runs_are_compared_from_their_tables(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    assert main(["compare", *map(str, runs), "--out", str(out)]) == 0
    said = capsys.readouterr().out.strip()
    assert "identical.locality" in said.splitlines()[0] and "of 8 heads clearly up" in said.splitlines()[0]
    assert said.splitlines()[-1].startswith("bert-0 and bert-1: ")
    assert said.endswith(f": {out / 'report.html'}")
    rows = table(out)
    assert dict(rows.schema) == COMPARE and set(rows["against"]) == {"bert-0"}
    heads = {run.name: pl.read_parquet(run / "heads.parquet") for run in runs}
    for row in rows.filter(pl.col("head").is_not_null()).sample(30, seed=0).iter_rows(named=True):
        here = (pl.col("layer") == row["layer"]) & (pl.col("head") == row["head"]) & (pl.col("score") == row["score"])
        before, after = (heads[name].filter(here)["value"][0] for name in ("bert-0", "bert-1"))
        assert (row["before"], row["after"], row["change"]) == (before, after, after - before)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["kind"] == "compare" and manifest["command"].startswith("wherewhat") and manifest["claims"] == []
    assert main(["report", str(out)]) == 0, "and is drawn again from its table"


def test_models_are_profiled_on_the_way_and_give_the_same_numbers(runs: list[Path], berts: list[Path], tmp_path: Path):
    assert main(["compare", *map(str, runs), "--out", str(tmp_path / "runs"), "--quiet"]) == 0
    mixed = [str(runs[0]), str(berts[1])]  # the settings and the texts of the first
    assert main(["compare", *mixed, "--out", str(tmp_path / "mixed"), "--quiet"]) == 0
    assert table(tmp_path / "mixed").equals(table(tmp_path / "runs"))
    assert json.loads((tmp_path / "mixed" / "manifest.json").read_text())["notes"] == []


def test_fresh_weights_stand_before_a_run(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["compare", str(runs[1]), "--untrained", "--draws", "2", "--json", "--quiet"]
    assert main([*line, "--out", str(tmp_path / "one")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["compared"] == ["untrained", "bert-1"] and said["changes"][0]["score"] == "identical.locality"
    even = (3 * 6 - 4 + 2**-4) / 6**2
    assert said["changes"][0]["before"] == pytest.approx(even, abs=1e-3), "BERT starts with attention that is even"
    assert abs(said["changes"][0]["after"] - even) > 2e-3 and len(said["claims"]) == 4
    rows = table(tmp_path / "one")
    assert set(rows["against"]) == {"untrained", "untrained 1", "untrained 2"}
    means = rows.filter(pl.col("layer").is_null() & (pl.col("score") == "locality")).select("against", "before")
    by_name = dict(means.iter_rows())
    assert by_name["untrained"] == pytest.approx((by_name["untrained 1"] + by_name["untrained 2"]) / 2)
    assert by_name["untrained 1"] != by_name["untrained 2"]
    assert main([*line, "--out", str(tmp_path / "two")]) == 0
    assert (tmp_path / "one" / "compare.parquet").read_bytes() == (tmp_path / "two" / "compare.parquet").read_bytes()


def test_the_built_in_net_before_and_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["compare", "tiny", "--untrained", "--draws", "1", "--max-texts", "6", "--scores", "locality,entropy"]
    assert main([*line, "--out", str(tmp_path), "--png", str(tmp_path / "png")]) == 0
    said = capsys.readouterr().out
    assert (
        said.startswith("more local (locality): ") and "sharper (entropy): " in said and "untrained and tiny: " in said
    )
    assert (tmp_path / "png" / "by_layer.png").exists()
    told = json.loads((tmp_path / "manifest.json").read_text())["intervals"]
    assert any("drawn once, so nothing is known of how draws differ" in sentence for sentence in told)


BAD = [
    (["one"], "is alone; name something to compare it with, or add --untrained"),
    (["one", "--draws", "2"], "--draws counts draws of untrained weights; add --untrained"),
    (["one", "--untrained", "--draws", "0"], "--draws is 0; draw untrained weights at least once"),
    (["one", "one"], "is named twice; name each run or model once"),
    (["one", "nowhere/at/all"], "there is no folder nowhere/at/all"),
    (["one", "empty"], "holds neither a run of `wherewhat heads` nor a model"),
    (
        ["one", "model", "--copies", "5"],
        "--copies sets how the positional part of attention is measured; add --positional",
    ),
    (["one", "model", "--scores", "localty"], "unknown score 'localty'; did you mean 'locality'?"),
    (["one", "model", "--queries", "x"], "--queries is 'x'"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    words: list[str],
    sentence: str,
    runs: list[Path],
    berts: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "empty").mkdir()
    known = {"one": runs[0], "model": berts[1], "empty": tmp_path / "empty"}
    line = [str(known.get(word, word)) for word in words]
    assert main(["compare", *line, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr()
    assert sentence in said.err.splitlines()[-1] and "Traceback" not in said.err
    assert not said.out and not (tmp_path / "run").exists()


def test_texts_that_are_gone_have_to_be_named(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in runs[0].iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["texts"] |= {"source": "gone.txt", "files": [str(tmp_path / "gone.txt")]}
    (moved / "manifest.json").write_text(json.dumps(manifest))
    assert main(["compare", str(moved), "--untrained", "--out", str(tmp_path / "run")]) == 2
    assert "read texts that are not here (gone.txt); name them with --text or --dataset" in capsys.readouterr().err


def told(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return found


@pytest.fixture
def asked(berts: list[Path], tmp_path: Path) -> Path:
    """A run without the positional part, on a column of a file whose name has a comma."""
    texts = tmp_path / "a, b.jsonl"
    lines = [{"text": "f f f f f", "said": said} for said in ("a b c d e f", "f e d c b a a", "b b a c d d")]
    texts.write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "asked"
    line = ["heads", str(berts[0]), "--text", str(texts), "--column", "said", "--no-hidden", "--out", str(out)]
    assert main([*line, "--scores", "locality,entropy", "--quiet"]) == 0
    return out


UNTRAINED = ["--untrained", "--draws", "1", "--quiet"]


def test_fresh_weights_read_the_texts_that_the_run_read(
    asked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compare", str(asked), *UNTRAINED, "--out", str(tmp_path / "run")]) == 0
    assert told(tmp_path / "run")["notes"] == [], "no other texts"
    assert told(tmp_path / "run")["compared"][0]["texts"]["hash"] == told(asked)["texts"]["hash"]
    (tmp_path / "a, b.jsonl").write_text('{"said": "f f f f"}\n{"said": "a a a"}')
    assert main(["compare", str(asked), *UNTRAINED, "--out", str(tmp_path / "other")]) == 2
    assert "asked read other texts than are in" in capsys.readouterr().err


def test_what_is_asked_for_otherwise_is_profiled_again(
    asked: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    line = ["compare", str(asked), "--untrained", "--draws", "1", "--positional", "--copies", "6", "--words", "4"]
    assert main([*line, "--scores", "identical.locality", "--out", str(tmp_path / "run")]) == 0
    assert "asked was profiled again with other settings: positional, scores." in capsys.readouterr().err
    again = table(tmp_path / "run")
    assert set(again["score"]) == {"identical.locality"} and "profiled again" in told(tmp_path / "run")["notes"][0]
    both = ["compare", *map(str, runs), "--max-tokens", "4", "--quiet", "--out", str(tmp_path / "both")]
    assert main(both) == 0
    assert [one.partition(" was ")[0] for one in told(tmp_path / "both")["notes"][:2]] == list(map(str, runs))
    assert told(tmp_path / "both")["settings"]["max_tokens"] == 4
    same = ["compare", str(runs[0]), *UNTRAINED, "--positional", "--out", str(tmp_path / "same")]
    assert main(same) == 0
    assert told(tmp_path / "same")["notes"] == [], "probed as it was is probed as asked"


def test_a_model_that_is_gone_is_named_with_its_run(
    asked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    manifest = told(asked)
    assert Path(manifest["model"]["path"]).is_absolute() and manifest["model"]["id"] == "bert-0"
    manifest["model"]["path"] = str(tmp_path / "gone")
    (asked / "manifest.json").write_text(json.dumps(manifest))
    assert main(["compare", str(asked), *UNTRAINED, "--out", str(tmp_path / "run")]) == 2
    assert f"{asked} profiled the model in {tmp_path / 'gone'}, which is not there" in capsys.readouterr().err


def test_a_relative_name_is_kept_whole(berts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "texts.txt").write_text("a b c d e f\nf e d c b a a\n")
    monkeypatch.chdir(berts[0].parent)
    line = ["heads", berts[0].name, "--text", os.path.relpath(tmp_path / "texts.txt"), "--scores", "locality"]
    assert main([*line, "--no-hidden", "--out", str(tmp_path / "one"), "--quiet"]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "one", *UNTRAINED, "--out", "run"]) == 0, "from another folder too"


def test_a_model_of_another_architecture_is_compared_by_distributions(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    other = str(save_model(tmp_path / "llama"))
    line = ["compare", str(runs[0]), other, "--text", str(runs[0].parent / "texts.txt"), "--out", str(tmp_path / "run")]
    assert main(line) == 0
    assert "half of the heads are at" in capsys.readouterr().out
    assert set(pl.read_parquet(tmp_path / "run" / "similarity.parquet")["by"]) == {"scores"}


def test_a_comparison_is_not_overwritten(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["compare", *map(str, runs), "--out", str(tmp_path)]
    assert main([*line, "--quiet"]) == 0
    assert main(line) == 2 and "already holds a run" in capsys.readouterr().err
    assert main(["compare", str(tmp_path), str(runs[0]), "--out", str(tmp_path / "other")]) == 2
    assert "holds a run of `wherewhat compare`; name runs of `wherewhat heads`" in capsys.readouterr().err


@pytest.mark.shared
def test_a_real_model_is_more_local_than_before_it_learnt(shared: Path, tmp_path: Path):
    model, texts = shared / "models" / "sapiens-vh", shared / "data" / "antibodies.txt"
    line = ["compare", str(model), "--untrained", "--draws", "2", "--text", str(texts), "--max-texts", "4"]
    line += ["--positional", "--copies", "32", "--words", "5", "--scores", "identical.locality,identical.symmetry"]
    assert main([*line, "--out", str(tmp_path), "--quiet"]) == 0
    whole = table(tmp_path).filter(pl.col("layer").is_null() & (pl.col("against") == "untrained"))
    local = whole.filter(pl.col("score") == "identical.locality").row(0, named=True)
    assert local["low"] > 0, "and clearly so over its heads"
    claims = json.loads((tmp_path / "manifest.json").read_text())["claims"]
    assert [one["verdict"] for one in claims[:2]] == ["agrees", "seen"]

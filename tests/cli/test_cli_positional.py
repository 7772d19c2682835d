"""`wherewhat heads --positional`: what it writes, prints and refuses; on real models where there are any."""

import json
from pathlib import Path

import polars as pl
import pytest
from folders import save_model

import wherewhat as ww
from wherewhat.cli.main import main
from wherewhat.scores.positional_part import MEASURES, POSITIONAL_SCORES
from wherewhat.scores.registry import SCORES

SMALL = ["--copies", "7", "--words", "4", "--positional", "--no-hidden", "--queries", "2"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "bert", "bert")


def run(model: Path, text: Path, out: Path, *more: str) -> int:
    return main(["heads", str(model), "--text", str(text), "--out", str(out), *more])


def test_it_writes_scores_matrices_and_what_they_rest_on(
    bert: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(bert, text, tmp_path / "one", *SMALL) == 0
    assert "4 words × 7 copies" in capsys.readouterr().out.splitlines()[0]
    heads = pl.read_parquet(tmp_path / "one" / "heads.parquet")
    assert {f"{source}.{name}" for source in ("identical", "delta", "mean") for name in MEASURES} <= set(heads["score"])
    maps = pl.read_parquet(tmp_path / "one" / "positional.parquet")
    sizes = dict(maps.group_by("source").len().iter_rows())
    assert sizes["identical"] == sizes["delta"] == heads.select("layer", "head").n_unique() * 7 * 7
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert manifest["positional"]["n"] == 7 and manifest["positional"]["words"] == 4
    assert "positional.parquet" in manifest["files"]
    assert "n = 7 copies of one word, for 4 words" in " ".join(manifest["notes"])
    again = ww.load(tmp_path / "one")
    assert again.positional.equals(maps) and main(["report", str(tmp_path / "one")]) == 0


def test_one_is_not_many(bert: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    few = ["--copies", "7", "--words", "1", "--max-texts", "1", "--positional", "--no-hidden", "--queries", "2"]
    assert run(bert, text, tmp_path / "one", *few) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert " on 1 text, " in line and ", 1 word × 7 copies: " in line


def test_its_scores_are_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "scores", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed.keys() == SCORES.keys() >= {score.name for score in POSITIONAL_SCORES} | {"random.induction.excess"}
    question = "Position alone, from the model's explicit position terms: how near"
    assert listed["delta.off_diagonal_locality"].startswith(question)


def test_the_same_seed_writes_the_same_bytes(bert: Path, text: Path, tmp_path: Path):
    for name in ("one", "two"):
        assert run(bert, text, tmp_path / name, *SMALL, "--quiet", "--seed", "3") == 0
    for table in ("heads.parquet", "positional.parquet"):
        assert (tmp_path / "one" / table).read_bytes() == (tmp_path / "two" / table).read_bytes()


def test_one_line_of_json_tells_n(bert: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(bert, text, tmp_path / "run", *SMALL, "--json") == 0
    assert json.loads(capsys.readouterr().out)["positional"] == {"n": 7, "words": 4}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--copies", "2", "--positional"], "a word is to be repeated 2 times; locality and symmetry need at least 3"),
        (["--words", "0", "--positional"], "0 words are to be repeated; give at least 1"),
        (["--copies", "9"], "--copies sets how the positional part of attention is measured; add --positional"),
        (["--words", "9"], "--words sets how the positional part of attention is measured; add --positional"),
        (
            ["--scores", "delta.left_right_bias"],
            "delta.left_right_bias is about the positional part of attention; ask for it with --positional",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    bert: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
):
    assert run(bert, text, tmp_path / "run", *options) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / "run").exists()


REAL = [
    ("sapiens-vh", "antibodies.txt", {"identical", "delta", "mean"}),
    ("rxnmapper-albert", "reactions.txt", {"identical", "delta", "mean"}),
    ("stories260K", "stories.txt", {"identical", "unmasked", "delta", "mean"}),
]


@pytest.mark.shared
@pytest.mark.parametrize(("model", "texts", "sources"), REAL, ids=[name for name, *_ in REAL])
def test_real_models_look_nearer_than_even_attention(
    shared: Path, tmp_path: Path, model: str, texts: str, sources: set[str]
):
    line = ["--max-texts", "6", "--no-hidden", "--layers", "0,1", "--quiet"]
    line += ["--positional", "--copies", "32", "--words", "12"]
    assert run(shared / "models" / model, shared / "data" / texts, tmp_path / "run", *line) == 0
    heads = pl.read_parquet(tmp_path / "run" / "heads.parquet")
    maps = pl.read_parquet(tmp_path / "run" / "positional.parquet")
    assert set(maps["source"]) == sources and set(maps["layer"]) == {0, 1} and (maps["attention"] >= 0).all()
    told = json.loads((tmp_path / "run" / "manifest.json").read_text())["positional"]["layers"]
    assert {one["layer"] for one in told} == {0, 1} and {one["source"] for one in told} == sources
    first = heads.filter((pl.col("score") == "identical.locality") & (pl.col("layer") == 0))
    assert first["value"].mean() > 1.2 * first["chance"][0], "a trained model has learnt to look near"
    asked = heads.filter(pl.col("score").str.contains(r"^(identical|delta|mean|unmasked)\."))
    assert asked["value"].null_count() == 0


def test_a_text_that_is_cut_is_told_of_in_the_summary_line(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "long.txt").write_text(" ".join("abcdef" * 8) + "\n")
    assert (
        run(bert, tmp_path / "long.txt", tmp_path / "cut", "--max-tokens", "12", "--no-hidden", "--no-untrained") == 0
    )
    assert " on 1 text cut into 4 windows, 48 tokens, " in capsys.readouterr().out.splitlines()[0]

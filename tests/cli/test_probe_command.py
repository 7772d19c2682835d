"""`wherewhat probe words` and `roles` as a user meets them."""

import json
from pathlib import Path

import polars as pl
import pytest
from reading_nets import TREES, on_disk

import wherewhat as ww
from wherewhat.cli.main import main
from wherewhat.corpora.sentence_pairs import ROLES
from wherewhat.tables.schema import PROBE


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net with the labels of our own pairs, as a training run leaves it."""
    return on_disk(tmp_path_factory.mktemp("models") / "judge", labels=ROLES)


@pytest.fixture(scope="session")
def guesser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net that fills in masks."""
    return on_disk(tmp_path_factory.mktemp("models") / "guesser")


@pytest.mark.parametrize("what", ["words", "roles"])
def test_a_probe_writes_a_table_a_manifest_and_a_page(what: str, judge: Path, tmp_path: Path, capsys):
    out = tmp_path / "run"
    line = ["probe", what, str(judge), "--max-sentences", "6", "--out", str(out)]
    assert main(line) == 0
    said = capsys.readouterr()
    assert said.out.startswith("grammar: accuracy ") and said.out.strip().endswith(f": {out / 'report.html'}")
    assert said.out.count("\n") == 1 and "its labels before and after the swap are compared" in said.err
    table, manifest = pl.read_parquet(out / "probe.parquet"), json.loads((out / "manifest.json").read_text())
    assert dict(table.schema) == PROBE and set(table["probe"]) == {what} and set(table["model"]) == {"judge"}
    assert manifest["kind"] == "probe" and manifest["probe"] == what and manifest["way"] == "labels"
    assert manifest["model"]["labels"] == list(ROLES) and manifest["settings"]["max_sentences"] == 6
    assert set(manifest["measures"]) == set(table["measure"]) and manifest["claims"] and manifest["examples"]
    assert (out / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert ww.load(out).probe.equals(table)
    assert main(line) == 2
    assert "already holds a run" in capsys.readouterr().err


def test_the_result_as_json_and_nothing_when_quiet(guesser: Path, tmp_path: Path, capsys):
    trees = tmp_path / "trees.txt"
    trees.write_text(TREES)
    line = ["probe", "words", str(guesser), "--treebank", str(trees), "--sizes", "3,whole", "--out"]
    assert main([*line, str(tmp_path / "json"), "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["probe"] == "words" and told["way"] == "masked" and told["model"] == "guesser"
    assert told["data"][0]["name"] == "trees" and told["said"].startswith("trees: surprisal ") and told["claims"]
    assert main([*line, str(tmp_path / "quiet"), "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out == said.err == ""
    one, two = ((tmp_path / name / "probe.parquet").read_bytes() for name in ("json", "quiet"))
    assert one == two, "the same command gives the same table"


def test_the_same_in_python(guesser: Path):
    run = ww.probe("words", str(guesser), max_sentences=4, sizes=("whole",))
    assert set(run.probe["item"]) == {"whole"} and run.manifest.to_dict()["settings"]["dtype"] == "float32"
    with pytest.raises(ww.UserError, match="unknown probe 'word'; did you mean 'words'"):
        ww.probe("word", str(guesser))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["words", "tiny"], "tiny learnt tasks and reads no words; name a language model"),
        (["words", "{model}", "--sizes", "3,some"], "'some' is not the size of a constituent; give 2 words or more"),
        (["words", "{model}", "--sizes", ","], "--sizes is ',', which names nothing; write names with commas between"),
        (["words", "{model}", "--which", "one"], "which is 'one'; of a pair shuffle premise, hypothesis or both"),
        (["words", "{model}", "--labels", "a,b"], "--labels names 2 (a, b) and judge has 3 labels (entailed, reversed"),
        (["words", "{model}", "--treebank", "none.txt"], "there is no file none.txt; check the path"),
        (["roles", "{model}", "--treebank", "{trees}"], "has no roles (its first sentence, line 1, has none, nor has"),
        (["roles", "{model}", "--labels", "x,y,z"], "judge learnt to judge pairs (entailed, reversed, other), and "),
        (["roles", "{model}", "--max-sentences", "0"], "max_sentences is 0; take at least 1"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_leaves_nothing(line, sentence, judge: Path, tmp_path: Path, capsys):
    trees, out = tmp_path / "trees.txt", tmp_path / "run"
    trees.write_text(TREES)
    words = [word.format(model=judge, trees=trees) for word in line]
    assert main(["probe", *words, "--out", str(out), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and not out.exists()


def test_answers_that_cannot_be_judged_are_told_beside_the_result(judge: Path, tmp_path: Path, capsys):
    trees = tmp_path / "trees.txt"
    trees.write_text(TREES)
    assert main(["probe", "words", str(judge), "--treebank", str(trees), "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "trees has none of the model's labels (entailed, reversed, other), so only whether" in said
    assert "trees has single sentences and the model learnt to judge pairs" in said


def test_probes_are_listed(capsys):
    assert main(["list", "probes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["words", "roles", "dependencies"] and all(line.endswith(")") for line in told.values())

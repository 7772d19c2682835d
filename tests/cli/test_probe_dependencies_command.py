"""`wherewhat probe dependencies` as it is typed: what it writes, what it prints, and what it says of bad input."""

import json
from pathlib import Path

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.models.folder import NetTexts, save_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

QUICK = ["--max-sentences", "24", "--least", "8", "--permutations", "2", "--copies", "2"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small net that reads the grammar."""
    words = WordVocabulary.learn([Grammar().vocabulary])
    config = NetConfig(vocabulary=len(words), width=8, layers=1, heads=2, length=40, kind="encoder", encoding="learned")
    folder = tmp_path_factory.mktemp("nets") / "small"
    save_model(folder, build(config, seed=1), reads=NetTexts(words, Grammar()))
    return folder


def test_the_grammar_by_default(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["probe", "dependencies", str(net), *QUICK, "--out", str(tmp_path / "x"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["probe"] == "dependencies" and told["model"] == "small"
    assert told["said"].startswith("grammar: head words found by the best head: full attention ")
    manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
    assert manifest["kind"] == "probe" and manifest["command"].startswith("wherewhat")
    table = pl.read_parquet(tmp_path / "x" / "probe.parquet")
    assert set(table["kind"]) >= {"full", "positional", "contextual", "shuffled", "offset", "uniform", "order"}
    assert "<html" in (tmp_path / "x" / "report.html").read_text()


def test_settings_come_through(net: Path, tmp_path: Path):
    more = ["--parts", "full", "--offsets", "-3..2", "--selection", "same", "--subtypes", "--seed", "3", "--quiet"]
    assert main(["probe", "dependencies", str(net), *QUICK, *more, "--out", str(tmp_path / "x")]) == 0
    settings = json.loads((tmp_path / "x" / "manifest.json").read_text())["settings"]
    wanted = {"parts": ["full"], "offsets": [-3, 2], "selection": "same", "subtypes": True, "seed": 3, "least": 8}
    assert {name: settings[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--offsets", "5"], "--offsets is '5'; write the first and the last, like -5..5"),
        (
            ["--parts", "fall"],
            "unknown part 'fall'; did you mean 'full'? known: contextual, full, positional, shuffled",
        ),
        (["--seed", "-1"], "seed is -1; give a whole number from 0 to 2147483647"),
        (["--selection", "some"], "unknown selection 'some'"),
        (["--treebank", "BROKEN"], "line 2 of BROKEN has 3 columns and CoNLL-U has 10; mend the line"),
        (["--treebank", "TREES"], "TREES has no dependencies"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
):
    broken, trees = tmp_path / "broken.conllu", tmp_path / "trees.mrg"
    broken.write_text("# sent_id = 1\n1\ta\tb\n\n")
    trees.write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))\n")
    named = {"BROKEN": str(broken), "TREES": str(trees)}
    out = tmp_path / "x"
    assert main(["probe", "dependencies", str(net), *(named.get(one, one) for one in more), "--out", str(out)]) == 2
    for name, path in named.items():
        sentence = sentence.replace(name, path)
    said = capsys.readouterr().err
    assert sentence in said.replace("\n", " ") and "Traceback" not in said
    assert not out.exists()


def test_a_net_without_words_is_refused_as_by_the_other_probes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["probe", "dependencies", "tiny", "--out", str(tmp_path / "x")]) == 2
    assert "tiny learnt tasks and reads no words; name a language model" in capsys.readouterr().err.replace("\n", " ")

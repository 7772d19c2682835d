"""`wherewhat probe roles --persons FILE`: nouns of a treebank that may change places as names do."""

import json
from pathlib import Path

import pytest
from reading_nets import on_disk

import wherewhat as ww
from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.probing.roles import RoleSwapProbe

# "The nurse sees Peter ." and "Maria sees him ."
PROPOSITIONS = """1	The	the	DET	_	_	2	det	_	_
2	nurse	nurse	NOUN	_	Number=Sing	3	nsubj	_	Args=ARG0
3	sees	see	VERB	_	_	0	root	_	Roleset=see.01|Args=V
4	Peter	Peter	PROPN	_	Number=Sing	3	obj	_	Args=ARG1
5	.	.	PUNCT	_	_	3	punct	_	_

1	Maria	Maria	PROPN	_	Number=Sing	2	nsubj	_	Args=ARG0
2	sees	see	VERB	_	_	0	root	_	Roleset=see.01|Args=V
3	him	he	PRON	_	Number=Sing|Case=Acc	2	obj	_	Args=ARG1
4	.	.	PUNCT	_	_	2	punct	_	_

"""


@pytest.fixture(scope="module")
def guesser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net that fills in masks."""
    return on_disk(tmp_path_factory.mktemp("models") / "guesser")


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "roles.conllu"
    path.write_text(PROPOSITIONS)
    return path


def test_nouns_of_a_file_are_persons(guesser: Path, treebank: Path, tmp_path: Path):
    nouns, out = tmp_path / "nouns.txt", tmp_path / "run"
    nouns.write_text("Nurse\n\ndoctor\n")
    line = ["probe", "roles", str(guesser), "--treebank", str(treebank), "--out", str(out), "--quiet"]
    assert main(line) == 0
    told = json.loads((out / "manifest.json").read_text())
    assert told["data"][0]["sentences"] == 1 and told["data"][0]["skipped"] == {"not both are persons": 1}
    assert main([*line, "--overwrite", "--persons", str(nouns)]) == 0
    told = json.loads((out / "manifest.json").read_text())
    assert told["data"][0]["sentences"] == 2 and told["data"][0]["skipped"] == {}
    assert told["settings"]["persons"] == ["Nurse", "doctor"]
    swapped = {" ".join(one["sentences"][0]["swapped"]) for one in told["examples"] if one["item"] == "roles"}
    assert "Peter sees the nurse ." in swapped


def test_both_lists_in_python(guesser: Path, treebank: Path):
    run = ww.probe("roles", str(guesser), [treebank], persons=("nurse",))
    assert run.manifest.to_dict()["data"][0]["sentences"] == 2
    with pytest.raises(UserError, match="2 the verb is symmetric"):
        ww.probe("roles", str(guesser), [treebank], persons=("nurse",), symmetric=("See",))
    assert "meet" in RoleSwapProbe(symmetric=("see",)).swappable.symmetric, "the list is longer, not another"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no file {path}; check the path"),
        ("\n \n", "there are no nouns in {path}; write one per line, such as nurse"),
        ("nurse\nan old man\n", "line 2 of {path} holds more than one word ('an old man'); write one noun per line"),
    ],
)
def test_a_file_without_nouns_is_refused(
    text: str | None, sentence: str, guesser: Path, treebank: Path, tmp_path: Path, capsys
):
    path, out = tmp_path / "nouns.txt", tmp_path / "run"
    if text is not None:
        path.write_text(text)
    line = ["probe", "roles", str(guesser), "--treebank", str(treebank), "--persons", str(path), "--out", str(out)]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert sentence.format(path=path) in said.replace("\n", "") and not out.exists()

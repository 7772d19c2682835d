"""`wherewhat edit` as a user meets it: a folder, the built-in net, sweeps, and every sentence of refusal."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from folders import BY_NAME, save_model, save_tokenizer

from wherewhat.cli.main import main
from wherewhat.tables.schema import EDIT, HEADS


@pytest.fixture(scope="module")
def speaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rotary model with the head that predicts tokens, as it would be downloaded."""
    path = tmp_path_factory.mktemp("models") / "llama"
    replace(BY_NAME["llama"], model="LlamaForCausalLM").build().save_pretrained(path)
    save_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows position from a table and turns nothing."""
    path = tmp_path_factory.mktemp("models") / "gpt2"
    replace(BY_NAME["gpt2"], model="GPT2LMHeadModel").build().save_pretrained(path)
    save_tokenizer(path)
    return path


def table(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "edit.parquet")


def test_an_edit_of_a_folder(speaking: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    line = ["edit", str(speaking), "--unrotate", "high:0.5", "--text", str(text), "--out", str(out)]
    assert main([*line, "--random", "4"]) == 0
    said = capsys.readouterr().out.strip()
    assert said.startswith("loss ") and " → " in said and said.endswith(f"8 heads; {out / 'report.html'}")
    rows, heads = table(out), pl.read_parquet(out / "heads.parquet")
    assert dict(rows.schema) == EDIT and dict(heads.schema) == HEADS
    whole = rows.filter(pl.col("layer").is_null())
    assert {(row["measure"], row["state"]) for row in whole.iter_rows(named=True)} == {
        (measure, state) for measure in ("loss", "copy", "induction") for state in ("before", "after", "change")
    }
    assert set(rows["edit"]) == {"unrotate high:0.5"}
    loss = dict(whole.filter(pl.col("measure") == "loss").select("state", "value").iter_rows())
    assert loss["change"] == pytest.approx(loss["after"] - loss["before"]) and loss["change"] != 0
    assert heads["model"].unique(maintain_order=True).to_list() == ["llama", "llama · unrotate high:0.5"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["kind"] == "edit" and manifest["edit"]["unrotate"] == ["high:0.5"]
    assert manifest["command"].startswith("wherewhat") and manifest["texts"]["source"] == str(text)
    assert main(["report", str(out)]) == 0, "and is drawn again from its tables"


def test_same_command_same_tables(speaking: Path, text: Path, tmp_path: Path):
    for name in ("one", "two"):
        line = ["edit", str(speaking), "--drop", "low:0.5", "--text", str(text), "--out", str(tmp_path / name)]
        assert main([*line, "--random", "3", "--quiet"]) == 0
    for name in ("edit.parquet", "heads.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_each_head_alone(speaking: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["edit", str(speaking), "--each", "head", "--text", str(text), "--out", str(tmp_path), "--random", "3"]
    assert main([*line, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["edit"] == "nothing" and set(said["loss"]) == {"before"} and said["report"].endswith("report.html")
    rows = table(tmp_path).filter(pl.col("head").is_not_null() & (pl.col("measure") == "loss"))
    assert rows["edit"].to_list() == [f"ablate L{layer}H{head}" for layer in range(2) for head in range(4)]
    assert set(rows["state"]) == {"change"} and rows["band"].is_null().all()
    assert rows["value"].n_unique() == 8, "each does something else"


def test_each_band_alone(speaking: Path, text: Path, tmp_path: Path):
    line = ["edit", str(speaking), "--drop", "high:0.5", "--each", "band", "--layers", "1", "--text", str(text)]
    assert main([*line, "--random", "0", "--out", str(tmp_path), "--quiet"]) == 0
    rows = table(tmp_path).filter(pl.col("band").is_not_null())
    assert rows.select("layer", "band").rows() == [(1, "index:0"), (1, "index:1")]
    assert set(rows["measure"]) == {"loss"}, "no random sequences, no copying"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [band["band"] for band in manifest["bands"]] == ["index:0", "index:1"]
    assert any("Copying was not tested" in note for note in manifest["notes"])


def test_ablation_of_a_model_that_turns_nothing(still: Path, text: Path, tmp_path: Path):
    line = ["edit", str(still), "--ablate", "L0H1,L1H0", "--text", str(text), "--random", "3", "--quiet"]
    assert main([*line, "--out", str(tmp_path)]) == 0
    change = table(tmp_path).filter((pl.col("measure") == "loss") & (pl.col("state") == "change"))
    assert change["value"][0] != 0 and change["edit"][0] == "ablate L0H1, L1H0"


def test_the_built_in_net(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["edit", "tiny", "--unrotate", "all", "--max-texts", "12", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "copy" not in said and said.startswith("loss")
    change = table(tmp_path).filter((pl.col("measure") == "loss") & (pl.col("state") == "change"))
    assert change["low"][0] > 0, "a net that answers by position cannot do without it"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert any("Copying is not tested: the net" in note for note in manifest["notes"])


BAD = [
    ([], "nothing is to be changed; say what with --drop"),
    (["--drop", "high:0.01"], "is less than one"),
    (["--drop", "index:9"], "there is no frequency 9 among the 4 from 0"),
    (["--unrotate", "angle:5..9"], "no frequency lies in 'angle:5..9'"),
    (["--drop", "quick:0.5"], "unknown kind of frequencies 'quick'"),
    (["--scale", "high:0.5"], "a scale is a band and a factor"),
    (["--ablate", "L9H0"], "there is no head L9H0; the model has layers 0 to 1"),
    (["--ablate", "L0H9"], "there is no head L0H9; layer 0 has heads 0 to 3"),
    (["--ablate", "H3"], "'H3' is not the name of a head"),
    (["--drop", "all", "--layers", "7"], "there is no layer 7"),
    (["--drop", "all", "--layers", "x"], "--layers is 'x'; write numbers and ranges"),
    (["--drop", "high:0.5", "--keep", "low:0.5"], "frequencies are either kept or dropped"),
    (["--drop", "all", "--unrotate", "index:0"], "frequency 0 is dropped, so it cannot be unrotated as well"),
    (["--drop", "index:0", "--unrotate", "index:1", "--each", "head"], "one edit of frequencies at a time"),
    (["--each", "layer"], "--each is 'layer'; give head or band"),
    (["--scale", "all=0.5..2", "--each", "band"], "give --scale one factor"),
    (["--drop", "all", "--queries", "x"], "--queries is 'x'"),
    (["--drop", "all", "--scores", "localty"], "unknown score 'localty'; did you mean 'locality'?"),
    (["--drop", "all", "--scores", "input.symbolic"], "an edit is not followed into hidden states"),
    (["--drop", "all", "--random", "-1"], "--random is -1; give a number of sequences, 0 for none"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[" ".join(options) or "nothing" for options, _ in BAD])
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    options: list[str], sentence: str, speaking: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "run"
    assert main(["edit", str(speaking), "--text", str(text), "--out", str(out), *options]) == 2
    said = capsys.readouterr()
    last = said.err.splitlines()[-1]
    assert sentence in last and last.startswith("wherewhat: ") and not said.out and not out.exists()
    assert "Traceback" not in said.err


def test_frequencies_of_a_model_that_has_none(
    still: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    line = ["edit", str(still), "--text", str(text), "--out", str(tmp_path / "run")]
    assert main([*line, "--drop", "high:0.5"]) == 2
    assert "frequencies are edited where queries and keys are rotated" in capsys.readouterr().err
    assert main([*line, "--each", "band"]) == 2
    assert "--each band has nothing to go through" in capsys.readouterr().err


def test_a_model_without_a_head_is_refused(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bare = save_model(tmp_path / "bare")
    assert main(["edit", str(bare), "--drop", "all", "--text", str(text), "--out", str(tmp_path / "run")]) == 2
    assert "hold no head that predicts tokens (lm_head.weight is missing)" in capsys.readouterr().err


def test_a_run_is_not_overwritten(speaking: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["edit", str(speaking), "--drop", "index:0", "--text", str(text), "--random", "2", "--out", str(tmp_path)]
    assert main([*line, "--quiet"]) == 0
    assert main(line) == 2 and "already holds a run" in capsys.readouterr().err
    assert main([*line, "--overwrite", "--quiet"]) == 0
    assert main(["heads", "--out", str(tmp_path), "--overwrite"]) == 2
    assert "holds a run of `wherewhat edit`" in capsys.readouterr().err


@pytest.mark.shared
def test_a_real_model_with_masks(shared: Path, tmp_path: Path):
    model, texts = shared / "models" / "sapiens-vh", shared / "data" / "antibodies.txt"
    line = ["edit", str(model), "--ablate", "L3H0", "--text", str(texts), "--max-texts", "8", "--out", str(tmp_path)]
    assert main([*line, "--random", "4", "--quiet"]) == 0
    assert json.loads((tmp_path / "manifest.json").read_text())["predicts"] == "masked"

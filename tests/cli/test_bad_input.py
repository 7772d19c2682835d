"""Bad input: one sentence that says what came and what to do, exit code 2, and an earlier run left as it was."""

import errno
import json
import os
import shutil
import sys
import types
from pathlib import Path

import pytest
import torch
from families import FAMILIES
from folders import save_model, save_tokenizer
from safetensors.torch import load_file, save_file
from transformers import MambaConfig, MambaModel, ViTConfig, ViTModel

from wherewhat.cli.main import main


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The same folder, to be damaged."""
    return Path(shutil.copytree(folder, tmp_path / "model"))


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A folder that holds an earlier run, and a note of what is in it."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "heads.parquet").write_bytes(b"earlier")
    (out / "manifest.json").write_text("{}")
    return out


def sentence(capsys: pytest.CaptureFixture[str], earlier: Path, *arguments: object) -> str:
    """Run a command that must fail; give back what it said."""
    before = {path: path.read_bytes() for path in earlier.rglob("*")}
    capsys.readouterr()
    code = main([*map(str, arguments), "--out", str(earlier), "--overwrite", "--quiet"])
    said = capsys.readouterr()
    assert code == 2, said.err
    assert said.out == "" and "Traceback" not in said.err
    assert said.err.count("\n") == 1 and said.err.startswith("wherewhat: "), said.err
    assert {path: path.read_bytes() for path in earlier.rglob("*")} == before
    return said.err


def damage(path: Path, change) -> None:
    weights = load_file(path / "model.safetensors")
    change(weights)
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})


def test_a_run_is_never_silently_overwritten(capsys, earlier: Path):
    assert main(["heads", "--out", str(earlier)]) == 2
    assert "already holds a run" in capsys.readouterr().err


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(capsys, earlier: Path, copy: Path, text: Path, value: float):
    damage(copy, lambda weights: weights["layers.1.mlp.up_proj.weight"].fill_(value))
    said = sentence(capsys, earlier, "heads", copy, "--text", text)
    assert "hold NaN or infinity (first in layers.1.mlp.up_proj.weight)" in said


def test_truncated_weights(capsys, earlier: Path, copy: Path, text: Path):
    whole = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "model.safetensors is damaged or cut short" in sentence(capsys, earlier, "heads", copy, "--text", text)


def test_weights_that_lack_a_tensor(capsys, earlier: Path, copy: Path, text: Path):
    damage(copy, lambda weights: weights.pop("layers.0.self_attn.q_proj.weight"))
    said = sentence(capsys, earlier, "heads", copy, "--text", text)
    assert "lack 1 tensor(s) that its config asks for, the first is layers.0.self_attn.q_proj.weight" in said


def test_weights_of_another_shape(capsys, earlier: Path, copy: Path, text: Path):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))
    assert "could not be loaded" in sentence(capsys, earlier, "heads", copy, "--text", text)


def test_pickled_weights_are_not_read_unless_asked(capsys, earlier: Path, copy: Path, text: Path, tmp_path: Path):
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    assert "add --allow-pickle" in sentence(capsys, earlier, "heads", copy, "--text", text)
    asked = ["heads", str(copy), "--text", str(text), "--allow-pickle", "--out", str(tmp_path / "new"), "--quiet"]
    assert main(asked) == 0


def test_a_damaged_config(capsys, earlier: Path, copy: Path, text: Path):
    (copy / "config.json").write_text('{"cut')
    assert "config.json is not JSON" in sentence(capsys, earlier, "heads", copy, "--text", text)


def test_an_unknown_architecture(capsys, earlier: Path, copy: Path, text: Path):
    (copy / "config.json").write_text('{"model_type": "nonesuch"}')
    assert "nonesuch" in sentence(capsys, earlier, "heads", copy, "--text", text)


@pytest.mark.parametrize("name", ["llama", "bert", "gpt2", "t5", "roberta", "albert", "xlnet"])
def test_a_missing_tokenizer(capsys, earlier: Path, text: Path, tmp_path: Path, name: str):
    """transformers makes one up for some families; it must not pass for the model's."""
    next(family for family in FAMILIES if family.name == name).build().save_pretrained(tmp_path / "bare")
    said = sentence(capsys, earlier, "heads", tmp_path / "bare", "--text", text)
    assert "has no tokenizer, so it cannot read text" in said


def test_a_tokenizer_that_knows_no_word_of_the_text(capsys, earlier: Path, folder: Path, text: Path):
    text.write_text("Ein ganz anderer Text\nals erwartet\n")
    assert "6 of 6 tokens are unknown to the tokenizer" in sentence(capsys, earlier, "heads", folder, "--text", text)


def test_a_folder_with_a_model_or_another_run_is_never_written_into(capsys, copy: Path, text: Path, tmp_path: Path):
    weights = (copy / "model.safetensors").read_bytes()
    assert main(["heads", str(copy), "--text", str(text), "--out", str(copy), "--overwrite"]) == 2
    assert "holds a model; choose another --out" in capsys.readouterr().err
    assert (copy / "model.safetensors").read_bytes() == weights
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text('{"kind": "train"}')
    assert main(["heads", "--out", str(tmp_path / "run"), "--overwrite"]) == 2
    assert "holds a run of `wherewhat train`; choose another --out" in capsys.readouterr().err


def test_a_vocabulary_that_does_not_fit(capsys, earlier: Path, copy: Path, text: Path):
    save_tokenizer(copy, ["[UNK]", *(f"w{n}" for n in range(120)), *"abcdef"])
    assert "whose vocabulary has 99 entries" in sentence(capsys, earlier, "heads", copy, "--text", text)


def test_a_model_that_is_not_a_transformer(capsys, earlier: Path, text: Path, tmp_path: Path):
    MambaModel(MambaConfig(vocab_size=99, hidden_size=16, num_hidden_layers=1)).save_pretrained(tmp_path / "mamba")
    save_tokenizer(tmp_path / "mamba")
    said = sentence(capsys, earlier, "heads", tmp_path / "mamba", "--text", text)
    assert "no attention could be read from MambaModel" in said


def test_a_model_that_reads_no_tokens(capsys, earlier: Path, text: Path, tmp_path: Path):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    ViTModel(ViTConfig(**sizes, image_size=8, patch_size=4)).save_pretrained(tmp_path / "vit")
    assert "reads pixel_values, not tokens" in sentence(capsys, earlier, "heads", tmp_path / "vit", "--text", text)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", "holds no text"), ("\n \n", "holds no text"), ("a b\nc\n", "texts.txt line 2 has 1 token(s); a text needs")],
)
def test_texts_with_nothing_in_them(capsys, earlier: Path, folder: Path, text: Path, content: str, expected: str):
    text.write_text(content)
    assert expected in sentence(capsys, earlier, "heads", folder, "--text", text)


def test_files_that_cannot_be_read(capsys, earlier: Path, folder: Path, text: Path, tmp_path: Path):
    assert "there is no text file" in sentence(capsys, earlier, "heads", folder, "--text", tmp_path / "no.txt")
    text.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in sentence(capsys, earlier, "heads", folder, "--text", text)


def test_no_text_at_all(capsys, earlier: Path, folder: Path):
    assert "give --text FILE" in sentence(capsys, earlier, "heads", folder)


def test_text_for_a_net_without_a_tokenizer(capsys, earlier: Path, text: Path):
    said = sentence(capsys, earlier, "heads", "tiny", "--text", text)
    assert "tiny knows only the tokens of the tasks that it was trained on (number+letter) and cannot read text" in said


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("./nowhere", "there is no folder ./nowhere"),
        ("/nowhere/at/all", "there is no folder /nowhere/at/all"),
        (
            "tniy",
            "there is no model 'tniy' on this machine, and the Hub must not be contacted (HF_HUB_OFFLINE is set); did "
            "you "
            "mean 'tiny'?",
        ),
    ],
)
def test_models_that_are_nowhere(capsys, earlier: Path, text: Path, model: str, expected: str):
    assert expected in sentence(capsys, earlier, "heads", model, "--text", text)


def test_a_file_or_an_empty_folder_is_no_model(capsys, earlier: Path, text: Path, tmp_path: Path):
    assert "is a file; name the folder" in sentence(capsys, earlier, "heads", text, "--text", text)
    (tmp_path / "empty").mkdir()
    assert "holds no model (no config.json)" in sentence(capsys, earlier, "heads", tmp_path / "empty", "--text", text)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--queries", "many"], "--queries is 'many'; give a number, at least 1, or last, or all"),
        (["--queries", "0"], "--queries is '0'"),
        (["--layers", "first"], "--layers is 'first'; write numbers and ranges like 0,3-5"),
        (["--layers", "9"], "there is no layer 9"),
        (["--layers", "3-1"], "--layers is '3-1'"),
        (["--scores", ","], "--scores is ',', which names nothing"),
        (["--queries", "²"], "--queries is '²'"),
        (["--seed", "-1"], "seed is -1"),
        (["--max-tokens", "8"], "the sequences of tiny have 17 tokens, which cannot be cut"),
        (["--heads", "H3"], "'H3' is not the name of a head"),
        (["--scores", "symetry"], "unknown score 'symetry'; did you mean 'symmetry'?"),
        (["--dtype", "float31"], "unknown dtype 'float31'; did you mean 'float32'?"),
        (["--device", "quantum"], "the device 'quantum' cannot be used"),
        (["--max-tokens", "1"], "max_tokens is 1"),
        (["--max-texts", "0"], "max_texts is 0"),
        (["--dataset", "x", "--text", "letters"], "both --text and --dataset were given"),
    ],
)
def test_options_that_make_no_sense(capsys, earlier: Path, options: list[str], expected: str):
    assert expected in sentence(capsys, earlier, "heads", "tiny", *options)


def test_an_option_that_does_not_exist_exits_with_2(capsys):
    assert main(["heads", "--nonsense"]) == 2
    assert "No such option" in capsys.readouterr().err


def test_device_map_without_accelerate(capsys, earlier: Path, folder: Path, text: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    said = sentence(capsys, earlier, "heads", folder, "--text", text, "--device-map", "auto")
    assert "--device-map needs the package accelerate" in said


def test_a_data_set_without_the_extra(capsys, earlier: Path, folder: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "pip install 'wherewhat[data]'" in sentence(capsys, earlier, "heads", folder, "--dataset", "x")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "has no text in 'test'; choose another --split"),
        ([{"body": "a"}], "has no column 'text'; it has: body (--column)"),
        (ConnectionError("no route"), "could not be read: no route"),
    ],
)
def test_data_sets_that_cannot_be_used(capsys, earlier: Path, folder: Path, monkeypatch, rows, expected: str):
    def load_dataset(*args, **options):
        if isinstance(rows, Exception):
            raise rows
        return rows

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    assert expected in sentence(capsys, earlier, "heads", folder, "--dataset", "some/set")


def test_a_full_disk(capsys, earlier: Path, monkeypatch):
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wherewhat.tables.files.os.fsync", full)
    assert "the disk is full" in sentence(capsys, earlier, "heads", "tiny", "--max-texts", "4")


def test_a_folder_that_cannot_be_written(capsys, tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert main(["heads", "tiny", "--max-texts", "4", "--out", str(tmp_path / "file"), "--quiet"]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err


def test_report_of_nothing(capsys, tmp_path: Path):
    assert main(["report", str(tmp_path)]) == 2
    assert "holds no finished run" in capsys.readouterr().err


def test_list_of_nothing(capsys):
    assert main(["list", "score"]) == 2
    assert "unknown list 'score'; did you mean 'scores'?" in capsys.readouterr().err


def test_a_bug_of_ours_says_so(capsys, monkeypatch, tmp_path: Path):
    def broken(*args, **options):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("wherewhat.profiling.profile.profile", broken)
    assert main(["heads", "--out", str(tmp_path / "new")]) == 1
    assert "this is a bug in wherewhat" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tau", "0"], "tau is 0.0; a temperature must be above 0 (inf weighs all swaps equally)"),
        (["--tau", "1e-4,-2"], "tau is 0.0001, -2.0; a temperature must be above 0"),
        (["--tau", "nan"], "tau is nan; a temperature must be above 0"),
        (["--tau", "warm"], "--tau is 'warm'; write numbers above 0 with commas between them, or inf"),
        (["--first", "-1"], "first is -1; slots are counted from 0"),
        (["--queries", "first"], "--queries is 'first'; give a number, at least 1, or last, or all"),
        (
            ["--blocks", "sentense"],
            "there is no file sentense, nor are blocks called so; give a file, or sentence or line",
        ),
        (["--tau", "0.1,0.1000001"], "two of these are the same to six digits, name each once"),
        (
            ["--first", "5000"],
            "the longest text has 7 tokens, and fewer than two keys before the queries that are read",
        ),
        (
            ["--queries", "3", "--first", "6"],
            "before the queries that are read can be swapped (from slot 6 on); give longer",
        ),
        (
            ["--queries", "last", "--first", "5"],
            "the longest text has 7 tokens, and fewer than two keys before its last query can be swapped (from slot "
            "5 on); give longer texts or a smaller --first",
        ),
    ],
)
def test_swaps_that_cannot_be_made(capsys, folder: Path, text: Path, earlier: Path, options: list[str], said: str):
    assert said in sentence(capsys, earlier, "heads", folder, "--text", text, *options)


@pytest.mark.parametrize(
    "line", ["[[0, 2], [1, 3]]", "[[2, 2]]", "[0, 2]", "{}", "[[0, 2.5]]", "[[-1, 2]]", "nonsense", "[[3, 5], [0, 2]]"]
)
def test_blocks_that_are_none(capsys, folder: Path, text: Path, earlier: Path, tmp_path: Path, line: str):
    blocks = tmp_path / "blocks.jsonl"
    blocks.write_text(f"[[0, 2], [2, 4]]\n{line}\n")
    said = sentence(capsys, earlier, "heads", folder, "--text", text, "--blocks", blocks)
    refusal = "is not a list of blocks; write [[0, 5], [5, 9]]: first slot and the one after the last, in order"
    assert f"blocks.jsonl:2 {refusal}" in said


def test_blocks_that_cannot_be_read(capsys, folder: Path, text: Path, earlier: Path, tmp_path: Path):
    blocks = tmp_path / "blocks.jsonl"
    line = ("heads", folder, "--text", text, "--blocks")
    assert "is a folder, not a text file" in sentence(capsys, earlier, *line, tmp_path)
    blocks.write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in sentence(capsys, earlier, *line, blocks)
    blocks.write_text("[[1, 3], [3, 60]]\n[]\n")
    said = sentence(capsys, earlier, *line, blocks)
    assert "a block of text 0 ends before slot 60, but the text has 6 tokens; slots are counted in tokens" in said


def test_blocks_for_other_texts(capsys, folder: Path, text: Path, earlier: Path, tmp_path: Path):
    blocks = tmp_path / "blocks.jsonl"
    blocks.write_text("[[1, 2], [2, 4]]\n")
    said = sentence(capsys, earlier, "heads", folder, "--text", text, "--blocks", blocks)
    assert "there are blocks for 1 texts, but 2 texts; give one line for each text" in said


def test_frequencies_of_a_model_that_has_none(capsys, text: Path, earlier: Path, tmp_path: Path):
    bert = save_model(tmp_path / "bert", "bert")
    said = sentence(capsys, earlier, "heads", bert, "--text", text, "--scores", "mean_frequency")
    assert "mean_frequency cannot be measured on bert, whose logits do not depend on slots" in said
    assert "ask for input.position_share or mean.position" in said


DEVICES = ("privateuseone", "meta", "xla", "hpu", "lazy", "mkldnn", "vulkan", "cuda:999", "cpu:-1", "", "cpu\nand more")


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_cannot_be_used(capsys, earlier: Path, device: str):
    said = sentence(capsys, earlier, "heads", "tiny", "--device", device)
    assert f"the device {device!r} cannot be used (" in said and said.endswith("; try --device auto or cpu\n")

"""`wherewhat attribute` as a user meets it: every kind of model, texts in every form, and every sentence of refusal."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch
import transformers
from folders import BY_NAME, WORDS, save_model, save_tokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from wherewhat.cli.main import main
from wherewhat.runs.registry import AttributionRun, load
from wherewhat.tables.schema import RELEVANCE

COLUMNS = ["text", "token", "slot", "source", "layer", "method", "value"]  # then what distinguishes several outputs


@pytest.fixture(scope="module")
def speaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rotary model that predicts the next token."""
    path = tmp_path_factory.mktemp("models") / "llama"
    replace(BY_NAME["llama"], model="LlamaForCausalLM").build().save_pretrained(path)
    save_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that fills in masks, with positions in a table."""
    path = tmp_path_factory.mktemp("models") / "bert"
    replace(BY_NAME["bert"], model="BertForMaskedLM").build().save_pretrained(path)
    words = [*WORDS[:-1], "[MASK]"]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", mask_token="[MASK]")
    whole.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of texts."""
    path = tmp_path_factory.mktemp("models") / "labels"
    family = replace(BY_NAME["bert"], model="BertForSequenceClassification")
    model = family.build()
    model.config.id2label = {0: "no", 1: "<yes>"}
    model.config.label2id = {"no": 0, "<yes>": 1}
    model.save_pretrained(path)
    save_tokenizer(path)
    return path


def table(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "relevance.parquet")


def manifest(out: Path) -> dict:
    return json.loads((out / "manifest.json").read_text())


def test_a_text_that_is_typed(speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    assert main(["attribute", str(speaking), "--text", "a b c <script>", "--out", str(out)]) == 0
    sentence, report = capsys.readouterr().out.strip().split("\n")
    assert sentence.startswith("next token “") and report == str(out / "report.html")
    rows = table(out)
    assert dict(rows.schema) == RELEVANCE and rows.columns[:7] == COLUMNS
    assert rows.filter(pl.col("source") == "token")["token"].to_list() == ["a", "b", "c", "<script>"]
    assert set(rows["source"]) == {"token", "rotation", "combined", "position"}
    assert rows.filter(pl.col("head").is_not_null())["source"].unique().to_list() == ["position"]
    assert rows.filter(pl.col("frequency").is_not_null()).height == 2 * 4, "two layers of four frequencies"
    known = manifest(out)
    (output,) = known["outputs"]
    assert known["kind"] == "attribute" and output["kind"] == "next" and output["slot"] == 3
    assert 0 < output["probability"] < 1 and known["model"]["layers"] == 2 and known["model"]["heads"] == 8
    assert known["texts"]["source"] == "--text" and known["causal"] is True
    assert known["settings"]["methods"] == ["pa-lrp"] and known["aggregate"]["name"] == "signed"
    assert "<script> " not in (out / "report.html").read_text().partition("<style>")[2].partition("<script")[0]


def test_outputs_that_are_not_named_are_counted(speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["attribute", str(speaking), "--text", "a b", "--continuation", "c d e a b c d", "--out", str(tmp_path)]
    assert main(line) == 0
    lines = capsys.readouterr().out.strip().split("\n")
    assert len(lines) == 5 + 2 and lines[5] == "and 2 more outputs, on the page"


def test_the_parts_add_up_to_the_logit(speaking: Path, tmp_path: Path):
    assert main(["attribute", str(speaking), "--text", "a b c d", *quiet(tmp_path)]) == 0
    (ledger,) = manifest(tmp_path)["ledgers"]
    by_slot = table(tmp_path).filter(pl.col("slot").is_not_null())
    sums = dict(by_slot.group_by("source").agg(pl.col("value").sum()).iter_rows())
    assert ledger["balances"] and abs(ledger["rest"]) < 1e-5 * ledger["flow"], "rounding in float32"
    assert sums["token"] == pytest.approx(ledger["tokens"], abs=1e-12)
    assert sums["rotation"] == pytest.approx(ledger["positions"], abs=1e-12)
    assert sums["combined"] == pytest.approx(sums["token"] + sums["rotation"], abs=1e-12)
    parts = sum(ledger[name] for name in ("tokens", "positions", "softmax", "biases", "others"))
    assert parts == pytest.approx(ledger["logit"], abs=1e-5 * ledger["flow"])


def quiet(out: Path) -> list[str]:
    return ["--out", str(out), "--quiet"]


def test_texts_of_a_file_and_typed_ones_are_numbered_together(speaking: Path, text: Path, tmp_path: Path):
    out = tmp_path / "run"
    assert main(["attribute", str(speaking), "--text", "c c d", "--text", str(text), *quiet(out)]) == 0
    tokens = table(out).filter(pl.col("source") == "token")
    assert tokens.group_by("text", maintain_order=True).agg("token").rows() == [
        (0, ["c", "c", "d"]),
        (1, list("abcdef")),
        (2, list("fedcbaa")),
    ]
    assert manifest(out)["texts"]["source"] == f"--text, {text}" and len(manifest(out)["outputs"]) == 3
    assert main(["attribute", str(speaking), "--text", str(text), "--max-texts", "1", "--overwrite", *quiet(out)]) == 0
    assert len(manifest(out)["outputs"]) == 1


def test_a_continuation_is_explained_token_by_token(speaking: Path, tmp_path: Path):
    line = ["attribute", str(speaking), "--text", "a b"]
    assert main([*line, "--continuation", "c d e", *quiet(tmp_path / "one")]) == 0
    outputs = manifest(tmp_path / "one")["outputs"]
    assert [(output["name"], output["slot"], output["text"]) for output in outputs] == [
        ("c", 1, 0),
        ("d", 2, 0),
        ("e", 3, 0),
    ]
    last = table(tmp_path / "one").filter((pl.col("output") == 2) & (pl.col("source") == "token"))
    assert last["token"].to_list() == ["a", "b", "c", "d"] and set(last["target"]) == {"e"}
    assert main([*line, "--target", "c d e", *quiet(tmp_path / "two")]) == 0, "a target of several tokens is the same"
    assert manifest(tmp_path / "two")["outputs"] == outputs
    assert table(tmp_path / "one").equals(table(tmp_path / "two"))


def test_a_word_is_what_comes_after_a_space(tmp_path: Path):
    """In byte-level vocabularies a word at the beginning of a text is another token than after a space."""
    from tokenizers import pre_tokenizers

    words = {word: number for number, word in enumerate(["[UNK]", "a", "Ġb", "c", "Ġc", "Ġd", ".", *WORDS[10:]])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    replace(BY_NAME["llama"], model="LlamaForCausalLM").build().save_pretrained(tmp_path / "bytes")
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")
    whole.save_pretrained(tmp_path / "bytes")
    line = ["attribute", str(tmp_path / "bytes"), "--text", "a b", "--target", "c", "--target", " d", "--target", "."]
    assert main([*line, *quiet(tmp_path / "run")]) == 0
    assert [output["name"] for output in manifest(tmp_path / "run")["outputs"]] == ["Ġc", "Ġd", "."]


def test_several_targets_and_methods(speaking: Path, tmp_path: Path):
    line = ["attribute", str(speaking), "--text", "a b c", "--target", "d", "--target", "next", "--target", "id:5"]
    assert main([*line, "--method", "pa-lrp,attnlrp,cp-lrp,input-x-gradient,rollout,random", *quiet(tmp_path)]) == 0
    outputs, rows = manifest(tmp_path)["outputs"], table(tmp_path)
    assert outputs[0]["name"] == "d" and outputs[2]["index"] == 5 and outputs[1]["likeliest"] is None
    assert outputs[0]["likeliest"] == outputs[1]["name"], "what the model itself would have said"
    assert rows.select("output", "method").unique().height == 18
    assert len(manifest(tmp_path)["ledgers"]) == 9, "of the three methods that add up"
    rotation = rows.filter((pl.col("source") == "rotation") & (pl.col("value") != 0))
    assert rotation["method"].unique().to_list() == ["pa-lrp"]
    assert main(["report", str(tmp_path)]) == 0, "and is drawn again from its table"


def test_a_target_that_is_predicted_anyway_is_explained_once(speaking: Path, tmp_path: Path):
    assert main(["attribute", str(speaking), "--text", "a b c", *quiet(tmp_path / "one")]) == 0
    (output,) = manifest(tmp_path / "one")["outputs"]
    twice = ["--target", "next", "--target", f"id:{output['index']}", "--method", "pa-lrp,attnlrp"]
    assert main(["attribute", str(speaking), "--text", "a b c", *twice, *quiet(tmp_path / "two")]) == 0
    assert manifest(tmp_path / "two")["outputs"] == [output]
    assert set(table(tmp_path / "two")["output"]) == {0}


def test_half_precision_is_explained_in_float32(speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["attribute", str(speaking), "--text", "a b c", "--dtype", "bfloat16", "--out", str(tmp_path)]) == 0
    note = "llama is in bfloat16; its relevance was computed by a copy in float32."
    assert note in capsys.readouterr().err and note in manifest(tmp_path)["notes"]
    assert manifest(tmp_path)["dtype"] == "float32" and manifest(tmp_path)["settings"]["dtype"] == "bfloat16"


def test_aggregates(speaking: Path, tmp_path: Path):
    sums = {}
    for name in ("signed", "absolute", "positive", "position"):
        line = ["attribute", str(speaking), "--text", "a b c d e", "--aggregate", name, *quiet(tmp_path / name)]
        assert main(line) == 0
        rows = table(tmp_path / name)
        sums[name] = rows.filter(pl.col("source") == "combined")["value"].to_list()
        assert manifest(tmp_path / name)["aggregate"]["name"] == name
    assert max(map(abs, sums["absolute"])) == 1
    position = table(tmp_path / "signed").filter(pl.col("source") == "rotation", pl.col("slot").is_not_null())
    by_slot = position.group_by("slot").agg(pl.col("value").sum()).sort("slot")["value"].to_list()
    assert sums["position"] == pytest.approx(by_slot)


def test_a_masked_model_explains_its_mask(masked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["attribute", str(masked), "--text", "a b [MASK] d", "--out", str(tmp_path)]
    assert main([*line, "--target", "mask", "--target", "e"]) == 0
    outputs = manifest(tmp_path)["outputs"]
    assert [output["kind"] for output in outputs] == ["masked"] * 2 and outputs[1]["name"] == "e"
    assert {output["slot"] for output in outputs} == {2} and manifest(tmp_path)["causal"] is False
    assert capsys.readouterr().out.startswith("masked token “")
    assert set(table(tmp_path)["source"]) == {"token", "table", "combined"}


def test_a_classifier_explains_its_labels(classifier: Path, tmp_path: Path):
    line = ["attribute", str(classifier), "--text", "a b\tc d", "--target", "<yes>", "--target", "0"]
    assert main([*line, "--target", "label", *quiet(tmp_path)]) == 0
    known = manifest(tmp_path)
    assert [(output["kind"], output["name"]) for output in known["outputs"]] == [("labels", "<yes>"), ("labels", "no")]
    assert [output["likeliest"] for output in known["outputs"]].count(None) == 1, "which is the likeliest"
    assert known["outputs"][0]["slot"] is None and known["model"]["labels"] == ["no", "<yes>"]
    assert "&lt;yes&gt;" in (tmp_path / "report.html").read_text()


def test_the_built_in_net_reads_sequences_of_its_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["attribute", "--max-texts", "3", "--out", str(tmp_path), "--json", "--quiet"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["model"] == "tiny" and summary["report"].endswith("report.html")
    assert [output["kind"] for output in summary["outputs"]] == ["answer"] * 3
    assert len(summary["findings"]) == 3 and all(ledger["balances"] for ledger in summary["ledgers"])
    assert manifest(tmp_path)["texts"]["source"] == "its own texts"
    assert isinstance(load(tmp_path), AttributionRun)


def test_a_token_of_a_task_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["attribute", "tiny", "--max-texts", "1", "--target"]
    assert main([*line, "z", *quiet(tmp_path)]) == 0
    assert manifest(tmp_path)["outputs"][0]["name"] == "z"
    assert main([*line, "<pad>", *quiet(tmp_path / "other")]) == 2
    assert "2 tokens of tiny are called '<pad>'; give a number: id:0, id:43" in capsys.readouterr().err


def test_windows_of_a_long_text(speaking: Path, tmp_path: Path):
    long = tmp_path / "book.txt"
    long.write_text("a b c d e f g h\n\n" * 3)
    line = ["attribute", str(speaking), "--text", str(long), "--max-tokens", "8", *quiet(tmp_path / "run")]
    assert main([*line, "--max-texts", "2"]) == 0
    known = manifest(tmp_path / "run")
    assert len(known["outputs"]) == 2 and known["texts"]["windows"] == 2
    assert any("cut into" in note for note in known["notes"])


def test_same_command_same_table(speaking: Path, tmp_path: Path):
    for name in ("one", "two"):
        assert main(["attribute", str(speaking), "--text", "a b c", *quiet(tmp_path / name)]) == 0
    assert (tmp_path / "one" / "relevance.parquet").read_bytes() == (
        tmp_path / "two" / "relevance.parquet"
    ).read_bytes()


def test_the_report_is_drawn_again_without_torch(speaking: Path, tmp_path: Path):
    assert main(["attribute", str(speaking), "--text", "a b c", *quiet(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_bytes()
    (tmp_path / "report.html").unlink()
    code = (
        "import sys; from wherewhat.cli.main import main; code = main(['report', sys.argv[1]]);"
        "assert not {'torch', 'transformers'} & set(sys.modules); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True).returncode == 0
    assert (tmp_path / "report.html").read_bytes() == page


def test_figures(speaking: Path, tmp_path: Path):
    line = ["attribute", str(speaking), "--text", "a b c", "--png", str(tmp_path / "figures")]
    assert main([*line, *quiet(tmp_path / "run")]) == 0
    assert {path.stem for path in (tmp_path / "figures").iterdir()} >= {"ledger", "layers_slot"}


def test_a_run_is_not_overwritten(speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["attribute", str(speaking), "--text", "a b", "--out", str(tmp_path)]
    assert main([*line, "--quiet"]) == 0
    assert main(line) == 2 and "already holds a run" in capsys.readouterr().err
    assert main([*line, "--overwrite", "--quiet"]) == 0


BAD = [
    (["--text", "a b", "--method", "lrp"], "unknown method 'lrp'; did you mean"),
    (["--text", "a b", "--method", ","], "--method is ',', which names nothing"),
    (["--text", "a b", "--method", "pa-lrp,pa-lrp"], "name at least one, and none twice"),
    (["--text", "a b", "--aggregate", "sum"], "unknown aggregate 'sum'"),
    (["--text", "a b", "--target", "id:99"], "--target is 'id:99', and llama has 99 tokens; give a number below 99"),
    (["--text", "a b", "--target", "id:x"], "--target is 'id:x'; write id: and the number"),
    (["--text", "a b", "--target", "label"], "llama has no labels, so it cannot classify a text"),
    (["--text", "a b", "--target", "mask"], "has no mask to explain: it gives a next token"),
    (["--text", "a b", "--target", "c", "--continuation", "d"], "both --target and --continuation were given"),
    (["--text", "a b", "--continuation", ""], "'' has no token that llama could predict; write words"),
    (
        ["--text", "a b", "--continuation", "c zz"],
        "'c zz' is not in the vocabulary of llama; give words that are, or id:N",
    ),
    (["--text", "a b", "--target", "zz"], "'zz' is not in the vocabulary of llama; give words that are, or id:N"),
    (["--text", " "], "--text is empty; write a text, or name a file"),
    (["--text", ""], "--text is empty; write a text, or name a file"),
    (["--text", "nowhere.txt"], "there is no text file nowhere.txt"),
    (["--text", "some/file"], "there is no text file some/file"),
    (["--text", "a b", "--dataset", "x"], "both --text and --dataset were given"),
    (["--text", "! ? ;"], "3 of 3 tokens are unknown to the tokenizer"),
    (["--text", "a b", "--max-texts", "0"], "read at least 1 text"),
    (
        ["--text", "a " * 70],
        "has 70 tokens and llama holds 64; shorten it, or cut it into windows with --max-tokens 64",
    ),
    ([], "there is no text for llama"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[" ".join(options)[:40] or "nothing" for options, _ in BAD])
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    options: list[str], sentence: str, speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "run"
    assert main(["attribute", str(speaking), "--out", str(out), *options]) == 2
    captured = capsys.readouterr()
    last = captured.err.splitlines()[-1]
    assert sentence in last and last.startswith("wherewhat: ") and not captured.out and not out.exists()
    assert "Traceback" not in captured.err


def test_masks_that_are_missing_or_too_many(masked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for text, masks in (("a b", 0), ("[MASK] a [MASK]", 2)):
        assert main(["attribute", str(masked), "--text", text, *quiet(tmp_path / "run")]) == 2
        sentence = f"the text '{text}' has {masks} masks; write [MASK] once, for the token to explain"
        assert sentence in capsys.readouterr().err
    assert main(["attribute", str(masked), "--text", "b [MASK]", "--continuation", "a", *quiet(tmp_path / "run")]) == 2
    assert "bert does not continue a text, so it has no continuation to explain" in capsys.readouterr().err


def test_labels_that_are_not_there(classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["attribute", str(classifier), "--text", "a b", *quiet(tmp_path / "run")]
    assert main([*line, "--target", "yes"]) == 2
    assert "unknown label 'yes'; did you mean '<yes>'?" in capsys.readouterr().err
    assert main([*line, "--target", "id:7"]) == 2
    assert "--target is 'id:7', and labels has 2 labels; give a number below 2" in capsys.readouterr().err
    assert main([*line, "--target", "next"]) == 2
    assert "has no next to explain: it gives a label" in capsys.readouterr().err


def test_a_model_without_a_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bare = save_model(tmp_path / "bare")
    assert main(["attribute", str(bare), "--text", "a b", *quiet(tmp_path / "run")]) == 2
    assert "bare predicts neither tokens nor one of several labels" in capsys.readouterr().err.splitlines()[-1]


def scaled(speaking: Path, folder: Path, **factors: float) -> Path:
    """The same model, with other sizes of weights in the second layer's gated unit."""
    model = transformers.AutoModelForCausalLM.from_pretrained(speaking)
    with torch.no_grad():
        for name, factor in factors.items():
            getattr(model.model.layers[1].mlp, f"{name}_proj").weight.mul_(factor)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def test_the_first_layer_whose_numbers_are_not_finite_is_named(
    speaking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    line = ["--text", "a b", *quiet(tmp_path / "run")]
    assert main(["attribute", str(scaled(speaking, tmp_path / "forward", down=3e38)), *line]) == 2
    assert "the logits of LlamaForCausalLM are not finite" in capsys.readouterr().err
    backward = scaled(speaking, tmp_path / "backward", gate=1e10, up=1e-39, down=1e32)  # finite on the way forward
    assert main(["attribute", str(backward), *line]) == 2
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert "the relevance that model.layers.1 of LlamaForCausalLM passes back is not finite" in refusal
    assert "load it in float64" in refusal and not (tmp_path / "run").exists()


def test_help_needs_no_torch():
    code = (
        "import sys; from wherewhat.cli.main import main; code = main(['attribute', '--help']);"
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "--continuation" in done.stdout and "The text itself; or a file" in done.stdout


@pytest.mark.shared
def test_real_models(shared: Path, tmp_path: Path):
    stories, heavy = shared / "models" / "stories260K", shared / "models" / "sapiens-vh"
    line = ["attribute", str(stories), "--text", "Once upon a", "--continuation", "time", *quiet(tmp_path / "one")]
    assert main(line) == 0
    (output,) = manifest(tmp_path / "one")["outputs"]
    assert output["name"] == "▁time" and output["probability"] > 0.9
    sequence = "EVQLVESGGGLVQPGGSLRLSCAASGFTFS<mask>YAMSWVRQAPGKGLEWVS"
    assert main(["attribute", str(heavy), "--text", sequence, *quiet(tmp_path / "two")]) == 0
    assert manifest(tmp_path / "two")["outputs"][0]["name"] == "S"

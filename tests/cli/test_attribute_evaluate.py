"""`wherewhat attribute --evaluate` as a user meets it: tables, manifest, page, and every sentence of refusal."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from heads_of_models import classifier, folder, model

from wherewhat.attribution.evaluation.curves import MEASURES
from wherewhat.attribution.evaluation.evaluate import evaluate_attribution
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.cli.main import main
from wherewhat.runs.registry import AttributionRun, load
from wherewhat.tables.schema import EVALUATION, EVALUATION_CURVES, EVALUATION_DIFFERENCES

TABLES = {
    "evaluation": EVALUATION,
    "evaluation_differences": EVALUATION_DIFFERENCES,
    "evaluation_curves": EVALUATION_CURVES,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in net, on four of its own sequences."""
    out = tmp_path_factory.mktemp("evaluated") / "run"
    assert main(["attribute", "--evaluate", "--max-texts", "4", "--out", str(out), "--quiet"]) == 0
    return out


def test_methods_are_compared_where_it_is_known_which_tokens_decide(run: Path) -> None:
    for name, schema in TABLES.items():
        assert dict(pl.read_parquet(run / f"{name}.parquet").schema) == schema
    scores = pl.read_parquet(run / "evaluation.parquet")
    assert set(scores["data"]) == {"number", "letter"} and {"abpc", "miou", "ap"} <= set(scores["measure"])
    assert scores.equals(evaluate_attribution("tiny", settings=EvaluationSettings(max_texts=4)).scores)
    known = json.loads((run / "manifest.json").read_text())["evaluation"]
    assert known["replacement"] == "the mean embedding of all tokens" and known["order"] == "signed"
    assert known["texts"] == {"number": 2, "letter": 2} and known["measures"]["abpc"]["better"] == "higher"


def test_the_page_is_drawn_again_without_torch(run: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nimport wherewhat as ww\n"
        f"ww.load({str(run)!r}).report({str(tmp_path / 'again.html')!r})\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "again.html").read_bytes() == (run / "report.html").read_bytes()
    result = load(run)
    assert isinstance(result, AttributionRun)
    section = next(section for section in result.page.sections if section.name == "evaluation")
    assert "has the highest ABPC: 0." in str(section.lede) and "random orders have 0" in str(section.lede)
    assert "has the highest ABPC: 0." in str(result.page.findings[0]), "what was asked for comes first"
    assert "input × gradient" in section.body and "the mean embedding of all tokens stands" in section.body
    pictures = {path.name for path in result.figures(tmp_path / "figures")}
    expected = {"evaluation.png", "evaluation_mIoU.png", "evaluation_curves.png", "evaluation_curves_letter.png"}
    assert expected <= pictures


def test_without_the_option_nothing_is_compared(tmp_path: Path) -> None:
    assert main(["attribute", "--max-texts", "1", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert not list((tmp_path / "run").glob("evaluation*"))
    result = load(tmp_path / "run")
    assert isinstance(result, AttributionRun) and result.evaluation.is_empty()
    assert "evaluation" not in [section.name for section in result.page.sections]


def test_a_language_model_is_compared_on_its_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And on repeated tokens, of which a model with random weights repeats none."""
    name, out = folder(tmp_path / "llama", model("llama", "LlamaForCausalLM"), "before"), tmp_path / "run"
    words = ["attribute", name, "--text", "a b c d", "--text", "d c b", "--evaluate", "--out", str(out)]
    assert main([*words, "--replace", "delete", "--order", "published"]) == 0
    printed = capsys.readouterr()
    assert "On 2 texts (texts), " in printed.out
    assert "wrongly; these are not evaluated" in printed.err
    scores = pl.read_parquet(out / "evaluation.parquet")
    assert set(scores["data"]) == {"texts"} and set(scores["measure"]) == set(MEASURES)
    settings = json.loads((out / "manifest.json").read_text())["settings"]["evaluation"]
    assert (settings["order"], settings["replace"]) == ("published", "delete")


def test_a_classifier_is_compared_on_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = classifier("bert", "BertForSequenceClassification")
    name = folder(tmp_path / "bert", made, "around", types=True)
    words = ["attribute", name, "--text", "a b\tc d", "--evaluate", "--out", str(tmp_path / "run"), "--json"]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    methods = {row["method"] for row in summary["evaluation"]}
    assert {"pa-lrp", "attnlrp", "rollout", "random", "left to right"} <= methods
    assert summary["findings"][-1].startswith("On 1 text (texts), ")


def test_rollout_is_left_out_where_there_are_two_stacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = model("t5", "T5ForConditionalGeneration", decoder_start_token_id=0)
    name, out = folder(tmp_path / "t5", made, "bare"), tmp_path / "run"
    assert main(["attribute", name, "--text", "a b c", "--evaluate", "--out", str(out)]) == 0
    assert "Attention rollout is for models with one stack" in capsys.readouterr().err
    assert "rollout" not in set(pl.read_parquet(out / "evaluation.parquet")["method"])


def test_the_first_target_of_a_text_is_evaluated(tmp_path: Path) -> None:
    name = folder(tmp_path / "llama", model("llama", "LlamaForCausalLM"), "before")
    tables = []
    for number, targets in enumerate((["--target", "d"], ["--target", "d", "--target", "e"], ["--target", "e"])):
        out = tmp_path / f"run{number}"
        assert main(["attribute", name, "--text", "a b c", "--evaluate", *targets, "--out", str(out), "--quiet"]) == 0
        tables.append(pl.read_parquet(out / "evaluation.parquet"))
    assert tables[0].equals(tables[1]) and not tables[0].equals(tables[2])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--order", "signed"], "--order is for the comparison of methods; add --evaluate, or leave it out"),
        (["--replace", "token"], "--replace is for the comparison of methods; add --evaluate, or leave it out"),
        (["--evaluate", "--order", "publised"], "unknown order 'publised'; did you mean 'published'?"),
        (["--evaluate", "--replace", "mask"], "unknown way to take tokens away 'mask'"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attribute", *words, "--out", str(tmp_path / "run")]) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / "run").exists()

"""A run on a question ends the same however often it is interrupted, opens everywhere, and says what does not fit."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from precision import rounding
from torch.nn.functional import cross_entropy

from wherewhat.capture.loading.load import LoadSettings
from wherewhat.capture.outputs.text_outputs import classify, labels_of, load_reader, output_kind
from wherewhat.capture.tokens.encode import own_texts
from wherewhat.cli.main import main
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.question_corpus import QuestionCorpus, question_corpus_from
from wherewhat.corpora.questions import QUESTIONS, labelled
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.models.registry import MODELS
from wherewhat.nets.config import NetConfig
from wherewhat.recipes.registry import recipe
from wherewhat.training.classification import ClassifierSettings
from wherewhat.training.finetune import FinetuneSettings, answered, finetune
from wherewhat.training.language_modelling import LanguageModelSettings
from wherewhat.training.loop import train
from wherewhat.training.run_folder import TrainingResult
from wherewhat.training.settings import changed

BRIEF = ClassifierSettings(
    net=NetConfig(vocabulary=1, length=30, width=8, layers=1, heads=2, mlp=1, kind="encoder", encoding="learned"),
    question="names",
    train=24,
    valid=12,
    steps=11,
    batch=6,
    learning_rate=1e-2,
    warmup=3,
    evaluate_every=4,
    evaluate_samples=12,
    checkpoint_every=3,
)
LINES = [
    f"{'big' if word in 'abcdef' else 'small'}\tthe {word} is {size} {end}"
    for word in "abcdefghijklmnop"
    for size in ("here", "there", "near")
    for end in ("now", "then", "always")
]


class PowerCutError(Exception):
    """What ends a run before its time."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "size.tsv").write_text("\n".join(LINES))
    return tmp_path / "size.tsv"


def weights(run: TrainingResult) -> list[torch.Tensor]:
    return list(run.net.state_dict().values())


def same(one: TrainingResult, other: TrainingResult) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True)) and one.curve.equals(
        other.curve
    )


def test_a_run_is_a_net_with_the_labels_of_its_question() -> None:
    run = train(BRIEF)
    assert run.net.config.labels == QUESTIONS["names"].labels and not run.net.training
    assert run.net.config.vocabulary == len(run.words) == len(Grammar(past=True).vocabulary) + 3
    assert set(run.curve["measure"]) == {"loss", "accuracy valid", "accuracy test"}
    assert run.curve["step"].unique().sort().to_list() == [4, 8, 11]
    told = labelled("names", seed=1, train=24, valid=12, test=12)
    for split, named in (("test", "accuracy"), ("valid", "accuracy_valid")):
        examples = getattr(told, split)
        said = answered(run.net, run.words, [one.words for one in examples]).argmax(-1)
        right = [run.net.config.labels[int(n)] == one.label for n, one in zip(said, examples, strict=True)]
        assert run.ends[named] == np.mean(right)
    assert run.settings.ending(run.ends).endswith("% of 12 test texts classified correctly, where 50.0% is chance")


def test_what_is_learnt_is_the_label() -> None:
    """The first loss by hand: the mean surprise of the labels of the sentences of the first step."""
    ready = BRIEF.ready()
    objective, net = ready.objective(), ready.initial_net()
    rows = objective.order.rows(1)
    examples = [ready.labelled_texts.labelled.train[row] for row in rows]
    logits_NA = answered(net, ready.words, [one.words for one in examples])
    wanted_N = torch.tensor([net.config.labels.index(one.label) for one in examples])
    theirs = float(cross_entropy(logits_NA, wanted_N))
    assert float(objective.loss(net, 1).detach()) == pytest.approx(theirs, rel=rounding(torch.float32))


def test_words_that_tell_the_label_are_learnt(table: Path) -> None:
    run = train(replace(BRIEF, question=str(table), steps=60))
    assert run.net.config.labels == ("big", "small") and run.ends["accuracy"] > 0.8


@pytest.mark.parametrize("cut_at", [2, 7])
def test_a_run_that_was_cut_ends_like_one_that_was_not(cut_at: int, tmp_path: Path) -> None:
    def cut(step: int, measured: Mapping[str, float]) -> None:
        if step == cut_at:
            raise PowerCutError

    whole = train(BRIEF)
    with pytest.raises(PowerCutError):
        train(BRIEF, out=tmp_path, on_step=cut)
    assert same(whole, train(BRIEF, out=tmp_path, resume=True))
    assert same(whole, train(BRIEF, out=tmp_path, resume=True)), "a finished run is read"
    with pytest.raises(UserError, match=r"belongs to a run with other settings: train was 24 and is 12; resume with"):
        train(replace(BRIEF, train=12), out=tmp_path, resume=True)
    with pytest.raises(UserError, match=r"belongs to a run with other settings: question was names and is agent; res"):
        train(replace(BRIEF, question="agent"), out=tmp_path, resume=True)


def test_a_file_that_changes_while_a_run_is_under_way(table: Path, tmp_path: Path) -> None:
    settings = replace(BRIEF, question=str(table))
    train(settings, out=tmp_path / "run")
    for other in (reversed(LINES), [line.replace("big", "huge") for line in LINES]):
        table.write_text("\n".join(other))
        with pytest.raises(UserError, match=r"the text .*size.tsv changed since the run began; restore it"):
            train(settings, out=tmp_path / "run", resume=True)
    table.write_text("\n".join(LINES))
    assert train(settings, out=tmp_path / "run", resume=True).net.config.labels == ("big", "small")


@pytest.fixture
def read(reader: LanguageModelSettings, tmp_path: Path) -> Path:
    train(replace(reader, steps=3), out=tmp_path / "read")
    return tmp_path / "read"


def test_a_start_gives_its_net_its_words_and_its_encoding(read: Path, tmp_path: Path) -> None:
    begun, settings = load_model(read / "model"), replace(BRIEF, start=str(read))
    ready = settings.ready()
    assert ready.net == replace(begun.net.config, labels=QUESTIONS["names"].labels)
    assert ready.words.names == begun.words.names
    net = ready.initial_net()
    assert net.training and all(torch.equal(net.state_dict()[name], w) for name, w in begun.net.state_dict().items())
    assert not torch.equal(net.labeller.weight, replace(settings, seed=5).ready().initial_net().labeller.weight)
    whole = train(settings, out=tmp_path / "run")
    assert whole.settings.to_dict()["start"] == str(read.resolve())
    assert same(whole, train(settings, out=tmp_path / "run", resume=True))
    again = replace(BRIEF, start=str(tmp_path / "run" / "model"), question="number", train=2, valid=2, steps=1)
    asked = replace(again, evaluate_samples=2).ready().initial_net()
    assert asked.config.labels == QUESTIONS["number"].labels, "a net that was asked may be asked something else"


def test_fine_tuning_and_a_run_from_a_start_are_the_same_learning(read: Path) -> None:
    """Two ways to one net: the order, the layer and the steps of both follow from the same seeds."""
    begun = load_model(read / "model")
    run = train(replace(BRIEF, start=str(read), seed=4, data_seed=4))
    told = labelled("names", seed=4, train=24, valid=12, test=12)
    how = FinetuneSettings(steps=11, batch=6, learning_rates=(1e-2,), warmup=3, seed=4)
    tuned = finetune(begun.net, begun.words, told, how)
    assert all(torch.equal(a, b) for a, b in zip(run.net.parameters(), tuned.net.parameters(), strict=True))
    assert (run.ends["accuracy"], run.ends["accuracy_valid"]) == (tuned.accuracy, tuned.valid)


SIZES = ["train=24", "valid=12", "evaluate_samples=12", "steps=2", "width=8", "heads=2", "evaluate_every=2"]


def told(*changes: str) -> list[str]:
    return [part for change in (*SIZES, *changes) for part in ("--set", change)]


def test_the_command_and_the_folder_it_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nli"
    assert main(["train", "nli_tiny", *told(), "--out", str(out)]) == 0
    assert "test texts classified correctly, where 33.3% is chance; `wherewhat heads" in capsys.readouterr().out
    model = load_reader(str(out), LoadSettings(device="cpu"))
    assert output_kind(model) == "labels" and labels_of(model) == QUESTIONS["roles"].labels
    test = labelled("roles", seed=1, train=3, valid=3, test=12).test
    texts = [" ".join(one.words) for one in test]
    stored = load_model(out / "model")
    theirs = answered(stored.net, stored.words, [one.words for one in test])
    assert classify(model, [(text,) for text in texts]) == pytest.approx(theirs.numpy(), abs=1e-5)
    firsts = [tuple(part + " ." for part in text.removesuffix(" .").split(" . ")) for text in texts]
    assert classify(model, firsts) == pytest.approx(theirs.numpy(), abs=1e-5), "a premise and a hypothesis"
    ids = {tuple(stored.words.ids(one.words)) for one in test}
    assert {tuple(text_T.tolist()) for text_T in own_texts(model, 5, 0, None).ids} < ids, (
        "test sentences of the question"
    )
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["question"] == "roles" and manifest["settings"]["net"]["labels"] == list(
        QUESTIONS["roles"].labels
    )
    assert set(manifest["read"]) == {"digest", "train", "valid", "test"} and "accuracy_valid" in manifest
    asked = ["--max-texts", "3", "--scores", "locality", "--quiet"]
    assert main(["heads", str(out), "--out", str(tmp_path / "heads"), *asked]) == 0


def test_a_question_of_a_file(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "nli_tiny", *told("question=size.tsv"), "--out", "run", "--quiet"]) == 0
    monkeypatch.chdir("/")
    model = load_reader(str(tmp_path / "run"), LoadSettings(device="cpu"))
    assert labels_of(model) == ("big", "small") and len(own_texts(model, 3, 0, None).ids) == 3
    assert load_model(tmp_path / "run" / "model").question == str(table.resolve())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["question=rolls"], "unknown question 'rolls'; did you mean 'roles'?"),
        (["question=nowhere.tsv"], "nowhere.tsv; check the path"),
        (["train=25"], "25 train sentences cannot be shared evenly by 3 labels; give a multiple of 3"),
        (["evaluate_samples=4"], "4 test sentences cannot be shared evenly by 3 labels"),
        (["train=0"], "train cannot be 0; give at least 1"),
        (["labels=a,b"], "labels cannot be set; they follow the question"),
        (["vocabulary=9"], "vocabulary cannot be set; it follows the words that are read"),
        (["length=9"], "words and the net reads 9; give it length="),
    ],
)
def test_what_cannot_be_learnt(
    changes: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "nli_tiny", *told(*changes), "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_a_start_that_does_not_fit(read: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the net of .*read is used as it is; leave width=32 out"):
        changed(recipe("nli_tiny"), [f"start={read}", "width=32"])
    with pytest.raises(UserError, match=r"labels cannot be set; they follow the question"):
        changed(BRIEF.ready(), ["labels=a,b"])
    with pytest.raises(
        UserError, match=r"the longest text of agent has \d+ words and the net reads 12; give it length"
    ):
        replace(BRIEF, start=str(read), question="agent", train=60).ready()
    with pytest.raises(UserError, match=r"nowhere holds no net to start from; name the folder of a training run on"):
        replace(BRIEF, start="nowhere").ready()
    with pytest.raises(
        UserError, match=r"reads no words, so it cannot classify texts; start from a training run on text"
    ):
        replace(BRIEF, start=str(MODELS["tiny"].folder)).ready()


def test_text_is_not_read_by_a_run_on_a_question(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "nli_tiny", "--text", str(table), "--quiet"]) == 2
    assert "reads no text" in capsys.readouterr().err


def test_settings_survive_json_and_carry_what_they_were_told() -> None:
    ready = BRIEF.ready()
    assert (
        ClassifierSettings.from_dict(json.loads(json.dumps(ready.to_dict()))) == ready and "told" not in ready.to_dict()
    )
    assert replace(ready, steps=3).labelled_texts is ready.labelled_texts, "the same examples need not be drawn again"
    assert replace(ready, train=12).labelled_texts is None and replace(ready, question="agent").labelled_texts is None


def test_examples_can_be_made_again_and_read_as_a_corpus() -> None:
    one = QuestionCorpus("names", seed=3, train=8, valid=4, test=6)
    assert question_corpus_from(json.loads(json.dumps(one.plain()))) == one
    whole = one.labelled()
    for split in ("train", "valid", "test"):
        assert [each.words for each in one.sentences(split)] == [each.words for each in getattr(whole, split)]
    some, other = (one.some("test", 3, seed=seed) for seed in (0, 1))
    assert len(some) == 3 and [each.text for each in some] != [each.text for each in other]
    with pytest.raises(UserError, match="unknown question 'name'; did you mean 'names'"):
        QuestionCorpus("name")
    with pytest.raises(UserError, match="a question's seed cannot be -1; give at least 0"):
        QuestionCorpus("names", seed=-1)
    with pytest.raises(UserError, match="unknown split 'dev'"):
        one.sentences("dev")

"""A net that has read opens again with its words and its corpus, and can be profiled with text and without."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from wherewhat.capture.loading.load import LoadSettings, load_by_name
from wherewhat.capture.tokens.encode import encode, own_texts, token_names
from wherewhat.cli.main import main
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import NetTexts, load_model, save_model
from wherewhat.nets.build import build
from wherewhat.training.language_modelling import LanguageModelSettings
from wherewhat.training.loop import train
from wherewhat.training.task_training import TaskSettings

LINES = [f"the {noun} {verb} the {other} ." for noun in "abcdefgh" for verb in ("sees", "calls") for other in "klmnop"]


@pytest.fixture
def folder(reader: LanguageModelSettings, tmp_path: Path) -> Path:
    train(replace(reader, steps=2), out=tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    return tmp_path / "text.txt"


def test_texts_are_read_through_its_words(folder: Path) -> None:
    model, words = load_by_name(str(folder), LoadSettings()), load_model(folder / "model").words
    encoded = encode(model, ["The dog sees many cats."], max_tokens=None, max_texts=3).ids
    assert encoded[0].tolist() == words.ids(["the", "dog", "sees", "many", "cats", "."])
    assert token_names(model, encoded[0])[:2] == ["the", "dog"]
    assert (model.tokenizer.mask_token_id, model.tokenizer.pad_token_id) == (words.mask, words.pad)
    assert model.context == 12


def test_without_texts_it_reads_test_sentences_of_its_corpus(reader: LanguageModelSettings, folder: Path) -> None:
    model, words = load_by_name(str(folder), LoadSettings()), load_model(folder / "model").words
    told = [one.words for one in reader.corpus.some("test", 5, seed=0)]
    assert [ids.tolist() for ids in own_texts(model, 5, 1, None).ids] != [words.ids(one)[:12] for one in told]
    assert [ids.tolist() for ids in own_texts(model, 5, 0, None).ids] == [words.ids(one)[:12] for one in told]
    assert max(len(ids) for ids in own_texts(model, 5, 0, 4).ids) == 4


def test_heads_of_a_run_and_of_a_snapshot(reader: LanguageModelSettings, text: Path, tmp_path: Path) -> None:
    train(replace(reader, steps=2, keep_every=2), out=tmp_path / "run")
    asked = ["--max-texts", "3", "--scores", "locality", "--quiet"]
    assert main(["heads", str(tmp_path / "run"), "--out", str(tmp_path / "a"), *asked]) == 0
    snapshot = str(tmp_path / "run" / "snapshots" / "step-000000")
    (tmp_path / "told.txt").write_text("the dog sees the cat .\nthe cat sees the dog .\n")
    assert main(["heads", snapshot, "--text", str(tmp_path / "told.txt"), "--out", str(tmp_path / "b"), *asked]) == 0
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert "step-000000" in json.dumps(manifest["model"])


def test_a_net_that_reads_can_be_edited(folder: Path, tmp_path: Path) -> None:
    asked = ["--ablate", "L0H0", "--max-texts", "3", "--scores", "locality", "--quiet"]
    assert main(["edit", str(folder), "--out", str(tmp_path / "edit"), *asked]) == 0
    told = json.loads((tmp_path / "edit" / "manifest.json").read_text())
    assert "masked" in json.dumps(told)


def test_a_text_that_has_moved(
    reader: LanguageModelSettings, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(replace(reader, steps=2, corpus=PlainText((str(text),))), out=tmp_path / "run")
    text.rename(tmp_path / "moved.txt")
    asked = ["--max-texts", "3", "--scores", "locality", "--quiet"]
    assert main(["heads", str(tmp_path / "run"), "--out", str(tmp_path / "a"), *asked]) == 2
    told = capsys.readouterr().err
    assert f"the corpus of run cannot be read: there is no file {text}; give --text FILE" in told
    moved = ["--text", str(tmp_path / "moved.txt")]
    assert main(["heads", str(tmp_path / "run"), "--out", str(tmp_path / "a"), *moved, *asked]) == 0


def test_words_that_are_missing(folder: Path) -> None:
    (folder / "model" / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"tokenizer.json cannot be read \(No such file or directory\); train again"):
        load_model(folder / "model")


def test_words_of_another_net(folder: Path) -> None:
    (folder / "model" / "tokenizer.json").write_text(WordVocabulary.learn([["a", "b"]]).json())
    with pytest.raises(UserError, match=r"tokenizer.json has 5 entries and the net knows \d+; copy the folder again"):
        load_model(folder / "model")


def test_words_without_a_corpus(reader: LanguageModelSettings, tmp_path: Path) -> None:
    words = WordVocabulary.learn([["a", "b"]])
    save_model(tmp_path, build(replace(reader.net, vocabulary=len(words))), reads=NetTexts(words))
    model = load_model(tmp_path)
    assert model.words.names == words.names and model.corpus is None
    with pytest.raises(UserError, match="there is no text for"):
        own_texts(load_by_name(str(tmp_path), LoadSettings()), 1, 0, None)


def test_a_net_of_tasks_takes_the_place_of_one_that_reads(folder: Path, brief: TaskSettings) -> None:
    train(replace(brief, steps=2), out=folder)
    model = load_model(folder / "model")
    assert model.words is None and model.corpus is None and model.tasks == brief.tasks
    (folder / "model" / "tokenizer.json").write_text(WordVocabulary.learn([["a", "b"]]).json())  # of somebody else
    assert load_model(folder / "model").words is None


class PowerCutError(Exception):
    """What ends a run before its time."""


@pytest.mark.parametrize("finished", [True, False])
def test_a_text_that_changes_while_a_run_is_under_way(
    reader: LanguageModelSettings, text: Path, tmp_path: Path, finished: bool
) -> None:
    settings, out = replace(reader, corpus=PlainText((str(text),))), tmp_path / "run"

    def cut(step: int, measured: Mapping[str, float]) -> None:
        if step == 5 and not finished:
            raise PowerCutError

    with nullcontext() if finished else pytest.raises(PowerCutError):
        train(settings, out=out, on_step=cut)
    text.write_text("\n".join(reversed(LINES)))
    with pytest.raises(UserError, match=r"the text .*text.txt changed since the run began; restore it, or"):
        train(settings, out=out, resume=True)
    text.write_text("\n".join([*(f"other words {number}" for number in range(30)), *LINES]))
    with pytest.raises(UserError, match=r"the text .*text.txt changed since the run began; restore it, or"):
        train(settings, out=out, resume=True)
    text.write_text("\n".join(LINES))
    assert train(settings, out=out, resume=True).words is not None
    assert load_model(out / "model").extra["read"]["train"]["sentences"] == 60


SMALL = ["sentences=60", "steps=3", "width=8", "heads=2", "layers=1", "evaluate_samples=10", "evaluate_every=3"]
SIZES = [part for change in SMALL for part in ("--set", change)]


def test_training_on_text(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert main(["train", "bert_tiny", "--text", str(text), *SIZES, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "% of masked words in held-out sentences predicted, with a loss of " in told
    assert f"`wherewhat heads {out}` profiles the net" in told
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["corpus"] == {"name": "text", "files": [str(text.resolve())]}
    assert manifest["settings"]["net"]["vocabulary"] == len(load_model(out / "model").words)
    assert 0 <= manifest["accuracy"] <= 1 and manifest["loss"] > 0
    assert manifest["read"]["train"] == {"sentences": 60, "words": 360, "unknown": 0, "left_out": 0, "more": True}
    assert manifest["read"]["digest"] == load_model(out / "model").extra["read"]["digest"]
    assert told.startswith("only the first 60 training sentences were read; --set sentences=N reads more\n")
    whole = [*SIZES, "--set", "sentences=900"]
    assert main(["train", "bert_tiny", "--text", str(text), *whole, "--out", str(tmp_path / "whole")]) == 0
    assert "were read" not in capsys.readouterr().out
    more = [*SIZES, "--set", "kind=decoder", "--set", "encoding=rope"]
    assert main(["train", "bert_tiny", "--text", str(text), *more, "--out", str(tmp_path / "next")]) == 0
    assert "% of next words in held-out sentences predicted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tiny", "--text", "{text}"], "the recipe tiny learns its tasks and reads no text; leave --text out, or"),
        (["bert_tiny", "--text", "{text}", "--text", "{trees}"], "--text names plain text and .conllu files together"),
        (["bert_tiny", "--text", "nowhere.txt"], "there is no text file nowhere.txt"),
        (["bert_tiny", "--text", "{empty}"], "give a file with some"),
    ],
)
def test_texts_that_cannot_be_trained_on(
    arguments: list[str], sentence: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "b.conllu").write_text("")
    names = {"text": text, "empty": tmp_path / "empty.txt", "trees": tmp_path / "b.conllu"}
    told = [argument.format(**names) for argument in arguments]
    assert main(["train", *told, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

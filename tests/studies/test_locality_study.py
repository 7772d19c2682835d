"""The whole locality experiment, very small: its rows, its claims, and going on after it was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from locality_small import SMALLEST

from wherewhat.errors import UserError
from wherewhat.studies.engine.study import RUNS_FOLDER, Request, Study, StudyResult
from wherewhat.studies.locality.claims import CLAIMS
from wherewhat.studies.locality.run import STUDY
from wherewhat.studies.locality.settings import LocalityScale
from wherewhat.tables.schema import RESULT

HERE = Path(__file__).parent


def study(scale: LocalityScale, request: Request, *, by: Study = STUDY) -> StudyResult:
    """Run it in this process."""
    return by.reproduce(replace(request, scale=scale, engine="inline"))


@pytest.fixture(scope="module")
def whole() -> StudyResult:
    """An uninterrupted run."""
    return study(SMALLEST, Request(seeds=2))


def finished(folder: Path) -> list[Path]:
    return sorted((folder / RUNS_FOLDER).glob("*/result.json"))


def test_every_run_gives_its_rows(whole: StudyResult) -> None:
    rows = whole.result
    assert rows.columns == list(RESULT) and set(rows["part"]) == {"encoding", "run", "mean", "link", "contrast"}
    conditions = [one["name"] for one in whole.about["subjects"]]
    assert conditions == [
        "log w 0.241",
        "log w 0.241 s 0",
        "leaning w 0.241",
        "leaning, not learned w 0.241",
        "none",
        "decoder w 0.241",
    ]
    runs = rows.filter(part="run", measure="accuracy")
    assert sorted(set(runs["subject"])) == sorted(conditions) and len(runs) == len(conditions) * 2 * 2
    assert set(rows.filter(part="run")["measure"]) == {
        "accuracy",
        "frozen accuracy",
        "valid accuracy",
        "word loss",
        "word accuracy",
        "word loss after",
        "forgetting",
        "unknown words",
    }
    one_sided = rows.filter(part="encoding", subject="log w 0.241 s 0", measure="bias.balance")["value"][0]
    assert 0 < one_sided < 0.8
    causal = rows.filter(pl.col("subject").str.starts_with("decoder"), part="encoding")["measure"]
    assert set(causal) == {
        "bias.locality",
        "attention.locality",
        "attention.locality all",
        "attention.excess",
        "attention.excess all",
        "attention.off_diagonal_locality",
        "attention.off_diagonal_locality all",
    }


def test_forgetting_is_the_loss_after_minus_before(whole: StudyResult) -> None:
    rows = whole.result.filter(part="run", subject="none", seed=1)
    one = dict(rows.filter(item="number").select("measure", "value").iter_rows())
    before = rows.filter(item="", measure="word loss")["value"][0]
    assert one["forgetting"] == pytest.approx(one["word loss after"] - before, abs=1e-12)


def test_symmetric_encoders_guess_where_only_order_tells(whole: StudyResult) -> None:
    rows = whole.result.filter(part="run", item="names", measure="accuracy")
    blind = [one["name"] for one in whole.about["subjects"] if one["mirrored"] and one["kind"] == "encoder"]
    assert "none" in blind and "log w 0.241" in blind and "log w 0.241 s 0" not in blind
    assert set(rows.filter(pl.col("subject").is_in(blind))["value"]) == {0.5}


def test_it_says_what_it_did(whole: StudyResult) -> None:
    assert len(whole.claims) == len(CLAIMS)
    assert whole.settings["seeds"] == [0, 1] and whole.settings["corpus"]["name"] == "grammar"
    assert json.loads(json.dumps(whole.settings)) == whole.settings
    assert json.loads(json.dumps(whole.about)) == whole.about
    assert [one["chance"] for one in whole.about["questions"]] == [0.5, 0.5]
    assert list(whole.about["answers"]) == ["locality", "symmetry", "stability", "decoder", "leaning"]
    assert {tuple(one) for one in whole.about["answers"].values()} == {("lead", "rest")}
    assert whole.about["seconds"] > 0 and whole.about["processes"] == 1
    bag = whole.result.filter(part="mean", subject="bag of words", measure="accuracy")
    assert dict(bag.select("item", "value").iter_rows())["names"] == 0.5  # twins hold the same words


def test_a_run_that_is_killed_goes_on_and_ends_the_same(whole: StudyResult, tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "locality_small.py"), str(tmp_path)]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while len(finished(tmp_path)) < 2 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path: path.read_bytes() for path in finished(tmp_path)}
    assert 2 <= len(before) < 2 * len(whole.about["subjects"])
    stamps = {path: path.stat().st_mtime_ns for path in before}
    steps: list[int] = []
    resumed = study(
        SMALLEST,
        Request(seeds=2, folder=tmp_path, resume=True, on_step=lambda done, of, note: steps.append(done)),
    )
    assert resumed.result.equals(whole.result) and resumed.claims == whole.claims
    assert {path: path.stat().st_mtime_ns for path in before} == stamps  # none was done again
    assert len(finished(tmp_path)) == 2 * len(whole.about["subjects"])
    assert min(steps) > 2 * SMALLEST.steps  # what was finished counts from the start


def test_more_seeds_can_be_added_and_nothing_is_repeated(whole: StudyResult, tmp_path: Path) -> None:
    small = replace(SMALLEST, sweep=replace(SMALLEST.sweep, sides=(), decoder=()))
    study(small, Request(seeds=1, folder=tmp_path))
    first = {path: path.stat().st_mtime_ns for path in finished(tmp_path)}
    study(small, Request(seeds=2, folder=tmp_path, resume=True))
    assert len(finished(tmp_path)) == 2 * len(first)
    assert {path: path.stat().st_mtime_ns for path in first} == first
    with pytest.raises(UserError, match=r"runs holds 8 finished runs; add --resume to go on from there, or"):
        study(small, Request(seeds=1, folder=tmp_path))
    with pytest.raises(UserError, match=r"was made with other settings: scale.steps was 4 and is 5; resume with"):
        study(replace(small, steps=5), Request(seeds=1, folder=tmp_path, resume=True))


def test_questions_and_texts_of_ones_own(tmp_path: Path) -> None:
    lines = [f"{'yes' if number % 2 else 'no'}\tword{number} and more of it" for number in range(150)]
    (tmp_path / "mine.tsv").write_text("\n".join(lines))
    texts = [f"a dog{number % 9} sees a cat{number % 7} ." for number in range(150)]
    (tmp_path / "book.txt").write_text("\n".join(texts))
    small = replace(SMALLEST, sweep=replace(SMALLEST.sweep, sides=(), decoder=()))
    warnings: list[str] = []
    request = Request(seeds=1, tasks=(tmp_path / "mine.tsv",), files=(tmp_path / "book.txt",), folder=tmp_path)
    request = replace(request, on_warning=warnings.append)
    found = study(small, request)
    assert [one["name"] for one in found.about["questions"]] == ["number", "names", "mine"]
    assert found.settings["corpus"]["name"] == "text" and found.settings["tasks"] == [str(tmp_path / "mine.tsv")]
    assert len(found.result.filter(part="run", item="mine", measure="accuracy")) == 4
    assert any("of the words of mine are unknown" in note for note in found.notes)
    assert any("of the words of number are unknown" in note for note in found.notes)  # ours are not in the book either
    assert len(warnings) == 3 and "above 20\xa0% a question is left out" in warnings[0]
    assert found.result.filter(part="mean", item="all", measure="accuracy").is_empty()  # none can be read
    (tmp_path / "mine.tsv").write_text("\n".join([*lines, "yes\tone more"]))
    with pytest.raises(UserError, match=r"was made with other settings: scale.hashes\..*mine.tsv was "):
        study(small, replace(request, resume=True))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("yes\tfine\nno tab here", "line 2 of .*task.tsv has no tab"),
        ("yes\tone\nyes\ttwo\n", "every line of .*task.tsv has the label 'yes'"),
        ("", "task.tsv holds no sentences"),
    ],
)
def test_a_file_that_cannot_be_used_stops_it_before_any_net_learns(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "task.tsv").write_text(text)
    with pytest.raises(UserError, match=sentence):
        study(SMALLEST, Request(tasks=(tmp_path / "task.tsv",), folder=tmp_path))
    assert not (tmp_path / RUNS_FOLDER).exists()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("number", r"two questions are called 'number'; rename .*number.tsv"),
        *(
            (taken, rf"a question cannot be called '{taken}', which the tables use; rename .*{taken}.tsv")
            for taken in ("all", "others", "forgetting", "spread", "word loss")
        ),
    ],
)
def test_a_name_that_is_taken_is_refused(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.tsv").write_text("a\tb\n")
    with pytest.raises(UserError, match=sentence):
        study(SMALLEST, Request(tasks=(tmp_path / f"{name}.tsv",)))


def test_texts_too_few_to_judge_by_stop_it_before_any_net_learns(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("a dog sees a cat .\n")
    with pytest.raises(UserError, match=r"book.txt|the corpus"):
        study(SMALLEST, Request(files=(tmp_path / "book.txt",), folder=tmp_path))
    assert not (tmp_path / RUNS_FOLDER).exists()


def test_texts_that_changed_meanwhile_are_read_again(tmp_path: Path) -> None:
    small, book = replace(SMALLEST, questions=("number",)), tmp_path / "book.txt"
    hashes, words = set(), []
    for animal in ("dog", "cow"):
        book.write_text("\n".join(f"a {animal}{number % 9} sees a cat{number % 7} ." for number in range(150)))
        scale = STUDY.prepare(small, Request(files=(book,)))
        hashes.add(scale.hashes[str(book)])
        read = scale.training_settings(scale.conditions()[0], scale.texts, 0).texts
        assert read is not None
        words.append({name[:3] for name in (*read.words.names, *(each for line in scale.unseen for each in line))})
    assert len(hashes) == 2 and "dog" in words[0] - words[1] and "cow" in words[1] - words[0]


def test_runs_of_other_code_are_not_mixed_in(tmp_path: Path) -> None:
    small = replace(SMALLEST, sweep=replace(SMALLEST.sweep, sides=(), decoder=(), references=()))
    first = study(small, Request(seeds=1, folder=tmp_path))
    again = study(small, Request(seeds=1, folder=tmp_path, resume=True))
    assert again.about["seconds"] == first.about["seconds"]  # those of the runs, whenever they were done
    other = replace(STUDY, decides=("names.py",))
    with pytest.raises(UserError, match=r"was made by another version of the code; start again with --overwrite"):
        study(small, Request(seeds=1, folder=tmp_path, resume=True), by=other)

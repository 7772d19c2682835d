"""The whole experiment with swapped words, very small: its rows, theorems in nets, and going on where it stopped."""

from pathlib import Path

import pytest
from word_swap_small import SMALLEST

from wherewhat.errors import UserError
from wherewhat.report.core.render import render
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.word_swap.claims import CLAIMS
from wherewhat.studies.word_swap.run import STUDY
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.schema import RESULT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("word-swap")


@pytest.fixture(scope="module")
def whole(folder: Path) -> StudyResult:
    """An uninterrupted run, with its finished runs kept."""
    return STUDY.reproduce(Request(scale=SMALLEST, seeds=2, folder=folder, engine="inline"))


def test_every_run_gives_its_rows(whole: StudyResult) -> None:
    rows = whole.result
    assert rows.columns == list(RESULT) and set(rows["part"]) == {"run", "mean", "gap", "encoding"}
    original = rows.filter(part="run", item="roles, original", measure="accuracy")
    assert len(original) == 3 * 2 and original["low"].null_count() == 0
    assert {"roles, whole", "content, exchange", "content, voice", "names, exchange"} <= set(rows["item"])
    assert not {"names, whole", "names, voice"} & set(rows["item"])
    assert len(whole.claims) == len(CLAIMS) and whole.settings["seeds"] == [0, 1]


def test_theorems_hold_in_nets(whole: StudyResult) -> None:
    largest = whole.result.filter(part="run", measure="largest")
    without = largest.filter(subject="none").filter(~largest.filter(subject="none")["item"].str.ends_with("voice"))
    assert without["value"].max() < 1e-6
    names = dict(largest.filter(item="roles, bare names", seed=0).select("subject", "value").iter_rows())
    symmetric, sided, _ = names
    assert names[symmetric] < 1e-6 < names[sided]
    exchanged = whole.result.filter(part="run", item="names, exchange", subject=symmetric)
    assert set(exchanged.filter(measure="accuracy")["value"]) == {0.5}  # of twins one is right, whatever it says
    assert set(exchanged.filter(measure="followed")["value"]) == {0.0}


def test_finished_runs_are_not_done_again_and_give_the_same(whole: StudyResult, folder: Path) -> None:
    assert len(list((folder / "runs").glob("*/result.json"))) == 6
    steps = list[int]()
    request = Request(
        scale=SMALLEST, seeds=2, folder=folder, resume=True, on_step=lambda done, of, note: steps.append(done)
    )
    again = STUDY.reproduce(request)
    assert again.result.equals(whole.result) and not steps
    with pytest.raises(UserError, match="holds 6 finished runs; add --resume"):
        STUDY.reproduce(Request(scale=SMALLEST, seeds=2, folder=folder))


def test_one_run_is_the_same_alone(whole: StudyResult) -> None:
    request = Request(scale=SMALLEST, seed=1, seeds=1, engine="inline")
    alone = STUDY.reproduce(request).result.filter(part="run")
    assert alone.equals(whole.result.filter(part="run", seed=1))


def test_its_page_is_drawn(whole: StudyResult) -> None:
    manifest = {"reproduction": "word-swap", "about": whole.about, "claims": [], "notes": list(whole.notes)}
    text = render(page_of_study(whole.result, manifest_of("reproduce", manifest)))
    assert "Swapped words" in text and "unclear" in text

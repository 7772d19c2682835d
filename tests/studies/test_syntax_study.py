"""The whole syntax experiment, very small: its rows, what it says, and going on with more seeds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from syntax_small import SMALLEST

from wherewhat.capture.loading.load import word_tokenizer, wrap_module
from wherewhat.corpora.registry import corpus_from
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.probing.dependencies.scoring import EACH as EACH_RELATION
from wherewhat.probing.dependencies.settings import ALL, SIDES, DependencySettings
from wherewhat.probing.dependencies.split_half_scores import KINDS, split_half_shares
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.registry import STUDIES
from wherewhat.studies.syntax.claims import CLAIMS
from wherewhat.studies.syntax.results import DISTANCES, EACH
from wherewhat.studies.syntax.run import STUDY
from wherewhat.studies.syntax.settings import SyntaxScale
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.schema import RESULT

PACKAGE = Path(__file__).parents[2] / "src" / "wherewhat"


def study(scale: SyntaxScale, **request: Any) -> StudyResult:
    return STUDY.reproduce(Request(scale=scale, engine="inline", **request))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished runs of one seed."""
    folder = tmp_path_factory.mktemp("syntax")
    study(SMALLEST, seeds=1, folder=folder)
    return folder


@pytest.fixture(scope="module")
def whole() -> StudyResult:
    """Two seeds in one go."""
    return study(SMALLEST, seeds=2)


def finished(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in sorted((folder / "runs").glob("*/result.json"))}


def test_every_run_gives_its_rows(whole: StudyResult) -> None:
    rows = whole.result
    assert rows.columns == list(RESULT)
    assert set(rows["part"]) == {*("trained", "untrained", "trained mean", "untrained mean", "gap", "run", "encoding")}
    names = [one["name"] for one in whole.about["subjects"]]
    assert names == ["log w 0.241", "log w 0.533 s 0.25", "rope"]
    for state in ("trained", "untrained"):
        measures = {f"{side}: {kind}" for side in SIDES for kind in (*KINDS, "rows")}
        assert set(rows.filter(part=state, item=EACH)["measure"]) == measures
        assert set(rows.filter(part=state)["seed"]) == {0, 1}
    assert set(rows.filter(part="run")["measure"]) == {"word loss", "word accuracy"}
    shares = rows.filter(rows["measure"].str.contains("positional|contextual|full"), part="trained")["value"]
    assert shares.min() >= 0 and shares.max() <= 1


def test_untrained_is_the_net_as_it_starts(whole: StudyResult) -> None:
    condition, corpus = SMALLEST.conditions()[-1], corpus_from(SMALLEST.corpus)
    reading = SMALLEST.training_settings(condition, corpus, 1)
    assert reading.words is not None
    fresh = wrap_module(build(reading.net, seed=1).eval(), word_tokenizer(reading.words))
    probing = DependencySettings(permutations=2, copies=3, least=8, subtypes=True, seed=1)
    with torch.no_grad():
        theirs = list(split_half_shares(fresh, corpus.some("test", SMALLEST.probed, seed=1), probing))
    rows = whole.result.filter(subject=condition.name, seed=1)
    ours, trained = (rows.filter(part=state)["value"].to_list() for state in ("untrained", "trained"))
    assert ours == [value for *_, value in theirs] != trained
    at, names = {name: at for at, name in DISTANCES.items()}, {EACH_RELATION: EACH}
    places = [(names.get(item, item), at.get(far), f"{side}: {kind}") for side, item, far, kind, _ in theirs]
    assert rows.filter(part="untrained").select("item", "at", "measure").rows() == places


def test_encodings_are_asked_about_the_same_rows(whole: StudyResult) -> None:
    for kind in ("uniform", "offset", "rows"):
        found = whole.result.filter(part="trained", item=ALL, seed=0, measure=f"to head: {kind}")["value"]
        assert len(found) == 3 and found.n_unique() == 1


def test_a_one_sided_curve_finds_by_place_what_the_next_word_is(whole: StudyResult) -> None:
    rows = whole.result.filter(part="trained", subject="log w 0.533 s 0.25", item="det", seed=0)
    told = dict(rows.select("measure", "value").iter_rows())
    fresh = whole.result.filter(part="untrained", subject="log w 0.533 s 0.25", item="det", seed=0)
    before = dict(fresh.select("measure", "value").iter_rows())
    assert told["to head: positional"] == told["to head: offset"] == before["to head: positional"] > 0.5
    assert told["to dependent: positional"] < 0.5  # but for the last word, which has none after it


def test_it_says_what_it_did(whole: StudyResult) -> None:
    assert len(whole.claims) == len(CLAIMS)
    assert {claim.why for claim in whole.claims} == {"Fewer than 3 seeds decide nothing."}
    assert whole.settings["seeds"] == [0, 1] and whole.settings["corpus"]["name"] == "grammar"
    for plain in (whole.settings, whole.about):
        assert json.loads(json.dumps(plain)) == plain
    assert whole.about["seconds"] > 0 and whole.about["processes"] == 1
    assert any("its figures, its treebank and its rule" in note for note in whole.notes)
    assert any("chosen after" in note for note in whole.notes)


def test_its_page_is_drawn(whole: StudyResult) -> None:
    manifest = {"reproduction": "syntax", "about": dict(whole.about), "claims": [], "settings": dict(whole.settings)}
    page = page_of_study(whole.result, manifest_of("reproduce", manifest))
    assert [section.name for section in page.sections][:3] == ["answer", "encodings", "relations"]
    assert "unclear" in page.sections[0].lede


def test_more_seeds_can_be_added_and_nothing_is_repeated(whole: StudyResult, kept: Path) -> None:
    first = finished(kept)
    assert len(first) == 3
    with pytest.raises(UserError, match=r"runs holds 3 finished runs; add --resume to go on from there, or"):
        study(SMALLEST, seeds=2, folder=kept)
    with pytest.raises(UserError, match=r"was made with other settings: scale.steps was 4 and is 5; resume with"):
        study(replace(SMALLEST, steps=5), seeds=2, folder=kept, resume=True)
    steps: list[int] = []
    resumed = study(SMALLEST, seeds=2, folder=kept, resume=True, on_step=lambda done, of, note: steps.append(done))
    assert resumed.result.equals(whole.result) and resumed.claims == whole.claims
    second = finished(kept)
    assert len(second) == 6 and {path: second[path] for path in first} == first
    assert min(steps) >= 3 * SMALLEST.steps  # what was finished counts from the start


def test_what_decides_a_run_is_there() -> None:
    for part in STUDY.decides:
        assert (PACKAGE / part).exists(), part


def test_it_is_registered_and_can_be_resumed() -> None:
    one = STUDIES["syntax"]
    assert one is STUDY and one.resumes and one.takes == () and "1906.04341" in one.paper

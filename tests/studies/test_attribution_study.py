"""The study of attribution: what its runs measure, its page, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from heads_of_models import folder as model_folder
from heads_of_models import model
from micro_runs import page_without_torch, run_micro

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.evaluation.truth import known_texts
from wherewhat.capture.loading.load import LoadSettings
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.runs.registry import StudyRun
from wherewhat.studies.attribution.names import (
    AROUND,
    ATTNLRP,
    CURVE,
    EVEN,
    INDEX,
    LETTER,
    NUMBER,
    ON_SLOT,
    ORDER,
    POSITION_SHARE,
    RETRIEVAL,
    ROLES,
    SCORE,
    SIGNED,
    SLOTS,
    TEXTS,
    against,
)
from wherewhat.studies.attribution.run import STUDY, net_of, prepare, reordered, run, texts_of
from wherewhat.studies.attribution.settings import SCALES, AttributionCondition, AttributionScale, conditions
from wherewhat.studies.attribution.slots import REACH, position_sizes, profile, slot_rows
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Request
from wherewhat.studies.pages import page_of_study

MICRO = AttributionScale(
    sources=(INDEX, RETRIEVAL, NUMBER, LETTER),
    context=6,
    symbols=3,
    integers=3,
    layers=2,
    width=16,
    heads=2,
    steps=150,
    roles_steps=2,
    learning_rate=1e-2,
    warmup=10,
    texts=8,
    draws=2,
    tokens=8,
)


def nothing(*_: object, **__: object) -> None:
    """Takes every report of progress."""


def rows_of(condition: AttributionCondition, folder: Path) -> list[Row]:
    return run(condition, MICRO, 3, JobContext(folder, nothing))


@pytest.fixture(scope="module")
def index_rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return rows_of(AttributionCondition(INDEX), tmp_path_factory.mktemp("index"))


def value(rows: list[Row], part: str, measure: str, item: str = "") -> float:
    (number,) = [row[6] for row in rows if (row[0], row[2], row[5]) == (part, item, measure)]
    assert number is not None
    return number


def test_a_run_compares_all_methods(index_rows: list[Row]) -> None:
    methods = {row[2] for row in index_rows if row[0] == SCORE}
    assert {SIGNED, ATTNLRP, "cp-lrp", "input-x-gradient", "rollout", "random", "left to right"} <= methods
    assert len(methods) == 11 and {row[1] for row in index_rows} == {INDEX} and {row[4] for row in index_rows} == {3}
    assert 0 < value(index_rows, TEXTS, "texts") <= MICRO.texts
    gap = value(index_rows, against(ATTNLRP), "abpc", SIGNED)
    scores = [value(index_rows, SCORE, "abpc", method) for method in (SIGNED, ATTNLRP)]
    assert gap == pytest.approx(scores[0] - scores[1], abs=1e-12)
    assert len([row for row in index_rows if row[0] == CURVE]) == 11 * 4 * 11


def test_the_relevance_of_positions_is_that_of_the_split_of_logits(tmp_path: Path) -> None:
    """By hand, from what the parts of every layer and head are."""
    condition = AttributionCondition(INDEX)
    net = net_of(condition, MICRO, 3, JobContext(tmp_path, nothing))
    texts = known_texts(net, 4, seed=4)
    rows = {(row[0], row[2], row[3]): row[4] for row in slot_rows(net, texts, 4)}
    shares, on_slot = [], []
    for text in texts:
        attribution = attribute(net, list(text.ids))
        if attribution.output.index != text.answer:
            continue
        position, content = 0.0, 0.0
        by_key = [0.0] * len(text.ids)
        for split in attribution.relevance.splits:
            for head in range(MICRO.heads):
                for key in range(len(text.ids)):
                    by_key[key] += abs(float(split.position.by_key_HK[head, key]))
                    content += abs(float(split.content.by_key_HK[head, key]))
        position = sum(by_key)
        shares.append(position / (position + content))
        on_slot.append(by_key[text.deciding[0]] / position)
    assert rows[SLOTS, None, POSITION_SHARE] == pytest.approx(np.mean(shares))
    assert rows[SLOTS, None, ON_SLOT] == pytest.approx(np.mean(on_slot))
    assert rows[SLOTS, None, EVEN] == pytest.approx(1 / 7)
    assert rows[AROUND, 0.0, ON_SLOT] == pytest.approx(np.mean(on_slot))


def test_slots_around_one_are_those_of_the_text() -> None:
    shares = profile(np.array([1.0, 2.0, 5.0, 2.0]), 2)
    assert len(shares) == 2 * REACH + 1
    assert shares[REACH - 2 : REACH + 2] == pytest.approx([0.1, 0.2, 0.5, 0.2])
    assert np.isnan(shares[: REACH - 2]).all() and np.isnan(shares[REACH + 2 :]).all()


def test_without_rotations_there_is_nothing_on_slots(tmp_path: Path) -> None:
    rows = rows_of(AttributionCondition(ROLES), tmp_path)
    assert not [
        row for row in rows if row[0] in (SLOTS, AROUND)
    ]  # a table is part of what queries and keys are made of
    assert value(rows, SCORE, "abpc", ATTNLRP) != 0


def test_texts_of_the_built_in_model_are_of_one_task(tmp_path: Path) -> None:
    for source in (NUMBER, LETTER):
        condition = AttributionCondition(source)
        net = net_of(condition, MICRO, 0, JobContext(tmp_path, nothing))
        texts = texts_of(net, condition, MICRO, 1)
        assert len(texts) == MICRO.texts and {text.source for text in texts} == {source}  # type: ignore[union-attr]
        assert position_sizes(attribute(net, list(texts[0].ids))).shape == (17,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ([3, 2, 1], [3, 2, 1], 0),
        ([3, 2, 1], [1, 2, 3], 1),
        ([3, 2, 1], [6, 4, 2], 0),  # another size is no other order
        ([3, 2, 1, 0], [3, 1, 2, 0], 1 / 6),
        ([1, 1 + 1e-9], [1 + 1e-9, 1], 0),  # rounding
    ],
)
def test_pairs_that_are_reordered(first: list[float], second: list[float], share: float) -> None:
    assert reordered(np.array(first), np.array(second)) == pytest.approx(share)


def test_a_model_of_the_user_is_evaluated_on_its_own_texts(tmp_path: Path) -> None:
    name = model_folder(tmp_path / "llama", model("llama", "LlamaForCausalLM"), "before")
    scale = prepare(MICRO, Request(model=name))
    condition = conditions(scale)[-1]
    assert condition.name == "next token, llama"
    rows = rows_of(condition, tmp_path)
    measures = {row[5] for row in rows if row[0] == SCORE}
    assert "abpc" in measures and "miou" not in measures  # which tokens decide is not known
    assert value(rows, TEXTS, "texts") == MICRO.texts
    assert {row[2] for row in rows if row[0] == ORDER} == {SIGNED, "pa-lrp, absolute", "pa-lrp, positive"}


def test_a_model_in_memory_cannot_be_sent_to_other_processes() -> None:
    with pytest.raises(UserError, match="give the name of a model, or its folder"):
        prepare(MICRO, Request(model=torch.nn.Linear(1, 1)))
    assert prepare(MICRO, Request(model="tiny", seeds=2)) == replace(MICRO, seeds=2)
    loading = LoadSettings(dtype="float64")
    assert conditions(prepare(MICRO, Request(model="a/b", loading=loading)))[-1].loading == loading


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    return run_micro("attribution", SCALES, MICRO, tmp_path_factory.mktemp("study"), seeds=2)


def test_seeds_are_averaged(outcome: StudyRun) -> None:
    rows = outcome.result.filter(part=SCORE, subject=INDEX, item=ATTNLRP, measure="abpc")
    single, mean = rows.drop_nulls("seed")["value"], rows.filter(pl.col("seed").is_null())["value"]
    assert len(single) == 2 and mean.item() == pytest.approx(single.mean())
    assert len(outcome.manifest.claims) == 8


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    text = page_without_torch(outcome, tmp_path)
    for words in (
        "Do positions help attribution?",
        "PA-LRP, absolute",
        "Where the relevance of positions falls",
        "rollout",
    ):
        assert words in text


def test_every_chart_can_be_drawn(outcome: StudyRun, tmp_path: Path) -> None:
    pictures = {path.stem for path in outcome.figures(tmp_path)}
    assert {"answer", "answer_mIoU", "gain_mIoU", "slots", "curves_letter"} <= pictures


def test_a_table_without_methods_is_refused(outcome: StudyRun) -> None:
    with pytest.raises(UserError, match="no method that was evaluated; run `wherewhat reproduce attribution` again"):
        page_of_study(outcome.result.clear(), outcome.manifest)


def test_a_study_without_rotations_has_no_slots(outcome: StudyRun) -> None:
    rows = outcome.result.filter(~pl.col("part").is_in([SLOTS, AROUND]))
    page = page_of_study(rows, outcome.manifest)
    assert [section.name for section in page.sections][:3] == ["answer", "gain", "curves"]


def test_scales_have_what_is_compared() -> None:
    assert set(SCALES) == {"tiny", "small"}
    for scale in SCALES.values():
        assert {INDEX, RETRIEVAL} <= set(scale.sources)
        for condition in conditions(scale):
            if condition.source not in (NUMBER, LETTER):
                scale.training(condition.source, 0)
    assert len(conditions(SCALES["small"])) == 6
    assert STUDY.takes == ("--model",)

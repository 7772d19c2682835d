"""The study of scratchpads: its runs, its formats, and what its claims make of tables."""

from pathlib import Path

import pytest
from micro_runs import page_without_torch, run_micro

from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.published.scratchpads import ACCURACY, FORMATS, best_without
from wherewhat.recipes.length import LengthRun
from wherewhat.runs.registry import StudyRun
from wherewhat.stats.intervals import wilson
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.scratchpad.claims import CLAIMS
from wherewhat.studies.scratchpad.names import name_of
from wherewhat.studies.scratchpad.run import run
from wherewhat.studies.scratchpad.settings import SCALES, ScratchpadCondition, ScratchpadScale, conditions, formats_of
from wherewhat.tasks.scratchpad import FORMATS as ALL_FORMATS

MICRO = ScratchpadScale(
    tasks=("addition", "lego"),
    formats=("none", "full", "no_variables"),
    encodings=("none", "rope"),
    lengths="shortest",
    run=LengthRun(layers=1, width=8, heads=2, steps=2, batch=4, warmup=1, samples=10),
    seeds=1,
)
ARMS = tuple(ACCURACY["sum"])


def test_every_published_format_is_one_of_ours() -> None:
    assert set(FORMATS) == set(ALL_FORMATS)
    assert {task: len(next(iter(rows.values()))) for task, rows in ACCURACY.items()} == {
        **dict.fromkeys(("addition", "sum", "parity", "poly"), 8),
        **dict.fromkeys(("lego", "sort_multi", "sort_single"), 6),
    }
    assert ACCURACY["addition"]["none"]["no_rest"] == 0.189 and ACCURACY["lego"]["alibi"]["no_output"] == 0.669
    assert best_without() == (21, 30)


def test_conditions_are_the_formats_that_a_task_can_have() -> None:
    assert formats_of(MICRO, "addition") == ["none", "full", "no_variables"] and formats_of(MICRO, "lego") == [
        "none",
        "full",
    ]
    assert len(conditions(MICRO)) == 10
    for scale in SCALES.values():
        for condition in conditions(scale)[:40]:
            assert scale.task(condition).scratchpad == condition.format


def test_a_run_scores_every_part(tmp_path: Path) -> None:
    rows = run(ScratchpadCondition("addition", "full", "none"), MICRO, 0, JobContext(tmp_path, lambda *_, **__: None))
    measures = {row[5] for row in rows if row[0] == "overall"}
    parts = {f"step {part}" for part in ("input", "computation", "output", "variables", "rest")}
    assert measures == {"exact", "token accuracy", "unreadable steps", *parts}
    tokens = {row[2]: row[6] for row in rows if row[0] == "tokens"}
    assert tokens["train"] is not None and tokens["test"] is not None and tokens["train"] < tokens["test"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    return run_micro("scratchpad", SCALES, MICRO, tmp_path_factory.mktemp("study"))


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    text = page_without_torch(outcome, tmp_path)
    for words in ("Does thinking aloud help?", "full without variables", "no scratchpad", "unreadable", "carry"):
        assert words in text


def test_a_table_without_tests_is_refused(outcome: StudyRun) -> None:
    with pytest.raises(UserError, match="the table has no task that was tested; run `wherewhat reproduce scratchpad`"):
        page_of_study(outcome.result.clear(), outcome.manifest)


# Claims ------------------------------------------------------------------------------------------------------------


def world(accuracy: dict[str, dict[str, dict[str, float]]], learnt: float = 1.0) -> ResultTable:
    """A study with these accuracies on longer inputs, by task, encoding and format, each of 1,000 samples."""
    rows: list[Row] = []
    for task, by_encoding in accuracy.items():
        for encoding, by_format in by_encoding.items():
            for written, value in by_format.items():
                name = name_of(task, written, encoding)
                rows.append(("overall", name, "test", None, 0, "exact", value, *wilson(value, 1000)))
                rows.append(("overall", name, "train", None, 0, "exact", learnt, *wilson(learnt, 1000)))
    scale = ScratchpadScale(tasks=tuple(accuracy), encodings=ARMS, seeds=1)
    table = table_of(rows, scale=scale)
    return table.extended(mean_rows(table.rows.rows()))


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: claim.test(table).verdict for name, claim in CLAIMS.items()}


def test_the_published_table() -> None:
    """In addition, not every gain is clear with 1,000 samples."""
    assert verdicts(world(ACCURACY)) == {"addition": "in part", "others": "agrees", "format": "agrees"}
    assert CLAIMS["addition"].published == (
        "full against no scratchpad, in points: NoPE +7.2, T5 bias +9.0, ALiBi +3.1, partial RoPE +6.3, sinusoids +7.1"
    )


def test_the_opposite_table() -> None:
    harmful = {"addition": {each: {"none": 0.5, "full": 0.1} for each in ARMS}}
    helpful = {task: {each: {"none": 0.1, "full": 0.9} for each in ARMS} for task in ("sum", "parity", "poly")}
    assert verdicts(world({**harmful, **helpful})) == {
        "addition": "disagrees",
        "others": "disagrees",
        "format": "agrees",
    }
    by_encoding = {"sum": {each: {"none": place / 5, "full": place / 5} for place, each in enumerate(ARMS)}}
    assert verdicts(world(by_encoding))["format"] == "disagrees"


@pytest.mark.parametrize(
    ("none", "full", "verdict", "answer"),
    [
        (0.9, 0.1, "in part", "In sum and parity, nets do best without one"),
        (0.1, 0.9, "unknown", "In sum and parity, nets do best with one"),
    ],
)
def test_few_tasks_are_a_first_look(none: float, full: float, verdict: str, answer: str) -> None:
    table = world({task: {each: {"none": none, "full": full} for each in ARMS} for task in ("sum", "parity")})
    result = CLAIMS["others"].test(table)
    assert (result.verdict, result.answer, result.why) == (verdict, answer, "With 2 tasks, a first look.")


def test_formats_that_beat_no_scratchpad_are_named() -> None:
    rows = {each: {"none": 0.5, "full": 0.9 if each == "alibi" else 0.1} for each in ARMS}
    assert CLAIMS["others"].test(world({"sum": rows})).ours == (
        "No scratchpad is best for 4 of 5 pairs of task and encoding; full in sum with ALiBi"
    )


def test_addition_that_was_not_learnt_says_how_much_of_it_was() -> None:
    result = CLAIMS["addition"].test(world({"addition": {"rope_quarter": {"none": 0.0, "full": 0.0}}}, learnt=0.4))
    assert result.ours.endswith("at training lengths, full against no scratchpad: partial RoPE 40\xa0% against 40\xa0%")
    assert CLAIMS["addition"].test(world({"sum": {}})).verdict == "unknown"


def test_a_table_of_nothing_learnt_decides_nothing() -> None:
    assert verdicts(world(ACCURACY, learnt=0.2)) == dict.fromkeys(CLAIMS, "unknown")


def test_nothing_is_best_where_nothing_generalises() -> None:
    nothing = {task: {each: {"none": 0.0, "full": 0.0} for each in ARMS} for task in ("addition", "sum")}
    assert verdicts(world(nothing)) == dict.fromkeys(CLAIMS, "unknown")


def test_scales_train_what_they_say() -> None:
    assert [len(conditions(SCALES[name])) for name in ("tiny", "small")] == [12, 48]

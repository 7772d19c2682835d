"""The study of longer inputs: what its runs measure, how encodings are ranked, and what its claims make of tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from micro_runs import page_without_torch, run_micro

from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.published.length import ACCURACY, GROUPS, ORDER, RANK, winners
from wherewhat.recipes.length import ARMS, LENGTH_TASKS, LENGTHS, LengthRun, arm, sized_task
from wherewhat.runs.registry import StudyRun
from wherewhat.stats.intervals import wilson
from wherewhat.stats.ranks import reciprocal_ranks
from wherewhat.stats.verdict import VERDICTS
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.lengths import accuracy_rows
from wherewhat.studies.engine.results import Cell, ResultTable, Row, table_of
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.studies.length.claims import CLAIMS, head_changes
from wherewhat.studies.length.names import ALL, PUBLISHED, SCORES, name_of
from wherewhat.studies.length.page import colours, dashes
from wherewhat.studies.length.run import STUDY, measured_lengths, run
from wherewhat.studies.length.settings import SCALES, LengthCondition, LengthScale, chosen_encodings, conditions
from wherewhat.studies.length.summary import queries, summary_rows
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.reproduce import reproduce
from wherewhat.training.loop import train
from wherewhat.training.sequence_training import sample_measures

MICRO = LengthScale(
    tasks=("copy_repeat", "addition"),
    encodings=("none", "sinusoidal"),
    lengths="shortest",
    run=LengthRun(layers=1, width=8, heads=2, steps=3, batch=4, warmup=1, samples=40),
    seeds=2,
    texts=2,
)
LENGTHS_SHORTEST = LENGTHS["shortest"]


@pytest.fixture(scope="module", autouse=True)
def short_copies() -> Any:
    """Copying has no entry among the shortest lengths; here it has."""
    LENGTHS_SHORTEST["copy_repeat"] = {"train_length": 3, "test_length": 6, "alphabet": 4}
    yield
    del LENGTHS_SHORTEST["copy_repeat"]


@pytest.fixture(scope="module")
def study_result(short_copies: None) -> StudyResult:
    return STUDY.reproduce(Request(scale=MICRO, seed=3, engine="inline"))


# Runs --------------------------------------------------------------------------------------------------------------


def test_the_rows_tell_what_the_net_decodes(tmp_path: Path) -> None:
    """Against the samples themselves, decoded once more; addition is told by its longer number."""
    condition = LengthCondition("addition", "none")
    rows = run(condition, MICRO, 3, JobContext(tmp_path, lambda *_, **__: None))
    assert {(row[1], row[4]) for row in rows} == {("addition, none", 3)}
    trained, task = train(MICRO.training(condition, 3)), MICRO.task("addition")
    assert (tmp_path / "training" / "model").is_dir()
    for split, item in (("valid", "train"), ("test", "test")):
        batch = task.batch(4, split, np.arange(40))
        measured = sample_measures(trained.net, task, batch)
        records = [task.sample(4, split, index) for index in range(40)]
        sizes = np.array([max(record["length"]) for record in records])
        overall = {row[5]: row[6:] for row in rows if row[0] == "overall" and row[2] == item}
        exact = float(measured["exact"].mean())
        assert overall["exact"] == pytest.approx((exact, *wilson(exact, 40)))
        tokens = np.array([len(record["target"]) for record in records])
        weighted = {
            size: np.average(measured["token accuracy"][sizes == size], weights=tokens[sizes == size])
            for size in set(sizes)
        }
        ours = {row[3]: row[6] for row in rows if (row[0], row[2], row[5]) == ("length", item, "token accuracy")}
        assert ours == pytest.approx({float(size): value for size, value in weighted.items()})
    heads = {(row[3], row[5]) for row in rows if row[0] == "heads"}
    assert heads == {(float(at), score) for at in (3, 5, 6) for score in SCORES}


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    condition, context = LengthCondition("copy_repeat", "none"), JobContext(tmp_path, lambda *_, **__: None)
    first = run(condition, MICRO, 3, context)
    assert run(condition, MICRO, 3, context) == first


@pytest.mark.parametrize("task", LENGTH_TASKS)
def test_heads_are_measured_at_three_lengths(task: str) -> None:
    lengths = measured_lengths(sized_task(task, "short"))
    assert [split for split, _ in lengths] == ["valid", "test", "test"]
    assert lengths[0][1] < lengths[1][1] < lengths[2][1]


def test_rows_of_training_lengths_and_of_longer_ones(study_result: StudyResult) -> None:
    table = ResultTable(study_result.result)
    lengths = table.where(part="length", subject="copy_repeat, none", seed=None, measure="exact")
    assert sorted(lengths.filter(lengths["item"] == "train")["at"]) == [2, 3]
    assert sorted(lengths.filter(lengths["item"] == "test")["at"]) == [4, 5, 6]
    assert {claim.verdict for claim in study_result.claims} <= set(VERDICTS)
    assert (
        "Not learnt at training lengths, from at least one seed: copy_repeat with NoPE, sinusoids; addition with NoPE, "
        "sinusoids." in study_result.notes
    )


def test_the_page_is_drawn_without_torch(study_result: StudyResult, tmp_path: Path) -> None:
    outcome = reproduce_micro(tmp_path)
    text = page_without_torch(outcome, tmp_path)
    for words in ("Longer than it was trained on", "copy_repeat", "NoPE", "sinusoids"):
        assert words in text


def reproduce_micro(tmp_path: Path) -> StudyRun:
    return run_micro("length", SCALES, replace(MICRO, seeds=1), tmp_path / "study")


def test_every_encoding_has_a_line_of_its_own() -> None:
    encodings = chosen_encodings(["all"])
    drawn, stroked = colours(encodings), dashes(encodings)
    assert len({(str(drawn[name]), tuple(stroked[name])) for name in map(label, encodings)}) == len(encodings)


def test_a_table_without_tests_is_refused(tmp_path: Path) -> None:
    outcome = reproduce_micro(tmp_path)
    with pytest.raises(
        UserError, match="the table has no task that was tested; run `wherewhat reproduce length` again"
    ):
        page_of_study(outcome.result.clear(), outcome.manifest)


# Choosing ----------------------------------------------------------------------------------------------------------


def test_every_encoding_can_be_compared() -> None:
    everything = chosen_encodings(["all"])
    assert everything[: len(ARMS)] == tuple(ARMS) and len(everything) > 25
    for name in everything:
        LengthRun().settings(sized_task("copy_repeat", "short"), arm(name), 0)
    assert arm("rope_quarter").encoding_options(16) == {"layout": "interleaved", "rotary_dim": 4}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encodings": ("rope", "rope")}, "the encoding rope was named twice; name each encoding once"),
        ({"encodings": ("roep",)}, "unknown encoding 'roep'; did you mean 'rope'?"),
        ({"encodings": ("all", "roep")}, "unknown encoding 'roep'; did you mean 'rope'?"),
        ({"shift": -1}, "shift is -1; give 0 or how far positions may be moved, such as 64"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused_before_training(
    options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        reproduce("length", folder=tmp_path / "study", **options)
    assert sentence in str(refused.value) and not (tmp_path / "study").exists()


def test_only_length_takes_encodings_and_a_shift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "canonical", "--shift", "4", "--out", str(tmp_path / "x")]) == 2
    assert "canonical has its own conditions; leave --shift out (length takes it)" in capsys.readouterr().err


def test_no_encodings_at_all_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for nothing in ("", " , "):
        assert main(["reproduce", "length", "--encodings", nothing, "--out", str(tmp_path / "x")]) == 2
        assert f"--encodings is '{nothing}'; name encodings, such as none,rope, or all" in capsys.readouterr().err


def test_scales_are_the_planned_ones() -> None:
    assert [len(conditions(SCALES[name])) * SCALES[name].seeds for name in ("tiny", "small", "paper")] == [18, 48, 306]
    assert SCALES["paper"].tasks == LENGTH_TASKS and len(LENGTH_TASKS) == len(ACCURACY) == 17


def test_published_winners() -> None:
    """As the publication counts them: no encoding wins 9 of 17 tasks."""
    won = [winners(task) for task in LENGTH_TASKS]
    assert sum(names == ("none",) for names in won) == 9
    assert {len(row) for row in (*ACCURACY.values(), *RANK.values())} == {len(ORDER)}


# Ranks -------------------------------------------------------------------------------------------------------------


def world(test: dict[str, dict[str, float]], train: float | dict[str, float] = 1.0, seeds: int = 1) -> ResultTable:
    """A study in which every encoding has these accuracies on longer inputs."""
    encodings = tuple(next(iter(test.values())))
    rows: list[Row] = []
    for seed in range(seeds):
        for task, row in test.items():
            learnt = train if isinstance(train, float) else train.get(task, 1.0)
            for encoding, value in row.items():
                name = name_of(task, encoding)
                rows.append(("overall", name, "test", None, seed, "exact", value, max(0.0, value - 0.02), value + 0.02))
                rows.append(("overall", name, "train", None, seed, "exact", learnt, learnt, learnt))
    scale = LengthScale(tasks=tuple(test), encodings=encodings, seeds=seeds)
    table = table_of(rows, scale=scale)
    return table.extended(summary_rows(table))


def test_reciprocal_ranks_are_the_published_example() -> None:
    vectors = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["mrr"]
    for ties in ("average", "first"):
        ours = np.mean([reciprocal_ranks(row, ties=ties) for row in vectors["accuracy"]], axis=0)
        assert ours == pytest.approx(vectors[f"mrr_{ties}"])


def test_mean_reciprocal_ranks_of_a_table() -> None:
    accuracy = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["mrr"]
    tasks = ("copy_repeat", "reverse", "sum")
    rows = {task: dict(zip(ORDER, row, strict=True)) for task, row in zip(tasks, accuracy["accuracy"], strict=True)}
    table = world(rows)
    for view in (ALL, PUBLISHED):
        for measure, known in (("mrr", "mrr_average"), ("mrr first", "mrr_first")):
            ours = [table.value(each, Cell("rank", measure, view)) for each in ORDER]
            assert ours == pytest.approx(accuracy[known])
    assert table.value("none", Cell("rank", "mean accuracy", ALL)) == pytest.approx(1.1 / 3)
    assert table.value("none", Cell("rank", "mrr", "maths")) == pytest.approx(1 / 3)
    row = table.row("none", Cell("rank", "mrr", ALL))
    assert row is not None and row["low"] <= row["value"] <= row["high"]


def test_only_tasks_that_enough_encodings_learn_are_ranked() -> None:
    test = {task: dict.fromkeys(ORDER, 0.1) for task in ("reverse", "lego", "sum")}
    assert {query.task for query in queries(world(test, {"reverse": 0.89, "lego": 0.8, "sum": 0.9}))} == {"lego", "sum"}


# Claims ------------------------------------------------------------------------------------------------------------

PUBLISHED_WORLD = {task: dict(zip(ORDER, row, strict=True)) for task, row in ACCURACY.items()}


def verdict(name: str, table: ResultTable) -> str:
    return CLAIMS[name].test(table).verdict


def test_the_published_table_agrees_with_its_claims() -> None:
    table = world(PUBLISHED_WORLD)
    assert {
        name: verdict(name, table) for name in ("order", "repeating", "rotary copies", "winners", "addition", "lego")
    } == dict.fromkeys(("order", "repeating", "rotary copies", "winners", "addition", "lego"), "agrees")
    nope = CLAIMS["nope first"].test(table)  # from means over seeds, so not quite the published ranks
    assert nope.ours.startswith("Mean reciprocal rank: NoPE 0.70, T5 bias 0.55, ALiBi 0.48")
    assert nope.verdict == "unknown", "resampling 17 tasks, the lead over T5 bias is not clear"
    assert verdict("full rotation", table) == "unknown" == verdict("heads", table)


def test_the_opposite_table_disagrees() -> None:
    backwards = {task: dict(zip(ORDER, row[::-1], strict=True)) for task, row in ACCURACY.items()}
    table = world(backwards)
    for name in ("nope first", "order", "repeating", "rotary copies"):
        assert verdict(name, table) == "disagrees", name


def test_a_table_of_nothing_learnt_decides_nothing() -> None:
    table = world(PUBLISHED_WORLD, train=0.3)
    assert {verdict(name, table) for name in CLAIMS} == {"unknown"}


def test_full_rotation_is_compared_task_by_task() -> None:
    def table(full: float) -> ResultTable:
        return world({task: {"rope": full, "rope_quarter": 0.2} for task in ("reverse", "sum")})

    assert [verdict("full rotation", table(full)) for full in (0.6, 0.2, 0.0)] == ["seen", "not seen", "not seen"]
    why = CLAIMS["full rotation"].test(table(0.0)).why
    assert why == "Better by more than 5 points in 0 of 2 tasks, worse in 2."


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("nope first", "not compared here: T5 bias, ALiBi, partial RoPE, sinusoids"),
        ("order", "not compared here: T5 bias, ALiBi, partial RoPE, sinusoids"),
        ("repeating", "not compared here: partial RoPE, sinusoids"),
        ("rotary copies", "no task of copying or reversing was learnt with both"),
        ("winners", "not compared here: T5 bias, ALiBi, partial RoPE, sinusoids"),
        ("addition", "addition was not tried"),
        ("lego", "lego was not tried"),
        ("full rotation", "the two are not both compared here"),
        ("heads", "too few nets learnt their task"),
    ],
)
def test_what_stays_open_says_why(name: str, ours: str) -> None:
    """Tasks that were not tried, and encodings that were left out, are not blamed on learning."""
    result = CLAIMS[name].test(world({"copy_repeat": {"none": 1.0, "rope": 0.0}}))
    assert (result.ours, result.verdict) == (ours, "unknown")


def test_what_was_not_learnt_is_said_with_its_encodings() -> None:
    result = CLAIMS["lego"].test(world({"lego": dict.fromkeys(ORDER, 0.5)}, train=0.7))
    assert result.ours == "lego was not learnt with NoPE, T5 bias, ALiBi, partial RoPE, sinusoids"


def test_few_tasks_are_a_first_look() -> None:
    """They can hint at what is claimed, and refute nothing."""
    tasks = ("reverse", "sum", "parity")
    first = {task: dict(zip(ORDER, (0.9, 0.5, 0.4, 0.3, 0.2), strict=True)) for task in tasks}
    last = {task: dict(zip(ORDER, (0.1, 0.5, 0.4, 0.3, 0.2), strict=True)) for task in tasks}
    assert [verdict("nope first", world(each)) for each in (first, last)] == ["in part", "unknown"]
    assert CLAIMS["nope first"].test(world(first)).why == "With 3 tasks, a first look."
    one = CLAIMS["nope first"].test(world({"sum": first["sum"]}))
    assert one.verdict == "unknown" and one.ours.endswith("(1 task)")


def test_winners_share_a_task_and_nobody_wins_at_zero() -> None:
    def row(*values: float) -> dict[str, float]:
        return dict(zip(ORDER, values, strict=True))

    shared = CLAIMS["winners"].test(world({"reverse": row(1, 1, 0, 0, 0), "sum": row(0, 1, 0.5, 0, 0)}))
    assert (shared.ours, shared.verdict) == ("reverse: NoPE, T5 bias; sum: T5 bias", "disagrees")
    nobody = CLAIMS["winners"].test(world({"reverse": row(0, 0, 0, 0, 0), "sum": row(0, 1, 0.5, 0, 0)}))
    assert (nobody.ours, nobody.verdict) == ("fewer than two tasks have a winner", "unknown")


def test_alibi_leads_in_lego_only_by_more_than_its_interval() -> None:
    def table(alibi: float) -> ResultTable:
        return world({"lego": dict(zip(ORDER, (0.6, 0.6, alibi, 0.6, 0.5), strict=True))})

    assert [verdict("lego", table(alibi)) for alibi in (0.7, 0.61, 0.5)] == ["agrees", "unknown", "disagrees"]


def test_heads_that_change_are_compared_with_accuracy() -> None:
    tasks, encodings = ("reverse", "sum"), ("none", "alibi", "rope")
    moves = {"none": 0.0, "alibi": 0.2, "rope": 0.5}
    base = world({task: {each: 1 - 2 * moves[each] for each in encodings} for task in tasks}, seeds=2)
    rows: list[Row] = [
        ("heads", name_of(task, each), "L0H0", at, seed, score, value, None, None)
        for task in tasks
        for each in encodings
        for score in SCORES
        for seed, sign in enumerate((1, -1))  # one goes up and one down: their mean would not change
        for at, value in ((10.0, 0.5), (15.0, 0.9), (20.0, 0.5 + sign * moves[each]))
    ]
    table = base.extended(rows)
    assert head_changes(table, "entropy")["sum, rope"] == pytest.approx((0.5, 0.0))
    assert verdict("heads", table) == "seen"


def test_groups_are_those_of_the_publication() -> None:
    assert [len(names) for names in GROUPS.values()] == [8, 7, 2]


def test_accuracy_rows_need_no_second_evaluation(tmp_path: Path) -> None:
    trained = train(MICRO.training(LengthCondition("copy_repeat", "none"), 0))
    rows = list(accuracy_rows(trained, MICRO.task("copy_repeat")))
    assert {row[0] for row in rows} == {"overall", "length"}

"""The study of row sums: what its runs measure slot by slot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from micro_runs import page_without_torch, run_micro
from row_sums_nets import MICRO, factors_net, first_batch

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.encodings.urpe import Urpe
from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.jobs.job import JobContext
from wherewhat.nets.attention import self_attentions
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.published.row_sums import BY_TASK
from wherewhat.runs.registry import StudyRun
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.results import Row
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    BOUND,
    DISTANCE,
    FAILED,
    FILLER,
    FIRST_HALF,
    FREE,
    LONGER,
    ORDER,
    SOLVED,
)
from wherewhat.studies.row_sums.notes import SINGLE_SEED, notes_of
from wherewhat.studies.row_sums.run import (
    end_rows,
    equal_rows,
    even_rows,
    longer_rows,
    run,
)
from wherewhat.studies.row_sums.settings import ARMS, SCALES, RowSumCondition, conditions
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import train
from wherewhat.training.slot_training import right_slots


def rows_of(condition: RowSumCondition, tmp_path: Path) -> list[Row]:
    return run(condition, MICRO, 3, JobContext(tmp_path, lambda *_, **__: None))


def test_the_rows_tell_which_slots_are_right(tmp_path: Path) -> None:
    condition = RowSumCondition("even", "urpe over t5_bias")
    rows = rows_of(condition, tmp_path)
    net = train(MICRO.training(condition, 3)).net
    right_NT = right_slots(net, MICRO.even, seed=4, samples=30)
    ours = {row[2]: row[6] for row in rows if row[0] == "accuracy"}
    assert ours[ALL] == pytest.approx(right_NT.mean()) and ours[FIRST_HALF] == pytest.approx(right_NT[:, :4].mean())
    by_slot = [row[6] for row in rows if row[0] == "slot"]
    assert by_slot == pytest.approx(right_NT.mean(0).tolist())
    longer_NT = right_slots(net, replace(MICRO.even, tokens=12), seed=4, samples=30)
    assert ours[LONGER] == pytest.approx(longer_NT[:, :4].mean())
    logits_TV = net(torch.zeros((1, 8), dtype=torch.int64))[0].detach().numpy()
    spread = np.abs(logits_TV - logits_TV.mean(0)).max() / np.abs(logits_TV).max()
    assert [row[6] for row in rows if row[0] == "constant"] == pytest.approx([spread], rel=1e-3, abs=1e-6)
    assert {row[5] for row in rows if row[0] == "heads"} >= {"entropy", "input.position_share"}


def test_answers_of_the_even_task_are_fillers_or_tokens_of_a_slot() -> None:
    task = EvenTask(tokens=8, n_tok=50)
    batch = first_batch(task, 40)
    input_NT = batch.input_NT
    answer_NT = np.full((40, 8), task.n_tok)
    answer_NT[:, 0], answer_NT[:, 1], answer_NT[:10, 2], answer_NT[10:, 3] = (
        input_NT[:, 1],  # right
        input_NT[:, 5],  # right is 3
        input_NT[:10, 5],  # mostly filler
        input_NT[10:, 6],  # right is 7
    )
    rows = list(even_rows(task, batch, answer_NT))
    fillers = [row[4] for row in rows if row[3] == FILLER.measure]
    assert fillers == [0.0, 0.0, 0.75, 0.25, 1.0, 1.0, 1.0, 1.0]
    assert {row[2]: row[4] for row in rows if row[3] == DISTANCE.measure} == {0.0: 0.0, 1.0: 2.0, 3.0: 1.0}
    assert not list(even_rows(PositionTask(tokens=8, n_tok=4), batch, answer_NT))


def test_equal_tokens_are_scored_in_both_halves() -> None:
    net, task = factors_net(), EvenTask(tokens=8, n_tok=7)
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias[7] = 100.0  # always the filler
    assert next(iter(equal_rows(net, task)))[4] == 0.5


def test_equal_tokens_are_all_tokens_one_after_the_other() -> None:
    net, task = factors_net(), EvenTask(tokens=8, n_tok=3)
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias[2] = 100.0  # right in the first half of one of three sequences
    assert next(iter(equal_rows(net, task)))[4] == pytest.approx(1 / 6)


def test_what_is_known_about_ends_is_that_of_a_plain_loop() -> None:
    task, answer_NT = PositionTask(tokens=16, n_tok=4), np.random.default_rng(0).integers(0, 16, size=(5, 16))
    answer_NT[:, :9] = np.arange(9)
    known: dict[str, list[float]] = {"outer": [], "inner": []}
    for answer_T in answer_NT.tolist():
        of_slot = []
        for slot in range(16):
            elsewhere = sum(answer == slot for at, answer in enumerate(answer_T) if at != slot)
            of_slot.append((answer_T[slot] == slot) - elsewhere / 15)
        outer = [value for slot, value in enumerate(of_slot) if slot in (0, 1, 14, 15)]
        inner = [value for slot, value in enumerate(of_slot) if slot not in (0, 1, 14, 15)]
        known["outer"].append(sum(outer) / 4)
        known["inner"].append(sum(inner) / 12)
    known["gap"] = [outer - inner for outer, inner in zip(known["outer"], known["inner"], strict=True)]
    del known["outer"]
    rows = {row[3]: row[4:] for row in end_rows(task, answer_NT)}
    assert rows == {name: pytest.approx(student(values)) for name, values in known.items()}


def test_other_errors_on_longer_inputs_are_no_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise UserError("something else")

    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", fails)
    net = build(NetConfig(vocabulary=8, width=8, layers=1, heads=2, length=8, kind="encoder"), seed=1)
    with pytest.raises(UserError, match="something else"):
        list(longer_rows(net, PositionTask(tokens=8, n_tok=4), 1, MICRO))


def test_answers_on_longer_inputs_are_among_those_of_training() -> None:
    net = build(NetConfig(vocabulary=16, width=8, layers=1, heads=2, length=16, kind="encoder"), seed=1)
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias.zero_()
        net.head.bias[10], net.head.bias[3] = 100.0, 50.0  # slot 10 is in longer inputs alone, so it was never trained
    longer, order = longer_rows(net, PositionTask(tokens=8, n_tok=4), 1, MICRO)
    assert longer[:4] == ("accuracy", LONGER, None, "accuracy") and longer[4] == 1 / 8
    assert order[:4] == (ORDER.part, "", None, ORDER.measure) and order[4] == 0.0


def test_answers_on_longer_inputs_may_be_in_order_and_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    stretched_NT = np.tile(np.arange(12) * 8 // 12, (3, 1))  # as if the longer input were all of the shorter one
    lengths: list[int] = []

    def answer_stretched(net: Trunk, task: SlotTask, input_NT: Ints) -> Ints:
        lengths.append(input_NT.shape[1])
        return stretched_NT

    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", answer_stretched)
    net = build(NetConfig(vocabulary=8, width=8, layers=1, heads=2, length=8, kind="encoder"), seed=1)
    longer, order = longer_rows(net, PositionTask(tokens=8, n_tok=4), 1, replace(MICRO, samples=3))
    assert longer[4] == 1 / 8
    assert order[4] == pytest.approx(np.corrcoef([0, 0, 1, 2, 2, 3, 4, 4], range(8))[0, 1])
    assert len(list(longer_rows(net, EvenTask(tokens=8, n_tok=4), 1, replace(MICRO, samples=3)))) == 1
    assert lengths == [12, 12]


def test_a_preference_for_the_last_slot_is_no_knowledge_about_it() -> None:
    answer_NT = np.full((5, 8), 7)
    for row in end_rows(PositionTask(tokens=8, n_tok=4), answer_NT):
        assert row[4:] == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert not list(end_rows(EvenTask(tokens=8, n_tok=4), answer_NT))


def test_an_encoding_that_knows_no_longer_inputs_refuses_them(tmp_path: Path) -> None:
    rows = rows_of(RowSumCondition("position", "learned"), tmp_path)
    assert [row[6] for row in rows if row[0] == "refused"] == [1.0]
    assert not [row for row in rows if row[2] == LONGER and row[0] == "accuracy"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    return run_micro("row-sums", SCALES, MICRO, tmp_path_factory.mktemp("study"))


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    text = page_without_torch(outcome, tmp_path)
    for words in ("What row sums forbid", "urpe over t5_bias", "refused", "How URPE tells slots is unknown"):
        assert words in text


def test_a_table_without_tests_is_refused(outcome: StudyRun) -> None:
    with pytest.raises(
        UserError, match="the table has no task that was tested; run `wherewhat reproduce row-sums` again"
    ):
        page_of_study(outcome.result.clear(), outcome.manifest)


def test_every_kind_of_encoding_is_in_every_scale() -> None:
    for scale in SCALES.values():
        assert {ARMS[name].kind for name in scale.encodings} == {BOUND, FREE, ADDED}
        assert any(ARMS[name].bias for name in scale.encodings)
        assert set(scale.encodings) >= {name for of_task in BY_TASK.values() for name in of_task}  # what was published
        for condition in conditions(scale)[:3]:
            settings = scale.training(condition, 0)
            assert settings.net.kind == "encoder" and settings.weight_decay == 0.0
        for task, steps in (("position", scale.position_steps), ("even", scale.even_steps)):
            settings = scale.training(RowSumCondition(task, scale.encodings[0]), 0)
            assert settings.steps == settings.evaluate_every == steps
    assert len(conditions(SCALES["small"])) == 18
    assert SCALES["tiny"].even_steps == SCALES["small"].even_steps  # with fewer, URPE does not solve it


def test_notes_name_the_bars_and_what_a_single_seed_leaves_open() -> None:
    alone, several = (notes_of(SCALES["tiny"], seeds) for seeds in (1, 2))
    bars = (
        f"solved above {percent(SOLVED)} and as not solved below {percent(FAILED)}, of the even task in its first half"
    )
    assert any(bars in note for note in alone)
    assert set(alone) - set(several) == {SINGLE_SEED}


@pytest.mark.parametrize("name", [name for name, arm in ARMS.items() if arm.kind == FREE])
def test_urpe_is_over_the_encoding_that_its_name_says(name: str) -> None:
    over = name.removeprefix("urpe over ")
    assert ARMS[name].options["over"] == over
    net = build(MICRO.training(RowSumCondition("position", name), 0).net, seed=0)
    urpe = net.encoding(0)
    assert isinstance(urpe, Urpe) and type(urpe.over) is ENCODINGS[over].cls


def test_paper_scale_is_as_published() -> None:
    scale, condition = SCALES["paper"], RowSumCondition("even", "toeplitz")
    assert {(task.tokens, task.n_tok) for task in (scale.position, scale.even)} == {(128, 980)}
    assert (scale.layers, scale.width, scale.heads) == (3, 768, 12)
    assert (scale.position_steps, scale.even_steps, scale.samples) == (40_000, 40_000, 6400)
    settings = scale.training(condition, 0)
    assert (settings.batch, settings.learning_rate, settings.warmup) == (128, 7e-5, 6000)
    assert (settings.net.layers, settings.net.width, settings.net.heads, settings.net.length) == (3, 768, 12, 128)
    assert (settings.steps, settings.evaluate_samples, settings.weight_decay) == (40_000, 6400, 0.0)


def test_notes_name_the_biases_and_the_norm_that_nets_here_lack() -> None:
    net = build(MICRO.training(RowSumCondition("position", "none"), 0).net, seed=0)
    assert all(module.qkv.bias is None and module.out.bias is None for module in self_attentions(net))
    ids_BT = torch.arange(4)[None]
    assert torch.equal(net.embedded(ids_BT), net.tokens(ids_BT))  # no norm between the embedding and the first block
    missing = "projections of attention have no biases here and the embedding has no norm"
    assert any(missing in note for note in notes_of(SCALES["paper"], seeds=3))

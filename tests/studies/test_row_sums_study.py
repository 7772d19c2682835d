"""The study of row sums: what its runs measure slot by slot."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from micro_runs import page_without_torch, run_micro
from scipy.stats import entropy
from torch import Tensor

from wherewhat.encodings.t5_bias import bucket
from wherewhat.encodings.urpe import Urpe
from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.published.row_sums import BY_TASK
from wherewhat.runs.registry import StudyRun
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.results import Row, table_of
from wherewhat.studies.pages import page_of_study
from wherewhat.studies.row_sums.interventions import (
    Change,
    changed_rows,
    entropies,
    given_sums,
    mirrored_sums,
    row_sums,
    sums_alone,
    unit_sums,
)
from wherewhat.studies.row_sums.linear_fit import linear_r_squared
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    ALONE_ERROR,
    ALONE_FOLLOWS,
    BOUND,
    DISTANCE,
    FAILED,
    FILLER,
    FIRST_HALF,
    FOLLOWS,
    FREE,
    LINEAR_FIT,
    LONGER,
    MIRRORED,
    MIRRORED_ERROR,
    ORDER,
    SOLVED,
    SUMS_ALONE,
    UNIT_SUMS,
    name_of,
)
from wherewhat.studies.row_sums.notes import SINGLE_SEED, notes_of
from wherewhat.studies.row_sums.run import (
    STUDY,
    end_rows,
    equal_rows,
    even_rows,
    longer_rows,
    mirrored_rows,
    run,
    sum_rows,
)
from wherewhat.studies.row_sums.settings import ARMS, SCALES, RowSumCondition, RowSumScale, conditions
from wherewhat.studies.row_sums.summary import baseline_rows, factor_weights, most_frequent_share, random_fits
from wherewhat.tasks.slots import EvenTask, PositionTask
from wherewhat.training.loop import train
from wherewhat.training.slot_training import right_slots

MICRO = RowSumScale(
    position=PositionTask(tokens=8, n_tok=4),
    even=EvenTask(tokens=8, n_tok=4),
    encodings=("none", "rope", "urpe over t5_bias", "learned"),
    layers=1,
    width=8,
    heads=2,
    position_steps=2,
    even_steps=3,
    batch=4,
    learning_rate=1e-2,
    samples=30,
    texts=2,
    seeds=1,
)
THREE = replace(MICRO, samples=3)  # sequences are enough where the net is made by hand


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


def factors_net(layers: int = 1) -> Trunk:
    """An untrained net in float64 with random factors."""
    config = NetConfig(vocabulary=8, width=8, layers=layers, heads=2, length=8, kind="encoder", encoding="urpe")
    net = build(config, seed=1).double().eval()
    with torch.no_grad():
        for weight in net.encodings.parameters():
            weight += torch.randn(weight.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return net


@torch.no_grad()
def test_of_equal_tokens_row_sums_are_all_that_factors_of_one_layer_change() -> None:
    net, ids_BT = factors_net(), torch.full((1, 8), 3)
    free_TV = net(ids_BT)[0]
    with changed_rows(net, [sums_alone]):
        assert torch.allclose(net(ids_BT)[0], free_TV, rtol=0, atol=1e-12)
    assert (free_TV - free_TV[:1]).abs().max() > 1e-3


@torch.no_grad()
def test_rows_that_sum_to_one_again_have_the_limit_again() -> None:
    net, ids_BT = factors_net(layers=3), torch.full((1, 8), 3)
    free_TV = net(ids_BT)[0]
    with changed_rows(net, [unit_sums] * 3):
        bound_TV = net(ids_BT)[0]
    assert torch.allclose(bound_TV, bound_TV[:1].expand_as(bound_TV), rtol=0, atol=1e-12)
    assert torch.allclose(net(ids_BT)[0], free_TV, rtol=0, atol=1e-12)  # it is as it was
    assert (free_TV - free_TV[:1]).abs().max() > 1e-3


@torch.no_grad()
def test_row_sums_are_those_of_factors_where_attention_is_uniform() -> None:
    net = factors_net()
    urpe = net.encoding(0)
    assert isinstance(urpe, Urpe)
    for weight in (net.tokens.weight, *urpe.over.parameters()):
        weight.zero_()  # all logits are equal
    expected_HQ = torch.stack([urpe.table_RH[7 - slot : 15 - slot].mean(0) for slot in range(8)], dim=1)
    assert torch.allclose(row_sums(net, torch.zeros(1, 8, dtype=torch.int64))[0], expected_HQ)


def test_given_sums_are_those_of_a_plain_loop() -> None:
    softmax_BHQK = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    sums_HQ = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    ours_BHQK = given_sums(sums_HQ)(softmax_BHQK, torch.zeros_like(softmax_BHQK))
    for text, head, q, k in np.ndindex(2, 3, 4, 4):
        expected = softmax_BHQK[text, head, q, k] * sums_HQ[head, q]
        assert ours_BHQK[text, head, q, k] == pytest.approx(float(expected), abs=1e-6)


@torch.no_grad()
def test_every_layer_gets_the_mirrored_sums_of_the_net_as_it_is() -> None:
    net, ids_BT = factors_net(layers=2), torch.randint(8, (5, 8), generator=torch.Generator().manual_seed(3))
    sums_LHQ = row_sums(net, ids_BT)
    read: list[tuple[Tensor, Tensor]] = []

    def record(change: Change) -> Change:
        def recorded(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
            changed_BHQK = change(softmax_BHQK, attention_BHQK)
            read.append((changed_BHQK.sum(-1), attention_BHQK.sum(-1).flip(-1)))
            return changed_BHQK

        return recorded

    with changed_rows(net, [record(change) for change in mirrored_sums(net, ids_BT)]):
        net(ids_BT)
    for (ours_BHQ, _), sums_HQ in zip(read, sums_LHQ, strict=True):
        assert torch.allclose(ours_BHQ, sums_HQ.flip(-1).expand_as(ours_BHQ))
    of_this_pass_HQ = read[1][1].mean(0)  # in the second layer, sums of a mirrored pass are others
    assert (of_this_pass_HQ - sums_LHQ[1].flip(-1)).abs().max() > 1e-2


def test_a_change_for_every_layer_is_needed() -> None:
    with pytest.raises(ValueError, match="zip"), changed_rows(factors_net(layers=2), [unit_sums]):
        pass


@torch.no_grad()
def test_entropy_is_that_of_attention_before_the_factors() -> None:
    net, ids_BT = factors_net(layers=2), torch.randint(8, (5, 8), generator=torch.Generator().manual_seed(3))
    softmaxes: list[Tensor] = []

    def record(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
        softmaxes.append(softmax_BHQK)
        return attention_BHQK

    with changed_rows(net, [record] * 2):
        net(ids_BT)
    for ours_H, softmax_BHQK in zip(entropies(net, ids_BT), softmaxes, strict=True):
        expected_H = [entropy(softmax_BHQK[:, head].numpy(), axis=-1, base=8).mean() for head in range(2)]
        assert ours_H.tolist() == pytest.approx(expected_H)


def counting_net() -> tuple[Trunk, PositionTask]:
    """A net that answers each slot by the sum of its row: factors of 2 before the query, 0 from it on; 1 layer."""
    task = PositionTask(tokens=8, n_tok=8)
    net = factors_net()
    urpe = net.encoding(0)
    assert isinstance(urpe, Urpe)
    with torch.no_grad():
        for weight in (net.tokens.weight, *urpe.over.parameters()):
            weight.zero_()
        net.tokens.weight += 1.0 + torch.arange(8.0).double()  # all tokens are the same
        urpe.table_RH.zero_()
        urpe.table_RH[:7] = 2.0
        ids_BT = torch.zeros((1, 8), dtype=torch.int64)
        hidden_TD = net.hidden(ids_BT)[0]
        # The nearest of eight known states: 2 h.s - s.s is highest where h is s.
        net.head.weight.copy_(2 * hidden_TD)
        net.head.bias.copy_(-(hidden_TD**2).sum(-1))
    return net, task


def test_answers_of_a_net_that_counts_follow_mirrored_sums() -> None:
    net, task = counting_net()
    assert right_slots(net, task, seed=1, samples=3).all()
    exact, follows, error = mirrored_rows(net, task, 1, THREE)
    assert exact[:4] == ("accuracy", MIRRORED, None, "accuracy") and exact[4] == 1.0
    assert follows[:4] == (FOLLOWS.part, "", None, FOLLOWS.measure) and follows[4] == pytest.approx(1.0)
    assert error[:4] == (MIRRORED_ERROR.part, "", None, MIRRORED_ERROR.measure) and error[4:] == (0.0, 0.0, 0.0)
    ids_BT = torch.from_numpy(task.batch(1, "test", np.arange(3)).input_NT)
    with changed_rows(net, mirrored_sums(net, ids_BT)):
        assert not right_slots(net, task, seed=1, samples=3).any()
    assert not list(mirrored_rows(net, EvenTask(tokens=8, n_tok=4), 1, THREE))


@pytest.mark.parametrize(
    ("answers", "correlation", "distance"),
    [(range(8), -1.0, 4.0), ([7, 7, 5, 4, 3, 2, 1, 1], 0.98, 0.25), ([3] * 8, 0.0, 2.0)],
)
def test_answers_that_stay_do_not_follow_mirrored_sums(
    answers: Sequence[int], correlation: float, distance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, task = counting_net()
    answer_NT = np.tile(list(answers), (3, 1))
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: answer_NT)
    _, follows, error = mirrored_rows(net, task, 1, THREE)
    assert follows[4] == pytest.approx(correlation, abs=0.01) and error[4] == distance


def test_row_sums_alone_and_unit_sums_are_scored_inside_the_intervention() -> None:
    net, task = factors_net(), EvenTask(tokens=8, n_tok=7)
    rows = {row[1]: row[4] for row in sum_rows(net, task, 1, replace(MICRO, even=task)) if row[0] == "accuracy"}
    for item, change in ((UNIT_SUMS, unit_sums), (SUMS_ALONE, sums_alone)):
        with changed_rows(net, [change]):
            right_NT = right_slots(net, task, seed=1, samples=MICRO.samples)
        assert rows[item] == pytest.approx(right_NT[:, :4].mean())
    assert rows[UNIT_SUMS] != rows[SUMS_ALONE]
    assert not [row for row in sum_rows(net, task, 1, MICRO) if row[0] == ALONE_FOLLOWS.part]  # slots are no answers


def test_of_a_net_that_counts_row_sums_alone_are_enough() -> None:
    net, task = counting_net()
    rows = {(row[0], row[3]): row[4] for row in sum_rows(net, task, 1, THREE)}
    assert rows[ALONE_FOLLOWS[:2]] == pytest.approx(1.0) and rows[ALONE_ERROR[:2]] == 0.0


def test_row_sums_alone_are_scored_by_how_near_answers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    net, task = counting_net()
    answer_NT = np.tile([1, 1, 3, 3, 5, 5, 7, 7], (3, 1))
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: answer_NT)
    rows = {(row[0], row[3]): row[4] for row in sum_rows(net, task, 1, THREE)}
    assert rows[ALONE_FOLLOWS[:2]] == pytest.approx(np.corrcoef(answer_NT[0], range(8))[0, 1])
    assert rows[ALONE_ERROR[:2]] == 0.5


def test_answers_of_the_even_task_are_fillers_or_tokens_of_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    task = EvenTask(tokens=8, n_tok=50)
    input_NT = task.batch(1, "test", np.arange(40)).input_NT
    answer_NT = np.full((40, 8), task.n_tok)
    answer_NT[:, 0], answer_NT[:, 1], answer_NT[:10, 2], answer_NT[10:, 3] = (
        input_NT[:, 1],  # right
        input_NT[:, 5],  # right is 3
        input_NT[:10, 5],  # mostly filler
        input_NT[10:, 6],  # right is 7
    )
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: answer_NT)
    rows = list(even_rows(factors_net(), task, 1, 40))
    fillers = [row[4] for row in rows if row[3] == FILLER.measure]
    assert fillers == [0.0, 0.0, 0.75, 0.25, 1.0, 1.0, 1.0, 1.0]
    assert {row[2]: row[4] for row in rows if row[3] == DISTANCE.measure} == {0.0: 0.0, 1.0: 2.0, 3.0: 1.0}
    assert not list(even_rows(factors_net(), PositionTask(tokens=8, n_tok=4), 1, 40))


def test_equal_tokens_are_scored_in_both_halves() -> None:
    net, task = factors_net(), EvenTask(tokens=8, n_tok=7)
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias[7] = 100.0  # always the filler
    assert next(iter(equal_rows(net, task)))[4] == 0.5


def test_what_is_known_about_ends_is_that_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    task, answer_NT = PositionTask(tokens=16, n_tok=4), np.random.default_rng(0).integers(0, 16, size=(5, 16))
    answer_NT[:, :9] = np.arange(9)
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: answer_NT)
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
    rows = {row[3]: row[4:] for row in end_rows(factors_net(), task, seed=1, samples=5)}
    assert rows == {name: pytest.approx(student(values)) for name, values in known.items()}


@pytest.mark.parametrize(
    ("sums", "fit"),
    [
        ([1.0, 3.0, 5.0, 7.0], 1.0),
        ([7.0, 5.0, 3.0, 1.0], 1.0),
        ([4.0, 1.0, 0.0, 1.0, 4.0], 0.0),
        ([1.0, 1.0, 1.0 + 1e-6, 1.0], 0.0),
        ([0.0, 0.0, 3.0], 0.75),
    ],
    ids=["line", "falling", "parabola", "constant", "step"],
)
def test_r_squared_of_known_sums(sums: list[float], fit: float) -> None:
    assert linear_r_squared(np.array([sums]))[0] == pytest.approx(fit, abs=1e-12)


def test_random_fits_are_those_of_plain_loops() -> None:
    factors_DHR = np.random.default_rng(5).standard_normal((20, 2, 11))
    for draw, fit in enumerate(random_fits(factor_weights(6, "offset"), 2, draws=20, seed=5)):
        sums_HS = [[factors[5 - slot : 11 - slot].mean() for slot in range(6)] for factors in factors_DHR[draw]]
        assert fit == pytest.approx(max(np.corrcoef(sums_S, range(6))[0, 1] ** 2 for sums_S in sums_HS))


def test_sums_of_factors_per_bucket_are_those_of_plain_loops() -> None:
    tokens, buckets = 40, 64
    weights_RS = np.zeros((buckets, tokens))
    for slot in range(tokens):
        for key in range(tokens):
            of_key = bucket(torch.tensor(slot - key), causal=False, buckets=buckets, max_distance=2 * buckets)
            weights_RS[int(of_key), slot] += 1 / tokens
    assert factor_weights(tokens, "bucket") == pytest.approx(weights_RS)


def test_the_baseline_has_random_factors_of_every_kind_in_the_study() -> None:
    fits = {row[2]: row[6:] for row in baseline_rows(table_of([], scale=SCALES["tiny"])) if row[5] == LINEAR_FIT}
    assert set(fits) == {"offset", "bucket"}
    assert fits["bucket"][2] > fits["offset"][2]  # far distances share a factor, so sums are smoother


def test_the_best_guess_without_positions_is_that_of_a_plain_loop() -> None:
    task, shares = EvenTask(tokens=6, n_tok=3), []
    for ids in task.batch(2, "test", np.arange(40)).input_NT.tolist():
        for slot in range(3):
            others = [id for at, id in enumerate(ids) if at != slot]
            most = [id for id in range(3) if others.count(id) == max(map(others.count, range(3)))]
            shares.append((ids[2 * slot + 1] in most) / len(most))
    assert most_frequent_share(task, seed=2, samples=40) == pytest.approx(np.mean(shares))


def test_means_over_seeds_leave_out_single_heads_and_may_be_negative() -> None:
    subject = name_of("position", "rope")
    rows: list[Row] = []
    for seed, value in enumerate((-0.4, -0.2)):
        rows.append(("ends", subject, "", None, seed, "gap", value, value, value))
        rows.append((ORDER.part, subject, "", None, seed, ORDER.measure, value, value, value))
        rows.append((ALONE_FOLLOWS.part, subject, "", None, seed, ALONE_FOLLOWS.measure, value, value, value))
        rows.append((ALONE_ERROR.part, subject, "", None, seed, ALONE_ERROR.measure, 3.0 + value, 3.0, 4.0))
        rows.append((DISTANCE.part, subject, "", 1.0, seed, DISTANCE.measure, 2.0, None, None))
        rows.append(("accuracy", subject, ALL, None, seed, "accuracy", 0.5 + value, 0.0, 1.0))
        rows.append(("row sums", subject, "L0H0", None, seed, LINEAR_FIT, 0.5, None, None))
        rows.append(("heads", subject, "L0H0", None, seed, "entropy", 0.5, None, None))
    baseline = ("baseline", "", "", None, None, LINEAR_FIT, 0.5, 0.1, 0.9)
    means = {row[0]: row for row in STUDY.summarise(table_of([baseline, *rows])) if row[5] != ALONE_ERROR.measure}
    assert set(means) == {"ends", ORDER.part, ALONE_FOLLOWS.part, "accuracy"} and means["ends"][4] is None
    (error,) = [row for row in STUDY.summarise(table_of(rows)) if row[5] == ALONE_ERROR.measure]
    assert error[6] == pytest.approx(2.7) and error[8] > 3.0  # slots are no shares
    for part in ("ends", ORDER.part, ALONE_FOLLOWS.part):
        assert means[part][6] == pytest.approx(-0.3) and means[part][7] == -1.0
    assert means["accuracy"][6] == pytest.approx(0.2) and means["accuracy"][7] == 0.0


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
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: stretched_NT)
    net = build(NetConfig(vocabulary=8, width=8, layers=1, heads=2, length=8, kind="encoder"), seed=1)
    longer, order = longer_rows(net, PositionTask(tokens=8, n_tok=4), 1, replace(MICRO, samples=3))
    assert longer[4] == 1 / 8
    assert order[4] == pytest.approx(np.corrcoef([0, 0, 1, 2, 2, 3, 4, 4], range(8))[0, 1])
    assert len(list(longer_rows(net, EvenTask(tokens=8, n_tok=4), 1, replace(MICRO, samples=3)))) == 1


def test_a_preference_for_the_last_slot_is_no_knowledge_about_it() -> None:
    net, task = factors_net(), PositionTask(tokens=8, n_tok=4)
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias[7] = 100.0
    for row in end_rows(net, task, seed=1, samples=5):
        assert row[4:] == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert not list(end_rows(net, EvenTask(tokens=8, n_tok=4), seed=1, samples=5))


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

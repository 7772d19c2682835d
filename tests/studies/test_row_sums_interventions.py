"""What interventions on row sums do to nets, and what is measured of answers under them."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from row_sums_nets import MICRO, counting_net, factors_net, first_batch
from scipy.stats import entropy
from torch import Tensor

from wherewhat.encodings.urpe import Urpe
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
from wherewhat.studies.row_sums.names import (
    ALONE_ERROR,
    ALONE_FOLLOWS,
    FOLLOWS,
    MIRRORED,
    MIRRORED_ERROR,
    SUMS_ALONE,
    UNIT_SUMS,
)
from wherewhat.studies.row_sums.run import (
    mirrored_rows,
    sum_rows,
)
from wherewhat.tasks.slots import EvenTask
from wherewhat.training.slot_training import right_slots


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


def test_answers_of_a_net_that_counts_follow_mirrored_sums() -> None:
    net, task = counting_net()
    assert right_slots(net, task, seed=1, samples=3).all()
    exact, follows, error = mirrored_rows(net, task, first_batch(task, 3), MICRO.texts)
    assert exact[:4] == ("accuracy", MIRRORED, None, "accuracy") and exact[4] == 1.0
    assert follows[:4] == (FOLLOWS.part, "", None, FOLLOWS.measure) and follows[4] == pytest.approx(1.0)
    assert error[:4] == (MIRRORED_ERROR.part, "", None, MIRRORED_ERROR.measure) and error[4:] == (0.0, 0.0, 0.0)
    ids_BT = torch.from_numpy(task.batch(1, "test", np.arange(3)).input_NT)
    with changed_rows(net, mirrored_sums(net, ids_BT)):
        assert not right_slots(net, task, seed=1, samples=3).any()
    even = EvenTask(tokens=8, n_tok=4)
    assert not list(mirrored_rows(net, even, first_batch(even, 3), MICRO.texts))


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
    _, follows, error = mirrored_rows(net, task, first_batch(task, 3), MICRO.texts)
    assert follows[4] == pytest.approx(correlation, abs=0.01) and error[4] == distance


def test_row_sums_alone_and_unit_sums_are_scored_inside_the_intervention() -> None:
    net, task = factors_net(), EvenTask(tokens=8, n_tok=7)
    batch = first_batch(task, MICRO.samples)
    rows = {row[1]: row[4] for row in sum_rows(net, task, batch, MICRO.texts) if row[0] == "accuracy"}
    for item, change in ((UNIT_SUMS, unit_sums), (SUMS_ALONE, sums_alone)):
        with changed_rows(net, [change]):
            right_NT = right_slots(net, task, seed=1, samples=MICRO.samples)
        assert rows[item] == pytest.approx(right_NT[:, :4].mean())
    measured = {row[0] for row in sum_rows(net, task, batch, MICRO.texts)}
    assert ALONE_FOLLOWS.part not in measured  # slots are no answers


def test_of_a_net_that_counts_row_sums_alone_are_enough() -> None:
    net, task = counting_net()
    rows = {(row[0], row[3]): row[4] for row in sum_rows(net, task, first_batch(task, 3), MICRO.texts)}
    assert rows[ALONE_FOLLOWS[:2]] == pytest.approx(1.0) and rows[ALONE_ERROR[:2]] == 0.0
    shares = {row[1]: row[4] for row in sum_rows(net, task, first_batch(task, 3), MICRO.texts) if row[0] == "accuracy"}
    assert shares == {UNIT_SUMS: 1 / 8, SUMS_ALONE: 1.0}  # all slots have the same output if rows sum to one


def test_row_sums_alone_are_scored_by_how_near_answers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    net, task = counting_net()
    answer_NT = np.tile([1, 1, 3, 3, 5, 5, 7, 7], (3, 1))
    monkeypatch.setattr("wherewhat.studies.row_sums.run.slot_answers", lambda *_: answer_NT)
    rows = {(row[0], row[3]): row[4] for row in sum_rows(net, task, first_batch(task, 3), MICRO.texts)}
    assert rows[ALONE_FOLLOWS[:2]] == pytest.approx(np.corrcoef(answer_NT[0], range(8))[0, 1])
    assert rows[ALONE_ERROR[:2]] == 0.5

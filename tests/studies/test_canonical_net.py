"""Heads side by side: written-out gradients against autograd, attention against loops, and runs that never mix."""

from dataclasses import replace
from math import cos, exp, sin

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from wherewhat.studies.canonical import BASES, CONTEXT, SYMBOLS
from wherewhat.studies.canonical.net import AdamState, Net, forward, gradients, learn
from wherewhat.studies.canonical.run import is_correct, train
from wherewhat.studies.canonical.sequences import BatchIndices, TaskSequences, batch_indices, read, training_blocks
from wherewhat.studies.canonical.settings import HEADS, TASKS, CanonicalScale

SOME = (2.0, 0.1, 0.0)
any_case = pytest.mark.parametrize("name", HEADS)


def fine(name: str, seeds: int = 2) -> Net:
    return Net(HEADS[name], SOME, seeds, "float64")


def some_of(name: str, seeds: int = 2, samples: int = 5) -> TaskSequences:
    return read(HEADS[name].task, seeds=range(seeds), split="train", numbers=np.arange(samples))


def loss_by_torch(net: Net, weights_WR: Tensor, some: TaskSequences) -> Tensor:
    """loss_R, the plain way: one run after the other, complex numbers, one-hot values."""
    losses = []
    for run in range(weights_WR.shape[1]):
        seed, number = divmod(run, net.angles)
        key_CM, query_CU, gain = net.split(weights_WR[:, run : run + 1])
        key_NTF = torch.complex(key_CM[0::2, :, 0], key_CM[1::2, :, 0]).T[some.symbol_ENT[seed]]
        query_NF = torch.complex(query_CU[0::2, :, 0], query_CU[1::2, :, 0]).T[some.query_EN[seed]]
        angle_TF = torch.arange(CONTEXT, 0, -1)[:, None] * torch.tensor(net.theta_FA[:, number])
        rotated_NTF = query_NF[:, None] * torch.exp(1j * angle_TF)
        attention_NT = (key_NTF.conj() * rotated_NTF).real.sum(-1).softmax(-1)
        value_NTV = one_hot(torch.tensor(some.value_ENT[seed]).long(), net.shape.answers).double()
        mass_NV = (attention_NT[..., None] * value_NTV).sum(1)
        losses.append(cross_entropy(gain[0].abs() * mass_NV, torch.tensor(some.target_EN[seed]).long()))
    return torch.stack(losses)


@any_case
@pytest.mark.parametrize("gain", [1.3, -0.7])
def test_gradients_are_those_of_autograd(name: str, gain: float) -> None:
    net, some = fine(name), some_of(name)
    weights_WR = np.random.default_rng(3).normal(0, 1.5, (net.weights, net.seeds * net.angles))
    weights_WR[-1] = gain
    theirs = torch.tensor(weights_WR, requires_grad=True)
    loss_R = loss_by_torch(net, theirs, some)
    loss_R.sum().backward()
    ours_loss_R, ours_WR = gradients(net, weights_WR, batch_indices(some))
    np.testing.assert_allclose(ours_loss_R, loss_R.detach().numpy(), rtol=1e-12)
    assert theirs.grad is not None
    np.testing.assert_allclose(ours_WR, theirs.grad.numpy(), atol=1e-13, rtol=1e-10)


@any_case
def test_attention_by_plain_loops(name: str) -> None:
    net, some = fine(name), some_of(name)
    weights_WR = np.random.default_rng(4).normal(0, 1, (net.weights, net.seeds * net.angles))
    key_CMR, query_CUR, _ = net.split(weights_WR)
    attention_TENA = forward(net, weights_WR, batch_indices(some)).attention_TY.reshape(
        CONTEXT, net.seeds, -1, net.angles
    )
    for seed, sample, number in [(0, 0, 0), (1, 4, 1), (1, 2, 2), (0, 3, 1)]:
        run, logits = seed * net.angles + number, []
        for slot in range(CONTEXT):
            total = 0.0
            for plane, theta in enumerate(net.theta_FA[:, number]):
                k = key_CMR[2 * plane : 2 * plane + 2, some.symbol_ENT[seed, sample, slot], run]
                q = query_CUR[2 * plane : 2 * plane + 2, some.query_EN[seed, sample], run]
                c, s = cos(theta * (32 - slot)), sin(theta * (32 - slot))
                total += k[0] * (c * q[0] - s * q[1]) + k[1] * (s * q[0] + c * q[1])
            logits.append(exp(total))
        np.testing.assert_allclose(attention_TENA[:, seed, sample, number], np.array(logits) / sum(logits), rtol=1e-10)


def test_the_mass_on_an_answer_is_the_attention_on_its_slots() -> None:
    net, some = fine("retrieval"), some_of("retrieval")
    activations = forward(net, net.first_weights(range(2), 0.5), batch_indices(some))
    attention_TENA = activations.attention_TY.reshape(CONTEXT, 2, -1, net.angles)
    mass_VENA = activations.mass_VY.reshape(net.shape.answers, 2, -1, net.angles)
    for answer in (0, 7, 31):
        there_TEN = np.moveaxis(some.value_ENT == answer, -1, 0)
        np.testing.assert_allclose(mass_VENA[answer], (attention_TENA * there_TEN[..., None]).sum(0), atol=1e-14)
    np.testing.assert_allclose(mass_VENA.sum(0), 1)


@any_case
def test_a_run_alone_learns_what_it_learns_among_others(name: str) -> None:
    case, steps = HEADS[name], 30
    among = Net(case, SOME, 3, "float64")
    some = read(case.task, seeds=range(4, 7), split="train", numbers=np.arange(16 * steps))
    together = learn(among, AdamState(among.first_weights(range(4, 7), 0.5)), some.batches(16), 1e-2)
    alone = Net(case, SOME[1:2], 1, "float64")
    own = read(case.task, seeds=[5], split="train", numbers=np.arange(16 * steps))
    single = learn(alone, AdamState(alone.first_weights([5], 0.5)), own.batches(16), 1e-2)
    of_run = together.weights_WR[:, 1 * len(SOME) + 1]
    np.testing.assert_allclose(single.weights_WR[:, 0], of_run, rtol=1e-9, atol=1e-12)
    assert np.abs(of_run - together.weights_WR[:, 0]).max() > 0.1


def test_adam_is_that_of_torch() -> None:
    net, some = fine("index", seeds=1), some_of("index", seeds=1, samples=64)
    weights_WR = net.first_weights([0], 0.5)
    theirs = torch.tensor(weights_WR, requires_grad=True)
    adam = torch.optim.Adam([theirs], lr=1e-2)
    for first in range(0, 64, 16):
        adam.zero_grad()
        loss_by_torch(net, theirs, some.part(first, first + 16)).sum().backward()
        adam.step()
    ours = learn(net, AdamState(weights_WR), some.batches(16), 1e-2)
    assert ours.step == 4
    np.testing.assert_allclose(ours.weights_WR, theirs.detach().numpy(), rtol=1e-9)


def test_training_may_stop_and_go_on() -> None:
    net, some = fine("retrieval"), some_of("retrieval", samples=64)
    begin = AdamState(net.first_weights(range(2), 0.5))
    whole = learn(net, begin, some.batches(8), 1e-2)
    halves = learn(net, learn(net, begin, some.part(0, 32).batches(8), 1e-2), some.part(32, 64).batches(8), 1e-2)
    np.testing.assert_array_equal(whole.weights_WR, halves.weights_WR)
    assert not np.any(begin.mean_WR)
    np.testing.assert_array_equal(begin.weights_WR, net.first_weights(range(2), 0.5))


def test_seeds_have_their_own_weights_and_angles_share_them() -> None:
    weights_WEA = Net(HEADS["index"], BASES, 3).first_weights([5, 6, 7], 0.5).reshape(-1, 3, 10)
    assert (weights_WEA == weights_WEA[..., :1]).all()
    assert (weights_WEA[:-1, 0] != weights_WEA[:-1, 1]).all()
    assert (weights_WEA[-1] == 1).all()
    assert weights_WEA[:-1, :, 0].std() == pytest.approx(0.5, rel=0.1)


def test_seeds_have_their_own_sequences() -> None:
    some = some_of("retrieval", seeds=2, samples=50)
    assert (some.symbol_ENT[0] != some.symbol_ENT[1]).any()
    alone = read(HEADS["retrieval"].task, seeds=[1], split="train", numbers=np.arange(50))
    np.testing.assert_array_equal(alone.symbol_ENT[0], some.symbol_ENT[1])


@any_case
def test_sequences_say_where_the_answer_stands(name: str) -> None:
    some = some_of(name, samples=40)
    value_EN = np.take_along_axis(some.value_ENT, some.slot_EN[..., None], -1)[..., 0]
    np.testing.assert_array_equal(value_EN, some.target_EN)
    assert some.symbol_ENT.max() < SYMBOLS
    assert some.query_EN.max() < HEADS[name].queries


def test_lessons_are_fresh_or_go_round() -> None:
    case = HEADS["index"]
    fresh = list(training_blocks(case.task, CanonicalScale(steps=150, batch=4), [0, 1]))
    assert [some.query_EN.shape for some in fresh] == [(2, 400), (2, 200)]
    expected = read(case.task, seeds=[0, 1], split="train", numbers=np.arange(400, 600))
    np.testing.assert_array_equal(fresh[1].symbol_ENT, expected.symbol_ENT)
    (round_,) = training_blocks(case.task, CanonicalScale(steps=40, batch=4, samples=80), [0, 1])
    pool = {row.tobytes() for row in read(case.task, seeds=[0], split="train", numbers=np.arange(80)).symbol_ENT[0]}
    first, second = round_.part(0, 80).symbol_ENT[0], round_.part(80, 160).symbol_ENT[0]
    assert {row.tobytes() for row in first} == {row.tobytes() for row in second} == pool
    assert (first != second).any()


def test_answers_are_counted_right() -> None:
    """A head by hand: with equal symbols in one place each, retrieval without rotation is always right."""
    net, some = Net(HEADS["retrieval"], [0.0], 1, "float64"), some_of("retrieval", seeds=1, samples=300)
    around_M = 2 * np.pi * np.arange(SYMBOLS) / SYMBOLS
    weights_WR = np.zeros((net.weights, 1))
    key_CMR, query_CUR, gain_R = net.split(weights_WR)
    key_CMR[:, :, 0] = query_CUR[:, :, 0] = 20 * np.stack([np.cos(around_M), np.sin(around_M)])
    gain_R[:] = 1
    assert is_correct(net, weights_WR, some).all()
    key_CMR[:, :, 0] = np.roll(key_CMR[:, :, 0], 1, axis=1)
    assert is_correct(net, weights_WR, some).mean() < 0.2


def test_a_few_steps_already_tell_the_angles_apart() -> None:
    scale = replace(CanonicalScale(), seeds=1, steps=200)
    for task, better, worse in zip(TASKS, (0, 9), (9, 0), strict=False):
        blocks: list[int] = []
        (heads,) = train(task, scale, range(1), blocks.append)
        assert blocks == [1, 2]
        some = read(task.name, seeds=range(1), split="valid", numbers=np.arange(1024))
        accuracy_A = is_correct(heads.net, heads.weights_WR, some).mean((0, 1))
        assert accuracy_A[better] > accuracy_A[worse] + 0.15


def test_rows_know_their_samples() -> None:
    rows = batch_indices(some_of("index", seeds=3, samples=7))
    assert isinstance(rows, BatchIndices)
    assert rows.samples == 7
    assert rows.key_X.dtype == np.int32

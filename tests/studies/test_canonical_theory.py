"""Theory of one head: known numbers, formulas against plain loops, and heads by hand against their bounds."""

import json
from math import cos, exp, inf, pi
from pathlib import Path

import numpy as np
import pytest

from wherewhat.studies.canonical import BASES, CONTEXT, TOKENS
from wherewhat.studies.canonical import ONE_PLANE as ONE
from wherewhat.studies.canonical import TWO_PLANES as TWO
from wherewhat.studies.canonical.sequences import TaskSequences, read, task_of
from wherewhat.studies.canonical.settings import HEADS, angle
from wherewhat.studies.canonical.theory import (
    BOUNDS,
    HAND_BUILT,
    hand_built_accuracy,
    index_margin,
    index_norm,
    index_peak,
    retrieval_margin,
    retrieval_norm,
    retrieval_peak,
)

KNOWN = json.loads((Path(__file__).parents[1] / "vectors" / "canonical.json").read_text())


def samples(name: str, blocks: int = 2) -> TaskSequences:
    task = HEADS[name].task
    return read(task, seeds=[1], split="valid", numbers=np.arange(blocks * int(np.prod(task_of(task).cells))))


@pytest.mark.parametrize("base", KNOWN["index_margin"])
def test_margins_that_are_known(base: str) -> None:
    assert index_margin(angle(float(base))) == pytest.approx(KNOWN["index_margin"][base], rel=1e-9)


@pytest.mark.parametrize("base", KNOWN["index_wmax_n33_by_base"])
def test_the_u_that_is_known(base: str) -> None:
    known, peak_S = KNOWN["index_wmax_n33_by_base"][base], index_peak(TOKENS, angle(float(base)))
    assert (peak_S[0], peak_S[16], peak_S[-1]) == pytest.approx(
        (known["first"], known["middle"], known["last"]), rel=1e-9
    )
    assert peak_S.argmin() + 1 == known["argmin_1based"]


def test_the_inverted_u_that_is_known() -> None:
    known, peak_S = KNOWN["retrieval_wmax_n33"], retrieval_peak(TOKENS, angle(1.0))
    assert (peak_S[0], peak_S[-1], peak_S.max()) == pytest.approx(
        (known["first"], known["last"], known["max"]), rel=1e-9
    )
    assert np.isclose(peak_S, peak_S.max(), rtol=1e-12).argmax() + 1 == known["argmax_1based"]


def test_both_shapes_by_plain_loops() -> None:
    theta = 0.07
    index = [exp(1) / sum(exp(cos(theta * (j - i))) for i in range(9)) for j in range(9)]
    assert index_peak(9, theta).tolist() == pytest.approx(index)
    for j in range(8):  # the content asked for stands in slot j, its opposite everywhere else
        here = exp(cos(theta * (j - 3.5)))
        others = sum(exp(cos(pi + theta * (i - 3.5))) for i in range(8) if i != j)
        assert retrieval_peak(9, theta)[j] == pytest.approx(here / (here + others))


def test_bounds_in_base_angles() -> None:
    known = {"index": 2, "retrieval": 2 / 16, "tilt": 33 * 2 / (16 * 62)}
    assert {name: float(bound) for name, bound in BOUNDS.items()} == pytest.approx(known)


@pytest.mark.parametrize("base", KNOWN["constructed_index_accuracy"])
def test_index_by_hand(base: str) -> None:
    assert hand_built_accuracy("index", float(base), samples("index", 1)) == KNOWN["constructed_index_accuracy"][base]


def test_without_rotation_index_by_hand_is_a_guess_among_slots() -> None:
    assert hand_built_accuracy("index", 0.0, samples("index", 1)) == pytest.approx(1 / CONTEXT)


def test_retrieval_by_hand() -> None:
    some = samples("retrieval", 8)
    assert [hand_built_accuracy("retrieval", base, some) for base in (0, 0.01, 0.1, 0.125)] == [1] * 4
    assert hand_built_accuracy("retrieval", 0.2, some) == pytest.approx(0.64, abs=0.02)
    assert hand_built_accuracy("retrieval", 0.25, some) == pytest.approx(0.44, abs=0.02)


def test_two_planes_by_hand() -> None:
    some = samples(TWO, 8)
    assert [hand_built_accuracy(TWO, base, some) for base in (0.01, 0.1, 0.125)] == [1] * 3
    assert hand_built_accuracy(TWO, 0.0, some) == 0.5
    # Known for two slots drawn alike, where late answers are more frequent: slot j then comes j times as often.
    for base, known in ((0.1875, 0.93), (0.375, 0.66)):
        by_slot = [hand_built_accuracy(TWO, base, only(some, slot)) for slot in range(1, CONTEXT)]
        assert np.average(by_slot, weights=np.arange(1, CONTEXT)) == pytest.approx(known, abs=0.02)


def only(some: TaskSequences, slot: int) -> TaskSequences:
    """The samples whose answer stands in one slot."""
    here = some.slot_EN[0] == slot
    return TaskSequences(*(getattr(some, name)[:, here] for name in vars(some)))


def test_one_plane_by_hand_solves_partial_induction_below_its_bound() -> None:
    """What was published as impossible: symbols apart and the later pair ahead, in one plane."""
    some, bound = samples(ONE, 8), BOUNDS["tilt"]
    assert [hand_built_accuracy(ONE, base, some) for base in (0.001, 0.01, 0.99 * bound)] == [1] * 3
    assert hand_built_accuracy(ONE, 0.0, some) == 0.5
    assert hand_built_accuracy(ONE, 1.5 * bound, some) < 0.95


@pytest.mark.parametrize("name", HAND_BUILT)
def test_heads_by_hand_are_what_one_plane_or_two_can_do(name: str) -> None:
    """Every logit is Σ k · R(θ (32 - slot)) q for some key and query in as many planes as the case has."""
    theta, some = angle(0.3), samples(name, 1).part(0, 20)
    turn_T = np.exp(1j * theta * (np.arange(CONTEXT) - CONTEXT))
    logits_NT, symbol_NT, asked_N = HAND_BUILT[name](theta, some)[0], some.symbol_ENT[0], some.query_EN[0]
    around_M = np.exp(2j * pi * np.arange(16) / 16)
    lost = {"index": None, "retrieval": 15.5, ONE: 31.0}.get(name)
    if name == "index":
        query_N = np.exp(1j * theta * (asked_N - CONTEXT))
        ours_NT = (query_N[:, None].conj() * turn_T).real
    elif name == TWO:
        ours_NT = (around_M[asked_N][:, None].conj() * around_M[symbol_NT]).real + turn_T.real
    else:
        assert lost is not None
        query_N = around_M[asked_N].conj() * np.exp(1j * theta * (lost - CONTEXT))
        ours_NT = (query_N.conj()[:, None] * around_M[symbol_NT].conj() * turn_T).real
    np.testing.assert_allclose(logits_NT, ours_NT, atol=1e-12)


@pytest.mark.parametrize("base", [2.0, 1.0, 0.5, 0.1])
def test_the_length_asked_for_gives_half_of_the_attention(base: float) -> None:
    theta, slots = angle(base), range(CONTEXT)
    size = index_norm(theta)
    worst = min(1 / sum(exp(size * (cos(theta * (j - i)) - 1)) for i in slots) for j in slots)
    assert worst == pytest.approx(0.5, abs=1e-6)
    assert size * theta**2 == pytest.approx(index_norm(angle(0.1)) * angle(0.1) ** 2, rel=0.02)


def test_the_length_retrieval_asks_for() -> None:
    for base in (0.0, 0.01, 0.1):
        theta = angle(base)
        own, others = cos(15.5 * theta), cos(2 * pi / 16 - 15.5 * theta)
        size = retrieval_norm(theta)
        assert exp(size * own) / (exp(size * own) + 31 * exp(size * others)) == pytest.approx(0.5)
        assert retrieval_margin(theta) == pytest.approx(own - others)
    assert retrieval_norm(angle(0.25)) == inf
    assert index_norm(0.0) == inf


def test_lengths_grow_as_angles_shrink() -> None:
    asked = [index_norm(angle(base)) for base in BASES]
    assert asked == sorted(asked)

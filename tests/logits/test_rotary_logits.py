"""Rotary logits: by frequency, from closed forms that need no table, and from sums kept while reading along."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from logit_tables import TURNING, assert_moments, plane_tables, some_logits, table

from wherewhat.logits import rotary_moments
from wherewhat.logits.factors import uniform_weights
from wherewhat.logits.joined import JoinedLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows

KEYS = 9
QUERIES = torch.tensor([8, 3, 5])
NEAR = {"rtol": 0, "atol": 1e-12}
MASKS = {
    "before the query": torch.arange(KEYS) < QUERIES[:, None],
    "both sides": torch.arange(KEYS) != QUERIES[:, None],
}


@pytest.fixture(params=TURNING)
def logits(request: pytest.FixtureRequest) -> RotaryLogits:
    found = some_logits(request.param, QUERIES, KEYS)
    assert isinstance(found, RotaryLogits)
    return found


def test_frequencies_add_up(logits: RotaryLogits):
    mask = MASKS["before the query"]
    moments = logits.moments(mask)
    for query, row in enumerate(mask.numpy()):
        for head in range(4):
            planes = plane_tables(logits, head, query)[:, row][:, :, row]
            left = planes - planes.mean(1, keepdims=True) - planes.mean(2, keepdims=True)
            left += planes.mean((1, 2), keepdims=True)
            whole = planes.sum(0)
            content, slot = planes.mean(2), planes.mean(1)
            parts = {
                "symbol": [np.mean((own - own.mean()) * (content.sum(0) - whole.mean())) for own in content],
                "position": [np.mean((own - own.mean()) * (slot.sum(0) - whole.mean())) for own in slot],
                "interaction": [np.mean(own * left.sum(0)) for own in left],
            }
            for part, theirs in parts.items():
                ours = getattr(moments.planes, f"{part}_HQF")[head, query].numpy()
                assert ours == pytest.approx(theirs, abs=1e-12)
                assert ours.sum() == pytest.approx(getattr(moments, f"{part}_HQ")[head, query].item(), abs=1e-12)


def test_frequencies_alone_are_what_the_definition_says(logits: RotaryLogits):
    factors = logits.factors(torch.arange(len(QUERIES)), KEYS)
    parts = [
        content_HQKF[..., None, :] * slot_HQKF[..., None, :, :]
        for content_HQKF, slot_HQKF in zip(
            factors.content_HQKX.chunk(2, -1), factors.slot_HQKX.chunk(2, -1), strict=True
        )
    ]
    for query in range(len(QUERIES)):
        theirs = torch.from_numpy(np.stack([plane_tables(logits, head, query) for head in range(4)]))
        torch.testing.assert_close((parts[0] + parts[1])[:, query].movedim(-1, 1), theirs, **NEAR)


def test_a_common_offset_of_all_keys_costs_few_digits(logits: RotaryLogits):
    """Thirty times the spread of the keys, as some trained models have it."""
    offset = replace(logits, key_GKF=logits.key_GKF + (30 - 20j))
    weights_HQK = (MASKS["both sides"].double() / 8).expand(4, -1, -1).numpy()
    tables = [[table(offset, head, query) for query in range(len(QUERIES))] for head in range(4)]
    assert_moments(offset.moments(MASKS["both sides"]), tables, weights_HQK)


# Without any table: one query from three sums over keys, the angles from a geometric series ---------------------------


def geometric(phi: np.ndarray, m: int) -> np.ndarray:
    """The sum of exp(-i phi r) over r = 1 .. m."""
    phi = phi - 2 * np.pi * np.rint(phi / (2 * np.pi))
    s = np.sin(phi / 2)
    ratio = np.where(s == 0, m, np.sin(m * phi / 2) / np.where(s == 0, 1, s))
    return ratio * np.exp(-1j * phi * (m + 1) / 2)


def form(x: np.ndarray, plus: np.ndarray, minus: np.ndarray) -> float:
    return float(np.real(x @ plus @ x + x @ minus @ x.conj()) / 2)


def closed_form(query: np.ndarray, keys: np.ndarray, theta: np.ndarray, scale: float, *, before: int, after: int):
    """Position, symbol and interaction of a query with so many keys before and after it."""
    m = before + after

    def mean_turn(phi: np.ndarray) -> np.ndarray:
        return (geometric(phi, before) + geometric(-phi, after)) / m

    c, mean = mean_turn(theta), keys.mean(0)
    turn_plus = mean_turn(theta[:, None] + theta) - np.outer(c, c)
    turn_minus = mean_turn(theta[:, None] - theta) - np.outer(c, c.conj())
    key_plus = keys.T @ keys / m - np.outer(mean, mean)
    key_minus = keys.T @ keys.conj() / m - np.outer(mean, mean.conj())
    asking = query.conj()
    return scale**2 * np.array(
        [
            form(asking * mean, turn_plus, turn_minus),
            form(asking * c, key_plus, key_minus),
            form(asking, key_plus * turn_plus, key_minus * turn_minus),
        ]
    )


def long_text(keys: int, theta: list[float]) -> RotaryLogits:
    generator = torch.Generator().manual_seed(4)
    query_HQF = torch.randn(1, keys, len(theta), dtype=torch.complex128, generator=generator)
    key_GKF = torch.randn(1, keys, len(theta), dtype=torch.complex128, generator=generator)
    theta_F = torch.tensor(theta, dtype=torch.float64)
    angle_KF = torch.arange(keys, dtype=torch.float64)[:, None] * theta_F
    return RotaryLogits(
        query_HQF, key_GKF, torch.polar(torch.ones_like(angle_KF), angle_KF), theta_F, torch.arange(keys), 0.3
    )


@pytest.mark.parametrize("both_sides", [False, True])
@pytest.mark.parametrize("theta", [[1.0, 0.1, 0.001], [0.0, 2.0, 2.0], [3.14159, 1e-5, 0.5]])
def test_moments_are_the_closed_form(theta: list[float], both_sides: bool):
    logits, slots = long_text(40, theta), torch.arange(40)
    swappable_QK = slots != slots[:, None] if both_sides else slots < slots[:, None]
    moments = logits.moments(swappable_QK)
    for query in range(2, 40):
        theirs = closed_form(
            logits.query_HQF[0, query].numpy(),
            logits.key_GKF[0, swappable_QK[query]].numpy(),
            logits.theta_F.numpy(),
            logits.scale,
            before=query,
            after=39 - query if both_sides else 0,
        )
        ours = [float(part[0, query]) for part in (moments.position_HQ, moments.symbol_HQ, moments.interaction_HQ)]
        assert ours == pytest.approx(theirs, rel=0, abs=1e-10 * theirs.sum())


# Reading along: every query from sums over the keys seen so far -------------------------------------------------------


class Sums:
    """Sums of outer products x y and x conj(y) over the keys seen so far."""

    def __init__(self, planes: int) -> None:
        self.plus = np.zeros((planes, planes), dtype=complex)
        self.minus = np.zeros((planes, planes), dtype=complex)

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        self.plus += np.outer(x, y)
        self.minus += np.outer(x, y.conj())

    def between(self, x: np.ndarray, y: np.ndarray) -> float:
        return float(np.real(x @ self.plus @ y + x @ self.minus @ y.conj()) / 2)


def stream(logits: RotaryLogits) -> list[dict[str, float]]:
    """P, S and the variance of actual logits for every query, each asked before its own key is added."""
    theta, scale = logits.theta_F.numpy(), logits.scale
    planes, found = len(theta), []
    turned_turned, rotate_keys, turned_slot = Sums(planes), Sums(planes), Sums(planes)
    key_sum, turned_sum = np.zeros(planes, complex), np.zeros(planes, complex)
    for i in range(len(logits.queries_Q)):
        query, key = logits.query_HQF[0, i].numpy(), logits.key_GKF[0, i].numpy()
        if i >= 2:
            z, c = query.conj() * np.exp(-1j * theta * i), geometric(theta, i) / i
            square = scale**2 * turned_turned.between(z, z) / i
            with_content = scale**2 * rotate_keys.between(z, query.conj() * c) / i
            with_slot = scale**2 * turned_slot.between(z, z * key_sum / i) / i
            mean = scale * np.real(z @ turned_sum) / i
            keys = logits.key_GKF[0, :i].numpy()
            total = closed_form(query, keys, theta, scale, before=i, after=0).sum()
            grand = scale * np.real(query.conj() * c @ key_sum) / i
            found.append(
                {
                    "P": total + grand**2 - 2 * with_slot + square,
                    "S": total + grand**2 - 2 * with_content + square,
                    "variance": square - mean**2,
                    "total": total,
                }
            )
        turn = np.exp(1j * theta * i)
        turned_turned.add(key * turn, key * turn)
        rotate_keys.add(key * turn, key)
        turned_slot.add(key * turn, turn)
        key_sum += key
        turned_sum += key * turn
    return found


def test_the_exclusion_terms_are_those_of_a_stream():
    logits, slots = long_text(40, [1.0, 0.1, 0.001]), torch.arange(40)
    swappable_QK = slots < slots[:, None]
    attention_HQK = logits.actual_HQK.masked_fill(~swappable_QK, -torch.inf).softmax(-1).nan_to_num()
    exact = Rows(attention_HQK, slots, swappable_QK, slots, logits=logits, first=0).exact
    for query, theirs in enumerate(stream(logits), 2):
        near = {"rel": 0, "abs": 1e-10 * theirs["total"]}
        assert exact.positional_HQ[0, query].item() == pytest.approx(theirs["P"], **near)
        assert exact.symbolic_HQ[0, query].item() == pytest.approx(theirs["S"], **near)
        assert exact.variance_HQ[0, query].item() == pytest.approx(theirs["variance"], **near)
        assert exact.parts.total_HQ[0, query].item() == pytest.approx(theirs["total"], **near)


def test_float32_keeps_its_digits_where_what_all_keys_have_in_common_is_large():
    """Two frequencies that cancel: what keys have in common is in no logit, but in every product of their channels."""
    logits, slots = long_text(64, [0.5, 0.5, 0.01]), torch.arange(64)
    swappable_QK = slots < slots[:, None]
    exact = replace(
        logits,
        query_HQF=logits.query_HQF[..., [0, 0, 2]],
        key_GKF=logits.key_GKF + torch.tensor([100 - 100j, 100j - 100, 0]),
    )
    theirs = exact.weighted_moments(swappable_QK.double()[None] / slots.clamp_min(1)[:, None])
    single = {name: getattr(exact, name).to(torch.complex64) for name in ("query_HQF", "key_GKF", "phase_KF")}
    ours = replace(exact, **single).moments(swappable_QK)
    total_HQ = theirs.position_HQ + theirs.symbol_HQ + theirs.interaction_HQ
    apart_HQ = (ours.interaction_HQ.double() - theirs.interaction_HQ).abs()
    assert (apart_HQ[:, 3:] / total_HQ[:, 3:]).max() < 1e-4  # keys of size 100 are known to 1e-5


def in_single_precision(logits: RotaryLogits) -> RotaryLogits:
    names = ("query_HQF", "key_GKF", "phase_KF")
    return replace(logits, **{name: getattr(logits, name).to(torch.complex64) for name in names})


def test_contributions_of_frequencies_add_up_in_float32_where_keys_have_a_large_mean():
    """A mean in a slow frequency makes all logits large, of which the variance is a small part."""
    logits, slots = long_text(64, [1.0, 0.1, 1e-4]), torch.arange(64)
    logits = replace(logits, key_GKF=logits.key_GKF / 10 + torch.tensor([0, 0, 20.0]))
    swappable_QK = slots < slots[:, None]
    theirs, ours = logits.moments(swappable_QK), in_single_precision(logits).moments(swappable_QK)
    total_HQ = theirs.position_HQ + theirs.symbol_HQ + theirs.interaction_HQ
    for part in ("position", "symbol", "interaction"):
        apart_HQF = (getattr(ours.planes, f"{part}_HQF") - getattr(theirs.planes, f"{part}_HQF")).abs()
        assert (apart_HQF[:, 3:] / total_HQ[:, 3:, None]).max() < 5e-3


def test_a_key_that_comes_and_goes_leaves_nothing_behind_in_float32():
    """A window passes one key that is far larger than all others: what was added is taken away again."""
    logits, slots = long_text(64, [1.0, 0.1, 0.001]), torch.arange(64)
    key_GKF = logits.key_GKF.clone()
    key_GKF[:, 20] *= 300
    logits = replace(logits, key_GKF=key_GKF)
    swappable_QK = (slots < slots[:, None]) & (slots >= slots[:, None] - 16)
    theirs, ours = logits.moments(swappable_QK), in_single_precision(logits).moments(swappable_QK)
    total_HQ = theirs.position_HQ + theirs.symbol_HQ + theirs.interaction_HQ
    apart_HQ = (ours.interaction_HQ - theirs.interaction_HQ).abs() / total_HQ
    assert apart_HQ[:, 40:].max() < 1e-5  # rows that no longer see that key


@pytest.mark.parametrize("room", [1, 100, 1000, 1 << 21])
def test_moments_do_not_depend_on_how_many_rows_are_measured_at_once(room: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rotary_moments, "ROOM", room)
    generator = torch.Generator().manual_seed(2)
    counts = [4, 1, 5, 7]  # rows of each text, in no order
    parts = [
        some_logits("grouped", torch.randperm(KEYS, generator=generator)[:count], KEYS, seed=count) for count in counts
    ]
    joined = JoinedLogits.of(parts, torch.arange(4).repeat_interleave(torch.tensor(counts)))
    shuffled = joined.rows(torch.randperm(sum(counts), generator=generator))
    swappable_QK = torch.rand(sum(counts), KEYS, generator=generator) < 0.6
    swappable_QK[3] = False  # a row without any
    theirs = shuffled.weighted_moments(uniform_weights(swappable_QK, torch.float64))
    ours = shuffled.moments(swappable_QK)
    for part in ("position_HQ", "symbol_HQ", "interaction_HQ", "grand_HQ"):
        torch.testing.assert_close(getattr(ours, part), getattr(theirs, part), **NEAR)
    for part in ("content_HQK", "slot_HQK"):
        both = [torch.where(swappable_QK, getattr(moments, part), 0) for moments in (ours, theirs)]
        torch.testing.assert_close(*both, **NEAR)

"""Rotary logits: by frequency, from closed forms that need no table, and from sums kept while reading along."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from logit_tables import TURNING, assert_moments, plane_tables, some_logits, table

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

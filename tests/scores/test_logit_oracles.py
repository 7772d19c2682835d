"""Every score about logits equals what building all tables and exchanging keys by hand gives."""

import math
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_oracle import ORACLES, Row, averaged, cosine, published, rows, variances
from logit_tables import KINDS, TURNING, softmax
from score_rows import MASKS, rows_of

from wherewhat.scores import planes as planes_module
from wherewhat.scores.base import Rows
from wherewhat.scores.frequencies import frequencies
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.scores.registry import published_scores

NEAR = 1e-10


def assert_equals_tables(name: str, asked: Rows) -> None:
    value_HQ, weight_HQ = SCORES[name].rows(asked)
    for head, index, row in rows(asked):
        value, weight = ORACLES[name](row)
        assert weight_HQ[head, index].item() == pytest.approx(weight, rel=NEAR, abs=1e-20)
        if weight:
            assert value_HQ[head, index].item() == pytest.approx(value, abs=NEAR)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_score_equals_whole_tables(kind: str, mask: str):
    asked = rows_of(kind, mask=mask)
    for name in ORACLES:
        assert_equals_tables(name, asked)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from(MASKS), st.integers(1, 12), st.integers(0, 3))
def test_any_rows_equal_whole_tables(seed: int, kind: str, mask: str, keys: int, first: int):
    """Any kind and length, whichever slot is the first that may be swapped; blocks included."""
    asked = rows_of(kind, mask=mask, keys=keys, seed=seed, queries=3, first=first)
    for name in ORACLES:
        assert_equals_tables(name, asked)


@pytest.mark.parametrize("tau", [1e-4, 1e-2, 0.1, 1.0, math.inf])
def test_temperatures_equal_whole_tables(tau: float):
    asked = rows_of("grouped", mask="bidirectional", queries=2)
    scores = published_scores(tau)
    together = replace(asked, taus=(1e-4, 1e-2, 0.1, 1.0, math.inf))
    for head, index, row in rows(asked, tau=tau):
        for score, theirs in zip(scores, published(row), strict=True):
            for given_rows in (asked, together):
                assert score.rows(given_rows)[0][head, index].item() == pytest.approx(theirs, abs=NEAR)


def test_a_long_row_equals_whole_tables(monkeypatch: pytest.MonkeyPatch):
    """Swaps are worked through in several pieces."""
    monkeypatch.setattr("wherewhat.scores.swaps.ROOM", 500)
    for tau in (1e-4, 0.01, math.inf):
        asked = rows_of("turned", mask="bidirectional", keys=60, queries=1, taus=(tau,))
        for head, index, row in rows(asked, tau=tau):
            for score, theirs in zip(published_scores(tau), published(row), strict=True):
                assert score.rows(asked)[0][head, index].item() == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_exclusion_terms_are_averages_over_all_permutations(kind: str, size: int):
    asked = rows_of(kind, keys=size + 2, queries=1)
    positional_HQ, symbolic_HQ = (SCORES[f"exclusion_{kind}"].rows(asked)[0] for kind in ("positional", "symbolic"))
    for head, index, row in rows(asked):
        inner = row.inner
        assert len(inner) == size
        of_slots = [(inner[p[j], j] - inner[j, j]) ** 2 for p in permutations(range(size)) for j in range(size)]
        of_contents = [(inner[j, p[j]] - inner[j, j]) ** 2 for p in permutations(range(size)) for j in range(size)]
        assert positional_HQ[head, index].item() == pytest.approx(np.mean(of_slots), rel=1e-10, abs=1e-20)
        assert symbolic_HQ[head, index].item() == pytest.approx(np.mean(of_contents), rel=1e-10, abs=1e-20)


def plane_row(row: Row, plane: int) -> Row:
    """A head that has only one frequency."""
    return replace(row, table=row.planes[plane])


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", TURNING)
def test_frequencies_equal_whole_tables(kind: str, mask: str):
    asked = rows_of(kind, mask=mask, taus=(0.01,), decomposed_Q=torch.tensor([True, False, True, True, True]))
    ours = frequencies(asked).values()
    found = {head: [row for other, _, row in rows(asked, tau=0.01) if other == head] for head in range(4)}
    for head, every in found.items():
        whole = [row for index, row in enumerate(every) if index != 1]
        total = math.fsum(sum(variances(row)) for row in whole)
        for plane in range(4):
            diagonals = [row.planes[plane].diagonal()[row.swappable] for row in whole]
            theirs = {
                "logit": np.mean([np.abs(logits).mean() for logits in diagonals]),
                "peak": np.mean([logits.max() for logits in diagonals]),
                "positional": np.mean([published(plane_row(row, plane))[0] for row in whole]),
                "symbolic": np.mean([published(plane_row(row, plane))[1] for row in whole]),
            }
            for measure, value in theirs.items():
                assert ours[measure][head, plane].item() == pytest.approx(value, abs=NEAR), measure
        for which, part in enumerate(("position", "symbol", "interaction")):
            whole_part = math.fsum(variances(row)[which] for row in whole)
            assert ours[f"{part}_part"][head].sum().item() == pytest.approx(whole_part / total, abs=NEAR)
    keys = [asked.logits.key_GKF[0, swappable_K] for swappable_K in asked.swappable_QK if swappable_K.sum() > 1]
    assert torch.allclose(ours["key_norm"][0], torch.cat(keys).abs().mean(0))
    assert torch.allclose(ours["query_norm"], asked.logits.query_HQF.abs().mean(1))


def test_long_rows_swap_evenly_spread_slots_in_every_frequency(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planes_module, "SWAPPED_SLOTS", 6)
    asked = rows_of("turned", keys=23, queries=1, taus=(0.1,))
    ours = frequencies(asked).values()
    for head, _, row in rows(asked, tau=0.1):
        for plane in range(4):
            table, swaps = row.planes[plane], []
            weights = softmax(table.diagonal(), row.allowed)
            for s, t in combinations([1, 5, 9, 13, 17, 21], 2):  # of 1 to 21
                was, now = weights[[s, t]], np.exp([table[t, s], table[s, t]])
                swaps.append((abs(was[0] - was[1]), cosine(now, was), cosine(now, was[::-1])))
            for measure, theirs in zip(("positional", "symbolic"), averaged(swaps, 0.1), strict=True):
                assert ours[measure][head, plane].item() == pytest.approx(theirs, abs=NEAR)


def test_frequencies_of_texts_add_up():
    one, other = rows_of("grouped", keys=12, queries=3), rows_of("grouped", keys=12, queries=2)
    total = (frequencies(one) + frequencies(other)).values()
    for measure in ("logit", "peak", "positional", "symbolic", "query_norm"):
        apart = (3 * frequencies(one).values()[measure] + 2 * frequencies(other).values()[measure]) / 5
        torch.testing.assert_close(total[measure], apart)
    for part in ("position_part", "symbol_part", "interaction_part"):
        weights = [asked.exact.parts.weight_HQ.sum(-1)[:, None] for asked in (one, other)]
        shares = [
            frequencies(asked).values()[part] * weight for asked, weight in zip((one, other), weights, strict=True)
        ]
        torch.testing.assert_close(total[part], sum(shares) / sum(weights))


def test_pieces_in_which_nothing_can_be_swapped_add_nothing():
    asked = rows_of("turned", keys=9, queries=None)
    shown = frequencies(asked)
    for rest in (replace(asked, decomposed_Q=torch.zeros(9, dtype=torch.bool)), replace(asked, first=9)):
        total = shown + frequencies(rest)
        for measure in ("logit", "peak", "positional", "symbolic"):
            assert torch.equal(total.values()[measure], shown.values()[measure])
    assert frequencies(replace(asked, first=9)).values()["position_part"].isnan().all()


def test_only_rotary_logits_have_frequencies_and_a_cap_leaves_them_no_parts():
    for kind in ("still", "biased", "crossed", "capped bias"):
        assert frequencies(rows_of(kind)) is None
    assert frequencies(replace(rows_of("turned"), logits=None)) is None
    assert not {"position_part", "symbol_part"} & set(frequencies(rows_of("capped")).values())
    assert frequencies(rows_of("capped")).values()["peak"].isfinite().all()


@pytest.mark.parametrize(("scale", "tau"), [(1.0, 1e-50), (1.0, 1e-4), (20.0, 1e-4), (20.0, math.inf)])
def test_frequencies_with_steep_logits_are_swapped_exactly(scale: float, tau: float):
    """Far below the largest logit, two keys still have a ratio, which counts where all swaps count alike."""
    asked = rows_of("turned", keys=12, queries=2, taus=(tau,))
    logits = replace(asked.logits, query_HQF=asked.logits.query_HQF * scale)
    ours = frequencies(replace(asked, logits=logits)).values()
    for head in range(4):
        whole = [row for where, _, row in rows(replace(asked, logits=logits), tau=max(tau, 1e-300)) if where == head]
        for plane in range(4):
            theirs = np.mean([_swapped(row, plane, tau) for row in whole], axis=0)
            for measure, value in zip(("positional", "symbolic"), theirs, strict=True):
                assert ours[measure][head, plane].item() == pytest.approx(value, abs=1e-6)


def _swapped(row: Row, plane: int, tau: float) -> tuple[float, float]:
    """Both cosines in one frequency, pair by pair from differences of logits; the widest gaps count alone at tau 0."""
    table, swaps = row.planes[plane], []
    weights = softmax(table.diagonal(), row.allowed)
    for s, t in combinations(row.swappable, 2):
        before, after = np.clip([table[t, t] - table[s, s], table[s, t] - table[t, s]], -150, 150)
        was, now = np.exp([0, before]), np.exp([0, after])
        swaps.append((abs(weights[s] - weights[t]), cosine(now, was), cosine(now, was[::-1])))
    gaps, positional, symbolic = np.array(swaps).T
    counts = np.exp((gaps - gaps.max()) / max(tau, 1e-300))
    return float(positional @ counts / counts.sum()), float(symbolic @ counts / counts.sum())

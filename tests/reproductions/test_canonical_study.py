"""The whole canonical experiment at a scale of seconds, its scores against plain oracles, and verdicts from numbers."""

from functools import cache
from math import cosh, inf, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.reproductions.base import Found, Order
from wherewhat.reproductions.canonical import study
from wherewhat.reproductions.canonical.claims import Mean, claims
from wherewhat.reproductions.canonical.measure import interval, scores, turned
from wherewhat.reproductions.canonical.settings import BASES, CASES, CONTEXT, SCALES, Scale, angle
from wherewhat.reproductions.canonical.study import canonical, expected
from wherewhat.reproductions.canonical.train import Trained, train_task
from wherewhat.tables.schema import RESULT, frame

QUICK = Scale(seeds=2, steps=20, valid=512, scored=3)
ONE, TWO = "partial_induction, 1 plane", "partial_induction, 2 planes"
Curves = dict[str, dict[float, float]]


@pytest.fixture(scope="module")
def quick() -> dict[str, Scale]:
    return {"tiny": QUICK}


@pytest.fixture(scope="module")
def found(quick: dict[str, Scale]) -> Found:
    steps: list[tuple[int, int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SCALES", quick)
        made = canonical(Order(seed=7, on_step=lambda *told: steps.append(told)))
    assert steps[-1][0] == steps[-1][1] == 3  # one block a task
    assert steps[-1][2] == "learning partial_induction"
    return made


def test_the_table_has_every_part_at_every_angle(found: Found) -> None:
    assert dict(found.result.schema) == RESULT
    for part in ("accuracy", "by_slot", "scores", "lengths", "vectors"):
        rows = found.result.filter(part=part)
        assert set(rows["subject"]) == set(CASES)
        assert set(rows["at"]) == set(BASES)
    accuracy = found.result.filter(part="accuracy")
    assert accuracy.height == 4 * 10 * 3
    assert set(accuracy["seed"]) == {7, 8, None}
    assert found.result.filter(part="by_slot")["item"].n_unique() == 8
    assert found.result.filter(part="vectors", subject="index").height == 10 * (16 + 32) * 2
    assert found.result.filter(part="vectors", subject=TWO).height == 10 * (16 + 16) * 4
    assert found.settings["steps"] == 20
    assert found.about["bounds"] == pytest.approx({"index": 2, "retrieval": 0.125, "tilt": 33 / (8 * 62)})


def test_accuracy_by_slot_adds_up_to_accuracy(found: Found) -> None:
    seed = found.result.filter((pl.col("seed") == 7) & (pl.col("subject") == "retrieval"))
    by_slot = seed.filter(part="by_slot").group_by("at").agg(pl.col("value").mean()).sort("at")
    whole = seed.filter(part="accuracy").sort("at")
    np.testing.assert_allclose(by_slot["value"], whole["value"])  # slots are balanced, so bins count alike


def test_the_same_seed_gives_the_same_table_and_another_another(found: Found, quick: dict[str, Scale]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SCALES", quick)
        again, other = canonical(Order(seed=7)), canonical(Order(seed=8, seeds=1))
    assert again.result.equals(found.result)
    assert again.claims == found.claims
    assert set(other.result.filter(part="accuracy")["seed"]) == {8, None}
    single = other.result.filter((pl.col("part") == "accuracy") & pl.col("seed").is_not_null())
    among = found.result.filter((pl.col("part") == "accuracy") & (pl.col("seed") == 8))
    assert single["value"].to_list() == among["value"].to_list()


def test_a_scale_that_is_not_there() -> None:
    with pytest.raises(UserError, match="unknown scale 'tinny'; did you mean 'tiny'"):
        canonical(Order(scale="tinny"))
    assert set(SCALES) == {"tiny", "small", "paper"}
    assert (SCALES["paper"].steps * 64, SCALES["paper"].samples) == (100 * 40_960, 40_960)


@pytest.mark.parametrize("name", ["index", TWO])
def test_scores_and_shares_by_plain_loops(name: str) -> None:
    """Of one head on one sequence: the table entry by entry, every swap, and variances of rows and columns."""
    (heads,) = train_task([CASES[name]], Scale(seeds=1, steps=30), range(3, 4))
    some, number = heads.valid(1), 2
    table_KS = np.array([[_logit(heads, some, number, k, s) for s in range(CONTEXT)] for k in range(CONTEXT)])
    actual_S = np.diag(table_KS)
    np.testing.assert_allclose(turned(heads, some, number).actual_HQK[0, 0, :CONTEXT], actual_S, atol=1e-9)
    rows = {row[5]: row[6] for row in scores(heads, some) if row[3] == BASES[number] and row[4] == 3}
    content, slot = table_KS.mean(1), table_KS.mean(0)
    total = table_KS.var()
    assert rows["position_share"] == pytest.approx(slot.var() / total, abs=1e-6)
    assert rows["symbol_share"] == pytest.approx(content.var() / total, abs=1e-6)
    assert rows["position_share"] + rows["symbol_share"] + rows["interaction_share"] == pytest.approx(1)
    attention_S = np.exp(actual_S - actual_S.max()) / np.exp(actual_S - actual_S.max()).sum()
    assert rows["entropy"] == pytest.approx(-(attention_S * np.log(attention_S)).sum() / np.log(32), abs=1e-9)
    for suffix, tau in (("", 1e-4), ("@inf", inf)):
        positional, symbolic = _by_swaps(table_KS, attention_S, tau)
        assert rows[f"positional{suffix}"] == pytest.approx(positional, abs=1e-9)
        assert rows[f"symbolic{suffix}"] == pytest.approx(symbolic, abs=1e-9)


def _logit(heads: Trained, some: Any, number: int, content: int, slot: int) -> float:
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR.astype(float))
    total = 0.0
    for plane, theta in enumerate(heads.net.theta_FA[:, number]):
        here = slice(2 * plane, 2 * plane + 2)
        k, q = key_CMR[here, some.symbol_ENT[0, 0, content], number], query_CUR[here, some.query_EN[0, 0], number]
        c, s = np.cos(theta * (32 - slot)), np.sin(theta * (32 - slot))
        total += k @ np.array([[c, -s], [s, c]]) @ q
    return float(total)


def _by_swaps(table_KS: Any, attention_S: Any, tau: float) -> tuple[float, float]:
    found = []
    for s in range(CONTEXT):
        for t in range(s + 1, CONTEXT):
            before, after = table_KS[s, s] - table_KS[t, t], table_KS[t, s] - table_KS[s, t]
            size = sqrt(cosh(before) * cosh(after))
            cosines = cosh((before + after) / 2) / size, cosh((before - after) / 2) / size
            found.append((abs(attention_S[s] - attention_S[t]), *cosines))
    gap, positional, symbolic = np.array(found).T
    weight = np.exp((gap - gap.max()) / tau)
    return float(np.average(positional, weights=weight)), float(np.average(symbolic, weights=weight))


def test_intervals_over_seeds() -> None:
    assert interval([0.2, 0.4]) == pytest.approx((0.3, 0.3 - 1.2706, 0.3 + 1.2706), abs=1e-3)
    assert interval([0.2, 0.4], within=(0, 1)) == pytest.approx((0.3, 0, 1))
    assert np.isnan(interval([0.5])[1])
    assert interval([0.5, float("nan")])[0] == 0.5


@cache
def theory() -> tuple[Any, ...]:
    return tuple(expected())


def table(curves: Curves, bend: dict[str, float] | None = None, norm: float = 50.0) -> pl.DataFrame:
    """A table of made-up accuracies over three seeds; `bend` lifts the ends of the context over its middle."""
    rows: list[Any] = list(theory())
    for name in CASES:
        for base in BASES:
            value = curves[name][base]
            rows.append(("accuracy", name, "", base, None, "accuracy", value, value - 0.01, value + 0.01))
            rows.append(("lengths", name, "plane 0", base, None, "norm", norm, None, None))
            for share in ("position_share", "symbol_share"):
                rows.append(("scores", name, "", base, None, share, 0.99, 0.98, 1.0))
            for bin_ in range(8):
                end = (bend or {}).get(name, 0.0) * (bin_ in (0, 7))
                for seed in range(3):
                    item = f"{4 * bin_}–{4 * bin_ + 3}"
                    rows.append(("by_slot", name, item, base, seed, "accuracy", 0.5 + end + 0.001 * seed, None, None))
    return frame(rows, RESULT)


def level(value: float) -> dict[float, float]:
    return dict.fromkeys(BASES, value)


PAPER: Curves = {
    "index": {base: 0.1 + 0.4 * base for base in BASES},
    "retrieval": {base: 1.0 if base < 0.125 else 0.6 - 0.2 * base for base in BASES},
    ONE: level(0.5),
    TWO: {base: 0.5 if base == 0 else 1.0 for base in BASES},
}
BENDS = {"index": 0.2, "retrieval": -0.2}


def verdicts(result: pl.DataFrame) -> list[str]:
    return [claim.verdict for claim in claims(result)]


def test_a_world_as_published_agrees() -> None:
    told = claims(table(PAPER, BENDS))
    assert [claim.verdict for claim in told[:8]] == ["agrees"] * 8
    assert told[-1].verdict == told[-1].published == "unknown"
    assert told[4].why == ""
    assert "rank correlation with the angle 1.00" in told[0].ours
    assert "ends against middle, in points: +20 at 0.8" in told[2].ours


def test_a_world_upside_down_disagrees() -> None:
    upside = PAPER | {"index": PAPER["retrieval"], "retrieval": PAPER["index"], TWO: level(0.2)}
    told = verdicts(table(upside, {"index": -0.2, "retrieval": 0.2}))
    assert told[:4] == ["disagrees"] * 4
    assert told[5:7] == ["disagrees", "in part"]


def test_one_plane_that_succeeds_disagrees_and_says_why() -> None:
    succeeding = level(0.3) | {0.1: 0.93, 0.01: 0.99}
    claim = claims(table(PAPER | {ONE: succeeding}))[4]
    assert claim.verdict == "disagrees"
    assert claim.ours == (
        "93.0 % (92.0 to 94.0) at base 0.1 and 99.0 % (98.0 to 100.0) at base 0.01; at most 30 % elsewhere"
    )
    assert "Symbols lie 2π/16 apart" in claim.why
    assert "up to base 0.066" in claim.why
    assert claims(table(PAPER | {ONE: level(0.8)}))[4].verdict == "in part"


def test_shapes_that_are_not_told_from_flat_do_not_agree() -> None:
    told = verdicts(table(PAPER, {"index": 0.0, "retrieval": 0.0}))
    assert told[2:4] == ["disagrees", "disagrees"]


def test_lengths_decide_the_claim_about_lengths() -> None:
    index = {base: 1.0 if base >= 1.5 else 0.5 for base in BASES}
    assert verdicts(table(PAPER | {"index": index}, norm=75.0))[8] == "agrees"
    assert verdicts(table(PAPER | {"index": level(0.99)}, norm=75.0))[8] == "in part"
    assert verdicts(table(PAPER, norm=1.0))[8] == "unknown"


def test_means_say_their_interval() -> None:
    assert (Mean(0.5, None, None).least, Mean(0.5, 0.4, 0.6).least, Mean(0.5, 0.4, 0.6).most) == (0.5, 0.4, 0.6)
    assert angle(1.0) == pytest.approx(np.pi / 33)

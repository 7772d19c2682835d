"""Curves of insertion and deletion: the worked example by hand, orders, and areas."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from wherewhat.attribution.evaluation.curves import (
    DELETION,
    GENERATION,
    LEAST_INSERTION,
    MEASURES,
    ORDERS,
    PROCEDURES,
    PRUNING,
    OutputCurve,
    area,
    counts,
    measures_of,
    slots_in_order,
    standing_tokens,
)
from wherewhat.errors import UserError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "attribution.json").read_text())
CASES = VECTORS["cases"]
NAMES = {GENERATION: "generation", PRUNING: "pruning", LEAST_INSERTION: "least_first_insertion"}  # in the vectors
DIGITS = 5e-7  # of numbers with six decimals
# AUPC, ABPC, MERF and LERF of the example, to six decimals.
FURTHER = {
    "nope": (0.471285, 0.221532, 0.922286, 0.261398),
    "ape": (0.545503, 0.206797, 1.225902, 0.550637),
    "rope": (0.471050, 0.215844, 0.903441, 0.253719),
    "alibi": (0.450008, 0.248571, 0.960923, 0.210696),
}


def toy_logits(case: str, ids: list[int]) -> np.ndarray:
    """The worked example: one layer, one head, width 2; the logits of both classes at the last token."""
    weights = {name: np.array(value) for name, value in VECTORS["weights"].items()}
    x_TD = weights["E"][ids]
    if case == "ape":
        x_TD = x_TD + weights["P"][: len(ids)]
    q_TD, k_TD, v_TD = (x_TD @ weights[name].T for name in ("Wq", "Wk", "Wv"))
    if case == "rope":
        q_TD, k_TD = (turned(each_TD, VECTORS["rope_theta"]) for each_TD in (q_TD, k_TD))
    scores_K = k_TD @ q_TD[-1] / math.sqrt(2)
    if case == "alibi":
        scores_K = scores_K - VECTORS["alibi_slope"] * np.arange(len(ids) - 1, -1, -1)
    attention_K = np.exp(scores_K) / np.exp(scores_K).sum()
    return weights["U"] @ (x_TD[-1] + weights["Wo"] @ (attention_K @ v_TD))


def turned(x_TD: np.ndarray, theta: float) -> np.ndarray:
    angle_T = theta * np.arange(len(x_TD))
    cos_T, sin_T = np.cos(angle_T), np.sin(angle_T)
    return np.stack([x_TD[:, 0] * cos_T - x_TD[:, 1] * sin_T, x_TD[:, 0] * sin_T + x_TD[:, 1] * cos_T], axis=1)


def toy_curve(case: str, procedure: str, order: str = "signed") -> OutputCurve:
    """The curve of the example by one forward pass per step."""
    scores_N, how = np.array(CASES[case]["combined"]), PROCEDURES[procedure]
    standing_FN = standing_tokens(slots_in_order(scores_N, how, order), how.action)
    rows = [np.where(standing_N, VECTORS["tokens"], VECTORS["unk"]).tolist() for standing_N in standing_FN]
    logits_FC = np.array([toy_logits(case, ids) for ids in rows])
    whole_C, explained = toy_logits(case, VECTORS["tokens"]), CASES[case]["explained"]
    probability_FC = np.exp(logits_FC) / np.exp(logits_FC).sum(-1, keepdims=True)
    change_F = ((logits_FC - whole_C) ** 2).sum(-1)
    return OutputCurve(probability_FC[:, explained], logits_FC[:, explained], change_F, logits_FC.shape[1])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("procedure", NAMES)
def test_the_worked_example_comes_out(case: str, procedure: str) -> None:
    expected = CASES[case]["perturbation"][NAMES[procedure]]
    ours = toy_curve(case, procedure)
    scores_N = np.array(CASES[case]["combined"])
    assert slots_in_order(scores_N, PROCEDURES[procedure]) == expected["order"]
    assert ours.probability_F == pytest.approx(expected["prob"], abs=1e-12)
    assert ours.logit_F == pytest.approx(expected["logit"], abs=1e-12)
    assert ours.change_F == pytest.approx(expected["sq"], abs=1e-12)
    areas = [area(ours.probability_F), area(ours.logit_F), area(ours.change_F), area(ours.change_F) / ours.outputs]
    names = ("auac", "au_logit", "au_mse_sum", "au_mse_mean")
    assert areas == pytest.approx([expected[name] for name in names], abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_measures_of_the_worked_example(case: str) -> None:
    ours = measures_of({name: toy_curve(case, name) for name in PROCEDURES})
    assert list(ours) == list(MEASURES)
    further = [ours[name] for name in ("aupc", "abpc", "merf", "lerf")]
    assert further == pytest.approx(FURTHER[case], abs=DIGITS)
    for name in (GENERATION, PRUNING):
        expected = CASES[case]["perturbation"][name]
        assert ours[f"auac_{name}"] == pytest.approx(expected["auac"], abs=1e-12)
        assert ours[f"au_mse_{name}"] == pytest.approx(expected["au_mse_sum"], abs=1e-12)
        assert ours[f"au_mse_mean_{name}"] == pytest.approx(expected["au_mse_mean"], abs=1e-12)
    least = CASES[case]["perturbation"]["least_first_insertion"]
    assert ours["lerf"] == pytest.approx(least["au_logit"], abs=1e-12)


@pytest.mark.parametrize("tokens", [1, 3, 7, 10, 30, 49])
def test_shares_of_tokens_are_rounded_up_exactly(tokens: int) -> None:
    """In floating point, 0.3 × 10 and its like would be rounded up to one token too many."""
    from fractions import Fraction

    assert counts(tokens) == [math.ceil(Fraction(step, 10) * tokens) for step in range(11)]


def test_a_procedure_changes_tokens_in_its_order() -> None:
    slots = [2, 0, 1]
    for action in ("insert", "delete"):
        standing_FN = standing_tokens(slots, action)
        for step, number in enumerate(counts(3)):
            standing = set(slots[:number]) if action == "insert" else set(slots[number:])
            assert set(np.flatnonzero(standing_FN[step]).tolist()) == standing


def test_equal_scores_say_nothing_in_either_direction() -> None:
    """Of equal scores the first token comes first in every procedure, so that what is left of ABPC is exactly 0."""
    for procedure in PROCEDURES.values():
        assert slots_in_order(np.zeros(4), procedure) == [0, 1, 2, 3]


def test_the_published_order_drops_small_scores_first() -> None:
    scores_N = np.array([0.2, -0.9, 0.5])
    published = {name: slots_in_order(scores_N, each, "published") for name, each in PROCEDURES.items()}
    assert published == {GENERATION: [2, 0, 1], LEAST_INSERTION: [0, 2, 1], PRUNING: [0, 2, 1], DELETION: [2, 0, 1]}
    assert published[GENERATION][-1] == published[PRUNING][-1] == 1  # the negative one is last in both
    signed = {name: slots_in_order(scores_N, each) for name, each in PROCEDURES.items()}
    assert signed == {GENERATION: [2, 0, 1], LEAST_INSERTION: [1, 0, 2], PRUNING: [1, 0, 2], DELETION: [2, 0, 1]}


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(UserError, match="unknown order 'publised'; did you mean 'published'"):
        slots_in_order(np.zeros(2), PROCEDURES[PRUNING], "publised")
    assert set(ORDERS) == {"signed", "published"}


def test_the_area_is_exact_for_straight_lines() -> None:
    assert area(np.linspace(1.0, 0.0, 11)) == pytest.approx(0.5)
    assert area(np.ones(11)) == pytest.approx(1.0)

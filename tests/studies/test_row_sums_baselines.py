"""What random factors and guesses without positions give, how near sums are to a line, and means over seeds."""

import numpy as np
import pytest
import torch

from wherewhat.encodings.t5_bias import bucket
from wherewhat.studies.engine.results import Row, table_of
from wherewhat.studies.row_sums.linear_fit import linear_r_squared
from wherewhat.studies.row_sums.names import (
    ALL,
    ALONE_ERROR,
    ALONE_FOLLOWS,
    DISTANCE,
    LINEAR_FIT,
    ORDER,
    name_of,
)
from wherewhat.studies.row_sums.run import (
    STUDY,
)
from wherewhat.studies.row_sums.settings import SCALES
from wherewhat.studies.row_sums.summary import baseline_rows, factor_weights, most_frequent_share, random_fits
from wherewhat.tasks.slots import EvenTask


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

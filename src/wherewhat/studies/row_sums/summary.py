"""What nets that know no positions would give, and means over seeds."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from wherewhat.encodings.base import Context
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.urpe import Urpe
from wherewhat.stats.bootstrap import quantiles
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.row_sums.linear_fit import linear_r_squared
from wherewhat.studies.row_sums.names import (
    ALONE_ERROR,
    ALONE_FOLLOWS,
    FILLER,
    FOLLOWS,
    FREE,
    GAP,
    MIRRORED_ERROR,
    MOST_FREQUENT,
    ORDER,
    random_fit,
)
from wherewhat.studies.row_sums.settings import ARMS
from wherewhat.tasks.slots import EvenTask

DRAWS, SEQUENCES, SEED = 1000, 2000, 0
OF_ONE_NET = ("row sums", "heads", FILLER.part)  # parts whose rows are read net by net
ERRORS = [cell.measure for cell in (MIRRORED_ERROR, ALONE_ERROR)]


def baseline_rows(table: ResultTable) -> Iterator[Row]:
    """What random factors and guesses without positions give. The interval of random factors holds 95 % of draws."""
    arms = [ARMS[name] for name in table.scale.encodings]
    for factors in dict.fromkeys(arm.factors for arm in arms if arm.kind == FREE):
        weights_RS, cell = factor_weights(table.scale.position.tokens, factors), random_fit(factors)
        fit_D = random_fits(weights_RS, table.scale.heads, draws=DRAWS, seed=SEED)
        yield cell.part, "", cell.item, None, None, cell.measure, float(fit_D.mean()), *quantiles(fit_D)
    share = most_frequent_share(table.scale.even, seed=SEED, samples=SEQUENCES)
    yield MOST_FREQUENT.part, "", "", None, None, MOST_FREQUENT.measure, share, None, None


def factor_weights(tokens: int, factors: str) -> NDArray[np.float64]:
    """weights_RS: how much of the sum of the row of slot S is the factor of offset or bucket R if attention is uniform.

    >>> factor_weights(2, "offset").tolist()
    [[0.0, 0.5], [0.5, 0.5], [0.5, 0.0]]
    """
    number = len(Urpe(NoPosition(), heads=1, length=tokens, kind=factors).table_RH)
    urpe = Urpe(NoPosition(), heads=number, length=tokens, kind=factors).double()  # a head per factor
    with torch.no_grad():
        urpe.table_RH.copy_(torch.eye(number))
        uniform_BHQK = torch.full((1, number, tokens, tokens), 1 / tokens, dtype=torch.float64)
        return np.asarray(urpe.on_attention(uniform_BHQK, Context.of(tokens, causal=False))[0].sum(-1).numpy())


def random_fits(weights_RS: NDArray[np.float64], heads: int, *, draws: int, seed: int) -> NDArray[np.float64]:
    """fit_D: R² of the best of some heads with random factors and uniform attention, in every draw."""
    factors_DHR = np.random.default_rng(seed).standard_normal((draws, heads, len(weights_RS)))
    return np.asarray(linear_r_squared(factors_DHR @ weights_RS).max(-1))


def most_frequent_share(task: EvenTask, *, seed: int, samples: int) -> float:
    """The share of answers of the first half that are the most frequent token among the other slots.

    That is the best guess of a net that knows its own token, which half it is in, and nothing else about positions. Of
    several most frequent tokens each is guessed equally often.
    """
    batch = task.batch(seed, "test", np.arange(samples))
    rows_N, shares = np.arange(samples), []
    count_NV = np.zeros((samples, task.n_tok), dtype=np.int64)
    np.add.at(count_NV, (rows_N[:, None], batch.input_NT), 1)
    for slot in range(task.tokens // 2):
        others_NV = count_NV.copy()
        others_NV[rows_N, batch.input_NT[:, slot]] -= 1
        most_NV = others_NV == others_NV.max(1, keepdims=True)
        shares.append((most_NV[rows_N, batch.target_NT[:, slot]] / most_NV.sum(1)).mean())
    return float(np.mean(shares))


def summarise(table: ResultTable) -> list[Row]:
    """Means over seeds of what means the same in each of them: of all numbers but those of single nets."""
    rows = table.rows.filter(pl.col("seed").is_not_null(), ~pl.col("part").is_in(OF_ONE_NET))
    errors = pl.col("measure").is_in(ERRORS) | (pl.col("part") == "constant")  # at least 0, but no shares
    signed = pl.col("part").is_in([GAP.part, FOLLOWS.part, ALONE_FOLLOWS.part, ORDER.part]) & ~errors
    shares, differences, slots = (rows.filter(test).rows() for test in (~signed & ~errors, signed, errors))
    return [
        *mean_rows(shares),
        *mean_rows(differences, within=(-1.0, 1.0)),
        *mean_rows(slots, within=(0.0, math.inf)),
    ]

"""What nets that know no positions would give, and means over seeds."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wherewhat.stats.bootstrap import quantiles
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.row_sums.linear_fit import linear_r_squared
from wherewhat.studies.row_sums.names import FOLLOWS, GAP, MOST_FREQUENT, ORDER, RANDOM_FIT
from wherewhat.tasks.slots import EvenTask

DRAWS, SEQUENCES, SEED = 1000, 2000, 0
OF_ONE_NET = ("row sums", "heads")  # parts whose heads are not those of another seed


def baseline_rows(table: ResultTable) -> Iterator[Row]:
    """What random factors and guesses without positions give. The interval of random factors holds 95 % of draws."""
    fit_D = random_fits(table.scale.position.tokens, table.scale.heads, draws=DRAWS, seed=SEED)
    yield RANDOM_FIT.part, "", "", None, None, RANDOM_FIT.measure, float(fit_D.mean()), *quantiles(fit_D)
    share = most_frequent_share(table.scale.even, seed=SEED, samples=SEQUENCES)
    yield MOST_FREQUENT.part, "", "", None, None, MOST_FREQUENT.measure, share, None, None


def random_fits(tokens: int, heads: int, *, draws: int, seed: int) -> NDArray[np.float64]:
    """fit_D: R² of the best of some heads with random factors, in every draw.

    Where attention is uniform, the sum of row i is the mean of the factors of offsets -i to tokens - 1 - i.
    """
    factors_DHR = np.random.default_rng(seed).standard_normal((draws, heads, 2 * tokens - 1))
    windows_DHSK = np.lib.stride_tricks.sliding_window_view(factors_DHR, tokens, axis=-1)
    return np.asarray(linear_r_squared(windows_DHSK.mean(-1)).max(-1))


def most_frequent_share(task: EvenTask, *, seed: int, samples: int) -> float:
    """The share of answers of the first half that are the most frequent token among the other slots.

    That is the best guess of a net that knows its own token and no positions. Of several most frequent tokens each is
    guessed equally often.
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
    """Means over seeds of what means the same in each of them: of all numbers but those of single heads."""
    rows = table.rows.filter(pl.col("seed").is_not_null(), ~pl.col("part").is_in(OF_ONE_NET))
    signed = pl.col("part").is_in([GAP.part, FOLLOWS.part, ORDER.part])
    shares, differences = (rows.filter(test).rows() for test in (~signed, signed))
    return [*mean_rows(shares), *mean_rows(differences, within=(-1.0, 1.0))]

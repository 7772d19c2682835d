"""From the distance of every two heads to pairs of heads: the nearest ones, and the best one-to-one pairing.

Heads are compared by their scores here, which needs no models: for models of different shapes, where no head has a
counterpart. `attention_similarity` compares them by what they attend to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment

from wherewhat.comparing.change_rows import sided_scores
from wherewhat.comparing.model_state import ModelState
from wherewhat.stats.bootstrap import draws, quantile_interval
from wherewhat.tables.manifest.scores import Distance, HeadPair, SimilarModels
from wherewhat.tables.schema import SIMILARITY, frame

Head = tuple[int, int]  # layer and head
Distances = np.ndarray  # distance of every head of one model (rows) to every head of another (columns)
MOST_PAIRS = 1 << 15  # of heads up to which texts are resampled: pairing many heads a thousand times takes too long
NAMED = 20  # pairs of heads that the manifest names
BY_SCORES = "scores"


@dataclass(frozen=True)
class SimilarHeads:
    """Every head of one model compared with every head of another."""

    table: pl.DataFrame  # rows of similarity.parquet
    section: SimilarModels  # for the manifest


def one_to_one(distance_HH: Distances) -> float:
    """The mean distance if each head has its own partner, paired so that the sum is smallest."""
    return float(distance_HH[linear_sum_assignment(distance_HH)].mean())


SUMMARIES: dict[str, Callable[[Distances], float]] = {  # the fields of `DistanceSummaries`
    "min": lambda distance_HH: float(distance_HH.min()),  # of the two nearest heads
    "match": lambda distance_HH: float(
        distance_HH.min(1).mean()
    ),  # from the later's heads to their nearest, on average
    "match_back": lambda distance_HH: float(distance_HH.min(0).mean()),  # the same from the other side
    "one_to_one": one_to_one,
}


def summaries(distance_NHH: np.ndarray, *, seed: int = 0) -> dict[str, Any]:
    """Every summary of the mean over texts; with several texts also its interval, which resamples them."""
    texts, mean_HH = len(distance_NHH), distance_NHH.mean(0)
    values = {name: reduce(mean_HH) for name, reduce in SUMMARIES.items()}
    if texts < 2 or mean_HH.size > MOST_PAIRS:
        return {name: Distance(value=value) for name, value in values.items()}
    resamples = [np.tensordot(count_N / texts, distance_NHH, axes=1) for count_N in draws(texts, seed)]
    distances = {}
    for name, reduce in SUMMARIES.items():
        means_R1 = np.array([[reduce(distance_HH)] for distance_HH in resamples])
        low_1, high_1 = quantile_interval(means_R1, np.array([texts]))
        distances[name] = Distance(value=values[name], low=float(low_1[0]), high=float(high_1[0]))
    return distances


def best_pairing(distance_HH: Distances) -> list[tuple[int, int]]:
    """The best pairing, each head of the smaller model with its own partner; the nearest pairs first."""
    rows, columns = linear_sum_assignment(distance_HH)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (float(distance_HH[pair]), pair))


def partners(distance_HH: Distances, rows: Sequence[Head], columns: Sequence[Head]) -> list[HeadPair]:
    """The nearest pairs of the best pairing, by the names of their heads."""
    return [
        HeadPair(
            head="L{}H{}".format(*rows[i]), against="L{}H{}".format(*columns[j]), divergence=float(distance_HH[i, j])
        )
        for i, j in best_pairing(distance_HH)[:NAMED]
    ]


def similarity_table(
    names: tuple[str, str], by: str, distance_HH: Distances, rows: Sequence[Head], columns: Sequence[Head]
) -> pl.DataFrame:
    """Rows of similarity.parquet: one per pair of heads."""
    return frame(
        (
            (*names, *row, *column, by, float(distance_HH[i, j]))
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        ),
        SIMILARITY,
    )


def similar_by_scores(before: ModelState, after: ModelState) -> SimilarHeads | None:
    """The mean absolute difference of the scores that two heads share, each as a share of its range.

    Only scores with two ends count, and only those that every head has; None if there are none.
    """
    ranges = _ranges(before, after)
    first, other = (_scaled(state, ranges) for state in (before, after))
    shared = [score for score in ranges if score in first.columns and score in other.columns]
    if not shared:
        return None
    here_HX, there_HX = (side.select(shared).to_numpy() for side in (other, first))
    distance_HH = np.mean([np.abs(here_HX[:, x, None] - there_HX[None, :, x]) for x in range(len(shared))], axis=0)
    rows, columns = (list(side.select("layer", "head").iter_rows()) for side in (other, first))
    section = SimilarModels(
        model=after.name,
        against=before.name,
        by=BY_SCORES,
        scores=shared,
        **summaries(distance_HH[None]),
        any=float(distance_HH.mean()),
        partners=partners(distance_HH, rows, columns),
    )
    return SimilarHeads(similarity_table((after.name, before.name), BY_SCORES, distance_HH, rows, columns), section)


def _ranges(before: ModelState, after: ModelState) -> dict[str, tuple[float, float]]:
    """The scores that have two ends and mean the same in both states, with their ends."""
    excluded = (
        set() if set(before.heads["part"]) == set(after.heads["part"]) else sided_scores(before) | sided_scores(after)
    )
    ranges = {}
    for score in after.scores:
        low, high = after.manifest.scores[score].range if score in after.manifest.scores else (None, None)
        if score in before.scores and score not in excluded and low is not None and high is not None and low < high:
            ranges[score] = (float(low), float(high))
    return ranges


def _scaled(state: ModelState, ranges: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
    """One row per head and one column per score, each as a share of its range; only scores that every head has."""
    known = state.heads.filter(pl.col("score").is_in(list(ranges)) & pl.col("value").is_not_null())
    wide = known.pivot("score", index=["layer", "head"], values="value").sort("layer", "head")
    whole = [name for name in wide.columns if name in ranges and not wide[name].null_count()]
    shares = [((pl.col(name) - ranges[name][0]) / (ranges[name][1] - ranges[name][0])).alias(name) for name in whole]
    return wide.select("layer", "head", *shares)

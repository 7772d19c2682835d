"""Does a table of positions know that its sixteen tokens are a grid? Measures of a table, and what chance gives."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from wherewhat.encodings.sinusoidal import Sinusoidal
from wherewhat.stats.ranks import rank_correlation
from wherewhat.studies.latin_square.names import CENTRED, DISTANCE, LAYOUT, RAW
from wherewhat.tasks.latin import CELLS, SIDE

Floats = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
ROW_S, COLUMN_S = np.divmod(np.arange(CELLS), SIDE)
TIED = 9  # decimals in which equal distances agree
PAIRS: Pairs = np.triu_indices(CELLS, k=1)  # of different cells, each once: 120


def of_pairs(value_SS: Floats) -> Floats:
    """value_P: one number for each pair of different cells."""
    return value_SS[PAIRS]


def shared_lines() -> Floats:
    """shared_SS: 1 for two cells in the same row or column, 2 for a cell and itself, else 0."""
    same_row_SS, same_column_SS = (line_S[:, None] == line_S for line_S in (ROW_S, COLUMN_S))
    return np.asarray(same_row_SS.astype(np.float64) + same_column_SS)


def grid_distances() -> Floats:
    """distance_SS of cells in the plane."""
    return np.asarray(np.hypot(ROW_S[:, None] - ROW_S, COLUMN_S[:, None] - COLUMN_S))


def cosines(table_SD: Floats) -> Floats:
    """cosine_SS of all rows of a table."""
    unit_SD = table_SD / np.linalg.norm(table_SD, axis=1, keepdims=True)
    return np.asarray(unit_SD @ unit_SD.T)


def layout_correlation(table_SD: Floats) -> float:
    """Pearson's correlation, over pairs of cells, of the cosine of their rows with the lines that they share."""
    return float(np.corrcoef(of_pairs(cosines(table_SD)), of_pairs(shared_lines()))[0, 1])


def shuffled_layouts(table_SD: Floats, *, times: int, seed: int) -> Floats:
    """correlation_N: the layout correlations of a table whose rows are put into so many random orders.

    Rows that differ in few directions only spread further here than those of random tables of the same width.
    """
    generator, cosine_SS, shared_P = np.random.default_rng(seed), cosines(table_SD), of_pairs(shared_lines())
    orders = [generator.permutation(CELLS) for _ in range(times)]
    drawn = [np.corrcoef(of_pairs(cosine_SS[np.ix_(order_S, order_S)]), shared_P)[0, 1] for order_S in orders]
    return np.array(drawn)


def distance_correlation(table_SD: Floats) -> float:
    """Spearman's correlation, over pairs of cells, of the distance of their rows with that in the plane."""
    apart_SS = np.linalg.norm(table_SD[:, None] - table_SD, axis=-1)
    # Equal distances, of which a sinusoid has many, must not differ by rounding.
    both = (np.round(of_pairs(each_SS / each_SS.max()), TIED) for each_SS in (apart_SS, grid_distances()))
    rho = rank_correlation(*(each_P.tolist() for each_P in both))
    return float("nan") if rho is None else rho


def procrustes(table_SD: Floats, other_SD: Floats) -> float:
    """How well a rotation of one table fits the other, from 0 to 1: the nuclear norm of their product over both norms.

    >>> quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> table_SD = np.array([[1.0, 2.0], [3.0, 5.0], [8.0, 13.0]])
    >>> round(procrustes(table_SD, table_SD @ quarter_turn), 12)
    1.0
    """
    norms = np.linalg.norm(table_SD) * np.linalg.norm(other_SD)
    # Both have many more columns than rows, so that a product of their triangular factors has the same norm.
    own_SS, other_SS = (np.asarray(np.linalg.qr(each_SD.T, mode="r")) for each_SD in (table_SD, other_SD))
    return float(np.linalg.norm(own_SS @ other_SS.T, ord="nuc") / norms)


def centred_procrustes(table_SD: Floats, other_SD: Floats) -> float:
    """The same without the mean row of each: rows that only share a large mean fit in any order."""
    return procrustes(table_SD - table_SD.mean(0), other_SD - other_SD.mean(0))


def sinusoid_table(width: int) -> Floats:
    """table_SD of the fixed sinusoid of rows and columns."""
    table_BSD = Sinusoidal(width, grid=(SIDE, SIDE)).table(torch.arange(CELLS)[None], torch.float64)
    return np.asarray(table_BSD[0].numpy())


def table_measures(table_SD: Floats, sinusoid_SD: Floats) -> dict[str, float]:
    """All measures of a table by name."""
    measures: Mapping[str, Callable[[], float]] = {
        LAYOUT: lambda: layout_correlation(table_SD),
        DISTANCE: lambda: distance_correlation(table_SD),
        CENTRED: lambda: centred_procrustes(table_SD, sinusoid_SD),
        RAW: lambda: procrustes(table_SD, sinusoid_SD),
    }
    return {name: measure() for name, measure in measures.items()}


def chance_measures(width: int, *, tables: int, seed: int) -> dict[str, Floats]:
    """By measure, its value for each of so many random tables."""
    generator, sinusoid_SD = np.random.default_rng(seed), sinusoid_table(width)
    drawn = [table_measures(generator.standard_normal((CELLS, width)), sinusoid_SD) for _ in range(tables)]
    return {name: np.array([each[name] for each in drawn]) for name in drawn[0]}

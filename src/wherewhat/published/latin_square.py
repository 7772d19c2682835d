"""Published accuracies on Latin squares, in per cent, by how wide learned tables start (arXiv 2406.08272).

Means and standard deviations over 15 seeds, computed from the released files of single runs: on held-out puzzles that
were generated like those of training, and on 108 puzzles of an earlier experiment with people.
"""

from typing import NamedTuple

SIGMAS = (0.1, 0.2, 0.3, 0.5, 1.0, 1.2, 1.5, 2.0)
SINUSOID = "2-D sinusoid"


class PublishedAccuracy(NamedTuple):
    """A mean over seeds and its standard deviation, on both sets of puzzles."""

    held_out: float
    held_out_deviation: float
    originals: float
    originals_deviation: float


SEEDS = 15
BY_TABLE: dict[float | str, PublishedAccuracy] = {
    SINUSOID: PublishedAccuracy(98.5, 3.1, 97.7, 7.3),
    0.1: PublishedAccuracy(97.0, 4.0, 92.5, 8.3),
    0.2: PublishedAccuracy(98.6, 1.0, 95.6, 3.9),
    0.3: PublishedAccuracy(98.7, 0.6, 94.6, 2.2),
    0.5: PublishedAccuracy(98.6, 0.6, 94.6, 2.5),
    1.0: PublishedAccuracy(98.1, 0.7, 89.4, 4.3),
    1.2: PublishedAccuracy(95.3, 2.9, 75.6, 14.1),
    1.5: PublishedAccuracy(91.6, 5.8, 61.6, 20.8),
    2.0: PublishedAccuracy(84.7, 7.1, 37.7, 17.1),
}

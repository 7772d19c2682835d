"""How probable a difference is if there is none, and what is left of that after several tests."""

from collections.abc import Sequence
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from wherewhat.stats.bootstrap import Ints, by_sentence


def sign_flip(differences_N: NDArray[np.generic], sentence_N: Ints) -> float:
    """The two-sided p-value of a mean difference: under no difference, the signs of whole sentences may flip.

    The sum over sentences under random signs is nearly normal. A bootstrap of 1,000 could not tell small ones apart.
    """
    _, _, sum_S1 = by_sentence(differences_N[:, None], sentence_N)
    size = sqrt(float((sum_S1**2).sum()))
    return 1.0 if size == 0 else erfc(abs(float(sum_S1.sum())) / size / sqrt(2))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values after Holm's correction for several tests: below .05, less than one in twenty such lists errs.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, worst = [0.0] * len(p_values), 0.0
    for before, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - before) * p_values[at]))
        corrected[at] = worst
    return corrected

"""By how much a net that counts against a bias token errs on sequences of another size. Torch-free."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CountingSize:
    """How long sequences are and how many regions they have."""

    tokens: int
    regions: int


def expected_slopes(trained: CountingSize, other: CountingSize) -> dict[str, float]:
    """By what a net counts against, its predicted count over the true one when sequences change.

    >>> slopes = expected_slopes(CountingSize(512, 4), CountingSize(300, 4))
    >>> {bias: round(slope, 2) for bias, slope in slopes.items()}
    {'BOS': 1.0, 'own brackets': 1.0, 'all brackets': 1.0, 'zeros': 1.73}
    """
    zeros, fewer = (size.tokens - 2 * size.regions for size in (trained, other))
    own = {"BOS": 1.0, "own brackets": 1.0}  # there is always one of them for a region
    return {**own, "all brackets": trained.regions / other.regions, "zeros": zeros / fewer}

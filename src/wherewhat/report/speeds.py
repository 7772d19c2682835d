"""Rank correlations with speed, in one orientation: above 0, there is more of it in faster frequencies."""

Rho = tuple[float | None, float | None, float | None]  # the correlation and the ends of its interval
SPEED = "mean_speed"  # of a head: its mean frequency, with the fastest as the largest


def with_speed(x: str, rho: float | None, low: float | None, high: float | None) -> tuple[str, Rho]:
    """What is compared with, and the correlation. Earlier runs compared with a number that grows as planes slow down.

    >>> with_speed("mean_frequency", -0.6, -0.7, 0.1)
    ('mean_speed', (0.6, -0.1, 0.7))
    >>> with_speed("theta", 0.5, None, None)
    ('theta', (0.5, None, None))
    """
    if x != "mean_frequency":
        return x, (rho, low, high)
    flipped = [None if value is None else -value for value in (rho, high, low)]
    return SPEED, (flipped[0], flipped[1], flipped[2])

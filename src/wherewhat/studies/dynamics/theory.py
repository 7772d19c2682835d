"""The most by which the best key can lead the second, for a head of one rotary frequency (arXiv 2605.31558)."""

import math


def index_lead(theta: float, length: int) -> float:
    """For a head that looks at one place among `length`: the smaller of 1 - cos θ and 2π² / length².

    Queries and keys have length 1, so a logit is the cosine of an angle. The neighbour of the right place is θ away;
    and of so many multiples of θ some comes within 2π / length of a whole turn.

    >>> round(index_lead(0.8, 17), 4), round(index_lead(0.8, 100), 4)
    (0.0683, 0.002)
    """
    return min(1 - math.cos(theta), 2 * math.pi**2 / length**2)


def retrieval_lead(theta: float, length: int, letters: int) -> float:
    """For a head that looks for one of some letters within `length` tokens: 1 - cos(ω - length·θ), ω = 2π / letters.

    Two letters are at least ω apart on the circle, and a token `length` slots away has turned by length·θ. From where
    that makes up for ω on, another letter can look just like the right one, and nothing is left of the lead.

    >>> round(retrieval_lead(0.0027, 17, 8), 4), retrieval_lead(0.0027, 300, 8)
    (0.2612, 0.0)
    """
    left = 2 * math.pi / letters - length * theta
    return 1 - math.cos(left) if left > 0 else 0.0


def theta_of(number: float, *, width: int, base: float) -> float:
    """The angle a token of the rotary frequency with this number, counted from 0 for the fastest; it may lie between.

    >>> theta_of(0, width=128, base=10_000), round(theta_of(9, width=128, base=10_000), 6)
    (1.0, 0.273842)
    """
    return float(base ** (-2 * number / width))

"""Bounds on the margin of the best key over the second, for a head with one rotary frequency (arXiv 2605.31558)."""

import math


def index_margin_bound(theta: float, length: int) -> float:
    """For a head that attends to one position among `length`: the smaller of 1 - cos θ and 2π² / length².

    Queries and keys have length 1, so a logit is the cosine of an angle. The neighbours of the right position are θ
    away, and among that many multiples of θ one comes within 2π / length of a full turn.

    >>> round(index_margin_bound(0.8, 17), 4), round(index_margin_bound(0.8, 100), 4)
    (0.0683, 0.002)
    """
    return min(1 - math.cos(theta), 2 * math.pi**2 / length**2)


def retrieval_margin_bound(theta: float, length: int, letters: int) -> float:
    """For a head that attends to one of `letters` within `length` tokens: 1 - cos(ω - length·θ), ω = 2π / letters.

    Two letters are at least ω apart on the circle, and a token `length` slots away is rotated by length·θ. Once that
    reaches ω, another letter can look exactly like the right one, and the margin is 0.

    >>> round(retrieval_margin_bound(0.0027, 17, 8), 4), retrieval_margin_bound(0.0027, 300, 8)
    (0.2612, 0.0)
    """
    left = 2 * math.pi / letters - length * theta
    return 1 - math.cos(left) if left > 0 else 0.0


def theta_of(number: float, *, width: int, base: float) -> float:
    """The angle per token of the rotary frequency with this number, counted from 0 for the fastest; fractions are fine.

    >>> theta_of(0, width=128, base=10_000), round(theta_of(9, width=128, base=10_000), 6)
    (1.0, 0.273842)
    """
    return float(base ** (-2 * number / width))

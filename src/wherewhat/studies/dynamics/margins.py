"""The margin of the best key over the second: its bounds for a head with one frequency, and how to measure it."""

import math

import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.errors import UserError
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.nets.trunk import Trunk


def index_margin_bound(theta: float, length: int) -> float:
    """For a head that attends to one position among `length`: the smaller of 1 - cos θ and 2π² / length².

    Queries and keys have length 1, so a logit is the cosine of an angle. The neighbours of the right position are θ
    away, and among that many multiples of θ one comes within 2π / length of a full turn (arXiv 2605.31558).

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


def margins(net: Trunk, texts: list[Tensor], *, layer: int) -> list[float]:
    """The margin of the first head of a layer at the last token of each text."""
    margin_by_text = dict[int, float]()

    def on_rows(rows: AttentionRows) -> None:
        if rows.site.ordinal == layer:
            margin_by_text[rows.text] = _margin(rows)

    with capture(net, on_rows) as captured:
        for batch in batches(texts, queries=LAST, seed=0):
            captured.read(batch)
    return [margin_by_text[number] for number in range(len(texts))]


def _margin(rows: AttentionRows) -> float:
    """The largest minus the second largest cosine between the rotated query and a rotated earlier key.

    A logit is scale · |query| · |key| · cosine. In the theory, vectors have length 1 and there is no scale, so its
    logits are the cosines.
    """
    if not isinstance(rows.logits, RotaryLogits):
        raise UserError(
            "the theory of margins covers rotary heads only, and this net has none; train with encoding rope"
        )
    logits = rows.logits
    query, key_K = logits.query_HQF[0, -1], logits.key_GKF[0]
    length_K = logits.scale * torch.linalg.vector_norm(query) * torch.linalg.vector_norm(key_K, dim=-1)
    cosine_K = (logits.actual_HQK[0, -1] / length_K)[:-1]  # the last token is the query itself
    first, second = cosine_K.topk(2).values.tolist()
    return float(first - second)

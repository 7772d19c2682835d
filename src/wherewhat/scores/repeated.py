"""What heads do with tokens that were said before: look one back, find the same token, or what came after it.

Each question has a pattern of keys, and three numbers: the share of attention on it, how far that is above chance, and
how often the key looked at hardest is in it. Rows without such a key in sight never count.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from wherewhat.scores.base import Rows, weighted_mean
from wherewhat.scores.chance import uniform
from wherewhat.scores.patterns import before, copies, followers, on_pattern

Answer = tuple[Tensor, Tensor, float]  # value_H, rows that count for each head, and what a head that knows nothing gets
MEASURES = ("", ".excess", ".argmax")  # of every pattern: the share itself has no name of its own


PATTERNS: dict[str, Callable[[Rows], Tensor]] = {"previous": before, "duplicate": copies, "induction": followers}


def answers(rows: Rows, name: str) -> dict[str, Answer]:
    """What some rows say of a pattern, by measure.

    >>> eye = torch.eye(4).roll(-1, -1)[None]  # a head that looks one back, and in its first row nowhere
    >>> allowed = torch.ones(4, 4).tril().bool()
    >>> rows = Rows(eye.tril(), torch.arange(4), allowed, torch.tensor([5, 6, 5, 6]))
    >>> {measure: float(value_H) for measure, (value_H, _, _) in answers(rows, "previous").items()}
    {'': 1.0, '.excess': 1.0, '.argmax': 1.0}
    """
    pattern_QK = PATTERNS[name](rows)
    value_HQ, weight_HQ = on_pattern(rows, pattern_QK)
    mass_H, count_H = weighted_mean(value_HQ, weight_HQ), weight_HQ.sum(-1)
    even_HQ, _ = on_pattern(uniform(rows, torch.Generator()), pattern_QK)
    chance_H = weighted_mean(even_HQ.expand_as(weight_HQ), weight_HQ)
    chance = float(chance_H.nanmean())
    hit_HQ = pattern_QK.expand_as(rows.attention_HQK).gather(-1, _hardest(rows)[..., None])[..., 0]
    return {
        "": (mass_H, count_H, chance),
        ".excess": ((mass_H - chance_H) / (1 - chance_H), count_H, 0.0),
        ".argmax": (weighted_mean(hit_HQ.to(weight_HQ), weight_HQ), count_H, chance),
    }


def _hardest(rows: Rows) -> Tensor:
    """The key that each row looks at hardest, the first of equals."""
    return rows.attention_HQK.masked_fill(~rows.allowed_QK, -1).argmax(-1)

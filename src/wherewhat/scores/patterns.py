"""How much of each row falls on a pattern of keys: the token itself, its neighbours, earlier copies, their followers.

Only rows that see a key of the pattern count. On repeated random tokens, a pattern has three scores: the share of
attention on it, how far that is above chance, and how often the key with the most attention is in it.
"""

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import pad

from wherewhat.scores.base import NOTHING, REPEATED_TOKENS, PerRow, Rows, Score, weighted_mean
from wherewhat.scores.chance import uniform

WANG, OLSSON = "Wang et al. 2022, arXiv 2211.00593", "Olsson et al. 2022, arXiv 2209.11895"
Answer = tuple[Tensor, Tensor, float]  # value_H, rows that count for each head, and the chance level
MEASURES = ("", ".excess", ".argmax")  # of every pattern: the share itself has no suffix
_TARGETS = {  # by pattern: the key in question, what a head that attends to it is called, and the paper
    "previous": ("the token just before", "a previous-token head", OLSSON),
    "duplicate": ("the same token in the first block", "a duplicate-token head", WANG),
    "induction": ("the token after the same token in the first block", "an induction head", OLSSON),
}
_ASKS = {  # by measure: the question, and what the lower end means
    "": ("how much of the attention goes to {}?", "None."),
    ".excess": ("how far above chance is the attention to {}?", "0 is chance, less than 0 is less than chance."),
    ".argmax": ("how often is the key with the most attention {}?", "Never."),
}


def before(rows: Rows) -> Tensor:
    """pattern_QK: the token just before."""
    return rows.allowed_QK & (rows.offsets_QK == -1)


def copies(rows: Rows) -> Tensor:
    """pattern_QK: earlier copies of the token."""
    return rows.same_QK & rows.earlier_QK


def followers(rows: Rows) -> Tensor:
    """pattern_QK: the token right after an earlier copy: the key before it holds the same token."""
    return pad(rows.same_QK[:, :-1], (1, 0)) & rows.earlier_QK


def on_pattern(rows: Rows, pattern_QK: Tensor) -> PerRow:
    """The share of each row's attention that falls on the keys of `pattern_QK` (bool, allowed keys only).

    A row in which no key fits the pattern is left out: counting it would penalise a head for what it cannot do.
    """
    pattern_HQ = (rows.attention_HQK * pattern_QK).sum(-1)
    return share(rows, pattern_HQ), rows.weigh(pattern_QK.any(-1))


def at_offset(rows: Rows, offset: int) -> PerRow:
    """The share of each row's attention on the key `offset` slots after its query (before it, if negative).

    The same as `on_pattern` for that diagonal, but it reads a single key per row.
    """
    slots_Q = rows.queries_Q + offset
    inside_Q = (slots_Q >= 0) & (slots_Q < len(rows.slots_K))
    index_Q1 = slots_Q.clamp(0, len(rows.slots_K) - 1)[:, None]
    eligible_Q = inside_Q & rows.allowed_QK.gather(1, index_Q1)[:, 0]
    pattern_HQ = rows.attention_HQK.gather(2, index_Q1.expand(len(rows.attention_HQK), -1, -1))[..., 0]
    return share(rows, pattern_HQ), rows.weigh(eligible_Q)


def share(rows: Rows, pattern_HQ: Tensor) -> Tensor:
    """Divide by the attention on all keys; rounding must not carry the share above 1."""
    return (pattern_HQ / rows.mass_HQ.clamp_min(NOTHING)).clamp_(max=1)


def itself(rows: Rows) -> PerRow:
    """The share of each row's attention on its own token; rows that see only one key are forced and left out."""
    value_HQ, weight_HQ = at_offset(rows, 0)
    return value_HQ, weight_HQ * (rows.visible_Q >= 2)


def previous(rows: Rows) -> PerRow:
    """The share of each row's attention on the token before it; rows that cannot see that token are left out."""
    return at_offset(rows, -1)


def following(rows: Rows) -> PerRow:
    """The share of each row's attention on the token after it; a causal mask leaves no row that has one."""
    return at_offset(rows, 1)


def duplicate(rows: Rows) -> PerRow:
    """The share of each row's attention on earlier occurrences of its own token; rows without any are left out."""
    return on_pattern(rows, copies(rows))


def induction(rows: Rows) -> PerRow:
    """The share of each row's attention on keys that directly follow an earlier occurrence of its token.

    After "a b c a", the last row's such key is b. Rows whose token is new are left out: they cannot match.
    """
    return on_pattern(rows, followers(rows))


def sink(rows: Rows) -> PerRow:
    """The attention each row spends on key 0.

    Rows that cannot see it (outside a sliding window) are left out, and rows that see only one key, whose value is
    forced.
    """
    eligible_Q = rows.allowed_QK[:, 0] & (rows.visible_Q >= 2)
    first_HQ = rows.attention_HQK[..., 0].clone()  # a view would keep every weight of the layer in memory
    return first_HQ, rows.weigh(eligible_Q)


PATTERNS: dict[str, Callable[[Rows], Tensor]] = {"previous": before, "duplicate": copies, "induction": followers}


def answers(rows: Rows, name: str) -> dict[str, Answer]:
    """The scores of a pattern on some rows, by measure.

    >>> import torch
    >>> eye = torch.eye(4).roll(-1, -1)[None]  # a head that looks one back, and in its first row nowhere
    >>> allowed = torch.ones(4, 4).tril().bool()
    >>> rows = Rows(eye.tril(), torch.arange(4), allowed, torch.tensor([5, 6, 5, 6]))
    >>> {measure: float(value_H) for measure, (value_H, _, _) in answers(rows, "previous").items()}
    {'': 1.0, '.excess': 1.0, '.argmax': 1.0}
    """
    pattern_QK = PATTERNS[name](rows)
    value_HQ, weight_HQ = on_pattern(rows, pattern_QK)
    mass_H, count_H = weighted_mean(value_HQ, weight_HQ, rows.text_Q)[:, 0], weight_HQ.sum(-1)
    even_HQ, _ = on_pattern(uniform(rows, []), pattern_QK)
    chance_H = weighted_mean(even_HQ.expand_as(weight_HQ), weight_HQ, rows.text_Q)[:, 0]
    chance = float(chance_H.nanmean())
    strongest_HQ = rows.attention_HQK.masked_fill(~rows.allowed_QK, -1).argmax(-1)  # the first of equals
    hit_HQ = pattern_QK.expand_as(rows.attention_HQK).gather(-1, strongest_HQ[..., None])[..., 0]
    return {
        "": (mass_H, count_H, chance),
        ".excess": ((mass_H - chance_H) / (1 - chance_H), count_H, 0.0),
        ".argmax": (weighted_mean(hit_HQ.to(weight_HQ), weight_HQ, rows.text_Q)[:, 0], count_H, chance),
    }


def _score(pattern: str, measure: str) -> Score:
    (target, head, paper), (question, low) = _TARGETS[pattern], _ASKS[measure]
    excess = measure == ".excess"
    return Score(
        name=f"random.{pattern}{measure}",
        kind=REPEATED_TOKENS,
        asks=f"On repeated random tokens, {question.format(target)}",
        low=low,
        high=f"Always: {head}." if measure == ".argmax" else f"All of it: {head}.",
        paper=paper,
        chance="0" if excess else "attention that is the same for all visible keys of the blocks",
        range=(-1.0, 1.0) if excess else (0.0, 1.0),
    )


REPEATED_SCORES = tuple(_score(pattern, measure) for pattern in PATTERNS for measure in MEASURES)

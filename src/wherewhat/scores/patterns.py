"""How much of each row falls on a pattern of keys, with only the rows that could follow it in the count."""

from torch import Tensor
from torch.nn.functional import pad

from wherewhat.scores.base import NOTHING, PerRow, Rows


def before(rows: Rows) -> Tensor:
    """pattern_QK: the token just before."""
    return rows.allowed_QK & (rows.offsets_QK == -1)


def copies(rows: Rows) -> Tensor:
    """pattern_QK: earlier copies of the token."""
    return rows.same_QK & rows.earlier_QK


def followers(rows: Rows) -> Tensor:
    """pattern_QK: what came right after an earlier copy of the token: the key before it holds the same."""
    return pad(rows.same_QK[:, :-1], (1, 0)) & rows.earlier_QK


def on_pattern(rows: Rows, pattern_QK: Tensor) -> PerRow:
    """The share of each row's attention that falls on the keys of `pattern_QK` (bool, allowed keys only).

    A row in which no key fits the pattern is left out: counting it would punish a head for what it cannot do.
    """
    pattern_HQ = (rows.attention_HQK * pattern_QK).sum(-1)
    return share(rows, pattern_HQ), rows.weigh(pattern_QK.any(-1))


def at_offset(rows: Rows, offset: int) -> PerRow:
    """The share of each row's attention on the key `offset` slots after its query (before it, if negative).

    The same as `on_pattern` for that diagonal, but it reads a single key a row.
    """
    slots_Q = rows.queries_Q + offset
    inside_Q = (slots_Q >= 0) & (slots_Q < len(rows.slots_K))
    index_Q1 = slots_Q.clamp(0, len(rows.slots_K) - 1)[:, None]
    eligible_Q = inside_Q & rows.allowed_QK.gather(1, index_Q1)[:, 0]
    pattern_HQ = rows.attention_HQK.gather(2, index_Q1.expand(len(rows.attention_HQK), -1, -1))[..., 0]
    return share(rows, pattern_HQ), rows.weigh(eligible_Q)


def share(rows: Rows, pattern_HQ: Tensor) -> Tensor:
    """Divide by what the row spends on all keys; rounding must not carry a whole beyond 1."""
    return (pattern_HQ / rows.mass_HQ.clamp_min(NOTHING)).clamp_(max=1)

"""How much of its attention does a head park on the first token?"""

from wherewhat.scores.base import PerRow, Rows


def sink(rows: Rows) -> PerRow:
    """The attention each row spends on key 0.

    Left out are rows that may not look at it (outside a sliding window) and rows that see only one key,
    whose answer is forced.
    """
    eligible_Q = rows.allowed_QK[:, 0] & (rows.visible_Q >= 2)
    first_HQ = rows.attention_HQK[..., 0].clone()  # a view would keep every weight of the layer in memory
    return first_HQ, rows.weigh(eligible_Q)

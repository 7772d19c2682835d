"""How much does a head look at one fixed place beside the query: the token itself, the one before, the one after?"""

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.patterns import at_offset


def itself(rows: Rows) -> PerRow:
    """The share of each row's attention on its own token; rows that see only one key are forced and left out."""
    value_HQ, weight_HQ = at_offset(rows, 0)
    return value_HQ, weight_HQ * (rows.visible_Q >= 2)


def previous(rows: Rows) -> PerRow:
    """The share of each row's attention on the token before it; rows that cannot see that token are left out."""
    return at_offset(rows, -1)


def following(rows: Rows) -> PerRow:
    """The share of each row's attention on the token after it; a causal mask leaves no row that could answer."""
    return at_offset(rows, 1)

"""Does a head look at what came next the last time the token it stands on was seen?"""

from torch.nn.functional import pad

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.patterns import on_pattern


def induction(rows: Rows) -> PerRow:
    """The share of each row's attention on keys that directly follow an earlier occurrence of its token.

    After "a b c a", the last row's such key is b. Rows whose token is new are left out: they cannot match.
    """
    follows_QK = pad(rows.same_QK[:, :-1], (1, 0))  # the key before this one holds the query's token
    return on_pattern(rows, follows_QK & rows.earlier_QK)

"""Does a head look at what came next the last time the token it stands on was seen?"""

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.patterns import followers, on_pattern


def induction(rows: Rows) -> PerRow:
    """The share of each row's attention on keys that directly follow an earlier occurrence of its token.

    After "a b c a", the last row's such key is b. Rows whose token is new are left out: they cannot match.
    """
    return on_pattern(rows, followers(rows))

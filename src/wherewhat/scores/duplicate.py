"""Does a head look back at earlier copies of the token it stands on?"""

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.patterns import copies, on_pattern


def duplicate(rows: Rows) -> PerRow:
    """The share of each row's attention on earlier occurrences of its own token; rows without any are left out."""
    return on_pattern(rows, copies(rows))

"""No position at all: the baseline. A decoder still learns some order, because each token sees only its past."""

from wherewhat.encodings.base import Encoding


class NoPosition(Encoding):
    """Leave everything as it is. An encoder then reads its text as a bag of tokens.

    Logits are q·k / √head_dim and nothing more (studied in arXiv 2203.16634 and 2305.19466).
    """

"""No position at all: the baseline. A decoder still learns some order, because each token sees only its past."""

from wherewhat.encodings.base import Encoding, EncodingRecord


class NoPosition(Encoding):
    """Leave everything as it is. An encoder then reads its text as a bag of tokens.

    Logits are q·k / √head_dim and nothing more (studied in arXiv 2203.16634 and 2305.19466).
    """

    name = "none"
    mirror_invariant = True


RECORD = EncodingRecord(
    cls=NoPosition,
    about="no position at all; a decoder can still infer order from its causal mask",
    acts="nowhere",
    parameters="none",
    direction="either; without a causal mask the text is a bag of tokens",
    kernel="fused",
    growth="nothing",
    paper="Haviv et al. 2022, arXiv 2203.16634",
)

"""The kinds of scores that a page treats apart, and the names that make up those of the positional part.

A score's kind is in its record, from which the manifest has it; these are the same labels.
"""

from collections.abc import Iterable

WHERE_OR_WHAT, ATTENTION, PUBLISHED, HIDDEN = "Where or what", "Attention", "Published scores", "Hidden state"
POSITIONAL, REPEATED = "Positional part", "Repeated random tokens"
KINDS = (WHERE_OR_WHAT, ATTENTION, PUBLISHED, HIDDEN, POSITIONAL, REPEATED)  # in the order a reader meets them
SOURCES = ("identical", "unmasked", "delta", "mean")  # of the positional part
MEASURES = ("locality", "excess", "off_diagonal_locality", "symmetry", "balance", "left_right_bias")  # of each
SHARES = ("position_share", "symbol_share", "interaction_share")
EXCLUSION = ("exclusion_positional", "exclusion_symbolic", "logit_variance")


def in_order(kinds: Iterable[str]) -> list[str]:
    """Each kind once, in reading order; those that no page knows come last, in the order they came.

    >>> in_order(["Attention", "Lately added", "Where or what", "Attention"])
    ['Where or what', 'Attention', 'Lately added']
    """
    distinct = list(dict.fromkeys(kinds))
    return [kind for kind in KINDS if kind in distinct] + [kind for kind in distinct if kind not in KINDS]

"""Does a head look left and right in equal measure? Symmetry without the faults of the published measure."""

from wherewhat.scores.base import PerRow, Rows

LEAST = 1e-30


def balance(rows: Rows) -> PerRow:
    """One minus the share of the paired attention by which left and right differ: 0 looks to one side only.

    Pairs are keys at equal distance left and right of the query, as for `symmetry`; a row counts by the attention
    its pairs hold, so pooling gives 1 - sum |left - right| / sum (left + right). It moves smoothly: a little noise
    costs a little. A head that looks at no pair at all favours neither side and gets 1; under a causal mask a
    head that looks left at all gets 0, which says nothing of it.
    """
    pairs = rows.pairs
    # A weight too small to matter beside any other lets rows answer even where all their pairs are empty.
    weight_HQ = pairs.mass_HQ.clamp_min(LEAST) * (pairs.count_Q > 0)
    value_HQ = 1 - pairs.difference_HQ / pairs.mass_HQ.clamp_min(LEAST)
    return value_HQ.clamp_(0, 1), weight_HQ

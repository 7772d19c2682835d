"""Does a head look left and right in equal measure? Symmetry without the faults of the published measure."""

from wherewhat.scores.base import PerRow, Rows


def balance(rows: Rows) -> PerRow:
    """One minus the share of the paired attention by which left and right differ: 0 looks to one side only.

    Pairs are keys at equal distance left and right of the query, as for `symmetry`; a row counts by the attention
    its pairs hold, so pooling gives 1 - sum |left - right| / sum (left + right). It moves smoothly: a little noise
    costs a little. A head that looks at no pair at all has no answer (NaN), and under a causal mask, where nothing
    is on the right, the answer is 0 whatever the head does.
    """
    pairs = rows.pairs
    paired_HQ = pairs.mass_HQ > 0
    value_HQ = 1 - pairs.difference_HQ / pairs.mass_HQ.masked_fill(~paired_HQ, 1)
    return value_HQ.clamp_(0, 1), pairs.mass_HQ

"""Is a head's attention spread out or gathered on few keys?"""

from wherewhat.scores.base import NOTHING, PerRow, Rows

FAINT = 1e-30  # weights below this add nothing to an entropy; going down to 0 would make the logarithm ten times slower


def entropy(rows: Rows) -> PerRow:
    """The entropy of each row over the most it could have, log(visible keys): 1 spreads evenly, 0 looks at one key.

    Rows that see fewer than two keys have nothing to choose and are left out. A row that keeps part of its
    attention for a sink of the model's own is judged by how it spreads the rest.
    """
    attention_HQK, mass_HQ = rows.attention_HQK, rows.mass_HQ.clamp_min(NOTHING)
    negative_HQ = attention_HQK.clamp_min(FAINT).log_().mul_(attention_HQK).sum(-1)
    nats_HQ = mass_HQ.log() - negative_HQ / mass_HQ
    most_Q = rows.visible_Q.clamp_min(2).to(attention_HQK.dtype).log_()
    return (nats_HQ / most_Q).clamp_(0, 1), rows.weigh(rows.visible_Q >= 2)

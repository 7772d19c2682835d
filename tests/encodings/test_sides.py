"""Without a causal mask, RoPE still tells before from after; ALiBi, which knows distance alone, does not."""

import torch

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.band_rope import BandRope
from wherewhat.encodings.base import Context

ANGLE, REACH = 0.05, 20
CONTEXT = Context.of(2 * REACH + 1, causal=False).rows(torch.tensor([REACH]))  # the token in the middle


def test_a_rotary_logit_can_be_odd_in_distance() -> None:
    rope = BandRope(head_dim=2, angle=ANGLE).double()
    query, key = torch.tensor([0.0, 1.0]).double(), torch.tensor([1.0, 0.0]).double()
    q, k = rope.on_query_key(query.expand(1, 1, 1, 2), key.expand(1, 1, 2 * REACH + 1, 2), CONTEXT)
    logits_K = (q @ k.mT)[0, 0, 0]
    signed_K = torch.arange(-REACH, REACH + 1).double()  # where a key stands from the query
    assert (logits_K - torch.sin(ANGLE * signed_K)).abs().max() < 1e-12
    assert (logits_K.diff() > 0).all()
    earlier_K = (-60 / ANGLE * logits_K).softmax(0)  # a large multiple leaves only keys on one side
    assert earlier_K[: REACH + 1].sum() > 1 - 1e-12


def test_alibi_is_the_same_on_both_sides() -> None:
    q = torch.zeros(1, 1, 1, 2)
    bias_K = Alibi(heads=1, slope=0.1).bias(q, q.expand(1, 1, 2 * REACH + 1, 2), CONTEXT)[0, 0, 0]
    assert (bias_K - bias_K.flip(0)).abs().max() < 1e-6 and bias_K[0] < bias_K[1] < bias_K[REACH]
    assert (bias_K + 0.1 * torch.arange(-REACH, REACH + 1).abs()).abs().max() < 1e-5

"""Nets whose attention lacks one link in one block: what do answers need?"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import SelfAttention, attention_rows
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.latin_square.attention import links, with_link
from wherewhat.studies.latin_square.measures import AT_ONCE, Right, right_answers, share
from wherewhat.studies.latin_square.names import LINKS, block_name
from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.stream import Ints


def without(attention_BHQK: Tensor, link_BQK: Tensor) -> Tensor:
    """Attention without a link, the rest of its row scaled to a sum of one; a row that has no rest is zero.

    >>> without(torch.tensor([[[[0.5, 0.25, 0.25], [1, 0, 0]]]]), torch.tensor([[[True, False, False]] * 2]))
    tensor([[[[0.0000, 0.5000, 0.5000],
              [0.0000, 0.0000, 0.0000]]]])
    """
    kept_BHQK = attention_BHQK.masked_fill(link_BQK[:, None], 0.0)
    sums_BHQ1 = kept_BHQK.sum(-1, keepdim=True)
    return kept_BHQK / sums_BHQ1.masked_fill(sums_BHQ1 == 0, 1.0)


@contextmanager
def removed_link(net: Trunk, block: int, link_BQK: Tensor) -> Iterator[None]:
    """Take a link from one block for as many inputs as the link has; the net is restored on leaving the `with`."""
    module = cast(SelfAttention, net.blocks[block].attention)
    before, module.attend = module.attend, partial(_attend_without, link_BQK)
    try:
        yield
    finally:
        module.attend = before


def _attend_without(
    link_BQK: Tensor, encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context
) -> Tensor:
    attention_BHQK = attention_rows(encoding, q_BHQC, k_BHKC, context, torch.arange(q_BHQC.shape[2]))
    return without(attention_BHQK, link_BQK[:, context.slots_Q]) @ v_BHKC


def right_without(net: Trunk, block: int, link: str, input_NC: Ints, target_N: Ints) -> Right:
    """right_N of a net that lacks a link in one block."""
    pieces = [slice(first, first + AT_ONCE) for first in range(0, len(input_NC), AT_ONCE)]
    right = []
    for piece in pieces:
        with removed_link(net, block, links(torch.from_numpy(input_NC[piece]))[link]):
            right.append(right_answers(net, input_NC[piece], target_N[piece]))
    return np.concatenate(right)


def removed_rows(net: Trunk, test: TaskBatch) -> Iterator[Measured]:
    """By link, accuracy on the test puzzles that have it: of the whole net, then without the link in each block."""
    for link in LINKS:
        has_N = with_link(link, torch.from_numpy(test.input_NT)).numpy()
        puzzles = test.input_NT[has_N], test.target_N[has_N]
        yield "removed", "", None, link, *share(right_answers(net, *puzzles))
        for block in range(len(net.blocks)):
            yield "removed", block_name(block), None, link, *share(right_without(net, block, link, *puzzles))

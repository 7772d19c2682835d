"""Nets whose attention lacks one link in one block, or one in each of two blocks: what do answers need?"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import combinations, product

import numpy as np
import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import attention_rows, replaced_attend
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.engine.results import Cell
from wherewhat.studies.latin_square.attention import asks_elsewhere, links
from wherewhat.studies.latin_square.measures import AT_ONCE, Right, right_answers, share
from wherewhat.studies.latin_square.names import (
    GROUPS,
    REMOVED,
    TOGETHER,
    removed_cell,
    removed_in,
    together_cell,
    whole_cell,
)
from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.stream import Ints

Cut = tuple[str, int]  # a link, and the block that lacks it


def without(attention_BHQK: Tensor, link_BQK: Tensor) -> Tensor:
    """Attention without a link, the rest of its row scaled to a sum of one; a row that has no rest is zero.

    >>> without(torch.tensor([[[[0.5, 0.25, 0.25], [1, 0, 0]]]]), torch.tensor([[[True, False, False]] * 2]))
    tensor([[[[0.0000, 0.5000, 0.5000],
              [0.0000, 0.0000, 0.0000]]]])
    """
    kept_BHQK = attention_BHQK.masked_fill(link_BQK[:, None], 0.0)
    sums_BHQ1 = kept_BHQK.sum(-1, keepdim=True)
    return kept_BHQK / sums_BHQ1.masked_fill(sums_BHQ1 == 0, 1.0)


def removed_link(net: Trunk, block: int, link_BQK: Tensor) -> AbstractContextManager[None]:
    """Take a link from one block for as many inputs as the link has; the net is restored on leaving the `with`."""
    return replaced_attend(net.blocks[block], [partial(_attend_without, link_BQK)])


def _attend_without(
    link_BQK: Tensor, encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context
) -> Tensor:
    attention_BHQK = attention_rows(encoding, q_BHQC, k_BHKC, context, torch.arange(q_BHQC.shape[2]))
    return without(attention_BHQK, link_BQK[:, context.slots_Q]) @ v_BHKC


def right_without(net: Trunk, cuts: Sequence[Cut], input_NC: Ints, target_N: Ints) -> Right:
    """right_N of a net of which some blocks lack a link each."""
    right = []
    for first in range(0, len(input_NC), AT_ONCE):
        piece = slice(first, first + AT_ONCE)
        link_BQK = links(torch.from_numpy(input_NC[piece]))
        with ExitStack() as removed:
            for link, block in cuts:
                removed.enter_context(removed_link(net, block, link_BQK[link]))
            right.append(right_answers(net, input_NC[piece], target_N[piece]))
    return np.concatenate(right)


def removed_rows(net: Trunk, test: TaskBatch) -> Iterator[Measured]:
    """Accuracy of the whole net, without each link in each block, and without two links, the second in a later block.

    All on the same test puzzles, those in which links do not overlap; and in each class of them.
    """
    elsewhere_N = asks_elsewhere(torch.from_numpy(test.input_NT)).numpy()
    puzzles, blocks = (test.input_NT[elsewhere_N], test.target_N[elsewhere_N]), range(len(net.blocks))
    cuts: dict[Cell, Sequence[Cut]] = {whole_cell(): ()}
    cuts |= {removed_cell(link, block): ((link, block),) for link, block in product(REMOVED, blocks)}
    cuts |= {
        together_cell(before, after): tuple(zip(TOGETHER, (before, after), strict=True))
        for before, after in combinations(blocks, 2)
    }
    group_N = test.group_N[elsewhere_N]
    for cell, its in cuts.items():
        right_N = right_without(net, its, *puzzles)
        yield cell.part, cell.item, cell.at, cell.measure, *share(right_N)
        for number in np.unique(group_N):
            item = removed_in(GROUPS[number], cell).item
            yield cell.part, item, cell.at, cell.measure, *share(right_N[group_N == number])

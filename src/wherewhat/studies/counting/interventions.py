"""What an answer depends on: it is given again with the states of brackets from another sequence."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import wilson
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.names import KEPT, MOVED
from wherewhat.studies.engine.lengths import Measured
from wherewhat.tasks.counting import CountingTask
from wherewhat.tasks.stream import Ints

MOST, AT_ONCE = 500, 250  # sequences whose states are held, and that are read together


@torch.no_grad()
def swap_rows(net: Trunk | HandBuiltCounter, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """By region: answers that stay its own count, and that become the other sequence's, where the two counts differ.

    After the encoder, both brackets of a region get the states that the brackets of the same region have in another
    sequence. If brackets are only what ones are compared with, nothing changes; if they hold the count, it moves along.
    """
    batch = task.batch(seed, "test", np.arange(min(samples, MOST)))
    states_NTD = torch.cat([net.hidden(ids_BT) for ids_BT in torch.from_numpy(batch.input_NT).split(AT_ONCE)])
    rows_N = np.arange(len(states_NTD))
    others_N = np.roll(rows_N, 1)
    for region in range(task.regions):
        slots_N2 = batch.marks_NM[:, 2 * region : 2 * region + 2] + task.bos
        swapped_NTD = states_NTD.clone()
        swapped_NTD[rows_N[:, None], slots_N2] = states_NTD[others_N[:, None], slots_N2[others_N]]
        answer_N, own_N = answers(net, swapped_NTD)[:, region], batch.target_NR[:, region]
        differ_N = own_N != own_N[others_N]
        for name, count_N in ((KEPT, own_N), (MOVED, own_N[others_N])):
            share = float((answer_N == count_N)[differ_N].mean())
            yield "swap", name, float(region), "share", share, *wilson(share, int(differ_N.sum()))


def answers(net: Trunk | HandBuiltCounter, x_BTD: Tensor) -> Ints:
    """answer_BR: the likeliest counts, given the states after the encoder."""
    if isinstance(net, HandBuiltCounter):
        return np.asarray(net.counts_of(x_BTD).round().long())
    assert net.readout is not None, "a net that counts has a read-out"
    return np.asarray(net.readout(x_BTD).argmax(-1))

"""What an answer depends on: it is given again with the states that tokens of a kind have in another sequence."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import wilson
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.names import KEPT, MOVED, SWAPPED
from wherewhat.studies.engine.lengths import Measured
from wherewhat.tasks.counting import TOKENS, CountingTask
from wherewhat.tasks.stream import Ints

MOST_READ, AT_ONCE = 500, 250  # sequences whose states are held, and that are read together


@torch.no_grad()
def swap_rows(net: Trunk | HandBuiltCounter, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """By kind of token and region: answers that stay, and that become the count of the other sequence.

    If tokens of a kind are only what ones are compared with, nothing changes; if they hold the count, it moves along.
    Both are shares of the sequences that the net counts correctly and whose count is not that of the other one.
    """
    batch = task.batch(seed, "test", np.arange(min(samples, MOST_READ)))
    states_NTD = torch.cat([net.hidden(ids_BT) for ids_BT in torch.from_numpy(batch.input_NT).split(AT_ONCE)])
    own_NR, other_NR = batch.target_NR, np.roll(batch.target_NR, 1, axis=0)
    scored_NR = (answers(net, states_NTD)[:, : task.regions] == own_NR) & (own_NR != other_NR)
    for kind, tokens in SWAPPED.items():
        ids = [id for id in range(task.vocabulary) if TOKENS[id] in tokens]
        if not ids:
            continue
        answer_NR = answers(net, with_states_of_others(states_NTD, batch.input_NT, ids))
        for region in range(task.regions):
            scored_N = scored_NR[:, region]
            for measure, count_NR in ((KEPT, own_NR), (MOVED, other_NR)):
                same_N = (answer_NR == count_NR)[scored_N, region]
                if same_N.size:
                    share = float(same_N.mean())
                    yield "swap", kind, float(region), measure, share, *wilson(share, same_N.size)


def with_states_of_others(states_NTD: Tensor, input_NT: Ints, ids: Sequence[int]) -> Tensor:
    """The states, but each token with one of these ids has the state of such a token of the sequence before, in order.

    Where that sequence has fewer of them, they are used again from the first; where it has none, nothing changes.
    """
    of_kind_NT = np.isin(input_NT, ids)
    swapped_NTD = states_NTD.clone()
    for n, of_kind_T in enumerate(of_kind_NT):
        here, there = of_kind_T.nonzero()[0], of_kind_NT[n - 1].nonzero()[0]
        if there.size:
            swapped_NTD[n, here] = states_NTD[n - 1, np.resize(there, here.size)]
    return swapped_NTD


def answers(net: Trunk | HandBuiltCounter, x_BTD: Tensor) -> Ints:
    """answer_BR: the likeliest counts, given the states after the encoder."""
    if isinstance(net, HandBuiltCounter):
        return np.asarray(net.counts_of(x_BTD).round().long())
    assert net.readout is not None, "a net that counts has a read-out"
    return np.asarray(net.readout(x_BTD).argmax(-1))

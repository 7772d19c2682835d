"""What an answer depends on: it is given again with the states that tokens of a kind have in another sequence."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import wilson
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.names import KEPT, MOVED, SUBTRACTED, SWAPPED
from wherewhat.studies.engine.lengths import Measured
from wherewhat.tasks.counting import BIT_ONE, TOKENS, CountingBatch, CountingTask
from wherewhat.tasks.stream import Ints

MOST_READ, AT_ONCE = 500, 250  # sequences whose states are held, and that are read together


@torch.no_grad()
def swap_rows(net: Trunk | HandBuiltCounter, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """By kind of token and region: answers that stay, and that become what the other sequence's states would say.

    If tokens of a kind are only what ones are compared with, nothing changes; if they hold the count, it moves along;
    if opening and closing brackets hold running counts, exchanging one of both changes the difference. All are shares
    of the sequences that the net counts correctly and in which these answers are possible and different.
    """
    batch = task.batch(seed, "test", np.arange(min(samples, MOST_READ)))
    states_NTD = torch.cat([net.hidden(ids_BT) for ids_BT in torch.from_numpy(batch.input_NT).split(AT_ONCE)])
    right_NR = answers(net, states_NTD)[:, : task.regions] == batch.target_NR
    for kind, tokens in SWAPPED.items():
        ids = [id for id in range(task.vocabulary) if TOKENS[id] in tokens]
        if not ids:
            continue
        answer_NR = answers(net, with_states_of_others(states_NTD, batch.input_NT, ids))
        expected = expected_answers(batch, task, tokens)
        scored_NR = right_NR & distinct_counts(np.stack(list(expected.values())), task.classes)
        for region in range(task.regions):
            scored_N = scored_NR[:, region]
            for measure, count_NR in expected.items():
                same_N = (answer_NR[:, : task.regions] == count_NR)[scored_N, region]
                if same_N.size:
                    share = float(same_N.mean())
                    yield "swap", kind, float(region), measure, share, *wilson(share, same_N.size)


def expected_answers(batch: CountingBatch, task: CountingTask, tokens: Sequence[str]) -> dict[str, Ints]:
    """count_NR by what tokens of these kinds hold, if their states are those of the sequence before."""
    running_NM = np.take_along_axis(np.cumsum(batch.input_NT == BIT_ONE, 1), batch.marks_NM + task.bos, 1)
    opened_NR, closed_NR = running_NM[:, ::2], running_NM[:, 1::2]
    other_opened_NR, other_closed_NR = (np.roll(each_NR, 1, axis=0) for each_NR in (opened_NR, closed_NR))
    expected = {KEPT: closed_NR - opened_NR, MOVED: other_closed_NR - other_opened_NR}
    match tuple(tokens):
        case ("[",):
            return {**expected, SUBTRACTED: closed_NR - other_opened_NR}
        case ("]",):
            return {**expected, SUBTRACTED: other_closed_NR - opened_NR}
        case _:
            return expected


def distinct_counts(count_XNR: Ints, classes: int) -> NDArray[np.bool_]:
    """distinct_NR: where all answers are counts that the net can give, and no two are the same."""
    sorted_XNR = np.sort(count_XNR, axis=0)
    return np.asarray((count_XNR >= 0).all(0) & (count_XNR < classes).all(0) & (np.diff(sorted_XNR, axis=0) > 0).all(0))


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

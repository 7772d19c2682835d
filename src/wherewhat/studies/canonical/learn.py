"""Train heads side by side: Adam, with what it remembers handed on, so that training can stop and go on anywhere."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical.net import Floats, Net, forward, slopes
from wherewhat.studies.canonical.sequences import Rows, Sequences

FIRST, SECOND, LEAST = 0.9, 0.999, 1e-8  # Adam's usual settings


@dataclass(frozen=True)
class State:
    """Where training stands: the weights, and the running means of their slopes and of the slopes' squares."""

    weights_WR: Floats
    mean_WR: Floats
    square_WR: Floats
    step: int = 0


def start(weights_WR: Floats) -> State:
    """Before the first step."""
    return State(weights_WR, np.zeros_like(weights_WR), np.zeros_like(weights_WR))


def learn(net: Net, state: State, batches: Iterable[Rows], rate: float) -> State:
    """Take one step a batch."""
    weights_WR, mean_WR, square_WR = (part.copy() for part in (state.weights_WR, state.mean_WR, state.square_WR))
    step = state.step
    for rows in batches:
        _, slope_WR = slopes(net, weights_WR, rows)
        step += 1
        mean_WR += (1 - FIRST) * (slope_WR - mean_WR)
        square_WR += (1 - SECOND) * (slope_WR**2 - square_WR)
        size_WR = np.sqrt(square_WR / (1 - SECOND**step)) + LEAST
        weights_WR -= rate / (1 - FIRST**step) * mean_WR / size_WR
    return State(weights_WR, mean_WR, square_WR, step)


def right(net: Net, weights_WR: Floats, some: Sequences, batch: int = 256) -> NDArray[np.bool_]:
    """right_ENA: whether each head answers each sample as it should."""
    found = []
    for rows in some.batches(batch):
        mass_VENA = forward(net, weights_WR, rows).mass_VY.reshape(net.answers, rows.seeds, rows.samples, -1)
        found.append(mass_VENA.argmax(0))
    right_ENA: NDArray[np.bool_] = np.concatenate(found, 1) == some.target_EN[..., None]
    return right_ENA

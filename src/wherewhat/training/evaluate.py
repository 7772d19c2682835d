"""How often a net answers exactly, on sequences that it never learnt from."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import Task


def answer_logits(net: Trunk, input_NT: Tensor) -> Tensor:
    """logits_NV at the last token, where the answer is read; those of the other tokens are not computed."""
    logits_NV: Tensor = net.head(net.hidden(input_NT)[:, -1])
    return logits_NV


@contextmanager
def reading(net: Trunk) -> Iterator[None]:
    """Let the net read as it will once it has learnt; on leaving, also by an exception, it is in the mode it was in."""
    training = net.training
    net.eval()
    try:
        yield
    finally:
        net.train(training)


@torch.no_grad()
def evaluate(net: Trunk, task: Task, *, seed: int, samples: int) -> dict[str, float]:
    """The share of exact answers to the first `samples` of the test split: of all, and of each of the task's groups."""
    batch = task.batch(seed, "test", np.arange(samples))
    pieces = torch.from_numpy(batch.input_NT).split(1000)  # so that memory does not grow with `samples`
    with reading(net):
        answer_N = torch.cat([answer_logits(net, input_NT).argmax(-1) for input_NT in pieces]).numpy()
    right_N = answer_N == batch.target_N
    right = {"accuracy": right_N}
    right |= {f"accuracy {group}": right_N[batch.group_N == number] for number, group in enumerate(task.groups)}
    return {measure: float(right_N.mean()) for measure, right_N in right.items() if right_N.size}

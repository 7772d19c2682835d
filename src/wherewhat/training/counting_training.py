"""Training on contextual counting: one answer per region, read by learned queries."""

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.counting import CountingTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.settings import Objective, TrainingSettings

AT_ONCE = 500  # samples that are read together at most, so that memory does not grow with their number


class CountingObjective(Objective):
    """Predict the count of every region by a query of its own."""

    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}
    ending: ClassVar[str] = "{accuracy:.1%} of the regions of fresh sequences counted correctly"

    def __init__(self, task: CountingTask, settings: TrainingSettings, first_position: Callable[[int], int]) -> None:
        self.task, self.settings, self.first_position = task, settings, first_position

    def loss(self, net: Trunk, step: int) -> Tensor:
        # New sequences at every step: each sample of the training split is used once.
        size = self.settings.batch
        batch = self.task.batch(self.settings.data_seed, "train", np.arange((step - 1) * size, step * size))
        logits_BRC = net.readout_logits(torch.from_numpy(batch.input_NT), first=self.first_position(step))
        return cross_entropy(logits_BRC.flatten(0, 1), torch.from_numpy(batch.target_NR).flatten())

    def evaluate(self, net: Trunk) -> dict[str, float]:
        samples = self.settings.evaluate_samples
        with evaluating(net):
            target_NR, ranking_NRC = ranked_counts(net, self.task, seed=self.settings.data_seed, samples=samples)
        right_NR = ranking_NRC[..., 0] == target_NR
        by_region = zip(self.task.groups, right_NR.mean(0).tolist(), strict=True)
        return {"accuracy": float(right_NR.mean()), **{f"accuracy {name}": share for name, share in by_region}}


class CountingNet(Protocol):
    """A net that answers once per region."""

    def readout_logits(self, ids_BT: Tensor) -> Tensor:
        """logits_BRC of the counts of every region."""


@torch.no_grad()
def ranked_counts(net: CountingNet, task: CountingTask, *, seed: int, samples: int) -> tuple[Ints, Ints]:
    """target_NR and the counts from the likeliest to the least likely, ranking_NRC, for the first test samples.

    A task may have fewer regions than the net has queries: the first ones answer. The net is in evaluation mode.
    """
    batch = task.batch(seed, "test", np.arange(samples))
    pieces = torch.from_numpy(batch.input_NT).split(AT_ONCE)
    logits_NRC = torch.cat([net.readout_logits(ids_BT)[:, : task.regions] for ids_BT in pieces])
    return batch.target_NR, logits_NRC.sort(dim=-1, descending=True, stable=True).indices.numpy()

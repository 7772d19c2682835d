"""Training on tasks with an answer in every slot, and the share of slots that are answered correctly."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.slots import SlotTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.settings import Objective, TrainingSettings

AT_ONCE = 500  # samples that are read together at most, so that memory does not grow with their number


class SlotObjective(Objective):
    """Predict the answer of every slot at its own token."""

    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}
    ending: ClassVar[str] = "{accuracy:.1%} of the slots of fresh sequences answered correctly"

    def __init__(self, task: SlotTask, settings: TrainingSettings, first_position: Callable[[int], int]) -> None:
        self.task, self.settings, self.first_position = task, settings, first_position

    def loss(self, net: Trunk, step: int) -> Tensor:
        # New sequences at every step: each sample of the training split is used once.
        size = self.settings.batch
        batch = self.task.batch(self.settings.data_seed, "train", np.arange((step - 1) * size, step * size))
        logits_BTV = slot_logits(net, self.task, torch.from_numpy(batch.input_NT), first=self.first_position(step))
        return cross_entropy(logits_BTV.flatten(0, 1), torch.from_numpy(batch.target_NT).flatten())

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return evaluate_slots(net, self.task, seed=self.settings.data_seed, samples=self.settings.evaluate_samples)


def slot_logits(net: Trunk, task: SlotTask, ids_BT: Tensor, *, first: int = 0) -> Tensor:
    """logits_BTV of the values that an answer can have, at every token."""
    logits_BTV: Tensor = net.head(net.hidden(ids_BT, first=first))
    return logits_BTV[..., : task.classes]


def evaluate_slots(net: Trunk, task: SlotTask, *, seed: int, samples: int) -> dict[str, float]:
    """The share of slots that are answered correctly in the first test samples: of all, and of each group."""
    right_T = right_slots(net, task, seed=seed, samples=samples).mean(0)
    measured = {"accuracy": float(right_T.mean())}
    for number, group in enumerate(task.groups):
        measured[f"accuracy {group}"] = float(right_T[task.group_T == number].mean())
    return measured


def right_slots(net: Trunk, task: SlotTask, *, seed: int, samples: int) -> NDArray[np.bool_]:
    """right_NT: which slots of the first test samples are answered correctly."""
    batch = task.batch(seed, "test", np.arange(samples))
    return np.asarray(slot_answers(net, task, batch.input_NT) == batch.target_NT)


@torch.no_grad()
def slot_answers(net: Trunk, task: SlotTask, input_NT: Ints) -> Ints:
    """answer_NT: the most likely answer in every slot."""
    pieces = torch.from_numpy(input_NT).split(AT_ONCE)
    with evaluating(net):
        return torch.cat([slot_logits(net, task, ids_BT).argmax(-1) for ids_BT in pieces]).numpy()

"""Training on tasks; and the accuracy on test sequences with one answer each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.errors import UserError
from wherewhat.models.folder import StoredNet, tasks_from_list, tasks_to_list
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.base import Task, TaskBatch
from wherewhat.tasks.counting import CountingTask
from wherewhat.tasks.mixture import Mixture, combined
from wherewhat.tasks.registry import AloneTask, AnyTask, any_task
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.tasks.slots import SlotTask
from wherewhat.tasks.stream import Stream
from wherewhat.training.counting_training import CountingObjective
from wherewhat.training.sequence_training import SequenceObjective
from wherewhat.training.settings import Objective, Plain, TrainingSettings
from wherewhat.training.slot_training import SlotObjective


@dataclass(frozen=True, kw_only=True)
class TaskSettings(TrainingSettings):
    """One training run on tasks with one answer each, mixed in equal parts; or on one task that is learnt alone."""

    learns: ClassVar[str] = "tasks"

    tasks: tuple[AnyTask, ...]
    train_samples: int = 0  # of the training split, used again and again; 0: every one is used once
    shift: int = 0  # at each training step, positions are counted from a random number up to this one

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("shift", self.shift >= 0, "at least 0")
        self._check("train_samples", self.train_samples >= 0, "at least 0")
        if self.train_samples and not isinstance(self.task, Mixture):
            raise UserError(f"train_samples is for tasks with one answer each, not for {self.task.name}; leave it out")
        for name, needed in (("vocabulary", self.task.vocabulary), ("length", self.task.length + self.shift)):
            if (given := getattr(self.net, name)) < needed:
                raise UserError(
                    f"the net's {name} {given} is too small; the tasks need {needed}: "
                    "give at least that, or leave it out"
                )
        if isinstance(self.task, SequenceTask) and not self.net.causal:
            raise UserError(
                f"the {self.task.name} task is answered token by token, and the net is of kind {self.net.kind}; "
                "give kind=decoder"
            )

        if isinstance(self.task, CountingTask):
            queries, classes = self.net.readout_queries, self.net.readout_classes
            if (queries, classes) != (self.task.regions, self.task.classes):
                raise UserError(
                    f"the counting task needs a net with a read-out of {self.task.regions} queries and "
                    f"{self.task.classes} classes, and this one has {queries} and {classes}; "
                    "give readout_queries and readout_classes, or leave them out"
                )

    @property
    def task(self) -> Mixture | AloneTask:
        """All tasks as one."""
        return combined(self.tasks)

    @property
    def ends(self) -> Mapping[str, str]:
        return self.objective().ends

    def first_position(self, step: int) -> int:
        """What the positions of a training step are counted from."""
        return Stream(self.data_seed, "shift", step).below(self.shift + 1)

    def objective(self) -> "TaskObjective | SequenceObjective | SlotObjective | CountingObjective":
        task = self.task
        if isinstance(task, CountingTask):
            return CountingObjective(task, self, self.first_position)
        if isinstance(task, SequenceTask):
            return SequenceObjective(task, self, self.first_position)
        if isinstance(task, SlotTask):
            return SlotObjective(task, self, self.first_position)
        return TaskObjective(task, self)

    def ending(self, ends: Mapping[str, float]) -> str:
        return self.objective().ending.format(**ends)

    def saved_with_net(self) -> Plain:
        return {"tasks": self.tasks}

    @classmethod
    def target_of(cls, model: StoredNet) -> tuple[AnyTask, ...]:
        return model.tasks if model.alone is None else (model.alone,)

    @classmethod
    def target_to_plain(cls, learnt: Sequence[AnyTask]) -> list[Plain]:
        return tasks_to_list(learnt)

    @classmethod
    def target_from_plain(cls, plain: Sequence[Plain]) -> tuple[AnyTask, ...]:
        return tasks_from_list(plain)

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return [(each["name"], each) for each in plain["tasks"]]

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> list[Plain]:
        """Tasks by name; a task that is already there keeps its sizes."""
        here = {each["name"]: each for each in plain["tasks"]}
        names = [each.strip() for each in text.split(",")]
        return [here.get(name) or tasks_to_list([any_task(name)])[0] for name in names]

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        same_tasks = tasks_from_list(plain["tasks"]) == tasks_from_list(before["tasks"])
        if same_tasks and plain["shift"] == before["shift"]:
            return {}
        both = combined(tasks_from_list(plain["tasks"]))
        return {"vocabulary": both.vocabulary, "length": both.length + plain["shift"], **_readout(both)}


def _readout(task: Mixture | AloneTask) -> dict[str, int]:
    """The read-out of a net that learns a task: queries and classes, 0 where answers are read elsewhere."""
    queries, classes = (task.regions, task.classes) if isinstance(task, CountingTask) else (0, 0)
    return {"readout_queries": queries, "readout_classes": classes}


class TaskObjective(Objective):
    """Predict the answer at the end of a sequence."""

    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}
    ending: ClassVar[str] = "{accuracy:.1%} of fresh sequences answered exactly"

    def __init__(self, task: Task, settings: TaskSettings) -> None:
        self.task, self.settings = task, settings

    def loss(self, net: Trunk, step: int) -> Tensor:
        size, samples = self.settings.batch, self.settings.train_samples
        indices_N = np.arange((step - 1) * size, step * size)
        batch = self._repeated() if samples else self.task.batch(self.settings.data_seed, "train", indices_N)
        rows_N = indices_N % samples if samples else np.arange(size)
        input_NT, target_N = (torch.from_numpy(each[rows_N]) for each in (batch.input_NT, batch.target_N))
        return cross_entropy(answer_logits(net, input_NT, first=self.settings.first_position(step)), target_N)

    def _repeated(self) -> TaskBatch:
        used = min(self.settings.train_samples, self.settings.steps * self.settings.batch)
        return repeated_samples(self.task, self.settings.data_seed, used)

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return evaluate(net, self.task, seed=self.settings.data_seed, samples=self.settings.evaluate_samples)


# Kept because every step asks for the set, and so do successive runs in a process that learn it with other nets. It is
# kept for the module, as each run has an objective of its own; no more than one training set stays in memory.
@lru_cache(maxsize=1)
def repeated_samples(task: Task, seed: int, used: int) -> TaskBatch:
    """The training samples that are used again and again, drawn once; successive runs in a process share them."""
    return task.batch(seed, "train", np.arange(used))


def answer_logits(net: Trunk, input_NT: Tensor, *, first: int = 0) -> Tensor:
    """logits_NV at the last token, where the answer is; those of the other tokens are not computed."""
    logits_NV: Tensor = net.head(net.last_hidden(input_NT, first=first))
    return logits_NV


@torch.no_grad()
def evaluate(net: Trunk, task: Task, *, seed: int, samples: int) -> dict[str, float]:
    """The accuracy on the first `samples` sequences of the test split: of all, and of each of the task's groups."""
    batch = task.batch(seed, "test", np.arange(samples))
    pieces = torch.from_numpy(batch.input_NT).split(1000)  # so that memory does not grow with `samples`
    with evaluating(net):
        answer_N = torch.cat([answer_logits(net, input_NT).argmax(-1) for input_NT in pieces]).numpy()
    right_N = answer_N == batch.target_N
    right = {"accuracy": right_N}
    right |= {f"accuracy {group}": right_N[batch.group_N == number] for number, group in enumerate(task.groups)}
    return {measure: float(right_N.mean()) for measure, right_N in right.items() if right_N.size}

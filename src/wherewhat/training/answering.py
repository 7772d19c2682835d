"""A run that learns to answer tasks: fresh sequences at every step, each with one answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.errors import UserError
from wherewhat.models.folder import tasks_from_list, tasks_to_list
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task
from wherewhat.training.evaluate import answer_logits, evaluate
from wherewhat.training.objective import Objective
from wherewhat.training.settings import Plain, Settings


@dataclass(frozen=True, kw_only=True)
class Answering(Settings):
    """One run on tasks, more than one of which take turns."""

    learns: ClassVar[str] = "tasks"
    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy"}

    tasks: tuple[Balanced, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, needed in (("vocabulary", self.task.vocabulary), ("length", self.task.length)):
            if getattr(self.net, name) < needed:
                raise UserError(f"the net's {name} {getattr(self.net, name)} is too small; the tasks need {needed}")

    @property
    def task(self) -> Mixture:
        """All tasks as the one that the net learns."""
        return Mixture(self.tasks)

    def objective(self) -> Objective:
        return Answers(self)

    def ending(self, ends: Mapping[str, float]) -> str:
        return f"{ends['accuracy']:.1%} of fresh sequences answered exactly"

    def belongings(self) -> Plain:
        return {"tasks": self.tasks}

    @classmethod
    def learnt_to(cls, learnt: Sequence[Balanced]) -> list[Plain]:
        return tasks_to_list(learnt)

    @classmethod
    def learnt_from(cls, plain: Sequence[Plain]) -> tuple[Balanced, ...]:
        return tasks_from_list(plain)

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return [(each["name"], each) for each in plain["tasks"]]

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> list[Plain]:
        """By name; a task that is there already keeps its sizes."""
        here = {each["name"]: each for each in plain["tasks"]}
        names = [each.strip() for each in text.split(",")]
        return [here.get(name) or tasks_to_list([task(name)])[0] for name in names]

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        if tasks_from_list(plain["tasks"]) == tasks_from_list(before["tasks"]):
            return {}
        both = Mixture(tasks_from_list(plain["tasks"]))
        return {"vocabulary": both.vocabulary, "length": both.length}


class Answers(Objective):
    """Answer a sequence where it ends."""

    def __init__(self, settings: Answering) -> None:
        self.task, self.settings = settings.task, settings

    def loss(self, net: Trunk, step: int) -> Tensor:
        # Fresh sequences at every step: each sample of the training split is seen once.
        size = self.settings.batch
        batch = self.task.batch(self.settings.data_seed, "train", np.arange((step - 1) * size, step * size))
        logits_NV = answer_logits(net, torch.from_numpy(batch.input_NT))
        return cross_entropy(logits_NV, torch.from_numpy(batch.target_N))

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return evaluate(net, self.task, seed=self.settings.data_seed, samples=self.settings.evaluate_samples)

"""A fixed number of training samples is used again and again."""

from dataclasses import replace

import pytest
import torch

from wherewhat.errors import UserError
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.registry import any_task
from wherewhat.training.task_training import TaskSettings

TASK = any_task("latin")
SETTINGS = TaskSettings(
    net=NetConfig(vocabulary=6, width=8, layers=1, heads=1, length=16, encoding="none"),
    tasks=(TASK,),
    steps=9,
    batch=8,
    learning_rate=1e-3,
    warmup=0,
)


def losses(settings: TaskSettings) -> list[float]:
    objective, net = settings.objective(), settings.initial_net()
    return [objective.loss(net, step).item() for step in (1, 2, 3, 4, 5)]


def test_samples_come_again_after_the_last_one() -> None:
    once, again = losses(SETTINGS), losses(replace(SETTINGS, train_samples=16))
    assert again[:2] == once[:2] and again[2:] == [*once[:2], once[0]]
    assert len(set(once)) == 5


def test_samples_are_counted_for_tasks_with_one_answer() -> None:
    with pytest.raises(UserError, match="train_samples cannot be -1; give at least 0"):
        replace(SETTINGS, train_samples=-1)
    slots = any_task("position", tokens=8, n_tok=6)
    net = replace(SETTINGS.net, vocabulary=slots.vocabulary)
    with pytest.raises(UserError, match="train_samples is for tasks with one answer each, not for position"):
        replace(SETTINGS, tasks=(slots,), net=net, train_samples=16)
    assert torch.tensor(losses(replace(SETTINGS, train_samples=0))).isfinite().all()

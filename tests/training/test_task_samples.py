"""A fixed number of training samples is used again and again."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from wherewhat.errors import UserError
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import any_task
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import train
from wherewhat.training.run_folder import read_snapshots
from wherewhat.training.task_training import TaskSettings, repeated_samples

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


def test_repeated_samples_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    batch = Mixture.batch

    def counted(self: Mixture, seed: int, split: str, indices: Ints) -> TaskBatch:
        drawn.append(len(indices))
        return batch(self, seed, split, indices)

    monkeypatch.setattr(Mixture, "batch", counted)
    repeated_samples.cache_clear()
    for _ in range(2):  # also by a second run in this process
        losses(replace(SETTINGS, train_samples=16))
        assert drawn == [16]
    losses(replace(SETTINGS, train_samples=10_000))
    assert drawn == [16, 72]  # no more than nine steps of eight need
    losses(SETTINGS)
    assert drawn == [16, 72, 8, 8, 8, 8, 8]


def test_kept_nets_come_back_in_their_order(tmp_path: Path) -> None:
    run = train(replace(SETTINGS, steps=12, keep_every=4, evaluate_samples=8), out=tmp_path)
    nets = dict(read_snapshots(tmp_path))
    assert list(nets) == [0, 4, 8, 12]
    assert torch.equal(nets[12].head.weight, run.net.head.weight)
    assert torch.equal(nets[0].head.weight, SETTINGS.initial_net().head.weight)
    assert list(read_snapshots(tmp_path / "nowhere")) == []


def test_samples_are_counted_for_tasks_with_one_answer() -> None:
    with pytest.raises(UserError, match="train_samples cannot be -1; give at least 0"):
        replace(SETTINGS, train_samples=-1)
    slots = any_task("position", tokens=8, n_tok=6)
    net = replace(SETTINGS.net, vocabulary=slots.vocabulary)
    with pytest.raises(UserError, match="train_samples is for tasks with one answer each, not for position"):
        replace(SETTINGS, tasks=(slots,), net=net, train_samples=16)
    assert torch.tensor(losses(replace(SETTINGS, train_samples=0))).isfinite().all()

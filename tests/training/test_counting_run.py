"""Training on contextual counting: the loss, accuracy by region, and what a run leaves behind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from precision import rounding

from wherewhat.capture.loading.load import LoadSettings, load_by_name
from wherewhat.capture.outputs.language_model import prediction_kind
from wherewhat.errors import UserError
from wherewhat.models.folder import load_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.recipes.tiny import tiny
from wherewhat.tasks.counting import CountingTask
from wherewhat.training.counting_training import CountingObjective, ranked_counts
from wherewhat.training.loop import train
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings

TASK = CountingTask(tokens=12, regions=2, bos=True)
SETTINGS = TaskSettings(
    net=NetConfig(
        vocabulary=5, length=13, width=16, layers=1, heads=1, encoding="rope", readout_queries=2, readout_classes=9
    ),
    tasks=(TASK,),
    steps=3,
    batch=4,
    learning_rate=1e-2,
    warmup=1,
    evaluate_samples=20,
)


def test_the_loss_is_that_of_every_region() -> None:
    net = build(SETTINGS.net, seed=0)
    batch = TASK.batch(1, "train", range(4))
    logits_BRC = net.readout_logits(torch.from_numpy(batch.input_NT)).double().log_softmax(-1)
    pairs = [(row, region) for row in range(4) for region in range(2)]
    expected = -np.mean([logits_BRC[row, region, batch.target_NR[row, region]].item() for row, region in pairs])
    assert SETTINGS.objective().loss(net, 1).item() == pytest.approx(expected, abs=rounding(torch.float32))


def test_every_step_learns_from_sequences_of_its_own() -> None:
    net = build(SETTINGS.net, seed=0)
    batch = TASK.batch(1, "train", range(4, 8))
    logits_NC = net.readout_logits(torch.from_numpy(batch.input_NT)).flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits_NC, torch.from_numpy(batch.target_NR).flatten())
    assert SETTINGS.objective().loss(net, 2).item() == pytest.approx(expected.item(), abs=rounding(torch.float32))


def test_positions_are_moved_in_training() -> None:
    net = build(replace(SETTINGS.net, encoding="learned", length=40), seed=0)
    at_0, at_20 = (
        CountingObjective(TASK, SETTINGS, lambda step, first=first: first).loss(net, 1).item() for first in (0, 20)
    )
    assert abs(at_0 - at_20) > 1e-4


def test_accuracy_is_the_share_of_regions_and_of_each_region() -> None:
    net = build(SETTINGS.net, seed=0)
    batch = TASK.batch(1, "test", range(20))
    right_NR = net.readout_logits(torch.from_numpy(batch.input_NT)).argmax(-1).numpy() == batch.target_NR
    assert SETTINGS.objective().evaluate(net) == pytest.approx(
        {
            "accuracy": right_NR.mean(),
            "accuracy region 0": right_NR[:, 0].mean(),
            "accuracy region 1": right_NR[:, 1].mean(),
        }
    )


def test_counts_are_ranked_and_fewer_regions_have_the_first_queries() -> None:
    net = build(SETTINGS.net, seed=0)
    target_NR, ranking_NRC = ranked_counts(net, CountingTask(tokens=9, regions=1, bos=True), seed=1, samples=7)
    assert target_NR.shape == (7, 1) and ranking_NRC.shape == (7, 1, 9)
    assert (np.sort(ranking_NRC, -1) == np.arange(9)).all()


def test_a_run_is_stored_resumed_and_loaded(tmp_path: Path) -> None:
    run = train(SETTINGS, out=tmp_path)
    stored = load_model(tmp_path / "model")
    assert stored.alone == TASK and stored.tasks == ()
    assert train(SETTINGS, out=tmp_path, resume=True).curve.equals(run.curve)
    assert "of the regions of fresh sequences counted correctly" in run.settings.ending({"accuracy": 0.5})
    model = load_by_name(str(tmp_path), LoadSettings())
    assert model.task == TASK
    with pytest.raises(UserError, match="answers once per region, and only single answers are evaluated here"):
        prediction_kind(model)


def test_the_read_out_follows_the_task() -> None:
    settings = changed(tiny(), ["tasks=counting", "tokens=20", "regions=3", "bos=true"])
    assert (settings.net.readout_queries, settings.net.readout_classes) == (3, 15)
    assert (settings.net.vocabulary, settings.net.length) == (5, 21)
    back = changed(settings, ["tasks=index"])
    assert (back.net.readout_queries, back.net.readout_classes) == (0, 0)
    with pytest.raises(UserError, match="needs a net with a read-out of 2 queries and 9 classes, and this one has 0"):
        replace(SETTINGS, net=replace(SETTINGS.net, readout_queries=0, readout_classes=0))

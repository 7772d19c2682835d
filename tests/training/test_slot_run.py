"""Training with an answer in every slot: the loss, the accuracy by slot, and what a run leaves behind."""

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
from wherewhat.tasks.slots import EvenTask, PositionTask
from wherewhat.training.loop import train
from wherewhat.training.slot_training import SlotObjective, evaluate_slots, right_slots, slot_logits
from wherewhat.training.task_training import TaskSettings

EVEN = EvenTask(tokens=6, n_tok=4)


def settings_of(task: EvenTask | PositionTask, **net: object) -> TaskSettings:
    sizes: dict[str, object] = {"width": 16, "layers": 1, "heads": 2, "kind": "encoder", "encoding": "learned", **net}
    config = NetConfig(vocabulary=task.vocabulary, length=task.length, **sizes)  # type: ignore[arg-type]
    options = {"steps": 3, "batch": 4, "learning_rate": 1e-2, "warmup": 1, "evaluate_samples": 20}
    return TaskSettings(net=config, tasks=(task,), **options)  # type: ignore[arg-type]


def test_the_loss_is_that_of_every_slot() -> None:
    settings = settings_of(EVEN)
    net = build(settings.net, seed=0)
    batch = EVEN.batch(1, "train", range(4))
    logits = net(torch.from_numpy(batch.input_NT))[..., : EVEN.classes].double().log_softmax(-1)
    expected = -np.mean(
        [
            logits[row, slot, target].item()
            for row, line in enumerate(batch.target_NT)
            for slot, target in enumerate(line)
        ]
    )
    assert settings.objective().loss(net, 1).item() == pytest.approx(expected, abs=rounding(torch.float32))


def test_the_second_step_reads_the_next_samples() -> None:
    settings = settings_of(EVEN)
    net = build(settings.net, seed=0)
    batch = EVEN.batch(1, "train", range(4, 8))
    logits_BTV = slot_logits(net, EVEN, torch.from_numpy(batch.input_NT))
    expected = torch.nn.functional.cross_entropy(logits_BTV.mT, torch.from_numpy(batch.target_NT)).item()
    assert settings.objective().loss(net, 2).item() == pytest.approx(expected, abs=rounding(torch.float32))


def test_logits_are_those_of_answers_alone() -> None:
    task = PositionTask(tokens=4, n_tok=9)
    net = build(settings_of(task).net, seed=0)
    assert slot_logits(net, task, torch.zeros((2, 4), dtype=torch.int64)).shape == (2, 4, 4)


def test_positions_of_training_begin_where_they_are_told_to() -> None:
    settings = replace(settings_of(EVEN), net=replace(settings_of(EVEN).net, length=12))
    net = build(settings.net, seed=0)
    moved = SlotObjective(EVEN, settings, lambda step: 5).loss(net, 1)
    plain = SlotObjective(EVEN, settings, lambda step: 0).loss(net, 1)
    assert abs(moved.item() - plain.item()) > 1e-3


def test_accuracy_is_the_share_of_slots_and_of_each_half() -> None:
    settings = settings_of(EVEN)
    net = build(settings.net, seed=0)
    right_NT = right_slots(net, EVEN, seed=1, samples=20)
    batch = EVEN.batch(1, "test", range(20))
    answers = net(torch.from_numpy(batch.input_NT))[..., : EVEN.classes].argmax(-1).numpy()
    assert np.array_equal(right_NT, answers == batch.target_NT)
    assert evaluate_slots(net, EVEN, seed=1, samples=20) == pytest.approx(
        {
            "accuracy": right_NT.mean(),
            "accuracy first half": right_NT[:, :3].mean(),
            "accuracy second half": right_NT[:, 3:].mean(),
        }
    )


def test_a_learned_table_finds_its_slots_and_rows_that_sum_to_one_do_not() -> None:
    task = PositionTask(tokens=6, n_tok=4)
    longer = {"steps": 150, "batch": 32}
    accuracy = {
        encoding: evaluate_slots(
            train(replace(settings_of(task, encoding=encoding), **longer)).net, task, seed=1, samples=200
        )["accuracy"]
        for encoding in ("learned", "t5_bias", "none")
    }
    assert accuracy["learned"] > 0.95 and accuracy["none"] < 0.35 and accuracy["t5_bias"] < 0.6


def test_a_run_is_stored_resumed_and_profiled(tmp_path: Path) -> None:
    run = train(settings_of(EVEN), out=tmp_path)
    stored = load_model(tmp_path / "model")
    assert stored.alone == EVEN and stored.tasks == ()
    again = train(settings_of(EVEN), out=tmp_path, resume=True)
    assert again.curve.equals(run.curve)
    assert "of the slots of fresh sequences answered correctly" in run.settings.ending({"accuracy": 0.5})
    model = load_by_name(str(tmp_path), LoadSettings())
    assert model.task == EVEN
    with pytest.raises(
        UserError, match="answers in every slot, and only single answers are evaluated here; name a net"
    ):
        prediction_kind(model)

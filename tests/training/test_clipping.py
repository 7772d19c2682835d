"""Gradient clipping: no gradient is longer than the limit, and without a limit everything is as it was."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from precision import assert_same
from safetensors import safe_open
from safetensors.torch import save_file
from torch.optim import SGD

from wherewhat.training.loop import descend, train
from wherewhat.training.run_folder import CHECKPOINT, NOTES
from wherewhat.training.settings import changed
from wherewhat.training.task_training import TaskSettings


class PowerCutError(Exception):
    """What ends a run before its time."""


def cut(step: int, measured: Mapping[str, float]) -> None:
    if step == 4:
        raise PowerCutError


@pytest.mark.parametrize("clip", [0.0, 0.5, 1e6])
def test_a_longer_gradient_is_shortened_and_no_other(clip: float) -> None:
    one, other = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    before = [each.detach().clone() for each in (one, other)]
    optimizer = SGD([{"params": [one]}, {"params": [other]}], lr=0.0)
    descend((one**2).sum() + 4 * other.sum(), optimizer, 0.1, clip=clip)
    gradient = [2.0, 4.0, 4.0]  # its norm is 6
    factor = 0.5 / 6 if clip == 0.5 else 1.0
    moved = torch.cat([(first - each.detach()) / 0.1 for first, each in zip(before, (one, other), strict=True)])
    assert_same(moved, factor * torch.tensor(gradient), computed_in=torch.float16)
    assert math.hypot(*gradient) == 6


def test_a_limit_changes_a_run_and_none_does_not(brief: TaskSettings) -> None:
    nets = [train(replace(brief, clip=clip)).net.state_dict() for clip in (0.0, 1e9, 0.1)]
    free, far, clipped = ([weight.flatten() for weight in net.values()] for net in nets)
    assert all(torch.equal(a, b) for a, b in zip(free, far, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(free, clipped, strict=True))
    assert changed(brief, ["clip=0.1"]) == replace(brief, clip=0.1)


def test_a_run_of_before_there_was_clipping_goes_on(brief: TaskSettings, tmp_path: Path) -> None:
    train(brief, out=tmp_path / "whole")
    with pytest.raises(PowerCutError):
        train(brief, out=tmp_path / "cut", on_step=cut)
    path = tmp_path / "cut" / CHECKPOINT
    with safe_open(path, framework="pt") as file:
        notes = json.loads(file.metadata()[NOTES])
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    assert notes["settings"].pop("clip") == 0.0
    save_file(tensors, path, metadata={NOTES: json.dumps(notes)})
    train(brief, out=tmp_path / "cut", resume=True)
    weights = "model/model.safetensors"
    assert (tmp_path / "cut" / weights).read_bytes() == (tmp_path / "whole" / weights).read_bytes()
    config = tmp_path / "whole" / "model" / "config.json"
    stored = json.loads(config.read_text())
    assert stored["training"].pop("clip") == 0.0
    config.write_text(json.dumps(stored))
    train(brief, out=tmp_path / "whole", resume=True, on_step=lambda *_: pytest.fail("a finished run is read"))

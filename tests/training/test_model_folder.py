"""A net comes back from its folder as it was, and a folder that is broken says how."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from wherewhat.errors import UserError
from wherewhat.models.folder import holds_net, load_model, save_model
from wherewhat.nets.build import build
from wherewhat.training.task_training import TaskSettings


@pytest.fixture
def folder(brief: TaskSettings, tmp_path: Path) -> Path:
    save_model(tmp_path / "net", build(brief.net, seed=4), tasks=brief.tasks, extra={"by": "a test"})
    return tmp_path / "net"


def test_a_net_comes_back(brief: TaskSettings, folder: Path) -> None:
    model, net = load_model(folder), build(brief.net, seed=4)
    assert all(torch.equal(a, b) for a, b in zip(model.net.parameters(), net.parameters(), strict=True))
    assert (model.net.config, model.tasks, model.extra) == (brief.net, brief.tasks, {"by": "a test"})
    assert not model.net.training


def test_a_net_that_learnt_no_task_of_ours(brief: TaskSettings, tmp_path: Path) -> None:
    save_model(tmp_path, build(brief.net))
    assert load_model(tmp_path).tasks == ()


def test_which_folders_hold_a_net(folder: Path, tmp_path: Path) -> None:
    assert holds_net(folder)
    assert not holds_net(tmp_path)
    for text in ('{"model_type": "llama"}', "no JSON", "[]", "7"):
        (folder / "config.json").write_text(text)
        assert not holds_net(folder)


def edit(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_no_config(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no net: .*config.json cannot be read; give the model folder"):
        load_model(tmp_path)


def test_a_config_that_is_not_json(folder: Path) -> None:
    (folder / "config.json").write_text('{"wherewhat_net": 1, ')
    with pytest.raises(UserError, match=r"config.json is not JSON \(.*\); train again or copy the folder again"):
        load_model(folder)


def test_somebody_else_s_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UserError, match=r"config.json does not describe a wherewhat net"):
        load_model(folder)


def test_a_later_format(folder: Path) -> None:
    edit(folder, wherewhat_net=2)
    with pytest.raises(UserError, match=r"config.json is of format 2 and this wherewhat reads format 1"):
        load_model(folder)


def test_weights_that_are_missing(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"model.safetensors cannot be read \(No such file or directory\); train again"):
        load_model(folder)


@pytest.mark.parametrize("keep", [0, 20, -1])
def test_weights_that_are_cut_short(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"model.safetensors is damaged or cut short \(.*\); train again or copy"):
        load_model(folder)


def test_weights_of_another_net(folder: Path) -> None:
    edit(folder, net={**json.loads((folder / "config.json").read_text())["net"], "vocabulary": 101})
    with pytest.raises(
        UserError, match=r"config.json gives vocabulary as 101 and its weights have 100; copy both files again"
    ):
        load_model(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(folder: Path, value: float) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["head.bias"][3] = value
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"model.safetensors has values in head.bias that are not finite"):
        load_model(folder)

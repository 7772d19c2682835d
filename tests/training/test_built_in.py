"""The nets that come with the package are small, are what their recipe makes, and answer fresh sequences."""

import re
from pathlib import Path

import pytest
import torch

from wherewhat.models.folder import load_model
from wherewhat.models.registry import MODELS
from wherewhat.recipes.registry import recipe
from wherewhat.tasks.mixture import Mixture
from wherewhat.training.run_folder import settings_of
from wherewhat.training.task_training import TaskSettings, evaluate

each = pytest.mark.parametrize("name", MODELS)
FRESH_SEED = 2024  # no run has drawn from it


@each
def test_built_in_nets_fit_their_recipe(name: str) -> None:
    model, settings = load_model(MODELS[name].folder), recipe(MODELS[name].recipe)
    assert model.net.config == settings.net
    assert isinstance(settings, TaskSettings) and model.tasks == settings.tasks
    assert settings.complete(settings_of(model, TaskSettings)) == settings.to_dict()
    assert {parameter.dtype for parameter in model.net.parameters()} == {torch.float32}
    assert (MODELS[name].folder / "model.safetensors").stat().st_size < 2_000_000


@each
def test_built_in_nets_answer_fresh_sequences(name: str) -> None:
    model = load_model(MODELS[name].folder)
    measured = evaluate(model.net, Mixture(model.tasks), seed=FRESH_SEED, samples=8000)
    assert len(measured) == 5
    assert min(measured.values()) > 0.95


@each
def test_built_in_nets_say_how_they_were_made(name: str) -> None:
    text = Path(MODELS[name].folder / "README.md").read_text()
    assert f"wherewhat train {MODELS[name].recipe} --out runs/{name}" in text
    for group in Mixture(load_model(MODELS[name].folder).tasks).groups:
        stated = re.search(rf"\| {group} \| ([0-9.]+) % \|", text)
        assert stated is not None
        assert float(stated[1]) > 95

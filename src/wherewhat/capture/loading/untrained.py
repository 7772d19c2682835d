"""The same architecture before training: weights drawn anew, as whoever trains it would draw them."""

from copy import deepcopy
from dataclasses import replace

import torch
from torch import nn

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk


def fresh(model: LoadedModel, *, seed: int) -> LoadedModel:
    """The model that training starts from: its architecture, initialised the way its own library does it.

    Unlike the `unlearnt` model of the control experiment, whose weights are drawn anew with the spread that training
    gave them, nothing here knows of the trained weights. The same seed gives the same weights, and PyTorch's global
    generator is left as it was.
    """
    parameter = next(model.module.parameters())
    module = _built(model.module, seed).to(device=parameter.device, dtype=parameter.dtype)
    return replace(model, id=f"{model.id}, untrained", module=module.eval(), revision=None, path=None)


def _built(model: nn.Module, seed: int) -> nn.Module:
    if isinstance(model, Trunk):
        return build(model.config, seed=seed)
    with torch.random.fork_rng(devices=[]):  # transformers draws from the global generator, on the CPU
        torch.default_generator.manual_seed(seed)
        made: nn.Module = type(model)(deepcopy(model.config))
    return made

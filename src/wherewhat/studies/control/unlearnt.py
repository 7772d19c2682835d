"""The same model with nothing learnt in it: what arithmetic alone would show."""

from copy import deepcopy
from dataclasses import replace

import torch

from wherewhat.capture.loading.load import LoadedModel


def unlearnt(model: LoadedModel, *, seed: int) -> LoadedModel:
    """A copy whose weights are drawn anew, those of each tensor from a normal with its own mean and spread.

    It is no model before training, which `capture.fresh` gives: its weights are as large as training made them.
    """
    module, generator = deepcopy(model.module), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.is_floating_point():
                spread, mean = torch.std_mean(weight.float(), correction=0)
                drawn = torch.randn(weight.shape, generator=generator)  # drawn here, so that no device decides it
                weight.copy_(mean.cpu() + spread.cpu() * drawn)
    return replace(model, module=module)

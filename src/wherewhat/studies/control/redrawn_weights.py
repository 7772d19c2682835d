"""A model with randomly redrawn weights: a baseline for what follows from the architecture alone."""

from copy import deepcopy
from dataclasses import replace

import torch

from wherewhat.capture.loading.load import LoadedModel


def with_redrawn_weights(model: LoadedModel, *, seed: int) -> LoadedModel:
    """A copy whose tensors are each redrawn from a normal distribution with the tensor's own mean and deviation.

    Unlike a model before training, its weights are as large as training made them.
    """
    module, generator = deepcopy(model.module), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.is_floating_point():
                spread, mean = torch.std_mean(weight.float(), correction=0)
                drawn = torch.randn(weight.shape, generator=generator)  # on the CPU, the same for every device
                weight.copy_(mean.cpu() + spread.cpu() * drawn)
    return replace(model, module=module)

"""One step downhill: how large it is, which weights decay, and what to say when there is no way down."""

from math import isfinite
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk


def parameter_groups(net: Trunk) -> list[dict[str, Any]]:
    """Weights, which decay, and what an encoding learns, which does not: 0 is nowhere near nothing for a factor."""
    positional = {id(each) for each in net.encodings.parameters()}
    weights = [each for each in net.parameters() if id(each) not in positional]
    groups: list[dict[str, Any]] = [{"params": weights}]
    groups += [{"params": list(net.encodings.parameters()), "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def rate_at(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """The learning rate: up in a line over the warm-up, and down in a line to 0 at the last step."""
    return peak * min(1.0, step / max(1, warmup)) * (1 - step / steps)


def descend(loss: Tensor, optimizer: Optimizer, rate: float) -> None:
    """Change the weights by one step that makes the loss smaller."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def finite(loss: float, step: int, *, rate: float, warmup: int) -> float:
    """The loss, if it is still a number."""
    if not isfinite(loss):
        raise UserError(
            f"training stopped at step {step}: the loss became {loss}; "
            f"lower learning_rate (now {rate}) or raise warmup (now {warmup})"
        )
    return loss

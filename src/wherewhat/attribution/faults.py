"""Which layer is at fault where relevance is not a number."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from wherewhat.capture.hooks.position_sources import is_attention

REMEDY = "check its weights, or load it in float64"


@dataclass
class LayerState:
    """Whether what a layer gives out was finite, and the gradient that came back to it."""

    name: str
    forward: bool = True
    backward: bool = True

    def on_output(self, _: nn.Module, __: object, output: Any) -> None:
        """A layer has run."""
        hidden: Tensor = output[0] if isinstance(output, tuple) else output
        self.forward &= bool(hidden.isfinite().all())
        if hidden.requires_grad:
            hidden.register_hook(self._on_gradient)

    def _on_gradient(self, gradient: Tensor) -> None:
        self.backward &= bool(gradient.isfinite().all())


def first_fault(model: nn.Module, again: Callable[[], object]) -> str:
    """Run a model once more, and say where numbers stop being finite: on the way forward, else on the way back."""
    layers, family = layers_of(model), type(model).__name__
    states = [LayerState(name) for name, _ in layers]
    with ExitStack() as stack:
        for (_, layer), state in zip(layers, states, strict=True):
            stack.callback(layer.register_forward_hook(state.on_output).remove)
        again()
    for state in states:
        if not state.forward:
            return f"{state.name} of {family} gives numbers that are not finite, so nothing can be explained; {REMEDY}"
    names = [*(state.name for state in states), "the head"]
    below = max((number for number, state in enumerate(states) if not state.backward), default=-1)
    return f"the relevance that {names[below + 1]} of {family} passes back is not finite; {REMEDY}"


def layers_of(model: nn.Module) -> Sequence[tuple[str, nn.Module]]:
    """The layers of a model: the outermost modules in a list that hold attention."""
    layers: list[tuple[str, nn.Module]] = []
    for name, modules in model.named_modules():
        if isinstance(modules, nn.ModuleList) and not any(name.startswith(f"{outer}.") for outer, _ in layers):
            held = ((f"{name}.{number}", layer) for number, layer in enumerate(modules))
            layers += [(at, layer) for at, layer in held if any(map(is_attention, layer.modules()))]
    return layers

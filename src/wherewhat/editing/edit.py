"""Edit a model for the time of a block: `with edit(model, unrotate="high:0.25"): ...`, for every rotary model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from wherewhat.capture.editing.apply import apply_edits, refuse_twice
from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import resolve


@contextmanager
def edit(
    model: nn.Module,
    *,
    drop: str | Sequence[str] = (),
    unrotate: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    scale: str | Sequence[str] = (),
    ablate: str | Sequence[str] = (),
    heads: str | Sequence[str] = (),
    layers: int | Sequence[int] = (),
) -> Iterator[nn.Module]:
    """Change how position enters a model inside the block; afterwards, also after an exception, it is as before.

    Frequencies are named as in `high:0.25`, `index:0,3`, `angle:0.01..1`, `wavelength:8..64` or `all`, in every head
    or in those named (`heads="L3H7"`, `layers=3`). They can be dropped (they leave the dot product of queries with
    keys), unrotated (they stay and lose their position), kept (all others are dropped) or scaled (`"all=0.25..1.4^2"`).
    Ablated heads write zeros. An xpos net loses its decay together with its rotation.

    Generation works inside the block, with a cache that was created there: keys of an earlier cache keep their
    rotation. Run a backward pass inside the block too, and copy the model outside of it.
    """
    plan = Edit(drop=drop, unrotate=unrotate, keep=keep, scale=scale, ablate=ablate, heads=heads, layers=layers)  # type: ignore[arg-type]
    with applied(model, plan):
        yield model


@contextmanager
def applied(model: nn.Module, plan: Edit, layers: Sequence[Layer] | None = None) -> Iterator[nn.Module]:
    """The same from an `Edit`; `layers` are those of `survey(model)`, if it was called before."""
    refuse_twice(model)
    layers = survey(model) if layers is None else layers
    with apply_edits(model, layers, resolve(plan, layers)):
        yield model

"""The door to edits: `with edit(model, unrotate="high:0.25"): ...` for every rotary model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from wherewhat.capture.editing.apply import changing, refuse_twice
from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import resolved


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
    """Change position inside a model for the time of the block; afterwards, also after an exception, it is as it was.

    Frequencies are named as in `high:0.25`, `index:0,3`, `angle:0.01..1`, `wavelength:8..64` or `all`, in every head
    or in those named (`heads="L3H7"`, `layers=3`). They can be dropped (they leave the dot product of queries with
    keys), unrotated (they stay and lose their position), kept (all others are dropped) or scaled (`"all=0.25..1.4^2"`).
    Heads that are ablated write nothing. An xpos net loses its fading together with its rotation.

    Generating works inside the block, with a cache that was made there: keys of another time are turned as they were.
    Run a backward pass inside of it too, and copy the model outside.
    """
    wanted = Edit(drop=drop, unrotate=unrotate, keep=keep, scale=scale, ablate=ablate, heads=heads, layers=layers)  # type: ignore[arg-type]
    with applied(model, wanted):
        yield model


@contextmanager
def applied(model: nn.Module, wanted: Edit, layers: Sequence[Layer] | None = None) -> Iterator[nn.Module]:
    """The same from an `Edit`; `layers` are those of `survey(model)`, if it was asked before."""
    refuse_twice(model)
    layers = survey(model) if layers is None else layers
    with changing(model, layers, resolved(wanted, layers)):
        yield model

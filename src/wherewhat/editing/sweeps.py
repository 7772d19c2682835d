"""Sweeps: one edit after the other, each in a single head or a single band of frequencies of a single layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.editing.survey import Layer
from wherewhat.editing.describe import asked_bands, named, there
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import refuse_missing, resolved
from wherewhat.errors import UserError

MOST_BANDS = 16  # of a layer; more frequencies than that are taken together with their neighbours


@dataclass(frozen=True)
class Step:
    """One edit of a sweep, and what it is about: a head, or a band of frequencies of a layer."""

    wanted: Edit
    layer: int
    head: int | None = None
    band: str | None = None
    theta: tuple[float, float] | None = None  # radians a token: the slowest and the fastest of the band


def each_head(wanted: Edit, layers: Sequence[Layer]) -> list[Step]:
    """The rotary edit in every head alone or, if there is none, every head ablated alone."""
    steps = []
    for layer in _of(wanted, layers):
        for head in range(layer.heads if _reaches(wanted, layer) else 0):
            name = f"L{layer.number}H{head}"
            if wanted.heads and name not in wanted.heads:
                continue
            alone = replace(wanted, heads=(name,), layers=(), ablate=()) if wanted.rotary else Edit(ablate=(name,))
            steps.append(Step(alone, layer.number, head=head))
    return steps


def _reaches(wanted: Edit, layer: Layer) -> bool:
    """Whether an edit has anything to do in a layer."""
    bands = [band.partition("=")[0] for _, band in asked_bands(wanted)]
    theta_F = layer.theta_F
    return not bands or (theta_F is not None and any(bool(there(band, theta_F).any()) for band in bands))


def each_band(wanted: Edit, layers: Sequence[Layer]) -> list[Step]:
    """The rotary edit in every frequency of its band alone, layer by layer; without one, each frequency is dropped."""
    ((operation, band),) = asked_bands(wanted) or [("drop", "all")]
    band, equals, factor = band.partition("=")
    if ".." in factor:
        raise UserError(f"--each band goes through frequencies one by one; give --scale one factor, not '{factor}'")
    steps = []
    for layer in _of(wanted, layers):
        heads = tuple(name for name in wanted.heads if name.startswith(f"L{layer.number}H"))
        if layer.theta_F is None or (wanted.heads and not heads):
            continue
        for some_F in _neighbours(layer.theta_F, there(band, layer.theta_F)):
            name, theta_F = named(some_F), layer.theta_F[some_F]
            band_alone: dict[str, Any] = {operation: (f"{name}{equals}{factor}",)}
            alone = Edit(**band_alone, heads=heads, layers=() if heads else (layer.number,))
            ends = (float(theta_F.min()), float(theta_F.max()))
            steps.append(Step(alone, layer.number, band=name, theta=ends))
    return steps


SWEEPS: dict[str, Callable[[Edit, Sequence[Layer]], list[Step]]] = {"head": each_head, "band": each_band}


def steps_of(wanted: Edit, each: str, layers: Sequence[Layer]) -> list[Step]:
    """All the edits of a sweep."""
    if each not in SWEEPS:
        raise UserError(f"--each is '{each}'; say head or band")
    refuse_missing(wanted, layers)
    if len(asked := asked_bands(wanted)) > 1:
        told = " and ".join(f"--{operation} {band}" for operation, band in asked[:2])
        raise UserError(f"--each {each} goes through one edit of frequencies at a time, and there are {told}; give one")
    if wanted.ablate and (asked or each == "band"):
        raise UserError(
            f"--each {each} goes through an edit of frequencies, and {wanted.ablate[0]} is ablated; leave it"
        )
    steps = SWEEPS[each](wanted, layers)
    if not steps:
        raise UserError(f"--each {each} has nothing to go through: no layer that is left has rotary frequencies")
    for step in steps:
        resolved(step.wanted, layers)  # what cannot be done is said before anything is measured
    return steps


def _of(wanted: Edit, layers: Sequence[Layer]) -> list[Layer]:
    return [layer for layer in layers if not wanted.layers or layer.number in wanted.layers]


def _neighbours(theta_F: Tensor, chosen_F: Tensor) -> list[Tensor]:
    """The numbers of the chosen frequencies, fastest first: each alone, or with its neighbours where there are many."""
    order_F = theta_F.argsort(descending=True, stable=True)
    order_F = order_F[chosen_F[order_F]]
    return list(torch.tensor_split(order_F, min(MOST_BANDS, len(order_F)))) if len(order_F) else []

"""Sweeps: one edit after the other, each in a single head or a single band of frequencies of a single layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from wherewhat.capture.editing.survey import Layer
from wherewhat.editing.plan import Edit
from wherewhat.editing.resolve import bands_of, in_band, index_band, refuse_missing, resolve
from wherewhat.errors import UserError

MOST_BANDS = 16  # per layer; more frequencies than that are grouped with their neighbours


@dataclass(frozen=True)
class SweepStep:
    """One edit of a sweep, and what it is about: a head, or a band of frequencies of a layer."""

    edit: Edit
    layer: int
    head: int | None = None
    band: str | None = None
    theta: tuple[float, float] | None = None  # radians per token: the slowest and the fastest of the band


def each_head(edit: Edit, layers: Sequence[Layer]) -> list[SweepStep]:
    """The rotary edit in every head by itself or, if there is none, every head ablated by itself."""
    bands, steps = [band.partition("=")[0] for _, band in bands_of(edit)], []
    for layer in _chosen_layers(edit, layers):
        theta_F = layer.theta_F
        if bands and (theta_F is None or not any(bool(in_band(band, theta_F).any()) for band in bands)):
            continue  # the edit has nothing to do in this layer
        for head in range(layer.heads):
            name = f"L{layer.number}H{head}"
            if not edit.heads or name in edit.heads:
                alone = replace(edit, heads=(name,), layers=(), ablate=()) if edit.rotary else Edit(ablate=(name,))
                steps.append(SweepStep(alone, layer.number, head=head))
    return steps


def each_band(edit: Edit, layers: Sequence[Layer]) -> list[SweepStep]:
    """The rotary edit in every frequency of its band by itself, layer by layer; by default each is dropped."""
    ((operation, band),) = bands_of(edit) or [("drop", "all")]
    band, equals, factor = band.partition("=")
    if ".." in factor:
        raise UserError(f"--each band goes through frequencies one by one; give --scale one factor, not '{factor}'")
    steps = []
    for layer in _chosen_layers(edit, layers):
        heads = tuple(name for name in edit.heads if name.startswith(f"L{layer.number}H"))
        if layer.theta_F is None or (edit.heads and not heads):
            continue
        order_F = layer.theta_F.argsort(descending=True, stable=True)
        order_X = order_F[in_band(band, layer.theta_F)[order_F]]
        bands = min(MOST_BANDS, len(order_X))  # each frequency by itself, or with its neighbours where there are many
        for numbers_X in torch.tensor_split(order_X, bands) if bands else ():
            name, theta_X = index_band(numbers_X), layer.theta_F[numbers_X]
            operations: dict[str, Any] = {operation: (f"{name}{equals}{factor}",)}
            alone = Edit(**operations, heads=heads, layers=() if heads else (layer.number,))
            ends = (float(theta_X.min()), float(theta_X.max()))
            steps.append(SweepStep(alone, layer.number, band=name, theta=ends))
    return steps


SWEEPS: dict[str, Callable[[Edit, Sequence[Layer]], list[SweepStep]]] = {"head": each_head, "band": each_band}


def sweep_steps(edit: Edit, each: str, layers: Sequence[Layer]) -> list[SweepStep]:
    """All the edits of a sweep."""
    if each not in SWEEPS:
        raise UserError(f"--each is '{each}'; give head or band")
    refuse_missing(edit, layers)
    if len(bands := bands_of(edit)) > 1:
        given = " and ".join(f"--{operation} {band}" for operation, band in bands[:2])
        raise UserError(
            f"--each {each} goes through one edit of frequencies at a time, and there are {given}; give one"
        )
    if edit.ablate and (bands or each == "band"):
        raise UserError(
            f"--each {each} goes through an edit of frequencies, and {edit.ablate[0]} is ablated; leave it out"
        )
    steps = SWEEPS[each](edit, layers)
    if not steps:
        raise UserError(f"--each {each} has nothing to go through: no layer that is left has rotary frequencies")
    for step in steps:
        resolve(step.edit, layers)  # what cannot be done is refused before anything is measured
    return steps


def _chosen_layers(edit: Edit, layers: Sequence[Layer]) -> list[Layer]:
    return [layer for layer in layers if not edit.layers or layer.number in edit.layers]

"""Measure a model while pairs of some heads are dropped or no longer rotated: every cell, and all of its controls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.editing.apply import apply_edits
from wherewhat.capture.editing.layer_edit import LayerEdit
from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.editing.abilities import Ability, AbilityTests, measure_ability
from wherewhat.studies.control.frequency_norms import FrequencyNorms
from wherewhat.studies.control.head_selection import HeadSelection
from wherewhat.studies.control.matched_controls import Cell, PairMask, controls_of, mask_of
from wherewhat.studies.control.settings import KINDS, SIDES, band


@dataclass(frozen=True)
class CellResult:
    """The abilities of the model under one operation on a cell, and under the same operation on its controls."""

    cell: Cell
    operation: str
    ability: Ability
    controls: dict[str, tuple[Ability, ...]]

    def equal(self, control: str) -> tuple[Ability, ...]:
        """The abilities under controls of equal norm; if there are none, under all controls."""
        draws = zip(self.cell.controls[control], self.controls[control], strict=True)
        return tuple(ability for mask, ability in draws if mask.near(self.cell.mask)) or self.controls[control]


@dataclass(frozen=True)
class InterventionSetup:
    """A model, what its abilities are measured on, and the norms of its frequencies."""

    model: LoadedModel
    layers: Sequence[Layer]
    tests: AbilityTests
    norms: FrequencyNorms

    def under(self, mask: PairMask, operation: str) -> Ability:
        """The abilities of the model while these pairs are changed; afterwards the model is restored."""
        edits = edits_by_layer(self.norms, mask, operation, self.layers)
        with apply_edits(self.model.module, self.layers, edits):
            return measure_ability(self.model, self.tests)


def cells(norms: FrequencyNorms, selection: HeadSelection, share: float, *, controls: int, seed: int) -> list[Cell]:
    """The four cells of one band size, each with its controls."""
    four = []
    for kind in KINDS:
        for side in SIDES:
            band_HF = norms.band(band(side, share))
            mask = mask_of(norms, band_HF & norms.rows(selection.of(kind))[:, None])
            matched = controls_of(norms, mask, band_HF=band_HF, count=controls, seed=seed)
            four.append(Cell(kind, side, share, mask, matched))
    return four


def measure_cell(setup: InterventionSetup, cell: Cell, operation: str, on_done: Callable[[], None]) -> CellResult:
    """Measure one cell and its controls; `on_done` is called after each intervention."""

    def measure(mask: PairMask) -> Ability:
        ability = setup.under(mask, operation)
        on_done()
        return ability

    controls = {name: tuple(map(measure, masks)) for name, masks in cell.controls.items()}
    return CellResult(cell, operation, measure(cell.mask), controls)


def edits_by_layer(
    norms: FrequencyNorms, mask: PairMask, operation: str, layers: Sequence[Layer]
) -> dict[int, LayerEdit]:
    """The edits that change these pairs, by layer number; layers without any are left out."""
    edits = {}
    for layer in layers:
        mask_HF = _layer_mask(norms, mask, layer)
        if bool(mask_HF.any()):
            edits[layer.number] = EDITS[operation](mask_HF)
    return edits


def _layer_mask(norms: FrequencyNorms, mask: PairMask, layer: Layer) -> Tensor:
    """mask_HF of one layer, with all of its heads and pairs."""
    pairs = 0 if layer.theta_F is None else len(layer.theta_F)
    mask_HF = torch.zeros(layer.heads, pairs, dtype=torch.bool)
    for name, row_F in zip(norms.names, mask.mask_HF, strict=True):
        number, _, head = name.removeprefix("L").partition("H")
        if int(number) == layer.number:
            mask_HF[int(head)] = torch.from_numpy(row_F[:pairs])
    return mask_HF


def _drop(mask_HF: Tensor) -> LayerEdit:
    return LayerEdit(gain_HF=(~mask_HF).double(), rotated_HF=torch.ones_like(mask_HF))


def _unrotate(mask_HF: Tensor) -> LayerEdit:
    return LayerEdit(gain_HF=torch.ones(mask_HF.shape, dtype=torch.float64), rotated_HF=~mask_HF)


EDITS: dict[str, Callable[[Tensor], LayerEdit]] = {"drop": _drop, "unrotate": _unrotate}

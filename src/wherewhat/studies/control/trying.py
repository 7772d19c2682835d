"""Try a model with pairs of some heads changed: every cell, and every control of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.editing.apply import changing
from wherewhat.capture.editing.change import Change as Tables
from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.editing.abilities import Ability, Trial, ability
from wherewhat.studies.control.choose import Chosen
from wherewhat.studies.control.matched import Cell, Change, change_of, controls_of
from wherewhat.studies.control.settings import KINDS, SIDES, band
from wherewhat.studies.control.use import Use


@dataclass(frozen=True)
class Tried:
    """A cell under one operation: what the model can still do, and what it can under the controls."""

    cell: Cell
    operation: str
    ability: Ability
    controls: dict[str, tuple[Ability, ...]]

    def equal(self, control: str) -> tuple[Ability, ...]:
        """The abilities under controls of equal norm; of all, where none is."""
        both = list(zip(self.cell.controls[control], self.controls[control], strict=True))
        return tuple(one for change, one in both if change.near(self.cell.change)) or self.controls[control]


@dataclass(frozen=True)
class Bench:
    """A model, what it is tried on, and how much its heads put into their frequencies."""

    model: LoadedModel
    layers: Sequence[Layer]
    trial: Trial
    used: Use

    def under(self, change: Change, operation: str) -> Ability:
        """What the model can do while these pairs are changed; afterwards it is as it was."""
        tables = tables_of(self.used, change, operation, self.layers)
        with changing(self.model.module, self.layers, tables):
            return ability(self.model, self.trial)


def cells(used: Use, chosen: Chosen, share: float, *, controls: int, seed: int) -> list[Cell]:
    """The four cells of one size of band, each with its controls."""
    return [_cell(used, chosen, (kind, side, share), controls, seed) for kind in KINDS for side in SIDES]


def _cell(used: Use, chosen: Chosen, site: tuple[str, str, float], controls: int, seed: int) -> Cell:
    kind, side, share = site
    band_HF = used.band(band(side, share))
    change = change_of(used, band_HF & used.rows(chosen.of(kind))[:, None])
    return Cell(kind, side, share, change, controls_of(used, change, band_HF=band_HF, count=controls, seed=seed))


def tried(bench: Bench, cell: Cell, operation: str, on_one: Callable[[], None]) -> Tried:
    """Try one cell and its controls; `on_one` is told after each."""

    def told(change: Change) -> Ability:
        found = bench.under(change, operation)
        on_one()
        return found

    controls = {name: tuple(map(told, changes)) for name, changes in cell.controls.items()}
    return Tried(cell, operation, told(cell.change), controls)


def tables_of(used: Use, change: Change, operation: str, layers: Sequence[Layer]) -> dict[int, Tables]:
    """What becomes of every layer, by its number: the tables of an edit, with other pairs in every head."""
    found = {}
    for layer in layers:
        mask_HF = _mask(used, change, layer)
        if bool(mask_HF.any()):
            found[layer.number] = DOING[operation](mask_HF)
    return found


def _mask(used: Use, change: Change, layer: Layer) -> Tensor:
    """mask_HF of one layer, with all of its heads and pairs."""
    pairs = 0 if layer.theta_F is None else len(layer.theta_F)
    mask_HF = torch.zeros(layer.heads, pairs, dtype=torch.bool)
    for name, row_F in zip(used.names, change.mask_HF, strict=True):
        number, _, head = name.removeprefix("L").partition("H")
        if int(number) == layer.number:
            mask_HF[int(head)] = torch.from_numpy(row_F[:pairs])
    return mask_HF


def _dropped(mask_HF: Tensor) -> Tables:
    return Tables(gain_HF=(~mask_HF).double(), turned_HF=torch.ones_like(mask_HF))


def _unrotated(mask_HF: Tensor) -> Tables:
    return Tables(gain_HF=torch.ones(mask_HF.shape, dtype=torch.float64), turned_HF=~mask_HF)


DOING: dict[str, Callable[[Tensor], Tables]] = {"drop": _dropped, "unrotate": _unrotated}

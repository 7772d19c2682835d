"""From an edit to the tables of every layer: which frequencies of which heads, checked against the model."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import torch
from torch import Tensor

from wherewhat.capture.editing.layer_edit import LayerEdit
from wherewhat.capture.editing.survey import Layer
from wherewhat.editing.plan import BANDS, HEAD_NAME, Edit
from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError
from wherewhat.tables.manifest.scores import EditedFrequencies


def resolve(edit: Edit, layers: Sequence[Layer]) -> dict[int, LayerEdit]:
    """The edit of each layer, by its number; every fault is found here, before a model is touched."""
    if not edit.rotary and not edit.ablate:
        raise UserError(
            "there is nothing to edit; name frequencies to drop, unrotate, keep or scale, or heads to ablate"
        )
    if not edit.rotary and (edit.heads or edit.layers):
        where = ", ".join([*edit.heads, *(f"layer {layer}" for layer in edit.layers)])
        raise UserError(f"{where} says where frequencies are edited, and none are named; say which to drop or unrotate")
    refuse_missing(edit, layers)
    named, ablated = _heads_by_layer(edit.heads, layers), _heads_by_layer(edit.ablate, layers)
    tables = _tables(edit, layers, named) if edit.rotary else {}
    edits = {}
    for layer in layers:
        gain_HF, rotated_HF = tables.get(layer.number, (None, None))
        ablated_H = _mask(ablated[layer.number], layer.heads) if layer.number in ablated else None
        if gain_HF is not None or ablated_H is not None:
            edits[layer.number] = LayerEdit(gain_HF, rotated_HF, ablated_H)
    return edits


# Where ----------------------------------------------------------------------------------------------------------------


def _heads_by_layer(names: Sequence[str], layers: Sequence[Layer]) -> dict[int, list[int]]:
    """Heads by the number of their layer; each has to exist."""
    heads = {layer.number: layer.heads for layer in layers}
    named: dict[int, list[int]] = {}
    for name in names:
        match = HEAD_NAME.fullmatch(name)
        assert match is not None
        number, head = int(match[1]), int(match[2])
        if number not in heads:
            raise UserError(f"there is no head {name}; the model has layers 0 to {len(layers) - 1}")
        if head >= heads[number]:
            raise UserError(f"there is no head {name}; layer {number} has heads 0 to {heads[number] - 1}")
        named.setdefault(number, []).append(head)
    return named


def refuse_missing(edit: Edit, layers: Sequence[Layer]) -> None:
    """Every head and layer that is named has to exist."""
    _heads_by_layer((*edit.heads, *edit.ablate), layers)
    if missing := set(edit.layers) - {layer.number for layer in layers}:
        raise UserError(f"there is no layer {min(missing)}; the model has layers 0 to {len(layers) - 1}")


def _rotary_layers(edit: Edit, layers: Sequence[Layer], named: dict[int, list[int]]) -> list[Layer]:
    """The layers in which frequencies are to be changed."""
    if all(layer.theta_F is None for layer in layers):
        raise UserError(
            f"frequencies are edited where queries and keys are rotated{_why_not(layers)}; only ablate heads here"
        )
    chosen_layers = [
        layer
        for layer in layers
        if (not edit.layers or layer.number in edit.layers) and (not named or layer.number in named)
    ]
    if not chosen_layers:
        raise UserError("no head is left: none of the heads is in the layers; loosen one of them")
    without_rotation = [layer for layer in chosen_layers if layer.theta_F is None]
    if without_rotation and (edit.layers or named):
        reason = _why_not(without_rotation, f"in layer {without_rotation[0].number}")
        raise UserError(f"frequencies are edited where queries and keys are rotated{reason}; leave it out")
    if unknown := [layer for layer in without_rotation if layer.unknown]:
        raise UserError(
            f"in layer {unknown[0].number} {unknown[0].no_rotation_reason}, so its frequencies cannot be edited; name "
            "the layers that you mean"
        )
    return [layer for layer in chosen_layers if layer.theta_F is not None]


def _why_not(layers: Sequence[Layer], where: str = "in this model") -> str:
    """Why nothing is rotated in some layers, as the middle of a sentence."""
    reason = next((layer.no_rotation_reason for layer in layers if layer.no_rotation_reason), "nothing is rotated")
    return f", and {where} {reason}"


def _mask(heads: Sequence[int], count: int) -> Tensor:
    mask_H = torch.zeros(count, dtype=torch.bool)
    mask_H[list(heads)] = True
    return mask_H


# Which frequencies, and what of them ----------------------------------------------------------------------------------


def _tables(edit: Edit, layers: Sequence[Layer], named: dict[int, list[int]]) -> dict[int, tuple[Tensor, Tensor]]:
    """gain_HF and rotated_HF of the layers that change."""
    rotary = _rotary_layers(edit, layers, named)
    if edit.unrotate:  # what is unrotated in one of two layers with the same keys would be rotated in the other
        borrowing = [layer for layer in layers if layer.rotations is not None and not layer.rotations[0].keys_too]
        if borrowing:
            raise UserError(
                f"layer {borrowing[0].number} attends to the keys of another layer, so that queries and keys cannot be "
                "unrotated together; drop the frequencies instead"
            )
    dropped, unrotated = (_once(verb, getattr(edit, verb), rotary) for verb in ("drop", "unrotate"))
    if edit.keep:
        kept = _bands(edit.keep, rotary)
        dropped = {number: ~torch.stack(kept_F).any(0) for number, kept_F in kept.items()}
    gains = _gains(edit.scale, rotary)
    tables = {}
    for layer in rotary:
        drop_F, unrotate_F, gain_F = dropped[layer.number], unrotated[layer.number], gains[layer.number]
        _refuse_both(edit, drop_F & unrotate_F, "unrotated")
        _refuse_both(edit, drop_F & ~gain_F.isnan(), "scaled")
        here_H = _mask(named.get(layer.number, range(layer.heads)), layer.heads)
        if bool(unrotate_F.any()):
            _refuse_part_of_group(layer, here_H)
        gain_F = gain_F.nan_to_num(1.0).masked_fill(drop_F, 0.0)
        gain_HF = torch.where(here_H[:, None], gain_F, 1.0)
        tables[layer.number] = gain_HF, ~(here_H[:, None] & unrotate_F)
    return tables


def _bands(texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, list[Tensor]]:
    """in_F of each text in each layer. Empty in some layers is fine, empty in all is an error."""
    bands_by_layer: dict[int, list[Tensor]] = {layer.number: [] for layer in layers}
    for text in texts:
        faults = []
        for layer in layers:
            assert layer.theta_F is not None
            try:
                bands_by_layer[layer.number].append(chosen(text, layer.theta_F))
            except UserError as error:
                faults.append(error)
                bands_by_layer[layer.number].append(torch.zeros(len(layer.theta_F), dtype=torch.bool))
        if len(faults) == len(layers):
            raise faults[0]
        if not any(bool(bands_by_layer[layer.number][-1].any()) for layer in layers):
            raise UserError(f"'{text}' names no frequency at all; name at least one")
    return bands_by_layer


def _once(verb: str, texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, Tensor]:
    """Which frequencies these texts name in each layer; none of them twice."""
    bands_by_layer, once = _bands(texts, layers), {}
    for layer in layers:
        assert layer.theta_F is not None
        named_F = torch.stack([torch.zeros(len(layer.theta_F), dtype=torch.bool), *bands_by_layer[layer.number]]).sum(0)
        if int(named_F.max()) > 1:
            pair = int(named_F.argmax())
            first = next(text for text, here_F in zip(texts, bands_by_layer[layer.number], strict=True) if here_F[pair])
            raise UserError(f"frequency {pair} is named twice to {verb}, in '{first}' and after; name it once")
        once[layer.number] = named_F > 0
    return once


def _gains(texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, Tensor]:
    """The factor of each frequency in each layer, from + (to - from) · (rank / last)^beta; NaN where none is given."""
    ramps = [_ramp(text) for text in texts]
    chosen_by_layer = _bands([text.rpartition("=")[0] for text in texts], layers)
    gains = {}
    for layer in layers:
        assert layer.theta_F is not None
        gain_F = torch.full_like(layer.theta_F, math.nan)
        for text, ramp, named_F in zip(texts, ramps, chosen_by_layer[layer.number], strict=True):
            if bool((named_F & ~gain_F.isnan()).any()):
                pair = int((named_F & ~gain_F.isnan()).int().argmax())
                raise UserError(f"frequency {pair} is scaled twice, the second time in '{text}'; scale it once")
            theta_X, (first, last, beta) = layer.theta_F[named_F], ramp
            rank_X = theta_X.argsort(descending=True, stable=True).argsort(stable=True).to(theta_X)  # the fastest first
            gain_F[named_F] = first + (last - first) * (rank_X / max(len(theta_X) - 1, 1)) ** beta
        gains[layer.number] = gain_F
    return gains


def _ramp(text: str) -> tuple[float, float, float]:
    """From, to and beta of a scale."""
    band, equals, factor = text.rpartition("=")
    ends, _, beta = factor.partition("^")
    first, dots, last = ends.partition("..")
    try:
        ramp = (float(first), float(last if dots else first), float(beta) if beta or "^" in factor else 1.0)
    except ValueError:
        ramp = (math.nan, math.nan, math.nan)
    if not equals or not band or not all(map(math.isfinite, ramp)) or ("^" in factor and not dots):
        raise UserError(
            f"a scale is a band and a factor, such as high:0.25=0.5, or all=0.25..1.4^2 from its fastest frequency to "
            f"its slowest; got '{text}'"
        )
    if min(ramp[:2]) < 0 or ramp[2] <= 0:
        raise UserError(f"a scale needs factors from 0 and a beta above 0; got '{text}'")
    return ramp


def _refuse_both(edit: Edit, both_F: Tensor, other: str) -> None:
    if bool(both_F.any()):
        left = "not kept" if edit.keep else "dropped"
        pair = int(both_F.int().argmax())
        raise UserError(f"frequency {pair} is {left}, so it cannot be {other} as well; take it out of one")


def _refuse_part_of_group(layer: Layer, here_H: Tensor) -> None:
    """Heads that share keys can have their own only if nothing is joined to the keys after their rotation."""
    here_GX = here_H.unflatten(0, (layer.groups or layer.heads, -1))
    if layer.sliced and bool((here_GX != here_GX[:, :1]).any()):
        each = here_GX.shape[1]
        raise UserError(
            f"in layer {layer.number} every {each} heads share keys of which only a part is rotated, so they can only "
            "be unrotated together; name all heads of a group, or drop the frequencies"
        )


# The bands of an edit in words and in numbers -------------------------------------------------------------------------


def bands_of(edit: Edit) -> list[tuple[str, str]]:
    """Every rotary operation of an edit and the band that it acts on."""
    return [(operation, band) for operation in BANDS for band in getattr(edit, operation)]


def edited_frequencies(edit: Edit, layers: Sequence[Layer]) -> list[EditedFrequencies]:
    """Every band of an edit in numbers; once for layers that rotate at the same speeds."""
    sections: dict[str, EditedFrequencies] = {}
    for operation, text in bands_of(edit):
        band = text.partition("=")[0]
        for layer in layers:
            if layer.theta_F is None or not bool(in_band(band, layer.theta_F).any()):
                continue
            inside_X = in_band(band, layer.theta_F).nonzero()[:, 0]
            lengths = [2 * math.pi / theta for theta in layer.theta_F[inside_X].tolist()]
            speeds = [f"{theta:.4g}" for theta in layer.theta_F.tolist()]  # measured, so the same up to rounding
            section = EditedFrequencies(
                operation=operation,
                band=band,
                numbers=index_band(inside_X).removeprefix("index:"),
                of=len(layer.theta_F),
                wavelengths=(min(lengths), max(lengths)),
            )
            key = " ".join([operation, band, *speeds])
            known = sections.setdefault(key, section)
            sections[key] = replace(known, layers=[*known.layers, layer.number])
    return list(sections.values())


def in_band(band: str, theta_F: Tensor) -> Tensor:
    """in_F; a band that some layer has may be empty in a layer that rotates at other speeds."""
    try:
        return chosen(band, theta_F)
    except UserError:
        return torch.zeros_like(theta_F, dtype=torch.bool)


def index_band(numbers_X: Tensor) -> str:
    """Frequencies by their numbers, in the language of bands.

    >>> index_band(torch.tensor([4, 5, 6, 9]))
    'index:4-6,9'
    """
    runs = []
    for _, run in groupby(enumerate(sorted(numbers_X.tolist())), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        runs.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}")
    return f"index:{','.join(runs)}"

"""From what was asked to the tables of every layer: which pairs of which heads, checked against the model."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from wherewhat.capture.editing.change import Change
from wherewhat.capture.editing.survey import Layer
from wherewhat.editing.plan import HEAD_NAME, Edit
from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError


def resolved(wanted: Edit, layers: Sequence[Layer]) -> dict[int, Change]:
    """What becomes of each layer, by its number; every fault of the edit is found here, before a model is touched."""
    if not wanted.rotary and not wanted.ablate:
        raise UserError(
            "there is nothing to edit; name frequencies to drop, unrotate, keep or scale, or heads to ablate"
        )
    if not wanted.rotary and (wanted.heads or wanted.layers):
        where = ", ".join([*wanted.heads, *(f"layer {layer}" for layer in wanted.layers)])
        raise UserError(f"{where} says where frequencies are edited, and none are named; say which to drop or unrotate")
    refuse_missing(wanted, layers)
    named, silent = _by_layer(wanted.heads, layers), _by_layer(wanted.ablate, layers)
    tables = _tables(wanted, layers, named) if wanted.rotary else {}
    changes = {}
    for layer in layers:
        gain_HF, turned_HF = tables.get(layer.number, (None, None))
        silent_H = _mask(silent[layer.number], layer.heads) if layer.number in silent else None
        if gain_HF is not None or silent_H is not None:
            changes[layer.number] = Change(gain_HF, turned_HF, silent_H)
    return changes


# Where ----------------------------------------------------------------------------------------------------------------


def _by_layer(names: Sequence[str], layers: Sequence[Layer]) -> dict[int, list[int]]:
    """Heads by the number of their layer; each has to be there."""
    heads = {layer.number: layer.heads for layer in layers}
    found: dict[int, list[int]] = {}
    for name in names:
        match = HEAD_NAME.fullmatch(name)
        assert match is not None
        number, head = int(match[1]), int(match[2])
        if number not in heads:
            raise UserError(f"there is no head {name}; the model has layers 0 to {len(layers) - 1}")
        if head >= heads[number]:
            raise UserError(f"there is no head {name}; layer {number} has heads 0 to {heads[number] - 1}")
        found.setdefault(number, []).append(head)
    return found


def refuse_missing(wanted: Edit, layers: Sequence[Layer]) -> None:
    """Every head and layer that is named has to be there."""
    _by_layer((*wanted.heads, *wanted.ablate), layers)
    if missing := set(wanted.layers) - {layer.number for layer in layers}:
        raise UserError(f"there is no layer {min(missing)}; the model has layers 0 to {len(layers) - 1}")


def _turning(wanted: Edit, layers: Sequence[Layer], named: dict[int, list[int]]) -> list[Layer]:
    """The layers in which frequencies are to be changed."""
    if all(layer.theta_F is None for layer in layers):
        raise UserError(f"frequencies are edited where queries and keys turn{_instead(layers)}; only ablate heads here")
    asked = [
        layer
        for layer in layers
        if (not wanted.layers or layer.number in wanted.layers) and (not named or layer.number in named)
    ]
    if not asked:
        raise UserError("no head is left: none of the heads lies in the layers; loosen one of them")
    still = [layer for layer in asked if layer.theta_F is None]
    if still and (wanted.layers or named):
        where = f"in layer {still[0].number}"
        raise UserError(f"frequencies are edited where queries and keys turn{_instead(still, where)}; leave it out")
    if unknown := [layer for layer in still if layer.unknown]:
        raise UserError(
            f"in layer {unknown[0].number} {unknown[0].instead}, so its frequencies cannot be edited; name the layers "
            "that you mean"
        )
    return [layer for layer in asked if layer.theta_F is not None]


def _instead(layers: Sequence[Layer], where: str = "in this model") -> str:
    """What is known of layers that do not turn, as the middle of a sentence."""
    known = next((layer.instead for layer in layers if layer.instead), "nothing turns")
    return f", and {where} {known}"


def _mask(heads: Sequence[int], count: int) -> Tensor:
    mask_H = torch.zeros(count, dtype=torch.bool)
    mask_H[list(heads)] = True
    return mask_H


# Which pairs, and what of them ----------------------------------------------------------------------------------------


def _tables(wanted: Edit, layers: Sequence[Layer], named: dict[int, list[int]]) -> dict[int, tuple[Tensor, Tensor]]:
    """gain_HF and turned_HF of the layers that change."""
    turning = _turning(wanted, layers, named)
    if wanted.unrotate:
        _refuse_borrowed_keys(layers)
    dropped, unrotated = (_once(verb, getattr(wanted, verb), turning) for verb in ("drop", "unrotate"))
    if wanted.keep:
        kept = _bands(wanted.keep, turning)
        dropped = {number: ~torch.stack(kept_F).any(0) for number, kept_F in kept.items()}
    gains = _gains(wanted.scale, turning)
    tables = {}
    for layer in turning:
        drop_F, still_F, gain_F = dropped[layer.number], unrotated[layer.number], gains[layer.number]
        _refuse_both(wanted, drop_F & still_F, "unrotated")
        _refuse_both(wanted, drop_F & ~gain_F.isnan(), "scaled")
        here_H = _mask(named.get(layer.number, range(layer.heads)), layer.heads)
        if bool(still_F.any()):
            _refuse_part_of_group(layer, here_H)
        gain_F = gain_F.nan_to_num(1.0).masked_fill(drop_F, 0.0)
        gain_HF = torch.where(here_H[:, None], gain_F, 1.0)
        tables[layer.number] = gain_HF, ~(here_H[:, None] & still_F)
    return tables


def _bands(texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, list[Tensor]]:
    """What each text names in each layer. Empty in some layers is fine, empty in all is an error."""
    found: dict[int, list[Tensor]] = {layer.number: [] for layer in layers}
    for text in texts:
        faults = []
        for layer in layers:
            assert layer.theta_F is not None
            try:
                found[layer.number].append(chosen(text, layer.theta_F))
            except UserError as error:
                faults.append(error)
                found[layer.number].append(torch.zeros(len(layer.theta_F), dtype=torch.bool))
        if len(faults) == len(layers):
            raise faults[0]
        if not any(bool(found[layer.number][-1].any()) for layer in layers):
            raise UserError(f"'{text}' names no frequency at all; name at least one")
    return found


def _once(verb: str, texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, Tensor]:
    """Which pairs these texts name in each layer; none of them twice."""
    found, once = _bands(texts, layers), {}
    for layer in layers:
        assert layer.theta_F is not None
        named_F = torch.stack([torch.zeros(len(layer.theta_F), dtype=torch.bool), *found[layer.number]]).sum(0)
        if int(named_F.max()) > 1:
            pair = int(named_F.argmax())
            first = next(text for text, here_F in zip(texts, found[layer.number], strict=True) if here_F[pair])
            raise UserError(f"frequency {pair} is named twice to {verb}, in '{first}' and after; name it once")
        once[layer.number] = named_F > 0
    return once


def _gains(texts: Sequence[str], layers: Sequence[Layer]) -> dict[int, Tensor]:
    """By what each pair is multiplied in each layer; NaN where nothing is said."""
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
            gain_F[named_F] = _along(ramp, layer.theta_F[named_F])
        gains[layer.number] = gain_F
    return gains


def _ramp(text: str) -> tuple[float, float, float]:
    """From, to and beta of a scale."""
    band, equals, factor = text.rpartition("=")
    ends, _, beta = factor.partition("^")
    first, dots, last = ends.partition("..")
    try:
        found = (float(first), float(last if dots else first), float(beta) if beta or "^" in factor else 1.0)
    except ValueError:
        found = (math.nan, math.nan, math.nan)
    if not equals or not band or not all(map(math.isfinite, found)) or ("^" in factor and not dots):
        raise UserError(
            f"a scale is a band and a factor, such as high:0.25=0.5, or all=0.25..1.4^2 from its fastest frequency to "
            f"its slowest; got '{text}'"
        )
    if min(found[:2]) < 0 or found[2] <= 0:
        raise UserError(f"a scale needs factors from 0 and a beta above 0; got '{text}'")
    return found


def _along(ramp: tuple[float, float, float], theta_F: Tensor) -> Tensor:
    """Factors from the fastest of these frequencies to the slowest: from + (to - from) · (rank / last)^beta."""
    first, last, beta = ramp
    rank_F = theta_F.argsort(descending=True, stable=True).argsort(stable=True).to(theta_F)
    return first + (last - first) * (rank_F / max(len(theta_F) - 1, 1)) ** beta


def _refuse_both(wanted: Edit, both_F: Tensor, other: str) -> None:
    if bool(both_F.any()):
        left = "not kept" if wanted.keep else "dropped"
        pair = int(both_F.int().argmax())
        raise UserError(f"frequency {pair} is {left}, so it cannot be {other} as well; take it out of one")


def _refuse_borrowed_keys(layers: Sequence[Layer]) -> None:
    """Where a layer attends to the keys of another, what is unrotated in one of them would be turned in the other."""
    borrowing = [layer for layer in layers if layer.rotations is not None and not layer.rotations[0].keys_too]
    if borrowing:
        raise UserError(
            f"layer {borrowing[0].number} attends to the keys of another layer, so that queries and keys cannot be "
            "unrotated together; drop the frequencies instead"
        )


def _refuse_part_of_group(layer: Layer, here_H: Tensor) -> None:
    """Heads that share keys can have their own only if nothing is joined to the keys after their rotation."""
    here_GX = here_H.unflatten(0, (layer.groups or layer.heads, -1))
    if layer.sliced and bool((here_GX != here_GX[:, :1]).any()):
        each = here_GX.shape[1]
        raise UserError(
            f"in layer {layer.number} every {each} heads share keys of which only a part turns, so they can only "
            "be unrotated together; name all heads of a group, or drop the frequencies"
        )

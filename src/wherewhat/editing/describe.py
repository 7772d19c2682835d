"""Tell in words and numbers which frequencies an edit names."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.editing.survey import Layer
from wherewhat.editing.plan import BANDS, Edit
from wherewhat.encodings.bands import chosen
from wherewhat.errors import UserError


def asked_bands(wanted: Edit) -> list[tuple[str, str]]:
    """Every rotary operation of an edit and the band that it acts on."""
    return [(operation, band) for operation in BANDS for band in getattr(wanted, operation)]


def frequencies_of(wanted: Edit, layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """What every band of an edit is in numbers; once for layers that turn alike."""
    told: dict[str, dict[str, Any]] = {}
    for operation, text in asked_bands(wanted):
        band = text.partition("=")[0]
        for layer in layers:
            if layer.theta_F is None or not bool(there(band, layer.theta_F).any()):
                continue
            some_F = there(band, layer.theta_F).nonzero()[:, 0]
            lengths = [2 * math.pi / theta for theta in layer.theta_F[some_F].tolist()]
            known: dict[str, Any] = {
                "operation": operation,
                "band": band,
                "numbers": named(some_F).removeprefix("index:"),
            }
            known |= {"of": len(layer.theta_F), "wavelengths": [min(lengths), max(lengths)], "layers": []}
            speeds = [f"{theta:.4g}" for theta in layer.theta_F.tolist()]  # read off rotations, so alike up to rounding
            told.setdefault(" ".join([operation, band, *speeds]), known)["layers"].append(layer.number)
    return list(told.values())


def there(band: str, theta_F: Tensor) -> Tensor:
    """chosen_F; a band that is somewhere may be empty in a layer that turns at other speeds."""
    try:
        return chosen(band, theta_F)
    except UserError:
        return torch.zeros_like(theta_F, dtype=torch.bool)


def named(some_F: Tensor) -> str:
    """Frequencies by their numbers, in the language of bands.

    >>> named(torch.tensor([4, 5, 6, 9]))
    'index:4-6,9'
    """
    runs = []
    for _, run in groupby(enumerate(sorted(some_F.tolist())), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        runs.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}")
    return f"index:{','.join(runs)}"

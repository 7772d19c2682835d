"""What are a head's logits made of: where keys stand, what they say, or what they say just there?"""

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.exact import Parts


def position_share(rows: Rows) -> PerRow:
    """The share of the table's variance that slots explain, whatever stands in them."""
    return rows.nothing if rows.exact is None else share(rows.exact.parts, rows.exact.parts.position_HQ)


def symbol_share(rows: Rows) -> PerRow:
    """The share of the table's variance that contents explain, wherever they stand."""
    return rows.nothing if rows.exact is None else share(rows.exact.parts, rows.exact.parts.symbol_HQ)


def interaction_share(rows: Rows) -> PerRow:
    """The share of the table's variance that neither explains alone: some contents count in some slots only."""
    return rows.nothing if rows.exact is None else share(rows.exact.parts, rows.exact.parts.interaction_HQ)


def attended_position_share(rows: Rows) -> PerRow:
    """`position_share` with attended keys set against the rest: what decides where the row looks."""
    return _attended(rows, "position_HQ")


def attended_symbol_share(rows: Rows) -> PerRow:
    """`symbol_share` with attended keys set against the rest."""
    return _attended(rows, "symbol_HQ")


def attended_interaction_share(rows: Rows) -> PerRow:
    """`interaction_share` with attended keys set against the rest."""
    return _attended(rows, "interaction_HQ")


def attended_part_by_chance(rows: Rows) -> PerRow:
    """What slots alone, or contents alone, get with a random head that is as peaked."""
    return rows.nothing if rows.attended is None else (_noise(rows.attended), _counted(rows.attended))


def attended_rest_by_chance(rows: Rows) -> PerRow:
    """What neither alone gets with a random head that is as peaked."""
    return rows.nothing if rows.attended is None else (1 - 2 * _noise(rows.attended), _counted(rows.attended))


def share(parts: Parts, part_HQ: Tensor) -> PerRow:
    """One part over the whole, weighted by the whole; a flat row has no parts."""
    weight_HQ = parts.weight_HQ
    return torch.where(weight_HQ > 0, part_HQ / parts.total_HQ, 0), weight_HQ


def _attended(rows: Rows, part: str) -> PerRow:
    """Rows count alike: where a row looks is one decision, however far its logits lie apart."""
    if rows.attended is None:
        return rows.nothing
    value_HQ, _ = share(rows.attended, getattr(rows.attended, part))
    return value_HQ, _counted(rows.attended)


def _counted(parts: Parts) -> Tensor:
    return (parts.weight_HQ > 0).to(parts.position_HQ.dtype)


def _noise(parts: Parts) -> Tensor:
    return torch.zeros_like(parts.position_HQ) if parts.noise_HQ is None else parts.noise_HQ

"""Does a head read the slots of keys or their contents? What its logits, or its attention, do when keys are permuted.

Parts of the variance are "position" (slots explain it, whatever is in them), "symbol" (contents explain it, in whatever
slot) and "interaction" (neither explains it alone: some contents count in some slots only).
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.exact import Parts
from wherewhat.scores.swaps import Swaps

Formula = Callable[[Rows], PerRow]


def variance_share(part: str) -> Formula:
    """The share of one part in the variance of a row's table; a row counts by its variance."""
    return lambda rows: rows.nothing if rows.exact is None else _share(rows.exact.parts, part)


def attended_share(part: str) -> Formula:
    """`variance_share` with attended keys contrasted with the rest: what decides where the row looks.

    Rows count equally: where a row looks is one decision, however much its logits differ.
    """
    return lambda rows: (
        rows.nothing if rows.attended is None else (_share(rows.attended, part)[0], _counted(rows.attended))
    )


def attended_part_by_chance(rows: Rows) -> PerRow:
    """What slots alone, or contents alone, get with a random head that is as peaked."""
    return rows.nothing if rows.attended is None else (_noise(rows.attended), _counted(rows.attended))


def attended_rest_by_chance(rows: Rows) -> PerRow:
    """What neither alone gets with a random head that is as peaked."""
    return rows.nothing if rows.attended is None else (1 - 2 * _noise(rows.attended), _counted(rows.attended))


def _share(parts: Parts, part: str) -> PerRow:
    """One part over the whole, weighted by the whole; a flat row has no parts."""
    part_HQ, weight_HQ = getattr(parts, f"{part}_HQ"), parts.weight_HQ
    return torch.where(weight_HQ > 0, part_HQ / parts.total_HQ, 0), weight_HQ


def _counted(parts: Parts) -> Tensor:
    return (parts.weight_HQ > 0).to(parts.position_HQ.dtype)


def _noise(parts: Parts) -> Tensor:
    return torch.zeros_like(parts.position_HQ) if parts.noise_HQ is None else parts.noise_HQ


def exclusion(term: str) -> Formula:
    """How far logits move over all permutations of a row's keys, as a mean square.

    "positional" is that of a slot (P; 0: only slots count), "symbolic" that of a content (S; 0: only contents count).
    "variance" is the variance of the logits as they are: P + S is never below it, so a head whose logits differ cannot
    keep both those of slots and those of contents.
    """

    def mean_square(rows: Rows) -> PerRow:
        if rows.exact is None:
            return rows.nothing
        value_HQ: Tensor = getattr(rows.exact, f"{term}_HQ")
        return value_HQ, rows.exact.parts.measured_HQ.to(value_HQ.dtype)

    return mean_square


def exclusion_ratio(rows: Rows) -> PerRow:
    """S / (P + S): 1 for a head that reads slots alone, 0 for one that reads contents alone.

    A row counts by P + S, so that pooling gives the ratio of the sums; rows in which no logit moves have none.
    """
    exact = rows.exact
    if exact is None:
        return rows.nothing
    moved_HQ = exact.positional_HQ + exact.symbolic_HQ
    counts_HQ = exact.parts.measured_HQ & ~exact.flat_HQ & (moved_HQ > 0)
    value_HQ = torch.where(counts_HQ, exact.symbolic_HQ / moved_HQ, 0)
    return value_HQ, torch.where(counts_HQ, moved_HQ, 0)


def mean_cosine(score: str, tau: float, swaps_of: Callable[[Rows], Swaps | None] = lambda rows: rows.swaps) -> Formula:
    """What swaps of two keys do to the attention on them, as published; or other swaps, such as those of blocks.

    "positional" is how little the attention on each slot changes, as a mean cosine over all swaps; "symbolic" how
    closely the attention on each key moves with it; "chance" what either is for a random head that is as peaked: its
    logits after a swap are any two of the row's. A swap counts by exp(gap / tau), where gap is how far the attention
    on its two keys differs: at the published 1e-4 hardly any swap but the one with the widest gap counts, at infinity
    all count equally. Rows without anything to swap are left out.
    """

    def mean(rows: Rows) -> PerRow:
        swaps = swaps_of(rows if tau in rows.taus else replace(rows, taus=(tau,)))
        if swaps is None:
            return rows.nothing
        value_HQ: Tensor = getattr(swaps, f"{score}_THQ")[swaps.taus.index(tau)]
        return value_HQ, swaps.measured_HQ.to(value_HQ.dtype)

    return mean

"""When two keys are swapped, does the attention stay in their slots or go with what they say? As published."""

from collections.abc import Callable
from dataclasses import replace

from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.swaps import Swaps


def positional(tau: float) -> Callable[[Rows], PerRow]:
    """How little the attention on each slot changes, as a mean cosine over all swaps of two keys.

    A swap counts by exp(gap / tau), where gap is how far the attention on its two keys differs: at the published
    1e-4 hardly any but the widest gap counts, at infinity all count alike.
    """
    return lambda rows: _answer(rows, _at(rows, tau).swaps, "positional_THQ", tau)


def symbolic(tau: float) -> Callable[[Rows], PerRow]:
    """How closely the attention on each key goes with it, as a mean cosine over the same swaps."""
    return lambda rows: _answer(rows, _at(rows, tau).swaps, "symbolic_THQ", tau)


def as_peaked(tau: float) -> Callable[[Rows], PerRow]:
    """What either score is for a random head that is as peaked: its logits after a swap are any two of the row's."""
    return lambda rows: _answer(rows, _at(rows, tau).swaps, "chance_THQ", tau)


def block_positional(tau: float) -> Callable[[Rows], PerRow]:
    """`positional` for swaps of whole blocks of keys; rows without blocks to swap are left out."""
    return lambda rows: _answer(rows, _at(rows, tau).block_swaps, "positional_THQ", tau)


def block_symbolic(tau: float) -> Callable[[Rows], PerRow]:
    """`symbolic` for swaps of whole blocks of keys; rows without blocks to swap are left out."""
    return lambda rows: _answer(rows, _at(rows, tau).block_swaps, "symbolic_THQ", tau)


def _at(rows: Rows, tau: float) -> Rows:
    """The same rows, ready to be asked at this temperature."""
    return rows if tau in rows.taus else replace(rows, taus=(tau,))


def _answer(rows: Rows, swaps: Swaps | None, which: str, tau: float) -> PerRow:
    if swaps is None:
        return rows.nothing
    value_HQ = getattr(swaps, which)[swaps.taus.index(tau)]
    return value_HQ, swaps.measured_HQ.to(value_HQ.dtype)

"""The tables of some rows as products of contents and slots, and the means and variances of these tables.

A mean over a table is a product with a mean factor, and its variance follows from the covariances of both factors, or
from the products where these are fewer. Only where a nonlinearity follows the product is every table needed whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

ROOM = 1 << 19  # numbers of one factor in work at once
TABLE_ROOM = 1 << 22  # entries of whole tables in work at once
WIDTH = 64  # channels of most heads, by which the room for their rows is estimated

Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Factors:
    """a[k, j] = nonlinearity(content_k · slot_j), for every head and row. Axes H and Q of size 1 are shared by all."""

    content_HQKX: Tensor
    slot_HQKX: Tensor
    nonlinearity: Callable[[Tensor], Tensor] | None = None

    @property
    def actual_HQK(self) -> Tensor:
        """The logits as they are, every content in its own slot."""
        return self.logits((self.content_HQKX * self.slot_HQKX).sum(-1))

    def logits(self, products: Tensor) -> Tensor:
        """The logits for products of contents with slots."""
        return products if self.nonlinearity is None else self.nonlinearity(products)


@dataclass(frozen=True)
class Planes:
    """What each rotary frequency contributes to the three variances of a row; signed, and the sum is exact."""

    position_HQF: Tensor
    symbol_HQF: Tensor
    interaction_HQF: Tensor


@dataclass(frozen=True)
class Moments:
    """Means and variances of the tables of some rows, over the contents and slots that may be swapped.

    The three variances add up to the variance of the whole table. Entries of contents and slots that may not be swapped
    are meaningless.
    """

    content_HQK: Tensor  # each content's mean over slots
    slot_HQK: Tensor  # each slot's mean over contents
    grand_HQ: Tensor  # the mean of the whole table
    position_HQ: Tensor  # variance of the slots' means
    symbol_HQ: Tensor  # variance of the contents' means
    interaction_HQ: Tensor  # variance that neither explains
    planes: Planes | None = None  # the same by rotary frequency, for rotary logits with equal weights

    def padded(self, keys: int) -> "Moments":
        """With so many keys, those that are missing 0."""
        missing = (0, keys - self.content_HQK.shape[-1])
        return replace(self, content_HQK=pad(self.content_HQK, missing), slot_HQK=pad(self.slot_HQK, missing))


@dataclass(frozen=True)
class MeasuredRows:
    """Some rows with their moments, over as many keys as the furthest of them reaches."""

    index_Q: Tensor  # their numbers among all rows
    actual_HQK: Tensor  # the logits as they are
    moments: Moments


def moments_of(factors: Factors, weights_HQK: Tensor) -> Moments:
    """Moments of every row's table with a weight per key, both as content and as slot; a row's weights add up to 1."""
    if factors.nonlinearity is not None:
        return _moments_of_tables(factors, weights_HQK)
    content_mean_HQ1X, slot_mean_HQ1X = (
        _mean(side_HQKX, weights_HQK) for side_HQKX in (factors.content_HQKX, factors.slot_HQKX)
    )
    grand_HQ = (content_mean_HQ1X * slot_mean_HQ1X).sum((-2, -1))
    content_HQKX, slot_HQKX = factors.content_HQKX - content_mean_HQ1X, factors.slot_HQKX - slot_mean_HQ1X
    content_HQK = (content_HQKX @ slot_mean_HQ1X.mT)[..., 0]
    slot_HQK = (slot_HQKX @ content_mean_HQ1X.mT)[..., 0]
    return Moments(
        content_HQK=content_HQK + grand_HQ[..., None],
        slot_HQK=slot_HQK + grand_HQ[..., None],
        grand_HQ=grand_HQ,
        position_HQ=(slot_HQK.square() * weights_HQK).sum(-1),
        symbol_HQ=(content_HQK.square() * weights_HQK).sum(-1),
        interaction_HQ=_interaction(content_HQKX, slot_HQKX, weights_HQK),
    )


def _interaction(content_HQKX: Tensor, slot_HQKX: Tensor, weights_HQK: Tensor) -> Tensor:
    """The mean square of all products of centred contents and slots, from their products or their covariances."""
    keys, channels = content_HQKX.shape[-2:]
    if keys < 2 * channels:  # whichever are fewer
        squares_HQKS = (content_HQKX @ slot_HQKX.mT).square_()
        return ((squares_HQKS @ weights_HQK[..., None])[..., 0] * weights_HQK).sum(-1)
    weights_HQK1 = weights_HQK[..., None]
    contents_HQXX = (content_HQKX * weights_HQK1).mT @ content_HQKX
    slots_HQXX = (slot_HQKX * weights_HQK1).mT @ slot_HQKX
    return (contents_HQXX * slots_HQXX).sum((-2, -1))


def _mean(vectors_HQKX: Tensor, weights_HQK: Tensor) -> Tensor:
    """mean_HQ1X; one product for all heads and rows where they share their vectors."""
    if vectors_HQKX.shape[:2] == (1, 1):
        return (weights_HQK @ vectors_HQKX[0, 0])[..., None, :]
    return weights_HQK[..., None, :] @ vectors_HQKX


def _moments_of_tables(factors: Factors, weights_HQK: Tensor) -> Moments:
    """The same off whole tables, some rows at a time. Keys without any weight are left out of means."""
    assert factors.nonlinearity is not None
    heads, queries, keys = torch.broadcast_shapes(factors.content_HQKX.shape[:3], factors.slot_HQKX.shape[:3])
    content_HQKX = factors.content_HQKX.expand(heads, queries, -1, -1)
    slot_HQKX = factors.slot_HQKX.expand(heads, queries, -1, -1)
    weights_HQK = weights_HQK.expand(heads, -1, -1)
    step = max(1, TABLE_ROOM // (heads * keys**2))
    parts = []
    for content, slot, weights in zip(
        content_HQKX.split(step, 1), slot_HQKX.split(step, 1), weights_HQK.split(step, 1), strict=True
    ):
        table_HQKS = factors.nonlinearity(content @ slot.mT)
        content_HQK, slot_HQK = (
            (table_HQKS @ weights[..., None])[..., 0],
            (weights[..., None, :] @ table_HQKS)[..., 0, :],
        )
        grand_HQ, symbol_HQ = mean_and_variance(content_HQK, weights)
        _, position_HQ = mean_and_variance(slot_HQK, weights)
        left_HQKS = table_HQKS.sub_(content_HQK[..., None]).sub_(slot_HQK[..., None, :]).add_(grand_HQ[..., None, None])
        interaction_HQ = ((left_HQKS.square_() @ weights[..., None])[..., 0] * weights).sum(-1)
        parts.append((content_HQK, slot_HQK, grand_HQ, position_HQ, symbol_HQ, interaction_HQ))
    content_HQK, slot_HQK, grand_HQ, position_HQ, symbol_HQ, interaction_HQ = (
        torch.cat(same, 1) for same in zip(*parts, strict=True)
    )
    return Moments(content_HQK, slot_HQK, grand_HQ, position_HQ, symbol_HQ, interaction_HQ)


def mean_and_variance(value_HQK: Tensor, weights_HQK: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted mean_HQ and variance_HQ of each row."""
    mean_HQ = (value_HQK * weights_HQK).sum(-1)
    variance_HQ = ((value_HQK - mean_HQ[..., None]).square() * weights_HQK).sum(-1)
    return mean_HQ, variance_HQ


def join_factors(parts: Sequence[Factors], order_Q: Tensor, keys: int) -> Factors:
    """The factors of rows of several texts, with so many keys each, in an order of their own."""

    def side(of_parts: Sequence[Tensor]) -> Tensor:
        channels = max(vectors_HQKX.shape[-1] for vectors_HQKX in of_parts)
        padded = [pad(x_HQKX, (0, channels - x_HQKX.shape[3], 0, keys - x_HQKX.shape[2])) for x_HQKX in of_parts]
        return torch.cat(padded, 1)[:, order_Q]

    both = [torch.broadcast_tensors(part.content_HQKX[..., :1], part.slot_HQKX[..., :1])[0].shape for part in parts]
    contents, slots = (
        side([vectors.expand(*shape[:2], -1, -1) for vectors, shape in zip(of_parts, both, strict=True)])
        for of_parts in ([part.content_HQKX for part in parts], [part.slot_HQKX for part in parts])
    )
    return Factors(contents, slots, parts[0].nonlinearity)


def split_by_reach(seen_QK: Tensor, numbers_per_key: int) -> Iterator[tuple[Tensor, int]]:
    """Rows of similar reach together, as index_Q and the number of keys up to the last that any of them sees.

    Rows of long reach come last. A group has ROOM for the factors of its rows, or is a single row.
    """
    keys = seen_QK.shape[-1]
    reach_Q = (seen_QK * torch.arange(1, keys + 1, device=seen_QK.device)).amax(-1)
    reaches, order_Q = reach_Q.sort(stable=True)
    ends = reaches.tolist()
    start = 0
    for stop in range(1, len(ends) + 1):
        if stop == len(ends) or (stop + 1 - start) * max(1, ends[stop]) * numbers_per_key > ROOM:
            yield order_Q[start:stop], max(1, ends[stop - 1])
            start = stop


def join_rows(parts: Sequence[Measured], index_Q: Tensor, rows: int) -> Measured:
    """What was measured of some rows after others as one, with every row in its place and zeros elsewhere.

    The axis of rows is the one that a field's name calls Q.
    """
    joined: dict[str, Any] = {}
    for field in fields(parts[0]):  # type: ignore[arg-type]
        values = [getattr(part, field.name) for part in parts]
        if isinstance(values[0], Tensor):
            axis = field.name.rpartition("_")[2].index("Q")
            whole = torch.cat(values, axis)
            shape = [*whole.shape[:axis], rows, *whole.shape[axis + 1 :]]
            joined[field.name] = whole.new_zeros(shape).index_copy_(axis, index_Q, whole)
        elif is_dataclass(values[0]):
            joined[field.name] = join_rows(values, index_Q, rows)
    return replace(parts[0], **joined)  # type: ignore[type-var]


def widest_dtype(device: torch.device) -> torch.dtype:
    """The most precise floating-point type of a device: Apple's MPS has no double precision."""
    return torch.float32 if device.type == "mps" else torch.float64


def uniform_weights(swappable_QK: Tensor, dtype: torch.dtype) -> Tensor:
    """weights_1QK that are equal for all swappable keys of a row; all 0 if it has none.

    >>> uniform_weights(torch.tensor([[True, False, True]]), torch.float32)
    tensor([[[0.5000, 0.0000, 0.5000]]])
    """
    weights_QK = swappable_QK.to(dtype)
    return (weights_QK / weights_QK.sum(-1, keepdim=True).clamp_min(1))[None]

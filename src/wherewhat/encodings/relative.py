"""From numbers for each lag to numbers for each query and key: what every bias that knows distances is made of."""

from abc import ABC, abstractmethod
from typing import final

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.encodings.base import Context, Encoding, outside_autocast, wide

FEW = 64  # queries are few where there are this many times more keys: one by one they cost less than all together


def lags_of(context: Context) -> Tensor:
    """lags_R, every lag that can occur among these keys, in order: from 0 in a decoder, from both sides in an encoder.

    >>> lags_of(Context.of(3, causal=True)), lags_of(Context.of(3, causal=False))
    (tensor([0, 1, 2]), tensor([-2, -1,  0,  1,  2]))
    """
    last = furthest(context)
    return torch.arange(0 if context.causal else -last, last + 1, device=context.key_positions_BK.device)


def furthest(context: Context) -> int:
    """The largest lag among these keys: one less than their number, unless padding or gaps lie between positions."""
    if context.plain:
        return context.length - 1
    positions_BK = context.key_positions_BK
    return context.once("furthest", lambda: int((positions_BK.amax(-1) - positions_BK.amin(-1)).max()))


def by_lag(values_HR: Tensor, context: Context) -> Tensor:
    """values_BHQK of every query and key, from the values of all lags that `lags_of` names.

    Keys that a causal query may not see get some finite value. Where lags are the same along diagonals this is one
    copy of a view, forwards and backwards; looking numbers up one by one is several times slower to learn through.

    >>> by_lag(torch.tensor([[5, 6, 7]]), Context.of(3, causal=True))[0, 0].tril()
    tensor([[5, 0, 0],
            [6, 5, 0],
            [7, 6, 5]])
    """
    last = context.length - 1
    if context.plain:
        both_HR = pad(values_HR, (last, 0)) if context.causal else values_HR
        return both_HR.flip(-1).unfold(-1, last + 1, 1).flip(-2)[None]
    return values_HR[:, index_by_lag(context)].transpose(0, 1)


def query_with_lag(q_BHQC: Tensor, of_lag_HRC: Tensor, context: Context) -> Tensor:
    """product_BHQK of every query with what belongs to the lag of each key, for all lags that `lags_of` names.

    >>> ones, of_lag = torch.ones(1, 1, 2, 1), torch.tensor([[[5.0], [6.0]]])
    >>> query_with_lag(ones, of_lag, Context.of(2, causal=True))[0, 0].tril()
    tensor([[5., 0.],
            [6., 5.]])
    """
    if context.plain:
        return _slide(q_BHQC, of_lag_HRC.flip(-2), context.length - 1)
    index_BHQK = index_by_lag(context)[:, None].expand(*q_BHQC.shape[:2], -1, -1)
    return (q_BHQC @ of_lag_HRC.mT).gather(-1, index_BHQK)


def key_with_lag(k_BHKC: Tensor, of_lag_HRC: Tensor, context: Context) -> Tensor:
    """product_BHQK of every key with what belongs to its lag, for all lags that `lags_of` names."""
    if context.plain:
        return _slide(k_BHKC, of_lag_HRC, 0 if context.causal else context.length - 1).mT
    index_BQK = index_by_lag(context)
    if index_BQK.shape[1] * FEW < context.length:  # then most of what keys and lags make together is not asked for
        rows = [(k_BHKC * of_lag_HRC[:, index_BK].transpose(0, 1)).sum(-1) for index_BK in index_BQK.unbind(1)]
        return torch.stack(rows, dim=2)
    index_BHKQ = index_BQK.mT[:, None].expand(*k_BHKC.shape[:2], -1, -1)
    return (k_BHKC @ of_lag_HRC.mT).gather(-1, index_BHKQ).mT


def _slide(x_BHTC: Tensor, of_lag_HRC: Tensor, start: int) -> Tensor:
    """out[t, u] = x[t] · of_lag[u - t + start] for as many u as t.

    The products of one token with all lags are a row. Rows that lie end to end in memory, read as if each were one
    shorter, slide by themselves, so that this is one matrix product and no copy. What is not there gets some finite
    value.
    """
    tokens, lags = x_BHTC.shape[-2], of_lag_HRC.shape[-2]
    row = max(lags, tokens + 1)
    flat: Tensor = (x_BHTC @ pad(of_lag_HRC, (0, 0, 0, row - lags)).mT).flatten(-2)
    slid: Tensor = flat[..., start : start + tokens * (row - 1)].unflatten(-1, (tokens, row - 1))
    return slid[..., :tokens]


def index_by_lag(context: Context) -> Tensor:
    """index_BQK of each query's and key's lag among `lags_of`; of lags that are not there, the first."""
    lags_BQK = context.lags_BHQK[:, 0]
    return lags_BQK.clamp(min=0) if context.causal else lags_BQK + furthest(context)


class Disentangled(Encoding, ABC):
    """Add two terms to q·k, as Transformer-XL and DeBERTa do: one of query and slot, and one of slot and its content.

    The first does not depend on the key, the second not on the query. They can be computed separately, which
    is how logits are decomposed into what slots and what contents contribute.
    """

    @abstractmethod
    def slot_part(self, q_BHQC: Tensor, context: Context) -> Tensor:
        """added_BHQK (B may be 1 or the batch): what each slot adds for the query, whatever its content."""

    @abstractmethod
    def position_queries(self, context: Context, dtype: torch.dtype) -> Tensor:
        """position_query_HRC of this dtype, scale included: what keys are multiplied with at each lag of `lags_of`.

        R is 1 where all slots share one vector.
        """

    @final
    @outside_autocast
    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        position_query_HRC = self.position_queries(context, dtype)
        k_BHKC = k_BHKC.to(dtype)
        if position_query_HRC.shape[1] == 1:
            key_part_BHQK = (k_BHKC @ position_query_HRC.mT).mT
        else:
            key_part_BHQK = self.product("distance queries", key_with_lag(k_BHKC, position_query_HRC, context))
        return (self.slot_part(q_BHQC.to(dtype), context) + key_part_BHQK).to(q_BHQC.dtype)

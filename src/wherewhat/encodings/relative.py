"""From one number a lag to one number a query and key: what every bias that knows only distances is made of."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.encodings.base import Context


def lags_of(context: Context) -> Tensor:
    """lags_R, every lag that can occur among these keys, in order: from 0 in a decoder, from both sides in an encoder.

    >>> lags_of(Context.of(3, causal=True)), lags_of(Context.of(3, causal=False))
    (tensor([0, 1, 2]), tensor([-2, -1,  0,  1,  2]))
    """
    last = context.length - 1
    return torch.arange(0 if context.causal else -last, last + 1, device=context.key_positions_BK.device)


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


def index_by_lag(context: Context) -> Tensor:
    """index_BQK of each query's and key's lag among `lags_of`; of lags that are not there, the first."""
    lags_BQK = context.lags_BHQK[:, 0]
    return lags_BQK.clamp(min=0) if context.causal else lags_BQK + context.length - 1

"""What row sums are for: nets whose rows sum to one again, have nothing but their sums, or have those of others."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.urpe import Urpe
from wherewhat.nets.attention import Attend, SelfAttention, attention_rows
from wherewhat.nets.trunk import Trunk

# From attention before the factors and after them to what meets the values; all are [B, H, Q, K].
Change = Callable[[Tensor, Tensor], Tensor]


def unit_sums(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
    """Rows that sum to one again: what is missing, or too much, is spread over keys as before the factors.

    >>> unit_sums(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.5, 0.0]]))
    tensor([[0.7500, 0.2500]])
    """
    return attention_BHQK + softmax_BHQK * (1 - attention_BHQK.sum(-1, keepdim=True))


def sums_alone(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
    """Rows as before the factors, times the sum that they have after them.

    >>> sums_alone(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.5, 0.0]]))
    tensor([[0.2500, 0.2500]])
    """
    return softmax_BHQK * attention_BHQK.sum(-1, keepdim=True)


def mirrored_sums(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
    """Rows as before the factors, times the sum that the row of the mirrored slot has after them.

    >>> mirrored_sums(torch.tensor([[0.5, 0.5], [0.5, 0.5]]), torch.tensor([[0.5, 0.0], [0.5, 0.5]]))
    tensor([[0.5000, 0.5000],
            [0.2500, 0.2500]])
    """
    return softmax_BHQK * attention_BHQK.sum(-1, keepdim=True).flip(-2)


@contextmanager
def changed_rows(net: Trunk, change: Change) -> Iterator[None]:
    """Change the attention of every layer of a net with factors; the net is restored on leaving the block."""
    with ExitStack() as cleanup:
        for module in net.modules():
            if isinstance(module, SelfAttention):
                cleanup.callback(setattr, module, "attend", module.attend)
                module.attend = _attend(change)
        yield


def _attend(change: Change) -> Attend:
    def attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
        assert isinstance(encoding, Urpe)
        rows_Q = torch.arange(q_BHQC.shape[2])
        softmax_BHQK, attention_BHQK = (
            attention_rows(each, q_BHQC, k_BHKC, context, rows_Q) for each in (encoding.over, encoding)
        )
        return change(softmax_BHQK, attention_BHQK) @ v_BHKC

    return attend


@torch.no_grad()
def row_sums(net: Trunk, ids_BT: Tensor) -> Tensor:
    """sums_LHQ of the rows of attention after the factors, mean over sequences."""
    sums: list[Tensor] = []

    def record(_: Tensor, attention_BHQK: Tensor) -> Tensor:
        sums.append(attention_BHQK.sum(-1).mean(0))
        return attention_BHQK

    with changed_rows(net, record):
        net(ids_BT)
    return torch.stack(sums)

"""What row sums are for: nets whose rows sum to one again, have nothing but their sums, or have those of others."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import log

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.urpe import Urpe
from wherewhat.nets.attention import Attend, attention_rows, replaced_attend
from wherewhat.nets.trunk import Trunk

# From attention before the factors and after them, [B, H, Q, K]: what meets the values, or what is measured of them.
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


def given_sums(sums_HQ: Tensor) -> Change:
    """Rows as before the factors, times sums that are given.

    >>> given_sums(torch.tensor([[1.0, 2.0]]))(torch.full((1, 1, 2, 2), 0.5), torch.ones(1, 1, 2, 2))[0, 0]
    tensor([[0.5000, 0.5000],
            [1.0000, 1.0000]])
    """
    return lambda softmax_BHQK, _: softmax_BHQK * sums_HQ[:, :, None]


def mirrored_sums(net: Trunk, ids_BT: Tensor) -> list[Change]:
    """By layer, rows as before the factors, times the sum that the row of the mirrored slot has in the net as it is.

    Sums are means over sequences. Those of a pass with mirrored sums would not do: what a layer reads there has been
    changed by the layers below, so its sums are no longer those of the mirrored slots.
    """
    return [given_sums(sums_HQ.flip(-1)) for sums_HQ in row_sums(net, ids_BT)]


def changed_rows(net: Trunk, changes: Sequence[Change]) -> AbstractContextManager[None]:
    """Change the attention of a net with factors, a change per layer; the net is restored on leaving the block."""
    return replaced_attend(net, [_attend(change) for change in changes])


def _attend(change: Change) -> Attend:
    def attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
        assert isinstance(encoding, Urpe)
        rows_Q = torch.arange(q_BHQC.shape[2])
        softmax_BHQK, attention_BHQK = (
            attention_rows(each, q_BHQC, k_BHKC, context, rows_Q) for each in (encoding.over, encoding)
        )
        return change(softmax_BHQK, attention_BHQK) @ v_BHKC

    return attend


def row_sums(net: Trunk, ids_BT: Tensor) -> Tensor:
    """sums_LHQ of the rows of attention after the factors, mean over sequences."""
    return _read(net, ids_BT, lambda _, attention_BHQK: attention_BHQK.sum(-1).mean(0))


def entropies(net: Trunk, ids_BT: Tensor) -> Tensor:
    """entropy_LH of attention before the factors, mean over rows and sequences: 1 where it is uniform, 0 on one key."""

    def entropy(softmax_BHQK: Tensor, _: Tensor) -> Tensor:
        entropy_H: Tensor = torch.special.entr(softmax_BHQK).sum(-1).mean((0, 2)) / log(softmax_BHQK.shape[-1])
        return entropy_H

    return _read(net, ids_BT, entropy)


@torch.no_grad()
def _read(net: Trunk, ids_BT: Tensor, measure: Change) -> Tensor:
    """What is measured of the attention of every layer, before the factors and after them."""
    measured: list[Tensor] = []

    def record(softmax_BHQK: Tensor, attention_BHQK: Tensor) -> Tensor:
        measured.append(measure(softmax_BHQK, attention_BHQK))
        return attention_BHQK

    with changed_rows(net, [record] * len(net.blocks)):
        net(ids_BT)
    return torch.stack(measured)

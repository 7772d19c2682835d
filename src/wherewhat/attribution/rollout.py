"""Attention rollout: attention with its residual, averaged over heads and multiplied over layers (arXiv 2005.00928)."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.position_sources import has_two_stacks, is_attention
from wherewhat.capture.hooks.reader import AttentionSite, BatchReader, BatchRows
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.errors import UserError


def roll_out(attention: Sequence[Tensor], read_T: Tensor) -> Tensor:
    """relevance_T: where what is read at the end comes from. `read_T` weighs the slots that are read, with a sum of 1.

    Half of what a slot holds after a layer is what it held before, half is what attention gathered.

    >>> roll_out([torch.tensor([[1.0, 0.0], [0.5, 0.5]])], torch.tensor([0.0, 1.0]))
    tensor([0.2500, 0.7500], dtype=torch.float64)
    """
    row_T = read_T.double()
    for attention_QK in reversed(attention):
        mixed_QK = attention_QK.double() + torch.eye(len(row_T), dtype=torch.float64)
        row_T = row_T @ (mixed_QK / mixed_QK.sum(-1, keepdim=True))
    return row_T


def mean_attention(model: LoadedModel, ids_BT: Tensor) -> list[Tensor]:
    """attention_QK of every layer, averaged over heads."""
    if has_two_stacks(model.module):
        raise UserError(
            f"{model.id} has an encoder and a decoder, and attention rollout is for one stack; use another method"
        )
    length = ids_BT.shape[1]
    by_site: dict[AttentionSite, Tensor] = {}

    def on_batch(rows: BatchRows) -> None:
        attention_QK = by_site.setdefault(rows.site, torch.zeros(length, length, dtype=torch.float64))
        attention_QK[rows.rows_BQ[0].cpu()] = rows.attention_BHQK[0].mean(0).double().cpu()

    batch = Batch((0,), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.arange(length),))
    with watched_by(BatchReader(on_batch, next(model.module.parameters()).dtype), model.module) as session:
        session.read(batch)
    return list(by_site.values())


def slots_read(model: nn.Module, logit: Callable[[], Tensor]) -> Tensor:
    """read_T, equal for all slots from whose last attention a logit is computed: one that is pooled, or all of them.

    `logit` runs the model and gives the logit.
    """
    outputs: list[Tensor] = []

    def on_output(_: nn.Module, __: object, output: Any) -> Any:
        leaf = (output[0] if isinstance(output, tuple) else output).detach().requires_grad_()
        outputs.append(leaf)
        return (leaf, *output[1:]) if isinstance(output, tuple) else leaf

    handles = [module.register_forward_hook(on_output) for module in model.modules() if is_attention(module)]
    try:
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(logit(), outputs[-1])
    finally:
        for handle in handles:
            handle.remove()
    by_slot_T = gradient.abs().sum(-1).flatten().cpu() > 0
    return by_slot_T.double() / by_slot_T.sum()

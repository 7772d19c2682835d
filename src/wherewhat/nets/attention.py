"""Attention with an encoding: by a fused kernel where possible, explicitly where logits or attention are needed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.biased import attend_biased, by_flag
from wherewhat.nets.past import Memory

EXPLICIT_ENTRIES = 1 << 22  # of attention computed at once where it has to be looked at
Attend = Callable[[Encoding, Tensor, Tensor, Tensor, Context], Tensor]


def attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
    """Let every query gather values, out_BHQC, by the fastest way that the encoding allows.

    A query that may look at nothing (padding before the first real token) gathers zeros.
    """
    encoding.check(length=context.longest, causal=context.causal)
    q_BHQC, k_BHKC = encoding.on_query_key(q_BHQC, k_BHKC, context)
    out_BHQC = encoding.attend(q_BHQC, k_BHKC, v_BHKC, context)
    if out_BHQC is not None:
        return out_BHQC
    if encoding.fused:
        return _fused(encoding, q_BHQC, k_BHKC, v_BHKC, context)
    texts, heads, queries, _ = q_BHQC.shape  # without gradients, some rows at a time, to bound memory
    at_once = queries if torch.is_grad_enabled() else max(1, EXPLICIT_ENTRIES // (texts * heads * context.length))
    if at_once >= queries:
        return explicit_attention(encoding, q_BHQC, k_BHKC, context) @ v_BHKC
    pieces = torch.arange(queries, device=q_BHQC.device).split(at_once)
    some = [
        explicit_attention(encoding, q_BHQC[:, :, rows_Q], k_BHKC, context.rows(rows_Q)) @ v_BHKC for rows_Q in pieces
    ]
    return torch.cat(some, dim=2)


def attention_rows(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, context: Context, rows_Q: Tensor) -> Tensor:
    """attention_BHQK of the queries numbered `rows_Q` alone: what `attend` weighs values by. Costs only those rows."""
    encoding.check(length=context.longest, causal=context.causal)
    context = context.rows(rows_Q)
    q_BHQC, k_BHKC = encoding.on_query_key(q_BHQC[:, :, rows_Q], k_BHKC, context)
    return explicit_attention(encoding, q_BHQC, k_BHKC, context)


def _fused(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
    bias_BHQK = _bias(encoding, q_BHQC, k_BHKC, context)
    if bias_BHQK is not None:
        causal = by_flag(q_BHQC, context)
        return attend_biased(q_BHQC, k_BHKC, v_BHKC, bias_BHQK, scale=encoding.scale, causal=causal)
    if context.needs_mask:
        mask_BHQK = context.allowed_BHQK
        return scaled_dot_product_attention(q_BHQC, k_BHKC, v_BHKC, attn_mask=mask_BHQK, scale=encoding.scale)
    return scaled_dot_product_attention(q_BHQC, k_BHKC, v_BHKC, is_causal=context.causal, scale=encoding.scale)


def _bias(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
    """What to add to the logits, -inf for forbidden keys unless a flag keeps them out; None for nothing."""

    def bias() -> Tensor | None:
        bias_BHQK = encoding.bias(q_BHQC, k_BHKC, context)
        if bias_BHQK is None or by_flag(q_BHQC, context):
            return bias_BHQK
        return bias_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf)

    if encoding.bias_by_slot and encoding.shared:
        return context.once_a_reading((encoding, q_BHQC.dtype), bias)
    return bias()


def explicit_attention(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
    """attention_BHQK of queries and keys that `on_query_key` has seen, through all hooks that follow."""
    return explicit_weights(encoding, explicit_logits(encoding, q_BHQC, k_BHKC, context), context)


def explicit_logits(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
    """logits_BHQK of queries and keys that `on_query_key` has seen, before the mask."""
    scale = q_BHQC.shape[-1] ** -0.5 if encoding.scale is None else encoding.scale
    logits_BHQK = q_BHQC @ k_BHKC.mT * scale
    bias_BHQK = encoding.source_bias(q_BHQC, k_BHKC, context)
    logits_BHQK = logits_BHQK if bias_BHQK is None else logits_BHQK + bias_BHQK
    return encoding.on_logits(logits_BHQK, q_BHQC, k_BHKC, context)


def explicit_weights(encoding: Encoding, logits_BHQK: Tensor, context: Context) -> Tensor:
    """attention_BHQK of such logits."""
    forbidden_BHQK = ~context.allowed_BHQK  # filled, never added: an overflowing logit plus -inf would be NaN
    attention_BHQK = logits_BHQK.masked_fill(forbidden_BHQK, -torch.inf).softmax(-1).masked_fill(forbidden_BHQK, 0)
    return encoding.on_attention(attention_BHQK, context)


class SelfAttention(nn.Module):
    """Multi-head self-attention: project, attend, join the heads and project again; `bias` is for the projections.

    `self.attend` is an ordinary attribute that takes what the function `attend` takes: put another there to watch
    queries, keys and context go by, and put the old one back afterwards, as `replaced_attend` does.
    """

    def __init__(self, width: int, heads: int, *, bias: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.attend: Attend = attend

    def forward(
        self,
        x_BTD: Tensor,
        encoding: Encoding,
        context: Context,
        memory: Memory | None = None,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        """What every token gathers, or those in the slots `rows_Q` alone."""
        notes = encoding.observe(x_BTD, context.real_BQ, None if memory is None else memory.notes)
        q_BHTC, k_BHKC, v_BHKC = self.qkv(x_BTD).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if memory is not None:
            k_BHKC, v_BHKC, notes = memory.add(k_BHKC, v_BHKC, notes)
        if notes:
            context = context.noted(notes)
        if rows_Q is not None:
            q_BHTC, context = q_BHTC[:, :, rows_Q], context.rows(rows_Q)
        out_BHTC = self.attend(encoding, q_BHTC, k_BHKC, v_BHKC, context)
        mixed_BTD: Tensor = self.out(out_BHTC.transpose(1, 2).flatten(2))
        return mixed_BTD


def self_attentions(net: nn.Module) -> list[SelfAttention]:
    """The layers of self-attention of a net, of one of its blocks, or of a layer itself, in their order."""
    return [module for module in net.modules() if isinstance(module, SelfAttention)]


@contextmanager
def replaced_attend(net: nn.Module, attends: Sequence[Attend]) -> Iterator[None]:
    """Let every layer of self-attention attend in another way; each has its own again on leaving the block."""
    with ExitStack() as cleanup:
        for module, attend in zip(self_attentions(net), attends, strict=True):
            cleanup.callback(setattr, module, "attend", module.attend)
            module.attend = attend
        yield

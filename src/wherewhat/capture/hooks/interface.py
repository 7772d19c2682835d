"""Watch families that attend through transformers' AttentionInterface, which is most of them.

For the duration of a `with` block the model's configs name one of our two attention functions. Each computes the
model's own output as before, by the fused kernel or by the family's eager function a few rows at a time, and passes the
wanted rows to the reader, always computed by the family's eager function: soft caps, sinks, biases and scales need no
table of families.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from wherewhat.capture.editing.layer_edit import edited_rotation, running
from wherewhat.capture.hooks.reader import AttentionReader, AttentionSite, Chunk, Decomposition, rows_at_once
from wherewhat.capture.hooks.rotation_calls import RotationRecorder, SharedPatches, patched, record_rotations
from wherewhat.encodings.base import wide
from wherewhat.errors import UserError
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits
from wherewhat.logits.capped import CappedLogits

FUSED = "wherewhat-fused"
EAGER = "wherewhat-eager"

# Which reader watches a module. The registry of attention functions is global, so readers are looked up by module: two
# models can be watched at once, and a model that is not watched runs unchanged.
_WATCHED: dict[nn.Module, "WatchedModule"] = {}
_IMPLEMENTATIONS = SharedPatches()  # the attention implementation of configs, which several models may share


@dataclass(frozen=True)
class WatchedModule:
    """Who reads a module, its name, and what is known about its model's rotations."""

    reader: AttentionReader
    name: str
    two_stacks: bool
    recorder: RotationRecorder

    def enter(self, query: Tensor, key: Tensor, *, ahead: bool) -> AttentionSite:
        """The site of the attention that is now being computed."""
        shape = (query.shape[2], key.shape[2])
        return self.reader.enter(self.name, shape, ahead=ahead, two_stacks=self.two_stacks)


def uses_attention_interface(model: nn.Module) -> bool:
    """Whether this model attends through the interface: its modelling file then has an eager function."""
    return isinstance(model, PreTrainedModel) and any(_eager_of(module) is not None for module in model.modules())


@contextmanager
def watch_interface(model: PreTrainedModel, reader: AttentionReader) -> Iterator[AbstractContextManager[None]]:
    """Show `reader` every attention of `model`; the model is restored on leaving the block."""
    if model in _WATCHED:
        raise UserError("this model is already being captured; leave the first `with` block before entering another")
    two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
    recorder = RotationRecorder()
    with ExitStack() as cleanup:
        for name, module in model.named_modules():
            _WATCHED[module] = WatchedModule(reader, name, two_stacks, recorder)
            cleanup.callback(_WATCHED.pop, module)
        for config in configs_of(model):
            cleanup.enter_context(using_attention(config))
        cleanup.enter_context(record_rotations(model))
        yield recorder


def configs_of(model: PreTrainedModel) -> list[Any]:
    """Every config object that a part of the model reads its attention implementation from, once each."""
    return list(
        {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}.values()
    )


def using_attention(config: Any, name: str | None = None) -> AbstractContextManager[None]:
    """Set the attention implementation of a config, ours unless given; models that share the config may nest this."""
    return _IMPLEMENTATIONS.replace(
        config, "_attn_implementation_internal", lambda own: name or (EAGER if own == "eager" else FUSED)
    )


Attend = Callable[..., tuple[Tensor, Tensor | None]]


def _attend_edited(
    attend: Attend,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **more: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attend with the edited queries, and without the output of ablated heads.

    Families that choose a few keys per query outside the mask are refused: read as dense, their rows would be wrong.
    """
    if module in _WATCHED and (more.get("indices") is not None or more.get("block_indices") is not None):
        raise UserError(f"{type(module).__name__} attends to keys chosen outside its mask; this cannot be captured")
    frame = running(module)
    if frame is None:
        return attend(module, query, key, value, attention_mask, **more)
    if (edit := frame.edit.rotary_edit) is not None:
        if not frame.rotated:
            raise UserError(
                f"{type(module).__name__} rotates its queries and keys outside the attention module, where an edit "
                "cannot reach them; edit a model of another family, or copy the model outside the `with` block"
            )
        query = edit.scale_pairs(query, start=edit.start)
    # Values for every head where the edit has given each head its own keys; the module then repeats neither.
    each = key.shape[1] // value.shape[1]
    with patched(module, "num_key_value_groups", 1) if each > 1 else nullcontext():
        values = value.repeat_interleave(each, dim=1) if each > 1 else value
        output, attention = attend(module, query, key, values, attention_mask, **more)
    if frame.edit.ablated_H is not None:
        output = output.masked_fill(frame.edit.ablated_H.to(output.device)[:, None], 0)
    return output, attention


def _attend_fused(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
) -> tuple[Tensor, None]:
    """The model's output by the fused kernel; the wanted rows by the family's eager function."""
    output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
    if watched := _WATCHED.get(module):
        reader = watched.reader
        stated = more.get("is_causal")  # the same rule as in transformers' own fused attention
        causal = attention_mask is None and bool(getattr(module, "is_causal", True) if stated is None else stated)
        site = watched.enter(query, key, ahead=not causal and _sees_ahead(attention_mask, reader.first_token))
        decomposition = _decomposition(watched, site, module, query, key, more)
        for chunk in reader.wanted(query.shape[0] * query.shape[1] * key.shape[2]):
            rows_BQ = chunk.rows_BQ.to(query.device)
            allowed_BQK = _allowed(attention_mask, rows_BQ, keys=key.shape[2], causal=causal)
            forbidden = torch.finfo(query.dtype).min
            mask_B1QK = torch.zeros_like(allowed_BQK, dtype=query.dtype).masked_fill_(~allowed_BQK, forbidden)[:, None]
            # One channel of the values is enough, since this output is discarded.
            _, attention_BHQK = _call_eager(module, query, key, value[..., :1], rows_BQ, mask_B1QK, more)
            reader.emit(site, chunk, attention_BHQK, allowed_BQK, decomposition)
    return output, None


def _attend_eager(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
) -> tuple[Tensor, Tensor | None]:
    """The model's output by the family's eager function, a few rows at a time, passing on the wanted ones.

    In a model that is edited but not watched, the eager function is called as usual.
    """
    watched, eager = _WATCHED.get(module), _eager_of(module)
    if watched is None and eager is not None:
        whole: tuple[Tensor, Tensor] = eager(module, query, key, value, attention_mask, **more)
        return whole
    assert watched is not None
    site = watched.enter(query, key, ahead=_sees_ahead(attention_mask, watched.reader.first_token))
    decomposition = _decomposition(watched, site, module, query, key, more)
    outputs = []
    step = rows_at_once(query.shape[0] * query.shape[1] * key.shape[2])
    for first in range(0, query.shape[2], step):
        stop = min(first + step, query.shape[2])
        rows_BQ = torch.arange(first, stop, device=query.device).expand(query.shape[0], -1)
        mask_B1QK = None if attention_mask is None else _take_rows(attention_mask, rows_BQ)
        output, attention_BHQK = _call_eager(module, query, key, value, rows_BQ, mask_B1QK, more)
        outputs.append(output)
        allowed_BQK = _allowed(attention_mask, rows_BQ, keys=key.shape[2], causal=False)
        watched.reader.emit(site, Chunk(rows_BQ), attention_BHQK, allowed_BQK, decomposition)
    return torch.cat(outputs, dim=1), None


def _decomposition(
    watched: WatchedModule, site: AttentionSite, module: nn.Module, query: Tensor, key: Tensor, more: dict[str, Any]
) -> Decomposition | None:
    """The decomposed logits of this attention: with a rotation, with a bias per slot, or with queries and keys only."""
    calls = watched.recorder.take_calls()
    bias = more.get("position_bias")
    bias = bias if bias is not None and bool(bias.any()) else None
    if (rotation := watched.recorder.rotation(calls[0], query, module) if calls else None) is not None:
        rotation = replace(rotation, keys_too=sum(call.inputs for call in calls) > 1)
        watched.reader.note_rotation(site, rotation)
        rotation = edited_rotation(module, rotation)
    if calls and (rotation is None or bias is not None):
        watched.reader.undecomposed[site] = "its queries and keys are not rotated in channel pairs"
        return None
    scale = more.get("scaling")
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)

    def decomposition(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        rows_Q = rows_Q.to(query.device)
        q_HQC, k_GKC = query[b][:, rows_Q], key[b][:, keys]
        if rotation is not None:
            return rotation.logits(q_HQC, k_GKC, b, rows_Q, keys, scale=scale)
        exact = wide(query.dtype)
        slot_HQK = None if bias is None else bias[min(b, len(bias) - 1)][:, rows_Q][..., keys].to(exact)
        return AdditiveLogits(q_HQC.to(exact), k_GKC.to(exact), scale, slot_HQK)

    if (cap := more.get("softcap")) is None:
        return decomposition
    return lambda b, rows_Q, keys: CappedLogits(decomposition(b, rows_Q, keys), float(cap))


def _call_eager(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rows_BQ: Tensor,
    mask_B1QK: Tensor | None,
    more: dict[str, Any],
) -> tuple[Tensor, Tensor]:
    """The family's own eager attention, for some rows only."""
    eager = _eager_of(module)
    if eager is None:
        raise UserError(f"{type(module).__name__} attends through the interface but has no eager function to read from")
    if (bias := more.get("position_bias")) is not None:
        more = {**more, "position_bias": _take_rows(bias, rows_BQ)}
    output, attention_BHQK = eager(module, _take_rows(query, rows_BQ), key, value, mask_B1QK, **more)
    return output, attention_BHQK


def _eager_of(module: nn.Module) -> Callable[..., Any] | None:
    return getattr(sys.modules.get(type(module).__module__), "eager_attention_forward", None)


def _take_rows(tensor_BXTY: Tensor, rows_BQ: Tensor) -> Tensor:
    """Choose rows text by text; a tensor shared by all texts or all rows is expanded first."""
    if tensor_BXTY.shape[2] == 1:
        return tensor_BXTY
    if (rows_BQ == rows_BQ[0]).all():
        return tensor_BXTY[:, :, rows_BQ[0]]
    tensor_BXTY = tensor_BXTY.expand(len(rows_BQ), -1, -1, -1)
    return torch.stack([tensor_XTY[:, rows_Q] for tensor_XTY, rows_Q in zip(tensor_BXTY, rows_BQ, strict=True)])


def _allowed(mask: Tensor | None, rows_BQ: Tensor, *, keys: int, causal: bool) -> Tensor:
    """Which keys each of the chosen rows may see."""
    if mask is None:
        slots_K = torch.arange(keys, device=rows_BQ.device)
        everything_BQK = torch.ones((*rows_BQ.shape, keys), dtype=torch.bool, device=rows_BQ.device)
        return slots_K <= rows_BQ[..., None] if causal else everything_BQK
    return _open(_take_rows(mask, rows_BQ)[:, 0]).expand(*rows_BQ.shape, keys)


def _open(mask: Tensor) -> Tensor:
    """True where a mask lets a query see a key; additive masks hold the lowest number of their type elsewhere."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _sees_ahead(mask: Tensor | None, first: int) -> bool:
    """Whether the first query of the first text sees the key after it, which no causal mask allows."""
    return mask is None or mask.shape[2] == 1 or bool(_open(mask[0, 0, first, first + 1 : first + 2]).any())


AttentionInterface.register(FUSED, partial(_attend_edited, _attend_fused))
AttentionMaskInterface.register(FUSED, sdpa_mask)
AttentionInterface.register(EAGER, partial(_attend_edited, _attend_eager))
AttentionMaskInterface.register(EAGER, eager_mask)

"""Watch families that attend through transformers' AttentionInterface, which is most of them.

For the time of a `with` block the model's configs name one of two attention functions of ours. Each computes the
model's own output as before, by the fused kernel or by the family's own eager function a few rows at a time, and
shows the reader the rows it asked for, always by the family's own eager function: soft caps, sinks, biases and scales
come along without a table of families.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.editing.active import Frame, retuned, running
from wherewhat.capture.hooks.patch import instead
from wherewhat.capture.hooks.reader import AttentionSite, Reader, Terms, rows_at_once
from wherewhat.capture.hooks.rotation_calls import Call, Turning, listen_to_rotations
from wherewhat.encodings.base import wide
from wherewhat.errors import UserError
from wherewhat.logits.additive import Still
from wherewhat.logits.base import Logits
from wherewhat.logits.capped import Capped

FUSED = "wherewhat-fused"
EAGER = "wherewhat-eager"

# Which reader watches a module. The registry of attention functions is one for the whole process, so readers are
# found by the module that attends: two models can be watched at once, and one that is not runs as if we were not here.
_WATCHED: dict[nn.Module, "Watched"] = {}
_BORROWED: dict[int, tuple[str, int]] = {}  # by config: its own setting, and how many watched models read it now
_BORROWING = threading.Lock()


@dataclass(frozen=True)
class Watched:
    """Who watches a module, what it is called, and what has been learnt of its model's rotation."""

    reader: Reader
    name: str
    two_stacks: bool
    turning: Turning

    def enter(self, query: Tensor, key: Tensor, *, ahead: bool) -> AttentionSite:
        """Name the attention that is being computed now."""
        shape = (query.shape[2], key.shape[2])
        return self.reader.enter(self.name, shape, ahead=ahead, two_stacks=self.two_stacks)


def speaks_interface(model: nn.Module) -> bool:
    """Whether some attention of this model goes through the interface (its file then has an eager function)."""
    return isinstance(model, PreTrainedModel) and any(_eager_of(module) is not None for module in model.modules())


@contextmanager
def watch_interface(model: PreTrainedModel, reader: Reader) -> Iterator[AbstractContextManager[None]]:
    """Let `reader` see every attention of `model`; on leaving, also by an exception, all is as it was."""
    if model in _WATCHED:
        raise UserError("this model is already being captured; leave the first `with` block before entering another")
    two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
    turning = Turning()
    with ExitStack() as put_back:
        for name, module in model.named_modules():
            _WATCHED[module] = Watched(reader, name, two_stacks, turning)
            put_back.callback(_WATCHED.pop, module)
        for config in configs_of(model):
            put_back.enter_context(borrowed(config))
        put_back.enter_context(listen_to_rotations(model))
        yield _Pass(turning)


class _Pass(AbstractContextManager[None]):
    """One forward pass: angles that an earlier one has left are forgotten."""

    def __init__(self, turning: Turning) -> None:
        self._turning = turning

    def __enter__(self) -> None:
        self._turning.begin()

    def __exit__(self, *raised: object) -> None:
        self._turning.begin()


def configs_of(model: PreTrainedModel) -> list[Any]:
    """Every config object that a part of the model reads its attention setting from, once each."""
    return list(
        {id(part.config): part.config for part in model.modules() if isinstance(part, PreTrainedModel)}.values()
    )


@contextmanager
def borrowed(config: Any, name: str | None = None) -> Iterator[None]:
    """Name an attention in a config, ours unless said; models that share it may borrow it together."""
    with _BORROWING:
        own, users = _BORROWED.get(id(config), (config._attn_implementation, 0))
        _BORROWED[id(config)] = (own, users + 1)
        config._attn_implementation_internal = name or (EAGER if own == "eager" else FUSED)
    try:
        yield
    finally:
        _give_back(config)


def _give_back(config: Any) -> None:
    """The last to leave puts the config's own setting back."""
    with _BORROWING:
        own, users = _BORROWED.pop(id(config))
        if users > 1:
            _BORROWED[id(config)] = (own, users - 1)
        else:
            config._attn_implementation_internal = own


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
    """Attend, with the queries that an edit wants and without the heads that it has silenced."""
    frame = running(module)
    if frame is None:
        return attend(module, query, key, value, attention_mask, **more)
    if (change := frame.wanted.retuned) is not None:
        _refuse_unmet(frame, module)
        query = change.gained(query, start=change.start)
    with _as_many_values(module, key, value) as values:
        output, attention = attend(module, query, key, values, attention_mask, **more)
    if frame.wanted.silent_H is not None:
        output = output.masked_fill(frame.wanted.silent_H.to(output.device)[:, None], 0)
    return output, attention


def _refuse_unmet(frame: Frame, module: nn.Module) -> None:
    if not frame.met:
        raise UserError(
            f"{type(module).__name__} turns its queries and keys outside of itself, where an edit cannot reach them; "
            "neither can this family be edited, nor a copy of a model that was made inside of a block"
        )


@contextmanager
def _as_many_values(module: nn.Module, key: Tensor, value: Tensor) -> Iterator[Tensor]:
    """Values for every head where an edit has given each its own keys; the module then repeats neither."""
    each = key.shape[1] // value.shape[1]
    if each <= 1:
        yield value
        return
    with instead(module, "num_key_value_groups", 1):
        yield value.repeat_interleave(each, dim=1)


def _attend_fused(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
) -> tuple[Tensor, None]:
    """The model's output by the fused kernel; the wanted rows by the family's eager function."""
    _refuse_sparse(module, more)
    output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
    if watched := _WATCHED.get(module):
        reader = watched.reader
        causal = attention_mask is None and _is_causal(module, more)
        site = watched.enter(query, key, ahead=not causal and _sees_ahead(attention_mask, reader.first_token))
        terms = _terms(watched, site, module, query, key, more)
        for chunk in reader.wanted(query.shape[0] * query.shape[1] * key.shape[2]):
            rows_BQ = chunk.rows_BQ.to(query.device)
            allowed_BQK = _allowed(attention_mask, rows_BQ, keys=key.shape[2], causal=causal)
            attention_BHQK = _eager_rows(module, query, key, value, rows_BQ, allowed_BQK, more)
            reader.hand_on(site, chunk, attention_BHQK, allowed_BQK, terms)
    return output, None


def _attend_eager(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: Any
) -> tuple[Tensor, Tensor | None]:
    """The model's output by the family's eager function, a few rows at a time, of which the wanted ones are kept.

    In a model that nobody watches, because it is only being edited, it is called as ever.
    """
    _refuse_sparse(module, more)
    watched, eager = _WATCHED.get(module), _eager_of(module)
    if watched is None and eager is not None:
        whole: tuple[Tensor, Tensor] = eager(module, query, key, value, attention_mask, **more)
        return whole
    assert watched is not None
    site = watched.enter(query, key, ahead=_sees_ahead(attention_mask, watched.reader.first_token))
    terms = _terms(watched, site, module, query, key, more)
    outputs = []
    step = rows_at_once(query.shape[0] * query.shape[1] * key.shape[2])
    for first in range(0, query.shape[2], step):
        block_Q = torch.arange(first, min(first + step, query.shape[2]), device=query.device)
        rows_BQ = block_Q.expand(query.shape[0], -1)
        mask_B1QK = None if attention_mask is None else _take_rows(attention_mask, rows_BQ)
        output, attention_BHQK = _call_eager(module, query, key, value, rows_BQ, mask_B1QK, more)
        outputs.append(output)
        allowed_BQK = _allowed(attention_mask, rows_BQ, keys=key.shape[2], causal=False)
        watched.reader.hand_on_block(site, block_Q, attention_BHQK, allowed_BQK, terms)
    return torch.cat(outputs, dim=1), None


def _terms(
    watched: Watched, site: AttentionSite, module: nn.Module, query: Tensor, key: Tensor, more: dict[str, Any]
) -> Terms | None:
    """What the logits of this attention are made of: a rotation, a bias by slot, or nothing but queries and keys."""
    calls = watched.turning.taken()
    bias = more.get("position_bias")
    bias = bias if bias is not None and bool(bias.any()) else None
    rotation = _rotation(watched, site, module, query, calls)
    if calls and (rotation is None or bias is not None):
        watched.reader.opaque[site] = "what it does to queries and keys is not turning pairs of channels"
        return None
    scale = more.get("scaling")
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)

    def terms(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        rows_Q = rows_Q.to(query.device)
        q_HQC, k_GKC = query[b][:, rows_Q], key[b][:, keys]
        if rotation is not None:
            return rotation.logits(q_HQC, k_GKC, b, rows_Q, keys, scale=scale)
        exact = wide(query.dtype)
        slot_HQK = None if bias is None else bias[min(b, len(bias) - 1)][:, rows_Q][..., keys].to(exact)
        return Still(q_HQC.to(exact), k_GKC.to(exact), scale, slot_HQK)

    cap = more.get("softcap")
    return terms if cap is None else lambda b, rows_Q, keys: Capped(terms(b, rows_Q, keys), float(cap))


def _rotation(
    watched: Watched, site: AttentionSite, module: nn.Module, query: Tensor, calls: list[Call]
) -> Rotation | None:
    """How queries and keys were turned on their way here, with what an edit has made of it."""
    rotation = watched.turning.rotation(calls[0], query, module) if calls else None
    if rotation is None:
        return None
    rotation = replace(rotation, keys_too=sum(call.inputs for call in calls) > 1)
    watched.reader.turns(site, rotation)
    change = retuned(module)
    return rotation if change is None else change.seen(rotation)


def _eager_rows(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rows_BQ: Tensor,
    allowed_BQK: Tensor,
    more: dict[str, Any],
) -> Tensor:
    """Attention of the chosen rows; of the values one channel is enough, since their mixture is thrown away."""
    closed = torch.finfo(query.dtype).min
    mask_B1QK = torch.zeros_like(allowed_BQK, dtype=query.dtype).masked_fill_(~allowed_BQK, closed)[:, None]
    _, attention_BHQK = _call_eager(module, query, key, value[..., :1], rows_BQ, mask_B1QK, more)
    return attention_BHQK


def _call_eager(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rows_BQ: Tensor,
    mask_B1QK: Tensor | None,
    more: dict[str, Any],
) -> tuple[Tensor, Tensor]:
    """The family's own eager attention on some rows only."""
    eager = _eager_of(module)
    if eager is None:
        raise UserError(f"{type(module).__name__} attends through the interface but has no eager function to read from")
    bias = more.get("position_bias")
    if bias is not None:
        more = {**more, "position_bias": _take_rows(bias, rows_BQ)}
    output, attention_BHQK = eager(module, _take_rows(query, rows_BQ), key, value, mask_B1QK, **more)
    return output, attention_BHQK


def _eager_of(module: nn.Module) -> Callable[..., Any] | None:
    return getattr(sys.modules.get(type(module).__module__), "eager_attention_forward", None)


def _take_rows(tensor_BXTY: Tensor, rows_BQ: Tensor) -> Tensor:
    """Choose rows text by text; a tensor that is the same for every text or every row is spread first."""
    if tensor_BXTY.shape[2] == 1:
        return tensor_BXTY
    texts = rows_BQ.shape[0]
    if (rows_BQ == rows_BQ[0]).all():
        return tensor_BXTY[:, :, rows_BQ[0]]
    tensor_BXTY = tensor_BXTY.expand(texts, -1, -1, -1)
    return torch.stack([tensor_BXTY[b][:, rows_BQ[b]] for b in range(texts)])


def _allowed(mask: Tensor | None, rows_BQ: Tensor, *, keys: int, causal: bool) -> Tensor:
    """Which keys the chosen rows may see."""
    if mask is None:
        slots_K = torch.arange(keys, device=rows_BQ.device)
        everything_BQK = torch.ones((*rows_BQ.shape, keys), dtype=torch.bool, device=rows_BQ.device)
        return slots_K <= rows_BQ[..., None] if causal else everything_BQK
    chosen_BQK = _take_rows(mask, rows_BQ)[:, 0]
    return _open(chosen_BQK).expand(*rows_BQ.shape, keys)


def _open(mask: Tensor) -> Tensor:
    """True where a mask lets a query see a key; additive masks close with the lowest number of their type."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _sees_ahead(mask: Tensor | None, first: int) -> bool:
    """Whether the first query of the first text sees the key after it, which no causal mask allows."""
    return mask is None or mask.shape[2] == 1 or bool(_open(mask[0, 0, first, first + 1 : first + 2]).any())


def _refuse_sparse(module: nn.Module, more: dict[str, Any]) -> None:
    """Some families choose a few keys for each query outside the mask; read as dense, their rows would be wrong."""
    if module in _WATCHED and (more.get("indices") is not None or more.get("block_indices") is not None):
        raise UserError(f"{type(module).__name__} attends to keys chosen outside its mask; this cannot be captured")


def _is_causal(module: nn.Module, more: dict[str, Any]) -> bool:
    """The same rule as transformers' own fused attention."""
    stated = more.get("is_causal")
    return bool(getattr(module, "is_causal", True) if stated is None else stated)


AttentionInterface.register(FUSED, partial(_attend_edited, _attend_fused))
AttentionMaskInterface.register(FUSED, sdpa_mask)
AttentionInterface.register(EAGER, partial(_attend_edited, _attend_eager))
AttentionMaskInterface.register(EAGER, eager_mask)

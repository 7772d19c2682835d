"""Watch or edit a wherewhat net for the duration of a block.

To watch it, its attention function is replaced by one that also passes on the wanted rows. An edit changes queries and
keys after their encoding, and the output of heads.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wherewhat.capture.decompose.own_nets import AttentionCall, decompose_call, reweighs
from wherewhat.capture.decompose.terms import UndecomposedError
from wherewhat.capture.editing.layer_edit import ActiveEdit, RotaryEdit
from wherewhat.capture.hooks.reader import AttentionReader, Chunk
from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import Attend, SelfAttention, attention_rows
from wherewhat.nets.trunk import Trunk

# What an edited encoding takes over from the net's own: all but a kernel of its own, which would skip the edit.
FACTS = (
    "name", "heads", "causal_only", "max_length", "scale", "shared", "bias_by_slot", "shift_invariant",
    "mirror_invariant", "token_sigma",
)  # fmt: skip
HOOKS = ("check", "on_tokens", "observe", "bias", "on_logits", "on_attention")


@contextmanager
def watch_net(net: Trunk, reader: AttentionReader) -> Iterator[AbstractContextManager[None]]:
    """Show `reader` every attention of `net`; the net is restored on leaving the block."""
    with ExitStack() as cleanup:
        for name, module in attentions(net):
            cleanup.callback(setattr, module, "attend", module.attend)
            module.attend = _Watching(module.attend, reader, name, net.config.called)
        yield nullcontext()


@dataclass(frozen=True)
class _Watching:
    """The net's own attention function, followed by the attention of the wanted rows in explicit form."""

    attend: Attend
    reader: AttentionReader
    module: str
    encoding: str  # its name

    def __call__(self, encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        out_BHTC = self.attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)
        own, rotary_edit = encoding, None
        if isinstance(encoding, EditedEncoding):
            own, rotary_edit = encoding.own, encoding.rotary_edit
        call = AttentionCall(self.encoding, own, q_BHTC, k_BHTC, context, rotary_edit)
        texts, heads, keys, _ = k_BHTC.shape
        site = self.reader.enter(self.module, (q_BHTC.shape[2], keys), ahead=not context.causal, two_stacks=False)
        decomposition, reweighed = None, reweighs(call)
        try:
            decomposition = decompose_call(call) if self.reader.decomposes else None
        except UndecomposedError as error:
            self.reader.undecomposed[site] = str(error)
        for rows_Q in self.reader.wanted_of_any(texts * heads * keys):
            rows_Q = rows_Q.to(q_BHTC.device)
            attention_BHQK = attention_rows(encoding, q_BHTC, k_BHTC, context, rows_Q)
            if reweighed:  # absolute values, each row divided by its sum, so that scores of attention apply
                size_BHQK = attention_BHQK.abs()
                tiny = torch.finfo(size_BHQK.dtype).tiny
                attention_BHQK = size_BHQK / size_BHQK.sum(-1, keepdim=True).clamp_min(tiny)
            allowed_BQK = context.rows(rows_Q).allowed_BHQK[:, 0].expand(texts, -1, -1)
            self.reader.emit(site, Chunk(rows_Q.expand(texts, -1)), attention_BHQK, allowed_BQK, decomposition)
        return out_BHTC


class EditedEncoding(Encoding):
    """A net's own encoding, followed by an edit of its queries and keys."""

    def __init__(self, own: Encoding, rotary_edit: RotaryEdit) -> None:
        super().__init__()
        self.own, self.rotary_edit = own, rotary_edit
        for name in FACTS + HOOKS:
            setattr(self, name, getattr(own, name))

    @property
    def fused(self) -> bool:
        return self.own.fused

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        edit = self.rotary_edit
        rotated_q_BHQC, rotated_k_BHKC = self.own.on_query_key(q_BHQC, k_BHKC, context)
        query_BHQC = edit.unrotate_pairs(q_BHQC, rotated_q_BHQC, 0)
        return edit.scale_pairs(query_BHQC, start=edit.start), edit.unrotate_pairs(k_BHKC, rotated_k_BHKC, 1)


@dataclass(frozen=True)
class _AblatedAttention:
    """The net's own attention function, with the output of some heads set to 0."""

    attend: Attend
    ablated_H: Tensor

    def __call__(self, encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        out_BHTC = self.attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)
        return out_BHTC.masked_fill(self.ablated_H.to(out_BHTC.device)[:, None, None], 0)


@contextmanager
def edit_net(net: Trunk, touched: Mapping[str, Sequence[ActiveEdit]]) -> Iterator[None]:
    """Edit the named attentions; the net is restored on leaving the block."""
    own, encodings = net.encodings, [net.encoding(block) for block in range(len(net.blocks))]
    with ExitStack() as cleanup:
        for block, (name, module) in enumerate(attentions(net)):
            edit = touched[name][0] if name in touched else ActiveEdit()
            if edit.rotary_edit is not None:
                encodings[block] = EditedEncoding(encodings[block], edit.rotary_edit)
            if edit.ablated_H is not None:
                cleanup.callback(setattr, module, "attend", module.attend)
                module.attend = _AblatedAttention(module.attend, edit.ablated_H)
        cleanup.callback(setattr, net, "encodings", own)
        net.encodings = nn.ModuleList(encodings)
        yield


def attentions(net: Trunk) -> list[tuple[str, SelfAttention]]:
    """The attention of every block, with its name."""
    return [(name, module) for name, module in net.named_modules() if isinstance(module, SelfAttention)]

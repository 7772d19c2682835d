"""Watch a net of ours: its attention function is replaced by one that also shows the wanted rows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.decompose.own_nets import Call, reweighs, terms_of
from wherewhat.capture.decompose.terms import OpaqueError
from wherewhat.capture.editing.own_nets import EditedEncoding
from wherewhat.capture.hooks.reader import AttentionSite, Reader, Terms
from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import Attend, SelfAttention, attention_rows
from wherewhat.nets.trunk import Trunk


@contextmanager
def watch_net(net: Trunk, reader: Reader) -> Iterator[AbstractContextManager[None]]:
    """Let `reader` see every attention of `net`; on leaving, also by an exception, all is as it was."""
    with ExitStack() as put_back:
        for name, module in net.named_modules():
            if isinstance(module, SelfAttention):
                put_back.callback(setattr, module, "attend", module.attend)
                module.attend = _Watching(module.attend, reader, name, net.config.called)
        yield nullcontext()


@dataclass(frozen=True)
class _Watching:
    """What the net does anyway, and then the attention of the wanted rows by the explicit path."""

    attend: Attend
    reader: Reader
    module: str
    encoding: str  # what it is called

    def __call__(self, encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        out_BHTC = self.attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)
        own, retuned = (encoding.own, encoding.retuned) if isinstance(encoding, EditedEncoding) else (encoding, None)
        self._show(Call(self.encoding, own, q_BHTC, k_BHTC, context, retuned), encoding)
        return out_BHTC

    def _show(self, call: Call, encoding: Encoding) -> None:
        texts, heads, keys, _ = call.k_BHTC.shape
        shape = (call.q_BHTC.shape[2], keys)
        site = self.reader.enter(self.module, shape, ahead=not call.context.causal, two_stacks=False)
        terms, reweighed = self._terms(site, call), reweighs(call)
        for rows_Q in self.reader.wanted_of_any(texts * heads * keys):
            rows_Q = rows_Q.to(call.q_BHTC.device)
            attention_BHQK = attention_rows(encoding, call.q_BHTC, call.k_BHTC, call.context, rows_Q)
            attention_BHQK = _sizes(attention_BHQK) if reweighed else attention_BHQK
            allowed_BQK = call.context.rows(rows_Q).allowed_BHQK[:, 0].expand(texts, -1, -1)
            self.reader.hand_on_block(site, rows_Q, attention_BHQK, allowed_BQK, terms)

    def _terms(self, site: AttentionSite, call: Call) -> Terms | None:
        """What the logits are made of, or, where they cannot be taken apart, nothing but the reason."""
        if not self.reader.takes_apart:
            return None
        try:
            return terms_of(call)
        except OpaqueError as error:
            self.reader.opaque[site] = str(error)
            return None


def _sizes(attention_BHQK: Tensor) -> Tensor:
    """Sizes of reweighed attention, each row divided by its sum: what scores of attention can be asked of."""
    size_BHQK = attention_BHQK.abs()
    return size_BHQK / size_BHQK.sum(-1, keepdim=True).clamp_min(torch.finfo(size_BHQK.dtype).tiny)

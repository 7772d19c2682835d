"""Edit a net of ours: for the time of a block its encodings change queries and keys, and some heads write nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from torch import Tensor, nn

from wherewhat.capture.editing.active import Wanted
from wherewhat.capture.editing.change import Retuned
from wherewhat.encodings.base import Context, Encoding, Notes
from wherewhat.nets.attention import Attend, SelfAttention
from wherewhat.nets.trunk import Trunk


class EditedEncoding(Encoding):
    """A net's own encoding, with what an edit makes of the queries and keys that come out of it."""

    def __init__(self, own: Encoding, retuned: Retuned) -> None:
        super().__init__()
        self.own, self.retuned = own, retuned
        self.name, self.heads, self.causal_only, self.max_length = own.name, own.heads, own.causal_only, own.max_length
        self.scale, self.shared, self.bias_by_slot = own.scale, own.shared, own.bias_by_slot
        self.shift_invariant, self.mirror_invariant = own.shift_invariant, own.mirror_invariant
        self.token_sigma = own.token_sigma

    @property
    def fused(self) -> bool:
        return self.own.fused

    def check(self, *, length: int, causal: bool = True) -> None:
        self.own.check(length=length, causal=causal)

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        return self.own.on_tokens(x_BTD, positions_BT, block)

    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        return self.own.observe(x_BTD, real_BT, past)

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        turned_q_BHQC, turned_k_BHKC = self.own.on_query_key(q_BHQC, k_BHKC, context)
        query_BHQC = self.retuned.stilled(q_BHQC, turned_q_BHQC, 0)
        return self.retuned.gained(query_BHQC, start=self.retuned.start), self.retuned.stilled(k_BHKC, turned_k_BHKC, 1)

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
        return self.own.bias(q_BHQC, k_BHKC, context)

    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return self.own.on_logits(logits_BHQK, q_BHQC, k_BHKC, context)

    def on_attention(self, attention_BHQK: Tensor, context: Context) -> Tensor:
        return self.own.on_attention(attention_BHQK, context)


@dataclass(frozen=True)
class _Silencing:
    """What the net does anyway, without what some heads gather."""

    attend: Attend
    silent_H: Tensor

    def __call__(self, encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        out_BHTC = self.attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)
        return out_BHTC.masked_fill(self.silent_H.to(out_BHTC.device)[:, None, None], 0)


@contextmanager
def change_net(net: Trunk, touched: Mapping[str, Sequence[Wanted]]) -> Iterator[None]:
    """Change what the named attentions do; on leaving, also by an exception, all is as it was."""
    own, encodings = net.encodings, [net.encoding(block) for block in range(len(net.blocks))]
    with ExitStack() as put_back:
        for block, (name, module) in enumerate(attentions(net)):
            wanted = touched[name][0] if name in touched else Wanted()
            if wanted.retuned is not None:
                encodings[block] = EditedEncoding(encodings[block], wanted.retuned)
            if wanted.silent_H is not None:
                put_back.callback(setattr, module, "attend", module.attend)
                module.attend = _Silencing(module.attend, wanted.silent_H)
        put_back.callback(setattr, net, "encodings", own)
        net.encodings = nn.ModuleList(encodings)
        yield


def attentions(net: Trunk) -> list[tuple[str, SelfAttention]]:
    """The attention of every block, with its name."""
    return [(name, module) for name, module in net.named_modules() if isinstance(module, SelfAttention)]

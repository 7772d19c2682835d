"""Watch a net of ours: its attention function is replaced by one that also shows the wanted rows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from torch import Tensor

from wherewhat.capture.reader import Reader
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
                module.attend = partial(_attend_and_show, module.attend, reader, name)
        yield nullcontext()


def _attend_and_show(
    attend: Attend,
    reader: Reader,
    name: str,
    encoding: Encoding,
    q_BHTC: Tensor,
    k_BHTC: Tensor,
    v_BHTC: Tensor,
    context: Context,
) -> Tensor:
    """What the net does anyway, and then the attention of the wanted rows by the explicit path."""
    out_BHTC = attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)
    texts, heads, keys, _ = k_BHTC.shape
    place = reader.enter(name, (q_BHTC.shape[2], keys), ahead=not context.causal, two_stacks=False)
    for rows_Q in reader.wanted_of_any(texts * heads * keys):
        rows_Q = rows_Q.to(q_BHTC.device)
        attention_BHQK = attention_rows(encoding, q_BHTC, k_BHTC, context, rows_Q)
        allowed_BQK = context.rows(rows_Q).allowed_BHQK[:, 0].expand(texts, -1, -1)
        reader.hand_on_block(place, rows_Q, attention_BHQK, allowed_BQK)
    return out_BHTC

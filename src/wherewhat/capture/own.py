"""Watch a net of ours: its attention function is replaced by one that also shows the wanted rows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

import torch
from torch import Tensor

from wherewhat.capture.reader import Place, Reader, Terms
from wherewhat.capture.rotation import Rotation, find_pairs, rotation_of, spread_slots, turns
from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.logits.base import Logits
from wherewhat.logits.still import Still
from wherewhat.logits.turned import Turned
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
    terms = _terms(reader, place, encoding, q_BHTC, k_BHTC, context)
    for rows_Q in reader.wanted_of_any(texts * heads * keys):
        rows_Q = rows_Q.to(q_BHTC.device)
        attention_BHQK = attention_rows(encoding, q_BHTC, k_BHTC, context, rows_Q)
        allowed_BQK = context.rows(rows_Q).allowed_BHQK[:, 0].expand(texts, -1, -1)
        reader.hand_on_block(place, rows_Q, attention_BHQK, allowed_BQK, terms)
    return out_BHTC


def _terms(
    reader: Reader, place: Place, encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, context: Context
) -> Terms | None:
    """What the logits of this attention are made of, as the encoding's own hooks tell."""
    own = type(encoding)
    turning, adding = own.on_query_key is not Encoding.on_query_key, own.bias is not Encoding.bias
    rotation = _rotation(encoding, k_BHTC, context) if turning else None
    slots = _slots(encoding, q_BHTC, k_BHTC, context) if adding else None
    bent = own.on_logits is not Encoding.on_logits or own.on_attention is not Encoding.on_attention
    if bent or (turning and (adding or rotation is None)) or (adding and slots is None):
        reader.opaque[place] = f"what {own.__name__} does to logits belongs to neither contents nor slots"
        return None
    scale = q_BHTC.shape[-1] ** -0.5 if encoding.scale is None else encoding.scale

    def terms(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        exact = wide(q_BHTC.dtype)
        q_HQC, k_HKC = q_BHTC[b][:, rows_Q].to(exact), k_BHTC[b][:, keys].to(exact)
        if rotation is not None:
            q_HQF, k_HKF = rotation.as_pairs(q_HQC), rotation.as_pairs(k_HKC)
            return Turned(q_HQF, k_HKF, rotation.turn_of(b)[keys], rotation.theta_F, rows_Q - keys.start, scale)
        return Still(q_HQC, k_HKC, scale, None if slots is None else slots(b, rows_Q)[..., keys].to(exact))

    return terms


def _rotation(encoding: Encoding, k_BHTC: Tensor, context: Context) -> Rotation | None:
    """How the encoding turns queries and keys; None if it does anything else, or turns them differently."""
    slots, channels = k_BHTC.shape[2:]
    few_S = spread_slots(slots).to(k_BHTC.device)

    def queries(x_BHTC: Tensor) -> Tensor:
        return encoding.on_query_key(x_BHTC, x_BHTC, context)[0]

    def keys(x_BHTC: Tensor) -> Tensor:
        return encoding.on_query_key(x_BHTC, x_BHTC, context)[1]

    def in_few(x_BHSC: Tensor) -> Tensor:
        return keys(x_BHSC[:, :, :1].expand(-1, -1, slots, -1))[:, :, few_S]

    pairs = find_pairs(in_few, channels=channels, slots=len(few_S), like=k_BHTC)
    if pairs is None:
        return None
    of_keys, of_queries = (
        turns(rotate, pairs, channels=channels, slots=slots, like=k_BHTC) for rotate in (keys, queries)
    )
    alike = torch.allclose(of_keys, of_queries, atol=1e-5)
    return rotation_of(pairs, of_keys, start=0, channels=channels) if alike else None


def _slots(
    encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, context: Context
) -> Callable[[int, Tensor], Tensor] | None:
    """What the encoding adds to the logits of some rows of a text; None if contents that change places change it."""

    def bias(rows_Q: Tensor, k_BHKC: Tensor) -> Tensor:
        added_BHQK = encoding.bias(q_BHTC[:, :, rows_Q], k_BHKC, context.rows(rows_Q))
        return q_BHTC.new_zeros(1, 1, 1, 1) if added_BHQK is None else added_BHQK

    few_Q = spread_slots(q_BHTC.shape[2]).to(q_BHTC.device)
    if not torch.equal(bias(few_Q, k_BHTC), bias(few_Q, k_BHTC.roll(1, dims=2))):
        return None

    def of_text(b: int, rows_Q: Tensor) -> Tensor:
        added_BHQK = bias(rows_Q, k_BHTC)
        return added_BHQK[b if len(added_BHQK) > 1 else 0]

    return of_text

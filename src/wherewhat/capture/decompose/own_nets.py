"""Decompose the logits of a wherewhat net by passing known vectors to the hooks of its encoding.

No encoding is known by its name. The logits are decomposed where every content has a logit of its own in every slot
after the hooks; elsewhere the reason is given.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.capture.decompose.rotation import (
    ChannelPairs,
    Rotation,
    find_pairs,
    phases,
    rotation_of,
    spread_slots,
    thetas,
)
from wherewhat.capture.decompose.terms import UndecomposedError
from wherewhat.capture.editing.layer_edit import RotaryEdit
from wherewhat.capture.hooks.reader import Decomposition
from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.encodings.relative import Disentangled, index_by_lag
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import DisentangledLogits
from wherewhat.logits.head_mixing import HeadMixingLogits, Mixing
from wherewhat.logits.linear import LinearLogits
from wherewhat.logits.rotary import RotaryLogits

ROUNDING = 16  # numbers that differ by less than this many machine epsilons of the largest count as equal

Slots = Callable[[int, Tensor], Tensor]  # slot_HQK, what each slot adds, of a text and some of its rows
Products = Callable[[int, Tensor, slice, Tensor | None], Logits]  # of a text, rows and keys, and what slots add


@dataclass(frozen=True)
class AttentionCall:
    """One attention of a net: its inputs, and the name of its encoding."""

    name: str
    encoding: Encoding  # the net's own, without an edit
    q_BHTC: Tensor
    k_BHTC: Tensor
    context: Context
    rotary_edit: RotaryEdit | None = None  # the edit of queries and keys, if any

    @cached_property
    def encoded(self) -> tuple[Tensor, Tensor]:
        """Queries and keys after the encoding."""
        return self.encoding.on_query_key(self.q_BHTC, self.k_BHTC, self.context)

    @cached_property
    def exact(self) -> "AttentionCall":
        """The same with queries and keys in the type that angles are computed in."""
        exact = wide(self.q_BHTC.dtype)
        context = replace(self.context)  # a new one: what it has cached may be of the net's type
        return replace(self, q_BHTC=self.q_BHTC.to(exact), k_BHTC=self.k_BHTC.to(exact), context=context)

    @cached_property
    def longest(self) -> "AttentionCall":
        """The same for the text with the most tokens, on which hooks are probed."""
        real_BK = self.context.real_BK
        return self.text(0 if real_BK is None else int(real_BK.sum(-1).argmax()))

    @property
    def scale(self) -> float:
        return self.q_BHTC.shape[-1] ** -0.5 if self.encoding.scale is None else self.encoding.scale

    @property
    def few_Q(self) -> Tensor:
        """Some rows on which to probe a hook, the first and the last among them."""
        slots = self.q_BHTC.shape[2]
        few_Q: Tensor = torch.cat((torch.zeros(1, dtype=torch.int64), spread_slots(slots))).unique()
        return few_Q.to(self.q_BHTC.device)

    def text(self, b: int) -> "AttentionCall":
        """The same for one text alone."""
        real_BK, positions_BK = self.context.real_BK, self.context.key_positions_BK
        context = replace(
            self.context,
            key_positions_BK=positions_BK[b, None] if len(positions_BK) > 1 else positions_BK,
            real_BK=real_BK if real_BK is None or len(real_BK) == 1 else real_BK[b, None],
        )
        return replace(self, q_BHTC=self.q_BHTC[b, None], k_BHTC=self.k_BHTC[b, None], context=context)

    def bias(self, rows_Q: Tensor, encoded_k_BHTC: Tensor | None = None) -> Tensor | None:
        """What the encoding adds to the logits of some rows, with the actual keys or with others."""
        q_BHTC, k_BHTC = self.encoded
        k_BHTC = k_BHTC if encoded_k_BHTC is None else encoded_k_BHTC
        return self.encoding.bias(q_BHTC[:, :, rows_Q], k_BHTC, self.context.rows(rows_Q))

    def on_logits(self, logits_BHQK: Tensor, rows_Q: Tensor, encoded_k_BHTC: Tensor | None = None) -> Tensor:
        """The logits of some rows after the encoding's hook, with the actual keys or with others."""
        q_BHTC, k_BHTC = self.encoded
        k_BHTC = k_BHTC if encoded_k_BHTC is None else encoded_k_BHTC
        return self.encoding.on_logits(logits_BHQK, q_BHTC[:, :, rows_Q], k_BHTC, self.context.rows(rows_Q))


def decompose_call(call: AttentionCall) -> Decomposition:
    """Decompose the logits of this attention; raises UndecomposedError with the reason if that is not possible."""
    if reweighs(call):
        raise UndecomposedError(
            f"{call.name} reweights attention after the softmax, so logits do not determine what a head attends to; "
            "scores of attention use the absolute values of the reweighted attention, each row divided by its sum"
        )
    if call.context.notes:
        raise UndecomposedError(
            f"in {call.name} the tokens between query and key change their product, so a content has no logit of its "
            "own in another slot"
        )
    disentangled = call.encoding if isinstance(call.encoding, Disentangled) else None
    if disentangled is None:
        slots = _slots(call)
        products = _products(call.exact, slots is None)
    else:
        slots, products = _disentangled(call.exact, disentangled)
    mixing = _mixing(call)
    uneven = mixing is not None and _mixes_unevenly(call.longest)

    def decomposition(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        slot_HQK = None if slots is None else slots(b, rows_Q)[..., keys].to(wide(call.q_BHTC.dtype))
        logits = products(b, rows_Q, keys, slot_HQK)
        return logits if mixing is None else HeadMixingLogits(logits, mixing(b, keys), rows_Q - keys.start, uneven)

    return decomposition


def reweighs(call: AttentionCall) -> bool:
    """Whether the encoding changes attention after the softmax."""
    if type(call.encoding).on_attention is Encoding.on_attention:
        return False
    call = call.longest
    context = call.context.rows(call.few_Q)
    shape = (*call.q_BHTC.shape[:2], *context.allowed_BHQK.shape[2:])
    odds_BHQK = _noise(shape, call.q_BHTC).exp() * context.allowed_BHQK
    attention_BHQK = odds_BHQK / odds_BHQK.sum(-1, keepdim=True).clamp_min(torch.finfo(odds_BHQK.dtype).tiny)
    return not torch.equal(call.encoding.on_attention(attention_BHQK, context), attention_BHQK)


def _slots(call: AttentionCall) -> Slots | None:
    """What the encoding adds to a logit, if it depends on slots and queries only; None if it adds nothing."""
    probed = call.longest
    added_BHQK = probed.bias(call.few_Q)
    if added_BHQK is None:
        return None
    by_others_BHQK = probed.bias(call.few_Q, -probed.encoded[1].roll(1, dims=2))
    if by_others_BHQK is None or not torch.equal(by_others_BHQK, added_BHQK):
        raise UndecomposedError(f"what {call.name} adds to a logit depends on content and slot together")

    def slots(b: int, rows_Q: Tensor) -> Tensor:
        added_BHQK = call.text(b).bias(rows_Q)
        assert added_BHQK is not None
        return added_BHQK[0].expand(call.q_BHTC.shape[1], -1, -1)

    return slots


def _products(call: AttentionCall, nothing_added: bool) -> Products:
    """Plain products, or products after a rotation in channel pairs or another linear map per slot."""
    probed = call.longest
    if all(map(torch.equal, probed.encoded, (probed.q_BHTC, probed.k_BHTC))):

        def plain(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
            return AdditiveLogits(call.q_BHTC[b][:, rows_Q], call.k_BHTC[b][:, keys], call.scale, slot_HQK)

        return plain
    products = _rotary(call) if nothing_added else None
    products = products or _linear(call)
    if products is None:
        raise UndecomposedError(f"what {call.name} does to a key is not a linear map that depends on its slot only")
    return products


def _disentangled(call: AttentionCall, encoding: Disentangled) -> tuple[Slots, Products]:
    """What slots add, and their products with contents, as the encoding itself gives them."""

    def slots(b: int, rows_Q: Tensor) -> Tensor:
        text = call.text(b)
        added_BHQK = encoding.slot_part(text.q_BHTC[:, :, rows_Q], text.context.rows(rows_Q))
        return added_BHQK[0].expand(call.q_BHTC.shape[1], -1, -1)

    def products(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        assert slot_HQK is not None
        context = call.text(b).context.rows(rows_Q)
        position_query_HRC = encoding.position_queries(context, call.q_BHTC.dtype)
        index_QK = index_by_lag(context)[0][:, keys]
        if position_query_HRC.shape[1] <= 1:  # all slots share one vector
            index_QK = torch.zeros_like(index_QK)
        q_HQC, k_HKC = call.q_BHTC[b][:, rows_Q], call.k_BHTC[b][:, keys]
        return DisentangledLogits(q_HQC, k_HKC, call.scale, slot_HQK, position_query_HRC, index_QK)

    return slots, products


def rotations_of(call: AttentionCall) -> tuple[Rotation, Rotation] | None:
    """The rotations of queries and keys in the longest text; None if anything but a rotation happens to them."""
    probed = call.longest
    slots, change_key = call.k_BHTC.shape[2], _only(probed, 1)
    pairs = find_pairs(
        lambda x_BHSC: change_key(x_BHSC[:, :, :1].expand(-1, -1, slots, -1))[:, :, call.few_Q],  # in a few slots
        channels=call.k_BHTC.shape[-1],
        slots=len(call.few_Q),
        like=call.k_BHTC,
    )
    if pairs is None:
        return None
    rotations = _rotation(probed, pairs, 0), _rotation(probed, pairs, 1)
    for rotation, before_BHTC, after_BHTC in zip(
        rotations, (probed.q_BHTC, probed.k_BHTC), probed.encoded, strict=True
    ):
        rotated_BHTF = rotation.as_pairs(before_BHTC) * rotation.phase_BTF[:, None]
        if not _same(torch.view_as_real(rotated_BHTF), torch.view_as_real(rotation.as_pairs(after_BHTC))):
            return None
    return rotations


def _rotary(call: AttentionCall) -> Products | None:
    """Products of queries and keys, each rotated in channel pairs; None if anything else happens to either."""
    of_longest = rotations_of(call)
    if of_longest is None:
        return None
    of_queries, of_keys = (_rotation(call, of_longest[1].pairs, side) for side in (0, 1))
    alike = torch.equal(of_queries.phase_BTF, of_keys.phase_BTF)

    def theta(phase_KF: Tensor) -> Tensor:
        """Each text's own, since some scalings rotate longer texts more slowly; a single token does not show it."""
        return thetas(phase_KF) if len(phase_KF) > 1 else of_longest[1].theta_F

    def products(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        q_HQF, k_HKF = of_keys.as_pairs(call.q_BHTC[b][:, rows_Q]), of_keys.as_pairs(call.k_BHTC[b][:, keys])
        phase_KF, query_phase_KF = of_keys.phase_of(b)[keys], None if alike else of_queries.phase_of(b)[keys]
        logits = RotaryLogits(q_HQF, k_HKF, phase_KF, theta(phase_KF), rows_Q - keys.start, call.scale, query_phase_KF)
        return logits if call.rotary_edit is None else call.rotary_edit.edited_logits(logits)

    return products


def _rotation(call: AttentionCall, pairs: ChannelPairs, side: int) -> Rotation:
    """How the pairs of queries (side 0) or of keys (1) are rotated in every slot."""
    slots, channels = call.k_BHTC.shape[2:]
    phase_BTF = phases(_only(call, side), pairs, channels=channels, slots=slots, like=call.k_BHTC)
    return rotation_of(pairs, phase_BTF, start=0, channels=channels)


def _linear(call: AttentionCall) -> Products | None:
    """Products after the linear map that every slot applies to a key; None if it is not linear."""
    probed = call.longest
    if not _same(torch.einsum("bscd,bhsd->bhsc", _slot_maps(probed), probed.k_BHTC), probed.encoded[1]):
        return None
    map_BSCC = _slot_maps(call)

    def products(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        q_HQC, k_HKC = call.text(b).encoded[0][0][:, rows_Q], call.k_BHTC[b][:, keys]
        map_SCC = map_BSCC[b if len(map_BSCC) > 1 else 0][keys]
        return LinearLogits(q_HQC, k_HKC, map_SCC, call.scale, slot_HQK)

    return products


def _slot_maps(call: AttentionCall) -> Tensor:
    """map_BSCC, the linear map of every slot, measured on unit vectors."""
    _, _, slots, channels = call.k_BHTC.shape
    eye_CC = torch.eye(channels, dtype=call.k_BHTC.dtype, device=call.k_BHTC.device)
    return _only(call, 1)(eye_CC[None, :, None].expand(1, -1, slots, -1)).permute(0, 2, 3, 1)


def _only(call: AttentionCall, side: int) -> Callable[[Tensor], Tensor]:
    """What the encoding does to queries (side 0) or keys (1), given the same ones in every text."""

    def change(x_BHTC: Tensor) -> Tensor:
        x_BHTC = x_BHTC.expand(len(call.context.key_positions_BK), -1, -1, -1)
        return call.encoding.on_query_key(x_BHTC, x_BHTC, call.context)[side]

    return change


def _mixing(call: AttentionCall) -> Callable[[int, slice], Mixing] | None:
    """What the encoding does to logits, if it treats each key by itself; None if it leaves them unchanged."""
    if type(call.encoding).on_logits is Encoding.on_logits:
        return None
    probed = call.longest
    logits_BHQK = _noise((*probed.q_BHTC.shape[:2], len(call.few_Q), call.k_BHTC.shape[2]), call.q_BHTC)
    mixed_BHQK = probed.on_logits(logits_BHQK, call.few_Q)
    forbidden_BHQK = ~probed.context.rows(call.few_Q).allowed_BHQK
    if torch.equal(mixed_BHQK.masked_fill(forbidden_BHQK, 0), logits_BHQK.masked_fill(forbidden_BHQK, 0)):
        return None
    _refuse_mixing(probed, logits_BHQK, mixed_BHQK)
    by_others_BHQK = probed.on_logits(logits_BHQK, call.few_Q, -probed.encoded[1].roll(1, dims=2))
    if not _same(by_others_BHQK, mixed_BHQK):
        raise UndecomposedError(
            f"inside {call.name} the bias also depends on the key, which cannot be decomposed through what the "
            "encoding then does to logits"
        )

    def of_text(b: int, keys: slice) -> Mixing:
        text = call.text(b)

        def mixing_of_text(queries_N: Tensor, slots_S: Tensor, logits_HNS: Tensor) -> Tensor:
            rows_N, columns_S, slots = queries_N + keys.start, slots_S + keys.start, call.k_BHTC.shape[2]
            if len(columns_S) == slots and torch.equal(columns_S, torch.arange(slots, device=columns_S.device)):
                return text.on_logits(logits_HNS[None].to(call.q_BHTC), rows_N)[0].to(logits_HNS)
            every_BHNK = call.q_BHTC.new_zeros(1, *logits_HNS.shape[:2], slots)
            every_BHNK[..., columns_S] = logits_HNS.to(every_BHNK)
            return text.on_logits(every_BHNK, rows_N)[0][..., columns_S].to(logits_HNS)

        return mixing_of_text

    return of_text


def _refuse_mixing(call: AttentionCall, logits_BHQK: Tensor, mixed_BHQK: Tensor) -> None:
    """Change the logits of every other key: the others must not change."""
    allowed_BHQK = call.context.rows(call.few_Q).allowed_BHQK
    for rest in (0, 1):
        stays_K = torch.arange(logits_BHQK.shape[-1], device=logits_BHQK.device) % 2 == rest
        moved_BHQK = call.on_logits(torch.where(stays_K, logits_BHQK, -logits_BHQK), call.few_Q)
        if not _same(moved_BHQK, mixed_BHQK, where=allowed_BHQK & stays_K):
            raise UndecomposedError(
                f"{call.name} computes a logit from the logits of other keys as well, so a content has no logit of its "
                "own in another slot"
            )


def _mixes_unevenly(call: AttentionCall) -> bool:
    """Whether the same logit becomes a different one in another slot."""
    equal_BHQ1 = _noise((*call.q_BHTC.shape[:2], len(call.few_Q), 1), call.q_BHTC)
    mixed_BHQK = call.on_logits(equal_BHQ1.expand(-1, -1, -1, call.k_BHTC.shape[2]), call.few_Q)
    allowed_BHQK = call.context.rows(call.few_Q).allowed_BHQK
    first_BHQ1 = allowed_BHQK.int().argmax(-1, keepdim=True).expand(*mixed_BHQK.shape[:3], 1)
    return not _same(mixed_BHQK, mixed_BHQK.gather(-1, first_BHQ1).expand_as(mixed_BHQK), where=allowed_BHQK)


def _noise(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """The same random numbers every time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(like)


def _same(first: Tensor, second: Tensor, *, where: Tensor | None = None) -> bool:
    """Whether two tensors differ by no more than the rounding of exact numbers."""
    apart, size = (first - second).abs(), second.abs()
    if where is not None:
        apart, size = apart.masked_fill(~where, 0), size.masked_fill(~where, 0)
    return bool(apart.amax() <= ROUNDING * torch.finfo(wide(second.dtype)).eps * size.amax())

"""What the logits of a net of ours are made of, found by handing known vectors to its encoding's own hooks.

No encoding is known by its name. Where what a hook does leaves every content a logit of its own in every slot, these
logits are told; where it does not, the reason is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.capture.decompose.rotation import Pairs, Rotation, find_pairs, rotation_of, spread_slots, thetas, turns
from wherewhat.capture.decompose.terms import OpaqueError
from wherewhat.capture.editing.change import Retuned
from wherewhat.capture.hooks.reader import Terms
from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.encodings.crossing import Crossing
from wherewhat.encodings.relative import index_by_lag
from wherewhat.logits.additive import Still
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import Crossed
from wherewhat.logits.head_mixing import Bending, Bent
from wherewhat.logits.linear import Carried
from wherewhat.logits.rotary import Turned

ROUNDING = 16  # numbers that differ by less than this many machine epsilons of the largest are the same

Slots = Callable[[int, Tensor], Tensor]  # of a text and some of its rows, what each slot adds, slot_HQK
Meeting = Callable[[int, Tensor, slice, Tensor | None], Logits]  # of a text, rows and keys, with what slots add


@dataclass(frozen=True)
class Call:
    """One attention of a net: what was handed to it, and what the encoding that it asks is called."""

    name: str
    encoding: Encoding  # the net's own, without what an edit makes of it
    q_BHTC: Tensor
    k_BHTC: Tensor
    context: Context
    retuned: Retuned | None = None  # what an edit makes of queries and keys

    @cached_property
    def made(self) -> tuple[Tensor, Tensor]:
        """Queries and keys as the encoding makes them."""
        return self.encoding.on_query_key(self.q_BHTC, self.k_BHTC, self.context)

    @cached_property
    def exact(self) -> "Call":
        """The same with queries and keys in the type that angles are computed in, whatever the net's own."""
        exact = wide(self.q_BHTC.dtype)
        context = replace(self.context)  # a fresh one, as what it has made so far may be of the net's type
        return replace(self, q_BHTC=self.q_BHTC.to(exact), k_BHTC=self.k_BHTC.to(exact), context=context)

    @cached_property
    def longest(self) -> "Call":
        """The same of the text with the most tokens, which shows best what a hook does."""
        real_BK = self.context.real_BK
        return self.text(0 if real_BK is None else int(real_BK.sum(-1).argmax()))

    @property
    def scale(self) -> float:
        return self.q_BHTC.shape[-1] ** -0.5 if self.encoding.scale is None else self.encoding.scale

    @property
    def few_Q(self) -> Tensor:
        """Some rows in which a hook shows what it does, the first and the last among them."""
        slots = self.q_BHTC.shape[2]
        few_Q: Tensor = torch.cat((torch.zeros(1, dtype=torch.int64), spread_slots(slots))).unique()
        return few_Q.to(self.q_BHTC.device)

    def text(self, b: int) -> "Call":
        """The same of one text alone."""
        real_BK, positions_BK = self.context.real_BK, self.context.key_positions_BK
        context = replace(
            self.context,
            key_positions_BK=positions_BK[b, None] if len(positions_BK) > 1 else positions_BK,
            real_BK=real_BK if real_BK is None or len(real_BK) == 1 else real_BK[b, None],
        )
        return replace(self, q_BHTC=self.q_BHTC[b, None], k_BHTC=self.k_BHTC[b, None], context=context)

    def bias(self, rows_Q: Tensor, made_k_BHTC: Tensor | None = None) -> Tensor | None:
        """What the encoding adds to the logits of some rows, with its own keys or with others."""
        q_BHTC, k_BHTC = self.made
        k_BHTC = k_BHTC if made_k_BHTC is None else made_k_BHTC
        return self.encoding.bias(q_BHTC[:, :, rows_Q], k_BHTC, self.context.rows(rows_Q))

    def on_logits(self, logits_BHQK: Tensor, rows_Q: Tensor, made_k_BHTC: Tensor | None = None) -> Tensor:
        """What the encoding makes of the logits of some rows, with its own keys or with others."""
        q_BHTC, k_BHTC = self.made
        k_BHTC = k_BHTC if made_k_BHTC is None else made_k_BHTC
        return self.encoding.on_logits(logits_BHQK, q_BHTC[:, :, rows_Q], k_BHTC, self.context.rows(rows_Q))


def terms_of(call: Call) -> Terms:
    """What the logits of this attention are made of; raises with the reason if they cannot be taken apart."""
    _refuse_opaque(call)
    crossing = call.encoding if isinstance(call.encoding, Crossing) else None
    slots, meeting = _parts(call) if crossing is None else _crossed(call.exact, crossing)
    bend = _bend(call)
    uneven = bend is not None and _bends_unevenly(call.longest)

    def terms(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        slot_HQK = None if slots is None else slots(b, rows_Q)[..., keys].to(wide(call.q_BHTC.dtype))
        logits = meeting(b, rows_Q, keys, slot_HQK)
        return logits if bend is None else Bent(logits, bend(b, keys), rows_Q - keys.start, uneven)

    return terms


def reweighs(call: Call) -> bool:
    """Whether attention is something else after the softmax than the softmax said."""
    if type(call.encoding).on_attention is Encoding.on_attention:
        return False
    call = call.longest
    context = call.context.rows(call.few_Q)
    shape = (*call.q_BHTC.shape[:2], *context.allowed_BHQK.shape[2:])
    odds_BHQK = _noise(shape, call.q_BHTC).exp() * context.allowed_BHQK
    attention_BHQK = odds_BHQK / odds_BHQK.sum(-1, keepdim=True).clamp_min(torch.finfo(odds_BHQK.dtype).tiny)
    return not torch.equal(call.encoding.on_attention(attention_BHQK, context), attention_BHQK)


def _refuse_opaque(call: Call) -> None:
    if reweighs(call):
        raise OpaqueError(
            f"{call.name} reweighs attention after the softmax, so logits do not say what a head gathers; scores of "
            "attention are about the sizes of what it reweighed, each row divided by its sum"
        )
    if call.context.notes:
        raise OpaqueError(
            f"{call.name} lets the tokens on the way decide how a key meets a query, so a content has no logit of its "
            "own in another slot"
        )


# What is added --------------------------------------------------------------------------------------------------------


def _slots(call: Call) -> Slots | None:
    """What the encoding adds to a logit, if slots and queries alone decide it; None if it adds nothing."""
    shown = call.longest
    added_BHQK = shown.bias(call.few_Q)
    if added_BHQK is None:
        return None
    by_others_BHQK = shown.bias(call.few_Q, -shown.made[1].roll(1, dims=2))
    if by_others_BHQK is None or not torch.equal(by_others_BHQK, added_BHQK):
        raise OpaqueError(f"contents and slots together decide what {call.name} adds to a logit")

    def slots(b: int, rows_Q: Tensor) -> Tensor:
        added_BHQK = call.text(b).bias(rows_Q)
        assert added_BHQK is not None
        return added_BHQK[0].expand(call.q_BHTC.shape[1], -1, -1)

    return slots


# How queries meet keys ------------------------------------------------------------------------------------------------


def _parts(call: Call) -> tuple[Slots | None, Meeting]:
    """What slots add, and how queries meet keys, as the hooks show."""
    slots = _slots(call)
    return slots, _meeting(call.exact, slots is None)


def _meeting(call: Call, nothing_added: bool) -> Meeting:
    """As they are, turned pair by pair, or carried by some other linear map that the slot of a key decides."""
    shown = call.longest
    if all(map(torch.equal, shown.made, (shown.q_BHTC, shown.k_BHTC))):
        return _still(call)
    meeting = _turned(call) if nothing_added else None
    meeting = meeting or _carried(call)
    if meeting is None:
        raise OpaqueError(f"what {call.name} does to a key is no linear map that its slot alone decides")
    return meeting


def _still(call: Call) -> Meeting:
    def meet(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        return Still(call.q_BHTC[b][:, rows_Q], call.k_BHTC[b][:, keys], call.scale, slot_HQK)

    return meet


def _crossed(call: Call, encoding: Crossing) -> tuple[Slots, Meeting]:
    """What slots add, and what they ask of contents, in the encoding's own words."""

    def slots(b: int, rows_Q: Tensor) -> Tensor:
        text = call.text(b)
        added_BHQK = encoding.slot_part(text.q_BHTC[:, :, rows_Q], text.context.rows(rows_Q))
        return added_BHQK[0].expand(call.q_BHTC.shape[1], -1, -1)

    def meet(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        assert slot_HQK is not None
        context = call.text(b).context.rows(rows_Q)
        toward_HRC, index_QK = encoding.asking(context, call.q_BHTC.dtype), index_by_lag(context)[0][:, keys]
        index_QK = index_QK if toward_HRC.shape[1] > 1 else torch.zeros_like(index_QK)  # all slots ask the same
        q_HQC, k_HKC = call.q_BHTC[b][:, rows_Q], call.k_BHTC[b][:, keys]
        return Crossed(q_HQC, k_HKC, call.scale, slot_HQK, toward_HRC, index_QK)

    return slots, meet


def rotations_of(call: Call) -> tuple[Rotation, Rotation] | None:
    """How the pairs of queries and of keys are turned in the text that shows it best; None if more happens to them."""
    shown = call.longest
    pairs = find_pairs(_in_few(shown), channels=call.k_BHTC.shape[-1], slots=len(call.few_Q), like=call.k_BHTC)
    if pairs is None:
        return None
    of_queries, of_keys = _rotation(shown, pairs, 0), _rotation(shown, pairs, 1)
    if not all(map(_turns, (of_queries, of_keys), (shown.q_BHTC, shown.k_BHTC), shown.made)):
        return None
    return of_queries, of_keys


def _turned(call: Call) -> Meeting | None:
    """Pairs of channels that turn, keys and queries each in their way; None if either does anything else."""
    of_shown = rotations_of(call)
    if of_shown is None:
        return None
    of_queries, of_keys = (_rotation(call, of_shown[1].pairs, side) for side in (0, 1))
    alike = torch.equal(of_queries.turn_BTF, of_keys.turn_BTF)

    def theta(turn_KF: Tensor) -> Tensor:
        """Each text's own, for some scalings turn longer texts more slowly; a single token does not show it."""
        return thetas(turn_KF) if len(turn_KF) > 1 else of_shown[1].theta_F

    def meet(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        q_HQF, k_HKF = of_keys.as_pairs(call.q_BHTC[b][:, rows_Q]), of_keys.as_pairs(call.k_BHTC[b][:, keys])
        turn_KF, asking_KF = of_keys.turn_of(b)[keys], None if alike else of_queries.turn_of(b)[keys]
        logits = Turned(q_HQF, k_HKF, turn_KF, theta(turn_KF), rows_Q - keys.start, call.scale, asking_KF)
        return logits if call.retuned is None else call.retuned.told(logits)

    return meet


def _rotation(call: Call, pairs: Pairs, side: int) -> Rotation:
    """How the pairs of queries (0) or of keys (1) are turned in every slot."""
    _, _, slots, channels = call.k_BHTC.shape
    turn_BTF = turns(_only(call, side), pairs, channels=channels, slots=slots, like=call.k_BHTC)
    return rotation_of(pairs, turn_BTF, start=0, channels=channels)


def _carried(call: Call) -> Meeting | None:
    """The linear map by which every slot changes a key; None if it is none."""
    shown = call.longest
    if not _same(torch.einsum("bscd,bhsd->bhsc", _carry(shown), shown.k_BHTC), shown.made[1]):
        return None
    carry_BSCC = _carry(call)

    def meet(b: int, rows_Q: Tensor, keys: slice, slot_HQK: Tensor | None) -> Logits:
        q_HQC, k_HKC = call.text(b).made[0][0][:, rows_Q], call.k_BHTC[b][:, keys]
        carry_SCC = carry_BSCC[b if len(carry_BSCC) > 1 else 0][keys]
        return Carried(q_HQC, k_HKC, carry_SCC, call.scale, slot_HQK)

    return meet


def _carry(call: Call) -> Tensor:
    """carry_BSCC, read off what becomes of unit vectors."""
    _, _, slots, channels = call.k_BHTC.shape
    eye_CC = torch.eye(channels, dtype=call.k_BHTC.dtype, device=call.k_BHTC.device)
    return _only(call, 1)(eye_CC[None, :, None].expand(1, -1, slots, -1)).permute(0, 2, 3, 1)


def _only(call: Call, side: int) -> Callable[[Tensor], Tensor]:
    """What the encoding does to queries (0) or to keys (1), the same ones in every text."""

    def change(x_BHTC: Tensor) -> Tensor:
        x_BHTC = x_BHTC.expand(len(call.context.key_positions_BK), -1, -1, -1)
        return call.encoding.on_query_key(x_BHTC, x_BHTC, call.context)[side]

    return change


def _in_few(call: Call) -> Callable[[Tensor], Tensor]:
    """What the encoding does to keys that stand in a few slots."""
    slots = call.k_BHTC.shape[2]
    return lambda x_BHSC: _only(call, 1)(x_BHSC[:, :, :1].expand(-1, -1, slots, -1))[:, :, call.few_Q]


def _turns(rotation: Rotation, before_BHTC: Tensor, after_BHTC: Tensor) -> bool:
    """Whether turning pairs is all that happened."""
    turned_BHTF = rotation.as_pairs(before_BHTC) * rotation.turn_BTF[:, None]
    return _same(torch.view_as_real(turned_BHTF), torch.view_as_real(rotation.as_pairs(after_BHTC)))


# What becomes of logits -----------------------------------------------------------------------------------------------


def _bend(call: Call) -> Callable[[int, slice], Bending] | None:
    """What the encoding makes of logits, if it looks at one key at a time; None if it leaves them alone."""
    if type(call.encoding).on_logits is Encoding.on_logits:
        return None
    shown = call.longest
    logits_BHQK = _noise((*shown.q_BHTC.shape[:2], len(call.few_Q), call.k_BHTC.shape[2]), call.q_BHTC)
    bent_BHQK = shown.on_logits(logits_BHQK, call.few_Q)
    forbidden_BHQK = ~shown.context.rows(call.few_Q).allowed_BHQK
    if torch.equal(bent_BHQK.masked_fill(forbidden_BHQK, 0), logits_BHQK.masked_fill(forbidden_BHQK, 0)):
        return None
    _refuse_mixing(shown, logits_BHQK, bent_BHQK)
    by_others_BHQK = shown.on_logits(logits_BHQK, call.few_Q, -shown.made[1].roll(1, dims=2))
    if not _same(by_others_BHQK, bent_BHQK):
        raise OpaqueError(
            f"inside {call.name} the bias depends on the key as well, and that is not read through what is then made "
            "of a logit"
        )

    def of_text(b: int, keys: slice) -> Bending:
        text = call.text(b)

        def bending(queries_N: Tensor, slots_S: Tensor, logits_HNS: Tensor) -> Tensor:
            rows_N, columns_S, slots = queries_N + keys.start, slots_S + keys.start, call.k_BHTC.shape[2]
            if len(columns_S) == slots and torch.equal(columns_S, torch.arange(slots, device=columns_S.device)):
                return text.on_logits(logits_HNS[None].to(call.q_BHTC), rows_N)[0].to(logits_HNS)
            every_BHNK = call.q_BHTC.new_zeros(1, *logits_HNS.shape[:2], slots)
            every_BHNK[..., columns_S] = logits_HNS.to(every_BHNK)
            return text.on_logits(every_BHNK, rows_N)[0][..., columns_S].to(logits_HNS)

        return bending

    return of_text


def _refuse_mixing(call: Call, logits_BHQK: Tensor, bent_BHQK: Tensor) -> None:
    """Change the logits of every other key: those of the rest must stay."""
    allowed_BHQK = call.context.rows(call.few_Q).allowed_BHQK
    for rest in (0, 1):
        stays_K = torch.arange(logits_BHQK.shape[-1], device=logits_BHQK.device) % 2 == rest
        moved_BHQK = call.on_logits(torch.where(stays_K, logits_BHQK, -logits_BHQK), call.few_Q)
        if not _same(moved_BHQK, bent_BHQK, where=allowed_BHQK & stays_K):
            raise OpaqueError(
                f"{call.name} makes a logit of the logits of other keys as well, so a content has no logit of its own "
                "in another slot"
            )


def _bends_unevenly(call: Call) -> bool:
    """Whether the same logit becomes another in another slot."""
    alike_BHQ1 = _noise((*call.q_BHTC.shape[:2], len(call.few_Q), 1), call.q_BHTC)
    bent_BHQK = call.on_logits(alike_BHQ1.expand(-1, -1, -1, call.k_BHTC.shape[2]), call.few_Q)
    allowed_BHQK = call.context.rows(call.few_Q).allowed_BHQK
    first_BHQ1 = allowed_BHQK.int().argmax(-1, keepdim=True).expand(*bent_BHQK.shape[:3], 1)
    return not _same(bent_BHQK, bent_BHQK.gather(-1, first_BHQ1).expand_as(bent_BHQK), where=allowed_BHQK)


def _noise(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """The same random numbers every time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(like)


def _same(one: Tensor, other: Tensor, *, where: Tensor | None = None) -> bool:
    """Whether two tensors differ by no more than the rounding of exact numbers."""
    apart, size = (one - other).abs(), other.abs()
    if where is not None:
        apart, size = apart.masked_fill(~where, 0), size.masked_fill(~where, 0)
    return bool(apart.amax() <= ROUNDING * torch.finfo(wide(other.dtype)).eps * size.amax())

"""A net of ours under any encoding: its logits are what its layers do when contents change places, or say why not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from cases import CASES, Case
from reading import padded_batch
from torch import Tensor

from wherewhat.capture.capture import CaptureSession, capture
from wherewhat.capture.decompose.own_nets import AttentionCall, decompose_call
from wherewhat.capture.decompose.terms import UndecomposedError
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import Batch
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.encodings.relative import Disentangled, lags_of
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import DisentangledLogits
from wherewhat.logits.head_mixing import HeadMixingLogits
from wherewhat.logits.linear import LinearLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.nets.attention import attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

NEAR = {"rtol": 0, "atol": 1e-9}
PAIRS = ((0, 1), (2, 4), (1, 7), (5, 6), (3, 8))  # slots inside a text that change places

OTHERS = (
    "{} computes a logit from the logits of other keys as well, so a content has no logit of its own in another slot"
)
ON_THE_WAY = (
    "in {} the tokens between query and key change their product, so a content has no logit of its own in another slot"
)
REWEIGHS = (
    "{} reweights attention after the softmax, so logits do not determine what a head attends to; scores of attention "
    "use the absolute values of the reweighted attention, each row divided by its sum"
)
TOGETHER = (
    "inside {} the bias also depends on the key, which cannot be decomposed through what the encoding then does to "
    "logits"
)

# What the logits of every encoding are made of, or why that cannot be told.
MADE_OF: dict[str, type[Logits] | str] = {
    **dict.fromkeys(("none", "sinusoidal", "learned"), AdditiveLogits),
    **dict.fromkeys(
        ("alibi", "kerple", "t5_bias", "toeplitz", "fire", "attenuated", "leaning", "shaw"), AdditiveLogits
    ),
    **dict.fromkeys(("transformer_xl", "deberta"), DisentangledLogits),
    **dict.fromkeys(("rope", "p_rope", "band_rope", "xpos", "untwist"), RotaryLogits),
    "rollpe": LinearLogits,
    **dict.fromkeys(("carope", "path", "path_fox"), ON_THE_WAY),
    "cope": OTHERS,
    "dape": HeadMixingLogits,
    "dape_v2": OTHERS,
    "urpe": REWEIGHS,
}
ABSORBED = ("none", "sinusoidal", "learned")


SIZES = {"vocabulary": 100, "length": 16, "width": 12, "layers": 2, "heads": 2}


def made_of(case: Case) -> type[Logits] | str:
    name, options = case
    if name == "urpe":
        return REWEIGHS
    if MADE_OF.get(options.get("over")) is ON_THE_WAY:
        return ON_THE_WAY
    if name == "dape" and options.get("over") in ("deberta", "transformer_xl"):
        return TOGETHER
    if name == "dape_v2" and options.get("kernel") == 1:
        return HeadMixingLogits  # reads one key at a time
    return MADE_OF[name]


def kinds_of(case: Case) -> tuple[str, ...]:
    """Which nets an encoding can serve."""
    name, options = case
    only_back = NetConfig(**SIZES, encoding=name, encoding_options=options).make_encoding().causal_only
    return ("decoder",) if only_back else ("decoder", "encoder")


NETS = [(case, kind) for case in CASES for kind in kinds_of(case)]
READABLE = [(case, kind) for case, kind in NETS if not isinstance(made_of(case), str)]
OPAQUE = [(case, kind) for case, kind in NETS if isinstance(made_of(case), str)]
MIXING = [(case, kind) for case, kind in OPAQUE if made_of(case) in (OTHERS, ON_THE_WAY)]


def titled(value: Case | str) -> str:
    if isinstance(value, str):
        return value
    name, options = value
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def own_net(case: Case, kind: str) -> Trunk:
    """A small net in double precision whose encoding's own numbers are large enough to matter."""
    net = build(NetConfig(**SIZES, encoding=case[0], encoding_options=case[1], kind=kind)).double()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in net.encodings.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        for block in net.blocks:
            block.attention.qkv.weight.mul_(2)
    return net


@contextmanager
def spying(net: Trunk) -> Iterator[list[tuple[Any, ...]]]:
    """What every block's attention was given, and what it gave back."""
    kept: list[tuple[Any, ...]] = []
    hooks = [
        block.attention.register_forward_pre_hook(lambda module, given: kept.append((module, *given)))
        for block in net.blocks
    ]
    yield kept
    for hook in hooks:
        hook.remove()


def read(net: Trunk, batch: Batch) -> tuple[list[AttentionRows], CaptureSession]:
    pieces: list[AttentionRows] = []
    with capture(net, pieces.append) as captured:
        captured.read(batch)
    return pieces, captured


def given_to(net: Trunk, batch: Batch) -> list[tuple[Any, ...]]:
    """By block: the module, and the hidden state, encoding and context that it was called with."""
    with spying(net) as kept, torch.no_grad():
        net.hidden(batch.ids_BT, batch.real_BT)
    return [call[:4] for call in kept]


def again(module: Any, x_BTD: Tensor, encoding: Encoding, context: Context) -> tuple[Tensor, Tensor, Tensor]:
    """attention_BHQK of all rows, the values, and what came of both, of one block run by itself."""
    found: list[Tensor] = []
    plain = module.attend

    def attend(encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, context: Context) -> Tensor:
        every_Q = torch.arange(q.shape[2])
        found.extend((attention_rows(encoding, q, k, context, every_Q), v, plain(encoding, q, k, v, context)))
        return found[-1]

    module.attend = attend
    with torch.no_grad():
        module(x_BTD, encoding, context)
    module.attend = plain
    attention_BHQK, v_BHTC, out_BHTC = found
    return attention_BHQK, v_BHTC, out_BHTC


def swapped(x_BTD: Tensor, s: int, t: int) -> Tensor:
    order = torch.arange(x_BTD.shape[1])
    order[[s, t]] = order[[t, s]]
    return x_BTD[:, order]


def test_every_encoding_says_what_its_logits_are_made_of():
    assert set(MADE_OF) == set(ENCODINGS) == {name for name, _ in CASES}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize(("case", "kind"), READABLE, ids=titled)
def test_the_table_is_what_the_layer_does_when_contents_change_places(case: Case, kind: str, side: str):
    net = own_net(case, kind)
    batch = padded_batch(net, side=side)
    given = given_to(net, batch)
    pieces, captured = read(net, batch)
    assert captured.undecomposed == {}
    for rows in pieces:
        name, options = case
        assert type(rows.logits) is made_of(case)
        assert rows.logits.position_free == (options.get("over", name) in ABSORBED)
        for pair in PAIRS:
            compare_swap(rows, given[rows.site.ordinal], batch, pair)


def compare_swap(rows: AttentionRows, given: tuple[Any, ...], batch: Batch, pair: tuple[int, int]) -> None:
    """Every row that sees both contents, against the layer run again with the two hidden states exchanged."""
    module, x_BTD, encoding, context = given
    first, stop = batch.span(rows.text)
    log_HTT = again(module, swapped(x_BTD, first + pair[0], first + pair[1]), encoding, context)[0][rows.text].log()
    table_S = torch.tensor(pair)
    for row, query in enumerate(rows.queries_Q.tolist()):
        if query in pair or not rows.allowed_QK[row, table_S].all():
            continue
        expected_HK = rows.logits.actual_HQK[:, row].clone()
        expected_HK[:, table_S] = rows.logits.table(row, table_S.flip(0), table_S).diagonal(dim1=1, dim2=2)
        seen_K = rows.allowed_QK[row]
        ours = expected_HK[:, seen_K].log_softmax(-1)
        torch.testing.assert_close(ours, log_HTT[:, first + query, first:stop][:, seen_K], **NEAR)


@pytest.mark.parametrize(("case", "kind"), NETS, ids=titled)
def test_attention_is_what_gathers_the_values(case: Case, kind: str):
    net = own_net(case, kind)
    batch = padded_batch(net)
    given = given_to(net, batch)
    for rows in read(net, batch)[0]:
        _, v_BHTC, out_BHTC = again(*given[rows.site.ordinal])
        first, stop = batch.span(rows.text)
        attention_HQK = rows.attention_HQK
        if case[0] == "urpe":  # what was handed on are sizes, each row divided by its sum
            plain_HQK = again(*given[rows.site.ordinal])[0][rows.text, :, first:stop, first:stop]
            torch.testing.assert_close(attention_HQK.sum(-1), torch.ones_like(attention_HQK.sum(-1)), **NEAR)
            torch.testing.assert_close(attention_HQK * plain_HQK.abs().sum(-1, keepdim=True), plain_HQK.abs(), **NEAR)
            assert (plain_HQK < 0).any() and ((plain_HQK.sum(-1) - 1).abs() > 0.1).any(), "the factors have to matter"
            attention_HQK = plain_HQK
        gathered_HQC = attention_HQK @ v_BHTC[rows.text, :, first:stop]
        torch.testing.assert_close(gathered_HQC, out_BHTC[rows.text, :, first:stop], **NEAR)


@pytest.mark.parametrize(("case", "kind"), OPAQUE, ids=titled)
def test_where_there_is_no_table_the_reason_is_told(case: Case, kind: str):
    net, (name, options) = own_net(case, kind), case
    pieces, captured = read(net, padded_batch(net))
    assert all(rows.logits is None for rows in pieces)
    wraps = ENCODINGS[name].wraps
    called = name if wraps is None else f"{name} over {options.get('over', wraps)}"
    assert list(captured.undecomposed.values()) == [made_of(case).format(called)] * 2


@pytest.mark.parametrize(("case", "kind"), MIXING, ids=titled)
def test_where_there_is_no_table_contents_that_stay_see_their_logits_change(case: Case, kind: str):
    """Two contents change places between two others and the query, and the logits of those two move apart."""
    net = own_net(case, kind)
    batch = padded_batch(net)
    module, x_BTD, encoding, context = given_to(net, batch)[1]
    before, after = (
        again(module, hidden_BTD, encoding, context)[0][0].log() for hidden_BTD in (x_BTD, swapped(x_BTD, 4, 7))
    )
    apart = [log_HQK[:, 11, 3] - log_HQK[:, 11, 5] for log_HQK in (before, after)]
    assert ((apart[0] - apart[1]).abs() > 1e-4).all()


@pytest.mark.parametrize("name", ["cope", "urpe", "untwist"])
def test_what_still_does_nothing_hides_nothing(name: str):
    """Fresh tables of zeros and factors of one leave logits and attention as they are."""
    net = build(NetConfig(vocabulary=100, length=16, width=16, layers=1, heads=2, encoding=name)).double()
    pieces, captured = read(net, padded_batch(net))
    assert captured.undecomposed == {}
    assert all(rows.logits.position_free == (name == "cope") for rows in pieces)


@pytest.mark.parametrize("name", ["rope", "rollpe", "cope", "dape_v2", "urpe"])
def test_a_short_text_before_a_long_one_hides_nothing(name: str):
    """What an encoding does is looked for in the text that shows most of it."""
    net = own_net((name, {}), "decoder")
    real_BT = torch.arange(12) < torch.tensor([[1], [12]])
    ids_BT = torch.arange(3, 27).view(2, 12) * real_BT
    pieces, captured = read(net, Batch((0, 1), ids_BT, real_BT, (torch.arange(1), torch.arange(12))))
    assert bool(captured.undecomposed) == isinstance(MADE_OF[name], str)
    assert {type(rows.logits) for rows in pieces} == {type(None) if captured.undecomposed else MADE_OF[name]}
    if name == "rope":
        theirs = 10_000.0 ** (-torch.arange(0, 6, 2, dtype=torch.float64) / 6)
        torch.testing.assert_close(pieces[0].logits.theta_F, theirs)


# Encodings that nobody has registered ---------------------------------------------------------------------------------


class Stretched(Encoding):
    """Turns pairs by unlike angles, and queries grow where keys shrink."""

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        sites = context.query_positions_BQ, context.key_positions_BK
        one, other = (self.turn(x, at, sign) for x, at, sign in zip((q_BHQC, k_BHKC), sites, (0.1, -0.1), strict=True))
        return one, other

    @staticmethod
    def turn(x_BHTC: Tensor, positions_BT: Tensor, growth: float) -> Tensor:
        speed_F = torch.arange(1, x_BHTC.shape[-1] // 2 + 1)
        exponent_BTF = positions_BT[..., None] * torch.complex(growth / speed_F, 1.0 / speed_F).to(torch.complex128)
        pairs = torch.view_as_complex(x_BHTC.unflatten(-1, (-1, 2)).contiguous()) * exponent_BTF.exp()[:, None]
        return torch.view_as_real(pairs).flatten(-2)


class Rolled(Encoding):
    """A linear map of keys, with a bias beside it; queries stay as they are."""

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        mixed_BHKC = k_BHKC.roll(1, -1) * context.key_positions_BK[:, None, :, None]
        return q_BHQC, k_BHKC + 0.1 * mixed_BHKC

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return q_BHQC[..., :1] * context.lags_BHQK


class Crossed2(Disentangled):
    """Slots add, and ask contents for one channel after another."""

    def slot_part(self, q_BHQC: Tensor, context: Context) -> Tensor:
        return q_BHQC[..., :1] * context.lags_BHQK

    def position_queries(self, context: Context, dtype: torch.dtype) -> Tensor:
        return torch.eye(8, dtype=dtype)[lags_of(context) % 8].expand(2, -1, -1)


class Bowed(Encoding):
    """Not linear in the key."""

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        return q_BHQC, k_BHKC.tanh()


class Meeting(Encoding):
    """A bias for pairs of contents at a distance."""

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return (q_BHQC @ k_BHKC.mT) * context.lags_BHQK


def call_of(encoding: Encoding, *, causal: bool) -> AttentionCall:
    generator = torch.Generator().manual_seed(0)
    q_BHTC, k_BHTC = (torch.randn(1, 2, 10, 8, dtype=torch.float64, generator=generator) for _ in range(2))
    return AttentionCall("ours", encoding, q_BHTC, k_BHTC, Context.of(10, causal=causal))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("make", "kind"), [(Stretched, RotaryLogits), (Rolled, LinearLogits), (Crossed2, DisentangledLogits)]
)
def test_hooks_that_nobody_knows_are_read_too(make: Callable[[], Encoding], kind: type[Logits], causal: bool):
    call = call_of(make(), causal=causal)
    logits = decompose_call(call)(0, torch.arange(10), slice(0, 10))
    assert type(logits) is kind
    every_K = torch.arange(10)
    for shift in range(3):  # a content in every slot, as often as contents are moved along
        moved_BHTC = call.k_BHTC.roll(shift, dims=2)
        theirs_HQK = attention_rows(call.encoding, call.q_BHTC, moved_BHTC, call.context, every_K)[0]
        for query in range(10):
            ours_HK = logits.table(query, every_K.roll(shift), every_K).diagonal(dim1=1, dim2=2)
            ours_HK = ours_HK.masked_fill(~call.context.allowed_BHQK[0, 0, query], -torch.inf).softmax(-1)
            torch.testing.assert_close(ours_HK, theirs_HQK[:, query], **NEAR)


def test_queries_that_are_turned_otherwise_than_keys_keep_their_lengths():
    call = call_of(Stretched(), causal=True)
    logits = decompose_call(call)(0, torch.arange(10), slice(0, 10))
    assert isinstance(logits, RotaryLogits) and logits.query_phase_KF is not None
    torch.testing.assert_close(logits.theta_F, 1 / torch.arange(1.0, 5.0, dtype=torch.float64))
    lengths_HQF = torch.view_as_complex(call.q_BHTC[0].unflatten(-1, (-1, 2)).contiguous()).abs()
    torch.testing.assert_close(logits.query_HQF.abs(), lengths_HQF)


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        (Bowed(), "what ours does to a key is not a linear map that depends on its slot only"),
        (Meeting(), "what ours adds to a logit depends on content and slot together"),
    ],
)
def test_what_belongs_to_neither_contents_nor_slots_is_refused(encoding: Encoding, reason: str):
    with pytest.raises(UndecomposedError) as refused:
        decompose_call(call_of(encoding, causal=True))
    assert str(refused.value) == reason

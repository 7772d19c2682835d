"""The promises that every encoding keeps, walked over the whole registry in float64."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from cases import CASES, SHAPE, B, C, H, T
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.registry import ENCODINGS, encoding_for
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention, attend, attention_rows
from wherewhat.nets.past import Memory

Options = dict[str, object]


def ways(name: str, options: Options) -> list[bool]:
    """Causal, and both ways where the encoding has an answer for it."""
    return [True] if encoding_for(SHAPE, name, options).causal_only else [True, False]


def case_id(name: str, options: Options) -> str:
    return "-".join([name, *(f"{option}={value}" for option, value in options.items())])


every_case = pytest.mark.parametrize(("name", "options"), [pytest.param(*case, id=case_id(*case)) for case in CASES])
every_way = pytest.mark.parametrize(
    ("name", "options", "causal"),
    [
        pytest.param(*case, causal, id=f"{case_id(*case)}-{'causal' if causal else 'both ways'}")
        for case in CASES
        for causal in ways(*case)
    ],
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=generator(seed))


class Layer:
    """One attention layer with random float64 weights, and its encoding."""

    def __init__(self, name: str, options: Options) -> None:
        self.encoding: Encoding = encoding_for(SHAPE, name, options).double()
        self.encoding.reset_parameters(generator(5))
        for seed, parameter in enumerate(self.encoding.parameters()):  # many start where they do nothing
            parameter.data += 0.3 * random(*parameter.shape, seed=20 + seed)
        self.attention = SelfAttention(SHAPE.width, SHAPE.heads).double()
        for seed, weight in enumerate(self.attention.parameters()):
            weight.data = random(*weight.shape, seed=10 + seed) * SHAPE.width**-0.5

    def __call__(self, x_BTD: Tensor, context: Context, memory: Memory | None = None) -> Tensor:
        x_BTD = self.encoding.on_tokens(x_BTD, context.query_positions_BQ, 0)
        return self.attention(x_BTD, self.encoding, context, memory)

    def noted(self, context: Context) -> Context:
        """The context with notes of some tokens, for hooks that read them."""
        x_BTD = random(B, context.length, SHAPE.width, seed=9)
        return replace(context, notes=self.encoding.observe(x_BTD, context.real_BK))


def attend_explicitly(encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, context: Context) -> Tensor:
    return attention_rows(encoding, q, k, context, torch.arange(q.shape[2])) @ v


def assert_same(left: Tensor, right: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(left, right, rtol=0, atol=tolerance)


def differ(left: Tensor, right: Tensor) -> bool:
    return (left - right).abs().max().item() > 1e-3


def test_every_encoding_is_walked() -> None:
    assert {name for name, _ in CASES} == set(ENCODINGS)


@every_way
def test_output_has_the_shape_of_the_input(name: str, options: Options, causal: bool) -> None:
    x_BTD = random(B, T, H * C)
    assert Layer(name, options)(x_BTD, Context.of(T, causal=causal)).shape == x_BTD.shape


PADDINGS: dict[str, Callable[[Tensor], Tensor | None]] = {
    "unpadded": lambda slots_K: None,
    "left": lambda slots_K: torch.stack((slots_K >= 3, slots_K >= 0)),
    "right": lambda slots_K: torch.stack((slots_K < 7, slots_K >= 0)),
}


@every_way
@pytest.mark.parametrize("padding", PADDINGS)
def test_fused_and_explicit_agree(name: str, options: Options, causal: bool, padding: str) -> None:
    layer, x_BTD = Layer(name, options), random(B, T, H * C)
    context = Context.of(T, causal=causal, real_BK=PADDINGS[padding](torch.arange(T)))
    fused_BTD = layer(x_BTD, context)
    layer.attention.attend = attend_explicitly
    assert_same(fused_BTD, layer(x_BTD, context))


@every_case
def test_what_comes_later_changes_nothing_before(name: str, options: Options) -> None:
    layer, x_BTD, t = Layer(name, options), random(B, T, H * C), 6
    changed_BTD = x_BTD.clone()
    changed_BTD[:, t:] = random(B, T - t, H * C, seed=2)
    context = Context.of(T, causal=True)
    assert_same(layer(x_BTD, context)[:, :t], layer(changed_BTD, context)[:, :t], 1e-12)
    assert differ(layer(x_BTD, context)[:, t:], layer(changed_BTD, context)[:, t:])


@every_case
def test_a_prefix_is_read_alike_alone(name: str, options: Options) -> None:
    layer, x_BTD, t = Layer(name, options), random(B, T, H * C), 6
    assert_same(layer(x_BTD[:, :t], Context.of(t, causal=True)), layer(x_BTD, Context.of(T, causal=True))[:, :t])


@every_case
@pytest.mark.parametrize("pieces", [(1,) * T, (4, 1, 3, 3)], ids=["ones", "uneven"])
def test_reading_in_pieces_is_reading_at_once(name: str, options: Options, pieces: tuple[int, ...]) -> None:
    layer, x_BTD, memory = Layer(name, options), random(B, T, H * C), Memory()
    outs, end = [], 0
    for piece in pieces:
        end += piece
        outs.append(layer(x_BTD[:, end - piece : end], Context.of(end, causal=True, last=piece), memory))
    assert_same(torch.cat(outs, dim=1), layer(x_BTD, Context.of(T, causal=True)))


@every_way
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing_real(name: str, options: Options, causal: bool, side: str) -> None:
    layer, x_BTD, padding_BTD = Layer(name, options), random(B, T, H * C), 9 * random(B, 3, H * C, seed=3)
    parts = (padding_BTD, x_BTD) if side == "left" else (x_BTD, padding_BTD)
    real = slice(3, None) if side == "left" else slice(0, T)
    real_BK = torch.zeros(B, T + 3, dtype=torch.bool)
    real_BK[:, real] = True
    padded_BTD = layer(torch.cat(parts, dim=1), Context.of(T + 3, causal=causal, real_BK=real_BK))
    assert_same(padded_BTD[:, real], layer(x_BTD, Context.of(T, causal=causal)))
    assert padded_BTD.isfinite().all()


@every_way
def test_moving_the_text_changes_what_the_encoding_says(name: str, options: Options, causal: bool) -> None:
    layer, x_BTD, here = Layer(name, options), random(B, T, H * C), Context.of(T, causal=causal)
    there = replace(here, key_positions_BK=here.key_positions_BK + 13)
    if layer.encoding.shift_invariant:
        assert_same(layer(x_BTD, here), layer(x_BTD, there))
    else:
        assert differ(layer(x_BTD, here), layer(x_BTD, there))


@every_case
def test_reading_backwards_changes_what_the_encoding_says(name: str, options: Options) -> None:
    if encoding_for(SHAPE, name, options).causal_only:
        pytest.skip("only looks back")
    layer, x_BTD, context = Layer(name, options), random(B, T, H * C), Context.of(T, causal=False)
    forwards_BTD, backwards_BTD = layer(x_BTD, context), layer(x_BTD.flip(1), context).flip(1)
    if layer.encoding.mirror_invariant:
        assert_same(forwards_BTD, backwards_BTD)
    else:
        assert differ(forwards_BTD, backwards_BTD)


@every_case
def test_nothing_is_kept_between_calls(name: str, options: Options) -> None:
    layer = Layer(name, options)
    before = deepcopy(layer.encoding)
    for length in (5, 11, 5):
        x_BTD, context = random(B, length, H * C), Context.of(length, causal=True)
        assert torch.equal(layer(x_BTD, context), Layer(name, options)(x_BTD, context))
    assert all(torch.equal(old, new) for old, new in zip(held(before), held(layer.encoding), strict=True))
    assert plain(before) == plain(layer.encoding)


def held(encoding: Encoding) -> list[Tensor]:
    return [*encoding.parameters(), *encoding.buffers()]


def plain(encoding: Encoding) -> Options:
    return {
        name: value for name, value in vars(encoding).items() if name not in ("_parameters", "_buffers", "_modules")
    }


@every_case
def test_half_precision_keeps_exact_angles(name: str, options: Options) -> None:
    rounded = encoding_for(SHAPE, name, options).to(torch.bfloat16)
    exact = deepcopy(rounded).to(torch.float32)  # the same parameters, so that only what is made of positions differs
    far = 0 if name == "learned" else 1_995  # a number that bfloat16 cannot hold
    whole = Context.of(64, causal=True)
    context = replace(whole, key_positions_BK=whole.key_positions_BK + far)
    for hook in (tokens_after, queries_after, keys_after, bias_after):
        torch.testing.assert_close(
            hook(rounded, context, torch.bfloat16).float(),
            hook(exact, context, torch.float32),
            rtol=2**-6,
            atol=2**-6,
        )


def noted_rows(encoding: Encoding, context: Context, dtype: torch.dtype) -> Context:
    notes = encoding.observe(torch.ones(1, 64, H * C, dtype=dtype))
    return replace(context, notes=notes).rows(torch.tensor([0, 1, 40, 61, 63]))


def tokens_after(encoding: Encoding, context: Context, dtype: torch.dtype) -> Tensor:
    return encoding.on_tokens(torch.ones(1, 64, H * C, dtype=dtype), context.query_positions_BQ, 0)


def queries_after(encoding: Encoding, context: Context, dtype: torch.dtype) -> Tensor:
    ones_BHTC = torch.ones(1, H, 64, C, dtype=dtype)
    return encoding.on_query_key(ones_BHTC[:, :, :5], ones_BHTC, noted_rows(encoding, context, dtype))[0]


def keys_after(encoding: Encoding, context: Context, dtype: torch.dtype) -> Tensor:
    ones_BHTC = torch.ones(1, H, 64, C, dtype=dtype)
    return encoding.on_query_key(ones_BHTC[:, :, :5], ones_BHTC, noted_rows(encoding, context, dtype))[1]


def bias_after(encoding: Encoding, context: Context, dtype: torch.dtype) -> Tensor:
    ones_BHTC = torch.ones(1, H, 64, C, dtype=dtype)
    context = noted_rows(encoding, context, dtype)
    bias_BHQK = encoding.bias(ones_BHTC[:, :, :5], ones_BHTC, context)
    if bias_BHQK is None:
        return torch.zeros(1, dtype=dtype)
    assert bias_BHQK.dtype == dtype
    return bias_BHQK.masked_fill(~context.allowed_BHQK, 0)


@every_way
@pytest.mark.parametrize("way", [attend, attend_explicitly], ids=["fused", "explicit"])
def test_gradients_are_finite(name: str, options: Options, causal: bool, way: Callable[..., Tensor]) -> None:
    layer, x_BTD = Layer(name, options), random(B, T, H * C).requires_grad_()
    layer.attention.attend = way
    real_BK = PADDINGS["left"](torch.arange(T))
    layer(x_BTD, Context.of(T, causal=causal, real_BK=real_BK)).square().sum().backward()
    learned = dict(layer.encoding.named_parameters()) | dict(layer.attention.named_parameters()) | {"x": x_BTD}
    assert all(each.grad is not None and each.grad.isfinite().all() for each in learned.values())
    idle = {name for name, each in learned.items() if not each.grad.abs().max() > 0}
    assert idle <= ({"bell.free_s_H"} if causal else set())  # a decoder never sees the side of s


@every_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_gradients_are_finite_in_less_precision(name: str, options: Options, causal: bool, dtype: torch.dtype) -> None:
    layer, length = Layer(name, options), 40
    layer.encoding.to(dtype)
    layer.attention.to(dtype)
    x_BTD = random(B, length, H * C).to(dtype).requires_grad_()
    for real_BK in (None, torch.stack((torch.arange(length) >= 3, torch.arange(length) >= 0))):
        out_BTD = layer(x_BTD, Context.of(length, causal=causal, real_BK=real_BK))
        assert out_BTD.dtype == dtype
        out_BTD.square().sum().backward()
    learned = [x_BTD, *layer.attention.parameters(), *layer.encoding.parameters()]
    assert all(each.grad is not None and each.grad.isfinite().all() for each in learned)


@every_way
def test_autocast_stays_near_and_learns(name: str, options: Options, causal: bool) -> None:
    layer, length = Layer(name, options), 40
    layer.encoding.float()
    layer.attention.float()
    x_BTD = random(B, length, H * C).float().requires_grad_()
    context = Context.of(length, causal=causal)
    exact_BTD = layer(x_BTD, context)
    with torch.autocast("cpu", torch.bfloat16):
        rounded_BTD = layer(x_BTD, Context.of(length, causal=causal))
    assert (rounded_BTD.float() - exact_BTD).abs().mean() < 0.05 * exact_BTD.abs().mean()
    rounded_BTD.float().square().sum().backward()
    learned = [x_BTD, *layer.attention.parameters(), *layer.encoding.parameters()]
    assert all(each.grad is not None and each.grad.isfinite().all() for each in learned)


@every_case
def test_a_context_used_again_sees_parameters_as_they_are_now(name: str, options: Options) -> None:
    layer, x_BTD, context = Layer(name, options), random(B, T, H * C), Context.of(T, causal=True)
    for _ in range(2):
        fresh_BTD = layer(x_BTD, Context.of(T, causal=True))
        assert_same(layer(x_BTD, context), fresh_BTD, 1e-14)
        layer(x_BTD, context).sum().backward()
        for parameter in layer.encoding.parameters():
            parameter.data += 0.1


@every_way
def test_some_rows_are_the_same_rows_of_all(name: str, options: Options, causal: bool) -> None:
    layer, rows_Q = Layer(name, options), torch.tensor([7, 0, 10, 3])
    q_BHTC, k_BHTC = random(B, H, T, C, seed=6), random(B, H, T, C, seed=7)
    for padding in PADDINGS.values():
        context = layer.noted(Context.of(T, causal=causal, real_BK=padding(torch.arange(T))))
        all_BHQK = attention_rows(layer.encoding, q_BHTC, k_BHTC, context, torch.arange(T))
        some_BHQK = attention_rows(layer.encoding, q_BHTC, k_BHTC, context, rows_Q)
        assert_same(some_BHQK, all_BHQK[:, :, rows_Q], 1e-13)
        assert not some_BHQK[~context.rows(rows_Q).allowed_BHQK.expand_as(some_BHQK)].any()


@every_way
def test_attention_that_is_looked_at_in_pieces_is_the_same(
    name: str, options: Options, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x_BTD = Layer(name, options), random(B, T, H * C)
    context = Context.of(T, causal=causal, real_BK=PADDINGS["left"](torch.arange(T)))
    whole_BTD = layer(x_BTD, context)
    monkeypatch.setattr("wherewhat.nets.attention.EXPLICIT_ENTRIES", 3 * B * H * T)
    with torch.no_grad():
        assert_same(layer(x_BTD, context), whole_BTD, 1e-13)


@every_case
def test_the_record_tells_the_truth_about_kernel_and_parameters(name: str, options: Options) -> None:
    record, encoding = ENCODINGS[name], encoding_for(SHAPE, name, options)
    own = type(encoding)
    if own.attend is not Encoding.attend and encoding.fused:
        kernel = "its own"
    elif not encoding.fused:
        kernel = "explicit"
    else:
        kernel = "fused" if own.bias is Encoding.bias else "fused with a float bias"
    assert record.kernel == kernel
    if not options:
        assert record.parameters.startswith("none") == (not list(encoding.parameters()))
    assert record.direction.startswith("causal only") == record.cls.causal_only


class OnlyBack(Encoding):
    name = "only_back"
    causal_only = True


class OnlyShort(Encoding):
    name = "only_short"
    max_length = 3


def test_an_encoding_that_only_looks_back_is_refused_both_ways() -> None:
    q_BHTC, context = random(1, H, 4, C), Context.of(4, causal=False)
    sentence = "only_back only looks back and got a net that looks both ways; use it in a decoder"
    with pytest.raises(UserError, match=sentence):
        attend(OnlyBack(), q_BHTC, q_BHTC, q_BHTC, context)
    with pytest.raises(UserError, match=sentence):
        attention_rows(OnlyBack(), q_BHTC, q_BHTC, context, torch.tensor([0]))
    attend(OnlyBack(), q_BHTC, q_BHTC, q_BHTC, Context.of(4, causal=True))


def test_a_sequence_too_long_is_refused() -> None:
    q_BHTC, context = random(1, H, 4, C), Context.of(4, causal=True)
    sentence = "only_short tells at most 3 tokens apart and got 4; shorten the sequence or build it for longer ones"
    with pytest.raises(UserError, match=sentence):
        attend(OnlyShort(), q_BHTC, q_BHTC, q_BHTC, context)
    with pytest.raises(UserError, match=sentence):
        attention_rows(OnlyShort(), q_BHTC, q_BHTC, context, torch.tensor([0]))
    attend(OnlyShort(), q_BHTC[:, :, :3], q_BHTC[:, :, :3], q_BHTC[:, :, :3], Context.of(3, causal=True))


@every_case
def test_an_encoding_with_a_last_place_refuses_what_lies_beyond(name: str, options: Options) -> None:
    encoding = encoding_for(SHAPE, name, options)
    if encoding.max_length is None:
        return encoding.check(length=10**6)
    encoding.check(length=encoding.max_length)
    beyond = encoding.max_length + 1
    with pytest.raises(UserError, match=f"tells at most {encoding.max_length} tokens apart and got {beyond}; shorten"):
        encoding.check(length=beyond)


def test_a_position_beyond_a_learned_table_is_refused_even_in_a_short_text() -> None:
    encoding = encoding_for(replace(SHAPE, length=8), "learned", {})
    with pytest.raises(UserError, match="learned tells at most 8 tokens apart and got 9"):
        encoding.on_tokens(torch.zeros(1, 1, H * C), torch.tensor([[8]]), 0)
    encoding.on_tokens(torch.zeros(1, 1, H * C), torch.tensor([[7]]), 0)

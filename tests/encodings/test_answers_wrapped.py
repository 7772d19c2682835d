"""What the encodings that wrap another are known to do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.dape import Dape
from wherewhat.encodings.dape_v2 import DapeV2
from wherewhat.encodings.fire import Fire
from wherewhat.encodings.kerple import Kerple
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.registry import choices_of, encoding
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.toeplitz import Toeplitz
from wherewhat.encodings.urpe import Urpe
from wherewhat.encodings.wrapper import Wrapper
from wherewhat.errors import UserError
from wherewhat.nets.attention import attend, attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

B, T, H, C = 2, 9, 3, 8
WRAPPERS: dict[str, Callable[[Encoding], Wrapper]] = {
    "dape": lambda over: Dape(over, H, hidden=5),
    "dape_v2": lambda over: DapeV2(over, H, hidden=5),
    "dape_v2, published": lambda over: DapeV2(over, H, hidden=5, edge="published"),
    "urpe": lambda over: Urpe(over, H, length=16),
    "urpe, buckets": lambda over: Urpe(over, H, kind="bucket", buckets=4),
}
OVERS: dict[str, Callable[[], Encoding]] = {
    "none": NoPosition,
    "alibi": lambda: Alibi(H),
    "kerple": lambda: Kerple(H),
    "toeplitz": lambda: Toeplitz(H, length=16, sigma=0.5),
    "fire": lambda: Fire(H, threshold=4.0),
    "rope": lambda: Rope(C),
}
every_wrapper = pytest.mark.parametrize("wrapper", WRAPPERS)
every_over = pytest.mark.parametrize("over", OVERS)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def shaken(made: Encoding) -> Encoding:
    """The encoding with parameters from N(0, 1), so that nothing is small."""
    made = made.double()
    for seed, parameter in enumerate(made.parameters()):
        parameter.data = random(*parameter.shape, seed=seed)
    return made


def all_rows(made: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, context: Context | None = None) -> Tensor:
    context = context or Context.of(q_BHTC.shape[2], causal=True)
    return attention_rows(made, q_BHTC, k_BHTC, context, torch.arange(q_BHTC.shape[2])).detach()


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-11)


@pytest.fixture
def q_and_k() -> tuple[Tensor, Tensor]:
    return random(B, H, T, C, seed=20), random(B, H, T, C, seed=21)


# What they reduce to


@every_over
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("wrapper", ["dape", "dape_v2", "dape_v2, published"])
def test_with_a_last_layer_of_zeros_dape_is_what_it_wraps(
    q_and_k: tuple[Tensor, Tensor], wrapper: str, over: str, causal: bool
) -> None:
    wrapped = shaken(WRAPPERS[wrapper](OVERS[over]()))
    assert isinstance(wrapped, Dape | DapeV2)
    if wrapped.causal_only and not causal:
        return
    context = Context.of(T, causal=causal)
    assert not same(all_rows(wrapped, *q_and_k, context), all_rows(wrapped.over, *q_and_k, context))
    wrapped.outer.weight.data.zero_()
    assert same(all_rows(wrapped, *q_and_k, context), all_rows(wrapped.over, *q_and_k, context))


@every_over
@pytest.mark.parametrize("edge", ["consistent", "published"])
@pytest.mark.parametrize("padded", [False, True])
def test_with_a_kernel_of_one_key_dape_v2_is_dape(
    q_and_k: tuple[Tensor, Tensor], over: str, edge: str, padded: bool
) -> None:
    first, second = Dape(OVERS[over](), H), DapeV2(OVERS[over](), H, kernel=1, edge=edge)
    shaken(first)
    own = ("inner.weight", "outer.weight")
    weights = {name: each[..., None, None] if name in own else each for name, each in first.state_dict().items()}
    second.double().load_state_dict(weights)
    real_BK = torch.arange(T) >= torch.tensor([[2], [0]]) if padded else None
    for causal in (True,) if first.causal_only else (True, False):
        context = Context.of(T, causal=causal, real_BK=real_BK)
        assert same(all_rows(first, *q_and_k, context), all_rows(second, *q_and_k, context))


@every_over
@pytest.mark.parametrize("wrapper", ["urpe", "urpe, buckets"])
def test_with_factors_of_one_urpe_is_what_it_wraps(q_and_k: tuple[Tensor, Tensor], wrapper: str, over: str) -> None:
    urpe = WRAPPERS[wrapper](OVERS[over]()).double()
    assert torch.equal(all_rows(urpe, *q_and_k), all_rows(urpe.over, *q_and_k))
    assert not same(all_rows(shaken(urpe), *q_and_k), all_rows(urpe.over, *q_and_k))


@pytest.mark.parametrize("wrapper", ["urpe", "urpe, buckets"])
def test_urpe_is_linear_in_its_factors(q_and_k: tuple[Tensor, Tensor], wrapper: str) -> None:
    urpe = WRAPPERS[wrapper](Alibi(H)).double()
    assert isinstance(urpe, Urpe)
    one_RH, two_RH = random(*urpe.table_RH.shape), random(*urpe.table_RH.shape, seed=1)

    def with_factors(table_RH: Tensor) -> Tensor:
        urpe.table_RH.data = table_RH
        return all_rows(urpe, *q_and_k, Context.of(T, causal=False))

    assert same(with_factors(3 * one_RH - two_RH), 3 * with_factors(one_RH) - with_factors(two_RH))


# What they compute, by plain loops


def dape_by_hand(made: Any, logits_HQK: Tensor, bias_HQK: Tensor) -> Tensor:
    out_HQK = logits_HQK + bias_HQK
    for i in range(T):
        for j in range(T):
            seen = [*logits_HQK[:, i, j].tolist(), *bias_HQK[:, i, j].tolist()]
            units = [b + sum(w * x for w, x in zip(row, seen, strict=True)) for row, b in rows_of(made.inner)]
            units = [unit if unit > 0 else 0.01 * unit for unit in units]
            for head, (row, b) in enumerate(rows_of(made.outer)):
                out_HQK[head, i, j] += b + sum(w * unit for w, unit in zip(row, units, strict=True))
    return out_HQK


def rows_of(layer: torch.nn.Linear) -> list[tuple[list[float], float]]:
    return list(zip(layer.weight.tolist(), layer.bias.tolist(), strict=True))


def test_dape_by_hand(q_and_k: tuple[Tensor, Tensor]) -> None:
    q, k = (each[:1] for each in q_and_k)
    dape, context, logits_BHQK = shaken(Dape(Alibi(H), H, hidden=4)), Context.of(T, causal=False), q @ k.mT
    bias_BHQK = Alibi(H).bias(q, k, context)
    by_hand_HQK = dape_by_hand(dape, logits_BHQK[0], bias_BHQK[0])
    assert same(dape.on_logits(logits_BHQK, q, k, context)[0], by_hand_HQK)


def dape_v2_by_hand(made: Any, logits_HQK: Tensor, bias_HQK: Tensor, causal: bool) -> Tensor:
    """One text without padding. Beyond its end a decoder has hidden channels of zeros, and an encoder has none."""
    stacked_HQK, (_, rows, keys) = torch.cat((logits_HQK, bias_HQK)), logits_HQK.shape
    inner, outer, reach = made.inner.weight[:, :, 0].detach(), made.outer.weight[:, :, 0].detach(), made.reach
    out_HQK: Tensor = logits_HQK + bias_HQK + made.outer.bias.detach()[:, None, None]
    for i in range(rows):
        last = i if causal else keys - 1
        hidden: dict[int, Tensor] = {}
        for j in range(keys + reach if causal else keys):
            total = made.inner.bias.detach().clone()
            for step in range(-reach, reach + 1):
                if 0 <= j + step <= last:
                    total += inner[:, :, step + reach] @ stacked_HQK[:, i, j + step]
            hidden[j] = torch.where(total > 0, total, 0.01 * total)
        for j in range(last + 1):
            for step in range(-reach, reach + 1):
                if j + step in hidden:
                    out_HQK[:, i, j] += outer[:, :, step + reach] @ hidden[j + step]
    return out_HQK


REAL = {
    "unpadded": [1, 1, 1, 1, 1, 1, 1, 1, 1],
    "left": [0, 0, 0, 1, 1, 1, 1, 1, 1],
    "right": [1, 1, 1, 1, 1, 1, 1, 0, 0],
    "between": [0, 1, 1, 0, 1, 0, 0, 1, 1],
}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("padding", REAL)
def test_dape_v2_by_hand_wherever_padding_stands(
    q_and_k: tuple[Tensor, Tensor], padding: str, kernel: int, causal: bool
) -> None:
    made = shaken(DapeV2(Alibi(H), H, hidden=4, kernel=kernel))
    real_BK = torch.tensor([REAL[padding], REAL["unpadded"]], dtype=torch.bool)
    attention_BHQK = all_rows(made, *q_and_k, Context.of(T, causal=causal, real_BK=real_BK))
    for text, real_K in enumerate(real_BK):
        q_HTC, k_HTC = (each[text][:, real_K] for each in q_and_k)
        context = Context.of(q_HTC.shape[1], causal=causal)
        bias_HQK = Alibi(H).bias(q_HTC[None], k_HTC[None], context)[0]
        logits_HQK = dape_v2_by_hand(made, q_HTC @ k_HTC.mT * C**-0.5, bias_HQK, causal)
        by_hand_HQK = logits_HQK.masked_fill(~context.allowed_BHQK[0], -torch.inf).softmax(-1)
        assert same(attention_BHQK[text][:, real_K][:, :, real_K], by_hand_HQK)
        assert not attention_BHQK[text][:, :, ~real_K].any()


@pytest.mark.parametrize("kind", ["offset", "bucket"])
@pytest.mark.parametrize("causal", [True, False])
def test_urpe_by_hand(q_and_k: tuple[Tensor, Tensor], kind: str, causal: bool) -> None:
    urpe, context = shaken(Urpe(Alibi(H), H, length=T + 2, kind=kind, buckets=4)), Context.of(T, causal=causal)
    before_BHQK, after_BHQK = all_rows(Alibi(H), *q_and_k, context), all_rows(urpe, *q_and_k, context)
    assert isinstance(urpe, Urpe)
    for i in range(T):
        for j in range(i + 1 if causal else T):
            bucket = min(i - j, 1) if j <= i else 2 + min(j - i, 1)
            factor_H = urpe.table_RH[bucket if kind == "bucket" else j - i + T + 1]
            assert same(after_BHQK[:, :, i, j], before_BHQK[:, :, i, j] * factor_H)


# What they can and cannot see


@every_over
@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("edge", ["consistent", "published"])
def test_dape_v2_does_not_see_ahead(q_and_k: tuple[Tensor, Tensor], over: str, kernel: int, edge: str) -> None:
    made, (q, k), now = shaken(DapeV2(OVERS[over](), H, kernel=kernel, edge=edge)), q_and_k, 5
    later = k.clone()
    later[:, :, now + 1 :] = 50 * random(B, H, T - now - 1, C, seed=9)
    assert torch.equal(all_rows(made, q, k)[:, :, : now + 1], all_rows(made, q, later)[:, :, : now + 1])
    assert not same(all_rows(made, q, k), all_rows(made, q, later))


@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_the_published_edge_changes_the_last_queries_of_a_decoder_alone(
    q_and_k: tuple[Tensor, Tensor], kernel: int
) -> None:
    ours, theirs = (shaken(DapeV2(Alibi(H), H, kernel=kernel, edge=edge)) for edge in ("consistent", "published"))
    differences_Q = (all_rows(ours, *q_and_k) - all_rows(theirs, *q_and_k)).abs().amax((0, 1, 3))
    assert differences_Q[: T - kernel // 2].max() < 1e-12 and differences_Q[T - kernel // 2 :].min() > 1e-5
    both_ways = Context.of(T, causal=False)
    assert torch.equal(all_rows(ours, *q_and_k, both_ways), all_rows(theirs, *q_and_k, both_ways))


@pytest.mark.parametrize(("edge", "holds"), [("consistent", True), ("published", False)])
def test_a_decoder_with_the_published_edge_reads_the_end_differently(
    q_and_k: tuple[Tensor, Tensor], edge: str, holds: bool
) -> None:
    made, (q, k), end = shaken(DapeV2(Alibi(H), H, edge=edge)), q_and_k, 6
    whole_BHQK = all_rows(made, q, k)[:, :, :end, :end]
    prefix_BHQK = all_rows(made, q[:, :, :end], k[:, :, :end])
    assert same(whole_BHQK, prefix_BHQK) == holds
    assert same(whole_BHQK[:, :, :-1], prefix_BHQK[:, :, :-1])
    newest = Context.of(end, causal=True, last=1)
    decoded_BHQK = attention_rows(made, q[:, :, end - 1 : end], k[:, :, :end], newest, torch.tensor([0]))
    assert same(whole_BHQK[:, :, -1:], decoded_BHQK) == holds


@every_over
def test_only_urpe_tells_equal_tokens_apart(over: str) -> None:
    equal_BHTC, v_BHTC = random(1, H, 1, C).expand(1, H, T, C), random(1, H, 1, C, seed=1).expand(1, H, T, C)
    urpe, context = shaken(Urpe(OVERS[over](), H, length=16)), Context.of(T, causal=True)
    assert isinstance(urpe, Urpe)
    plain_BHTC = attend(urpe.over, equal_BHTC, equal_BHTC, v_BHTC, context)
    told_BHTC = attend(urpe, equal_BHTC, equal_BHTC, v_BHTC, context)
    assert plain_BHTC.std(2).max() < 1e-12
    assert told_BHTC.std(2).max() > 0.1


def test_urpe_reads_as_far_as_both_can() -> None:
    assert Urpe(Alibi(H), H, length=7).max_length == 7
    assert Urpe(Toeplitz(H, length=5), H, length=7).max_length == 5
    assert Urpe(Toeplitz(H, length=9), H, length=7).max_length == 7
    assert Urpe(Toeplitz(H, length=5), H, length=7, kind="bucket").max_length == 5
    assert Urpe(Alibi(H), H, length=7, kind="bucket").max_length is None


# What a wrapper owes the one it wraps


class Odd(Encoding):
    """Every fact and every hook unlike the usual."""

    causal_only, max_length, scale, token_sigma = True, 77, 3.5, 0.7
    shift_invariant, mirror_invariant, bias_by_slot, shared = False, True, True, False

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        return x_BTD + positions_BT[..., None] + block

    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Any = None) -> dict[str, Tensor]:
        return {"seen": x_BTD}

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        return 2 * q_BHQC, 3 * k_BHKC

    def attend(self, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
        return torch.zeros_like(q_BHQC)

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return torch.arange(context.length, dtype=q_BHQC.dtype)[None, None, None]  # the same for all heads and queries


FACTS = ("causal_only", "max_length", "scale", "token_sigma", "shift_invariant")


@every_wrapper
def test_facts_and_hooks_are_those_of_the_wrapped(q_and_k: tuple[Tensor, Tensor], wrapper: str) -> None:
    odd, (q, k), context = Odd(), q_and_k, Context.of(T, causal=True)
    wrapped = WRAPPERS[wrapper](odd).double()
    wrapped.max_length = wrapped.over.max_length  # the wrapper's own is tried above
    assert [getattr(wrapped, fact) for fact in FACTS] == [getattr(odd, fact) for fact in FACTS]
    assert wrapped.mirror_invariant == (wrapper == "dape")
    x_BTD, positions_BT = random(B, T, 4), torch.arange(T)[None]
    assert torch.equal(wrapped.on_tokens(x_BTD, positions_BT, 1), odd.on_tokens(x_BTD, positions_BT, 1))
    assert torch.equal(wrapped.observe(x_BTD)["seen"], x_BTD)
    ours, theirs = wrapped.on_query_key(q, k, context), odd.on_query_key(q, k, context)
    assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])
    assert not wrapped.fused and wrapped.attend(q, k, k, context) is None
    assert same(attend(wrapped, q, k, k, context), all_rows(wrapped, q, k, context) @ k)


def test_a_bias_that_is_the_same_for_all_heads_and_queries_is_read_like_any_other(
    q_and_k: tuple[Tensor, Tensor],
) -> None:
    class Written(Odd):
        def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
            return super().bias(q_BHQC, k_BHKC, context).expand(len(q_BHQC), H, q_BHQC.shape[2], -1).clone()

    for name, make in WRAPPERS.items():
        assert same(all_rows(shaken(make(Odd())), *q_and_k), all_rows(shaken(make(Written())), *q_and_k)), name


@every_wrapper
def test_wrapping_leaves_the_wrapped_as_it_was_and_drawing_draws_both(wrapper: str) -> None:
    over = Toeplitz(H, length=16)
    over.table_OH.data.fill_(5.0)
    before = torch.random.get_rng_state()
    wrapped = WRAPPERS[wrapper](over)
    assert wrapped.over is over and (over.table_OH == 5).all()
    wrapped.reset_parameters(torch.Generator().manual_seed(1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert 0.01 < over.table_OH.std() < 0.03


@pytest.mark.parametrize("made", [Dape(Alibi(8), 8), DapeV2(Alibi(8), 8, kernel=5)], ids=["dape", "dape_v2"])
def test_dape_starts_as_pytorch_would_start_it(made: Any) -> None:
    for layer in (made.inner, made.outer):
        bound = layer.weight[0].numel() ** -0.5
        assert 0.9 * bound < layer.weight.abs().max() <= bound
        assert 0 < layer.bias.abs().max() <= bound


CONFIG = NetConfig(vocabulary=7, width=H * C, layers=3, heads=H, length=16)


def wrappers_in_a_net(name: str, **options: object) -> list[Any]:
    net = build(replace(CONFIG, encoding=name, encoding_options=options))
    return [net.encoding(block) for block in range(3)]


@pytest.mark.parametrize("name", ["dape", "dape_v2"])
@pytest.mark.parametrize(("over", "shared"), [("kerple", True), ("fire", False)])
def test_every_block_has_its_own_dape_and_shares_what_is_shared(name: str, over: str, shared: bool) -> None:
    blocks = wrappers_in_a_net(name, over=over)
    assert len({block.inner.weight.sum().item() for block in blocks}) == 3
    assert len({id(block.over) for block in blocks}) == (1 if shared else 3)


@pytest.mark.parametrize(("over", "shared"), [("kerple", True), ("fire", False)])
def test_all_blocks_have_the_same_factors(over: str, shared: bool) -> None:
    blocks = wrappers_in_a_net("urpe", over=over)
    assert len({id(block.table_RH) for block in blocks}) == 1
    assert len({id(block) for block in blocks}) == len({id(block.over) for block in blocks}) == (1 if shared else 3)


def test_a_part_that_the_wrapped_shares_is_shared() -> None:
    blocks = wrappers_in_a_net("dape", over="deberta")
    names = [{id(each) for each in block.over.parameters()} for block in blocks]
    assert len(set.intersection(*names)) == 1 < len(names[0])


@pytest.mark.parametrize("name", ["dape", "dape_v2", "urpe"])
def test_a_bias_that_all_blocks_share_is_worked_out_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, bias = [], Kerple.bias

    def counted(self: Kerple, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        calls.append(self)
        return bias(self, q_BHQC, k_BHKC, context)

    monkeypatch.setattr(Kerple, "bias", counted)
    net = build(replace(CONFIG, encoding=name, encoding_options={"over": "kerple"}))
    net(torch.zeros(1, 5, dtype=torch.long)).sum().backward()
    assert len(calls) == 1


# What they refuse

ONLY = (
    "which itself changes logits or attention; "
    "wrap one that leaves both alone, such as alibi, kerple, fire, none or rope"
)
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("dape", {"over": "cope", "over_options": {"head_dim": 8}}, f"dape cannot wrap cope, {ONLY}"),
    ("dape", {"over": "dape"}, f"dape cannot wrap dape, {ONLY}"),
    ("dape_v2", {"over": "urpe"}, f"dape_v2 cannot wrap urpe, {ONLY}"),
    ("urpe", {"over": "dape_v2"}, f"urpe cannot wrap dape_v2, {ONLY}"),
    (
        "dape",
        {"heads": 0, "over": "none"},
        "dape needs at least one head and one hidden unit, got 0 heads and hidden 32",
    ),
    ("dape", {"hidden": 0}, "dape needs at least one head and one hidden unit, got 3 heads and hidden 0"),
    ("dape_v2", {"hidden": 0}, "dape_v2 needs at least one head and one hidden channel, got 3 heads and hidden 0"),
    ("dape_v2", {"kernel": 4}, "the kernel of dape_v2 must be odd, so that it has a middle, got 4; 3 is usual"),
    ("dape_v2", {"kernel": -1}, "the kernel of dape_v2 must be odd, so that it has a middle, got -1; 3 is usual"),
    ("dape_v2", {"edge": "publish"}, "unknown edge 'publish'; did you mean 'published'? known: consistent, published"),
    (
        "urpe",
        {"over": "none", "length": 0},
        "urpe needs at least one head and a length of at least 1, got 3 heads and 0",
    ),
    ("urpe", {"kind": "offsets"}, "unknown kind of urpe 'offsets'; did you mean 'offset'? known: bucket, offset"),
    ("urpe", {"buckets": 5}, "buckets must be even and at least 4, half of them for each side; got 5"),
    (
        "dape",
        {"over_options": {"kinds": "log"}},
        "encoding 'kerple' takes no option 'kinds'; did you mean 'kind'? it takes: heads, kind",
    ),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS, ids=[sentence for _, _, sentence in REFUSALS])
def test_refusals(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        encoding(name, **{"heads": H, **options})
    assert str(refusal.value) == sentence


def test_an_unknown_encoding_cannot_be_wrapped() -> None:
    with pytest.raises(UserError, match="^unknown encoding 'alibbi'; did you mean 'alibi'"):
        encoding("dape", heads=H, over="alibbi")


def test_what_the_wrapped_refuses_is_refused_in_its_name() -> None:
    with pytest.raises(UserError, match="^fire only looks back and got a net that looks both ways"):
        replace(CONFIG, kind="encoder", encoding="dape", encoding_options={"over": "fire"})
    with pytest.raises(UserError, match="^toeplitz tells at most 4 tokens apart and got 5"):
        Urpe(Toeplitz(H, length=4), H, length=8).check(length=5)
    with pytest.raises(UserError, match="^urpe tells at most 4 tokens apart and got 5"):
        Urpe(Toeplitz(H, length=8), H, length=4).check(length=5)


def test_the_wrapped_is_named_among_the_options() -> None:
    assert choices_of("dape") == {"over": "kerple", "over_options": {}, "hidden": 32}

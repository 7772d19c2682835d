"""What encodings that turn queries and keys are known to do, by hand and by algebra."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.band_rope import BandRope
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.carope import CaRope
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.p_rope import PRope
from wherewhat.encodings.registry import encoding
from wherewhat.encodings.rollpe import RollPE
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.rotary import frequencies
from wherewhat.encodings.scalings import SCALINGS, Yarn, scaling_of
from wherewhat.encodings.untwist import Untwist
from wherewhat.encodings.xpos import XPos
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention, attend
from wherewhat.nets.past import Memory

T, H, C = 9, 3, 8
LADDER_F = frequencies(width=C, base=10_000, dtype=torch.float64)
both_layouts = pytest.mark.parametrize("layout", ["half", "interleaved"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def same(left: Tensor, right: Tensor, tolerance: float = 1e-12) -> bool:
    return torch.allclose(left, right, rtol=0, atol=tolerance)


def turned(encoding: Encoding, x_BHTC: Tensor) -> Tensor:
    """Queries after the encoding."""
    return encoding.on_query_key(x_BHTC, x_BHTC, Context.of(x_BHTC.shape[2], causal=True))[0]


def products(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, context: Context | None = None) -> Tensor:
    """q·k of every query and key after the encoding, without scale or mask."""
    q_turned, k_turned = encoding.on_query_key(q_BHTC, k_BHTC, context or Context.of(q_BHTC.shape[2], causal=True))
    return q_turned @ k_turned.mT


def shares_by_loop(q_BHTC: Tensor, k_BHTC: Tensor, theta_F: list[float]) -> Tensor:
    """share_FBHQK, what each pair (m, m + C/2) adds to q·k, number by number."""
    texts, heads, tokens, channels = q_BHTC.shape
    shares = torch.zeros(channels // 2, texts, heads, tokens, tokens, dtype=torch.float64)
    for m, b, h, i, j in torch.ones_like(shares).nonzero().tolist():
        a, c = q_BHTC[b, h, i, m].item(), q_BHTC[b, h, i, m + channels // 2].item()
        d, e = k_BHTC[b, h, j, m].item(), k_BHTC[b, h, j, m + channels // 2].item()
        angle = (i - j) * theta_F[m]
        shares[m, b, h, i, j] = (a * d + c * e) * math.cos(angle) + (a * e - c * d) * math.sin(angle)
    return shares


Q, K = random(1, H, T, C, seed=1), random(1, H, T, C, seed=2)
THETAS = [10_000 ** (-m / 4) for m in range(4)]
SHARES = shares_by_loop(Q, K, THETAS)


# rope


@both_layouts
def test_turning_keeps_lengths_and_leaves_the_first_token(layout: str) -> None:
    x_BHTC = random(1, H, T, C)
    turned_BHTC = turned(Rope(C, layout=layout), x_BHTC)
    assert same(turned_BHTC.norm(dim=-1), x_BHTC.norm(dim=-1))
    assert torch.equal(turned_BHTC[:, :, 0], x_BHTC[:, :, 0])
    assert not same(turned_BHTC[:, :, 1], x_BHTC[:, :, 1])


def test_the_two_layouts_are_one_rotation_in_two_orders() -> None:
    x_BHTC = random(1, H, T, C)
    order_C = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    half_BHTC = turned(Rope(C, layout="half"), x_BHTC[..., order_C])
    assert same(half_BHTC, turned(Rope(C, layout="interleaved"), x_BHTC)[..., order_C])


@both_layouts
def test_partial_rotation_turns_the_first_channels_as_a_narrower_head_would(layout: str) -> None:
    x_BHTC = random(1, H, T, 7)
    partial_BHTC = turned(Rope(7, layout=layout, rotary_dim=4), x_BHTC)
    assert torch.equal(partial_BHTC[..., 4:], x_BHTC[..., 4:])
    assert same(partial_BHTC[..., :4], turned(Rope(4, layout=layout), x_BHTC[..., :4]))


def test_rope_adds_up_what_each_frequency_says() -> None:
    assert same(products(Rope(C), Q, K), SHARES.sum(0))


def test_cosines_are_made_once_for_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Tensor] = []
    cos: Callable[[Tensor], Tensor] = Tensor.cos
    monkeypatch.setattr(Tensor, "cos", lambda self: made.append(self) or cos(self))
    context, rope = Context.of(T, causal=True), Rope(C)
    for _ in range(3):  # blocks
        rope.on_query_key(Q, K, context)
    assert len(made) == 1


def test_a_context_copied_with_other_positions_turns_by_those() -> None:
    here, rope = Context.of(T, causal=True), Rope(C)
    first_BHTC, _ = rope.on_query_key(Q, K, here)
    there = replace(here, key_positions_BK=here.key_positions_BK + 3)
    assert not same(rope.on_query_key(Q, K, there)[0], first_BHTC)
    assert torch.equal(rope.on_query_key(Q, K, here)[0], first_BHTC)


# scalings

UNSCALED: dict[str, dict[str, Any]] = {
    "linear": {"factor": 1},
    "ntk": {"factor": 1},
    "dynamic": {"factor": 1, "original_length": T},
    "yarn": {"factor": 1, "original_length": 64},
    "llama3": {"factor": 1, "original_length": 64},
    "longrope": {"factor": 1, "original_length": 64, "short_factor": [1.0] * 4, "long_factor": [1.0] * 4},
}


@pytest.mark.parametrize("kind", SCALINGS)
def test_a_scaling_by_one_is_plain_rope(kind: str) -> None:
    scaled = Rope(C, scaling={"kind": kind, **UNSCALED[kind]})
    assert same(products(scaled, Q, K), products(Rope(C), Q, K))


@pytest.mark.parametrize("original_length", [2, 64, 512, 4096, 10**6])
@pytest.mark.parametrize("truncate", [True, False])
def test_yarn_keeps_fast_frequencies_and_divides_slow_ones(original_length: int, truncate: bool) -> None:
    ladder_F = frequencies(width=64, base=10_000, dtype=torch.float64)
    yarn = Yarn(16, original_length, truncate=truncate)
    ratio_F = yarn.theta(ladder_F, base=10_000, length=1) / ladder_F
    assert (ratio_F.diff() <= 1e-15).all()
    assert same(ratio_F.max(), torch.tensor(1.0).double())
    if original_length <= 4096:  # else even the slowest turn round often enough
        assert same(ratio_F.min(), torch.tensor(1 / 16).double())


def test_the_worked_ramp_of_yarn() -> None:
    ladder_F = frequencies(width=64, base=10_000, dtype=torch.float64)
    yarn = Yarn(16, 4096)
    ratio_F = yarn.theta(ladder_F, base=10_000, length=1) / ladder_F
    assert (ratio_F[:11] == 1).all() and ratio_F[11] < 1
    assert ratio_F[22] > 1 / 16 and same(ratio_F[23:], torch.full((9,), 1 / 16).double())
    assert yarn.gain == pytest.approx(1.27725887, abs=1e-8)


def test_llama3_keeps_blends_and_divides() -> None:
    ladder_F = frequencies(width=128, base=5e5, dtype=torch.float64)
    ratio_F = scaling_of({"kind": "llama3"}, width=128, base=5e5).theta(ladder_F, base=5e5, length=1) / ladder_F
    kept, divided = (int(torch.isclose(ratio_F, torch.tensor(end).double()).sum()) for end in (1.0, 1 / 8))
    assert (kept, 64 - kept - divided, divided) == (29, 6, 29)


def test_ntk_is_rope_with_a_larger_base() -> None:
    scaled = Rope(C, scaling={"kind": "ntk", "factor": 4})
    assert same(products(scaled, Q, K), products(Rope(C, base=10_000 * 4 ** (8 / 6)), Q, K))
    narrow = Rope(2, scaling={"kind": "ntk", "factor": 4})  # its one frequency is the fastest, which stays
    assert same(products(narrow, Q[..., :2], K[..., :2]), products(Rope(2), Q[..., :2], K[..., :2]))


def test_linear_is_rope_at_positions_closer_together() -> None:
    at_every_fourth = replace(Context.of(T, causal=True), key_positions_BK=4 * torch.arange(T)[None])
    scaled = Rope(C, scaling={"kind": "linear", "factor": 4})
    assert same(products(scaled, Q, K, at_every_fourth), products(Rope(C), Q, K))


def test_logits_grow_by_the_square_of_the_gain_where_channels_turn() -> None:
    scaling = {"kind": "longrope", "factor": 32, "original_length": 4096, "short_factor": [1.0] * 2}
    encoding = Rope(C, rotary_dim=4, scaling={**scaling, "long_factor": [1.0] * 2})
    gain = math.sqrt(1 + math.log(32) / math.log(4096))
    x_BHTC = random(1, H, T, C)
    plain_BHTC, scaled_BHTC = turned(Rope(C, rotary_dim=4), x_BHTC), turned(encoding, x_BHTC)
    assert same(scaled_BHTC[..., :4], gain * plain_BHTC[..., :4])
    assert torch.equal(scaled_BHTC[..., 4:], x_BHTC[..., 4:])


LENGTHS: dict[str, dict[str, Any]] = {
    "dynamic": {"factor": 2.0, "original_length": 5},
    "longrope": {"factor": 2.0, "original_length": 5, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_some_scalings_look_at_the_length_of_the_text(kind: str) -> None:
    encoding = Rope(C, scaling={"kind": kind, **LENGTHS[kind]})
    gain, plain = encoding.gains(Context.of(1, causal=True), torch.float64)[0], Rope(C)
    for length, unscaled in ((4, True), (5, True), (6, False), (9, False)):
        ours = products(encoding, Q[:, :, :length], K[:, :, :length])
        theirs = products(plain, Q[:, :, :length], K[:, :, :length]) * gain**2
        assert same(ours, theirs) == unscaled


@pytest.mark.parametrize("kind", LENGTHS)
def test_padding_does_not_make_a_text_longer(kind: str) -> None:
    encoding = Rope(C, scaling={"kind": kind, **LENGTHS[kind]})
    real_BK = torch.arange(T)[None] >= 4
    padded = products(encoding, Q, K, Context.of(T, causal=True, real_BK=real_BK))
    assert same(padded[:, :, 4:, 4:], products(encoding, Q[:, :, 4:], K[:, :, 4:]))


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_fixed_length_holds_for_every_text(kind: str) -> None:
    free, fixed = ({"kind": kind, **LENGTHS[kind], **more} for more in ({}, {"length": T}))
    long = products(Rope(C, scaling=free), Q, K)
    assert same(products(Rope(C, scaling=fixed), Q[:, :, :3], K[:, :, :3]), long[:, :, :3, :3])


# some frequencies


def test_p_rope_lies_between_no_position_and_rope() -> None:
    assert same(products(PRope(C, p=1.0), Q, K), products(Rope(C), Q, K))
    assert same(products(PRope(C, p=0.0), Q, K), products(NoPosition(), Q, K))
    assert same(products(BandRope(C), Q, K), products(Rope(C), Q, K))
    assert same(products(BandRope(C, drop="low:1"), Q, K), products(NoPosition(), Q, K))


@both_layouts
def test_keeping_is_dropping_the_others(layout: str) -> None:
    kept = products(BandRope(C, keep="index:0,3", layout=layout), Q, K)
    assert same(kept, products(BandRope(C, drop="index:1-2", layout=layout), Q, K))
    assert same(
        products(PRope(C, p=0.5, layout=layout), Q, K), products(BandRope(C, keep="high:0.5", layout=layout), Q, K)
    )


@pytest.mark.parametrize("dropped", [[0], [3], [1, 2], [0, 1, 2, 3]])
def test_a_dropped_frequency_says_at_every_distance_what_it_says_at_none(dropped: list[int]) -> None:
    encoding = BandRope(C, drop="index:" + ",".join(map(str, dropped)))
    still = shares_by_loop(Q, K, [0.0] * 4)
    assert same(products(encoding, Q, K), SHARES.sum(0) - (SHARES - still)[dropped].sum(0))


@pytest.mark.parametrize(
    ("p", "end", "turning"), [(0.5, "high", [0, 1]), (0.5, "low", [2, 3]), (0.75, "low", [1, 2, 3])]
)
def test_p_rope_keeps_the_frequencies_of_rope(p: float, end: str, turning: list[int]) -> None:
    theta_F = PRope(C, p=p, end=end).theta(LADDER_F, Context.of(T, causal=True))
    assert [m for m in range(4) if theta_F[m] != 0] == turning
    assert torch.equal(theta_F[turning], LADDER_F[turning])


def test_p_rope_is_not_a_partial_rotation() -> None:
    ladder_F = frequencies(width=64, base=10_000, dtype=torch.float64)
    theta_F = PRope(64).theta(ladder_F, Context.of(T, causal=True))
    assert theta_F[theta_F > 0].min().item() == pytest.approx(1.33352e-3, rel=1e-5)
    assert frequencies(width=48, base=10_000, dtype=torch.float64).min().item() == pytest.approx(1.46780e-4, rel=1e-5)


@pytest.mark.parametrize("period", [3, 5])
def test_one_frequency_has_one_period(period: int) -> None:
    q, k = Q[:, :, :1].expand(1, H, 20, C), K[:, :, :1].expand(1, H, 20, C)
    logits_BHQK = products(BandRope(C, angle=2 * math.pi / period), q, k)
    assert same(logits_BHQK[..., period:], logits_BHQK[..., :-period])
    assert not same(logits_BHQK[..., 1:], logits_BHQK[..., :-1])


def test_one_frequency_in_some_pairs() -> None:
    shares = shares_by_loop(Q, K, [0.0, 0.5, 0.0, 0.5])
    assert same(products(BandRope(C, keep="index:1,3", angle=0.5), Q, K), shares.sum(0))
    assert same(products(BandRope(C, drop="index:0,2", angle=0.5), Q, K), shares.sum(0))


# xpos


def test_xpos_multiplies_each_share_by_its_fading() -> None:
    fading = torch.zeros_like(SHARES)
    for m, i, j in torch.ones(4, T, T).nonzero().tolist():
        fading[m, :, :, i, j] = ((m / 4 + 0.4) / 1.4) ** ((i - j) / 16)
    assert same(products(XPos(C, span=16), Q, K), (SHARES * fading).sum(0))


def test_xpos_that_hardly_fades_is_rope() -> None:
    assert same(products(XPos(C, gamma=1e14), Q, K), products(Rope(C), Q, K))
    assert same(products(XPos(C, span=1e15), Q, K), products(Rope(C), Q, K))


def test_xpos_does_not_depend_on_its_centre() -> None:
    longer = torch.cat((Q, random(1, H, 30, C)), dim=2), torch.cat((K, random(1, H, 30, C)), dim=2)
    whole = products(XPos(C, span=8), *longer)
    assert same(whole[:, :, :T, :T], products(XPos(C, span=8), Q, K))
    moved = replace(Context.of(T, causal=True), key_positions_BK=torch.arange(T)[None] + 10**6)
    assert same(products(XPos(C, span=8), Q, K, moved), products(XPos(C, span=8), Q, K), 1e-8)


def test_xpos_stays_finite_where_it_can_and_says_where_it_cannot() -> None:
    x_BHTC = 500 * torch.ones(1, 1, 66_000, 2)  # far larger than queries and keys are
    q_turned, k_turned = XPos(2).on_query_key(x_BHTC, x_BHTC, Context.of(66_000, causal=True))
    assert q_turned.isfinite().all() and k_turned.isfinite().all()
    with pytest.raises(UserError) as refusal:
        XPos(2).on_query_key(x_BHTC, x_BHTC, Context.of(68_000, causal=True))
    sentence = "xpos over 68000 tokens leaves the range of float32; use a span above 512, or shorter texts"
    assert str(refusal.value) == sentence
    with pytest.raises(UserError, match="leaves the range of float16"):
        XPos(2).on_query_key(x_BHTC.half(), x_BHTC.half(), Context.of(10_000, causal=True))


def test_logits_out_of_range_that_nobody_may_see_do_no_harm() -> None:
    x_BHTC = random(1, 1, 380, 4).float().requires_grad_()
    out_BHTC = attend(XPos(4, span=3.0), x_BHTC, x_BHTC, x_BHTC, Context.of(380, causal=True))
    out_BHTC.sum().backward()
    assert out_BHTC.isfinite().all() and x_BHTC.grad is not None and x_BHTC.grad.isfinite().all()


# untwist


def test_untwist_weighs_what_each_frequency_says() -> None:
    gains = [0.25 + (1.4 - 0.25) * (m / 3) ** 2 for m in range(4)]
    weighed = sum(gain * share for gain, share in zip(gains, SHARES, strict=True))
    ours = products(Untwist(C, high=0.25, low=1.4), Q, K)
    assert isinstance(weighed, Tensor) and same(ours, weighed)


def test_untwist_leaves_other_keys_alone() -> None:
    some = products(Untwist(C, high=0.25, low=1.4, which=[2, 5]), Q, K)
    every, plain = products(Untwist(C, high=0.25, low=1.4), Q, K), products(Rope(C), Q, K)
    others = [key for key in range(T) if key not in (2, 5)]
    assert same(some[..., [2, 5]], every[..., [2, 5]]) and same(some[..., others], plain[..., others])


def test_untwist_by_one_is_rope() -> None:
    assert same(products(Untwist(C), Q, K), products(Rope(C), Q, K))
    assert same(products(Untwist(C, which=[1]), Q, K), products(Rope(C), Q, K))


@both_layouts
def test_untwisting_before_turning_is_untwisting_after(layout: str) -> None:
    untwist = Untwist(C, high=0.25, low=1.4, layout=layout)
    gain_F = untwist.gain(torch.float64)
    gain_C = gain_F.repeat(2) if layout == "half" else gain_F.repeat_interleave(2)
    assert same(products(untwist, Q, K), products(Rope(C, layout=layout), Q, K * gain_C))


def test_untwist_of_a_single_pair_takes_the_gain_of_the_fastest() -> None:
    assert Untwist(2, high=0.5, low=3.0).gain(torch.float64).tolist() == [0.5]


# rollpe


@pytest.mark.parametrize("step", [1, 2, -1, 7])
def test_rolling_is_torchs(step: int) -> None:
    ours = turned(RollPE(step=step), Q)
    theirs = torch.stack([Q[:, :, t].roll(t * step, dims=-1) for t in range(T)], dim=2)
    assert torch.equal(ours, theirs)


def waves(channels: int) -> tuple[Tensor, list[float]]:
    """The orthonormal real waves over the channels, one a row, and how far each turns with its successor a step."""
    c_C = torch.arange(channels, dtype=torch.float64)
    rows, speeds = [torch.full_like(c_C, channels**-0.5)], []
    for f in range(1, (channels + 1) // 2):
        speeds.append(2 * math.pi * f / channels)
        rows += [(2 / channels) ** 0.5 * (speeds[-1] * c_C).cos(), (2 / channels) ** 0.5 * (speeds[-1] * c_C).sin()]
    if channels % 2 == 0:
        rows.append(channels**-0.5 * (-1) ** c_C)
    return torch.stack(rows), speeds


@pytest.mark.parametrize("channels", [5, 6, 7, 8])
@pytest.mark.parametrize("step", [1, 3, 0.5, 0.3])
def test_rolling_is_turning_in_the_basis_of_waves(channels: int, step: float) -> None:
    x_BHTC, (basis_CC, speeds) = random(1, H, T, channels), waves(channels)
    assert same(basis_CC @ basis_CC.T, torch.eye(channels).double())
    waves_BHTC = x_BHTC @ basis_CC.T
    for f, speed in enumerate(speeds):
        angle_T = torch.arange(T).double() * speed * step
        a, b = waves_BHTC[..., 1 + 2 * f].clone(), waves_BHTC[..., 2 + 2 * f].clone()
        waves_BHTC[..., 1 + 2 * f] = a * angle_T.cos() - b * angle_T.sin()
        waves_BHTC[..., 2 + 2 * f] = b * angle_T.cos() + a * angle_T.sin()
    if channels % 2 == 0 and float(step).is_integer():
        waves_BHTC[..., -1] *= (-1.0) ** (torch.arange(T) * int(step))
    assert same(turned(RollPE(step=step), x_BHTC), waves_BHTC @ basis_CC, 1e-11)


def test_rolling_comes_round() -> None:
    x_BHTC = random(1, H, 1, 6).expand(1, H, 20, 6)
    rolled_BHTC = turned(RollPE(), x_BHTC)
    assert torch.equal(rolled_BHTC[:, :, 6:], rolled_BHTC[:, :, :-6])
    assert not same(rolled_BHTC[:, :, 3:], rolled_BHTC[:, :, :-3])


# carope


def phases_by_loop(carope: CaRope, x_BTD: Tensor, real_BT: Tensor) -> Tensor:
    """The phases number by number, from the sum of all steps so far."""
    texts, tokens, _ = x_BTD.shape
    heads, pairs = carope.pace.out_features, carope.head_dim // 2
    phases = torch.zeros(texts, heads, tokens, pairs, dtype=torch.float64)
    for b, h, t, m in torch.ones_like(phases).nonzero().tolist():
        for before in range(t + 1):
            said = float(x_BTD[b, before] @ carope.pace.weight[h] + carope.pace.bias[h])
            pace = 1 / (math.log1p(math.exp(said)) + 1)
            phases[b, h, t, m] += real_BT[b, before].item() * pace ** (m + carope.first)
    return phases


def busy(first: int = 0, layout: str = "half") -> CaRope:
    """A carope that listens to the text."""
    carope = CaRope(12, H, C, first=first, layout=layout).double()
    carope.pace.weight.data, carope.pace.bias.data = random(H, 12, seed=3), random(H, seed=4)
    return carope.requires_grad_(False)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("padded", [False, True])
def test_phases_add_up_the_pace_of_real_tokens(first: int, padded: bool) -> None:
    x_BTD, carope = random(2, T, 12), busy(first)
    real_BT = torch.stack((torch.arange(T) >= 3, torch.arange(T) < 6)) if padded else torch.ones(2, T).bool()
    phase_BHTF = carope.observe(x_BTD, real_BT if padded else None)["phase"]
    assert same(phase_BHTF, phases_by_loop(carope, x_BTD, real_BT))


@both_layouts
def test_carope_starts_as_rope(layout: str) -> None:
    carope, x_BTD = CaRope(12, H, C, layout=layout).double(), random(1, T, 12)
    carope.reset_parameters(torch.Generator())  # once more, now as exact as the test
    context = replace(Context.of(T, causal=True), notes=carope.observe(x_BTD))
    assert same(products(carope, Q, K, context).detach(), products(Rope(C, layout=layout), Q, K))
    from_one = replace(Context.of(T, causal=True), key_positions_BK=torch.arange(1, T + 1)[None])
    ours, theirs = carope.on_query_key(Q, K, context), Rope(C, layout=layout).on_query_key(Q, K, from_one)
    assert same(ours[0].detach(), theirs[0]) and same(ours[1].detach(), theirs[1])


def test_carope_hears_only_the_tokens_between_key_and_query() -> None:
    carope, x_BTD, i, j = busy(), random(1, T, 12).requires_grad_(), 6, 2
    context = replace(Context.of(T, causal=True), notes=carope.observe(x_BTD))
    products(carope, Q, K, context)[0, 0, i, j].backward()
    assert x_BTD.grad is not None
    heard_T = x_BTD.grad[0].abs().amax(-1) > 1e-12
    assert heard_T.nonzero().flatten().tolist() == [3, 4, 5, 6]


def test_carope_reads_on_in_a_padded_batch_as_it_reads_at_once() -> None:
    x_BTD, memory = random(2, T, 12), Memory()
    real_BT = torch.stack((torch.arange(T) >= 2, torch.arange(T) != 4))
    layer, outs, end = SelfAttention(12, H).double().requires_grad_(False), [], 0
    for seed, weight in enumerate(layer.parameters()):
        weight.data = random(*weight.shape, seed=10 + seed)
    carope = CaRope(12, H, 4).double().requires_grad_(False)
    carope.pace.weight.data = random(H, 12, seed=3)
    for piece in (3, 1, 2, 3):
        end += piece
        context = Context.of(end, causal=True, real_BK=real_BT[:, :end], last=piece)
        outs.append(layer(x_BTD[:, end - piece : end], carope, context, memory))
    whole = layer(x_BTD, carope, Context.of(T, causal=True, real_BK=real_BT))
    assert same(torch.cat(outs, dim=1), whole)


def test_carope_notes_are_wide_in_a_narrow_net() -> None:
    carope = CaRope(12, H, C).to(torch.bfloat16)
    x_BTD = torch.zeros(1, 2_000, 12, dtype=torch.bfloat16)
    notes = carope.observe(x_BTD)
    more = carope.observe(x_BTD[:, :1], past=notes)
    assert notes["phase"].dtype == more["phase"].dtype == torch.float32
    assert notes["phase"][0, 0, -1, 0] == 2_000 and more["phase"][0, 0, 0, 0] == 2_001
    q_BHTC = torch.ones(1, H, 2_000, C, dtype=torch.bfloat16)
    context = replace(Context.of(2_000, causal=True), notes=notes)
    assert carope.on_query_key(q_BHTC, q_BHTC, context)[0].dtype == torch.bfloat16


def test_carope_draws_nothing_from_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    assert not CaRope(12, H, C).pace.weight.any()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_carope_without_notes_says_so() -> None:
    with pytest.raises(UserError) as refusal:
        CaRope(12, H, C).on_query_key(Q, K, Context.of(T, causal=True))
    sentence = "carope turns by what its observe noted down; put that into the context's notes"
    assert str(refusal.value) == sentence


# refusals

KINDS = "dynamic, linear, llama3, longrope, ntk, yarn"
SCALING_REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"factor": 4}, f"a scaling needs its kind, one of {KINDS}; got {{'factor': 4}}"),
    ({"kind": "yern"}, f"unknown scaling 'yern'; did you mean 'yarn'? known: {KINDS}"),
    (
        {"kind": "linear", "facter": 4},
        "scaling 'linear' takes no option 'facter'; did you mean 'factor'? it takes: factor",
    ),
    ({"kind": "yarn"}, "scaling 'yarn' needs to know factor and original_length; give the model's own numbers"),
    ({"kind": "linear", "factor": 0}, "scaling 'linear' wants its factor as a positive number, got 0"),
    ({"kind": "linear", "factor": "4"}, "scaling 'linear' wants its factor as a positive number, got '4'"),
    ({"kind": "linear", "factor": True}, "scaling 'linear' wants its factor as a positive number, got True"),
    (
        {"kind": "dynamic", "factor": 2, "original_length": 64.0},
        "scaling 'dynamic' wants its original_length as a whole number above 1, got 64.0",
    ),
    (
        {"kind": "yarn", "factor": 2, "original_length": 64, "truncate": 1},
        "scaling 'yarn' wants its truncate as true or false, got 1",
    ),
    (
        {"kind": "yarn", "factor": 2, "original_length": 64, "beta_fast": 1},
        "scaling 'yarn' needs a beta_fast above its beta_slow, got 1 and 1.0",
    ),
    ({"kind": "llama3", "high": 1}, "scaling 'llama3' needs a high above its low, got 1 and 1.0"),
    (
        {"kind": "longrope", "factor": 2, "original_length": 64, "short_factor": [1.0], "long_factor": [1.0] * 4},
        "scaling 'longrope' needs one number in short_factor for each of the 4 frequencies, got 1",
    ),
    (
        {"kind": "longrope", "factor": 2, "original_length": 64, "short_factor": 1.0, "long_factor": [1.0] * 4},
        "scaling 'longrope' wants its short_factor as a list of positive numbers, got 1.0",
    ),
]


@pytest.mark.parametrize(("scaling", "sentence"), SCALING_REFUSALS, ids=[each for _, each in SCALING_REFUSALS])
def test_refused_scalings(scaling: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        Rope(C, scaling=scaling)
    assert str(refusal.value) == sentence


ODD = "the number of rotary channels of a head must be even and at least 2, because channels come in pairs; got 7"
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("p_rope", {"head_dim": 7}, ODD),
    ("band_rope", {"head_dim": 7}, ODD),
    ("xpos", {"head_dim": 7}, ODD),
    ("untwist", {"head_dim": 7}, ODD),
    ("carope", {"width": 8, "heads": 1, "head_dim": 7}, ODD),
    (
        "rope",
        {"head_dim": 8, "scaling": "yarn"},
        "encoding 'rope' wants its scaling as mapping | None (for longer texts, "
        'such as {"kind": "yarn", "factor": 16, "original_length": 4096}), got \'yarn\'',
    ),
    (
        "rope",
        {"head_dim": 8, "base": 1.0, "scaling": {"kind": "yarn", "factor": 2, "original_length": 64}},
        "scaling 'yarn' needs a base above 1, got 1.0; 10000 is the usual one",
    ),
    (
        "p_rope",
        {"head_dim": 8, "p": 0.1},
        "a share p of 0.1 of 4 pairs is less than one; use at least 0.25, or 0",
    ),
    ("p_rope", {"head_dim": 8, "p": 1.5}, "p is the share of pairs that turn, from 0 to 1; got 1.5"),
    ("p_rope", {"head_dim": 8, "end": "hi"}, "unknown end 'hi'; did you mean 'high'? known: high, low"),
    (
        "band_rope",
        {"head_dim": 8, "keep": "index:0", "drop": "index:1"},
        "frequencies are either kept or dropped; got keep 'index:0' and drop 'index:1', give one",
    ),
    ("band_rope", {"head_dim": 8, "drop": "index:4"}, "there is no frequency 4 among the 4 from 0; got 'index:4'"),
    (
        "band_rope",
        {"head_dim": 8, "angle": 0.0},
        "angle must be a positive number of radians per token, got 0.0; leave it out for rope's",
    ),
    ("xpos", {"head_dim": 8, "gamma": 0.0}, "gamma must be a positive number, got 0.0; 0.4 is the usual one"),
    ("xpos", {"head_dim": 8, "span": -1.0}, "span must be a positive number, got -1.0; 512 is the usual one"),
    (
        "untwist",
        {"head_dim": 8, "beta": 0.0},
        "untwist needs gains from 0 and a beta above 0; got high 1.0, low 1.0, beta 0.0",
    ),
    (
        "untwist",
        {"head_dim": 8, "which": []},
        "which must name positions of keys, such as [0, 5], or be left out for all; got []",
    ),
    (
        "untwist",
        {"head_dim": 8, "which": [True, False]},
        "which must name positions of keys, such as [0, 5], or be left out for all; got [True, False]",
    ),
    ("rollpe", {"step": 0}, "step must be a number of channels a token, up to 1024 and not 0; got 0, 1 is usual"),
    (
        "carope",
        {"width": 8, "heads": 0, "head_dim": 8},
        "carope needs a width and heads of at least 1 and a first of at least 0; got width 8, heads 0, first 0",
    ),
    (
        "carope",
        {"width": 8, "heads": 1, "head_dim": 8, "base": 1.0},
        "carope needs a base above 1, got 1.0; 10000 is the usual one",
    ),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS, ids=lambda value: str(value))
def test_refusals(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        encoding(name, **options)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    "scaling",
    [
        {"kind": "dynamic", "factor": 2.0, "original_length": 5},
        {"kind": "longrope", "short_factor": [1] * 4, "long_factor": [4] * 4, "original_length": 5, "factor": 4.0},
    ],
    ids=lambda scaling: scaling["kind"],
)
def test_a_short_text_turns_as_if_no_longer_one_lay_beside_it(scaling: dict[str, Any]) -> None:
    rope, x_BHTC = Rope(8, scaling=scaling), random(2, 1, 12, 8)
    real_BK = torch.arange(12) < torch.tensor([[4], [12]])
    beside, _ = rope.on_query_key(x_BHTC, x_BHTC, Context.of(12, causal=True, real_BK=real_BK))
    for b, length in enumerate((4, 12)):
        x_alone = x_BHTC[b, None, :, :length]
        alone, _ = rope.on_query_key(x_alone, x_alone, Context.of(length, causal=True))
        assert same(alone, beside[b, None, :, :length])

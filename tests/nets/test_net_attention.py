"""Attention takes the fastest way that its encoding allows, and every hook is asked."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from wherewhat.encodings.alibi import Alibi
from wherewhat.encodings.base import Context, Encoding, Notes
from wherewhat.encodings.none import NoPosition
from wherewhat.encodings.rope import Rope
from wherewhat.nets import attention, biased
from wherewhat.nets.attention import SelfAttention, attend, attention_rows
from wherewhat.nets.past import Memory

B, H, T, C = 2, 4, 7, 8
REAL_BK = torch.arange(T) >= torch.tensor([[2], [0]])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the fused kernel is told, call by call."""
    calls: list[dict[str, Any]] = []

    def watched(*tensors: Tensor, **told: Any) -> Tensor:
        calls.append(told)
        return scaled_dot_product_attention(*tensors, **told)

    def biased_watched(*told: Any, **named: Any) -> tuple[Tensor, Tensor]:
        calls.append({"is_causal": told[4], **named})
        return flash(*told, **named)

    flash = biased.FLASH
    monkeypatch.setattr(attention, "scaled_dot_product_attention", watched)
    monkeypatch.setattr(biased, "FLASH", biased_watched)
    return calls


def run(encoding: Encoding, context: Context) -> Tensor:
    q, k, v = (random(B, H, T, C, seed=seed) for seed in range(3))
    return attend(encoding, q if context.rows_Q is None else q[:, :, context.rows_Q], k, v, context)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("encoding", [NoPosition(), Rope(C)], ids=["none", "rope"])
def test_without_bias_and_padding_the_kernel_gets_no_mask(
    encoding: Encoding, causal: bool, kernel_calls: list[dict[str, Any]]
) -> None:
    run(encoding, Context.of(T, causal=causal))
    assert kernel_calls == [{"is_causal": causal, "scale": None}]


def test_padding_and_single_rows_reach_the_kernel_as_a_bool_mask(kernel_calls: list[dict[str, Any]]) -> None:
    run(Rope(C), Context.of(T, causal=True, real_BK=REAL_BK))
    run(Rope(C), Context.of(T, causal=True, last=1))
    assert [call["attn_mask"].dtype for call in kernel_calls] == [torch.bool, torch.bool]
    assert [tuple(call["attn_mask"].shape) for call in kernel_calls] == [(B, 1, T, T), (1, 1, 1, T)]


def test_a_bias_reaches_the_kernel_as_a_float_mask_beside_its_causal_flag(kernel_calls: list[dict[str, Any]]) -> None:
    run(Alibi(H), Context.of(T, causal=True))
    assert kernel_calls[0]["is_causal"] and kernel_calls[0]["attn_mask"].isfinite().all()
    run(Alibi(H), Context.of(T, causal=True, real_BK=REAL_BK))
    assert not kernel_calls[1]["is_causal"]
    mask_BHQK = kernel_calls[1]["attn_mask"]
    assert mask_BHQK.dtype == torch.float64 and mask_BHQK.shape == (B, H, T, T)
    assert mask_BHQK[0, 0, 3].tolist() == [-torch.inf, -torch.inf, -0.25, 0.0, *[-torch.inf] * 3]


@pytest.mark.parametrize("encoding", [NoPosition(), Alibi(H)], ids=["bool mask", "float mask"])
def test_a_query_that_may_see_nothing_gathers_zeros(encoding: Encoding) -> None:
    context = Context.of(T, causal=True, real_BK=REAL_BK)
    assert not run(encoding, context)[0, :, :2].any()
    q, k = random(B, H, T, C), random(B, H, T, C, seed=1)
    assert not attention_rows(encoding, q, k, context, torch.tensor([0, 1]))[0].any()


def test_a_huge_forbidden_logit_does_no_harm() -> None:
    q, k = random(1, H, T, C), random(1, H, T, C, seed=1)
    k[:, :, -1] = torch.inf
    attention_BHQK = attention_rows(NoPosition(), q, k, Context.of(T, causal=True), torch.arange(T - 1))
    assert attention_BHQK.isfinite().all()


class CappedLogits(Encoding):
    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return logits_BHQK.clamp(max=0.1)


class Halved(Encoding):
    def on_attention(self, attention_BHQK: Tensor, context: Context) -> Tensor:
        return attention_BHQK / 2


class Sharp(Encoding):
    scale = 3.0


class OwnKernel(Encoding):
    def attend(self, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor | None:
        return None if context.causal else v_BHKC * 7


def test_fused_is_derived_from_what_is_overridden() -> None:
    assert Encoding().fused and Sharp().fused and OwnKernel().fused and Alibi(H).fused
    assert not CappedLogits().fused and not Halved().fused


def test_changed_logits_and_attention_take_the_explicit_way(kernel_calls: list[dict[str, Any]]) -> None:
    context, v = Context.of(T, causal=True), random(B, H, T, C, seed=2)
    q, k = random(B, H, T, C), random(B, H, T, C, seed=1)
    logits_BHQK = (q @ k.mT * C**-0.5).clamp(max=0.1).masked_fill(~context.allowed_BHQK, -torch.inf)
    torch.testing.assert_close(run(CappedLogits(), context), logits_BHQK.softmax(-1) @ v)
    torch.testing.assert_close(run(Halved(), context), run(NoPosition(), context) / 2)
    assert len(kernel_calls) == 1  # of NoPosition


@pytest.mark.parametrize("real_BK", [None, REAL_BK], ids=["unmasked", "masked"])
def test_an_encodings_scale_is_used_by_both_ways(real_BK: Tensor | None) -> None:
    context, v = Context.of(T, causal=True, real_BK=real_BK), random(B, H, T, C, seed=2)
    q, k = random(B, H, T, C), random(B, H, T, C, seed=1)
    logits_BHQK = (q @ k.mT * 3.0).masked_fill(~context.allowed_BHQK, -torch.inf)
    out_BHTC = logits_BHQK.softmax(-1).nan_to_num() @ v
    torch.testing.assert_close(run(Sharp(), context), out_BHTC)
    torch.testing.assert_close(attention_rows(Sharp(), q, k, context, torch.arange(T)) @ v, out_BHTC)


def test_an_encoding_may_bring_its_own_kernel_or_decline() -> None:
    v = random(B, H, T, C, seed=2)
    assert torch.equal(run(OwnKernel(), Context.of(T, causal=False)), v * 7)
    causal = Context.of(T, causal=True)
    assert torch.equal(run(OwnKernel(), causal), run(NoPosition(), causal))


class Loudness(Encoding):
    """Looks less at keys in proportion to how loud all tokens up to them were: needs notes with a memory."""

    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        loud_BT = x_BTD.abs().mean(-1) if real_BT is None else x_BTD.abs().mean(-1) * real_BT
        before_B1 = past["loud"][:, 0, -1:] if past else 0.0
        return {"loud": (before_B1 + loud_BT.cumsum(-1))[:, None]}

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        return -context.notes["loud"][:, :, None, :]


@pytest.mark.parametrize("padded", [False, True])
def test_notes_are_kept_while_reading_in_pieces(padded: bool) -> None:
    layer, memory, x_BTD = SelfAttention(H * C, H).double(), Memory(), random(B, T, H * C)
    real_BK = REAL_BK if padded else None
    outs, end = [], 0
    for piece in (3, 1, 2, 1):
        end += piece
        context = Context.of(end, causal=True, real_BK=None if real_BK is None else real_BK[:, :end], last=piece)
        outs.append(layer(x_BTD[:, end - piece : end], Loudness(), context, memory))
    at_once_BTD = layer(x_BTD, Loudness(), Context.of(T, causal=True, real_BK=real_BK))
    torch.testing.assert_close(torch.cat(outs, dim=1), at_once_BTD, rtol=0, atol=1e-12)
    without_BTD = layer(x_BTD, NoPosition(), Context.of(T, causal=True, real_BK=real_BK))
    assert (at_once_BTD - without_BTD).abs().max() > 1e-3
    loud_BT = memory.notes["loud"][:, 0]
    assert loud_BT.shape == (B, T)
    assert (loud_BT == 0).tolist() == (~REAL_BK if padded else torch.zeros(B, T, dtype=torch.bool)).tolist()


def test_attention_can_be_watched_from_outside() -> None:
    layer, seen = SelfAttention(H * C, H).double(), []

    def watching(then: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def watched(encoding: Encoding, q: Tensor, k: Tensor, v: Tensor, context: Context) -> Tensor:
            seen.append((encoding, q.shape, context))
            return then(encoding, q, k, v, context)

        return watched

    x_BTD, rope, context = random(B, T, H * C), Rope(C), Context.of(T, causal=True)
    plain_BTD = layer(x_BTD, rope, context)
    before, layer.attend = layer.attend, watching(layer.attend)
    assert torch.equal(layer(x_BTD, rope, context), plain_BTD)
    layer.attend = before
    assert torch.equal(layer(x_BTD, rope, context), plain_BTD)
    assert seen == [(rope, (B, H, T, C), context)]

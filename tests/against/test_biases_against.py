"""Biases of distance against T5's, BLOOM's and MPT's inside transformers, with weights copied over."""

from typing import Any

import pytest
import torch
from precision import assert_same, rounding
from torch import Tensor, nn
from transformers import BloomConfig, T5Config
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.t5 import modeling_t5 as t5

from wherewhat.encodings.alibi import Alibi, slopes
from wherewhat.encodings.base import Context
from wherewhat.encodings.t5_bias import T5Bias, bucket
from wherewhat.nets.attention import SelfAttention, attention_rows

B, H, T, C = 2, 4, 150, 8
D = H * C
LOWEST = torch.finfo(torch.float32).min
both_directions = pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def drawn(module: nn.Module) -> nn.Module:
    for seed, weight in enumerate(module.parameters()):
        weight.data = random(*weight.shape, seed=seed) * D**-0.5
    return module.eval()


@both_directions
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (64, 128), (8, 16), (32, 256), (12, 100), (4, 3)])
def test_every_lag_is_in_t5s_bucket(causal: bool, buckets: int, max_distance: int) -> None:
    lags = torch.arange(-5000, 5001)
    ours = bucket(lags, causal=causal, buckets=buckets, max_distance=max_distance)
    theirs = t5.T5Attention._relative_position_bucket(-lags, not causal, buckets, max_distance)
    assert torch.equal(ours, theirs)


def their_t5(*, causal: bool) -> t5.T5Attention:
    config = T5Config(d_model=D, d_kv=C, num_heads=H, is_decoder=causal, use_cache=False, attn_implementation="eager")
    return drawn(t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0))


def our_t5(theirs: t5.T5Attention) -> T5Bias:
    encoding = T5Bias(width=D, heads=H, scale=1.0)
    encoding.table_RH.data = theirs.relative_attention_bias.weight.data
    return encoding


@both_directions
def test_bias_is_t5s(causal: bool) -> None:
    theirs = their_t5(causal=causal)
    q_BHTC, context = random(1, H, T, C), Context.of(T, causal=causal)
    ours_BHQK = our_t5(theirs).bias(q_BHTC, q_BHTC, context)
    theirs_BHQK = theirs.compute_bias(T, T)
    assert torch.equal(*(each.masked_fill(~context.allowed_BHQK, 0) for each in (ours_BHQK, theirs_BHQK)))


@both_directions
@pytest.mark.parametrize("padded", [False, True])
def test_attention_with_its_bias_is_t5s(causal: bool, padded: bool) -> None:
    theirs, ours, x_BTD = their_t5(causal=causal), SelfAttention(D, H), random(B, T, D, seed=9)
    ours.qkv.weight.data = torch.cat([each.weight.data for each in (theirs.q, theirs.k, theirs.v)])
    ours.out.weight.data = theirs.o.weight.data
    real_BK = torch.arange(T) < torch.tensor([[T], [T - 7 * padded]])
    context = Context.of(T, causal=causal, real_BK=real_BK if padded else None)
    mask_BHQK = torch.zeros(B, 1, T, T).masked_fill(~context.allowed_BHQK, LOWEST)
    theirs_BTD, _, theirs_BHQK = theirs(x_BTD, mask=mask_BHQK)
    ours_BTD = ours(x_BTD, our_t5(theirs), context)
    assert_same(ours_BTD[real_BK], theirs_BTD[real_BK])
    q_BHTC, k_BHTC, _ = ours.qkv(x_BTD).unflatten(-1, (3, H, C)).permute(2, 0, 3, 1, 4)
    ours_BHQK = attention_rows(our_t5(theirs), q_BHTC, k_BHTC, context, torch.arange(T))
    ours_BQHK, theirs_BQHK = ours_BHQK.transpose(1, 2), theirs_BHQK.transpose(1, 2)
    assert_same(ours_BQHK[real_BK], theirs_BQHK[real_BK])


@pytest.mark.parametrize("heads", [4, 6])
@pytest.mark.parametrize("first", [0, 7], ids=["unpadded", "left"])
def test_attention_with_linear_biases_is_blooms(heads: int, first: int) -> None:
    width = heads * C
    config: Any = BloomConfig(hidden_size=width, n_head=heads, hidden_dropout=0.0, attention_dropout=0.0)
    theirs, x_BTD = drawn(bloom.BloomAttention(config, layer_idx=0)), random(B, T, width, seed=9)
    theirs.query_key_value.bias.data.zero_()
    theirs.dense.bias.data.zero_()
    ours = SelfAttention(width, heads)
    ours.qkv.weight.data = theirs.query_key_value.weight.data.unflatten(0, (heads, 3, C)).transpose(0, 1).flatten(0, 2)
    ours.out.weight.data = theirs.dense.weight.data
    real_BK = torch.arange(T) >= torch.tensor([[0], [first]])
    context = Context.of(T, causal=True, real_BK=real_BK)
    mask_BHQK = torch.zeros(B, 1, T, T).masked_fill(~context.allowed_BHQK, LOWEST)
    alibi = bloom.build_alibi_tensor(real_BK.long(), heads, torch.float32)
    theirs_BTD, _ = theirs(x_BTD, torch.zeros_like(x_BTD), alibi, mask_BHQK)
    ours_BTD = ours(x_BTD, Alibi(heads), context)
    assert_same(ours_BTD[real_BK], theirs_BTD[real_BK])


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 7, 8, 12, 16, 20])
def test_alibi_slopes_are_blooms_and_mpts(heads: int) -> None:
    ours = torch.tensor(slopes(heads))
    theirs = bloom.build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]  # one step along the keys
    torch.testing.assert_close(ours, theirs, rtol=rounding(torch.float32), atol=0)
    theirs = mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, :].diff(dim=-1)[:, 0]
    torch.testing.assert_close(ours, theirs, rtol=rounding(torch.float32), atol=0)

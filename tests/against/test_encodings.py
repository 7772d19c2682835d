"""Our encodings against the ones inside transformers."""

import pytest
import torch
from torch import Tensor
from transformers import GPTNeoXConfig, LlamaConfig
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.mpt import modeling_mpt as mpt

from wherewhat.encodings.alibi import Alibi, slopes
from wherewhat.encodings.base import Context
from wherewhat.encodings.rope import Rope
from wherewhat.nets.attention import attention_rows

B, H, T, C = 2, 4, 50, 16


@pytest.fixture
def q_and_k() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(B, H, T, C, generator=generator), torch.randn(B, H, T, C, generator=generator)


def positions_of(real_BK: Tensor | None) -> tuple[Context, Tensor]:
    context = Context.of(T, causal=True, real_BK=real_BK)
    return context, context.key_positions_BK.expand(B, T)


@pytest.mark.parametrize("padded", [False, True])
def test_rope_half_is_llamas(q_and_k: tuple[Tensor, Tensor], padded: bool) -> None:
    real_BK = torch.arange(T) >= torch.tensor([[0], [7]]) if padded else None
    context, positions_BT = positions_of(real_BK)
    config = LlamaConfig(
        hidden_size=H * C, num_attention_heads=H, rope_parameters={"rope_type": "default", "rope_theta": 5e5}
    )
    cos, sin = llama.LlamaRotaryEmbedding(config)(q_and_k[0], positions_BT)
    ours = Rope(C, base=5e5).on_query_key(*q_and_k, context)
    theirs = llama.apply_rotary_pos_emb(*q_and_k, cos, sin)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_rope_interleaved_is_gptjs(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, positions_BT = positions_of(None)
    sin, cos = gptj.create_sinusoidal_positions(T, C)[positions_BT].chunk(2, dim=-1)
    ours = Rope(C, layout="interleaved").on_query_key(*q_and_k, context)
    theirs = tuple(gptj.apply_rotary_pos_emb(each.transpose(1, 2), sin, cos).transpose(1, 2) for each in q_and_k)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_rope_partial_is_gpt_neoxs(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, positions_BT = positions_of(None)
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25}
    config = GPTNeoXConfig(hidden_size=H * C, num_attention_heads=H, rope_parameters=rope)
    cos, sin = gpt_neox.GPTNeoXRotaryEmbedding(config)(q_and_k[0], positions_BT)
    assert cos.shape[-1] == C // 4
    ours = Rope(C, rotary_dim=C // 4).on_query_key(*q_and_k, context)
    theirs = gpt_neox.apply_rotary_pos_emb(*q_and_k, cos, sin)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 7, 8, 12, 16, 20])
def test_alibi_slopes_are_blooms_and_mpts(heads: int) -> None:
    ours = torch.tensor(slopes(heads))
    blooms = bloom.build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)
    theirs = blooms[:, 0, 1]  # one step along the keys
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)
    theirs = mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, :].diff(dim=-1)[:, 0]
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)


def test_alibi_attention_is_blooms(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, _ = positions_of(None)
    ours = attention_rows(Alibi(H), *q_and_k, context, torch.arange(T))
    bias_BHQK = bloom.build_alibi_tensor(torch.ones(B, T), H, torch.float32).view(B, H, 1, T)
    logits_BHQK = q_and_k[0] @ q_and_k[1].mT * C**-0.5 + bias_BHQK
    theirs = logits_BHQK.masked_fill(~torch.ones(T, T).tril().bool(), -torch.inf).softmax(-1)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)

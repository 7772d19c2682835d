"""Our encodings against the ones inside transformers."""

import pytest
import torch
from torch import Tensor
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.mpt import modeling_mpt as mpt

from wherewhat.encodings.alibi import Alibi, slopes
from wherewhat.encodings.base import Context
from wherewhat.nets.attention import attention_rows

B, H, T, C = 2, 4, 50, 16


@pytest.fixture
def q_and_k() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(B, H, T, C, generator=generator), torch.randn(B, H, T, C, generator=generator)


def positions_of(real_BK: Tensor | None) -> tuple[Context, Tensor]:
    context = Context.of(T, causal=True, real_BK=real_BK)
    return context, context.key_positions_BK.expand(B, T)


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

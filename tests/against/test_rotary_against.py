"""Our rotations and their scalings against the ones inside transformers."""

from typing import Any

import pytest
import torch
from precision import assert_same, rounding
from torch import Tensor
from transformers import GPTNeoXConfig, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from wherewhat.encodings.base import Context
from wherewhat.encodings.p_rope import PRope
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.rotary import frequencies
from wherewhat.encodings.scalings import scaling_of

B, H, T, C = 2, 4, 50, 16


@pytest.fixture
def q_and_k() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(B, H, T, C, generator=generator), torch.randn(B, H, T, C, generator=generator)


def positions_of(real_BK: Tensor | None) -> tuple[Context, Tensor]:
    context = Context.of(T, causal=True, real_BK=real_BK)
    return context, context.key_positions_BK.expand(B, T)


def assert_rotated_alike(ours: tuple[Tensor, ...], theirs: tuple[Tensor, ...]) -> None:
    for our_BHTC, their_BHTC in zip(ours, theirs, strict=True):
        assert_same(our_BHTC, their_BHTC)


def llama_of(parameters: dict[str, Any], head_dim: int = C, length: int = 64) -> LlamaConfig:
    sizes = {"hidden_size": H * head_dim, "num_attention_heads": H, "max_position_embeddings": length}
    return LlamaConfig(**sizes, rope_parameters=parameters)


@pytest.mark.parametrize("padded", [False, True])
def test_rope_half_is_llamas(q_and_k: tuple[Tensor, Tensor], padded: bool) -> None:
    real_BK = torch.arange(T) >= torch.tensor([[0], [7]]) if padded else None
    context, positions_BT = positions_of(real_BK)
    config = llama_of({"rope_type": "default", "rope_theta": 5e5})
    cos, sin = llama.LlamaRotaryEmbedding(config)(q_and_k[0], positions_BT)
    ours = Rope(C, base=5e5).on_query_key(*q_and_k, context)
    theirs = llama.apply_rotary_pos_emb(*q_and_k, cos, sin)
    assert_rotated_alike(ours, theirs)


def test_rope_interleaved_is_gptjs(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, positions_BT = positions_of(None)
    sin, cos = gptj.create_sinusoidal_positions(T, C)[positions_BT].chunk(2, dim=-1)
    ours = Rope(C, layout="interleaved").on_query_key(*q_and_k, context)
    theirs = tuple(gptj.apply_rotary_pos_emb(each.transpose(1, 2), sin, cos).transpose(1, 2) for each in q_and_k)
    assert_rotated_alike(ours, theirs)


def test_rope_partial_is_gpt_neoxs(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, positions_BT = positions_of(None)
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25}
    config = GPTNeoXConfig(hidden_size=H * C, num_attention_heads=H, rope_parameters=rope)
    cos, sin = gpt_neox.GPTNeoXRotaryEmbedding(config)(q_and_k[0], positions_BT)
    assert cos.shape[-1] == C // 4
    ours = Rope(C, rotary_dim=C // 4).on_query_key(*q_and_k, context)
    theirs = gpt_neox.apply_rotary_pos_emb(*q_and_k, cos, sin)
    assert_rotated_alike(ours, theirs)


def test_a_scaled_rope_is_llamas(q_and_k: tuple[Tensor, Tensor]) -> None:
    context, positions_BT = positions_of(None)
    config = llama_of(
        {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 128}, length=512
    )
    cos, sin = llama.LlamaRotaryEmbedding(config)(q_and_k[0], positions_BT)
    ours = Rope(C, scaling={"kind": "yarn", "factor": 4, "original_length": 128}).on_query_key(*q_and_k, context)
    theirs = llama.apply_rotary_pos_emb(*q_and_k, cos, sin)
    assert_rotated_alike(ours, theirs)


FACTORS = {"short_factor": [1 + m / 8 for m in range(32)], "long_factor": [1.0 + m for m in range(32)]}
NAMES = {
    "original_length": "original_max_position_embeddings",
    "low": "low_freq_factor",
    "high": "high_freq_factor",
    "mscale_all": "mscale_all_dim",
}
SCALINGS: list[dict[str, Any]] = [
    {"kind": "linear", "factor": 4.0},
    {"kind": "dynamic", "factor": 2.0, "original_length": 64},
    {"kind": "yarn", "factor": 16.0, "original_length": 64},
    {"kind": "yarn", "factor": 16.0, "original_length": 4096},
    {"kind": "yarn", "factor": 16.0, "original_length": 4096, "truncate": False},
    {"kind": "yarn", "factor": 40.0, "original_length": 4096, "beta_fast": 20.0, "beta_slow": 2.0},
    {"kind": "yarn", "factor": 40.0, "original_length": 4096, "mscale": 1.0, "mscale_all": 0.7},
    {"kind": "llama3", "factor": 8.0, "low": 1.0, "high": 4.0, "original_length": 8192},
    {"kind": "llama3", "factor": 32.0, "low": 2.0, "high": 5.0, "original_length": 256},
    {"kind": "longrope", "factor": 32.0, "original_length": 64, **FACTORS},
]


@pytest.mark.parametrize("length", [32, 64, 65, 200])
@pytest.mark.parametrize("base", [1e4, 5e5])
@pytest.mark.parametrize("options", SCALINGS, ids=lambda options: str(options)[:110])
def test_scalings_are_theirs(options: dict[str, Any], base: float, length: int) -> None:
    width = 64
    parameters = {NAMES.get(name, name): value for name, value in options.items() if name != "kind"}
    parameters |= {"rope_type": options["kind"], "rope_theta": base}
    theirs, their_gain = ROPE_INIT_FUNCTIONS[options["kind"]](llama_of(parameters, width), seq_len=length)
    scaling = scaling_of(options, width=width, base=base)
    ladder_F = frequencies(width=width, base=base, dtype=torch.float64)
    ours = scaling.theta(ladder_F, base=base, length=length)
    torch.testing.assert_close(ours.float(), theirs, rtol=rounding(torch.float32), atol=0)
    assert scaling.gain == pytest.approx(their_gain, rel=rounding(torch.float32))


@pytest.mark.parametrize("p", [0.1, 0.25, 0.3, 0.75, 1.0])
def test_p_rope_is_their_proportional(p: float) -> None:
    parameters = {"rope_type": "proportional", "rope_theta": 1e4, "partial_rotary_factor": p}
    theirs, _ = ROPE_INIT_FUNCTIONS["proportional"](llama_of(parameters, 64))
    ladder_F = frequencies(width=64, base=1e4, dtype=torch.float64)
    ours = PRope(64, p=p).theta(ladder_F, Context.of(1, causal=True))
    torch.testing.assert_close(ours.float(), theirs, rtol=rounding(torch.float32), atol=0)

"""Our conformer block against the one inside transformers."""

import pytest
import torch
from conformer_weights import block_weights
from torch import Tensor
from transformers import Wav2Vec2ConformerConfig
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as wav2vec2

from wherewhat.encodings.base import Context
from wherewhat.encodings.rope import Rope
from wherewhat.encodings.transformer_xl import TransformerXL
from wherewhat.nets.config import NetConfig
from wherewhat.nets.conformer import ConformerBlock

B, T, D, H, KERNEL = 2, 17, 24, 3, 5


def layer_of(positions: str) -> wav2vec2.Wav2Vec2ConformerEncoderLayer:
    """Theirs, in float64, with every number drawn, the running statistics too."""
    config = Wav2Vec2ConformerConfig(
        hidden_size=D,
        num_attention_heads=H,
        intermediate_size=4 * D,
        conv_depthwise_kernel_size=KERNEL,
        position_embeddings_type=positions,
        hidden_act="swish",
        hidden_dropout=0.0,
        activation_dropout=0.0,
        attention_dropout=0.0,
        conformer_conv_dropout=0.0,
        attn_implementation="eager",
    )
    generator = torch.Generator().manual_seed(0)
    theirs = wav2vec2.Wav2Vec2ConformerEncoderLayer(config).double().eval()
    for name, weight in theirs.state_dict().items():
        if weight.is_floating_point():
            weight.normal_(std=0.3, generator=generator)
        if name.endswith("running_var"):
            weight.abs_().add_(0.5)
    return theirs


@pytest.fixture
def layer() -> wav2vec2.Wav2Vec2ConformerEncoderLayer:
    return layer_of("relative")


def block_of(layer: wav2vec2.Wav2Vec2ConformerEncoderLayer, *, early: bool = False) -> ConformerBlock:
    """Ours, with their weights."""
    sizes = {"vocabulary": 1, "width": D, "layers": 1, "heads": H, "kernel": KERNEL}
    ours = ConformerBlock(NetConfig(**sizes, kind="conformer", encoding="none", pre_projection=early)).double().eval()
    ours.load_state_dict(block_weights(layer.state_dict()))
    return ours


@pytest.fixture
def block(layer: wav2vec2.Wav2Vec2ConformerEncoderLayer) -> ConformerBlock:
    return block_of(layer)


@pytest.fixture
def encoding(layer: wav2vec2.Wav2Vec2ConformerEncoderLayer) -> TransformerXL:
    ours = TransformerXL(D, H, D // H, layout="interleaved").double()
    with torch.no_grad():
        ours.project.weight.copy_(layer.self_attn.linear_pos.weight)
        ours.u_HC.copy_(layer.self_attn.pos_bias_u)
        ours.v_HC.copy_(layer.self_attn.pos_bias_v)
    return ours


def x_of(batch: int = B) -> Tensor:
    return torch.randn(batch, T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def relative() -> Tensor:
    """R of all lags from T - 1 down to 1 - T, interleaved; made here because theirs is rounded to float32."""
    lags_R = torch.arange(T - 1, -T, -1, dtype=torch.float64)
    theta_F = 10_000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    angle_RF = lags_R[:, None] * theta_F
    return torch.stack((angle_RF.sin(), angle_RF.cos()), dim=-1).flatten(1)[None]


def test_the_table_made_here_is_theirs(layer: wav2vec2.Wav2Vec2ConformerEncoderLayer) -> None:
    theirs = wav2vec2.Wav2Vec2ConformerRelPositionalEmbedding(layer.self_attn.config)(torch.zeros(1, T, D))
    torch.testing.assert_close(relative().float(), theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("training", [False, True], ids=["reading", "learning"])
def test_a_block_is_theirs(
    layer: wav2vec2.Wav2Vec2ConformerEncoderLayer, block: ConformerBlock, encoding: TransformerXL, training: bool
) -> None:
    theirs = layer.train(training)(x_of(), relative_position_embeddings=relative())
    ours = block.train(training)(x_of(), encoding, Context.of(T, causal=False))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    norms = block.convolution.batch_norm, layer.conv_module.batch_norm
    for buffer in ("running_mean", "running_var", "num_batches_tracked"):
        ours, theirs = (getattr(norm, buffer) for norm in norms)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_their_rotary_block_rotates_before_the_projection() -> None:
    layer = layer_of("rotary")
    theta_F = 10_000.0 ** (-torch.arange(0, D // H, 2, dtype=torch.float64) / (D // H))
    angle_TC = (torch.arange(T, dtype=torch.float64)[:, None] * theta_F).repeat(1, 2)
    table = torch.stack((angle_TC.cos(), angle_TC.sin()))[:, :, None, None]
    theirs = layer(x_of(), relative_position_embeddings=table)
    early, late = (
        block_of(layer, early=early)(x_of(), Rope(D // H).double(), Context.of(T, causal=False))
        for early in (True, False)
    )
    torch.testing.assert_close(early, theirs, rtol=0, atol=1e-5)  # our angles are float32
    assert (late - theirs).abs().max() > 1e-2


def test_a_padded_text_is_what_they_read_without_padding(
    layer: wav2vec2.Wav2Vec2ConformerEncoderLayer, block: ConformerBlock, encoding: TransformerXL
) -> None:
    x_BTD, padding_BTD = x_of(), x_of()[:, :4] * 10
    theirs = layer(x_BTD, relative_position_embeddings=relative())
    real_BT = (torch.arange(T + 4) < T).expand(B, -1)
    context = Context.of(T + 4, causal=False, real_BK=real_BT)
    ours = block(torch.cat((x_BTD, padding_BTD), dim=1), encoding, context)[:, :T]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)

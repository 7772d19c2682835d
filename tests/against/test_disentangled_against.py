"""Shaw's, Transformer-XL's and DeBERTa's attention against the ones inside transformers, in float64."""

import pytest
import torch
from precision import rounding
from torch import Tensor, nn
from transformers import DebertaConfig, DebertaV2Config, Wav2Vec2BertConfig, Wav2Vec2ConformerConfig, XLNetConfig
from transformers.models.deberta import modeling_deberta as deberta
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta_v2
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as w2v_bert
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
from transformers.models.xlnet import modeling_xlnet as xlnet

from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.deberta import Deberta, log_buckets
from wherewhat.encodings.shaw import Shaw
from wherewhat.encodings.transformer_xl import TransformerXL
from wherewhat.nets.attention import attention_rows

B, H, T, C = 2, 4, 23, 8
D = H * C
FLOAT32 = rounding(torch.float32)  # they compute sinusoids and scales in it, whatever the dtype of the model


def drawn(module: nn.Module) -> nn.Module:
    """The module with all its weights drawn, biases too, so that nothing is hidden by a zero."""
    generator = torch.Generator().manual_seed(0)
    for parameter in module.double().eval().parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4
    return module


def tokens() -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def heads(x_BTD: Tensor) -> Tensor:
    return x_BTD.unflatten(-1, (H, C)).transpose(1, 2)


def attention(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, *, causal: bool = False) -> Tensor:
    context = Context.of(q_BHTC.shape[2], causal=causal)
    return attention_rows(encoding.double(), q_BHTC, k_BHTC, context, torch.arange(q_BHTC.shape[2]))


@pytest.mark.parametrize("clip", [3, 64])
def test_shaw_is_wav2vec2_berts_relative_key(clip: int) -> None:
    config = Wav2Vec2BertConfig(
        hidden_size=D,
        num_attention_heads=H,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=clip,
        right_max_position_embeddings=clip,
        attn_implementation="eager",
    )
    module, x_BTD = drawn(w2v_bert.Wav2Vec2BertSelfAttention(config)), tokens()
    shaw = Shaw(C, clip=clip)
    shaw.table_RC.data = module.distance_embedding.weight.data
    ours = attention(shaw, heads(module.linear_q(x_BTD)), heads(module.linear_k(x_BTD)))
    theirs = module(x_BTD)[1]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["uni", "bi"])
def test_transformer_xl_is_xlnets(kind: str) -> None:
    config = XLNetConfig(d_model=D, n_head=H, n_layer=1, vocab_size=8, attn_type=kind, dropout=0.0)
    module, x_BTD = drawn(xlnet.XLNetRelativeAttention(config)), tokens()
    sinusoids = xlnet.XLNetModel(config).relative_positional_encoding(T, T, bsz=B).double()
    later_TT = torch.ones(T, T, dtype=torch.float64).triu(1) * (kind == "uni")
    xl = TransformerXL(D, H, C)
    xl.project.weight.data = module.r.data.flatten(1).T
    xl.u_HC.data, xl.v_HC.data = module.r_w_bias.data, module.r_r_bias.data
    q_BHTC, k_BHTC = (heads(x_BTD @ weight.flatten(1)) for weight in (module.q, module.k))
    ours = attention(xl, q_BHTC, k_BHTC, causal=kind == "uni")
    x_TBD = x_BTD.transpose(0, 1)
    mask = later_TT[:, :, None, None].expand(T, T, B, 1).expand(T, T, B, H)
    theirs = module(x_TBD, None, mask, None, sinusoids, None, output_attentions=True)[2].permute(2, 3, 0, 1)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=FLOAT32)


def test_interleaved_transformer_xl_is_wav2vec2_conformers() -> None:
    config = Wav2Vec2ConformerConfig(
        hidden_size=D,
        num_attention_heads=H,
        position_embeddings_type="relative",
        max_source_positions=64,
        attn_implementation="eager",
    )
    module, x_BTD = drawn(conformer.Wav2Vec2ConformerSelfAttention(config)), tokens()
    xl = TransformerXL(D, H, C, layout="interleaved")
    xl.project.weight.data = module.linear_pos.weight.data
    xl.u_HC.data, xl.v_HC.data = module.pos_bias_u.data, module.pos_bias_v.data
    ours = attention(xl, heads(module.linear_q(x_BTD)), heads(module.linear_k(x_BTD)))
    sinusoids = conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)(x_BTD)
    theirs = module(x_BTD, relative_position_embeddings=sinusoids)[1]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=FLOAT32)


@pytest.mark.parametrize("span", [5, 64])
def test_deberta_is_transformers(span: int) -> None:
    config = DebertaConfig(
        hidden_size=D,
        num_attention_heads=H,
        relative_attention=True,
        max_relative_positions=span,
        pos_att_type=["c2p", "p2c"],
    )
    module, x_BTD, table_RD = drawn(deberta.DisentangledSelfAttention(config)), tokens(), table(2 * span)
    encoding = Deberta(D, H, C, span=span, sign="checkpoint")
    encoding.table_RD.data, encoding.key.weight.data = table_RD, module.pos_proj.weight.data
    encoding.query.load_state_dict(module.pos_q_proj.state_dict())
    q_BHTC, k_BHTC, _ = module.transpose_for_scores(module.in_proj(x_BTD)).chunk(3, dim=-1)
    q_BHTC = q_BHTC + module.q_bias.view(H, 1, C)
    ours = attention(encoding, q_BHTC, k_BHTC)
    lags = deberta.build_relative_position(x_BTD, x_BTD)
    theirs = module(x_BTD, everything(), output_attentions=True, relative_pos=lags, rel_embeddings=table_RD)[1]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=FLOAT32)


@pytest.mark.parametrize("shared", [False, True], ids=["maps of its own", "the contents' maps"])
@pytest.mark.parametrize(("span", "buckets"), [(64, None), (16, 4), (20, 8)])
def test_deberta_is_version_twos(shared: bool, span: int, buckets: int | None) -> None:
    config = DebertaV2Config(
        hidden_size=D,
        num_attention_heads=H,
        relative_attention=True,
        max_relative_positions=span,
        position_buckets=-1 if buckets is None else buckets,
        pos_att_type=["c2p", "p2c"],
        share_att_key=shared,
    )
    module, x_BTD = drawn(deberta_v2.DisentangledSelfAttention(config)), tokens()
    table_RD = table(2 * (buckets or span))
    encoding = Deberta(D, H, C, span=span, sign="checkpoint", buckets=buckets)
    encoding.table_RD.data = table_RD
    # Their map of the keys has a bias, which adds the same to all logits of a query: attention never feels it.
    encoding.key.weight.data = (module.key_proj if shared else module.pos_key_proj).weight.data
    encoding.query.load_state_dict((module.query_proj if shared else module.pos_query_proj).state_dict())
    ours = attention(encoding, heads(module.query_proj(x_BTD)), heads(module.key_proj(x_BTD)))
    theirs = module(x_BTD, everything(), output_attentions=True, rel_embeddings=table_RD)[1]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=FLOAT32)


@pytest.mark.parametrize(("buckets", "span"), [(256, 512), (32, 128), (8, 100)])
def test_the_buckets_are_version_twos(buckets: int, span: int) -> None:
    lags = torch.arange(-600, 601)
    ours = log_buckets(lags, buckets=buckets, span=span)
    theirs = deberta_v2.make_log_bucket_position(lags, buckets, span)
    assert torch.equal(ours, theirs.long())


def table(rows: int) -> Tensor:
    return torch.randn(rows, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def everything() -> Tensor:
    return torch.ones(B, 1, T, T)

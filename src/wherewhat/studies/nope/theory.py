"""Weights set by hand that make positions out of nothing, in our own nets: Theorems 1 and 2 of arXiv 2305.19466.

A decoder without an encoding of position still has its causal mask: the token at place t, counted from 1, averages over
t tokens. One head can turn that into 1 / t, and a later one can turn places into distances.
"""

import torch
from torch import Tensor, nn

from wherewhat.capture.hooks.module_inputs import watch_inputs
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.none import NoPosition
from wherewhat.nets.attention import SelfAttention, attend, attention_rows, replaced_attend
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

BOS, WORD = 0, 1  # the tokens: one that only ever comes first, and all others
CONSTANT, FIRST, PLACE = 0, 1, 2  # channels of the residual stream: 1 for every token, 1 for `<bos>`, and the place
WIDTH = 8


def place_net(tokens: int = 8, *, seed: int = 0) -> Trunk:
    """A decoder of one layer that writes 1 / t into the channel `PLACE` of the token at place t (Theorem 1).

    Its embedding has 1 in the channel `CONSTANT`, `<bos>` alone also has 1 in `FIRST`. Every key reads `CONSTANT`, so
    that all keys are equal whatever the query, which is drawn at random. Values read `FIRST`: the average over t
    tokens, of which one is `<bos>`, is 1 / t. Each channel has a mirror channel of the other sign, and other tokens
    have 1 in a channel that nothing reads, so that the layer norm scales all tokens equally.
    """
    config = NetConfig(vocabulary=tokens, width=WIDTH, layers=1, heads=1, mlp=0, encoding="none")
    net = build(config, seed=seed).double()
    tokens_VD = torch.zeros(tokens, WIDTH, dtype=torch.float64)
    unread, mirror = 3, 4  # the channel that nothing reads, and how far the mirror of a channel is
    tokens_VD[:, CONSTANT], tokens_VD[BOS, FIRST], tokens_VD[WORD:, unread] = 1, 1, 1
    tokens_VD[:, mirror:] = -tokens_VD[:, :mirror]
    block = net.blocks[0]
    assert isinstance(block.attention, SelfAttention) and isinstance(block.attention_norm, nn.LayerNorm)
    query_CD, key_CD, value_CD, out_DC = (torch.zeros(WIDTH, WIDTH, dtype=torch.float64) for _ in range(4))
    query_CD.normal_(generator=torch.Generator().manual_seed(seed))
    key_CD[0, CONSTANT] = value_CD[0, FIRST] = out_DC[PLACE, 0] = 1
    norm = (tokens_VD[0].var(unbiased=False) + block.attention_norm.eps).sqrt()  # of every token
    with torch.no_grad():
        net.tokens.weight.copy_(tokens_VD)
        block.attention_norm.weight.fill_(float(norm))
        block.attention.qkv.weight.copy_(torch.cat([query_CD, key_CD, value_CD]))
        block.attention.out.weight.copy_(out_DC)
    return net


def written_places(net: Trunk, ids_T: Tensor) -> Tensor:
    """What is in the channel `PLACE` after the last block, token by token."""
    stream: dict[str, Tensor] = {}
    with torch.no_grad(), watch_inputs(net, ["norm"], stream.__setitem__):
        net.hidden(ids_T[None])
    return stream["norm"][0, :, PLACE]


def distance_attention(*, seed: int = 0) -> SelfAttention:
    """A head that subtracts the distance from its logits, if the channel `PLACE` holds the place t (Theorem 2).

    Queries are (1, -t, content), keys (t', 1, content), so a logit is content + t' - t. Content is read from the
    channels after `PLACE`, with random whole numbers as weights, so that nothing is rounded. The block before it can
    make t of 1 / t by its MLP. It is the first of two heads; the other reads nothing.
    """
    attention = SelfAttention(WIDTH, 2).double()
    channels, content = WIDTH // 2, slice(PLACE + 1, WIDTH)
    query_CD, key_CD, value_CD = torch.zeros(3, WIDTH, WIDTH, dtype=torch.float64)
    query_CD[0, CONSTANT], query_CD[1, PLACE] = 1, -1
    key_CD[0, PLACE], key_CD[1, CONSTANT] = 1, 1
    shape, generator = (2, channels - 2, WIDTH - PLACE - 1), torch.Generator().manual_seed(seed)
    query_CD[2:channels, content], key_CD[2:channels, content] = torch.randint(
        -3, 4, shape, generator=generator
    ).double()
    with torch.no_grad():  # attention divides q·k by the root of its channels
        attention.qkv.weight.copy_(torch.cat([query_CD * channels**0.5, key_CD, value_CD]))
    return attention


def placed_stream(tokens: int, *, seed: int = 0, content: bool = True) -> Tensor:
    """x_TD with 1 in `CONSTANT`, the place t in `PLACE`, and after it random whole numbers as content, or nothing."""
    x_TD = torch.zeros(tokens, WIDTH, dtype=torch.float64)
    x_TD[:, CONSTANT], x_TD[:, PLACE] = 1, torch.arange(1, tokens + 1)
    if content:
        shape, generator = (tokens, WIDTH - PLACE - 1), torch.Generator().manual_seed(seed)
        x_TD[:, PLACE + 1 :] = torch.randint(-3, 4, shape, generator=generator)
    return x_TD


def causal_attention(attention: SelfAttention, x_TD: Tensor) -> tuple[Tensor, Tensor]:
    """logits_TT and attention_TT of the first head without an encoding, over the tokens of a stream."""
    tables: list[tuple[Tensor, Tensor]] = []

    def watch(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        logits_TT = (q_BHTC @ k_BHTC.mT)[0, 0] * q_BHTC.shape[-1] ** -0.5
        rows_Q = torch.arange(len(x_TD))
        tables.append((logits_TT, attention_rows(encoding, q_BHTC, k_BHTC, context, rows_Q)[0, 0]))
        return attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)

    with replaced_attend(attention, [watch]), torch.no_grad():
        attention(x_TD[None], NoPosition(), Context.of(len(x_TD), causal=True))
    return tables[0]

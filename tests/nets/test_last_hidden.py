"""The hidden state of the last token alone is that of the whole sequence, for every encoding and kind of net."""

from typing import Any

import pytest
import torch
from precision import rounding

from wherewhat.encodings.base import Context
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

IDS = torch.tensor([[1, 4, 2, 8, 5, 3], [7, 0, 3, 3, 6, 1]])


def net_of(encoding: str, kind: str, **options: Any) -> Trunk:
    """A net in float64, in evaluation mode."""
    config = NetConfig(
        vocabulary=9, width=16, layers=2, heads=2, length=12, kind=kind, kernel=3, encoding=encoding, **options
    )
    return build(config, seed=1).double().eval()


def agree(net: Trunk, *, first: int = 0) -> None:
    """The state is the same, and so is the gradient of all weights."""
    states = [net.hidden(IDS, first=first)[:, -1], net.last_hidden(IDS, first=first)]
    gradients = []
    for state_BD in states:
        net.zero_grad()
        (state_BD * torch.arange(16.0, dtype=torch.float64)).sum().backward()
        gradients.append([weight.grad for weight in net.parameters() if weight.grad is not None])
    assert (states[0] - states[1]).abs().max() < rounding(torch.float64)
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours - theirs).abs().max() < rounding(torch.float64) * max(1.0, float(ours.abs().max()))


@pytest.mark.parametrize("kind", ["decoder", "encoder", "conformer"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_the_last_state_alone_is_the_last_of_all(name: str, kind: str) -> None:
    if kind != "decoder" and ENCODINGS[name].direction == "causal only":
        pytest.skip("this encoding is for decoders")
    agree(net_of(name, kind))


def test_norms_after_each_addition_and_later_positions_change_nothing() -> None:
    agree(net_of("learned", "encoder", block="post_norm", encoding_options={"place": "block"}))
    agree(net_of("rope", "decoder"), first=5)


@torch.no_grad()
@pytest.mark.parametrize("tokens", [1, 5, 6])
def test_a_net_that_hears_has_a_last_token_too(tokens: int) -> None:
    """Subsampling makes four frames one token, and frames are given four to a token, so both count the same."""
    net = net_of("rope", "conformer", features=24)
    frames_BTG = torch.randn(2, tokens, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert net.embedded(frames_BTG).shape[1] == tokens
    apart_BD = net.hidden(frames_BTG)[:, -1] - net.last_hidden(frames_BTG)
    assert apart_BD.abs().max() < rounding(torch.float64)


def test_the_last_block_computes_one_row() -> None:
    net, rows = net_of("rope", "encoder"), []
    for block in net.blocks:
        block.mlp.register_forward_hook(lambda _, args, __: rows.append(args[0].shape[1]))
    net.last_hidden(IDS)
    assert rows == [6, 1]


@torch.no_grad()
@pytest.mark.parametrize("pre_projection", [False, True])
def test_attention_gives_the_rows_that_are_asked_for(pre_projection: bool) -> None:
    net = net_of("rope", "conformer", pre_projection=pre_projection)
    x_BTD, context = net.embedded(IDS), Context.of(IDS.shape[1], causal=False)
    attention, rows_Q = net.blocks[0].attention, torch.tensor([4, 1])
    some_BQD = attention(x_BTD, net.encoding(0), context, None, rows_Q)
    assert (some_BQD - attention(x_BTD, net.encoding(0), context)[:, rows_Q]).abs().max() < rounding(torch.float64)

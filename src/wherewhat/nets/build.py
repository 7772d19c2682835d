"""From a config to a net with untrained weights, of every kind."""

import torch
from torch import nn

from wherewhat.nets.blocks import PostNormBlock, PreNormBlock
from wherewhat.nets.config import NetConfig
from wherewhat.nets.conformer import Conformer
from wherewhat.nets.trunk import Trunk


def new_block(config: NetConfig) -> nn.Module:
    """One more layer of a decoder or an encoder."""
    return PreNormBlock(config) if config.block == "pre_norm" else PostNormBlock(config)


class Decoder(Trunk):
    """A causal net that predicts the next token. Given a `Past`, it reads a text in pieces."""

    def new_block(self) -> nn.Module:
        return new_block(self.config)


class Encoder(Trunk):
    """A bidirectional net: every token attends to all others."""

    def new_block(self) -> nn.Module:
        return new_block(self.config)


NETS: dict[str, type[Trunk]] = {"decoder": Decoder, "encoder": Encoder, "conformer": Conformer}


def build(config: NetConfig, *, seed: int = 0) -> Trunk:
    """A new net. The same config and seed give the same weights, whatever was drawn before and elsewhere.

    >>> net = build(NetConfig(vocabulary=10, width=8, layers=1, heads=2))
    >>> net(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 10])
    """
    return NETS[config.kind](config, generator=torch.Generator().manual_seed(seed))

"""From a config to a net with fresh weights."""

import torch

from wherewhat.nets.config import NetConfig
from wherewhat.nets.conformer import Conformer
from wherewhat.nets.decoder import Decoder
from wherewhat.nets.encoder import Encoder
from wherewhat.nets.trunk import Trunk

NETS: dict[str, type[Trunk]] = {"decoder": Decoder, "encoder": Encoder, "conformer": Conformer}


def build(config: NetConfig, *, seed: int = 0) -> Trunk:
    """A new net. The same config and seed give the same weights, whatever was drawn before and elsewhere.

    >>> net = build(NetConfig(vocabulary=10, width=8, layers=1, heads=2))
    >>> net(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 10])
    """
    return NETS[config.kind](config, generator=torch.Generator().manual_seed(seed))

"""Small nets with factors, and a study that is as small as can be, for tests of row sums."""

from dataclasses import replace

import numpy as np
import torch

from wherewhat.encodings.urpe import Urpe
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.row_sums.settings import RowSumScale
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotBatch, SlotTask

MICRO = RowSumScale(
    position=PositionTask(tokens=8, n_tok=4),
    even=EvenTask(tokens=8, n_tok=4),
    encodings=("none", "rope", "urpe over t5_bias", "learned"),
    layers=1,
    width=8,
    heads=2,
    position_steps=2,
    even_steps=3,
    batch=4,
    learning_rate=1e-2,
    samples=30,
    texts=2,
    seeds=1,
)
THREE = replace(MICRO, samples=3)  # sequences are enough where the net is made by hand


def factors_net(layers: int = 1) -> Trunk:
    """An untrained net in float64 with random factors."""
    config = NetConfig(vocabulary=8, width=8, layers=layers, heads=2, length=8, kind="encoder", encoding="urpe")
    net = build(config, seed=1).double().eval()
    with torch.no_grad():
        for weight in net.encodings.parameters():
            weight += torch.randn(weight.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return net


def counting_net() -> tuple[Trunk, PositionTask]:
    """A net that answers each slot by the sum of its row: factors of 2 before the query, 0 from it on; 1 layer."""
    task = PositionTask(tokens=8, n_tok=8)
    net = factors_net()
    urpe = net.encoding(0)
    assert isinstance(urpe, Urpe)
    with torch.no_grad():
        for weight in (net.tokens.weight, *urpe.over.parameters()):
            weight.zero_()
        net.tokens.weight += 1.0 + torch.arange(8.0).double()  # all tokens are the same
        urpe.table_RH.zero_()
        urpe.table_RH[:7] = 2.0
        ids_BT = torch.zeros((1, 8), dtype=torch.int64)
        hidden_TD = net.hidden(ids_BT)[0]
        # The nearest of eight known states: 2 h.s - s.s is highest where h is s.
        net.head.weight.copy_(2 * hidden_TD)
        net.head.bias.copy_(-(hidden_TD**2).sum(-1))
    return net, task


def first_batch(task: SlotTask, samples: int, seed: int = 1) -> SlotBatch:
    """The first test sequences."""
    return task.batch(seed, "test", np.arange(samples))

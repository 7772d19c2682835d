"""A network of nodes in modules, of which some values are hidden: does a table find out which nodes belong together?

Nodes of a module drive each other, so that their values correlate; nodes of different modules hardly do. A net reads
every node as a token, a few successive values of it, and predicts those of nodes that are hidden. Without positions it
can use little more than the mean of the nodes that it sees. The order of nodes is random, so that a fixed sinusoid says
nothing about modules; but it tells nodes apart, and the weights of the net can learn which of them belong together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import AdamW

from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import descend, finite, parameter_groups, rate_at

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ModularNetwork:
    """Nodes in modules: x(t+1) = tanh(gain · W x(t)) + noise."""

    modules: int = 4
    size: int = 8  # nodes of a module
    inside: float = 0.9  # weights from a node's own module, as a sum over `size` nodes
    across: float = 0.02  # the same from all other modules
    gain: float = 1.2
    noise: float = 0.3
    values: int = 8  # successive ones that are a node's token
    settling: int = 200  # steps before the first of them

    @property
    def nodes(self) -> int:
        """Nodes of all modules."""
        return self.modules * self.size

    def module_of(self, seed: int) -> Ints:
        """module_T of the node in each place; the order of nodes is random and depends on the seed."""
        return np.random.default_rng([seed, 0]).permutation(np.arange(self.nodes) // self.size)

    def weights(self, module_T: Ints) -> Floats:
        """weight_TT from node to node; none from a node to itself."""
        same_TT = module_T[:, None] == module_T
        weight_TT = np.where(same_TT, self.inside / self.size, self.across / (self.nodes - self.size))
        np.fill_diagonal(weight_TT, 0.0)
        return weight_TT

    def windows(self, module_T: Ints, samples: int, generator: np.random.Generator) -> Floats:
        """values_NTV: successive values of every node, each sample from a run of its own."""
        weight_TT = self.gain * self.weights(module_T)
        value_NT = np.zeros((samples, self.nodes))
        kept = []
        for step in range(self.settling + self.values):
            value_NT = np.tanh(value_NT @ weight_TT.T) + self.noise * generator.standard_normal(value_NT.shape)
            kept += [value_NT] if step >= self.settling else []
        return np.stack(kept, axis=-1)


@dataclass(frozen=True)
class NetworkTraining:
    """How a net learns to predict hidden nodes."""

    network: ModularNetwork = ModularNetwork()
    steps: int = 1000
    batch: int = 64
    learning_rate: float = 3e-3
    warmup: int = 100
    samples: int = 4096  # windows of training, used again and again
    tested: int = 512
    hidden: float = 0.25  # the share of nodes whose values are to be predicted

    def config(self, base: NetConfig) -> NetConfig:
        """One block that reads the values of a node and whether they are hidden, instead of a token."""
        return replace(base, vocabulary=self.network.values + 1, length=self.network.nodes, layers=1)


def module_contrast(table_TD: Floats, module_T: Ints) -> float:
    """The mean cosine of rows of nodes in the same module, minus that in different ones; 0 for a random table.

    >>> module_contrast(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), np.array([0, 0, 1, 1]))
    1.0
    """
    unit_TD = table_TD / np.linalg.norm(table_TD, axis=1, keepdims=True)
    cosine_TT, same_TT = unit_TD @ unit_TD.T, module_T[:, None] == module_T
    others_TT = ~np.eye(len(module_T), dtype=bool)
    return float(cosine_TT[same_TT & others_TT].mean() - cosine_TT[~same_TT].mean())


def random_contrasts(network: ModularNetwork, width: int, *, tables: int, seed: int) -> Floats:
    """The contrast of each of so many random tables."""
    generator, module_T = np.random.default_rng(seed), network.module_of(seed)
    drawn = (generator.standard_normal((network.nodes, width)) for _ in range(tables))
    return np.array([module_contrast(table_TD, module_T) for table_TD in drawn])


def shuffled_contrasts(table_TD: Floats, module_T: Ints, *, times: int, seed: int) -> Floats:
    """The contrast of a table with its nodes put into modules at random, so many times."""
    generator = np.random.default_rng(seed)
    return np.array([module_contrast(table_TD, generator.permutation(module_T)) for _ in range(times)])


def hide(values_NTV: Tensor, share: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """What a net reads, input_NTV with a flag as last channel, and hidden_NT: which nodes have the flag, not values."""
    samples, nodes, _ = values_NTV.shape
    order_NT = torch.rand(samples, nodes, generator=generator).argsort(1)
    hidden_NT = order_NT < round(share * nodes)
    flag_NT1 = hidden_NT[..., None].to(values_NTV.dtype)
    return torch.cat([values_NTV * (1 - flag_NT1), flag_NT1], dim=-1), hidden_NT


def prediction(net: Trunk, input_NTV: Tensor) -> Tensor:
    """values_NTV that a net predicts of every node; the embedding is a linear layer without bias."""
    hidden_NTD = net.hidden_of(input_NTV @ net.tokens.weight)
    values_NTV: Tensor = net.head(hidden_NTD)[..., :-1]
    return values_NTV


def hidden_loss(net: Trunk, values_NTV: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """The mean squared error over hidden nodes."""
    input_NTV, hidden_NT = hide(values_NTV, share, generator)
    return (prediction(net, input_NTV) - values_NTV)[hidden_NT].square().mean()


def learn_network(
    training: NetworkTraining, config: NetConfig, seed: int, on_step: Callable[[int], None]
) -> tuple[Trunk, float]:
    """A trained net, and its squared error on new windows as a share of their variance."""
    network = training.network
    module_T = network.module_of(seed)
    draws = (np.random.default_rng([seed, part]) for part in (1, 2))
    train_NTV, test_NTV = (
        torch.from_numpy(network.windows(module_T, samples, generator)).float()
        for samples, generator in zip((training.samples, training.tested), draws, strict=True)
    )
    net, generator = build(training.config(config), seed=seed), torch.Generator().manual_seed(seed)
    optimizer = AdamW(parameter_groups(net), weight_decay=0.0, fused=True)
    for step in range(1, training.steps + 1):
        rows_N = torch.arange((step - 1) * training.batch, step * training.batch) % training.samples
        loss = hidden_loss(net, train_NTV[rows_N], training.hidden, generator)
        finite(loss.item(), step, rate=training.learning_rate, warmup=training.warmup)
        rate = rate_at(step, peak=training.learning_rate, warmup=training.warmup, steps=training.steps)
        descend(loss, optimizer, rate)
        on_step(step)
    with torch.no_grad(), evaluating(net):
        error = hidden_loss(net, test_NTV, training.hidden, torch.Generator().manual_seed(seed)) / test_NTV.var()
    return net.eval(), float(error)

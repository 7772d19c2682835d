"""A read-out by one cross-attention: learned queries gather the hidden states of a whole sequence."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.drawing import draw_uniform
from wherewhat.nets.blocks import mlp
from wherewhat.nets.config import NetConfig


class Readout(nn.Module):
    """One head of cross-attention from learned queries, without positions, and a linear layer to classes.

    Nothing but values reaches the output, so that a logit is a sum over tokens of attention times a value, unless the
    config asks for an MLP between the two. There are few queries and many tokens: keys and values are projected on the
    side of the queries, which gives the same.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        width = config.width
        self.queries_RD = nn.Parameter(torch.empty(config.readout_queries, width))
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.mlp = mlp(width, config.readout_mlp * width, nn.GELU()) if config.readout_mlp else None
        self.out = nn.Linear(width, config.readout_classes)

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw all weights anew."""
        nn.init.normal_(self.queries_RD, generator=generator)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                draw_uniform(layer.weight, layer.bias, generator)
            elif isinstance(layer, nn.LayerNorm):
                layer.reset_parameters()

    def attention(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """attention_BRT: how much each query gathers from each token."""
        query_RD = self.queries_RD @ self.key.weight * x_BTD.shape[-1] ** -0.5
        logits_BRT: Tensor = query_RD @ x_BTD.mT
        if real_BT is not None:
            logits_BRT = logits_BRT.masked_fill(~real_BT[:, None], -torch.inf)
        return logits_BRT.softmax(-1)

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        gathered_BRD: Tensor = self.value(self.attention(x_BTD, real_BT) @ x_BTD)
        logits_BRC: Tensor = self.out(gathered_BRD if self.mlp is None else gathered_BRD + self.mlp(gathered_BRD))
        return logits_BRC

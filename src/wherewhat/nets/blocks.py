"""The layers of decoders and encoders, by where their norms are.

All tokens go in. What comes out is the stream of all of them, or of those in the slots `rows_Q` alone.
"""

from torch import Tensor, nn
from torch.nn.functional import gelu

from wherewhat.encodings.base import Context, Encoding
from wherewhat.nets.attention import SelfAttention
from wherewhat.nets.config import NetConfig
from wherewhat.nets.past import Memory


class PreNormBlock(nn.Module):
    """Self-attention, then an MLP; each reads a normed stream and adds to the stream itself."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = SelfAttention(config.width, config.heads)
        self.mlp = mlp(config.width, config.mlp * config.width, nn.GELU()) if config.mlp else None

    def forward(
        self,
        x_BTD: Tensor,
        encoding: Encoding,
        context: Context,
        memory: Memory | None = None,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        mixed_BTD = self.attention(self.attention_norm(x_BTD), encoding, context, memory, rows_Q)
        x_BTD = at_rows(x_BTD, rows_Q) + mixed_BTD
        return x_BTD if self.mlp is None else x_BTD + self.mlp(x_BTD)


class PostNormBlock(nn.Module):
    """Self-attention, then an MLP that ends with a GELU; a norm after each addition (arXiv 2406.08272)."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.mlp * config.width
        self.attention = SelfAttention(width, config.heads)
        self.attention_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)) if hidden else None
        self.mlp_norm = nn.LayerNorm(width) if hidden else None

    def forward(
        self,
        x_BTD: Tensor,
        encoding: Encoding,
        context: Context,
        memory: Memory | None = None,
        rows_Q: Tensor | None = None,
    ) -> Tensor:
        mixed_BTD = self.attention(x_BTD, encoding, context, memory, rows_Q)
        x_BTD = self.attention_norm(at_rows(x_BTD, rows_Q) + mixed_BTD)
        if self.mlp is None or self.mlp_norm is None:
            return x_BTD
        normed_BTD: Tensor = self.mlp_norm(x_BTD + gelu(self.mlp(x_BTD)))
        return normed_BTD


def at_rows(x_BTD: Tensor, rows_Q: Tensor | None) -> Tensor:
    """The stream in these slots; in all of them if none are named."""
    return x_BTD if rows_Q is None else x_BTD[:, rows_Q]


def mlp(width: int, hidden: int, activation: nn.Module) -> nn.Sequential:
    """Norm, linear layer to `hidden`, activation, linear layer back; with biases."""
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), activation, nn.Linear(hidden, width))

"""PaTH with a forget gate: every token on the way reflects the key, and fades it too."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from wherewhat.encodings import drawing
from wherewhat.encodings.base import EncodingRecord, Notes
from wherewhat.encodings.reflecting import Reflecting, project


class PathFox(Reflecting):
    """Path, and the logit of key j falls by what the gates of tokens j+1 ... i let go (arXiv 2505.16381).

    Token t has a gate f_t = sigmoid(W_f x_t + b_f) in each head, and log f_t is added for each token on the way. Gates
    of 1 keep everything and leave plain path; no reflections leave the forgetting Transformer (arXiv 2503.02130).

    The paper adds the gate as it is. `gate_scaled` multiplies it by head_dim^(-1/2) like the dot product, as the public
    kernel does, for checkpoints trained with that. `rank`, `conv` and `chunk` are those of path.

    >>> fox = PathFox(width=8, heads=2, head_dim=4)
    >>> fox.observe(torch.zeros(1, 1, 8))["log_forget"].exp()
    tensor([[[0.5000],
             [0.5000]]], grad_fn=<ExpBackward0>)
    """

    name = "path_fox"
    added = ("forget.bias",)

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        *,
        rank: int = 32,
        conv: int = 3,
        chunk: int = 64,
        gate_scaled: bool = False,
    ) -> None:
        super().__init__(width, heads, head_dim, rank=rank, conv=conv, chunk=chunk)
        self.gate_scale = head_dim**-0.5 if gate_scaled else 1.0
        self.forget = drawing.linear(width, heads)
        self.reset_parameters(torch.Generator().manual_seed(0))

    def log_forget(self, x_BTD: Tensor) -> Tensor:
        return logsigmoid(project(self.forget, x_BTD)).transpose(1, 2)

    def forgetting(self, notes: Notes) -> Tensor:
        return self.gate_scale * notes["log_forget"]


RECORD = EncodingRecord(
    cls=PathFox,
    about="path with a forget gate: every token between key and query reflects the key, and attenuates it too",
    acts="on queries and keys, through all tokens between them, in every block",
    parameters="those of path and heads × (width + 1), per block",
    direction="causal only",
    kernel="its own",
    options={
        "rank": "rank of the low-rank map to the reflections",
        "conv": "how many tokens its convolution sees",
        "chunk": "tokens processed at once; does not change results",
        "gate_scaled": "whether the gate is scaled like q·k, as in the public kernel",
    },
    growth="about 4 times the time of plain attention; n × head width in memory, per head and block",
    paper="Yang et al. 2025, arXiv 2505.16381",
)

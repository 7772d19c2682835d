"""PaTH: every token on the way from a key to the query reflects the key, so position is made of contents."""

import torch

from wherewhat.encodings.base import EncodingRecord
from wherewhat.encodings.reflecting import Reflecting


class Path(Reflecting):
    """Let query i meet key j through the matrices of all tokens between: q_iᵀ H_i ... H_{j+1} k_j (arXiv 2505.16381).

    H_t = I - beta_t w_t w_tᵀ follows from what token t says. No other position is needed: a decoder can learn to count
    marks, to follow a state or to ignore a stretch of text. It only looks back.

    `rank` is how narrow the projection to the directions w is, `conv` how many tokens its convolution sees, `chunk`
    how many tokens are worked through at once, which changes speed and memory but no result.

    >>> path = Path(width=8, heads=2, head_dim=4)
    >>> {name: list(note.shape) for name, note in path.observe(torch.ones(1, 5, 8)).items()}
    {'u': [1, 2, 5, 4], 'beta': [1, 2, 5], 'real': [1, 1, 5], 'w': [1, 2, 5, 4]}
    """

    name = "path"

    def __init__(
        self, width: int, heads: int, head_dim: int, *, rank: int = 32, conv: int = 3, chunk: int = 64
    ) -> None:
        super().__init__(width, heads, head_dim, rank=rank, conv=conv, chunk=chunk)
        self.reset_parameters(torch.Generator().manual_seed(0))


RECORD = EncodingRecord(
    cls=Path,
    about="every token between key and query reflects the key, so position depends on content",
    acts="on queries and keys, through all tokens between them, in every block",
    parameters="rank × (width + heads × head width), conv × heads × head width, heads × (width + 1), per block",
    direction="causal only",
    kernel="its own",
    options={
        "rank": "rank of the low-rank map to the reflections",
        "conv": "how many tokens its convolution sees",
        "chunk": "tokens processed at once; does not change results",
    },
    growth="about 3 times the time of plain attention; n × head width in memory, per head and block",
    paper="Yang et al. 2025, arXiv 2505.16381",
)

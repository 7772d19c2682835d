"""A learned vector for every position, added to the tokens: the encoding of BERT and GPT-2."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Encoding, EncodingRecord
from wherewhat.errors import UserError
from wherewhat.names import look_up

PLACES = {"input": "once, where the tokens enter", "block": "at every block, each with a table of its own"}


class Learned(Encoding):
    """Add row p of a table to the token at position p: x ← x + E[p], entries drawn from N(0, sigma²).

    There are `length` rows and a position beyond them is refused, never wrapped. How wide the table starts decides
    how the net generalises (arXiv 2406.08272), so `sigma` is an experiment's variable rather than a detail.

    >>> encoding = Learned(width=3, length=8, sigma=0.0)
    >>> encoding.on_tokens(torch.ones(1, 2, 3), torch.tensor([[0, 7]]), 0)
    tensor([[[1., 1., 1.],
             [1., 1., 1.]]], grad_fn=<AddBackward0>)
    """

    name = "learned"
    shift_invariant = False

    def __init__(self, width: int, *, length: int = 512, sigma: float = 0.02, place: str = "input") -> None:
        super().__init__()
        if min(width, length) < 1 or sigma < 0:
            raise UserError(
                "a learned encoding needs a width and a length of at least 1 and a sigma of at least 0; "
                f"got width {width}, length {length}, sigma {sigma}"
            )
        look_up("place", place, PLACES)
        self.max_length, self.sigma = length, sigma
        self.shared = place == "input"
        self.table_SD = nn.Parameter(torch.empty(length, width))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table_SD, std=self.sigma, generator=generator)

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        if self.shared and block > 0:
            return x_BTD
        self.check(length=int(positions_BT.max()) + 1)
        return x_BTD + self.source("table", nn.functional.embedding(positions_BT, self.table_SD), block)


RECORD = EncodingRecord(
    cls=Learned,
    about="a learned vector for every slot, added to the token embeddings; none beyond its length",
    acts="on the tokens, once at the input, or in every block",
    parameters="length × width, or as much per block",
    direction="either",
    kernel="fused",
    options={
        "length": "how many slots have a vector",
        "sigma": "initial standard deviation of the vectors",
        "place": '"input" (added once) or "block" (each block adds a table of its own)',
    },
    growth="n × width in time, once or per block; stops at its length",
    paper="Gehring et al. 2017, arXiv 1705.03122; the spread it starts with: arXiv 2406.08272",
)

"""Kernels of distance: every head loses interest at a pace and in a shape that it learns (arXiv 2205.09921)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.encodings.positive import freed, held_positive
from wherewhat.encodings.record import EncodingRecord
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError
from wherewhat.names import look_up


@dataclass(frozen=True)
class Kind:
    """A family of curves that fall with distance, and how its exponent p is kept within bounds while it is learned."""

    fall: Callable[[Tensor, Tensor, Tensor], Tensor]  # a, p, distance
    hold: Callable[[Tensor], Tensor]
    free: Callable[[Tensor], Tensor]  # the way back


KINDS = {
    "log": Kind(lambda a, p, distance: p * (a * distance).log1p(), held_positive, freed),
    "power": Kind(lambda a, p, distance: a * distance**p, lambda free: 2 * free.sigmoid(), lambda p: (p / 2).logit()),
}


class Kerple(Encoding):
    """Subtract a learned curve of the distance |i - j|: p · ln(1 + a · |i - j|), or a · |i - j|^p.

    `kind` says which: "log" with any a, p > 0, or "power" with 0 < p < 2. They are drawn for each head, a from U(0, 1)
    and p from U(0, 2), kept at least 0.01 away from those bounds, and serve all blocks. They are stored without
    bounds and read through a softplus (the p of a power through a sigmoid), where the authors' code cuts them off
    after each step. The kernel that multiplies attention is left out.

    >>> encoding = Kerple(heads=1)
    >>> encoding.start(torch.tensor([1.0]), torch.tensor([2.0]))
    >>> encoding.bias(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), Context.of(3, causal=False))[0, 0]
    tensor([[-0.0000, -1.3863, -2.1972],
            [-1.3863, -0.0000, -1.3863],
            [-2.1972, -1.3863, -0.0000]], grad_fn=<SelectBackward0>)
    """

    name = "kerple"
    bias_by_slot = True
    mirror_invariant = True

    def __init__(self, heads: int, *, kind: str = "log") -> None:
        super().__init__()
        self.heads = heads
        if heads < 1:
            raise UserError(f"kerple needs at least one head, got {heads}")
        look_up("kind of kerple", kind, KINDS)
        self.kind = kind
        self.free_a_H, self.free_p_H = (nn.Parameter(torch.empty(heads)) for _ in "ap")
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        a_H, p_H = (torch.rand(len(self.free_a_H), generator=generator, dtype=torch.float64) for _ in "ap")
        self.start(a_H.clamp(0.01, 1.99), (2 * p_H).clamp(0.01, 1.99))

    @torch.no_grad()
    def start(self, a_H: Tensor, p_H: Tensor) -> None:
        """Begin with these a and p."""
        self.free_a_H.copy_(freed(a_H))
        self.free_p_H.copy_(KINDS[self.kind].free(p_H))

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        kind = KINDS[self.kind]
        a_H, p_H = held_positive(self.free_a_H.to(dtype)), kind.hold(self.free_p_H.to(dtype))
        fall_HR = kind.fall(a_H[:, None], p_H[:, None], lags_of(context).abs().to(dtype))
        return by_lag(-fall_HR.to(q_BHQC.dtype), context)


RECORD = EncodingRecord(
    cls=Kerple,
    about="every head loses interest with distance along a curve that it learns, a logarithm or a power",
    acts="on the logits, as a bias, in every block",
    parameters="2 × heads, for all blocks together",
    direction="either; in an encoder both sides count alike",
    kernel="fused with a float bias",
    options={
        "kind": '"log", p · ln(1 + a · distance), or "power", a · distance^p',
    },
    growth="n² in time and memory, for each head, once for all blocks",
    paper="Chi et al. 2022, arXiv 2205.09921",
)

"""Kernels of distance: attention decays along a curve that every head learns (arXiv 2205.09921)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, wide
from wherewhat.encodings.bells import inverse_softplus
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError
from wherewhat.names import look_up


@dataclass(frozen=True)
class Kind:
    """A family of curves that fall with distance, and how its exponent p is kept within bounds while it is learned."""

    fall: Callable[[Tensor, Tensor, Tensor], Tensor]  # a, p, distance
    hold: Callable[[Tensor], Tensor]
    free: Callable[[Tensor], Tensor]  # its inverse


KINDS = {
    "log": Kind(lambda a, p, distance: p * (a * distance).log1p(), softplus, inverse_softplus),
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
        self.free_a_H.copy_(inverse_softplus(a_H))
        self.free_p_H.copy_(KINDS[self.kind].free(p_H))

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        kind = KINDS[self.kind]
        a_H, p_H = softplus(self.free_a_H.to(dtype)), kind.hold(self.free_p_H.to(dtype))
        fall_HR = kind.fall(a_H[:, None], p_H[:, None], lags_of(context).abs().to(dtype))
        return by_lag(-fall_HR.to(q_BHQC.dtype), context)


RECORD = EncodingRecord(
    cls=Kerple,
    about="a penalty on the logits that grows with distance along a learned curve per head, logarithm or power",
    acts="on the logits, as a bias, in every block",
    parameters="2 × heads, shared by all blocks",
    direction="either; in an encoder both sides are treated alike",
    kernel="fused with a float bias",
    options={"kind": '"log", p · ln(1 + a · distance), or "power", a · distance^p'},
    growth="n² in time and memory, per head, once for all blocks",
    paper="Chi et al. 2022, arXiv 2205.09921",
)

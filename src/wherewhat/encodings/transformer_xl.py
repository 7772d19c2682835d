"""Transformer-XL: the query also meets a sinusoid of the distance, and two learned vectors stand in for any query."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, outside_autocast, wide
from wherewhat.encodings.crossing import Crossing
from wherewhat.encodings.drawing import draw_normal, linear
from wherewhat.encodings.frequencies import angles, check_ladder
from wherewhat.encodings.record import EncodingRecord
from wherewhat.encodings.relative import lags_of, query_with_lag
from wherewhat.encodings.sinusoidal import LAYOUTS
from wherewhat.errors import UserError
from wherewhat.names import look_up

BIAS_INITS = {"normal": "u and v from N(0, sigma²), as in Transformer-XL", "zeros": "u = v = 0, as in conformers"}


class TransformerXL(Crossing):
    """Logits [(q_i + u)·k_j + (q_i + v)·W R(i - j)] / √head_dim (arXiv 1901.02860, and XLNet, 1906.08237).

    R is the sinusoid of the distance, negative for keys after the query, so it never ends; `layout` says in which
    order its channels come: "concat" in Transformer-XL and XLNet, "interleaved" in conformers. W, u and v are learned
    in each block: u asks every key the same, wherever it stands, and v makes slots count whatever is asked. They
    start in N(0, sigma²), or u and v at nothing with `bias_init` "zeros". XLNet's segments are left out.

    >>> encoding = TransformerXL(width=4, heads=2, head_dim=2)
    >>> worth_BHQK = encoding.slot_part(torch.ones(1, 2, 3, 2), Context.of(3, causal=False))
    >>> torch.equal(worth_BHQK[..., 1:, 1:], worth_BHQK[..., :-1, :-1])  # of equal queries: a matter of distance alone
    True
    """

    name = "transformer_xl"
    shared = False

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        *,
        base: float = 10_000.0,
        layout: str = "concat",
        bias_init: str = "normal",
        sigma: float = 0.02,
    ) -> None:
        super().__init__()
        self.heads = heads
        check_ladder(width=width, base=base, what="the width of a transformer_xl encoding")
        if min(heads, head_dim) < 1 or sigma < 0:
            raise UserError(
                "transformer_xl needs heads and a head_dim of at least 1 and a sigma of at least 0; "
                f"got heads {heads}, head_dim {head_dim}, sigma {sigma}"
            )
        look_up("bias_init", bias_init, BIAS_INITS)
        self.width, self.base, self.sigma = width, base, sigma
        self.arrange = look_up("layout", layout, LAYOUTS)
        self.bias_sigma = sigma if bias_init == "normal" else 0.0
        self.project = linear(width, heads * head_dim, bias=False)
        self.u_HC = nn.Parameter(torch.empty(heads, head_dim))
        self.v_HC = nn.Parameter(torch.empty(heads, head_dim))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        draw_normal([self.project.weight], self.sigma, generator)
        draw_normal([self.u_HC, self.v_HC], self.bias_sigma, generator)

    @outside_autocast
    def slot_part(self, q_BHQC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        asking_BHQC = (q_BHQC.to(dtype) + self.v_HC.to(dtype)[:, None]) * self.v_HC.shape[-1] ** -0.5
        return query_with_lag(asking_BHQC, self._slots(context, dtype), context).to(q_BHQC.dtype)

    def asking(self, context: Context, dtype: torch.dtype) -> Tensor:
        toward_HRC: Tensor = self.u_HC.to(dtype)[:, None] * self.u_HC.shape[-1] ** -0.5
        return toward_HRC

    def _slots(self, context: Context, dtype: torch.dtype) -> Tensor:
        """W R for every lag there is, as keys_HRC."""
        key = (TransformerXL, self.arrange, self.width, self.base, dtype)
        sinusoid_RD = context.once(key, lambda: self._sinusoid(lags_of(context), dtype))
        keys_RD = sinusoid_RD @ self.project.weight.to(dtype).T
        return keys_RD.view(-1, *self.u_HC.shape).transpose(0, 1)

    def _sinusoid(self, lags_R: Tensor, dtype: torch.dtype) -> Tensor:
        angle_RF = angles(lags_R, width=self.width, base=self.base, dtype=dtype)
        return self.arrange(angle_RF.sin(), angle_RF.cos())


RECORD = EncodingRecord(
    cls=TransformerXL,
    about="the query also meets a sinusoid of the distance; two learned vectors ask for slots and for contents",
    acts="on the logits, as a bias, in every block",
    parameters="width × width + 2 × width, for each block",
    direction="either",
    kernel="fused with a float bias",
    options={
        "base": "the ladder of frequencies goes from 1 radian a token down to about 1 / base",
        "layout": 'of the sinusoid: "concat" (Transformer-XL, XLNet) or "interleaved" (conformers)',
        "bias_init": '"normal" or "zeros" (conformers), for u and v',
        "sigma": "how wide all weights start",
    },
    growth="n² × head width in time and n² in memory, for each head and block",
    paper="Dai et al. 2019, arXiv 1901.02860",
)

"""Transformer-XL: products with a sinusoid of the distance, and two learned vectors in place of the query."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, EncodingRecord, outside_autocast, wide
from wherewhat.encodings.drawing import draw_normal, linear
from wherewhat.encodings.relative import Disentangled, lags_of, query_with_lag
from wherewhat.encodings.rotary import angles, check_ladder
from wherewhat.encodings.sinusoidal import LAYOUTS
from wherewhat.errors import UserError
from wherewhat.names import look_up

BIAS_INITS = {"normal": "u and v from N(0, sigma²), as in Transformer-XL", "zeros": "u = v = 0, as in conformers"}


class TransformerXL(Disentangled):
    """Logits [(q_i + u)·k_j + (q_i + v)·W R(i - j)] / √head_dim (arXiv 1901.02860, and XLNet, 1906.08237).

    R is the sinusoid of the distance, negative for keys after the query, so it never ends; `layout` says in which
    order its channels come: "concat" in Transformer-XL and XLNet, "interleaved" in conformers. W, u and v are learned
    in each block: u gives every key a weight independent of its slot, v every slot one independent of the query. They
    start in N(0, sigma²), or u and v at 0 with `bias_init` "zeros". XLNet's segments are left out.

    >>> encoding = TransformerXL(width=4, heads=2, head_dim=2)
    >>> worth_BHQK = encoding.slot_part(torch.ones(1, 2, 3, 2), Context.of(3, causal=False))
    >>> torch.equal(worth_BHQK[..., 1:, 1:], worth_BHQK[..., :-1, :-1])  # of equal queries: a matter of distance alone
    True
    """

    name = "transformer_xl"
    added = ("v_HC",)
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

        def sinusoid() -> Tensor:
            angle_RF = angles(lags_of(context), width=self.width, base=self.base, dtype=dtype)
            return self.arrange(angle_RF.sin(), angle_RF.cos())

        sinusoid_RD = context.once((TransformerXL, self.arrange, self.width, self.base, dtype), sinusoid)
        keys_RD = sinusoid_RD @ self.project.weight.to(dtype).T
        keys_HRC = keys_RD.view(-1, *self.u_HC.shape).transpose(0, 1)
        product_BHQK = query_with_lag(asking_BHQC, keys_HRC, context)
        return self.product("distance keys", product_BHQK).to(q_BHQC.dtype)

    def position_queries(self, context: Context, dtype: torch.dtype) -> Tensor:
        position_query_HRC: Tensor = self.u_HC.to(dtype)[:, None] * self.u_HC.shape[-1] ** -0.5
        return position_query_HRC


RECORD = EncodingRecord(
    cls=TransformerXL,
    about="adds query · sinusoid of the distance, and two learned query biases, for contents and for distances",
    acts="on the logits, as a bias, in every block",
    parameters="width × width + 2 × width, per block",
    direction="either",
    kernel="fused with a float bias",
    options={
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": 'of the sinusoid: "concat" (Transformer-XL, XLNet) or "interleaved" (conformers)',
        "bias_init": '"normal" or "zeros" (conformers), for u and v',
        "sigma": "initial standard deviation of all weights",
    },
    growth="n² × head width in time and n² in memory, per head and block",
    paper="Dai et al. 2019, arXiv 1901.02860",
)

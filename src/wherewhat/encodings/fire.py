"""Distances as a share of how far a query could look, through a small learned function (arXiv 2310.04418)."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, outside_autocast, wide
from wherewhat.encodings.drawing import draw_uniform, linear
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError

ENTRIES = 1 << 22  # hidden units worked out at once, where they differ from query to query


class Fire(Encoding):
    """Add f(ψ(i - j) / ψ(max(L, i))) to the logit of query i and key j, where ψ(t) = ln(1 + |c·t|).

    The share lies in [0, 1) however long the text is: once training texts reach the threshold, longer ones bring f no
    new numbers. f is a small net, one number in, `hidden` units with ReLU, one number per head out. c starts at 0.1 and
    L at `threshold`, through a learned factor that starts at 1. Up to position L only the distance counts; beyond it
    the same distance is a smaller share, so attention depends on where a text starts.

    >>> encoding = Fire(heads=1, threshold=4)
    >>> share_QK = encoding.share(torch.tensor([0, 2, 4]), torch.tensor([[4], [9]]), torch.float32)
    >>> (100 * share_QK).round()  # two and four tokens back, seen from position 4 and from position 9
    tensor([[  0.,  54., 100.],
            [  0.,  28.,  52.]], grad_fn=<RoundBackward0>)
    """

    name = "fire"
    causal_only = True
    shared = False
    shift_invariant = False

    def __init__(self, heads: int, *, hidden: int = 32, threshold: float = 512.0, eps: float = 1e-6) -> None:
        super().__init__()
        self.heads = heads
        if min(heads, hidden) < 1 or not (0 < threshold < float("inf") and 0 < eps < float("inf")):
            raise UserError(
                "fire needs at least one head and one hidden unit and a threshold and an eps above 0; "
                f"got {heads} heads, hidden {hidden}, threshold {threshold}, eps {eps}"
            )
        self.threshold, self.eps = threshold, eps
        self.inner, self.outer = linear(1, hidden), linear(hidden, heads)
        self.c, self.factor = (nn.Parameter(torch.empty(1)) for _ in range(2))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        for layer in (self.inner, self.outer):
            draw_uniform(layer.weight, layer.bias, generator)
        nn.init.constant_(self.c, 0.1)
        nn.init.ones_(self.factor)

    @outside_autocast
    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        positions_BQK = context.query_positions_BQ[:, :, None]
        if positions_BQK.max() <= self._last_near(dtype):  # then only the lag counts, and there are few lags
            bias_RH = self._f(self.share(lags_of(context), positions_BQK.new_zeros(1), dtype))
            return by_lag(bias_RH.T.to(q_BHQC.dtype), context)
        lags_BQK = context.lags_BHQK[:, 0]
        rows = max(1, ENTRIES // (len(lags_BQK) * context.length * self.inner.out_features))
        pieces = zip(lags_BQK.split(rows, 1), positions_BQK.split(rows, 1), strict=True)
        return torch.cat([self._far(*piece, dtype) for piece in pieces], dim=2).to(q_BHQC.dtype)

    def _far(self, lags_BQK: Tensor, positions_BQK: Tensor, dtype: torch.dtype) -> Tensor:
        """bias_BHQK of some rows. Their hidden units are worked out again to learn, not kept: they are so many."""

        def bias() -> Tensor:
            return self._f(self.share(lags_BQK, positions_BQK, dtype)).permute(0, 3, 1, 2)

        if not torch.is_grad_enabled():
            return bias()
        bias_BHQK: Tensor = checkpoint(bias, use_reentrant=False, preserve_rng_state=False)
        return bias_BHQK

    def share(self, lags: Tensor, query_positions: Tensor, dtype: torch.dtype) -> Tensor:
        """ψ(lag) / ψ(max(L, query position)), for lags and positions of any shapes that go together."""
        near, positions = self._last_near(dtype), query_positions.to(dtype)
        furthest = torch.where(positions > near, positions, near)
        return self._psi(lags.to(dtype)) / (self._psi(furthest) + self.eps)

    def _psi(self, distance: Tensor) -> Tensor:
        return (self.c.to(distance.dtype) * distance).abs().log1p()

    def _last_near(self, dtype: torch.dtype) -> Tensor:
        return (self.factor.to(dtype) * self.threshold).abs()

    def _f(self, share: Tensor) -> Tensor:
        """One number per head for each share, on a new last axis; in the precision of the shares."""
        dtype = share.dtype
        units = nn.functional.linear(share[..., None], self.inner.weight.to(dtype), self.inner.bias.to(dtype)).relu()
        return nn.functional.linear(units, self.outer.weight.to(dtype), self.outer.bias.to(dtype))


RECORD = EncodingRecord(
    cls=Fire,
    about="a small learned function of the distance as a share of the longest that the query could have",
    acts="on the logits, as a bias, in every block",
    parameters="2 + 2 × hidden + (hidden + 1) × heads, per block",
    direction="causal only",
    kernel="fused with a float bias",
    options={
        "hidden": "units of the small network",
        "threshold": "the position up to which only the distance matters",
        "eps": "avoids 0 / 0",
    },
    growth="n² in time and memory, per head and block; beyond its threshold the time also grows with the hidden units",
    paper="Li et al. 2023, arXiv 2310.04418",
)

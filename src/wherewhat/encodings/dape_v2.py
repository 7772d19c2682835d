"""As dape, but the small net also sees the neighbouring keys: logits read as a picture (arXiv 2410.04798)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, pad

from wherewhat.encodings.base import Context, Encoding, EncodingRecord
from wherewhat.encodings.wrapper import Correcting, has_bias
from wherewhat.errors import UserError
from wherewhat.names import look_up

EDGES = {
    "consistent": "a decoder reads a text the same way whether or not more follows",
    "published": "as the authors' code: the last query of a text is treated differently",
}


class DapeV2(Correcting):
    """Add f(logits, bias) to the logits and bias of `over`, where f sees `kernel` keys at once.

    f is two convolutions along the keys with LeakyReLU between them, from the logits (and biases) of all heads to
    `hidden` channels and back. Forbidden keys enter it as 0, which is what keeps a decoder from seeing ahead. With
    `kernel=1` this is dape. Every block learns its own f and shares `over` as it would alone.

    A hidden channel one key past the query is not 0, since a convolution has a bias. The authors' code cuts it off at
    the end of the text, so that a query is read differently as soon as a token follows it, and decoding piece by piece
    disagrees with reading at once. `edge="consistent"` works out those channels beyond the end too; it differs from
    `edge="published"` in the last half kernel of queries only, and not at all in an encoder.

    Padding changes nothing: real keys are pushed together first, and in an encoder there is nothing beyond them.

    >>> from wherewhat.encodings.alibi import Alibi
    >>> sum(each.numel() for each in DapeV2(Alibi(heads=12), heads=12).parameters())  # 3 · 36 · 32 + 32 + 12
    3500
    """

    name = "dape_v2"

    def __init__(
        self, over: Encoding, heads: int, *, hidden: int = 32, kernel: int = 3, edge: str = "consistent"
    ) -> None:
        super().__init__(over, heads)
        if min(heads, hidden) < 1:
            raise UserError(
                f"dape_v2 needs at least one head and one hidden channel, got {heads} heads and hidden {hidden}"
            )
        if kernel < 1 or kernel % 2 == 0:
            raise UserError(f"the kernel of dape_v2 must be odd, so that it has a middle, got {kernel}; 3 is usual")
        look_up("edge", edge, EDGES)
        self.reach, self.edge = kernel // 2, edge
        self.mirror_invariant = over.mirror_invariant and kernel == 1
        self.inner = along_keys(2 * heads if has_bias(over) else heads, hidden, kernel)
        self.outer = along_keys(hidden, heads, kernel)
        self.draw(torch.Generator().manual_seed(0))

    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        bias_BHQK = self.bias_of_wrapped(q_BHQC, k_BHKC, context)
        if bias_BHQK is None:
            return logits_BHQK + self._f(logits_BHQK, context)
        stacked_BHQK = torch.cat((logits_BHQK, bias_BHQK.expand_as(logits_BHQK)), dim=1)
        return logits_BHQK + bias_BHQK + self._f(stacked_BHQK, context)

    def _f(self, x_BHQK: Tensor, context: Context) -> Tensor:
        """Both convolutions, over keys of which the real ones come first."""
        x_BHQK = x_BHQK.masked_fill(~context.allowed_BHQK, 0)
        order_BHQK = context.once((DapeV2, "order"), lambda: real_first(context.real_BK))
        if order_BHQK is not None:
            x_BHQK = x_BHQK.gather(-1, order_BHQK.expand_as(x_BHQK))
        beyond = self.reach if context.causal and self.edge == "consistent" else 0
        hidden_BCQK = leaky_relu(self.inner(pad(x_BHQK, (0, beyond))), inplace=True)
        if not beyond and context.real_BK is not None:
            ends_BHQK = context.real_BK.sum(-1)[:, None, None, None]
            past_BHQK = torch.arange(context.length, device=x_BHQK.device) >= ends_BHQK
            hidden_BCQK = hidden_BCQK.masked_fill(past_BHQK, 0)
        out_BHQK: Tensor = self.outer(hidden_BCQK)[..., : context.length]
        return out_BHQK if order_BHQK is None else out_BHQK.gather(-1, order_BHQK.argsort().expand_as(out_BHQK))


def along_keys(inputs: int, outputs: int, kernel: int) -> nn.Conv2d:
    """A convolution over the last axis that keeps its size, and whose numbers are still to be drawn."""
    made: nn.Conv2d = nn.utils.skip_init(nn.Conv2d, inputs, outputs, (1, kernel), padding=(0, kernel // 2))
    return made


def real_first(real_BK: Tensor | None) -> Tensor | None:
    """order_BHQK of the keys that puts padding last and keeps the rest in order; None where it stands last already.

    >>> real_first(torch.tensor([[False, True, True], [True, False, True]]))[:, 0, 0]
    tensor([[1, 2, 0],
            [0, 2, 1]])
    """
    if real_BK is None or not (real_BK[:, 1:] & ~real_BK[:, :-1]).any():
        return None
    return real_BK.argsort(dim=-1, descending=True, stable=True)[:, None, None, :]


RECORD = EncodingRecord(
    cls=DapeV2,
    about="as dape, but the network that corrects the logits also sees the neighbouring keys",
    acts="on the logits, in every block, and wherever the wrapped encoding acts",
    parameters="kernel × hidden × 3 × heads + hidden + heads per block, fewer if the wrapped encoding has no bias",
    direction="as the wrapped encoding",
    kernel="explicit",
    options={
        "over": "the encoding it wraps",
        "over_options": "options of the wrapped encoding",
        "hidden": "channels of the small network",
        "kernel": "how many keys it sees at once",
        "edge": '"consistent" (incremental decoding agrees with one pass) or "published" (as the released code)',
    },
    growth="n² in time and memory, per head and hidden channel; kernel times the work of dape",
    paper="Zheng et al. 2024, arXiv 2410.04798",
    wraps="kerple",
)

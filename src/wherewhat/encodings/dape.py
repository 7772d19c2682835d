"""A bias that adapts to its data: a small net reads the logits of all heads, and corrects them (arXiv 2405.14722)."""

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from wherewhat.encodings.base import Context, Encoding, EncodingRecord
from wherewhat.encodings.drawing import linear
from wherewhat.encodings.wrapper import Correcting, has_bias
from wherewhat.errors import UserError


class Dape(Correcting):
    """Add f(logits, bias) to the logits and the bias of another encoding, `over`.

    At each query and key f reads the logits of all heads and, if `over` has one, their biases; the same small net
    serves every place: `hidden` units with LeakyReLU, one number per head out. Every block learns its own f and shares
    `over` as it would alone. A `hidden` of at least the number of heads is advised; a handful already helps.

    The authors' code also puts LeakyReLU inside a wrapped fire; here fire stays as it is.

    >>> from wherewhat.encodings.alibi import Alibi
    >>> sum(each.numel() for each in Dape(Alibi(heads=12), heads=12).parameters())  # 24 · 32 + 32 + 32 · 12 + 12
    1196
    """

    name = "dape"

    def __init__(self, over: Encoding, heads: int, *, hidden: int = 32) -> None:
        super().__init__(over, heads)
        if min(heads, hidden) < 1:
            raise UserError(f"dape needs at least one head and one hidden unit, got {heads} heads and hidden {hidden}")
        self.inner = linear(2 * heads if has_bias(over) else heads, hidden)
        self.outer = linear(hidden, heads)
        self.draw(torch.Generator().manual_seed(0))

    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        bias_BHQK = self.bias_of_wrapped(q_BHQC, k_BHKC, context)
        hidden_BCQK, added_BHQK = (
            layer.get_parameter("bias")[None, :, None, None] for layer in (self.inner, self.outer)
        )
        if bias_BHQK is not None:  # often the same for all texts: what it contributes is then worked out only once
            bias_BHQK = bias_BHQK.expand(-1, *logits_BHQK.shape[1:])
            hidden_BCQK = mix(self.inner.weight[:, self.heads :], bias_BHQK, hidden_BCQK)
            added_BHQK = added_BHQK + bias_BHQK
        hidden_BCQK = mix(self.inner.weight[:, : self.heads], logits_BHQK, hidden_BCQK)
        return mix(self.outer.weight, leaky_relu(hidden_BCQK, inplace=True), logits_BHQK + added_BHQK)


def mix(weight_CH: Tensor, x_BHQK: Tensor, added_BCQK: Tensor) -> Tensor:
    """A linear map over the head axis, plus something: one matrix product per text, without moving an axis.

    >>> mix(torch.tensor([[1.0, 10.0]]), torch.tensor([2.0, 3.0]).view(1, 2, 1, 1), torch.zeros(1, 1, 1, 1)).item()
    32.0
    """
    texts, _, *places = x_BHQK.shape
    flat = torch.baddbmm(added_BCQK.flatten(2), weight_CH.expand(texts, -1, -1), x_BHQK.flatten(2))
    return flat.view(texts, -1, *places)


RECORD = EncodingRecord(
    cls=Dape,
    about="another encoding, whose logits and bias a small network corrects, reading all heads at once",
    acts="on the logits, in every block, and wherever the wrapped encoding acts",
    parameters="hidden × (3 × heads + 1) + heads per block, hidden × heads fewer if the wrapped encoding has no bias",
    direction="as the wrapped encoding",
    kernel="explicit",
    options={
        "over": "the encoding it wraps",
        "over_options": "options of the wrapped encoding",
        "hidden": "units of the small network",
    },
    growth="n² in time and memory, per head and hidden unit",
    paper="Zheng et al. 2024, arXiv 2405.14722",
    wraps="kerple",
)

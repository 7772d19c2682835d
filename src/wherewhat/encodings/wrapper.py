"""An encoding around another: it delegates every hook, and itself changes logits or attention."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, Notes
from wherewhat.encodings.drawing import draw_uniform
from wherewhat.errors import UserError


class Wrapper(Encoding, ABC):
    """Delegates every hook and property to `over`; a wrapper adds one hook of its own.

    The wrapped encoding must not change logits or attention: those two hooks are the wrapper's. A kernel of the wrapped
    encoding would bypass the wrapper and is not used. Blocks share `over` exactly where they would share it unwrapped.
    """

    def __init__(self, over: Encoding, heads: int) -> None:
        super().__init__()
        if over.heads not in (None, heads):
            raise UserError(
                f"{self.name} for {heads} heads cannot wrap {over.name} for {over.heads}; give both the same number"
            )
        if not over.fused:
            raise UserError(
                f"{self.name} cannot wrap {over.name}, which itself changes logits or attention; "
                "wrap one that leaves both alone, such as alibi, kerple, fire, none or rope"
            )
        self.over = over
        self.causal_only, self.max_length, self.scale = over.causal_only, over.max_length, over.scale
        self.heads, self.token_sigma = heads, over.token_sigma
        self.shift_invariant, self.mirror_invariant = over.shift_invariant, over.mirror_invariant

    @abstractmethod
    def draw(self, generator: torch.Generator) -> None:
        """Initialise the wrapper's own parameters, but not those of the wrapped encoding."""

    def reset_parameters(self, generator: torch.Generator) -> None:
        self.over.reset_parameters(generator)
        self.draw(generator)

    def join(self, first: Encoding) -> None:
        assert isinstance(first, Wrapper)
        if self.over.shared:
            self.over = first.over
        else:
            self.over.join(first.over)

    def check(self, *, length: int, causal: bool = True) -> None:
        self.over.check(length=length, causal=causal)
        super().check(length=length, causal=causal)

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        return self.over.on_tokens(x_BTD, positions_BT, block)

    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        return self.over.observe(x_BTD, real_BT, past)

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        return self.over.on_query_key(q_BHQC, k_BHKC, context)

    def attend(self, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor | None:
        return None

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
        return self.bias_of_wrapped(q_BHQC, k_BHKC, context)

    def bias_of_wrapped(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
        """What the wrapped encoding adds to the logits, computed once where all blocks share it."""

        def bias() -> Tensor | None:
            return self.over.source_bias(q_BHQC, k_BHKC, context)

        if self.over.watch is None and self.over.bias_by_slot and self.over.shared:
            return context.once_a_reading((self.over, "bias", q_BHQC.dtype), bias)
        return bias()


class Correcting(Wrapper):
    """A wrapper whose small net gets logits and bias of the wrapped encoding separately; each block learns its own."""

    shared = False
    added = ("inner.bias", "outer.bias")
    inner: nn.Linear | nn.Conv2d
    outer: nn.Linear | nn.Conv2d

    def draw(self, generator: torch.Generator) -> None:
        for layer in (self.inner, self.outer):
            draw_uniform(layer.weight, layer.bias, generator)

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> None:
        """None: the small net needs logits and bias separately, so the bias is added in `on_logits`."""


def has_bias(encoding: Encoding) -> bool:
    """Whether an encoding adds a bias to the logits."""
    return type(encoding).bias is not Encoding.bias

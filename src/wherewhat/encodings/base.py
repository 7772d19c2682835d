"""What a position encoding is: seven places in a Transformer where it may act. The base class acts in none of them.

A net calls these hooks of its encoding, in this order, and nothing else in the net knows about positions:

| hook | is handed | who answers |
|---|---|---|
| `on_tokens` | the residual stream at the input of every block | sinusoidal, learned |
| `observe` | what queries, keys and values are projected from | carope, path, path_fox |
| `on_query_key` | queries and keys | rope and its kin, rollpe |
| `attend` | queries, keys and values | path, path_fox: a kernel of their own |
| `bias` | queries and keys; the answer is added to the scaled logits | alibi, t5_bias, shaw, deberta and many more |
| `on_logits` | the scaled logits with their bias, before the mask | cope, dape, dape_v2 |
| `on_attention` | the attention, before it meets the values | urpe |

To write an encoding, override what it needs and leave the rest. `rope.py` is a good one to read next.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from wherewhat.errors import UserError

Notes = Mapping[str, Tensor]  # what `observe` wrote down: one tensor [B, H, tokens, ...] under each name
Made = TypeVar("Made")
Hook = TypeVar("Hook", bound=Callable[..., Any])
EVERY = -1  # in place of a block's number: all blocks share a source of position


@dataclass(frozen=True, eq=False)
class Context:
    """The positions of the tokens in one attention call, and which keys each query may attend to.

    Every token is a key. Every token is also a query, unless `rows_Q` names the few that are: the newest token while
    decoding, some sampled rows while measuring. A *slot* counts all tokens, a *position* only the real ones, so the
    two differ only in padded batches. Axes of size 1 stand for "the same for all".

    >>> Context.of(4, causal=True).rows(torch.tensor([3, 1])).lags_BHQK[0, 0]
    tensor([[ 3,  2,  1,  0],
            [ 1,  0, -1, -2]])
    """

    key_positions_BK: Tensor  # int64
    causal: bool  # a query sees no key in a later slot
    rows_Q: Tensor | None = None  # int64 slots of the queries, in any order; None: every token, in order
    real_BK: Tensor | None = None  # bool, False for padding; None: no padding
    notes: Notes = field(default_factory=dict)  # of all K tokens
    one_reading: bool = False  # handed from block to block by a net that reads once
    chunk: int = 0  # tokens that see each other and all earlier chunks, for reading while more is coming; 0: all
    made: dict[Hashable, Any] = field(default_factory=dict, init=False)  # what `once` has made so far

    @classmethod
    def of(
        cls,
        length: int,
        *,
        causal: bool,
        real_BK: Tensor | None = None,
        last: int | None = None,
        device: torch.device | None = None,
    ) -> "Context":
        """The usual context of `length` tokens: all of them are queries, or only the `last` few."""
        slots_K = torch.arange(length, device=device)
        positions_BK = slots_K[None] if real_BK is None else (real_BK.cumsum(-1) - 1).clamp(min=0)
        rows_Q = None if last in (None, length) else slots_K[length - last :]
        return cls(positions_BK, causal, rows_Q, real_BK)

    def rows(self, rows_Q: Tensor) -> "Context":
        """The same keys, for the queries numbered `rows_Q` only."""
        return replace(self, rows_Q=rows_Q if self.rows_Q is None else self.rows_Q[rows_Q])

    def noted(self, notes: Notes) -> "Context":
        """The same tokens with a block's own notes; what `once` makes stays common to all blocks."""
        noted = replace(self, notes=notes)
        object.__setattr__(noted, "made", self.made)
        return noted

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The result of `make` for these positions, computed by the first block and shared with all the others.

        It must follow from positions, direction and padding alone: blocks differ in their notes, queries and keys.
        What also follows from parameters goes through `once_a_reading`.
        """
        if key not in self.made:
            self.made[key] = make()
        made: Made = self.made[key]
        return made

    def once_a_reading(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The same for what also follows from parameters, which may have changed when a context is used again."""
        return self.once((key, torch.is_grad_enabled()), make) if self.one_reading else make()

    @property
    def length(self) -> int:
        """How many keys there are."""
        return self.key_positions_BK.shape[-1]

    @property
    def longest(self) -> int:
        """How many tokens the longest text has; padding does not count."""
        real_BK = self.real_BK
        return self.length if real_BK is None else self.once("longest", lambda: int(real_BK.sum(-1).max()))

    @property
    def query_positions_BQ(self) -> Tensor:
        """The positions of the queries."""
        return self._at_queries(self.key_positions_BK)

    @property
    def real_BQ(self) -> Tensor | None:
        """Which queries are not padding; None where there is no padding."""
        return None if self.real_BK is None else self._at_queries(self.real_BK)

    @property
    def lags_BHQK(self) -> Tensor:
        """Query position minus key position: 1 for the token before the query. H is 1."""
        return (self.query_positions_BQ[:, :, None] - self.key_positions_BK[:, None, :])[:, None]

    @property
    def slots_Q(self) -> Tensor:
        """The slots of the queries."""
        return self._at_queries(torch.arange(self.length, device=self.key_positions_BK.device))

    @property
    def plain(self) -> bool:
        """Whether every token is a query and positions are consecutive, so that lags run along diagonals."""
        return self.once("plain", lambda: self.rows_Q is None and bool((self.key_positions_BK.diff() == 1).all()))

    @property
    def allowed_BHQK(self) -> Tensor:
        """Which keys a query may attend to, causality and padding together. H is 1."""
        return self.once("allowed", self._allowed)

    def _allowed(self) -> Tensor:
        slots_Q, slots_K = self.slots_Q, torch.arange(self.length, device=self.key_positions_BK.device)
        if self.chunk and not self.causal:
            earliest_K = slots_K // self.chunk * self.chunk
        else:
            earliest_K = slots_K if self.causal else torch.zeros_like(slots_K)  # the first query that may see the key
        allowed_BHQK = (earliest_K[None, :] <= slots_Q[:, None])[None, None]
        return allowed_BHQK if self.real_BK is None else allowed_BHQK & self.real_BK[:, None, None, :]

    @property
    def needs_mask(self) -> bool:
        """False where a fused kernel's own causal flag is equivalent to `allowed_BHQK`."""
        chunked = 0 < self.chunk < self.length and not self.causal
        return chunked or self.real_BK is not None or (self.causal and self.rows_Q is not None)

    def _at_queries(self, of_keys: Tensor) -> Tensor:
        return of_keys if self.rows_Q is None else of_keys[..., self.rows_Q]


class PositionWatch(ABC):
    """Someone who watches where position meets content, such as an attribution. Returns what goes on in its place."""

    @abstractmethod
    def on_source(self, name: str, tensor: Tensor, block: int | None) -> Tensor:
        """A tensor that follows from positions alone, before it is added to content or multiplied with it.

        It belongs to `block`, to all of them (EVERY), or to the one that runs (None).
        """

    @abstractmethod
    def on_product(self, name: str, product_BHQK: Tensor) -> Tensor:
        """Products of content with what belongs to a distance, one for every query and key."""


class Encoding(nn.Module):
    """A position encoding of a Transformer. This base class encodes nothing.

    An encoding has no causal switch of its own: direction comes from the context alone. It keeps nothing between
    calls, and computes angles and biases in float32 or wider (see `wide`) whatever the dtype of the net.
    """

    name: str = "this encoding"  # in the registry
    heads: int | None = None  # how many it was made for; None: any number
    causal_only: bool = False  # it has no meaning for keys after the query
    max_length: int | None = None  # the longest sequence it can encode; None: any
    scale: float | None = None  # multiplies q·k before any bias; None: head_dim ** -0.5
    shared: bool = True  # one object serves every block; False: each block owns one
    bias_by_slot: bool = False  # its bias follows from positions alone, so blocks that share it work it out once
    shift_invariant: bool = True  # moving the whole text changes nothing
    mirror_invariant: bool = False  # reading the text backwards, in both directions, only reverses the output
    token_sigma: float = 0.02  # initial standard deviation of token embeddings, matched to what is added to them
    added: tuple[str, ...] = ()  # names of its parameters that are added to content, rather than to positions
    watch: "PositionWatch | None" = None  # sees position on its way to content; None: nobody does

    @property
    def fused(self) -> bool:
        """Whether a fused kernel can compute the attention: nobody needs to see logits or attention."""
        own = type(self)
        return own.on_logits is Encoding.on_logits and own.on_attention is Encoding.on_attention

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Initialise the parameters from `generator`; most encodings have none."""

    def join(self, first: "Encoding") -> None:
        """Share with the first block's encoding what all blocks have in common; most have nothing.

        Only called for encodings that are not `shared`, some of which share a part.
        """

    def check(self, *, length: int, causal: bool = True) -> None:
        """Refuse a sequence length, or a direction, that this encoding does not support."""
        if self.causal_only and not causal:
            raise UserError(f"{self.name} only looks back and got a net that looks both ways; use it in a decoder")
        if self.max_length is not None and length > self.max_length:
            raise UserError(
                f"{self.name} tells at most {self.max_length} tokens apart and got {length}; "
                "shorten the sequence or build it for longer ones"
            )

    def source(self, name: str, tensor: Tensor, block: int | None = None) -> Tensor:
        """A tensor that follows from positions alone, as it goes on to meet content; of this block, if it is known."""
        return tensor if self.watch is None else self.watch.on_source(name, tensor, block)

    def product(self, name: str, product_BHQK: Tensor) -> Tensor:
        """Products of content with what belongs to a distance, as they go on."""
        return product_BHQK if self.watch is None else self.watch.on_product(name, product_BHQK)

    def source_bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
        """`bias`, as it goes on to be added to the logits; one that depends on content is no source itself."""
        bias_BHQK = self.bias(q_BHQC, k_BHKC, context)
        if self.watch is None or bias_BHQK is None or bias_BHQK.requires_grad:
            return bias_BHQK
        return self.source("bias", bias_BHQK.expand(-1, q_BHQC.shape[1], -1, -1))  # one per head, to tell them apart

    # The seven hooks, in the order they are called. Each returns the shape it was given.

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        """Change the residual stream at the input of block 0, 1, ..., before the block's first norm."""
        return x_BTD

    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        """Record something about each new token. The only hook with a state: `past` has the earlier notes."""
        return {}

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """Change queries and keys before their product. Costs no n × n memory and keeps the fused kernel."""
        return q_BHQC, k_BHKC

    def attend(self, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor | None:
        """Compute the whole attention by a kernel of its own, equal to the other hooks; None to decline."""
        return None

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor | None:
        """What to add to the scaled logits [B, H, Q, K]; None for nothing. Keeps the fused kernel, with a mask."""
        return None

    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        """Change the scaled logits. Forbidden keys are still among them. Gives up the fused kernel."""
        return logits_BHQK

    def on_attention(self, attention_BHQK: Tensor, context: Context) -> Tensor:
        """Change the attention after the softmax. Gives up the fused kernel."""
        return attention_BHQK


@dataclass(frozen=True)
class EncodingRecord:
    """One encoding, with all that is needed to choose it."""

    cls: type[Encoding]
    about: str  # one line, for someone new
    acts: str  # where in the net
    parameters: str  # what is learned, in words
    direction: str  # "causal only", or "either" and what to know about it
    kernel: str  # "fused", "fused with a float bias", "its own" or "explicit"
    growth: str  # extra time and memory as sequences grow to n tokens
    paper: str
    options: Mapping[str, str] = field(default_factory=dict)  # what each choice that a net leaves open means
    wraps: str | None = None  # the encoding that it wraps by default; None: it is not a wrapper

    @property
    def name(self) -> str:
        """What it is called where it is chosen."""
        return self.cls.name


def outside_autocast(hook: Hook) -> Hook:
    """Keep a hook that computes in float32 or wider from being rounded by `torch.autocast`."""

    @wraps(hook)
    def exactly(*args: Any, **kwargs: Any) -> Any:
        device = next(each.device for each in (*args, *kwargs.values()) if isinstance(each, Tensor))
        with torch.autocast(device.type, enabled=False):
            return hook(*args, **kwargs)

    return cast(Hook, exactly)


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype that angles and biases are computed in: half precision cannot even count to 300 (bfloat16).

    >>> wide(torch.bfloat16), wide(torch.float64)
    (torch.float32, torch.float64)
    """
    return torch.float64 if dtype == torch.float64 else torch.float32

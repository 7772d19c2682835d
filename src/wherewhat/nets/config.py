"""What a small net is: its sizes and its encoding, checked once, when they are written down."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from wherewhat.encodings.base import Encoding
from wherewhat.encodings.registry import ENCODINGS, Shape, encoding_for
from wherewhat.errors import UserError
from wherewhat.names import look_up, suggestion

FRAMES = 4  # of a recording that become one token of a net that hears
KINDS = {
    "decoder": "every token sees itself and what came before",
    "encoder": "every token sees all tokens",
    "conformer": "every token sees all tokens, and those near it once more through a convolution",
}
BLOCKS = {
    "pre_norm": "attention and MLP read what a norm made of the stream; one more norm before the output",
    "post_norm": "a norm after every addition to the stream, and a GELU after both layers of the MLP",
}


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """The sizes of a small Transformer and its encoding.

    >>> config = NetConfig(vocabulary=48, width=64, layers=2, heads=4, encoding="rope")
    >>> NetConfig.from_dict(config.to_dict()) == config
    True
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    kind: str = "decoder"
    mlp: int = 4  # hidden width of the MLP as a multiple of `width`; 0: no MLP at all
    block: str = "pre_norm"  # where norms are; conformers have blocks of their own
    kernel: int = 31  # how many tokens the convolution of a conformer spans, itself in the middle; only for conformers
    chunk: int = 0  # tokens of a conformer that are read together, before more has come; 0: all
    features: int = 0  # values per token of a net that hears speech in place of reading token ids; 0: token ids
    pre_projection: bool = False  # apply the rotation of a conformer to what queries and keys are projected from
    encoding: str = "rope"
    encoding_options: Mapping[str, Any] = field(default_factory=dict)
    length: int = 512  # the longest sequence meant to be read; only some encodings insist on it
    labels: tuple[str, ...] = ()  # of a classifier of whole texts; empty: no classifier
    token_sigma: float = 0.0  # initial standard deviation of the token embeddings; 0: what the encoding asks for
    readout_queries: int = 0  # learned queries that gather hidden states by one cross-attention; 0: no such read-out
    readout_classes: int = 0  # the values that the answer of each of them can have
    readout_mlp: int = 0  # hidden width of an MLP behind that cross-attention, as a multiple of `width`; 0: none

    def __post_init__(self) -> None:
        look_up("kind of net", self.kind, KINDS)
        look_up("block", self.block, BLOCKS)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UserError(f"a net's {name} must be a whole number of at least {least}, got {value!r}")
        if self.width % self.heads:
            raise UserError(f"width {self.width} cannot be shared by {self.heads} heads; make it a multiple of them")
        if self.kernel % 2 == 0:
            raise UserError(f"a net's kernel must be odd, to reach as far ahead as back; got {self.kernel}")
        if self.kind == "conformer" and self.block != "pre_norm":
            raise UserError(f"a conformer has blocks of its own and cannot have {self.block} ones; leave block out")
        given = [name for name in ("chunk", "features", "pre_projection") if getattr(self, name)]
        if self.kind != "conformer" and given:
            raise UserError(f"{given[0]} is for conformers, and the net is of kind {self.kind}; leave it out")
        if not isinstance(self.pre_projection, bool):
            raise UserError(f"a net's pre_projection must be true or false, got {self.pre_projection!r}")
        if self.features % FRAMES:
            raise UserError(
                f"a net's features must be a multiple of {FRAMES}, the frames of a token; got {self.features}"
            )
        if not isinstance(self.token_sigma, int | float) or not 0 <= self.token_sigma < math.inf:
            raise UserError(f"a net's token_sigma must be a number of at least 0, got {self.token_sigma!r}")
        self._check_readout()
        if not isinstance(self.encoding_options, Mapping):
            raise UserError(f"encoding_options must be a dict, got {self.encoding_options!r}")
        object.__setattr__(self, "encoding_options", dict(self.encoding_options))
        labels: Any = self.labels
        listed = isinstance(labels, Sequence) and not isinstance(labels, str)
        if not listed or not all(isinstance(each, str) for each in labels):
            raise UserError(f"a net's labels must be names in a row, got {labels!r}")
        if len(labels) == 1 or len(set(labels)) < len(labels):
            raise UserError(f"a net's labels must be at least 2, all different, or none; got {', '.join(labels)}")
        object.__setattr__(self, "labels", tuple(labels))
        self.make_encoding().check(length=self.length, causal=self.causal)

    def _check_readout(self) -> None:
        """Refuse parts of a read-out by queries without the others."""
        if (self.readout_queries > 0) != (self.readout_classes > 0):
            raise UserError(
                "a read-out needs queries and classes, or there is none; "
                f"got {self.readout_queries} and {self.readout_classes}"
            )
        if self.readout_mlp and not self.readout_queries:
            raise UserError("readout_mlp is for a net with a read-out; give readout_queries too, or leave it out")

    @property
    def causal(self) -> bool:
        """Whether a token sees only what came before it."""
        return self.kind == "decoder"

    @property
    def shape(self) -> Shape:
        """The sizes that an encoding may need."""
        return Shape(width=self.width, heads=self.heads, head_dim=self.width // self.heads, length=self.length)

    @property
    def called(self) -> str:
        """What to call the encoding: one that wraps another is named with it.

        >>> NetConfig(vocabulary=7, width=8, layers=1, heads=2, encoding="dape").called
        'dape over kerple'
        """
        wraps = ENCODINGS[self.encoding].wraps
        return self.encoding if wraps is None else f"{self.encoding} over {self.encoding_options.get('over', wraps)}"

    def make_encoding(self) -> Encoding:
        """A new encoding for this net."""
        return encoding_for(self.shape, self.encoding, self.encoding_options)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON; without labels where there are none."""
        plain = asdict(self)
        labels = list(plain.pop("labels"))
        return {**plain, "labels": labels} if labels else plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "NetConfig":
        """Back from plain values; a field that is unknown or missing is named."""
        known = {each.name: each for each in fields(cls)}
        for name in values:
            if name not in known:
                raise UserError(f"a net has no '{name}'; {suggestion(name, known)}it has: {', '.join(sorted(known))}")
        needed = [each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING]
        if missing := [name for name in needed if name not in values]:
            raise UserError(f"a net's config lacks {', '.join(missing)}; give a value for each")
        return cls(**values)


_LEAST = {
    "vocabulary": 1,
    "width": 1,
    "layers": 1,
    "heads": 1,
    "mlp": 0,
    "kernel": 1,
    "length": 1,
    "readout_queries": 0,
    "readout_classes": 0,
    "readout_mlp": 0,
    "chunk": 0,
    "features": 0,
}

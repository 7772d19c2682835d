"""Where the relevance of an output went: tokens, positions, softmaxes, biases, and what is missing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

TOKENS, SOFTMAX, BIASES, OTHERS = "tokens", "softmax", "biases", "others"  # nodes; every other one holds position
ROUNDINGS = 1000  # of the coarsest type that a model computes in, relative to what flows; families come to a few


@dataclass(frozen=True)
class LedgerEntry:
    """What one node keeps of the relevance that reaches it."""

    node: str  # tokens, softmax, biases, others, or a source of position: rotation, table, bias, ...
    layer: int | None  # None: none, or all of them
    value: float


@dataclass(frozen=True)
class Ledger:
    """Where the relevance of a logit went. Its parts add up to the logit, up to rounding.

    >>> print(Ledger.of(1.0, [LedgerEntry("tokens", None, 0.75), LedgerEntry("rotation", 0, 0.25)], torch.float64))
    logit                          1
      tokens                    0.75
      rotation, layer 0         0.25
    rest                           0
    """

    logit: float
    tokens: float
    positions: float
    softmax: float  # kept by softmaxes, whose rule has a constant term
    biases: float  # added parameters and constants
    others: float  # further embeddings, and everything that the decoder beside an encoder is given
    flow: float  # the size of what was added up, with which the rest is compared
    dtype: torch.dtype = torch.float32  # the coarsest type that the model computes in
    entries: tuple[LedgerEntry, ...] = ()

    @classmethod
    def of(cls, logit: float, entries: Sequence[LedgerEntry], dtype: torch.dtype, *, flow: float = 0.0) -> "Ledger":
        """The ledger of these entries."""
        sums = dict.fromkeys((TOKENS, SOFTMAX, BIASES, OTHERS, "positions"), 0.0)
        for entry in entries:
            sums[entry.node if entry.node in sums else "positions"] += entry.value
        return cls(logit, flow=flow, dtype=dtype, entries=tuple(entries), **sums)

    @property
    def rest(self) -> float:
        """What is missing."""
        return self.logit - self.tokens - self.positions - self.softmax - self.biases - self.others

    @property
    def tolerance(self) -> float:
        """The most that may be missing."""
        return ROUNDINGS * torch.finfo(self.dtype).eps * max(self.flow, abs(self.logit))

    def balances(self, dtype: torch.dtype | None = None) -> bool:
        """Whether nothing is missing but rounding, in the type that the model computes in or in another one."""
        return abs(self.rest) <= (self if dtype is None else replace(self, dtype=dtype)).tolerance

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            **{name: value for name, value in asdict(self).items() if isinstance(value, float)},
            "rest": self.rest,
            "tolerance": self.tolerance,
            "balances": self.balances(),
            "entries": [asdict(entry) for entry in self.entries],
        }

    def __str__(self) -> str:
        rows = [("logit", self.logit)]
        rows += [(f"  {each.node}{_at(each.layer)}", each.value) for each in self.entries]
        return "\n".join(f"{name:<22}{value:>10.4g}" for name, value in [*rows, ("rest", self.rest)])


def _at(layer: int | None) -> str:
    return "" if layer is None else f", layer {layer}"

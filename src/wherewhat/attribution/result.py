"""What an attribution tells of one output: scores of tokens, the parts they are made of, and the ledger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import torch
from torch import Tensor

from wherewhat.attribution.details import logits_by_distance, position_by_frequency, position_by_head
from wherewhat.attribution.explain import METHODS
from wherewhat.attribution.ledger import Ledger
from wherewhat.attribution.relevance import Relevance

if TYPE_CHECKING:
    from wherewhat.runs.registry import AttributionRun

TOKEN = "token"  # the name of a part in the table, beside those of sources of position
HEADS = {"layer": pl.Int32, "head": pl.Int32, "relevance": pl.Float64}
FREQUENCIES = {"layer": pl.Int32, "frequency": pl.Int32, "theta": pl.Float64, "relevance": pl.Float64}
DISTANCES = {"layer": pl.Int32, "distance": pl.Int32, "content": pl.Float64, "position": pl.Float64}
LayerParts = Mapping[tuple[str, int | None], Tensor]  # relevance_T by source and layer


@dataclass(frozen=True)
class ExplainedOutput:
    """What was explained: a token after a slot, a masked token or a label."""

    kind: str  # next, mask, label or answer
    name: str  # the token or the label, as people read it
    index: int  # its number among all that could have been
    slot: int | None  # where it is predicted; None for a label
    logit: float
    probability: float


@dataclass(frozen=True, repr=False)
class Attribution:
    """The relevance of every token and of every position of one text for one output."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    output: ExplainedOutput
    relevance: Relevance
    aggregate: str = "signed"
    notes: tuple[str, ...] = ()  # what a reader should know about how the model was loaded

    @property
    def method(self) -> str:
        """How relevance was passed back."""
        return self.relevance.method

    @property
    def ledger(self) -> Ledger | None:
        """Where the relevance of the logit went; None for methods that pass nothing back that could be added up."""
        return self.relevance.ledger

    @property
    def token_T(self) -> Tensor:
        """Relevance of tokens, without positions."""
        return self.relevance.token_T

    @property
    def parts(self) -> LayerParts:
        """Relevance of positions by source and layer; cosines and sines are one source."""
        parts: dict[tuple[str, int | None], Tensor] = {}
        for source in self.relevance.sources:
            parts[source.place] = parts.get(source.place, 0) + source.by_slot()
        return parts

    @property
    def position_T(self) -> Tensor:
        """Relevance of positions, over all sources and layers."""
        return self.relevance.position_T

    @property
    def scores_T(self) -> Tensor:
        """One score per token: tokens and positions together, as `aggregate` says."""
        return AGGREGATES[self.aggregate].combine(self) if METHODS[self.method].positions else self.token_T

    @property
    def heads(self) -> pl.DataFrame:
        """Relevance of positions by layer and head; tables are added before there are heads, and have no row."""
        by_head = position_by_head(self.relevance)
        rows = [(layer, head, value) for (layer, head), value in by_head.items()]
        return pl.DataFrame(rows, HEADS, orient="row")

    @property
    def frequencies(self) -> pl.DataFrame:
        """Relevance of rotations by layer and frequency, over all heads; `theta` in radians per token, where known."""
        rows = [(row.layer, row.frequency, row.theta, row.relevance) for row in position_by_frequency(self.relevance)]
        return pl.DataFrame(rows, FREQUENCIES, orient="row")

    @property
    def distances(self) -> pl.DataFrame:
        """Relevance of logits by layer and distance (query minus key), split into content and what position adds.

        One measure for rotations, biases and distance terms. No rows where position adds nothing to logits, as with
        tables and under methods that do not tell positions apart.
        """
        rows = logits_by_distance(self.relevance) if METHODS[self.method].positions else []
        values = [(row.layer, row.distance, row.content, row.position) for row in rows]
        return pl.DataFrame(values, DISTANCES, orient="row")

    def __repr__(self) -> str:
        return (
            f"Attribution by {self.method}: {self._run().findings[0]}\n"
            "next: .tokens, .scores_T, .token_T, .position_T, .parts, .heads, .frequencies, .distances, .ledger; a "
            "notebook shows the text"
        )

    def _repr_html_(self) -> str:
        return self._run()._repr_html_()

    def _run(self) -> "AttributionRun":
        from wherewhat.attribution.relevance_table import run_of  # which needs this class

        return run_of(self)


@dataclass(frozen=True)
class Aggregate:
    """A way to make one score of the relevance of a token and of its position."""

    name: str
    about: str
    combine: Callable[[Attribution], Tensor]


def _absolute(attribution: Attribution) -> Tensor:
    """Positions by size, cosines and sines apart; the largest score is 1 or -1 (the released default)."""
    by_source: dict[tuple[str, int | None], Tensor] = {}
    for source in attribution.relevance.sources:
        key = source.name, source.layer
        by_source[key] = by_source.get(key, 0) + source.by_slot()
    scores_T = attribution.token_T + sum((part_T.abs() for part_T in by_source.values()), _zeros(attribution))
    return scores_T / scores_T.abs().max().clamp(min=torch.finfo(torch.float64).tiny)


def _positive(attribution: Attribution) -> Tensor:
    by_layer: dict[int | None, Tensor] = {}
    for (_, layer), part_T in attribution.parts.items():
        by_layer[layer] = by_layer.get(layer, 0) + part_T
    return attribution.token_T + sum((part_T.clamp(min=0) for part_T in by_layer.values()), _zeros(attribution))


def _zeros(attribution: Attribution) -> Tensor:
    return torch.zeros_like(attribution.token_T)


AGGREGATES: dict[str, Aggregate] = {
    entry.name: entry
    for entry in (
        Aggregate("signed", "tokens plus positions", lambda given: given.token_T + given.position_T),
        Aggregate("absolute", "tokens plus the sizes of positions, scaled to at most 1, as released", _absolute),
        Aggregate("positive", "tokens plus what positions add in layers where they add something", _positive),
        Aggregate("position", "positions alone", lambda given: given.position_T),
    )
}


def order_of(scores: Sequence[float], *, descending: bool = True) -> list[int]:
    """Slots by their scores; equal ones in the order in which they stand.

    >>> order_of([0.1, 0.5, 0.1]), order_of([0.1, 0.5, 0.1], descending=False)
    ([1, 0, 2], [0, 2, 1])
    """
    return sorted(range(len(scores)), key=lambda slot: (-scores[slot] if descending else scores[slot], slot))

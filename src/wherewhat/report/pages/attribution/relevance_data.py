"""The rows of the tables and the manifest, as what a page shows: one explanation per output and method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.blocks.token_text import TokenText, token_text, token_texts
from wherewhat.tables.manifest.attribution import (
    AttributionManifest,
    ExplainedSection,
    LedgerSection,
    MethodSection,
)

TOKEN, COMBINED, ROTATION = "token", "combined", "rotation"  # sources of rows; all others are of positions as well
LABELS = "labels"  # the kind of output whose names are no tokens
LayerCells = Sequence[tuple[int | None, int, float]]  # layer, then slot, head, frequency or distance; the relevance


@dataclass(frozen=True)
class Explanation:
    """The relevance of every token and position of one text for one output, by one method."""

    number: int
    output: int
    method: str
    explained: ExplainedSection
    tokens: Sequence[str]
    token: Sequence[float]  # by slot, as the next two
    position: Sequence[float]
    combined: Sequence[float]
    sources: Sequence[str] = ()  # of positions
    by_slot: LayerCells = ()  # positions, over all sources
    by_head: LayerCells = ()
    by_frequency: LayerCells = ()
    content_by_distance: LayerCells = ()  # of logits, as the next
    position_by_distance: LayerCells = ()
    ledger: LedgerSection | None = None
    about: MethodSection = field(default_factory=MethodSection)
    thetas: Mapping[int, Sequence[float]] = field(default_factory=dict)  # by rotary frequency, those of all layers

    @cached_property
    def texts(self) -> list[TokenText]:
        """Its tokens as text."""
        return token_texts(self.tokens)

    @property
    def name(self) -> str:
        """What is explained, as text; a label as it is."""
        return self._as_text(self.explained.name)

    @property
    def likeliest(self) -> str | None:
        """What the model itself would have answered, where that is something else."""
        return None if self.explained.likeliest is None else self._as_text(self.explained.likeliest)

    def _as_text(self, name: str) -> str:
        return name if self.explained.kind == LABELS else token_text(name, self.tokens)

    @property
    def ranked(self) -> list[int]:
        """Slots by their combined relevance, the largest first."""
        return sorted(range(len(self.combined)), key=lambda slot: (-self.combined[slot], slot))


class RelevanceData:
    """All explanations of a run, in the order of the table."""

    def __init__(
        self, relevance: pl.DataFrame, manifest: AttributionManifest, distances: pl.DataFrame | None = None
    ) -> None:
        self.manifest = manifest
        known = relevance.with_columns(pl.col("value").fill_null(0.0))
        pairs = known.filter((pl.col("source") == TOKEN) & pl.col("slot").is_not_null())
        keys = pairs.select("output", "method").unique(maintain_order=True).rows()
        if not keys:
            raise UserError("the table has no relevance of tokens; run `wherewhat attribute` again")
        ledgers = {(ledger.output, ledger.method): ledger for ledger in manifest.ledgers}
        thetas: dict[int, list[float]] = {}
        for each in manifest.frequencies:
            thetas.setdefault(each.frequency, []).extend([] if each.theta is None else [each.theta])
        groups = known.partition_by("output", "method", as_dict=True)
        by_distance = {} if distances is None else distances.partition_by("output", "method", as_dict=True)
        self.explanations = [
            replace(
                _explanation(number, key, groups[key], manifest),
                content_by_distance=_by_distance(by_distance.get(key), "content"),
                position_by_distance=_by_distance(by_distance.get(key), "position"),
                ledger=ledgers.get(key),
                thetas=thetas,
            )
            for number, key in enumerate(keys)
        ]

    @property
    def first(self) -> list[Explanation]:
        """Every output by its first method."""
        return list({each.output: each for each in reversed(self.explanations)}.values())[::-1]

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(each.method for each in self.explanations))

    @property
    def sources(self) -> list[str]:
        """Where position enters, over all explanations."""
        return list(dict.fromkeys(source for each in self.explanations for source in each.sources))

    @property
    def texts(self) -> int:
        """How many texts were explained."""
        return len({each.explained.text for each in self.explanations})


def _explanation(number: int, key: tuple[int, str], rows: pl.DataFrame, manifest: AttributionManifest) -> Explanation:
    output, method = key
    slots = rows.filter(pl.col("slot").is_not_null())
    tokens = {row["slot"]: row["token"] or "" for row in slots.filter(pl.col("source") == TOKEN).iter_rows(named=True)}
    length = max(tokens) + 1
    positions = slots.filter(~pl.col("source").is_in([TOKEN, COMBINED]))
    token, position = _summed(slots.filter(pl.col("source") == TOKEN), length), _summed(positions, length)
    combined = slots.filter(pl.col("source") == COMBINED)
    named = manifest.outputs[output] if output < len(manifest.outputs) else None
    return Explanation(
        number,
        output,
        method,
        named or ExplainedSection(text=rows["text"][0], name=rows["target"][0] or ""),
        [tokens.get(slot, "") for slot in range(length)],
        token,
        position,
        token if combined.is_empty() else _summed(combined, length),
        sources=positions["source"].unique(maintain_order=True).to_list(),
        by_slot=_cells(positions, "slot"),
        by_head=_cells(rows, "head"),
        by_frequency=_cells(rows, "frequency"),
        about=manifest.methods.get(method, MethodSection()),
    )


def _by_distance(rows: pl.DataFrame | None, part: str) -> LayerCells:
    """One part of logits, by layer and distance."""
    return () if rows is None else _cells(rows.filter(part=part), "distance")


def _summed(rows: pl.DataFrame, length: int) -> list[float]:
    """By slot, over everything else."""
    sums: Mapping[int, float] = dict(rows.group_by("slot").agg(pl.col("value").sum()).iter_rows())
    return [sums.get(slot, 0.0) for slot in range(length)]


def _cells(rows: pl.DataFrame, column: str) -> list[tuple[int | None, int, float]]:
    """By layer and one more column, over everything else."""
    there = rows.filter(pl.col(column).is_not_null())
    summed = there.group_by("layer", column).agg(pl.col("value").sum())
    return list(summed.sort("layer", column, nulls_last=True).select("layer", column, "value").iter_rows())

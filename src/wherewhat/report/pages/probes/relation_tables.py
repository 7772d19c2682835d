"""The table of the dependency probe, as its page reads it: by treebank, side, relation and distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from wherewhat.report.blocks.numbers import clear
from wherewhat.report.blocks.relations import KINDS, PARTS, SIDES
from wherewhat.report.blocks.rows import Row
from wherewhat.tables.manifest.probe import ChosenHeads, ProbeManifest

DISTANCES = ("1", "2", "3-5", "6+")
ALL, EACH = "all", "each relation"  # one head for all relations; each relation by its own head
TOGETHER = (ALL, EACH, "relations")  # items that are not relations
OF_HEADS = {  # measures of heads as such
    "fixed offset": "share of words whose largest weight on another word is at the most frequent offset",
    "confidence": "mean over words of the largest weight on a word, itself included; special tokens and punctuation "
    "are left out",
    "with positional": "correlation of attention with position alone",
    "with contextual": "correlation of attention with content alone",
}
SURE = 0.05  # a corrected p below it and an interval that leaves out 0: a clear difference
Where = tuple[str, str, str]  # treebank, relation, side


@dataclass(frozen=True)
class RelationTables:
    """One run of the dependency probe."""

    table: pl.DataFrame
    manifest: ProbeManifest

    @cached_property
    def held_out(self) -> pl.DataFrame:
        """What was scored on the halves that did not choose."""
        return self.table.filter(pl.col("layer").is_null() & pl.col("data").is_not_null())

    @cached_property
    def treebanks(self) -> list[str]:
        """The names of what was read, in the order of the run."""
        return list(dict.fromkeys(self.held_out["data"].to_list()))

    @cached_property
    def sides(self) -> list[str]:
        """The sides that were scored."""
        return [side for side in SIDES if side in set(self.held_out["side"])]

    @cached_property
    def panels(self) -> list[tuple[str, str]]:
        """Every treebank with every side."""
        return [(data, side) for data in self.treebanks for side in self.sides]

    @cached_property
    def parts(self) -> list[str]:
        """The parts of attention that were read."""
        there = set(self.held_out.filter(measure="accuracy")["kind"])
        return [part for part in PARTS if part in there]

    @property
    def causal(self) -> bool:
        """Whether words see only the words before them."""
        return self.manifest.way == "causal"

    def of(self, where: Where, kind: str, *, distance: str = ALL, measure: str = "accuracy") -> Row:
        """One held-out row; an empty one where there is none."""
        return self._rows.get((*where, kind, distance, measure), {})

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], Row]:
        """By treebank, relation, side, kind, distance and measure."""
        named = self.held_out.with_columns(pl.col("distance").fill_null(ALL), pl.col("item", "side").fill_null(""))
        keys = named.select("data", "item", "side", "kind", "distance", "measure").iter_rows()
        return dict(zip(keys, self.held_out.iter_rows(named=True), strict=True))

    def fact(self, data: str, item: str, measure: str, side: str = "") -> float | None:
        """A fact about word order: share of head words to the left, mean and median distance, rows.

        Without a side it is about all head words, with a side about the rows scored from it, where that is known.
        """
        rows = [self.of((data, item, each), "order", measure=measure) for each in (side, "")]
        return next((row["value"] for row in rows if row), None)

    def near_and_far(self, data: str, side: str) -> list[str]:
        """The distances that a panel has rows of."""
        where = (data, EACH, side)
        return [far for far in DISTANCES if any(self.of(where, kind, distance=far) for kind in KINDS)]

    def relations(self, data: str, side: str = "") -> list[str]:
        """The relations of a treebank that were scored from a side, or from any; those between neighbours first."""
        rows = self.held_out.filter(data=data, measure="accuracy", **({"side": side} if side else {}))
        there = {item for item in rows["item"] if item and item not in TOGETHER}
        return sorted(there, key=lambda item: (self.fact(data, item, "distance", side) or 0.0, item))

    @cached_property
    def everywhere(self) -> list[str]:
        """Relations of any treebank, those between neighbours first, by their mean over treebanks."""

        def mean(item: str) -> float:
            known = [far for data in self.treebanks if (far := self.fact(data, item, "distance")) is not None]
            return sum(known) / len(known) if known else 0.0

        there = {item for data in self.treebanks for item in self.relations(data)}
        return sorted(there, key=lambda item: (mean(item), item))

    def surely(self, where: Where, part: str) -> bool:
        """Whether a part of attention clearly differs from the best fixed offset: by its interval and corrected p."""
        gap, p = (self.of(where, part, measure=measure) for measure in ("beyond offset", "p"))
        return clear(gap) and (where[1] in TOGETHER or p.get("value", 1.0) < SURE)

    def winners(self, data: str, side: str, items: Sequence[str]) -> dict[str, int]:
        """For how many relations each part of attention is clearly better than the best fixed offset."""

        def better(where: Where, part: str) -> bool:
            gap = self.of(where, part, measure="beyond offset").get("value")
            return gap is not None and gap > 0 and self.surely(where, part)

        return {part: sum(better((data, item, side), part) for item in items) for part in self.parts}

    @cached_property
    def heads(self) -> pl.DataFrame:
        """Measures of heads as such, on the first treebank."""
        of_heads = pl.col("head").is_not_null() & pl.col("measure").is_in(list(OF_HEADS))
        return self.table.filter(of_heads & (pl.col("data") == self.treebanks[0]))

    def heads_of(self, where: Where, kind: str) -> list[str]:
        """The heads that the two halves chose, each once."""
        choice = self._choices.get((*where, kind))
        return list(dict.fromkeys(choice.heads)) if choice else []

    def offsets_of(self, where: Where) -> list[int]:
        """The fixed offsets that the two halves chose, each once."""
        choices = (self._choices.get((*where, kind)) for kind in ("offset", "full"))
        offsets = next((choice.offsets for choice in choices if choice and choice.offsets), ())
        return list(dict.fromkeys(int(offset) for offset in offsets))

    @cached_property
    def _choices(self) -> dict[tuple[str | None, ...], ChosenHeads]:
        every = [choice for choice in self.manifest.chosen if choice.distance == ALL]
        return {(choice.data, choice.item, choice.side, choice.kind): choice for choice in every}

    def best_for(self, side: str, head: str) -> list[str]:
        """The relations of the first treebank for which a half chose this head's full attention, best found first."""
        data = self.treebanks[0]
        its = [item for item in self.relations(data, side) if head in self.heads_of((data, item, side), "full")]
        return sorted(its, key=lambda item: -(self.of((data, item, side), "full").get("value") or 0.0))

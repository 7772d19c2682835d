"""The table of the dependency probe, as its page reads it: by treebank, side, relation and distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import count, short
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.report.probe_sections import per_cent
from wherewhat.tables.manifest.probe import ChosenHeads, ProbeManifest

SIDES = ("to head", "to dependent")
DISTANCES = ("1", "2", "3-5", "6+")
PARTS = ("positional", "contextual", "full")
LEVELS = ("offset", "uniform")
KINDS = (*PARTS, *LEVELS)
ALL, EACH = "all", "each relation"  # one head for all relations; each relation by its own head
TOGETHER = (ALL, EACH, "relations")  # items that are not relations
TITLES = {
    "positional": "position alone",
    "contextual": "content alone",
    "full": "full attention",
    "offset": "best fixed offset",
    "uniform": "uniform attention",
    "shuffled": "shuffled sentence",
    "with positional": "with position alone",
    "with contextual": "with content alone",
}
OF_HEADS = {  # measures of heads as such
    "fixed offset": "share of words whose largest weight on another word is at the most frequent offset",
    "confidence": "mean over words of the largest weight on a word, itself included; special tokens and punctuation "
    "are left out",
    "with positional": "correlation of attention with position alone",
    "with contextual": "correlation of attention with content alone",
}
SURE = 0.05  # a corrected p below it and an interval that leaves out 0: a clear difference
Row = Mapping[str, Any]
Where = tuple[str, str, str]  # treebank, relation, side
Key = tuple[str, str, str, str, str, str]  # treebank, relation, side, kind, distance, measure


@dataclass(frozen=True)
class RelationTables:
    """One run of the dependency probe."""

    table: pl.DataFrame
    manifest: ProbeManifest

    @cached_property
    def treebanks(self) -> list[str]:
        """The names of what was read, in the order of the run."""
        return list(dict.fromkeys(self.held_out["data"].to_list()))

    @cached_property
    def held_out(self) -> pl.DataFrame:
        """What was scored on the halves that did not choose."""
        return self.table.filter(pl.col("layer").is_null() & pl.col("data").is_not_null())

    @cached_property
    def _row_by_key(self) -> dict[Key, Row]:
        named = ("data", "item", "side", "kind", "distance", "measure")
        return {tuple(row[name] or "" for name in named): row for row in self.held_out.iter_rows(named=True)}  # type: ignore[misc]

    def of(self, where: Where, kind: str, *, distance: str = ALL, measure: str = "accuracy") -> Row:
        """One held-out row; an empty one where there is none."""
        return self._row_by_key.get((*where, kind, distance, measure), {})

    def fact(self, data: str, item: str, measure: str, side: str | None = None) -> float | None:
        """A fact about word order: share of head words to the left, mean and median distance, rows.

        Without a side it is about all head words, with a side about the rows scored from it, where that is known.
        """
        of_all = self._facts.get((data, item, measure, None))
        return self._facts.get((data, item, measure, side), of_all)

    @cached_property
    def _facts(self) -> dict[tuple[str | None, ...], float | None]:
        rows = self.held_out.filter(pl.col("kind") == "order").iter_rows(named=True)
        return {(row["data"], row["item"], row["measure"], row["side"]): row["value"] for row in rows}

    @cached_property
    def parts(self) -> list[str]:
        """The parts of attention that were read."""
        there = set(self.held_out.filter(pl.col("measure") == "accuracy")["kind"])
        return [part for part in PARTS if part in there]

    @property
    def causal(self) -> bool:
        """Whether words see only the words before them."""
        return self.manifest.way == "causal"

    def near_and_far(self, data: str, side: str) -> list[str]:
        """The distances that a panel has rows of."""
        where = (data, EACH, side)
        return [far for far in DISTANCES if any(self.of(where, kind, distance=far) for kind in KINDS)]

    def surely(self, where: Where, part: str) -> bool:
        """Whether a part of attention clearly differs from the best fixed offset: by its interval and corrected p."""
        gap, p = (self.of(where, part, measure=measure) for measure in ("beyond offset", "p"))
        return clear(gap) and (where[1] in TOGETHER or p.get("value", 1.0) < SURE)

    def relations(self, data: str, side: str = "") -> list[str]:
        """The relations of a treebank that were scored from a side, or from any; those between neighbours first."""
        rows = self.held_out.filter((pl.col("data") == data) & (pl.col("measure") == "accuracy"))
        rows = rows.filter(pl.col("side") == side) if side else rows
        there = [item for item in rows["item"].unique(maintain_order=True) if item and item not in TOGETHER]
        return sorted(there, key=lambda item: (self.fact(data, item, "distance", side or None) or 0.0, item))

    @cached_property
    def everywhere(self) -> list[str]:
        """Relations of any treebank, those between neighbours first, by their mean over treebanks."""
        there = {item for data in self.treebanks for item in self.relations(data)}

        def mean(item: str) -> float:
            known = [far for data in self.treebanks if (far := self.fact(data, item, "distance")) is not None]
            return sum(known) / len(known) if known else 0.0

        return sorted(there, key=lambda item: (mean(item), item))

    @cached_property
    def sides(self) -> list[str]:
        """The sides that were scored."""
        there = set(self.held_out["side"].drop_nulls())
        return [side for side in SIDES if side in there]

    @cached_property
    def distances(self) -> list[str]:
        """The distances that have rows."""
        there = set(self.held_out["distance"].drop_nulls())
        return [distance for distance in DISTANCES if distance in there]

    @cached_property
    def links(self) -> list[Row]:
        """Correlations over treebanks."""
        rows = self.table.filter(pl.col("kind") == "link")
        return list(rows.iter_rows(named=True))

    @cached_property
    def heads(self) -> pl.DataFrame:
        """Measures of heads as such."""
        return self.table.filter(pl.col("head").is_not_null() & pl.col("measure").is_in(list(OF_HEADS)))

    @cached_property
    def chosen(self) -> list[ChosenHeads]:
        """Which head each half chose."""
        return [choice for choice in self.manifest.chosen if choice.distance == ALL]

    def heads_of(self, data: str, item: str, side: str, kind: str) -> list[str]:
        """The heads that the two halves chose, each once."""
        choice = self._choices.get((data, item, side, kind))
        return list(dict.fromkeys(choice.heads)) if choice else []

    def offsets_of(self, data: str, item: str, side: str) -> list[int]:
        """The fixed offsets that the two halves chose, each once."""
        choices = (self._choices.get((data, item, side, kind)) for kind in ("offset", "full"))
        offsets = next((choice.offsets for choice in choices if choice and choice.offsets), ())
        return list(dict.fromkeys(int(offset) for offset in offsets))

    @cached_property
    def _choices(self) -> dict[tuple[str, str, str | None, str], ChosenHeads]:
        return {(choice.data, choice.item, choice.side, choice.kind): choice for choice in self.chosen}

    def panel(self, data: str, side: str) -> str:
        """The key of a panel; plain text, as it is part of an expression."""
        return f"{self.treebanks.index(data)} {self.sides.index(side)}"

    def panels(self) -> list[tuple[str, str]]:
        """Every treebank with every side."""
        return [(data, side) for data in self.treebanks for side in self.sides]


def tables_of(scores: RelationTables) -> dict[str, Columns]:
    """The numbers of the charts."""
    names = ("panel", "kind", "value", "low", "high", "said")
    return {
        "distances": columns(_by_distance(scores), (*names, "distance")),
        "relations": columns(_by_relation(scores), (*names, "relation", "order")),
        "grid": columns(_grid(scores), ("panel", "measure", "layer", "head", "value", "best", "said")),
    }


def _by_distance(scores: RelationTables) -> list[Row]:
    return [
        {**_plain(row), "panel": scores.panel(data, side), "kind": kind, "distance": distance.replace("-", "–")}
        | {"said": f"{TITLES[kind]}, distance {distance.replace('-', '–')}: {share_in_words(row)}"}
        for data, side in scores.panels()
        for kind in KINDS
        for distance in scores.distances
        if (row := scores.of((data, EACH, side), kind, distance=distance)).get("value") is not None
    ]


def _by_relation(scores: RelationTables) -> list[Row]:
    return [
        {**_plain(row), "panel": scores.panel(data, side), "kind": kind, "relation": item, "order": order}
        | {"said": f"{item}, {side}, {TITLES[kind]}: {share_in_words(row)}"}
        for data, side in scores.panels()
        for order, item in enumerate(scores.relations(data, side))
        for kind in KINDS
        if (row := scores.of((data, item, side), kind)).get("value") is not None
    ]


def _grid(scores: RelationTables) -> list[Row]:
    """Every head with each of its measures, and the relation it was chosen for."""
    cells: list[Row] = []
    for row in scores.heads.iter_rows(named=True):
        if row["data"] not in scores.treebanks or row["value"] is None:
            continue
        name = f"L{row['layer']}H{row['head']}"
        for side in scores.sides:
            best = best_for(scores, row["data"], side, name)
            more = f" +{len(best) - 1}" if len(best) > 1 else ""
            chosen = f"; chosen for {', '.join(best)}" if best else "; chosen for none"
            cells.append(
                {"panel": scores.panel(row["data"], side), "measure": row["measure"], "layer": row["layer"]}
                | {"head": row["head"], "value": row["value"], "best": f"{best[0]}{more}" if best else ""}
                | {"said": f"{name}: {row['measure']} {short(row['value'])}{chosen}"}
            )
    return cells


def best_for(scores: RelationTables, data: str, side: str, head: str) -> list[str]:
    """The relations for which a half chose this head's full attention, the best found first."""
    its = [item for item in scores.relations(data, side) if head in scores.heads_of(data, item, side, "full")]
    return sorted(its, key=lambda item: -(scores.of((data, item, side), "full").get("value") or 0.0))


def clear(row: Row) -> bool:
    """Whether an interval leaves out 0."""
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def share_in_words(row: Row) -> str:
    """A share with its interval and number of rows, in words."""
    between = f" ({per_cent(row['low'])} to {per_cent(row['high'])})" if row.get("low") is not None else ""
    behind = f", {count(row['count'], 'row')}" if row.get("count") else ""
    return f"{per_cent(row['value'])} %{between}{behind}"


def _plain(row: Row) -> dict[str, Any]:
    return {name: row.get(name) for name in ("value", "low", "high")}


def winners(scores: RelationTables, data: str, side: str, items: Sequence[str]) -> dict[str, int]:
    """For how many relations each part of attention is clearly better than the best fixed offset."""
    return {part: sum(_more(scores, (data, item, side), part) for item in items) for part in scores.parts}


def _more(scores: RelationTables, where: Where, part: str) -> bool:
    ahead = scores.of(where, part, measure="beyond offset").get("value")
    return ahead is not None and ahead > 0 and scores.surely(where, part)

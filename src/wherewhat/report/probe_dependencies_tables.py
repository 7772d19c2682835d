"""What the page of dependency relations needs of its table: read once, by treebank, side, relation and distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.report.drawn import columns
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, short
from wherewhat.report.page import Columns
from wherewhat.report.probe_told import per_cent

SIDES = ("to head", "to dependent")
DISTANCES = ("1", "2", "3-5", "6+")
PARTS = ("positional", "contextual", "full")
LEVELS = ("offset", "uniform")
KINDS = (*PARTS, *LEVELS)
ALL, EACH = "all", "each relation"  # one head for all relations; each relation by its own head, counted together
TOGETHER = (ALL, EACH, "relations")  # items that are no relation
TITLES = {
    "positional": "place alone",
    "contextual": "content alone",
    "full": "full attention",
    "offset": "best fixed offset",
    "uniform": "even attention",
    "shuffled": "shuffled sentence",
    "with positional": "with place alone",
    "with contextual": "with content alone",
}
OF_HEADS = {  # measures of heads as such
    "fixed offset": "share of words whose largest weight on another word falls on one and the same offset",
    "confidence": "mean over words of the largest weight on a word, itself included; special tokens and punctuation "
    "are left out",
    "with positional": "correlation of attention with what place alone makes of it",
    "with contextual": "correlation of attention with what content alone makes of it",
}
SURE = 0.05  # a corrected p below it, and an interval that leaves out 0: then a difference is told from none
Row = Mapping[str, Any]
Where = tuple[str, str, str]  # treebank, relation, side
Key = tuple[str, str, str, str, str, str]  # treebank, relation, side, kind, distance, measure


@dataclass(frozen=True)
class Relations:
    """One run of the probe as its page tells it."""

    table: pl.DataFrame
    manifest: Manifest

    @cached_property
    def treebanks(self) -> list[str]:
        """The names of what was read, in the order of the run."""
        return list(dict.fromkeys(self.held["data"].to_list()))

    @cached_property
    def held(self) -> pl.DataFrame:
        """What was scored on the halves that did not choose."""
        return self.table.filter(pl.col("layer").is_null() & pl.col("data").is_not_null())

    @cached_property
    def _held(self) -> dict[Key, Row]:
        named = ("data", "item", "side", "kind", "distance", "measure")
        return {tuple(row[name] or "" for name in named): row for row in self.held.iter_rows(named=True)}  # type: ignore[misc]

    def of(self, where: Where, kind: str, *, distance: str = ALL, measure: str = "accuracy") -> Row:
        """One held-out row; an empty one where there is none."""
        return self._held.get((*where, kind, distance, measure), {})

    def fact(self, data: str, item: str, measure: str, side: str | None = None) -> float | None:
        """A fact of word order: share of governors to the left, mean and median distance, rows.

        Without a side it is about all governors, with one about the rows that were asked from it, where that is known.
        """
        of_all = self._facts.get((data, item, measure, None))
        return self._facts.get((data, item, measure, side), of_all)

    @cached_property
    def _facts(self) -> dict[tuple[str | None, ...], float | None]:
        rows = self.held.filter(pl.col("kind") == "order").iter_rows(named=True)
        return {(row["data"], row["item"], row["measure"], row["side"]): row["value"] for row in rows}

    @cached_property
    def parts(self) -> list[str]:
        """The parts of attention that were read."""
        there = set(self.held.filter(pl.col("measure") == "accuracy")["kind"])
        return [part for part in PARTS if part in there]

    @property
    def causal(self) -> bool:
        """Whether words see only what stands before them."""
        return bool(self.manifest.get("way") == "causal")

    def near_and_far(self, data: str, side: str) -> list[str]:
        """The distances that a panel has rows of."""
        where = (data, EACH, side)
        return [far for far in DISTANCES if any(self.of(where, kind, distance=far) for kind in KINDS)]

    def surely(self, where: Where, part: str) -> bool:
        """Whether a part of attention is told from the best fixed offset, by its interval and the corrected p."""
        gap, p = (self.of(where, part, measure=measure) for measure in ("beyond offset", "p"))
        return clear(gap) and (where[1] in TOGETHER or p.get("value", 1.0) < SURE)

    def relations(self, data: str, side: str = "") -> list[str]:
        """The relations of a treebank that were asked from a side, or from any; those between neighbours first."""
        rows = self.held.filter((pl.col("data") == data) & (pl.col("measure") == "accuracy"))
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
        """The directions that were asked."""
        there = set(self.held["side"].drop_nulls())
        return [side for side in SIDES if side in there]

    @cached_property
    def distances(self) -> list[str]:
        """The distances that some row tells of."""
        there = set(self.held["distance"].drop_nulls())
        return [one for one in DISTANCES if one in there]

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
    def chosen(self) -> list[Row]:
        """Which head each half chose."""
        return [one for one in self.manifest.get("chosen") or () if (one.get("distance") or ALL) == ALL]

    def heads_of(self, data: str, item: str, side: str, kind: str) -> list[str]:
        """The heads that the two halves chose, each once."""
        return list(dict.fromkeys(str(head) for head in self._chosen(data, item, side, kind).get("heads") or ()))

    def offsets_of(self, data: str, item: str, side: str) -> list[int]:
        """The fixed offsets that the two halves chose, each once."""
        its = self._chosen(data, item, side, "offset").get("offsets") or self._chosen(data, item, side, "full").get(
            "offsets"
        )
        return list(dict.fromkeys(int(one) for one in its or ()))

    def _chosen(self, data: str, item: str, side: str, kind: str) -> Row:
        return self._choices.get((data, item, side, kind), {})

    @cached_property
    def _choices(self) -> dict[tuple[Any, ...], Row]:
        return {tuple(one.get(name) for name in ("data", "item", "side", "kind")): one for one in self.chosen}

    def panel(self, data: str, side: str) -> str:
        """The key of a panel; plain, as it stands inside an expression."""
        return f"{self.treebanks.index(data)} {self.sides.index(side)}"

    def panels(self) -> list[tuple[str, str]]:
        """Every treebank with every side."""
        return [(data, side) for data in self.treebanks for side in self.sides]


def tables_of(found: Relations) -> dict[str, Columns]:
    """The numbers of the charts."""
    names = ("panel", "kind", "value", "low", "high", "said")
    return {
        "distances": columns(_by_distance(found), (*names, "distance")),
        "relations": columns(_by_relation(found), (*names, "relation", "order")),
        "grid": columns(_grid(found), ("panel", "measure", "layer", "head", "value", "best", "said")),
    }


def _by_distance(found: Relations) -> list[Row]:
    return [
        {**_plain(row), "panel": found.panel(data, side), "kind": kind, "distance": distance.replace("-", "–")}
        | {"said": f"{TITLES[kind]}, distance {distance.replace('-', '–')}: {said(row)}"}
        for data, side in found.panels()
        for kind in KINDS
        for distance in found.distances
        if (row := found.of((data, EACH, side), kind, distance=distance)).get("value") is not None
    ]


def _by_relation(found: Relations) -> list[Row]:
    return [
        {**_plain(row), "panel": found.panel(data, side), "kind": kind, "relation": item, "order": order}
        | {"said": f"{item}, {side}, {TITLES[kind]}: {said(row)}"}
        for data, side in found.panels()
        for order, item in enumerate(found.relations(data, side))
        for kind in KINDS
        if (row := found.of((data, item, side), kind)).get("value") is not None
    ]


def _grid(found: Relations) -> list[Row]:
    """Every head with each of its measures, and the relation it was chosen for."""
    cells: list[Row] = []
    for row in found.heads.iter_rows(named=True):
        if row["data"] not in found.treebanks or row["value"] is None:
            continue
        name = f"L{row['layer']}H{row['head']}"
        for side in found.sides:
            best = best_for(found, row["data"], side, name)
            more = f" +{len(best) - 1}" if len(best) > 1 else ""
            told = f"; chosen for {', '.join(best)}" if best else "; chosen for none"
            cells.append(
                {"panel": found.panel(row["data"], side), "measure": row["measure"], "layer": row["layer"]}
                | {"head": row["head"], "value": row["value"], "best": f"{best[0]}{more}" if best else ""}
                | {"said": f"{name}: {row['measure']} {short(row['value'])}{told}"}
            )
    return cells


def best_for(found: Relations, data: str, side: str, head: str) -> list[str]:
    """The relations for which a half chose this head's full attention, the best found first."""
    its = [item for item in found.relations(data, side) if head in found.heads_of(data, item, side, "full")]
    return sorted(its, key=lambda item: -(found.of((data, item, side), "full").get("value") or 0.0))


def clear(row: Row) -> bool:
    """Whether an interval leaves out 0."""
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def said(row: Row) -> str:
    """A share with its interval and what it rests on, in words."""
    between = f" ({per_cent(row['low'])} to {per_cent(row['high'])})" if row.get("low") is not None else ""
    behind = f", {count(row['count'], 'row')}" if row.get("count") else ""
    return f"{per_cent(row['value'])} %{between}{behind}"


def _plain(row: Row) -> dict[str, Any]:
    return {name: row.get(name) for name in ("value", "low", "high")}


def winners(found: Relations, data: str, side: str, items: Sequence[str]) -> dict[str, int]:
    """For how many relations each part of attention is told to be beyond the best fixed offset."""
    return {part: sum(_more(found, (data, item, side), part) for item in items) for part in found.parts}


def _more(found: Relations, where: Where, part: str) -> bool:
    ahead = found.of(where, part, measure="beyond offset").get("value")
    return ahead is not None and ahead > 0 and found.surely(where, part)

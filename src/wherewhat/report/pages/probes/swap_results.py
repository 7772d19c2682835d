"""The table of a swap probe as its page reads it, and how its numbers are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, count, short, signed
from wherewhat.published import word_swaps as published
from wherewhat.report.blocks.layout import key
from wherewhat.report.blocks.numbers import clear, in_points, per_cent, small_interval
from wherewhat.report.blocks.swap_examples import example_cards
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Section
from wherewhat.tables.manifest.probe import ProbeManifest

EVERY_SIZE = "every size"
CHANGES = "label changes"  # examples whose right answer changes with the swap
VOICES = ("active voice", "passive voice")
DIFFERENCES = ("change", "control change", "beyond control", "against whole", "beyond voice")
SHARES = ("accuracy", "kept", "flip", "old label", "lenient", "moved")
MEASURES = {  # of swaps, the one that tells most first
    "accuracy": "accuracy",
    "nats": "surprisal",
    "distance": "distance of hidden states",
    "kept": "answers kept",
}
ENDS = ("value", "low", "high")
WORDS_ALONE = "words alone"  # the accuracy of a guess from the words in any order: a baseline that does not read
Row = Mapping[str, Any]


@dataclass(frozen=True)
class SwapResults:
    """One run of a swap probe: its rows by what they are about, and the names that occur, in the order of the run."""

    manifest: ProbeManifest
    rows: Mapping[tuple[str, ...], Row]
    datasets: Sequence[str]  # what was read
    items: Sequence[str]  # what was swapped
    kinds: Sequence[str]  # originals, swaps, controls, and differences between them
    sides: Sequence[str]  # parts of the examples: labels, voices, and others
    measures: Sequence[str]  # those of `MEASURES` that there are

    def of(self, data: str, item: str, kind: str, measure: str, side: str = "") -> Row:
        """One row with a number; an empty one where there is none."""
        return self.rows.get((data, item, side, kind, measure), {})

    @property
    def labels(self) -> list[str]:
        """The labels that have rows of their own."""
        return [side for side in self.sides if side not in (EVERY_SIZE, CHANGES, *VOICES)]

    @property
    def labelled(self) -> bool:
        """Whether answers were compared with labels, as in the paper."""
        return self.manifest.way == "labels" and "accuracy" in self.measures

    def named(self, words: object, data: str) -> Html:
        """Words, with the data that they are about where there are several."""
        return join(words, *([" · ", tag("bdi", data)] if len(self.datasets) > 1 else []))

    def key(self, swap: str, alone: str) -> Html:
        """Which mark of the chart is what: words for swaps, and for the accuracy from the words alone."""
        marks = [("mark swap", swap), ("mark control", "control")]
        marks += [("mark voice", "other voice")] if "voice" in self.items else []
        marks += [("mark alone", f"{alone} a guess from the words in any order")] if WORDS_ALONE in self.kinds else []
        return key(*marks, *([("mark published", published.SOURCE)] if self.labelled else []))

    def examples(self, lede: str) -> Section | None:
        """Examples of swaps with the model's answers."""
        body = example_cards(self.manifest.examples, several=len(self.datasets) > 1)
        return Section("examples", "Examples", lede, body, short="Examples") if self.manifest.examples else None


def read_swaps(table: pl.DataFrame, manifest: ProbeManifest) -> SwapResults:
    """The table of a swap probe; one without swaps is refused."""
    columns = ("data", "item", "side", "kind", "measure")
    names = {column: [name for name in table[column].unique(maintain_order=True) if name] for column in columns}
    measures = [name for name in MEASURES if name in names["measure"]]
    if not measures:
        raise UserError(f"the table of the probe has no swaps; run `wherewhat probe {manifest.probe}` again")
    known = table.filter(pl.col("value").is_not_null()).iter_rows(named=True)
    rows = {tuple(row[column] or "" for column in columns): row for row in known}
    return SwapResults(manifest, rows, names["data"], names["item"], names["kind"], names["side"], measures)


def drawn(row: Row, measure: str) -> dict[str, float | None]:
    """A row's numbers as they are drawn: shares in per cent, and their differences in percentage points."""
    by = 100.0 if measure in SHARES else 1.0
    return {end: None if row.get(end) is None else by * row[end] for end in ENDS}


def written(row: Row, measure: str, kind: str) -> tuple[str, ...]:
    """A number and the ends of its interval as text, by what it is: points, per cent, nats or a plain number."""
    values = [row.get(end) for end in ENDS]
    if measure in SHARES:
        return tuple(map(in_points if kind in DIFFERENCES else per_cent, values))
    return tuple(short(value) if value is None or kind not in DIFFERENCES else signed(value, 2) for value in values)


def with_interval(row: Row, measure: str, kind: str) -> Html:
    """A number and, small behind it, its interval; paler if it is a comparison that is not clear."""
    value, low, high = written(row, measure, kind)
    number = join(value, small_interval(low, high))
    return tag("span", number, class_="unsure") if kind.startswith("beyond") and not clear(row) else number


def in_words(row: Row, measure: str, kind: str) -> str:
    """The same as plain text, for a tooltip."""
    share = " points" if kind in DIFFERENCES else " %"
    unit = share if measure in SHARES else " nats per token" if measure == "nats" else ""
    value, low, high = written(row, measure, kind)
    between = f" ({low} to {high})" if row.get("low") is not None else ""
    behind = f", {count(row['count'], 'sentence')}" if row.get("count") else ""
    return f"{value}{unit}{between}{behind}"


def sentences(row: Row) -> str:
    """How many sentences a number rests on."""
    return MISSING if row.get("count") is None else f"{row['count']:,}"

"""What the charts of nets with and without positions have in common: names, colours and axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import INK, MUTED, WHAT, WHERE, colour, legend
from wherewhat.report.blocks.layout import columns
from wherewhat.report.core.html import Html, join, tag
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope.results import AGAIN, ALIBI, APE, LABELS, LONGER, NOPE, QUARTER, ROPE, T5, TRAINED
from wherewhat.tables.manifest.study import LongAnswer, NopeSection

Look = Mapping[str, Any]  # options of charts and axes
Answers = Mapping[str, LongAnswer]
TONES = {
    NOPE: INK,
    AGAIN: MUTED,
    T5: axes.shade("chance", 1),
    ALIBI: axes.shade("chance", 5),
    QUARTER: WHAT,
    APE: axes.shade("layers", 5),
    ROPE: WHERE,
}
STROKES: Look = {"symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 160}
LENGTHS = {TRAINED: "training lengths", LONGER: "longer inputs"}


def labelled(rows: pl.DataFrame, column: str = "item") -> pl.DataFrame:
    """Rows with the name of their encoding as people write it, in the order of encodings."""
    order = pl.col(column).replace_strict({arm: number for number, arm in enumerate(LABELS)}, default=99)
    name = pl.col(column).replace(LABELS)
    return rows.with_columns(name=name, order=order).sort("order", "at", maintain_order=True)


def by_name(arms: Sequence[str], **look: Any) -> alt.Color:
    """A colour per encoding, under its name."""
    key = legend(**{**STROKES, "columns": alt.ExprRef("width < 420 ? 2 : 3"), **look})
    return colour("name", {LABELS[arm]: TONES[arm] for arm in arms}, legend=key)


def training_end(table: ResultTable, task: str) -> dict[str, Any]:
    """A table for a chart with the longest training length."""
    return {"trained": [{"at": about_of(table).lengths[task] + 0.5}]}


def about_of(table: ResultTable) -> NopeSection:
    """What the manifest says of the nets."""
    about: NopeSection = table.scale
    return about


def side_by_side(cards: Sequence[Html]) -> Html:
    """Cards, two in a row; a single one is as wide as the page."""
    return tag("div", columns(*cards) if len(cards) > 1 else join(*cards), class_="below")

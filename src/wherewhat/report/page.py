"""What a page is before it is text: sections, charts as specs, and one copy of the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wherewhat.report.tags import Html

Spec = Mapping[str, Any]  # a Vega-Lite chart; where it says `{x}`, the reader's choice is filled in
Columns = Mapping[str, Sequence[Any]]  # a table by columns, the shortest way to write one as JSON


@dataclass(frozen=True)
class Section:
    """One part of a page: a heading, a sentence that says how to read it, and its body."""

    name: str  # the anchor
    title: str
    lede: str
    body: Html
    short: str = ""  # how the navigation calls it; a section without a short name is not in it


@dataclass(frozen=True)
class Figure:
    """One finished picture: a chart with the numbers it needs, ready to be drawn outside a browser."""

    spec: Spec
    tables: Mapping[str, Columns]
    width: int
    height: int


@dataclass(frozen=True)
class Page:
    """Everything a page shows. `render` turns it into text, `figures` into pictures."""

    title: str
    kind: str  # the few words above the title
    lede: str
    facts: Sequence[tuple[str, str]]  # (number, what it counts)
    sections: Sequence[Section]
    charts: Mapping[str, Spec] = field(default_factory=dict)  # by the name a widget asks for
    tables: Mapping[str, Columns] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # what the widgets must know beside the tables
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by file name without its ending
    findings: Sequence[Html] = ()  # what came out, a sentence each, at the very top

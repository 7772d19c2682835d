"""What a page is before it is text: sections, the charts that stand in them, and one copy of the numbers.

A chart or a widget is an object that is placed between tags. A page collects from its body what they draw with, so that
nothing has to be named anywhere else.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wherewhat.report.core.html import Html, tag

Spec = Mapping[str, Any]  # a Vega-Lite chart; where it says `{x}`, a word of the view is filled in
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
class View:
    """One view of a chart: the tables that it draws by their names in the chart, and the words that it fills in."""

    tables: Mapping[str, Columns]
    words: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart in a section. With several views, the reader chooses one of them."""

    name: str
    spec: Spec
    views: Sequence[View]
    label: str  # what it shows, for those who cannot see it
    height: int = 320
    # whether it is also a picture: NAME for its first view, NAME_VIEW for the others; a text is another NAME
    figure: bool | str = False
    width: int = 640  # of that picture
    title: str = ""  # above that picture, as it stands alone
    subtitle: str = ""  # one or more lines, in which words of the view are filled in
    follows: Sequence[int] = ()  # explanations, one per view: that of the chosen one is drawn

    def __html__(self) -> Html:
        views = [[view.title, self._names(view), dict(view.words)] for view in self.views]
        place = tag(
            "div",
            data_widget="drawn",
            data_chart=_key(self.name, self.spec),
            data_label=self.label,
            data_height=self.height,
            data_views=json.dumps(views),
            data_follows=json.dumps(list(self.follows)) if self.follows else None,
            class_="drawn",
        )
        return Html.holding(place, (self,))

    @cached_property
    def charts(self) -> dict[str, Spec]:
        """Its spec under the name that its place asks for."""
        return {_key(self.name, self.spec): self.spec}

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The tables of all views under the names that its place asks for; equal tables have the same name."""
        return {key: view.tables[name] for view in self.views for name, key in self._names(view).items()}

    def _names(self, view: View) -> dict[str, str]:
        return {name: _key(name, table) for name, table in view.tables.items()}

    @property
    def figures(self) -> dict[str, Figure]:
        """Every view as a picture, by file name without its ending; none if the chart is not to be one."""
        if not self.figure:
            return {}
        views = [(number, view) for number, view in enumerate(self.views) if not self._is_again(number)]
        return {self._figure_name(number): self._drawn(view) for number, view in views}

    def _is_again(self, number: int) -> bool:
        """Whether an earlier view that another explanation leads to is the same."""
        view, earlier = self.views[number], self.views[:number] if self.follows else ()
        return any((view.tables, view.words) == (each.tables, each.words) for each in earlier)

    def _figure_name(self, number: int) -> str:
        words = re.sub(r"\W+", "_", self.views[number].title).strip("_")
        name = self.figure if isinstance(self.figure, str) else self.name
        return f"{name}_{words}" if number else name

    def _drawn(self, view: View) -> Figure:
        lines = [line for line in (*filled(self.subtitle, view.words).split("\n"), view.title) if line.strip()]
        title = {"title": {"text": self.title, "subtitle": lines}} if self.title else {}
        return Figure({**filled(self.spec, view.words), **title}, view.tables, self.width, self.height)


@dataclass(frozen=True)
class Widget:
    """A part of a page that a script of its own brings to life, with the charts and tables that the script asks for."""

    kind: str  # the name of the script's function
    charts: Mapping[str, Spec] = field(default_factory=dict)
    tables: Mapping[str, Columns] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # what the script must know beside the tables
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by file name without its ending
    attributes: Mapping[str, Any] = field(default_factory=dict)  # of the element
    element: str = "div"

    def __html__(self) -> Html:
        return Html.holding(tag(self.element, data_widget=self.kind, **self.attributes), (self,))


@dataclass(frozen=True)
class Page:
    """Everything a page shows. `render` turns it into text, `core.figures` into pictures."""

    title: str
    kind: str  # the few words above the title
    lede: str
    facts: Sequence[tuple[str, str]]  # (number, what it counts)
    sections: Sequence[Section]
    findings: Sequence[Html] = ()  # what came out, a sentence each, at the very top

    @cached_property
    def charts(self) -> dict[str, Spec]:
        """Every chart by the name that its place asks for."""
        return self._collected("charts")

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """Every table, once."""
        return self._collected("tables")

    @cached_property
    def about(self) -> dict[str, Any]:
        """What the widgets must know beside the tables."""
        return self._collected("about")

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Every picture by file name without its ending."""
        return self._collected("figures")

    @cached_property
    def placed(self) -> list[Chart | Widget]:
        """The charts and widgets of its body, in order."""
        bodies = (*self.findings, *(section.body for section in self.sections))
        return [placed for body in bodies for placed in body.placed]

    @property
    def widgets(self) -> set[str]:
        """The kinds of widgets on the page."""
        return {placed.kind for placed in self.placed if isinstance(placed, Widget)}

    def chart(self, name: str) -> Chart:
        """The first chart of this name."""
        return next(chart for chart in self.placed if isinstance(chart, Chart) and chart.name == name)

    def _collected(self, what: str) -> dict[str, Any]:
        return {name: value for placed in self.placed for name, value in getattr(placed, what, {}).items()}


def filled(pattern: Spec | str, words: Mapping[str, str]) -> Any:
    """A chart with its placeholders filled in, as the page's script does it.

    >>> filled({"field": "value_{x}"}, {"x": "3"})
    {'field': 'value_3'}
    """
    known = {name: json.dumps(word)[1:-1] for name, word in words.items()}
    return json.loads(re.sub(r"\{([a-z ]+)\}", lambda match: known.get(match[1], match[0]), json.dumps(pattern)))


def _key(name: str, content: object) -> str:
    """A name that differs wherever the content does."""
    return f"{name}-{hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:8]}"

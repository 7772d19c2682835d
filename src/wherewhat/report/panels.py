"""Charts that a page draws by itself, with nothing to choose but, at the most, one of a few views.

A chart's rows may have a column `said`: what the card beside the pointer says.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wherewhat.report.head_figures import filled
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.tags import Html, tag

ChartWords = Mapping[str, str]  # what is filled in where a chart's spec says `{name}`


def chart_widget(
    chart: str,
    label: str,
    *,
    height: int = 320,
    words: ChartWords | None = None,
    views: Sequence[tuple[str, ChartWords]] = (),
) -> Html:
    """The place of a chart of the page's `charts`, drawn from the page's tables that it names.

    `label` says to those who cannot see it what it shows. With `views`, each a title and its words, the reader chooses
    between them; small multiples are several places of one chart with other words.
    """
    return tag(
        "div",
        data_widget="drawn",
        data_chart=chart,
        data_label=label,
        data_height=height,
        data_words=json.dumps(dict(words or {})),
        data_views=json.dumps([[title, dict(its)] for title, its in views]),
        class_="drawn",
    )


def panel(*children: object) -> Html:
    """A card around charts and words that belong together."""
    return tag("div", *children, class_="panel")


def columns(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Columns:
    """Rows as columns, the way a page keeps its tables.

    >>> columns([{"a": 1, "b": 2}, {"a": 3}], ["a", "b"])
    {'a': [1, 3], 'b': [2, None]}
    """
    kept = list(rows)
    return {name: [row.get(name) for row in kept] for name in names}


def figure_of(
    spec: Spec, tables: Mapping[str, Columns], size: tuple[int, int], words: ChartWords | None = None
) -> Figure:
    """The same chart as a picture for a file; `tables` may hold more than it needs."""
    whole = filled(spec, dict(words or {}))
    named = _named(whole)
    return Figure(whole, {name: table for name, table in tables.items() if name in named}, *size)


def titled(spec: Spec, title: str, subtitle: str = "") -> Spec:
    """A chart with its title above it, for a picture that stands alone."""
    return {**spec, "title": {"text": title, "subtitle": [subtitle] if subtitle else []}}


def _named(spec: object) -> set[str]:
    """The names of all tables that a chart asks for."""
    if isinstance(spec, Mapping):
        data = spec.get("data")
        own = {str(data["name"])} if isinstance(data, Mapping) and "name" in data else set()
        return own.union(*(_named(value) for value in spec.values()))
    if isinstance(spec, list | tuple):
        return set[str]().union(*(_named(value) for value in spec))
    return set()

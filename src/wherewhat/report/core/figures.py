"""Draw a page's figures outside a browser: pictures for files and for whatever cannot run a script."""

import json
from collections.abc import Mapping
from typing import Any

import vl_convert

from wherewhat.report.core.page import Columns, Figure, Page
from wherewhat.report.core.palette import LIGHT, properties
from wherewhat.report.core.theme import config

SHARPNESS = 2.0


def figures(page: Page) -> dict[str, bytes]:
    """Draw every figure of a page as PNG, by name."""
    return {name: vl_convert.vegalite_to_png(whole(figure), scale=SHARPNESS) for name, figure in page.figures.items()}


def whole(figure: Figure) -> dict[str, Any]:
    """A chart with its numbers, its size and fixed colours in place of the page's variables."""
    colours = properties(LIGHT)
    written = json.dumps({**figure.spec, "width": figure.width, "height": figure.height})
    for name, colour in colours.items():
        written = written.replace(f"var(--{name})", colour)
    datasets = {name: rows(columns) for name, columns in figure.tables.items()}
    return {**json.loads(written), "datasets": datasets, "padding": 16, "config": config(colours)}


def rows(columns: Columns) -> list[Mapping[str, Any]]:
    """Turn columns into rows.

    >>> rows({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

"""Which page shows which probe."""

from collections.abc import Callable

import polars as pl

from wherewhat.names import look_up
from wherewhat.report.measured import Manifest
from wherewhat.report.page import Page
from wherewhat.report.probe_dependencies import page_of_dependencies
from wherewhat.report.probe_roles import page_of_roles
from wherewhat.report.probe_words import page_of_words

PAGES: dict[str, Callable[[pl.DataFrame, Manifest], Page]] = {
    "words": page_of_words,
    "roles": page_of_roles,
    "dependencies": page_of_dependencies,
}


def page_of_probe(table: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what a probe found."""
    return look_up("probe", str(manifest.get("probe")), PAGES)(table, manifest)

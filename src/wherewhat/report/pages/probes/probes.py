"""Which page shows which probe."""

from collections.abc import Callable

import polars as pl

from wherewhat.names import look_up
from wherewhat.report.core.page import Page
from wherewhat.report.pages.probes.dependencies import page_of_dependencies
from wherewhat.report.pages.probes.roles import page_of_roles
from wherewhat.report.pages.probes.words import page_of_words
from wherewhat.tables.manifest.probe import ProbeManifest

PAGES: dict[str, Callable[[pl.DataFrame, ProbeManifest], Page]] = {
    "words": page_of_words,
    "roles": page_of_roles,
    "dependencies": page_of_dependencies,
}


def page_of_probe(table: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """The page of a probe."""
    return look_up("probe", manifest.probe, PAGES)(table, manifest)

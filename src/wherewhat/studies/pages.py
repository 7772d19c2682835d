"""Which page shows which study. Pages need no torch, and load when they are asked for."""

from importlib import import_module
from typing import Any

import polars as pl

from wherewhat.names import look_up
from wherewhat.report.core.page import Page
from wherewhat.tables.manifest.study import StudyManifest

NAMES = (
    "canonical",
    "dynamics",
    "locality",
    "syntax",
    "word-swap",
    "length",
    "scratchpad",
    "nope",
    "counting",
    "row-sums",
    "latin-square",
    "attribution",
    "speech",
    "control",
)
PAGES: dict[str, str] = {name: f"wherewhat.studies.{name.replace('-', '_')}.page" for name in NAMES}  # their modules


def page_of_study(result: pl.DataFrame, manifest: StudyManifest[Any]) -> Page:
    """The page of a study: its module has a function `page` from the result and the manifest."""
    drawn: Page = import_module(look_up("reproduction", manifest.reproduction, PAGES)).page(result, manifest)
    return drawn

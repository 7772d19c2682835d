"""Which page shows which study."""

from collections.abc import Callable
from typing import Any

import polars as pl

from wherewhat.names import look_up
from wherewhat.report.canonical import page_of_canonical
from wherewhat.report.control import page_of_control
from wherewhat.report.dynamics import page_of_dynamics
from wherewhat.report.locality import page_of_locality
from wherewhat.report.page import Page
from wherewhat.report.syntax import page_of_syntax
from wherewhat.report.word_swap import page_of_word_swap
from wherewhat.tables.manifest.study import StudyManifest

PAGES: dict[str, Callable[[pl.DataFrame, Any], Page]] = {
    "canonical": page_of_canonical,
    "control": page_of_control,
    "dynamics": page_of_dynamics,
    "locality": page_of_locality,
    "syntax": page_of_syntax,
    "word-swap": page_of_word_swap,
}


def page_of_reproduction(result: pl.DataFrame, manifest: StudyManifest[Any]) -> Page:
    """The page of a study."""
    return look_up("reproduction", manifest.reproduction, PAGES)(result, manifest)

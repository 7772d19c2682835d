"""The same heads in several models or at several times: the table of `wherewhat compare`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.page import Page
from wherewhat.runs.base import Run
from wherewhat.runs.shapes import COMPARED
from wherewhat.tables.files import MANIFEST
from wherewhat.tables.reading import hold_against, read_table
from wherewhat.tables.schema import COMPARE, SIMILARITY


def _none() -> pl.DataFrame:
    return pl.DataFrame(schema=SIMILARITY)


@dataclass(frozen=True)
class Compared(Run):
    """By how much every score of every head differs from what it was, with intervals."""

    kind: ClassVar[str] = "compare"

    compare: pl.DataFrame  # a row a head and score, and rows over all heads of a layer and of the model
    manifest: Mapping[str, Any]
    similarity: pl.DataFrame = field(default_factory=_none)  # every head against every head; empty unless asked for

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        tables = {"compare.parquet": self.compare}
        return tables if self.similarity.is_empty() else {**tables, "similarity.parquet": self.similarity}

    @property
    def leading(self) -> list[dict[str, Any]]:
        """What to tell first: the change over all heads, from the first to the last, of the scores that matter most."""
        from wherewhat.report.compare_tables import Found

        return Found(self.compare, self.manifest).leading

    @property
    def sentences(self) -> list[str]:
        """What was found, as plain text."""
        from wherewhat.report.compare_tables import Found
        from wherewhat.report.compare_words import sentences
        from wherewhat.report.similar import sentence

        pairs = self.manifest.get("similar") or []
        return [*sentences(Found(self.compare, self.manifest)), *map(sentence, pairs)]

    def draw(self) -> Page:
        from wherewhat.report.compare import page_of_comparison

        return page_of_comparison(self.compare, self.manifest, self.similarity)

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> "Compared":
        """The comparison that lies in a folder."""
        hold_against(folder / MANIFEST, manifest, COMPARED)
        there = folder / "similarity.parquet"
        similarity = read_table(there, SIMILARITY, manifest) if there.exists() else _none()
        return cls(read_table(folder / "compare.parquet", COMPARE, manifest), manifest, similarity)

"""A published experiment done again: the table of `wherewhat reproduce`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.page import Page
from wherewhat.runs.base import Run
from wherewhat.runs.shapes import reproduced
from wherewhat.tables.files import MANIFEST
from wherewhat.tables.reading import hold_against, read_table
from wherewhat.tables.schema import RESULT


@dataclass(frozen=True)
class Reproduced(Run):
    """What was measured, beside what was published (`claims` in the manifest)."""

    kind: ClassVar[str] = "reproduce"

    result: pl.DataFrame
    manifest: Mapping[str, Any]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"result.parquet": self.result}

    def draw(self) -> Page:
        from wherewhat.report.reproductions import page_of_reproduction

        return page_of_reproduction(self.result, self.manifest)

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> "Reproduced":
        """The reproduction that lies in a folder."""
        hold_against(folder / MANIFEST, manifest, reproduced(manifest.get("reproduction")))
        return cls(read_table(folder / "result.parquet", RESULT, manifest), manifest)

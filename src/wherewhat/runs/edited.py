"""An edit and what came of it: the tables of `wherewhat edit`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.page import Page
from wherewhat.runs.base import Run
from wherewhat.runs.shapes import EDITED
from wherewhat.tables.files import MANIFEST
from wherewhat.tables.reading import hold_against, read_table
from wherewhat.tables.schema import EDIT, HEADS


@dataclass(frozen=True)
class Edited(Run):
    """A model before and after an edit: what it can do, and where its heads look."""

    kind: ClassVar[str] = "edit"

    edit: pl.DataFrame  # loss, copying and head scores: before, after and the change
    heads: pl.DataFrame  # as in a profile, for both
    manifest: Mapping[str, Any]

    @property
    def strongest(self) -> dict[str, Any] | None:
        """The edit of a sweep that changes the loss most, if there was a sweep."""
        swept = self.edit.filter((pl.col("measure") == "loss") & pl.col("layer").is_not_null())
        found = swept.sort(pl.col("value").abs(), descending=True, nulls_last=True).head(1)
        return next(found.select("edit", "value", "low", "high").iter_rows(named=True), None)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"edit.parquet": self.edit, "heads.parquet": self.heads}

    @property
    def whole(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """What the whole model can do: by measure and by state, the value with its interval."""
        found: dict[str, dict[str, dict[str, float | None]]] = {}
        whole = self.edit.filter(pl.col("layer").is_null())
        for row in whole.iter_rows(named=True):
            spread = {name: row[name] for name in ("value", "low", "high")}
            found.setdefault(row["measure"], {})[row["state"]] = spread
        return found

    def draw(self) -> Page:
        from wherewhat.report.edits import page_of_edit

        return page_of_edit(self.edit, self.heads, self.manifest)

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> "Edited":
        """The edit that lies in a folder."""
        hold_against(folder / MANIFEST, manifest, EDITED)
        return cls(
            read_table(folder / "edit.parquet", EDIT, manifest),
            read_table(folder / "heads.parquet", HEADS, manifest),
            manifest,
        )

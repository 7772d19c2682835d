"""A probe put to a model: the table of `wherewhat probe`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.page import Page
from wherewhat.runs.base import Run
from wherewhat.runs.shapes import PROBED
from wherewhat.tables.files import MANIFEST
from wherewhat.tables.reading import hold_against, read_table
from wherewhat.tables.schema import PROBE


@dataclass(frozen=True)
class Probed(Run):
    """What a model did when words, roles or relations were asked about; `probe` in the manifest says which."""

    kind: ClassVar[str] = "probe"

    probe: pl.DataFrame
    manifest: Mapping[str, Any]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"probe.parquet": self.probe}

    def draw(self) -> Page:
        from wherewhat.report.probes import page_of_probe

        return page_of_probe(self.probe, self.manifest)

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> "Probed":
        """The probe that lies in a folder."""
        hold_against(folder / MANIFEST, manifest, PROBED)
        return cls(read_table(folder / "probe.parquet", PROBE, manifest), manifest)

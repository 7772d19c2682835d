"""A run: the tables of one command, to save, to draw and to draw again."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.errors import python_door
from wherewhat.report.page import Page
from wherewhat.tables.files import MANIFEST, parquet_bytes, refuse_to_overwrite, write_run, write_whole
from wherewhat.tables.manifest import manifest_bytes
from wherewhat.tables.reading import SHA256, digests

REPORT = "report.html"


class Run(ABC):
    """What one command found out, with where its numbers came from. Members are frozen dataclasses of their tables."""

    kind: ClassVar[str]  # the command whose runs these are
    manifest: Mapping[str, Any]

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Its tables, by the names of their files."""

    @abstractmethod
    def draw(self) -> Page:
        """What the report shows, as data."""

    @cached_property
    def page(self) -> Page:
        """The same, drawn once."""
        return self.draw()

    @python_door
    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the tables, the manifest and the report; all of them or none."""
        from wherewhat.report.render import render

        folder = Path(folder)
        refuse_to_overwrite(folder, kind=self.kind, overwrite=overwrite)
        files = {name: parquet_bytes(table) for name, table in self.tables.items()}
        files[REPORT] = render(self.page).encode()
        manifest: dict[str, Any] = {**self.manifest, "kind": self.kind, "files": sorted([*files, MANIFEST])}
        manifest[SHA256] = digests(manifest, files)
        write_run(folder, {**files, MANIFEST: manifest_bytes(manifest)})
        return folder

    @python_door
    def report(self, path: str | Path) -> Path:
        """Draw the report again, from the tables alone."""
        from wherewhat.report.render import render

        write_whole(Path(path), render(self.page).encode())
        return Path(path)

    @python_door
    def figures(self, folder: str | Path) -> list[Path]:
        """Write every figure of the report as a PNG file."""
        from wherewhat.report.figures import figures

        paths = []
        for name, picture in figures(self.page).items():
            paths.append(Path(folder) / f"{name}.png")
            write_whole(paths[-1], picture)
        return paths

    def _repr_html_(self) -> str:
        from wherewhat.report.render import inline

        return inline(self.page)

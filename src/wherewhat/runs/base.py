"""A run: the tables and the manifest of one command, to save and to draw as a page."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from wherewhat.errors import python_errors
from wherewhat.report.core.page import Page
from wherewhat.tables.files import MANIFEST, refuse_to_overwrite, write_run, write_whole
from wherewhat.tables.manifest.io import manifest_bytes
from wherewhat.tables.manifest.sections import Manifest
from wherewhat.tables.parquet import digests, parquet_bytes, read_table

REPORT = "report.html"


class Run(ABC):
    """The results of one command. Subclasses are frozen dataclasses of their tables and their manifest."""

    kind: ClassVar[str]  # the command whose runs these are
    schemas: ClassVar[Mapping[str, Mapping[str, Any]]]  # of its tables, by attribute; NAME.parquet is the file
    optional: ClassVar[tuple[str, ...]] = ()  # tables that are written only where they have rows
    manifest: Manifest

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Its tables, by the names of their files."""
        tables = {name: getattr(self, name) for name in self.schemas}
        left_out = {name for name in self.optional if tables[name].is_empty()}
        return {f"{name}.parquet": table for name, table in tables.items() if name not in left_out}

    @abstractmethod
    def draw(self) -> Page:
        """The report, as data."""

    @cached_property
    def page(self) -> Page:
        """The report, drawn once."""
        return self.draw()

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> Self:
        """The run in a folder whose manifest was read."""
        tables = {}
        for name, schema in cls.schemas.items():
            path = folder / f"{name}.parquet"
            missing = name in cls.optional and not path.exists()
            tables[name] = pl.DataFrame(schema=schema) if missing else read_table(path, schema, manifest)
        return cls(**tables, manifest=manifest)  # type: ignore[call-arg]  # subclasses are dataclasses of these

    def made_by(self, command: str) -> Self:
        """The same run, with the command line that made it."""
        return replace(self, manifest=replace(self.manifest, command=command))  # type: ignore[type-var]

    @python_errors
    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the tables, the manifest and the report; all of them or none."""
        from wherewhat.report.core.render import render

        folder = Path(folder)
        refuse_to_overwrite(folder, kind=self.kind, overwrite=overwrite)
        files = {name: parquet_bytes(table) for name, table in self.tables.items()}
        files[REPORT] = render(self.page).encode()
        manifest = replace(self.manifest, files=sorted([*files, MANIFEST]))
        manifest = replace(manifest, sha256=digests(manifest.to_dict(), files))
        write_run(folder, {**files, MANIFEST: manifest_bytes(manifest)})
        return folder

    @python_errors
    def report(self, path: str | Path) -> Path:
        """Draw the report again, from the tables alone."""
        from wherewhat.report.core.render import render

        write_whole(Path(path), render(self.page).encode())
        return Path(path)

    @python_errors
    def figures(self, folder: str | Path) -> list[Path]:
        """Write every figure of the report as a PNG file."""
        from wherewhat.report.core.figures import figures

        paths = []
        for name, picture in figures(self.page).items():
            paths.append(Path(folder) / f"{name}.png")
            write_whole(paths[-1], picture)
        return paths

    def _repr_html_(self) -> str:
        from wherewhat.report.core.render import inline

        return inline(self.page)

"""A profile: the tables of one measurement, to save, load, look at and draw. Needs neither model nor torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.page import Page
from wherewhat.tables.files import MANIFEST, parquet_bytes, read_parquet, refuse_to_overwrite, write_run, write_whole
from wherewhat.tables.manifest import manifest_bytes, read_manifest
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS

REPORT = "report.html"
KIND = "heads"  # the command whose runs these are


@dataclass(frozen=True)
class Profile:
    """Where every head of a model looks, with intervals, chance levels, and where the numbers came from."""

    heads: pl.DataFrame  # one row a head and score
    offsets: pl.DataFrame  # mean mass by relative offset
    frequencies: pl.DataFrame  # what each rotary frequency carries; empty for models that have none
    manifest: Mapping[str, Any]

    @cached_property
    def page(self) -> Page:
        """What the report shows, as data."""
        from wherewhat.report.heads import page_of_heads

        return page_of_heads(self.heads, self.offsets, self.frequencies, self.manifest)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the tables, the manifest and the report; all of them or none."""
        from wherewhat.report.render import render

        folder = Path(folder)
        refuse_to_overwrite(folder, kind=KIND, overwrite=overwrite)
        files = {
            "heads.parquet": parquet_bytes(self.heads),
            "offsets.parquet": parquet_bytes(self.offsets),
            REPORT: render(self.page).encode(),
        }
        if not self.frequencies.is_empty():
            files["frequencies.parquet"] = parquet_bytes(self.frequencies)
        manifest = {**self.manifest, "kind": KIND, "files": sorted([*files, MANIFEST])}
        write_run(folder, {**files, MANIFEST: manifest_bytes(manifest)})
        return folder

    def report(self, path: str | Path) -> Path:
        """Draw the report again, from the tables alone."""
        from wherewhat.report.render import render

        write_whole(Path(path), render(self.page).encode())
        return Path(path)

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

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self.heads)}


def load(folder: str | Path) -> Profile:
    """A profile that was saved."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    if (kind := manifest.get("kind", KIND)) != KIND:
        raise UserError(f"{folder} holds a run of `wherewhat {kind}`, not of `wherewhat {KIND}`; name another folder")
    heads = _table(folder / "heads.parquet", HEADS)
    offsets = _table(folder / "offsets.parquet", OFFSETS)
    turning = folder / "frequencies.parquet"
    frequencies = _table(turning, FREQUENCIES) if turning.exists() else pl.DataFrame(schema=FREQUENCIES)
    return Profile(heads, offsets, frequencies, manifest)


def _table(path: Path, schema: Mapping[str, Any]) -> pl.DataFrame:
    table = read_parquet(path)
    if missing := [name for name in schema if name not in table.columns]:
        raise UserError(f"{path} lacks the column '{missing[0]}'; run the command again with --overwrite")
    return table

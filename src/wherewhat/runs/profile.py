"""A profile: the tables of `wherewhat heads`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from wherewhat.report.page import Page
from wherewhat.runs.base import Run
from wherewhat.runs.shapes import PROFILE
from wherewhat.tables.files import MANIFEST
from wherewhat.tables.reading import hold_against, read_table
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS, POSITIONAL

TABLES = {
    "heads.parquet": HEADS,
    "offsets.parquet": OFFSETS,
    "frequencies.parquet": FREQUENCIES,
    "positional.parquet": POSITIONAL,
}
COUNTED = {"text": "count", "window": "windows", "token": "tokens"}  # of what was read, as the manifest calls it
ALWAYS = ("heads.parquet", "offsets.parquet")  # the others are written where there is something in them


def _none() -> pl.DataFrame:
    return pl.DataFrame(schema=POSITIONAL)


def _many(count: Any, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Profile(Run):
    """Where every head of a model looks, with intervals, chance levels, and where the numbers came from."""

    kind: ClassVar[str] = "heads"

    heads: pl.DataFrame  # one row a head and score
    offsets: pl.DataFrame  # mean mass by relative offset
    frequencies: pl.DataFrame  # what each rotary frequency carries; empty for models that have none
    manifest: Mapping[str, Any]
    positional: pl.DataFrame = field(default_factory=_none)  # matrices of the positional part; empty unless asked for

    def __repr__(self) -> str:
        about, read = self.manifest.get("model") or {}, self.manifest.get("texts") or {}
        heads = self.heads.group_by("layer").agg(pl.col("head").n_unique())["head"]
        counts = {name: read.get(known, 0) for name, known in COUNTED.items()} | {"row": self.heads["rows"].max() or 0}
        return (
            f"Profile of {about.get('id') or 'a model'}: {_many(len(heads), 'layer')} × {_many(heads.max(), 'head')}\n"
            f"{', '.join(_many(count, name) for name, count in counts.items())}\n"
            "next: .findings(), .heads (a table), .save(folder), .report(path); a notebook shows a picture of all heads"
        )

    def findings(self) -> list[str]:
        """What stands out, in plain sentences."""
        from wherewhat.report.sentences import findings

        return findings(self.heads, self.manifest)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        tables = dict(zip(TABLES, (self.heads, self.offsets, self.frequencies, self.positional), strict=True))
        return {name: table for name, table in tables.items() if name in ALWAYS or not table.is_empty()}

    def draw(self) -> Page:
        from wherewhat.report.heads import page_of_heads

        return page_of_heads(self.heads, self.offsets, self.frequencies, self.manifest, self.positional)

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> "Profile":
        """The profile that lies in a folder."""
        hold_against(folder / MANIFEST, manifest, PROFILE)
        there = {name: schema for name, schema in TABLES.items() if name in ALWAYS or (folder / name).exists()}
        found = {name: read_table(folder / name, schema, manifest) for name, schema in there.items()}
        heads, offsets, frequencies, positional = (
            found.get(name, pl.DataFrame(schema=schema)) for name, schema in TABLES.items()
        )
        return cls(heads, offsets, frequencies, manifest, positional)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

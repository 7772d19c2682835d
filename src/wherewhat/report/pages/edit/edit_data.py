"""The rows of an edit by what they are about: the whole model, the scores of its heads, and every edit of a sweep."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import MISSING, Number, short, signed
from wherewhat.report.blocks.numbers import lacks_interval
from wherewhat.report.blocks.rows import Row
from wherewhat.tables.manifest.scores import EditManifest
from wherewhat.tables.manifest.sections import ScoreSection

MEASURES = {"loss": "Loss", "copy": "Copy", "induction": "Induction"}  # what a model can do
OF_HEAD = "head."  # the prefix of head scores among the measures
PAIRS = (
    ("attended.position_share", "attended.symbol_share"),
    ("position_share", "symbol_share"),
    ("positional", "symbolic"),
    ("previous", "self"),
)
FIRST_SCORES = (*(score for pair in PAIRS[:-1] for score in pair), "entropy")
MOST_VIEWS = 6  # scores to choose from


@dataclass(frozen=True)
class EditData:
    """The tables of an edit, by what their rows are about."""

    edit: pl.DataFrame
    heads: pl.DataFrame
    manifest: EditManifest

    @property
    def each(self) -> str | None:
        """What the sweep went through."""
        return self.manifest.edit.each

    @property
    def alone(self) -> str:
        """One edit of the sweep, in words."""
        edit = self.manifest.edit
        bands = {"drop": edit.drop, "unrotate": edit.unrotate, "keep": edit.keep, "scale": edit.scale}
        operation = next((name for name, its in bands.items() if its), None)
        if self.each == "head":
            return "one head is ablated" if operation is None else f"`{operation} {bands[operation][0]}` in one head"
        return f"{operation or 'drop'} one band of frequencies in one layer"

    @property
    def guessed(self) -> float:
        """The share of random tokens that guessing would predict; 0 where it is not known."""
        return 1 / self.manifest.random.of if self.manifest.random and self.manifest.random.of else 0.0

    @cached_property
    def whole(self) -> dict[str, dict[str, Row]]:
        """What the model can do: by measure and by state."""
        measures: dict[str, dict[str, Row]] = {}
        for row in self.edit.filter(pl.col("layer").is_null()).iter_rows(named=True):
            measures.setdefault(row["measure"], {})[row["state"]] = row
        return {name: measures[name] for name in MEASURES if name in measures}

    @cached_property
    def after(self) -> bool:
        """Whether there is an after, and not only a sweep."""
        return any("after" in states for states in self.whole.values())

    @cached_property
    def changes(self) -> dict[str, pl.DataFrame]:
        """The changes of heads, the largest first: by scores of position and content, then by what changed most."""
        ours = self.edit.filter(pl.col("measure").str.starts_with(OF_HEAD) & pl.col("value").is_not_null())
        scores = {
            str(name).removeprefix(OF_HEAD): rows.sort(pl.col("value").abs(), descending=True, maintain_order=True)
            for (name,), rows in ours.partition_by("measure", as_dict=True).items()
        }
        chosen = [name for name in FIRST_SCORES if name in scores][: MOST_VIEWS - 2]
        others = sorted(scores, key=lambda name: -self._typical(name, scores[name]))
        return {name: scores[name] for name in list(dict.fromkeys([*chosen, *others]))[:MOST_VIEWS]}

    def _typical(self, name: str, changes: pl.DataFrame) -> float:
        """The mean absolute change of a score as a share of its range, if that is bounded."""
        low, high = self.manifest.scores.get(name, ScoreSection()).range
        size = changes["value"].abs().mean()
        assert isinstance(size, float)
        return size / (high - low) if low is not None and high is not None and high > low else 0.0

    @cached_property
    def sweep(self) -> list[Row]:
        """What each head or band alone changes, with its name, wavelength in tokens, and place in a heat map."""
        of_one = pl.col("layer").is_not_null() & pl.col("measure").is_in(list(MEASURES)) & pl.col("value").is_not_null()
        bands: dict[int, dict[str, str]] = {}  # by layer, the wavelengths of its bands, fastest first
        for band in self.manifest.bands:
            near, far = (short(2 * math.pi / theta) if theta else "∞" for theta in reversed(band.theta))
            bands.setdefault(band.layer, {})[band.band] = near if near == far else f"{near}–{far}"
        labels = [[f"{name.removeprefix('index:')}|{its[name]}" for name in its] for its in bands.values()]
        longest = max(labels, key=len, default=[])
        alike = all(its == longest[: len(its)] for its in labels)  # else columns are only numbered
        return [
            {**row, **_place(row, bands.get(row["layer"], {}), longest if alike else [])}
            for row in self.edit.filter(of_one).iter_rows(named=True)
        ]


def _place(row: Row, wavelengths: Mapping[str, str], labels: Sequence[str]) -> dict[str, Any]:
    """The name of a head or band, and its column in a heat map, with these wavelengths and labels of the bands."""
    band, head = row["band"], row["head"]
    if band is None:
        return {"who": f"L{row['layer']}H{head}", "column": head, "label": f"{head}"}
    column = [*wavelengths, band].index(band)
    label = labels[column] if column < len(labels) else f"{column}"
    return {"who": band, "column": column, "label": label, "wavelength": wavelengths.get(band, MISSING)}


def interval_of(row: Row) -> Number | str:
    """The interval of a change, with enough digits to show its signs.

    >>> interval_of({"low": -0.01, "high": 0.25}), interval_of({"low": None, "high": None})
    ('−0.010 to +0.250', 'no interval from one text')
    """
    if lacks_interval(row):
        return "no interval from one text"
    return Number(f"{signed(row['low'], 3)} to {signed(row['high'], 3)}", row["low"], row["high"])

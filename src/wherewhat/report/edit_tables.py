"""The numbers behind the page of an edit: its rows by kind, and a table for every chart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import MISSING, interval, short
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.tables.manifest.scores import EditManifest, SweptBand
from wherewhat.tables.manifest.sections import ScoreSection

MEASURES = {  # what a model can do: its title, and how to read the number
    "loss": ("Loss", "nats per token; lower is better"),
    "copy": ("Copy", "share of repeated random tokens that are predicted; higher is better"),
    "induction": ("Induction", "nats per token by which the loss falls where random tokens repeat; higher is better"),
}
OF_HEAD = "head."  # the prefix of head scores among the measures
PAIRS = (
    ("attended.position_share", "attended.symbol_share"),
    ("position_share", "symbol_share"),
    ("positional", "symbolic"),
    ("previous", "self"),
)
FIRST_SCORES = (
    "attended.position_share",
    "attended.symbol_share",
    "position_share",
    "symbol_share",
    "positional",
    "symbolic",
    "entropy",
)
MOST_HEADS = 14  # that changed most are shown
MOST_VIEWS = 6  # scores to choose from
LABELS = 6  # heads whose names are written in the plane


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

    @cached_property
    def whole(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What the model can do: by measure and by state."""
        measures: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.edit.filter(pl.col("layer").is_null()).iter_rows(named=True):
            measures.setdefault(row["measure"], {})[row["state"]] = row
        return {name: measures[name] for name in MEASURES if name in measures}

    @cached_property
    def changes(self) -> pl.DataFrame:
        """By how much every score of every head changed."""
        ours = self.edit.filter(pl.col("measure").str.starts_with(OF_HEAD) & pl.col("value").is_not_null())
        return ours.with_columns(pl.col("measure").str.strip_prefix(OF_HEAD))

    @cached_property
    def sweep(self) -> pl.DataFrame:
        """What each head or band alone changes."""
        return self.edit.filter(pl.col("layer").is_not_null() & pl.col("measure").is_in(list(MEASURES)))

    @cached_property
    def after(self) -> bool:
        """Whether there is an after, and not only a sweep."""
        return any("after" in states for states in self.whole.values())

    @cached_property
    def count(self) -> int:
        """How many heads there are."""
        return self.heads.select("layer", "head").n_unique()

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The numbers of all charts."""
        tables = {"whole": _whole(self), "moves": _moves(self), "changed": _changed(self), "sweep": _sweep(self)}
        return {name: table for name, table in tables.items() if len(next(iter(table.values())))}


def _whole(effect: EditData) -> Columns:
    rows = [
        {
            **_drawable(state),
            "order": order,
            "said": f"{name}: {fixed(state['value'])} {interval(state['low'], state['high'])}",
        }
        for states in effect.whole.values()
        for order, name in enumerate(("before", "after"))
        if (state := states.get(name)) is not None
    ]
    return columns(rows, ("measure", "state", "value", "low", "high", "order", "said"))


def pairs_of(effect: EditData) -> list[tuple[str, str]]:
    there = set(effect.tables["moves"]["pair"])
    return [(x, y) for x, y in PAIRS if x in there]


def _moves(effect: EditData) -> Columns:
    """The place of every head before and after, for every pair of scores with values in both states."""
    names = [name for pair in PAIRS for name in pair]
    known = effect.heads.filter(pl.col("score").is_in(names) & pl.col("value").is_not_null())
    places: dict[tuple[int, int, str, bool], float] = {
        (row["layer"], row["head"], row["score"], row["model"] == effect.manifest.model.id): row["value"]
        for row in known.iter_rows(named=True)
    }
    rows: list[dict[str, Any]] = []
    telling = PAIRS[:-1] if any(_any_of(known, pair) for pair in PAIRS[:-1]) else PAIRS
    for x, y in telling:
        pair = []
        for layer, head in sorted({(layer, head) for layer, head, _, _ in places}):
            ends = [places.get((layer, head, score, old)) for old in (True, False) for score in (x, y)]
            if None not in ends:
                tooltip = f"L{layer}H{head}: {plain(x)} {short(ends[0])} → {short(ends[2])}, "
                tooltip += f"{plain(y)} {short(ends[1])} → {short(ends[3])}"
                spots = dict(zip(("x", "y", "x2", "y2"), ends, strict=True))
                pair.append({"pair": x, "layer": layer, **spots, "who": f"L{layer}H{head}", "said": tooltip})
        rows += _with_labels(pair)
    return columns(rows, ("pair", "layer", "x", "y", "x2", "y2", "label", "said"))


def _with_labels(pair: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The heads that move farthest are labelled with their names."""

    def way(row: Mapping[str, Any]) -> float:
        return math.hypot(row["x2"] - row["x"], row["y2"] - row["y"])

    least = sorted((way(row) for row in pair), reverse=True)[:LABELS][-1:] or [0.0]
    return [{**row, "label": row["who"] if way(row) >= least[0] > 0 else ""} for row in pair]


def _any_of(known: pl.DataFrame, pair: Sequence[str]) -> bool:
    return known["score"].is_in(list(pair)).any()


def _changed(effect: EditData) -> Columns:
    """The heads that changed most: by scores of position and content, then by the scores that changed most."""
    there = dict.fromkeys(effect.changes["measure"].to_list())
    scores = effect.manifest.scores
    others = sorted(there, key=lambda name: -_typical(effect.changes, name, scores.get(name, ScoreSection()).range))
    chosen = [name for name in FIRST_SCORES if name in there][: MOST_VIEWS - 2]
    chosen += [name for name in others if name not in chosen][: MOST_VIEWS - len(chosen)]
    rows = []
    for name in chosen:
        most = effect.changes.filter(pl.col("measure") == name).sort(pl.col("value").abs(), descending=True)
        for rank, row in enumerate(most.head(MOST_HEADS).iter_rows(named=True)):
            side = ("above" if row["value"] > 0 else "below") if clear(row) else "unclear"
            who = f"L{row['layer']}H{row['head']}"
            tooltip = f"{who} {plain(name)}: {signed(row['value'])} ({interval_of(row)})"
            rows.append({**_drawable(row), "score": name, "who": who, "rank": rank, "side": side, "said": tooltip})
    return columns(rows, ("score", "who", "rank", "value", "low", "high", "side", "said"))


def _typical(changes: pl.DataFrame, name: str, ends: Sequence[float | None]) -> float:
    """The mean absolute change of a score as a share of its range, if that is bounded."""
    size = changes.filter(pl.col("measure") == name)["value"].abs().mean() or 0.0
    low, high = ends
    assert isinstance(size, float)
    return size / (high - low) if low is not None and high is not None and high > low else 0.0


def _sweep(effect: EditData) -> Columns:
    farthest = {name: float(words["most"]) for name, words in reaches(effect).items()}
    placed = _band_columns(effect)
    rows = []
    for row in effect.sweep.filter(pl.col("value").is_not_null()).iter_rows(named=True):
        band = row["band"]
        who = f"L{row['layer']}H{row['head']}" if band is None else f"layer {row['layer']}, {_band_name(effect, row)}"
        tooltip = f"{who}: {row['measure']} {signed(row['value'])} ({interval_of(row)})"
        column = row["head"] if band is None else placed[row["layer"], band]
        reach = row["value"] / (farthest[row["measure"]] or 1.0)
        rows.append({**row, "column": column, "reach": reach, "clear": clear(row), "said": tooltip})
    return columns(rows, ("measure", "layer", "column", "reach", "clear", "said"))


@dataclass(frozen=True)
class Ranked:
    """The effect of editing one head, or one band of one layer, alone."""

    name: str
    layer: int
    wavelength: str  # in tokens; empty for a head
    changes: Mapping[str, Mapping[str, Any]]  # by measure


def ranked_of(effect: EditData) -> list[Ranked]:
    """Every edit of the sweep, the largest change of the loss first; those without a loss last."""
    edits: dict[tuple[int, int | str], dict[str, Mapping[str, Any]]] = {}
    for row in effect.sweep.filter(pl.col("value").is_not_null()).iter_rows(named=True):
        which = row["head"] if row["band"] is None else row["band"]
        edits.setdefault((row["layer"], which), {})[row["measure"]] = row
    lengths = {(layer, band.band): _wavelengths(band) for layer, bands in _bands(effect).items() for band in bands}
    ranked = [
        Ranked(f"L{layer}H{which}", layer, "", changes)
        if isinstance(which, int)
        else Ranked(which, layer, lengths.get((layer, which), MISSING), changes)
        for (layer, which), changes in edits.items()
    ]
    return sorted(ranked, key=lambda edit: -abs(edit.changes["loss"]["value"]) if "loss" in edit.changes else 1.0)


def reaches(effect: EditData) -> dict[str, dict[str, str]]:
    """By measure: the words of the heat map, with its colour scale ending at the largest change."""
    words = {}
    for name, (title, _) in MEASURES.items():
        sizes = effect.sweep.filter(pl.col("measure") == name)["value"].drop_nulls().abs()
        if len(sizes):
            largest = max(float(sizes.max() or 0.0), 1e-6)  # type: ignore[arg-type]
            words[name] = {"measure": name, "most": f"{largest:.2g}", "title": f"change of {title.lower()}"}
    return words


def _bands(effect: EditData) -> dict[int, list[SweptBand]]:
    """The bands of every layer that the sweep went through, fastest first."""
    bands: dict[int, list[SweptBand]] = {}
    for band in effect.manifest.bands:
        bands.setdefault(band.layer, []).append(band)
    return bands


def _band_columns(effect: EditData) -> dict[tuple[int, str], int]:
    return {(layer, band.band): at for layer, bands in _bands(effect).items() for at, band in enumerate(bands)}


def _band_name(effect: EditData, row: Mapping[str, Any]) -> str:
    for band in _bands(effect).get(row["layer"], ()):
        if band.band == row["band"]:
            return f"{row['band']} (wavelength {_wavelengths(band)} tokens)"
    return str(row["band"])


def _wavelengths(band: SweptBand) -> str:
    slow, fast = band.theta
    near, far = (short(2 * math.pi / theta) if theta else "∞" for theta in (fast, slow))
    return near if near == far else f"{near}–{far}"


def map_labels(effect: EditData) -> dict[int, str] | None:
    """The column labels of a heat map of bands: number and wavelength, if these are the same in all layers."""
    labels = [
        tuple(f"{band.band.removeprefix('index:')}|{_wavelengths(band)}" for band in bands)
        for bands in _bands(effect).values()
    ]
    longest = max(labels, key=len, default=())
    same = all(layer == longest[: len(layer)] for layer in labels)
    return {at: name if same else f"{at}" for at, name in enumerate(longest)} if labels else None


def interval_of(row: Mapping[str, Any]) -> str:
    """The interval of a change, with signs.

    >>> interval_of({"low": -0.01, "high": 0.25})
    '−0.010 to +0.250'
    """
    if row["low"] is None or row["high"] is None:
        return "no interval from one text"
    return f"{signed(row['low'])} to {signed(row['high'])}"


def _drawable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose interval can be drawn; where there is none, from one text, it is the value itself."""
    return {**row, "low": row["value"], "high": row["value"]} if lacks_interval(row) else dict(row)


def plain(name: str) -> str:
    return name.replace("_", " ")


def lacks_interval(row: Mapping[str, Any]) -> bool:
    """Whether there is no interval, since there is a single text."""
    return row["low"] is None or row["high"] is None


def clear(row: Mapping[str, Any]) -> bool:
    """Whether an interval excludes zero."""
    return row["low"] is not None and row["high"] is not None and (row["low"] > 0 or row["high"] < 0)


def fixed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")

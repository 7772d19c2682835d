"""The tables of the canonical page's charts, each row with its tooltip."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import percent, short, tenths
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.tables.manifest.study import CanonicalManifest

INDEX, RETRIEVAL = "index", "retrieval"
ONE_PLANE, TWO_PLANES = "partial_induction, 1 plane", "partial_induction, 2 planes"
TITLES = {INDEX: "Index", RETRIEVAL: "Retrieval", ONE_PLANE: "Partial induction, one plane"} | {
    TWO_PLANES: "Partial induction, two planes"
}
SHARES = {"position_share": "position", "symbol_share": "content", "interaction_share": "both together"}
SCORES = {"positional": "positional", "symbolic": "symbolic", "entropy": "entropy"}
INNER = 0.62  # radius of the circle of keys; that of queries is 1
LEAST = 0.05  # shorter lengths are drawn at this value
WIDEST = 2.0  # largest base angle that is drawn
Row = Mapping[str, Any]


@dataclass(frozen=True)
class CanonicalData:
    """The result of the experiment, with what the page needs from it."""

    result: pl.DataFrame
    manifest: CanonicalManifest

    @cached_property
    def conditions(self) -> list[str]:
        """The conditions that were trained, in the order of the paper."""
        there = set(self.result["subject"])
        return [name for name in TITLES if name in there]

    @cached_property
    def bases(self) -> list[float]:
        """All base angles, from the smallest."""
        return sorted(self.result.filter(part="accuracy")["at"].unique())

    @cached_property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.result.filter(part="accuracy")["seed"].drop_nulls().n_unique()

    @cached_property
    def means(self) -> pl.DataFrame:
        """The rows that are means over seeds."""
        return self.result.filter(pl.col("seed").is_null())

    def mean(self, subject: str, base: float) -> Row:
        """The accuracy of a condition at an angle."""
        rows = self.means.filter(part="accuracy", subject=subject).filter(pl.col("at") == base)
        return rows.row(0, named=True)

    @cached_property
    def bounds(self) -> dict[str, float]:
        """The base angles of the bounds of the theory."""
        return {name: value for name, value in self.manifest.about.bounds.items() if value is not None}

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The tables of all charts."""
        return {
            "accuracy": _accuracy(self),
            "bounds": _bounds(self),
            "slots": _slots(self),
            "circle": _circle(self),
            "shares": _shares(self),
            "scores": _scores(self),
            "norms": _norms(self),
            "byhand": _by_hand(self),
            "peaks": _peaks(self),
        }


def spread(row: Row) -> str:
    """The interval of a share in brackets, if it has one."""
    if row["low"] is None or row["high"] is None:
        return ""
    return f" ({tenths(row['low'])} to {tenths(row['high'])})"


def _accuracy(data: CanonicalData) -> Columns:
    rows = []
    for row in data.result.filter(part="accuracy").iter_rows(named=True):
        seed = "" if row["seed"] is None else f", seed {row['seed']}"
        tooltip = f"{TITLES[row['subject']]} at base {row['at']:g}{seed}: {percent(row['value'])}{spread(row)}"
        rows.append({**row, "said": tooltip})
    return columns(rows, ("subject", "at", "seed", "value", "low", "high", "said"))


def _bounds(data: CanonicalData) -> Columns:
    """The bounds of the theory, their names, and the side on which the name is written."""
    words = {RETRIEVAL: ("2π/(n·m)", "left"), INDEX: ("2π/n", "right")}
    return columns(
        [
            {"subject": name, "at": at, "name": words[name][0], "side": words[name][1]}
            for name, at in data.bounds.items()
            if name in words
        ],
        ("subject", "at", "name", "side"),
    )


def _slots(data: CanonicalData) -> Columns:
    rows = []
    for row in data.means.filter(part="by_slot").iter_rows(named=True):
        first, _, last = str(row["item"]).partition("–")
        tooltip = f"{TITLES[row['subject']]}, slots {first} to {last}: {percent(row['value'])}{spread(row)}"
        rows.append({**row, "middle": (int(first) + int(last)) / 2, "said": tooltip})
    return columns(rows, ("subject", "at", "middle", "value", "low", "high", "said"))


def _circle(data: CanonicalData) -> Columns:
    """Keys and queries of one seed, each scaled to its longest vector; keys are drawn on a smaller circle."""
    wide = data.result.filter(part="vectors").pivot("measure", index=["subject", "item", "at"], values="value")
    rows = []
    for plane in range(2):
        across, up = f"across, plane {plane}", f"up, plane {plane}"
        if across not in wide.columns:
            continue
        known = wide.filter(pl.col(across).is_not_null()).with_columns(
            x=pl.col(across), y=pl.col(up), kind=pl.col("item").str.split(" ").list.first()
        )
        rows += _in_the_plane(known, plane)
    return columns(rows, ("subject", "at", "plane", "kind", "hue", "x", "y", "said"))


def _in_the_plane(known: pl.DataFrame, plane: int) -> list[Row]:
    sized = known.with_columns(size=(pl.col("x") ** 2 + pl.col("y") ** 2).sqrt())
    group = ["subject", "at", "kind"]
    each = sized.with_columns(most=pl.col("size").max().over(group), hue=pl.int_range(pl.len()).over(group))
    each = each.with_columns(hue=pl.col("hue") / pl.len().over(group))
    rows: list[Row] = []
    for row in each.iter_rows(named=True):
        scale = (INNER if row["kind"] == "key" else 1.0) / (row["most"] or 1.0)
        tooltip = f"{row['kind'].capitalize()} of {_called(row)}: length {short(row['size'])}"
        rows.append({**row, "plane": plane, "x": row["x"] * scale, "y": row["y"] * scale, "said": tooltip})
    return rows


def _called(row: Row) -> str:
    name = str(row["item"]).partition(" ")[2]
    return f"slot {name}" if row["subject"] == INDEX and row["kind"] == "query" else f"symbol {name}"


def _shares(data: CanonicalData) -> Columns:
    rows = [
        {
            **row,
            "order": order,
            "said": f"Base {row['at']:g}, {SHARES[row['measure']]}: {percent(row['value'])}{spread(row)}",
        }
        for order, measure in enumerate(SHARES)
        for row in data.means.filter(part="scores", measure=measure).iter_rows(named=True)
        if row["value"] is not None
    ]
    return columns(rows, ("subject", "at", "measure", "value", "order", "said"))


def _scores(data: CanonicalData) -> Columns:
    rows = []
    for row in data.means.filter(part="scores").iter_rows(named=True):
        name, _, tau = str(row["measure"]).partition("@")
        if name in SCORES and row["value"] is not None:
            how = ", all swaps" if tau else ""
            tooltip = f"Base {row['at']:g}, {SCORES[name]}{how}: {short(row['value'])}"
            rows.append({**row, "measure": name, "all": bool(tau), "said": tooltip})
    return columns(rows, ("subject", "at", "measure", "all", "value", "low", "high", "said"))


def _norms(data: CanonicalData) -> Columns:
    """The learnt and the required length of query times key, in the only plane of index and retrieval."""
    learnt = data.means.filter(part="lengths", measure="norm", item="plane 0")
    required = data.means.filter(part="theory", measure="norm", item="by formula")
    rows = []
    for kind, table in (("learnt", learnt), ("required", required)):
        for row in table.filter((pl.col("at") > 0) & pl.col("subject").is_in([INDEX, RETRIEVAL])).iter_rows(named=True):
            tooltip = f"Base {row['at']:g}, {kind}: {short(row['value'])}"
            ends = {name: None if row[name] is None else max(row[name], LEAST) for name in ("value", "low", "high")}
            rows.append({**row, **ends, "kind": kind, "said": tooltip})
    return columns(rows, ("subject", "at", "kind", "value", "low", "high", "said"))


def _by_hand(data: CanonicalData) -> Columns:
    rows = [
        {**row, "said": f"Hand-built, base {row['at']:g}: {percent(row['value'])}"}
        for row in data.means.filter(part="theory", item="by hand").iter_rows(named=True)
        if row["at"] <= WIDEST
    ]
    return columns(rows, ("subject", "at", "value", "said"))


def _peaks(data: CanonicalData) -> Columns:
    rows = [
        {**row, "said": f"Slot {row['at']:.0f}: {short(row['value'])}"}
        for row in data.means.filter(part="theory", measure="peak").iter_rows(named=True)
    ]
    return columns(rows, ("subject", "at", "value", "said"))

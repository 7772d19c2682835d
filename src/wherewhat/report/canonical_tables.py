"""The numbers of the canonical tasks as the charts of their page read them, each row with what it says."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.report.drawn import columns
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import percent, short, tenths
from wherewhat.report.page import Columns

INDEX, RETRIEVAL = "index", "retrieval"
ONE, TWO = "partial_induction, 1 plane", "partial_induction, 2 planes"
TITLES = {INDEX: "Index", RETRIEVAL: "Retrieval", ONE: "Partial induction, one plane"} | {
    TWO: "Partial induction, two planes"
}
SHARES = {"position_share": "place", "symbol_share": "content", "interaction_share": "both together"}
SCORES = {"positional": "positional", "symbolic": "symbolic", "entropy": "evenness"}
INNER = 0.62  # the circle on which keys are drawn, where that of queries is 1
LEAST = 0.05  # lengths below are drawn here
WIDEST = 2.0  # base angle that is drawn
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Canonical:
    """The table of the experiment, taken apart once."""

    result: pl.DataFrame
    manifest: Manifest

    @cached_property
    def subjects(self) -> list[str]:
        """What was trained, in the order of the paper."""
        there = set(self.result["subject"])
        return [name for name in TITLES if name in there]

    @cached_property
    def bases(self) -> list[float]:
        """All base angles, from the smallest."""
        return sorted(self.result.filter(part="accuracy")["at"].unique())

    @cached_property
    def seeds(self) -> int:
        """How many seeds there are."""
        return self.result.filter(part="accuracy")["seed"].drop_nulls().n_unique()

    @cached_property
    def means(self) -> pl.DataFrame:
        """What is known over all seeds."""
        return self.result.filter(pl.col("seed").is_null())

    def mean(self, subject: str, base: float) -> Row:
        """The accuracy of a case at an angle."""
        rows = self.means.filter(part="accuracy", subject=subject).filter(pl.col("at") == base)
        return rows.row(0, named=True)

    @cached_property
    def bounds(self) -> dict[str, float]:
        """The base angles that theory draws a line at."""
        known = (self.manifest.get("about") or {}).get("bounds") or {}
        return {name: float(value) for name, value in known.items()}

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The numbers of all charts."""
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
    """The interval of a share, if it has one."""
    if row["low"] is None or row["high"] is None:
        return ""
    return f" ({tenths(row['low'])} to {tenths(row['high'])})"


def _accuracy(found: Canonical) -> Columns:
    rows = []
    for row in found.result.filter(part="accuracy").iter_rows(named=True):
        who = "" if row["seed"] is None else f", seed {row['seed']}"
        said = f"{TITLES[row['subject']]} at base {row['at']:g}{who}: {percent(row['value'])}{spread(row)}"
        rows.append({**row, "said": said})
    return columns(rows, ("subject", "at", "seed", "value", "low", "high", "said"))


def _bounds(found: Canonical) -> Columns:
    """Where theory draws a line, what it is called, and to which side its words go."""
    words = {RETRIEVAL: ("2π/(n·m)", "left"), INDEX: ("2π/n", "right")}
    return columns(
        [
            {"subject": name, "at": at, "name": words[name][0], "side": words[name][1]}
            for name, at in found.bounds.items()
            if name in words
        ],
        ("subject", "at", "name", "side"),
    )


def _slots(found: Canonical) -> Columns:
    rows = []
    for row in found.means.filter(part="by_slot").iter_rows(named=True):
        first, _, last = str(row["item"]).partition("–")
        said = f"{TITLES[row['subject']]}, slots {first} to {last}: {percent(row['value'])}{spread(row)}"
        rows.append({**row, "middle": (int(first) + int(last)) / 2, "said": said})
    return columns(rows, ("subject", "at", "middle", "value", "low", "high", "said"))


def _circle(found: Canonical) -> Columns:
    """Keys and queries of one seed, each kind as large as its longest; keys are drawn on a smaller circle."""
    wide = found.result.filter(part="vectors").pivot("measure", index=["subject", "item", "at"], values="value")
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
        said = f"{row['kind'].capitalize()} of {_called(row)}: length {short(row['size'])}"
        rows.append({**row, "plane": plane, "x": row["x"] * scale, "y": row["y"] * scale, "said": said})
    return rows


def _called(row: Row) -> str:
    name = str(row["item"]).partition(" ")[2]
    return f"slot {name}" if row["subject"] == INDEX and row["kind"] == "query" else f"symbol {name}"


def _shares(found: Canonical) -> Columns:
    rows = [
        {
            **row,
            "order": order,
            "said": f"Base {row['at']:g}, {SHARES[row['measure']]}: {percent(row['value'])}{spread(row)}",
        }
        for order, measure in enumerate(SHARES)
        for row in found.means.filter(part="scores", measure=measure).iter_rows(named=True)
        if row["value"] is not None
    ]
    return columns(rows, ("subject", "at", "measure", "value", "order", "said"))


def _scores(found: Canonical) -> Columns:
    rows = []
    for row in found.means.filter(part="scores").iter_rows(named=True):
        name, _, tau = str(row["measure"]).partition("@")
        if name in SCORES and row["value"] is not None:
            how = " over all swaps" if tau else ""
            said = f"Base {row['at']:g}, {SCORES[name]}{how}: {short(row['value'])}"
            rows.append({**row, "measure": name, "all": bool(tau), "said": said})
    return columns(rows, ("subject", "at", "measure", "all", "value", "low", "high", "said"))


def _norms(found: Canonical) -> Columns:
    """How long query times key is, and how long it should be; only the plane that turns."""
    learnt = found.means.filter(part="lengths", measure="norm", item="plane 0")
    asked = found.means.filter(part="theory", measure="norm", item="by formula")
    rows = []
    for kind, table in (("learnt", learnt), ("asked for", asked)):
        for row in table.filter((pl.col("at") > 0) & pl.col("subject").is_in([INDEX, RETRIEVAL])).iter_rows(named=True):
            said = f"Base {row['at']:g}, {kind}: {short(row['value'])}"
            ends = {name: None if row[name] is None else max(row[name], LEAST) for name in ("value", "low", "high")}
            rows.append({**row, **ends, "kind": kind, "said": said})
    return columns(rows, ("subject", "at", "kind", "value", "low", "high", "said"))


def _by_hand(found: Canonical) -> Columns:
    rows = [
        {**row, "said": f"By hand at base {row['at']:g}: {percent(row['value'])}"}
        for row in found.means.filter(part="theory", item="by hand").iter_rows(named=True)
        if row["at"] <= WIDEST
    ]
    return columns(rows, ("subject", "at", "value", "said"))


def _peaks(found: Canonical) -> Columns:
    rows = [
        {**row, "said": f"Slot {row['at']:.0f}: {short(row['value'])}"}
        for row in found.means.filter(part="theory", measure="peak").iter_rows(named=True)
    ]
    return columns(rows, ("subject", "at", "value", "said"))

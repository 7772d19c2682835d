"""The numbers behind the page of a comparison: its table taken apart once, and a table for every chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.names import head_name, layer_labels
from wherewhat.report.drawn import columns
from wherewhat.report.edit_tables import clear, plain, unsaid
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import short
from wherewhat.report.page import Columns

LEAD = (  # scores in the order in which a reader wants them: how local and how symmetric, then where or what
    *("identical.locality", "identical.symmetry", "identical.balance", "unmasked.locality", "unmasked.balance"),
    *("mean.locality", "mean.balance", "delta.locality", "delta.balance"),
    *("attended.position_share", "attended.symbol_share", "position_share", "symbol_share"),
    *("input.position_share", "locality", "symmetry", "balance", "entropy"),
    *("previous", "positional", "symbolic", "sink", "induction"),
)
MOST_TILES = 8  # scores on the first screen
MOST_VIEWS = 9  # scores to choose from in a chart
MOST_HEADS = 14  # that changed most are shown
STATES = ("before", "after")
GOLDEN = 0.6180339887  # steps of it never fall on each other: heads of equal value lie side by side
ASIDE = 0.13  # how far before and after stand to the sides of their layer


@dataclass(frozen=True)
class Found:
    """The table of a comparison, taken apart once. It leads with the last of the list, held against the first."""

    compare: pl.DataFrame
    manifest: Manifest

    @cached_property
    def sides(self) -> list[Mapping[str, Any]]:
        """Everything that was compared, in its order."""
        told = self.manifest.get("compared") or ()
        return list(told) or [{"name": name} for name in _named(self.compare)]

    @property
    def first(self) -> str:
        return str(self.sides[0]["name"])

    @property
    def last(self) -> str:
        return str(self.sides[-1]["name"])

    @property
    def draws(self) -> list[str]:
        """What every draw of fresh weights is called."""
        return [str(name) for name in self.manifest.get("draws") or ()]

    @property
    def same_heads(self) -> bool:
        """Whether a head is the same head in all of them."""
        return bool(self.manifest.get("same_heads"))

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The rows that may be shown, with what each is about; a score of both sides says nothing under a mask."""
        told = self.manifest.get("scores") or {}
        sided = [name for name, about in told.items() if (about or {}).get("sides")]
        kept = self.compare.filter(~((pl.col("part") == "decoder") & pl.col("score").is_in(sided)))
        several = kept["part"].n_unique() > 1
        part = pl.concat_str(pl.lit(" · "), "part") if several else pl.lit("")
        return kept.with_columns(what=pl.concat_str("score", part))

    @cached_property
    def ours(self) -> pl.DataFrame:
        """The rows from the first to the last."""
        return self.shown.filter((pl.col("model") == self.last) & (pl.col("against") == self.first))

    @cached_property
    def alone(self) -> pl.DataFrame:
        """The rows of single heads, from the first to the last; without a counterpart, each on its own side."""
        return self.ours.filter(pl.col("head").is_not_null())

    @cached_property
    def heads(self) -> pl.DataFrame:
        """Of these, the heads that have a counterpart."""
        return self.alone.filter(pl.col("change").is_not_null())

    @property
    def paired(self) -> bool:
        """Whether heads have counterparts: both are of one shape."""
        return not self.heads.is_empty()

    def moved_layers(self, what: str) -> list[dict[str, Any]]:
        """The layers whose mean surely changed, or changed at all where that is exact; the largest changes first."""
        rows = self.ours.filter((pl.col("what") == what) & pl.col("layer").is_not_null() & pl.col("head").is_null())
        known = rows.filter(pl.col("change").is_not_null()).sort(-pl.col("change").abs(), "layer")
        return [row for row in known.iter_rows(named=True) if clear(row) or (unsaid(row) and self.exact(what))]

    def exact(self, what: str) -> bool:
        """Whether changes of a score are read off weights alone, so that no head has an interval and none needs one."""
        score = what.partition(" · ")[0]
        return score.startswith("delta.") and self.heads.filter(pl.col("what") == what)["low"].is_null().all()

    @cached_property
    def whole(self) -> list[dict[str, Any]]:
        """The rows over all heads, those that matter most first.

        Their interval is that of the mean of these very heads. `over_heads` is the one over heads, where it is known,
        `up` and `down` count the heads that surely changed, and `halves` are the quartiles of heads before and after.
        """
        spread: Mapping[str, Any] = self.manifest.get("over_heads") or {}
        rows = []
        for row in self.ours.filter(pl.col("layer").is_null()).iter_rows(named=True):
            heads = self.heads.filter(pl.col("what") == row["what"]).rows(named=True)
            exact = bool(heads) and self.exact(row["what"])
            up, down = counted(heads, exact=exact)
            halves = {state: quartiles(values)[::2] for state, values in self.of(row["what"]).items()}
            beside = {"heads": len(heads), "up": up, "down": down, "exact": exact, "halves": halves}
            over = (spread.get(row["part"]) or {}).get(row["score"])
            rows.append({**row, **beside, "over_heads": None if over is None else list(over)})
        return sorted(rows, key=self._place)

    @property
    def leading(self) -> list[dict[str, Any]]:
        """Those to tell first."""
        return self.whole[:MOST_TILES]

    @property
    def views(self) -> list[str]:
        """What a reader can choose from."""
        return [row["what"] for row in self.whole[:MOST_VIEWS]]

    def name(self, row: Mapping[str, Any]) -> str:
        """What a head is called; with its part where a model has several and both sides have the same."""
        labels = layer_labels(self.manifest.get("layers") or ()) if self.paired else {}
        return head_name(row["layer"], row["head"], labels)

    def length(self, score: str) -> str:
        """How many tokens a score of the positional part is about, for locality means nothing without."""
        told: Mapping[str, Any] = self.manifest.get("positional") or {}
        source, *measure = score.split(".")
        source = "mean" if "contextual" in measure else source
        found = sorted({one["n"] for one in told.get("layers") or () if one["source"] == source})
        return f"n = {' or '.join(map(str, found))}" if found and measure else ""

    def _place(self, row: Mapping[str, Any]) -> tuple[int, float]:
        """Known scores first; of the others those that changed most, as a part of their range."""
        if row["score"] in LEAD:
            return LEAD.index(row["score"]), 0.0
        told = (self.manifest.get("scores") or {}).get(row["score"]) or {}
        low, high = told.get("range") or (0.0, 1.0)
        size = abs(row["change"]) / (high - low) if None not in (low, high) and high > low else 0.0
        return len(LEAD), -size

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The numbers of all charts."""
        made = {"dots": _dots(self), "middles": _middles(self), "chances": _chances(self)}
        made |= {"layers": _layers(self), "along": _along(self), "changed": _changed(self)}
        return {name: table for name, table in made.items() if len(next(iter(table.values())))}

    def before(self) -> pl.DataFrame:
        """Single heads before, every draw of fresh weights with its own."""
        if len(self.draws) < 2:
            return self.alone.with_columns(value="before", who=pl.lit(self.first)).drop_nulls("value")
        rows = self.shown.filter(pl.col("against").is_in(self.draws) & pl.col("head").is_not_null())
        return rows.with_columns(value="before", who="against").drop_nulls("value")

    def after(self) -> pl.DataFrame:
        """Single heads after."""
        return self.alone.with_columns(value="after", who=pl.lit(self.last)).drop_nulls("value")

    def of(self, what: str) -> dict[str, pl.DataFrame]:
        """Single heads of one score, before and after."""
        both = zip(STATES, (self.before(), self.after()), strict=True)
        return {state: rows.filter(pl.col("what") == what) for state, rows in both}

    def chance(self, what: str) -> float | None:
        """What a head that knows nothing gets."""
        row = next(row for row in self.whole if row["what"] == what)
        told: Mapping[str, Any] = (self.manifest.get("chance") or {}).get(row["part"]) or {}
        return told.get(row["score"])


def quartiles(rows: pl.DataFrame) -> tuple[float, float, float]:
    """The quarter, the middle and three quarters of some heads."""
    values = rows["value"]
    low, middle, high = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.5, 0.75))
    return low, middle, high


def _named(table: pl.DataFrame) -> list[str]:
    """The names of a table that came without a manifest."""
    return [table["against"][0], *table["model"].unique(maintain_order=True)]


def _dots(found: Found) -> Columns:
    """A row a head and state: its value, and where it stands in its strip and beside its layer."""
    rows = []
    for what in found.views:
        for state, heads in found.of(what).items():
            side = -ASIDE if state == "before" else ASIDE
            for number, row in enumerate(heads.iter_rows(named=True)):
                jitter = (number * GOLDEN) % 1
                said = f"{found.name(row)} of {row['who']}: {plain(what)} {short(row['value'])}"
                place = {"jitter": jitter, "x": row["layer"] + side + 0.14 * (jitter - 0.5)}
                rows.append({"what": what, "state": state, "value": row["value"], **place, "said": said})
    return columns(rows, ("what", "state", "value", "jitter", "x", "said"))


def _middles(found: Found) -> Columns:
    """For every strip, the mean over its heads and the half of them that lies in the middle."""
    rows = []
    for what in found.views:
        for state, heads in found.of(what).items():
            low, middle, high = quartiles(heads)
            mean = float(heads["value"].mean() or 0.0)  # type: ignore[arg-type]
            said = (
                f"{state}: mean {short(mean)}, median {short(middle)}, half of the heads {short(low)} to {short(high)}"
            )
            rows.append({"what": what, "state": state, "mean": mean, "low": low, "high": high, "said": said})
    return columns(rows, ("what", "state", "mean", "low", "high", "said"))


def _chances(found: Found) -> Columns:
    """A line for the chance of every score; where there is none it is not seen, and only gives the axis its ends."""
    rows = []
    for row in found.whole[:MOST_VIEWS]:
        chance = found.chance(row["what"])
        there = {"value": chance, "there": 1} if chance is not None else {"value": row["after"], "there": 0}
        rows.append({"what": row["what"], **there})
    return columns(rows, ("what", "value", "there"))


def _layers(found: Found) -> Columns:
    """The mean of every layer, before and after."""
    rows = []
    ours = found.ours.filter(pl.col("layer").is_not_null() & pl.col("head").is_null())
    for row in ours.filter(pl.col("what").is_in(found.views)).sort("layer", maintain_order=True).iter_rows(named=True):
        for state, side in zip(STATES, (-ASIDE, ASIDE), strict=True):
            if row[state] is not None:
                place = {"x": row["layer"] + side, "value": row[state]}
                rows.append({"what": row["what"], "state": state, **place, "said": _of_layer(row, state)})
    return columns(rows, ("what", "state", "x", "value", "said"))


def _of_layer(row: Mapping[str, Any], state: str) -> str:
    """The mean of a layer in words: from before to after, or on its own side."""
    if row["change"] is None:
        return f"layer {row['layer']}, {state}: {short(row[state])}"
    return f"layer {row['layer']}: {short(row['before'])} → {short(row['after'])}, {by(row['change'])}{_spread(row)}"


def _along(found: Found) -> Columns:
    """The mean over all heads and of every layer at every stop of the list, where there are at least three."""
    if len(found.sides) < 3:
        return columns([], ("what",))
    rows: list[dict[str, Any]] = []
    means = found.shown.filter(pl.col("head").is_null() & pl.col("what").is_in(found.views))
    means = means.filter(pl.col("against") == found.first)
    for order, side in enumerate(found.sides):
        name = side["name"]
        here = means.filter(pl.col("model") == (found.last if order == 0 else name))
        for row in here.iter_rows(named=True):
            value = row["before"] if order == 0 else row["after"]
            if value is None:
                continue
            sure = order > 0 and row["layer"] is None and row["low"] is not None
            ends = {end: row["before"] + row[end] if sure else None for end in ("low", "high")}
            where = "all heads" if row["layer"] is None else f"layer {row['layer']}"
            since = f", {by(row['change'])}{_spread(row)} since {found.first}" if order and row["change"] else ""
            place = {"at": side.get("step") if stepped(found) else order, "name": name, "order": order}
            said = f"{name}, {where}: {plain(row['what'])} {short(value)}{since}"
            rows.append({"what": row["what"], "layer": row["layer"], "value": value, **ends, **place, "said": said})
    return columns(rows, ("what", "layer", "value", "low", "high", "at", "name", "order", "said"))


def stepped(found: Found) -> bool:
    """Whether every stop of the list is a step of training."""
    return all(side.get("step") is not None for side in found.sides)


def _changed(found: Found) -> Columns:
    """The heads that changed most, score by score."""
    rows = []
    for what in found.views:
        most = found.heads.filter(pl.col("what") == what).sort(pl.col("change").abs(), descending=True)
        for rank, row in enumerate(most.head(MOST_HEADS).iter_rows(named=True)):
            exact = row["low"] is None or row["high"] is None
            ends = {end: row["change"] if exact else row[end] for end in ("low", "high")}
            who = found.name(row)
            said = f"{who} {plain(what)}: {short(row['before'])} → {short(row['after'])}, "
            said += f"{by(row['change'])}{_spread(row)}"
            side = "unclear" if not (clear(row) or exact) else "above" if row["change"] > 0 else "below"
            drawn = {"value": row["change"], **ends, "side": side, "said": said}
            rows.append({"score": what, "who": who, "rank": rank, **drawn})
    return columns(rows, ("score", "who", "rank", "value", "low", "high", "side", "said"))


def by(value: float) -> str:
    """A change with its sign, and with as many digits as it takes to show one that is small.

    >>> by(0.0364), by(-0.000897), by(0.0), by(8e-7)
    ('+0.036', '−0.0009', '+0.000', '+8.0e−07')
    """
    size = abs(value)
    return (
        f"{value:+.3f}" if size >= 0.01 or not size else f"{value:+.2g}" if size > 1e-4 else f"{value:+.1e}"
    ).replace("-", "−")


def between(row: Mapping[str, Any]) -> str:
    """The interval of a change, or nothing where it has none."""
    return "" if row["low"] is None or row["high"] is None else f"{by(row['low'])} to {by(row['high'])}"


def of_all(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row over all heads with the interval over heads in place of that of these very heads."""
    low, high = row["over_heads"] or (None, None)
    return {**row, "low": low, "high": high}


def _spread(row: Mapping[str, Any]) -> str:
    return f" ({between(row)})" if between(row) else ""


def counted(rows: Sequence[Mapping[str, Any]], *, exact: bool = False) -> tuple[int, int]:
    """How many changes are clearly up, and how many clearly down; exact ones are clear."""
    sure = [row["change"] for row in rows if exact or clear(row)]
    return sum(change > 0 for change in sure), sum(change < 0 for change in sure)

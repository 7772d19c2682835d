"""The numbers behind the page of a comparison: its rows by kind, and a table for every chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import short
from wherewhat.names import head_name, layer_labels
from wherewhat.report.edit_tables import clear, lacks_interval, plain
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.tables.manifest.scores import ComparedModel, CompareManifest
from wherewhat.tables.manifest.sections import ScoreSection

LEAD = (  # scores in reading order: how local and how symmetric, then position or content
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
GOLDEN = 0.6180339887  # multiples of it never coincide: heads of equal value are drawn side by side
ASIDE = 0.13  # how far before and after are drawn from the number of their layer


@dataclass(frozen=True)
class ComparisonData:
    """The table of a comparison, with the last model compared with the first as the main result."""

    compare: pl.DataFrame
    manifest: CompareManifest

    @cached_property
    def sides(self) -> list[ComparedModel]:
        """Everything that was compared, in order."""
        return list(self.manifest.compared) or [ComparedModel(name=name) for name in _named(self.compare)]

    @property
    def first(self) -> str:
        return self.sides[0].name

    @property
    def last(self) -> str:
        return self.sides[-1].name

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The rows to show, with a label `what`; two-sided scores mean nothing under a causal mask and are left out."""
        sided = [name for name, score in self.manifest.scores.items() if score.sides]
        kept = self.compare.filter(~((pl.col("part") == "decoder") & pl.col("score").is_in(sided)))
        several = kept["part"].n_unique() > 1
        part = pl.concat_str(pl.lit(" · "), "part") if several else pl.lit("")
        return kept.with_columns(what=pl.concat_str("score", part))

    @cached_property
    def first_to_last(self) -> pl.DataFrame:
        """The rows from the first to the last."""
        return self.shown.filter((pl.col("model") == self.last) & (pl.col("against") == self.first))

    @cached_property
    def alone(self) -> pl.DataFrame:
        """The rows of single heads, from the first to the last; heads without a counterpart have one side only."""
        return self.first_to_last.filter(pl.col("head").is_not_null())

    @cached_property
    def heads(self) -> pl.DataFrame:
        """Of these, the heads that have a counterpart."""
        return self.alone.filter(pl.col("change").is_not_null())

    @property
    def paired(self) -> bool:
        """Whether heads have counterparts: both models have the same shape."""
        return not self.heads.is_empty()

    def moved_layers(self, what: str) -> list[dict[str, Any]]:
        """The layers whose mean clearly changed, or changed at all where that is exact; the largest changes first."""
        rows = self.first_to_last.filter(
            (pl.col("what") == what) & pl.col("layer").is_not_null() & pl.col("head").is_null()
        )
        known = rows.filter(pl.col("change").is_not_null()).sort(-pl.col("change").abs(), "layer")
        return [row for row in known.iter_rows(named=True) if clear(row) or (lacks_interval(row) and self.exact(what))]

    def exact(self, what: str) -> bool:
        """Whether changes of a score depend on weights alone, so that they are exact and have no interval."""
        score = what.partition(" · ")[0]
        return score.startswith("delta.") and self.heads.filter(pl.col("what") == what)["low"].is_null().all()

    @cached_property
    def whole(self) -> list[dict[str, Any]]:
        """The rows over all heads, the most important scores first.

        Their interval is that of the mean of exactly these heads. `over_heads` is the interval over heads, where it is
        known, `up` and `down` count the heads that clearly changed, and `halves` are the quartiles over heads.
        """
        rows = []
        for row in self.first_to_last.filter(pl.col("layer").is_null()).iter_rows(named=True):
            heads = self.heads.filter(pl.col("what") == row["what"]).rows(named=True)
            exact = bool(heads) and self.exact(row["what"])
            up, down = counted(heads, exact=exact)
            halves = {state: quartiles(values)[::2] for state, values in self.of(row["what"]).items()}
            beside = {"heads": len(heads), "up": up, "down": down, "exact": exact, "halves": halves}
            over = self.manifest.over_heads.get(row["part"], {}).get(row["score"])
            rows.append({**row, **beside, "over_heads": None if over is None else list(over)})
        return sorted(rows, key=self._place)

    @property
    def leading(self) -> list[dict[str, Any]]:
        """The scores of the first screen."""
        return self.whole[:MOST_TILES]

    @property
    def views(self) -> list[str]:
        """The scores that a reader can choose from."""
        return [row["what"] for row in self.whole[:MOST_VIEWS]]

    def name(self, row: Mapping[str, Any]) -> str:
        """The name of a head; with its part where the model has several and both sides have the same."""
        labels = layer_labels((each.layer, each.part) for each in self.manifest.layers) if self.paired else {}
        return head_name(row["layer"], row["head"], labels)

    def length(self, score: str) -> str:
        """How many tokens a score of the positional part is about, without which locality means nothing."""
        source, *measure = score.split(".")
        source = "mean" if "contextual" in measure else source
        layers = self.manifest.positional.layers if self.manifest.positional else ()
        lengths = sorted({each.n for each in layers if each.source == source})
        return f"n = {' or '.join(map(str, lengths))}" if lengths and measure else ""

    def _place(self, row: Mapping[str, Any]) -> tuple[int, float]:
        """Known scores first; of the others those that changed most, as a share of their range."""
        if row["score"] in LEAD:
            return LEAD.index(row["score"]), 0.0
        low, high = self.manifest.scores.get(row["score"], ScoreSection()).range
        bounded = low is not None and high is not None and high > low
        size = abs(row["change"]) / (high - low) if bounded else 0.0  # type: ignore[operator]
        return len(LEAD), -size

    @cached_property
    def tables(self) -> dict[str, Columns]:
        """The numbers of all charts."""
        tables = {"dots": _dots(self), "middles": _middles(self), "chances": _chances(self)}
        tables |= {"layers": _layers(self), "along": _along(self), "changed": _changed(self)}
        return {name: table for name, table in tables.items() if len(next(iter(table.values())))}

    def before(self) -> pl.DataFrame:
        """Single heads before, with every draw of untrained weights separately."""
        if len(self.manifest.draws) < 2:
            return self.alone.with_columns(value="before", who=pl.lit(self.first)).drop_nulls("value")
        rows = self.shown.filter(pl.col("against").is_in(self.manifest.draws) & pl.col("head").is_not_null())
        return rows.with_columns(value="before", who="against").drop_nulls("value")

    def after(self) -> pl.DataFrame:
        """Single heads after."""
        return self.alone.with_columns(value="after", who=pl.lit(self.last)).drop_nulls("value")

    def of(self, what: str) -> dict[str, pl.DataFrame]:
        """Single heads of one score, before and after."""
        both = zip(STATES, (self.before(), self.after()), strict=True)
        return {state: rows.filter(pl.col("what") == what) for state, rows in both}

    def chance(self, what: str) -> float | None:
        """The chance level of a score."""
        row = next(row for row in self.whole if row["what"] == what)
        return self.manifest.chance.get(row["part"], {}).get(row["score"])


def quartiles(rows: pl.DataFrame) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile over heads."""
    values = rows["value"]
    low, middle, high = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.5, 0.75))
    return low, middle, high


def _named(table: pl.DataFrame) -> list[str]:
    """The names of the models in a table without a manifest."""
    return [table["against"][0], *table["model"].unique(maintain_order=True)]


def _dots(comparison: ComparisonData) -> Columns:
    """One row per head and state: its value, and its place in the strip and beside its layer."""
    rows = []
    for what in comparison.views:
        for state, heads in comparison.of(what).items():
            side = -ASIDE if state == "before" else ASIDE
            for number, row in enumerate(heads.iter_rows(named=True)):
                jitter = (number * GOLDEN) % 1
                tooltip = f"{comparison.name(row)} of {row['who']}: {plain(what)} {short(row['value'])}"
                place = {"jitter": jitter, "x": row["layer"] + side + 0.14 * (jitter - 0.5)}
                rows.append({"what": what, "state": state, "value": row["value"], **place, "said": tooltip})
    return columns(rows, ("what", "state", "value", "jitter", "x", "said"))


def _middles(comparison: ComparisonData) -> Columns:
    """For every strip, the mean and the middle half of its heads."""
    rows = []
    for what in comparison.views:
        for state, heads in comparison.of(what).items():
            low, middle, high = quartiles(heads)
            mean = float(heads["value"].mean() or 0.0)  # type: ignore[arg-type]
            tooltip = (
                f"{state}: mean {short(mean)}, median {short(middle)}, half of the heads {short(low)} to {short(high)}"
            )
            rows.append({"what": what, "state": state, "mean": mean, "low": low, "high": high, "said": tooltip})
    return columns(rows, ("what", "state", "mean", "low", "high", "said"))


def _chances(comparison: ComparisonData) -> Columns:
    """A line at the chance level of every score; where there is none it is invisible and only extends the axis."""
    rows = []
    for row in comparison.whole[:MOST_VIEWS]:
        chance = comparison.chance(row["what"])
        there = {"value": chance, "there": 1} if chance is not None else {"value": row["after"], "there": 0}
        rows.append({"what": row["what"], **there})
    return columns(rows, ("what", "value", "there"))


def _layers(comparison: ComparisonData) -> Columns:
    """The mean of every layer, before and after."""
    rows = []
    ours = comparison.first_to_last.filter(pl.col("layer").is_not_null() & pl.col("head").is_null())
    for row in (
        ours.filter(pl.col("what").is_in(comparison.views)).sort("layer", maintain_order=True).iter_rows(named=True)
    ):
        for state, side in zip(STATES, (-ASIDE, ASIDE), strict=True):
            if row[state] is not None:
                place = {"x": row["layer"] + side, "value": row[state]}
                rows.append({"what": row["what"], "state": state, **place, "said": _of_layer(row, state)})
    return columns(rows, ("what", "state", "x", "value", "said"))


def _of_layer(row: Mapping[str, Any], state: str) -> str:
    """The mean of a layer in words: from before to after, or one side alone."""
    if row["change"] is None:
        return f"layer {row['layer']}, {state}: {short(row[state])}"
    return f"layer {row['layer']}: {short(row['before'])} → {short(row['after'])}, {by(row['change'])}{_spread(row)}"


def _along(comparison: ComparisonData) -> Columns:
    """The mean over all heads and of every layer for every model of the list, if there are at least three."""
    if len(comparison.sides) < 3:
        return columns([], ("what",))
    rows: list[dict[str, Any]] = []
    means = comparison.shown.filter(pl.col("head").is_null() & pl.col("what").is_in(comparison.views))
    means = means.filter(pl.col("against") == comparison.first)
    for order, side in enumerate(comparison.sides):
        name = side.name
        here = means.filter(pl.col("model") == (comparison.last if order == 0 else name))
        for row in here.iter_rows(named=True):
            value = row["before"] if order == 0 else row["after"]
            if value is None:
                continue
            sure = order > 0 and row["layer"] is None and row["low"] is not None
            ends = {end: row["before"] + row[end] if sure else None for end in ("low", "high")}
            where = "all heads" if row["layer"] is None else f"layer {row['layer']}"
            since = f", {by(row['change'])}{_spread(row)} since {comparison.first}" if order and row["change"] else ""
            place = {"at": side.step if stepped(comparison) else order, "name": name, "order": order}
            tooltip = f"{name}, {where}: {plain(row['what'])} {short(value)}{since}"
            rows.append({"what": row["what"], "layer": row["layer"], "value": value, **ends, **place, "said": tooltip})
    return columns(rows, ("what", "layer", "value", "low", "high", "at", "name", "order", "said"))


def stepped(comparison: ComparisonData) -> bool:
    """Whether every model of the list is a step of training."""
    return all(side.step is not None for side in comparison.sides)


def _changed(comparison: ComparisonData) -> Columns:
    """The heads that changed most, by score."""
    rows = []
    for what in comparison.views:
        most = comparison.heads.filter(pl.col("what") == what).sort(pl.col("change").abs(), descending=True)
        for rank, row in enumerate(most.head(MOST_HEADS).iter_rows(named=True)):
            exact = row["low"] is None or row["high"] is None
            ends = {end: row["change"] if exact else row[end] for end in ("low", "high")}
            who = comparison.name(row)
            tooltip = f"{who} {plain(what)}: {short(row['before'])} → {short(row['after'])}, "
            tooltip += f"{by(row['change'])}{_spread(row)}"
            side = "unclear" if not (clear(row) or exact) else "above" if row["change"] > 0 else "below"
            mark = {"value": row["change"], **ends, "side": side, "said": tooltip}
            rows.append({"score": what, "who": who, "rank": rank, **mark})
    return columns(rows, ("score", "who", "rank", "value", "low", "high", "side", "said"))


def by(value: float) -> str:
    """A change with its sign, and with enough digits to show a small one.

    >>> by(0.0364), by(-0.000897), by(0.0), by(8e-7)
    ('+0.036', '−0.0009', '+0.000', '+8.0e−07')
    """
    size = abs(value)
    return (
        f"{value:+.3f}" if size >= 0.01 or not size else f"{value:+.2g}" if size > 1e-4 else f"{value:+.1e}"
    ).replace("-", "−")


def between(row: Mapping[str, Any]) -> str:
    """The interval of a change; empty where it has none."""
    return "" if row["low"] is None or row["high"] is None else f"{by(row['low'])} to {by(row['high'])}"


def of_all(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row over all heads with the interval over heads in place of that of exactly these heads."""
    low, high = row["over_heads"] or (None, None)
    return {**row, "low": low, "high": high}


def _spread(row: Mapping[str, Any]) -> str:
    return f" ({between(row)})" if between(row) else ""


def counted(rows: Sequence[Mapping[str, Any]], *, exact: bool = False) -> tuple[int, int]:
    """How many changes are clearly up, and how many clearly down; exact changes are clear."""
    sure = [row["change"] for row in rows if exact or clear(row)]
    return sum(change > 0 for change in sure), sum(change < 0 for change in sure)

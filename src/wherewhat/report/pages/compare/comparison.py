"""What a comparison shows: its rows by kind, and its findings in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import count, listed, short
from wherewhat.names import head_name, layer_labels
from wherewhat.report.blocks.numbers import clear, lacks_interval, spaced
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
STATES = ("before", "after")
BECAME = {  # by measure, each reported once: what heads became where it rose, and where it fell
    "locality": ("more local", "less local"),
    "symmetry": ("more symmetric", "less symmetric"),
    "balance": ("more balanced between left and right", "less balanced between left and right"),
    "position_share": ("more positional", "less positional"),
    "symbol_share": ("more symbolic", "less symbolic"),
    "entropy": ("broader", "sharper"),
}
SPLIT = 0.25  # heads split if those that go one way are at least this share of those that go the other
WIDER = 1.5  # times as wide: heads spread apart; as many times narrower: they move together
NARROW = 0.02  # of the range: a middle half narrower than this before and after has no spread worth reporting


@dataclass(frozen=True)
class ComparisonData:
    """The table of a comparison, with the last model compared with the first as the main result."""

    compare: pl.DataFrame
    manifest: CompareManifest

    @cached_property
    def sides(self) -> list[ComparedModel]:
        """Everything that was compared, in order."""
        names = [self.compare["against"][0], *self.compare["model"].unique(maintain_order=True)]
        return list(self.manifest.compared) or [ComparedModel(name=name) for name in names]

    @property
    def stepped(self) -> bool:
        """Whether every model of the list is a step of training."""
        return all(side.step is not None for side in self.sides)

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
        return self.shown.filter(model=self.last, against=self.first)

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

    @property
    def layers(self) -> int:
        """The number of layers, of the larger of the first and the last model."""
        return int(self.alone["layer"].max()) + 1  # type: ignore[arg-type]

    @cached_property
    def counterparts(self) -> pl.DataFrame:
        """The rows of single heads that have a counterpart in the first model, of all models of the list."""
        return self.shown.filter(
            pl.col("head").is_not_null(), pl.col("change").is_not_null(), pl.col("against") == self.first
        )

    def head_values(self, what: str) -> pl.DataFrame:
        """Every head with its counterparts along the list: layer, head, the order in the list, and the value."""
        order = {side.name: number for number, side in enumerate(self.sides)}
        rows, head = self.counterparts.filter(what=what), ("layer", "head")
        later = rows.select(*head, order=pl.col("model").replace_strict(order, return_dtype=pl.Int64), value="after")
        first = rows.group_by(head, maintain_order=True).agg(order=pl.lit(0, pl.Int64), value=pl.col("before").first())
        return pl.concat([first, later]).sort(*head, "order")

    def layer_rows(self, what: str) -> pl.DataFrame:
        """The rows of whole layers in one score."""
        return self.first_to_last.filter(pl.col("layer").is_not_null(), pl.col("head").is_null(), what=what)

    def moved_layers(self, what: str) -> list[dict[str, Any]]:
        """The layers whose mean clearly changed, or changed at all where that is exact; the largest changes first."""
        known = self.layer_rows(what).filter(pl.col("change").is_not_null()).sort(-pl.col("change").abs(), "layer")
        return [row for row in known.iter_rows(named=True) if clear(row) or (lacks_interval(row) and self.exact(what))]

    def exact(self, what: str) -> bool:
        """Whether changes of a score depend on weights alone, so that they are exact and have no interval."""
        score = what.partition(" · ")[0]
        return score.startswith("delta.") and self.heads.filter(what=what)["low"].is_null().all()

    @cached_property
    def whole(self) -> list[dict[str, Any]]:
        """The rows over all heads, the most important scores first.

        Their interval is that of the mean of exactly these heads. `over_heads` is the interval over heads, where it is
        known, `up` and `down` count the heads that clearly changed, and `halves` are the quartiles over heads.
        """
        rows = []
        for row in self.first_to_last.filter(pl.col("layer").is_null()).iter_rows(named=True):
            heads = self.heads.filter(what=row["what"]).rows(named=True)
            exact = bool(heads) and self.exact(row["what"])
            sure = [head["change"] for head in heads if exact or clear(head)]
            moved = {"up": sum(change > 0 for change in sure), "down": sum(change < 0 for change in sure)}
            halves = {state: quartiles(values)[::2] for state, values in self.of(row["what"]).items()}
            beside = {"heads": len(heads), **moved, "exact": exact, "halves": halves}
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

    def of(self, what: str) -> dict[str, pl.DataFrame]:
        """Single heads of one score, before and after; before, every draw of untrained weights is separate."""
        drawn = self.shown.filter(pl.col("against").is_in(self.manifest.draws), pl.col("head").is_not_null())
        before = self.alone if len(self.manifest.draws) < 2 else drawn
        who = {"before": pl.col("against"), "after": pl.col("model")}
        rows = {"before": before.filter(what=what), "after": self.alone.filter(what=what)}
        return {state: rows[state].with_columns(value=state, who=who[state]).drop_nulls("value") for state in STATES}

    def chance(self, what: str) -> float | None:
        """The chance level of a score."""
        row = next(row for row in self.whole if row["what"] == what)
        return self.manifest.chance.get(row["part"], {}).get(row["score"])


def quartiles(rows: pl.DataFrame) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile over heads."""
    values = rows["value"]
    low, middle, high = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.5, 0.75))
    return low, middle, high


def by(value: float) -> str:
    """A change with its sign, and with enough digits to show a small one.

    >>> by(0.0364), by(-0.000897), by(0.0), by(8e-7)
    ('+0.036', '−0.0009', '+0.000', '+8.0e−07')
    """
    size = abs(value)
    digits = ".3f" if size >= 0.01 or not size else ".2g" if size > 1e-4 else ".1e"
    return f"{value:+{digits}}".replace("-", "−")


def between(row: Mapping[str, Any]) -> str:
    """The interval of a change; empty where it has none."""
    return "" if row["low"] is None or row["high"] is None else f"{by(row['low'])} to {by(row['high'])}"


def of_all(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row over all heads with the interval over heads in place of that of exactly these heads."""
    low, high = row["over_heads"] or (None, None)
    return {**row, "low": low, "high": high}


def sentences(comparison: ComparisonData) -> list[str]:
    """One sentence per leading measure, from its first source."""
    chosen: dict[str, dict[str, Any]] = {}
    for row in comparison.leading:
        measure = row["score"].rpartition(".")[2]
        if measure in BECAME:
            chosen.setdefault(measure, row)
    tell = paired if comparison.paired else unpaired
    return [tell(row, comparison) for row in (list(chosen.values()) or comparison.leading)[:3]]


def paired(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    """How the heads changed, each from before to after."""
    most = [f"layer {layer['layer']} ({by(layer['change'])})" for layer in comparison.moved_layers(row["what"])]
    moved = f"{_counted(row)}{f', most in {listed(most[:3])}' if most else ''}"
    return f"{_headline(row)}: {moved}; {_spread(row)}; {_mean(row)}."


def unpaired(row: Mapping[str, Any], comparison: ComparisonData) -> str:
    """How the heads of a model are distributed compared with those of a model of another shape."""
    (low, high), (later_low, later_high) = row["halves"]["before"], row["halves"]["after"]
    sure = f" ({between(row)} over heads)" if between(row) else ""
    return (
        f"{spaced(row['what'])}: half of the heads are at {short(later_low)} to {short(later_high)} in "
        f"{comparison.last} and at {short(low)} to {short(high)} in {comparison.first}; the means are "
        f"{short(row['after'])} and {short(row['before'])}, a difference of {by(row['change'])}{sure}."
    )


def _headline(row: Mapping[str, Any]) -> str:
    """What became of the heads in a few words; a split is reported even if the mean stays."""
    name, measure = spaced(row["what"]), row["score"].rpartition(".")[2]
    fewer, more = sorted((row["up"], row["down"]))
    if lacks_interval(row) and not row["exact"]:
        return f"{name}, without intervals"
    if not more:
        return f"no clear change of {name}"
    if fewer >= SPLIT * more:
        return f"heads split by {name}"
    became = BECAME.get(measure, ("higher", "lower"))[row["down"] > row["up"]]
    return f"{became} ({name})"


def _spread(row: Mapping[str, Any]) -> str:
    """Whether heads are spread more widely than before: their middle half, before and after."""
    before, after = row["halves"]["before"], row["halves"]["after"]
    ends = f"half of them {short(before[0])} to {short(before[1])} → {short(after[0])} to {short(after[1])}"
    widths = [high - low for low, high in (before, after)]
    if max(widths) < NARROW or widths[0] / WIDER < widths[1] < widths[0] * WIDER:
        return f"their spread is about the same ({ends})"
    return f"they {'spread apart' if widths[1] > widths[0] else 'moved together'} ({ends})"


def _counted(row: Mapping[str, Any]) -> str:
    """How many of them clearly changed, and in which direction."""
    heads, clearly = count(row["heads"], "head"), "" if row["exact"] else "clearly "
    if clearly and lacks_interval(row):
        return "no head has an interval"
    if clearly and not row["up"] and not row["down"]:
        return f"none of {heads} clearly up or down"
    return f"{row['up']} of {heads} {clearly}up and {row['down']} {clearly}down"


def _mean(row: Mapping[str, Any]) -> str:
    """Their mean before and after, with the interval of its change."""
    numbers = f"mean {short(row['before'])} → {short(row['after'])}"
    if row["exact"] or lacks_interval(row):
        return numbers if row["exact"] else f"{numbers}, without an interval"
    if not clear(row):
        return f"{numbers}, no clear change ({between(row)})"
    general = f", not clear for heads in general ({between(of_all(row))} over heads)"
    return f"{numbers} ({between(row)}){general if row['over_heads'] and not clear(of_all(row)) else ''}"

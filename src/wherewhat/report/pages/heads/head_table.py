"""The long table of a run's scores, read once into one row per head with the columns of every score."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import rests_on, rounded
from wherewhat.names import head_name, layer_labels
from wherewhat.report.core.page import Columns
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.manifest.sections import ScoreSection

ATTENTION, PUBLISHED, HIDDEN, POSITIONAL = "Attention", "Published scores", "Hidden state", "Positional part"
KINDS = ("Where or what", ATTENTION, PUBLISHED, HIDDEN, POSITIONAL, "Repeated random tokens")  # in reading order
NUMBERS = ("value", "low", "high", "chance", "untrained")
FEW_ROWS = 30
LEAST_REACH = 0.1  # of a score's range, so that heads near chance stay pale on the map
SINK = 0.5  # of a head's attention on the first token: what decides the rest no longer describes the head


@dataclass(frozen=True, order=True)
class Counts:
    """How many texts, windows and query rows a value is based on; None where that is not known."""

    texts: int | None = None
    windows: int | None = None
    rows: int | None = None

    @property
    def few(self) -> bool:
        """Whether a value says little about other texts: it is based on one text, or on few rows."""
        return self.texts == 1 or (self.rows is not None and self.rows < FEW_ROWS)

    def __str__(self) -> str:
        return rests_on(self.texts, self.windows, self.rows)


@dataclass(frozen=True)
class ScoreView:
    """One score as the page shows it: what it measures, and the key of its columns."""

    key: str  # its columns are value_<key>, low_<key>, high_<key>, chance_<key>, untrained_<key>, rests_<key>
    name: str
    asks: str = ""
    low: str = ""
    high: str = ""
    range: tuple[float, float] = (0.0, 1.0)  # as drawn
    ends: tuple[float | None, float | None] = (0.0, 1.0)  # of its possible values; None where it is unbounded
    paper: str = ""
    chance: str = ""
    kind: str = ""
    answered: int = 0  # heads that have a value
    reach: float = 1.0  # the largest distance of any head from chance
    span: tuple[float, float] = (0.0, 1.0)  # holds all values, intervals and chance levels
    rests: Sequence[Counts] = ()  # what its values are based on, each combination once
    untrained: float | None = None  # the mean over heads with untrained weights

    @property
    def about(self) -> dict[str, Any]:
        """The same as the widgets read it."""
        plain = ("key", "name", "asks", "low", "high", "kind", "reach", "answered", "range", "span")
        rests = [{"said": str(counts), "few": counts.few, **asdict(counts)} for counts in self.rests]
        ends = [end is None for end in self.ends]
        return {name: getattr(self, name) for name in plain} | {"rests": rests, "open": ends}


@dataclass(frozen=True)
class HeadScore:
    """One head's value of one score, with its interval and baselines."""

    name: str
    layer: int
    part: str
    score: ScoreView
    rests: Counts
    sink: float | None  # the share of its attention on the first token, if that is most of it
    value: float
    low: float | None
    high: float | None
    chance: float | None
    untrained: float | None
    lead: str = ""  # in words, for the heads that answer position or content
    also: Sequence[tuple[str, bool]] = ()  # other scores in which this head is the farthest, and whether above chance

    @property
    def strength(self) -> float:
        """Its distance from chance as a share of the range."""
        bottom, top = self.score.range
        return 0.0 if self.chance is None else abs(self.value - self.chance) / ((top - bottom) or 1)

    @property
    def above(self) -> bool:
        """Whether it is above chance."""
        return self.chance is None or self.value > self.chance

    @property
    def comparable(self) -> bool:
        """Whether it has both a chance level and an interval; a single text gives none."""
        return None not in (self.chance, self.low, self.high)

    @property
    def clear(self) -> bool:
        """Whether its interval excludes chance."""
        chance = self.chance
        return chance is not None and self.comparable and (self.exceeds(chance) or self.falls_below(chance))

    def exceeds(self, level: float) -> bool:
        """Whether its whole interval, or its value where there is none, is above a level."""
        return (self.value if self.low is None else self.low) > level

    def falls_below(self, level: float) -> bool:
        """Whether its whole interval, or its value where there is none, is below a level."""
        return (self.value if self.high is None else self.high) < level

    def apart_from(self, other: "HeadScore") -> bool:
        """Whether two intervals do not overlap; missing ones count as apart."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low > other.high or other.low > self.high


@dataclass(frozen=True)
class HeadTable:
    """One run: its heads in order, its scores in reading order, and its manifest."""

    heads: Columns
    scores: Sequence[ScoreView]
    parts: Sequence[str]
    manifest: ProfileManifest

    @cached_property
    def answered(self) -> Sequence[ScoreView]:
        """The scores that have a value for at least one head."""
        return [score for score in self.scores if score.answered]

    def find(self, *names: str) -> list[ScoreView]:
        """The scores with these names, if all of them have values; otherwise none."""
        by_name = {score.name: score for score in self.answered}
        return [by_name[name] for name in names] if all(name in by_name for name in names) else []

    def key(self, name: str) -> str | None:
        """The key of the score of this name, if it has values."""
        return next((score.key for score in self.find(name)), None)

    def column(self, score: ScoreView, number: str = "value") -> Sequence[Any]:
        """One number of a score for every head."""
        return self.heads[f"{number}_{score.key}"]

    def scored(self, score: ScoreView, part: str = "") -> list[HeadScore]:
        """One score of every head that has a value, or of every such head of one part of the model."""
        own = (self.heads[name] for name in ("name", "layer", "part"))
        columns = [*own, *(self.column(score, number) for number in ("rests", *NUMBERS))]
        counts = score.rests or (Counts(),)
        return [
            HeadScore(name, layer, of, score, counts[rests or 0], self.sinks.get(name), *numbers)
            for name, layer, of, rests, *numbers in zip(*columns, strict=True)
            if numbers[0] is not None and part in ("", of)
        ]

    def together(self, scores: Sequence[ScoreView]) -> list[tuple[HeadScore, ...]]:
        """Several scores of every head that has a value of each."""
        by_name = [{head.name: head for head in self.scored(score)} for score in scores]
        there = [name for name in self.heads["name"] if all(name in heads for heads in by_name)]
        return [tuple(heads[name] for heads in by_name) for name in there]

    @cached_property
    def sinks(self) -> dict[str, float]:
        """The heads that are attention sinks on the first token, with the share of their attention on it."""
        columns = [zip(self.heads["name"], self.column(score), strict=True) for score in self.find("sink")]
        return {name: share for pairs in columns for name, share in pairs if share is not None and share >= SINK}

    @property
    def layers(self) -> int:
        """How many layers the page has room for: the last one plus 1."""
        return int(max(self.heads["layer"])) + 1

    @cached_property
    def layers_of(self) -> dict[str, list[int]]:
        """The layers of each part of the model."""
        places = set(zip(self.heads["part"], self.heads["layer"], strict=True))
        return {part: sorted(layer for its, layer in places if its == part) for part in self.parts}

    @property
    def total(self) -> int | None:
        """How many heads the model has, of which the run may hold only some; None where that is not known."""
        return self.manifest.model.total_heads

    @property
    def partial(self) -> bool:
        """Whether the run holds only some of the model's heads."""
        return self.total is not None and self.total > len(self.heads["name"])

    @property
    def undecomposed(self) -> dict[int, str]:
        """By layer, why its logits were not decomposed."""
        return {each.layer: each.reason or "" for each in self.manifest.layers if each.logits == "undecomposed"}

    @property
    def untrained_windows(self) -> str:
        """On how many of the windows untrained weights were profiled, in words."""
        untrained, of = self.manifest.untrained, self.manifest.texts.windows
        windows = untrained.windows if untrained else None
        return f"one random initialisation on {f'{windows} of {of}' if windows and of else 'some of the'} windows"


def read_head_table(heads: pl.DataFrame, manifest: ProfileManifest) -> HeadTable:
    """Read the long table of heads into one row per head."""
    _refuse(heads)
    parts = {each.layer: each.part for each in manifest.layers}
    labels = layer_labels(parts.items())
    table = heads if "part" in heads.columns else heads.with_columns(part=pl.lit(None, pl.String))
    order = table.select("layer", "head", "part").unique(["layer", "head"]).sort("layer", "head")
    wide = {"name": [head_name(layer, head, labels) for layer, head, _ in order.iter_rows()]}
    wide |= order.to_dict(as_series=False)
    wide["part"] = [part or parts.get(layer, "") for layer, _, part in order.iter_rows()]
    present = set(heads["score"].to_list())
    explained = [name for name in manifest.scores if name in present]  # first, in the order of the manifest
    scores = []
    for key, name in enumerate(explained + sorted(present - set(explained))):
        rows = heads.filter(pl.col("score") == name)
        if name in manifest.scores and manifest.scores[name].sides and "part" in rows.columns:
            rows = rows.filter(pl.col("part") != "decoder")  # there only one side exists: its values would mislead
        columns, rests = _columns(order, rows, str(key))
        wide |= columns
        scores.append(replace(_score(name, str(key), columns, manifest), rests=rests))
    return HeadTable(wide, scores, list(dict.fromkeys(wide["part"])), manifest)


def _refuse(heads: pl.DataFrame) -> None:
    if missing := [name for name in ("layer", "head", "score", *NUMBERS[:4]) if name not in heads.columns]:
        raise UserError(f"the table of heads lacks {', '.join(missing)}; make it again with `wherewhat heads`")
    if heads["value"].drop_nulls().drop_nans().is_empty():
        rows = f"none of the {heads.height} rows of the table of heads"
        raise UserError(f"{rows} has a value; profile more or longer texts")
    if "model" in heads.columns and heads["model"].n_unique() > 1:
        names = ", ".join(sorted(heads["model"].unique().cast(pl.String).to_list())[:3])
        raise UserError(f"a page of heads shows one model, but the table holds several ({names}); keep the rows of one")
    if heads.select("layer", "head", "score").is_duplicated().any():
        raise UserError("the table of heads has two rows for one head and score; make it again with `wherewhat heads`")


def _columns(order: pl.DataFrame, rows: pl.DataFrame, key: str) -> tuple[dict[str, list[Any]], list[Counts]]:
    """The numbers of one score in the order of the heads, rounded for the page, and what they are based on."""
    names = [name for name in NUMBERS if name in rows.columns]
    counts = [name for name in ("texts", "windows", "rows") if name in rows.columns]
    wanted = rows.select("layer", "head", pl.col(names).cast(pl.Float64), *counts)
    joined = order.join(wanted, on=["layer", "head"], how="left", maintain_order="left")
    columns: dict[str, list[Any]] = {f"untrained_{key}": [None] * order.height}
    columns |= {f"{name}_{key}": [rounded(value) for value in joined[name]] for name in names}
    by_head = [Counts(**row) for row in joined.select(counts).iter_rows(named=True)] or [Counts()] * order.height
    known = [None if value is None else its for value, its in zip(columns[f"value_{key}"], by_head, strict=True)]
    distinct = list(dict.fromkeys(its for its in known if its is not None))
    return columns | {f"rests_{key}": [None if its is None else distinct.index(its) for its in known]}, distinct


def _score(name: str, key: str, columns: Mapping[str, Sequence[Any]], manifest: ProfileManifest) -> ScoreView:
    """A score with its drawn range and span, and the largest distance from chance."""
    base = name.partition("@")[0]  # the same score at another temperature
    record = manifest.scores.get(name) or manifest.scores.get(base) or ScoreSection()
    low, high = (None if end is None else float(end) for end in record.range)
    values, *others, chances, untrained = (columns[f"{number}_{key}"] for number in NUMBERS)
    answers = [number for column in (values, *others, chances) for number in column if number is not None]
    bottom = min(answers, default=0.0) if low is None else low
    top = max([bottom, *answers]) if high is None else high
    width = (top - bottom) or 1.0
    pairs = zip(values, chances, strict=True)
    away = [abs(value - (bottom if chance is None else chance)) for value, chance in pairs if value is not None]
    least, most = min(answers, default=bottom), max(answers, default=top)
    wider = 0.0 if most > least else 0.05 * width  # an axis is never a single point
    return ScoreView(
        key,
        name,
        **{field: getattr(record, field) for field in ("asks", "low", "high", "paper", "chance")},
        range=(bottom, top),
        ends=(low, high),
        kind=record.kind or ATTENTION,
        answered=len(away),
        reach=rounded(max([LEAST_REACH * width, *away])),
        span=(least - wider, most + wider),
        untrained=rounded(mean_of(untrained)),
    )


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the finite values.

    >>> mean_of([1.0, None, 2.0]), mean_of([None])
    (1.5, None)
    """
    there = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(there) / len(there) if there else None

"""The long table of a run's scores, read once into one row per head with the columns of every score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import rests_on, rounded
from wherewhat.names import head_name, layer_labels
from wherewhat.report.kinds import ATTENTION
from wherewhat.report.page import Columns
from wherewhat.tables.manifest.scores import ProfileManifest
from wherewhat.tables.manifest.sections import ScoreSection

NUMBERS = ("value", "low", "high", "chance")
COUNTS = ("texts", "windows", "rows")  # what a value is based on
FEW_ROWS = 30
LEAST_REACH = 0.1  # of a score's range, so that heads near chance stay pale on the map
NEEDED = ("layer", "head", "score", *NUMBERS)


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


def untrained_windows(manifest: ProfileManifest) -> str:
    """On how many of the windows untrained weights were profiled, in words.

    >>> from wherewhat.tables.manifest.scores import UntrainedSection
    >>> from wherewhat.tables.manifest.sections import TextsSection
    >>> untrained = UntrainedSection(windows=4)
    >>> untrained_windows(ProfileManifest(untrained=untrained, texts=TextsSection(windows=100)))
    'one random initialisation on 4 of 100 windows'
    """
    windows, of = manifest.untrained.windows if manifest.untrained else None, manifest.texts.windows
    return f"one random initialisation on {f'{windows} of {of}' if windows and of else 'some of the'} windows"


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


@dataclass(frozen=True)
class HeadTable:
    """One run: its heads in order, its scores in reading order, and its manifest."""

    heads: Columns
    scores: Sequence[ScoreView]
    parts: Sequence[str]
    manifest: ProfileManifest

    @property
    def answered(self) -> Sequence[ScoreView]:
        """The scores that have a value for at least one head."""
        return [score for score in self.scores if score.answered]

    def find(self, *names: str) -> list[ScoreView]:
        """The scores with these names, if all of them have values; otherwise none."""
        by_name = {score.name: score for score in self.answered}
        return [by_name[name] for name in names] if all(name in by_name for name in names) else []

    def rests(self, score: ScoreView, row: int) -> Counts:
        """What one head's value of a score is based on."""
        return score.rests[self.heads[f"rests_{score.key}"][row] or 0] if score.rests else Counts()

    @property
    def total(self) -> int | None:
        """How many heads the model has, of which the run may hold only some; None where that is not known."""
        return self.manifest.model.total_heads


def read_head_table(heads: pl.DataFrame, manifest: ProfileManifest) -> HeadTable:
    """Read the long table of heads into one row per head."""
    _refuse(heads)
    parts = {each.layer: each.part for each in manifest.layers}
    labels = layer_labels(parts.items())
    table = heads if "part" in heads.columns else heads.with_columns(part=pl.lit(None, pl.String))
    order = table.select("layer", "head", "part").unique(["layer", "head"]).sort("layer", "head")
    wide: dict[str, list[Any]] = {
        "name": [head_name(layer, head, labels) for layer, head in zip(order["layer"], order["head"], strict=True)],
        "layer": order["layer"].to_list(),
        "head": order["head"].to_list(),
        "part": [part or parts.get(layer, "") for layer, part in zip(order["layer"], order["part"], strict=True)],
    }
    scores = [_score(str(key), name, manifest) for key, name in enumerate(_names(heads, manifest))]
    rests: dict[str, list[Counts]] = {}
    for score in scores:
        rows = heads.filter(pl.col("score") == score.name)
        if score.name in manifest.scores and manifest.scores[score.name].sides:
            rows = _without_causal(rows)
        wide |= _columns(order, rows, score.key)
        score_counts, wide[f"rests_{score.key}"] = _counts(order, rows)
        rests[score.key] = score_counts
    complete = [replace(_with_numbers(score, wide), rests=rests[score.key]) for score in scores]
    return HeadTable(wide, complete, list(dict.fromkeys(wide["part"])), manifest)


def _without_causal(rows: pl.DataFrame) -> pl.DataFrame:
    """Drop the values of a two-sided score under a causal mask, where only one side exists: they would mislead."""
    return rows if "part" not in rows.columns else rows.filter(pl.col("part") != "decoder")


def _refuse(heads: pl.DataFrame) -> None:
    missing = [name for name in NEEDED if name not in heads.columns]
    if missing:
        raise UserError(f"the table of heads lacks {', '.join(missing)}; make it again with `wherewhat heads`")
    if heads["value"].drop_nulls().drop_nans().is_empty():
        raise UserError(
            f"none of the {heads.height} rows of the table of heads has a value; profile more or longer texts"
        )
    if "model" in heads.columns and heads["model"].n_unique() > 1:
        names = ", ".join(sorted(heads["model"].unique().cast(pl.String).to_list())[:3])
        raise UserError(f"a page of heads shows one model, but the table holds several ({names}); keep the rows of one")
    if heads.select("layer", "head", "score").is_duplicated().any():
        raise UserError("the table of heads has two rows for one head and score; make it again with `wherewhat heads`")


def _names(heads: pl.DataFrame, manifest: ProfileManifest) -> list[str]:
    """The scores of the table, those that the manifest explains first, in its order."""
    present = set(heads["score"].to_list())
    explained = [name for name in manifest.scores if name in present]
    return explained + sorted(present - set(explained))


def _score(key: str, name: str, manifest: ProfileManifest) -> ScoreView:
    base = name.partition("@")[0]  # the same score at another temperature
    record = manifest.scores.get(name) or manifest.scores.get(base) or ScoreSection()
    words = {field: getattr(record, field) for field in ("asks", "low", "high", "paper", "chance")}
    low, high = (None if end is None else float(end) for end in record.range)
    return ScoreView(key, name, ends=(low, high), kind=record.kind or ATTENTION, **words)


def _columns(order: pl.DataFrame, rows: pl.DataFrame, key: str) -> dict[str, list[Any]]:
    """The numbers of one score in the order of the heads, rounded for the page."""
    names = [name for name in (*NUMBERS, "untrained") if name in rows.columns]
    joined = order.join(rows.select("layer", "head", *names), on=["layer", "head"], how="left", maintain_order="left")
    floats = joined.select(pl.col(name).cast(pl.Float64) for name in names)
    columns = {f"{name}_{key}": [rounded(value) for value in floats[name]] for name in names}
    return {f"untrained_{key}": [None] * order.height} | columns


def _counts(order: pl.DataFrame, rows: pl.DataFrame) -> tuple[list[Counts], list[int | None]]:
    """Every combination of counts that one score's values are based on, and the index of each head's combination."""
    names = [name for name in COUNTS if name in rows.columns]
    answered = rows.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    joined = order.join(answered.select("layer", "head", "value", *names), on=["layer", "head"], how="left")
    by_head = [
        None if row["value"] is None else Counts(*(row.get(name) for name in COUNTS))
        for row in joined.sort("layer", "head").iter_rows(named=True)
    ]
    distinct = list(dict.fromkeys(counts for counts in by_head if counts is not None))
    return distinct, [None if counts is None else distinct.index(counts) for counts in by_head]


def _with_numbers(score: ScoreView, wide: Mapping[str, Sequence[Any]]) -> ScoreView:
    """The score with its drawn range and span, and the largest distance from chance."""
    answers = [number for name in NUMBERS for number in wide[f"{name}_{score.key}"] if number is not None]
    baseline = [number for number in wide[f"untrained_{score.key}"] if number is not None]
    untrained = rounded(sum(baseline) / len(baseline)) if baseline else None
    bottom = min(answers, default=0.0) if score.ends[0] is None else score.ends[0]
    top = max([bottom, *answers]) if score.ends[1] is None else score.ends[1]
    pairs = zip(wide[f"value_{score.key}"], wide[f"chance_{score.key}"], strict=True)
    away = [abs(value - (bottom if chance is None else chance)) for value, chance in pairs if value is not None]
    reach = rounded(max([LEAST_REACH * ((top - bottom) or 1.0), *away]))
    span = _span(answers, (bottom, top))
    return replace(score, range=(bottom, top), answered=len(away), reach=reach, span=span, untrained=untrained)


def _span(answers: Sequence[float], ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of an axis that holds all values, intervals and chance levels, and is never a single point."""
    low, high = min(answers, default=ends[0]), max(answers, default=ends[1])
    wider = 0.0 if high > low else 0.05 * ((ends[1] - ends[0]) or 1.0)
    return low - wider, high + wider

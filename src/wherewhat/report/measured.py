"""The tables of a run, turned once into what a page needs: a column a score, a row a head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.names import head_name, layer_labels
from wherewhat.report.kinds import kind_of
from wherewhat.report.numbers import rests_on, rounded
from wherewhat.report.page import Columns

Manifest = Mapping[str, Any]
NUMBERS = ("value", "low", "high", "chance")
COUNTS = ("texts", "windows", "rows")  # what a value rests on
FEW_ROWS = 30
LEAST_REACH = 0.1  # of a score's range: when all heads are near chance, their colours are pale
NEEDED = ("layer", "head", "score", *NUMBERS)


@dataclass(frozen=True, order=True)
class Counts:
    """How many whole texts, windows of them and query rows a value rests on; nothing where that is not known."""

    texts: int | None = None
    windows: int | None = None
    rows: int | None = None

    @property
    def few(self) -> bool:
        """Whether a value says little about other texts: it rests on one text, or on few rows."""
        return self.texts == 1 or (self.rows is not None and self.rows < FEW_ROWS)

    def __str__(self) -> str:
        return rests_on(self.texts, self.windows, self.rows)


def fresh_windows(manifest: Manifest) -> str:
    """On how much of the texts fresh weights were profiled, in words.

    >>> fresh_windows({"untrained": {"windows": 4}, "texts": {"windows": 100}})
    'one draw on 4 of 100 windows'
    """
    windows, of = ((manifest.get(name) or {}).get("windows") for name in ("untrained", "texts"))
    return f"one draw on {windows} of {of} windows" if windows and of else "one draw on some of the windows"


@dataclass(frozen=True)
class Score:
    """One score as the page tells it: what it asks, and which columns hold its answers."""

    key: str  # its columns are value_<key>, low_<key>, high_<key>, chance_<key>, untrained_<key>, rests_<key>
    name: str
    asks: str = ""
    low: str = ""
    high: str = ""
    range: tuple[float, float] = (0.0, 1.0)  # what is drawn of it
    ends: tuple[float | None, float | None] = (0.0, 1.0)  # what it can be; nothing where it has no end
    paper: str = ""
    chance: str = ""
    kind: str = ""
    answered: int = 0  # heads that have a value
    reach: float = 1.0  # the farthest any head is from chance
    span: tuple[float, float] = (0.0, 1.0)  # everything drawn of it lies between these
    rests: Sequence[Counts] = ()  # what its values rest on, each combination once
    untrained: float | None = None  # the mean over heads of what fresh weights get


@dataclass(frozen=True)
class Measured:
    """One run: its heads in order, its scores in reading order, and where all of it came from."""

    heads: Columns
    scores: Sequence[Score]
    parts: Sequence[str]
    manifest: Manifest

    @property
    def answered(self) -> Sequence[Score]:
        """The scores that at least one head has a value for."""
        return [score for score in self.scores if score.answered]

    def find(self, *names: str) -> list[Score]:
        """The scores of these names, if all of them have values; otherwise none."""
        found = {score.name: score for score in self.answered}
        return [found[name] for name in names] if all(name in found for name in names) else []

    def rests(self, score: Score, row: int) -> Counts:
        """What one head's value of a score rests on."""
        return score.rests[self.heads[f"rests_{score.key}"][row] or 0] if score.rests else Counts()

    @property
    def total(self) -> int | None:
        """How many heads the model has, of which this run may have looked at some; nothing where that is not known."""
        total = (self.manifest.get("model") or {}).get("total_heads")
        return total if isinstance(total, int) else None


def measured(heads: pl.DataFrame, manifest: Manifest) -> Measured:
    """Read the long table of heads into one row a head."""
    _refuse(heads)
    parts = {entry["layer"]: entry.get("part", "") for entry in manifest.get("layers") or ()}
    labels = layer_labels(manifest.get("layers") or ())
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
        if (manifest.get("scores") or {}).get(score.name, {}).get("sides"):
            rows = _without_causal(rows)
        wide |= _columns(order, rows, score.key)
        score_counts, wide[f"rests_{score.key}"] = _counts(order, rows)
        rests[score.key] = score_counts
    known = [replace(_known(score, wide), rests=rests[score.key]) for score in scores]
    return Measured(wide, known, list(dict.fromkeys(wide["part"])), manifest)


def _without_causal(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out what a score of both sides gives under a causal mask, where there is only one: it would mislead."""
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


def _names(heads: pl.DataFrame, manifest: Manifest) -> list[str]:
    """The scores of the table, first those the manifest explains, in its order."""
    there = set(heads["score"].to_list())
    told = [name for name in manifest.get("scores") or {} if name in there]
    return told + sorted(there - set(told))


def _score(key: str, name: str, manifest: Manifest) -> Score:
    known = manifest.get("scores") or {}
    told = known.get(name) or known.get(name.partition("@")[0]) or {}  # the same score at another temperature
    words: dict[str, Any] = {field: str(told.get(field) or "") for field in ("asks", "low", "high", "paper", "chance")}
    low, high = (None if end is None else float(end) for end in told.get("range") or (0.0, 1.0))
    return Score(key, name, ends=(low, high), kind=kind_of(name), **words)


def _columns(order: pl.DataFrame, rows: pl.DataFrame, key: str) -> dict[str, list[Any]]:
    """The numbers of one score, in the order of the heads, as short as they may be written."""
    names = [name for name in (*NUMBERS, "untrained") if name in rows.columns]
    joined = order.join(rows.select("layer", "head", *names), on=["layer", "head"], how="left", maintain_order="left")
    floats = joined.select(pl.col(name).cast(pl.Float64) for name in names)
    columns = {f"{name}_{key}": [rounded(value) for value in floats[name]] for name in names}
    return {f"untrained_{key}": [None] * order.height} | columns


def _counts(order: pl.DataFrame, rows: pl.DataFrame) -> tuple[list[Counts], list[int | None]]:
    """Every combination of counts that one score's values rest on, and by head which of them it is."""
    names = [name for name in COUNTS if name in rows.columns]
    answered = rows.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    joined = order.join(answered.select("layer", "head", "value", *names), on=["layer", "head"], how="left")
    by_head = [
        None if row["value"] is None else Counts(*(row.get(name) for name in COUNTS))
        for row in joined.sort("layer", "head").iter_rows(named=True)
    ]
    distinct = list(dict.fromkeys(counts for counts in by_head if counts is not None))
    return distinct, [None if counts is None else distinct.index(counts) for counts in by_head]


def _known(score: Score, wide: Mapping[str, Sequence[Any]]) -> Score:
    """The score with what its numbers say: how far it is drawn, and how far from chance its heads are."""
    answers = [number for name in NUMBERS for number in wide[f"{name}_{score.key}"] if number is not None]
    fresh = [number for number in wide[f"untrained_{score.key}"] if number is not None]
    untrained = rounded(sum(fresh) / len(fresh)) if fresh else None
    bottom = min(answers, default=0.0) if score.ends[0] is None else score.ends[0]
    top = max([bottom, *answers]) if score.ends[1] is None else score.ends[1]
    pairs = zip(wide[f"value_{score.key}"], wide[f"chance_{score.key}"], strict=True)
    away = [abs(value - (bottom if chance is None else chance)) for value, chance in pairs if value is not None]
    reach = rounded(max([LEAST_REACH * ((top - bottom) or 1.0), *away]))
    span = _span(answers, (bottom, top))
    return replace(score, range=(bottom, top), answered=len(away), reach=reach, span=span, untrained=untrained)


def _span(answers: Sequence[float], ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of an axis that holds all values, intervals and chance levels; never a single point."""
    low, high = min(answers, default=ends[0]), max(answers, default=ends[1])
    wider = 0.0 if high > low else 0.05 * ((ends[1] - ends[0]) or 1.0)
    return low - wider, high + wider

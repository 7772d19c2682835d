"""The rotary frequencies of a run: what each carries in every head, and how speed correlates with behaviour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import rounded
from wherewhat.names import head_name
from wherewhat.report.page import Columns
from wherewhat.tables.manifest.scores import CorrespondenceSection

SHOWN = (
    "query_norm",
    "key_norm",
    "logit",
    "peak",
    "position_part",
    "symbol_part",
    "interaction_part",
    "positional",
    "symbolic",
)
FINE = 1000  # numbers are written as integers; this one stands for the largest of its head and measure
ALL = "all heads"
COLUMNS = ("measure", "step", "steps")
Row = tuple[str, str, float, Sequence[int | None]]  # head, measure, step, steps
NEEDED = ("layer", "head", "frequency", "theta", "measure", "value")
Rho = tuple[float | None, float | None, float | None]  # a rank correlation and the ends of its interval
SPEED = "mean_speed"  # the mean frequency of a head, counted so that larger is faster


@dataclass(frozen=True)
class Spectra:
    """By layer the speed of each frequency, fastest first; by head and measure one number per frequency."""

    thetas: Columns  # layer, theta: a list
    heads: Columns  # name, measure, step, steps: a list

    @property
    def there(self) -> bool:
        """Whether there are frequencies to show."""
        return bool(self.thetas["layer"])


def spectra(frequencies: pl.DataFrame, labels: Mapping[int, str] | None = None) -> Spectra:
    """Read the measures that are drawn from the long table of frequencies."""
    if frequencies.is_empty():
        return Spectra({"layer": [], "theta": []}, {"name": [], "measure": [], "step": [], "steps": []})
    if missing := [name for name in NEEDED if name not in frequencies.columns]:
        raise UserError(f"the table of frequencies lacks {', '.join(missing)}; make it again with `wherewhat heads`")
    turns = frequencies.select("layer", "frequency", "theta").unique().sort("layer", -pl.col("theta"), "frequency")
    speeds = turns.group_by("layer", maintain_order=True).agg("theta")
    thetas = {"layer": speeds["layer"].to_list(), "theta": [list(map(rounded, angles)) for angles in speeds["theta"]]}
    order = turns.select("layer", "frequency", at=pl.int_range(pl.len()).over("layer"))
    known = frequencies.filter(pl.col("value").is_finite() & pl.col("measure").is_in(SHOWN))
    placed = known.join(order, on=["layer", "frequency"]).select("layer", "head", "measure", "at", "value")
    alike = all(angles == thetas["theta"][0] for angles in thetas["theta"])
    counts = dict(zip(thetas["layer"], map(len, thetas["theta"]), strict=True))
    rows = _columns(placed, counts, labels or {}) + (_means(placed, len(thetas["theta"][0])) if alike else [])
    return Spectra(thetas, {title: [row[i] for row in rows] for i, title in enumerate(("name", *COLUMNS))})


def _columns(placed: pl.DataFrame, counts: dict[int, int], labels: Mapping[int, str]) -> list[Row]:
    """One row per head and measure, in order."""
    return [
        (head_name(layer, head, labels), measure, step, _spread(at, steps, counts[layer]))
        for layer, head, measure, at, step, steps in _steps(placed, ["layer", "head", "measure"]).iter_rows()
    ]


def _means(placed: pl.DataFrame, count: int) -> list[Row]:
    """The mean over all heads, for models whose layers share their frequencies."""
    means = placed.group_by("measure", "at").agg(pl.col("value").mean())
    return [
        (ALL, name, step, _spread(at, steps, count)) for name, at, step, steps in _steps(means, ["measure"]).iter_rows()
    ]


def _steps(numbers: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """Numbers as integer multiples of a small step: short to write, and exact enough to draw."""
    largest = pl.col("value").abs().max().over(groups)
    step = pl.when(largest > 0).then((largest / FINE).round_sig_figs(4)).otherwise(1.0)
    whole = (pl.col("value") / pl.col("step")).round().cast(pl.Int64)
    counted = numbers.with_columns(step=step).with_columns(steps=whole).sort(*groups, "at")
    return counted.group_by(groups, maintain_order=True).agg("at", pl.col("step").first(), "steps")


def _spread(at: Sequence[int], steps: Sequence[int], count: int) -> Sequence[int | None]:
    """A number or None for every frequency.

    >>> _spread([0, 2], [5, 7], 3)
    [5, None, 7]
    """
    known = dict(zip(at, steps, strict=True))
    return [known.get(place) for place in range(count)] if len(known) < count else steps


def with_speed(x: str, rho: float | None, low: float | None, high: float | None) -> tuple[str, Rho]:
    """A correlation oriented so that above 0 means more at faster frequencies, and the name of its speed.

    >>> with_speed("mean_frequency", -0.6, -0.7, 0.1)  # as earlier runs stored it: larger is slower
    ('mean_speed', (0.6, -0.1, 0.7))
    >>> with_speed("theta", 0.5, None, None)
    ('theta', (0.5, None, None))
    """
    if x != "mean_frequency":
        return x, (rho, low, high)
    flipped = [None if value is None else -value for value in (rho, high, low)]
    return SPEED, (flipped[0], flipped[1], flipped[2])


def correlations(rows: Sequence[CorrespondenceSection]) -> list[CorrespondenceSection]:
    """The correlations of behaviour with speed that a run has, all in the same orientation."""
    oriented = []
    for row in rows:
        x, (rho, low, high) = with_speed(row.x, row.rho, row.low, row.high)
        oriented.append(replace(row, x=x, rho=rounded(rho), low=rounded(low), high=rounded(high)))
    return oriented

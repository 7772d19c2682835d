"""The rotary frequencies of a run: what each carries in every head, and how speed correlates with behaviour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import interval, rounded, short
from wherewhat.names import head_name
from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import ACCENT, BOTH, INK, LINE, MUTED, PAPER, WHAT, WHERE, colour, names, x, y
from wherewhat.report.blocks.layout import folded
from wherewhat.report.blocks.marks import TIP, dots, estimates, layered, line, named, where, zero_rule
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join
from wherewhat.report.core.page import Columns, Section, Spec, Widget
from wherewhat.tables.manifest.scores import CorrespondenceSection

FINE = 1000  # numbers are written as integers; this one stands for the largest of its head and measure
SPEED = "mean_speed"  # the mean frequency of a head, counted so that larger is faster
EXTENT = 40  # of a vertical axis, so that charts above each other align
PARTS = {"position_part": WHERE, "symbol_part": WHAT, "interaction_part": BOTH}
NORMS = {"query_norm": ACCENT, "key_norm": MUTED}
SCORES = {"positional": WHERE, "symbolic": WHAT}
MEASURES = {
    "positional": "positional score of a plane",
    "symbolic": "symbolic score of a plane",
    "position_part": "variance a plane adds by position",
    "symbol_part": "variance a plane adds by content",
    "interaction_part": "variance a plane adds by both",
    "variance_share": "total variance a plane adds",
    "position_share": "position share of a head",
    "symbol_share": "content share of a head",
    "interaction_share": "share of both together in a head",
    "query_norm": "norm of the query in a plane",
    "key_norm": "norm of the keys in a plane",
    "logit": "mean size of a plane's logit",
    "peak": "largest logit of a plane",
}
SPEEDS = {"theta": "speed of a plane", SPEED: "speed of a head's mean frequency"}


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
    needed = ("layer", "head", "frequency", "theta", "measure", "value")
    if missing := [name for name in needed if name not in frequencies.columns]:
        raise UserError(f"the table of frequencies lacks {', '.join(missing)}; make it again with `wherewhat heads`")
    turns = frequencies.select("layer", "frequency", "theta").unique().sort("layer", -pl.col("theta"), "frequency")
    speeds = turns.group_by("layer", maintain_order=True).agg("theta")
    thetas = {"layer": speeds["layer"].to_list(), "theta": [list(map(rounded, angles)) for angles in speeds["theta"]]}
    order = turns.with_columns(at=pl.int_range(pl.len()).over("layer"), of=pl.len().over("layer")).drop("theta")
    drawn = pl.col("measure").is_in([*NORMS, "logit", "peak", *PARTS, *SCORES])
    placed = frequencies.filter(pl.col("value").is_finite() & drawn).join(order, on=["layer", "frequency"])
    rows = [
        (head_name(layer, head, labels or {}), measure, step, _spread(at, steps, of))
        for layer, head, measure, of, at, step, steps in _steps(placed, ["layer", "head", "measure", "of"]).iter_rows()
    ]
    if all(angles == thetas["theta"][0] for angles in thetas["theta"]):  # only then is there a mean over all heads
        means = _steps(placed.group_by("measure", "of", "at").agg(pl.col("value").mean()), ["measure", "of"])
        rows += [("all heads", name, step, _spread(at, steps, of)) for name, of, at, step, steps in means.iter_rows()]
    heads = {title: [row[i] for row in rows] for i, title in enumerate(("name", "measure", "step", "steps"))}
    return Spectra(thetas, heads)


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


def with_speed(x: str, rho: float | None, low: float | None, high: float | None) -> tuple[str, Sequence[float | None]]:
    """A correlation oriented so that above 0 means more at faster frequencies, and the name of its speed.

    >>> with_speed("mean_frequency", -0.6, -0.7, 0.1)  # as earlier runs stored it: larger is slower
    ('mean_speed', (0.6, -0.1, 0.7))
    >>> with_speed("theta", 0.5, None, None)
    ('theta', (0.5, None, None))
    """
    if x != "mean_frequency":
        return x, (rho, low, high)
    return SPEED, tuple(None if value is None else -value for value in (rho, high, low))


def rotary_frequencies(spectra: Spectra, correspondence: Sequence[CorrespondenceSection]) -> Section | None:
    """What each rotary frequency carries, and how speed correlates with behaviour."""
    rows = []
    for row in correspondence:  # all in the same orientation
        speed, rho = with_speed(row.x, row.rho, row.low, row.high)
        ends = dict(zip(("rho", "low", "high"), map(rounded, rho), strict=True))
        layer, title = "all" if row.layer is None else str(row.layer), MEASURES.get(row.y, row.y)
        rows.append({"layer": layer, "x": speed, "y": row.y, "title": title, **ends, "points": row.points})
    if not spectra.there and not rows:
        return None
    lede = (
        "A rotary plane that rotates fast distinguishes neighbouring slots; a slow one hardly does. "
        "ρ is the rank correlation of speed with behaviour, with its 95 % interval over heads: above 0, faster goes "
        "with more."
    )
    charts = (_spectrum() if spectra.there else {}) | (_correlations() if rows else {})
    tables = {"thetas": spectra.thetas, "spectra": spectra.heads} if spectra.there else {}
    about = {"correspondence": rows}
    widget = Widget("frequencies", charts=charts, tables=tables, about=about, attributes={"class_": "panel"})
    return Section("frequencies", "Rotary frequencies", lede, join(widget, _numbers(rows)), short="Frequencies")


def _numbers(rows: Sequence[Mapping[str, Any]]) -> Html | None:
    """The correlations with speed as numbers, folded."""
    cells = [
        (
            "all layers" if row["layer"] == "all" else f"layer {row['layer']}",
            SPEEDS.get(row["x"], row["x"]),
            row["title"],
            short(row["rho"]),
            interval(row["low"], row["high"]),
            "" if row["points"] is None else str(row["points"]),
        )
        for row in rows
    ]
    headings = ("layer", "with", "behaviour", "ρ", "95 % interval", "points")
    numbers = table(headings, cells, label="Rotary frequencies: correlation of behaviour with speed", look="numbers")
    return folded("These correlations as numbers", numbers, look="") if rows else None


def _correlations() -> dict[str, Spec]:
    """Behaviour with speed over all layers, one line per behaviour with its interval; and layer by layer, as cells.

    In the cells, a dot marks an interval that includes 0.
    """
    rows, down = named("correspondence"), names("title", labelLimit=215)
    ends: dict[str, Any] = {"domain": [-1, 1], "nice": False, "values": [-1, -0.5, 0, 0.5, 1]}
    across = x("rho", "slower  ←  ρ  →  faster", **ends)
    axis = alt.Axis(ticks=False, domain=False, labelAngle=0, labelOverlap=True)
    place = {"x": x("layer", "layer", type="ordinal", sort=None, axis=axis, padding=0), "y": down}
    known = where(rows, rho=...)
    rho = alt.Color("rho", type="quantitative", scale=axes.diverging(), legend=None)
    by_layer = layered(
        rows.mark_rect(fill="transparent", stroke=LINE, strokeWidth=1, tooltip=TIP).encode(**place),
        known.mark_rect(stroke=PAPER, strokeWidth=1, tooltip=TIP).encode(**place, color=rho),
        dots(where(known, side="unclear"), place, size=12, fill=INK, strokeWidth=0, opacity=0.45),
    )
    all_layers = layered(zero_rule(rows, across), *estimates(rows, {"x": across, "y": down}, size=64))
    return {"correspondence": all_layers, "correspondence by layer": by_layer}


def _spectrum() -> dict[str, Spec]:
    """What each frequency carries: norms of query and key, its part of the variances, its scores on its own.

    From the fastest frequency to the slowest; `ticks` are labelled with wavelengths below the last chart only.
    """
    ups: dict[str, tuple[dict[str, Any], Any]] = {
        "norms": (NORMS, y("value", "norm", domainMin=0, nice=True, tickCount=3, minExtent=EXTENT)),
        "shares": (PARTS, y("value", "share", stack="zero", tickCount=4, minExtent=EXTENT)),  # may be negative
        "scores": (SCORES, y("value", "score", domain=[0, 1], nice=False, tickCount=3, minExtent=EXTENT)),
    }
    specs: dict[str, Spec] = {}
    for name, (measures, up) in ups.items():
        last: Any = name == "scores"
        ticks: dict[str, Any] = {"values": alt.ExprRef("ticks"), "labelExpr": "labels[datum.value]", "grid": False}
        axis = alt.Axis(labelOverlap="greedy", labels=last, ticks=last, domain=last, **ticks)
        ends: dict[str, Any] = {"domain": [-0.6, alt.ExprRef("bins - 0.4")], "nice": False, "zero": False}
        across = x("at", "wavelength in tokens, fastest first" if last else None, axis=axis, **ends)
        rows = named("spectrum").transform_filter(f"indexof({list(measures)}, datum.measure) >= 0")
        place = {"x": across, "y": up, "color": colour("measure", measures)}
        marks = [line(rows, place, width=1.8), dots(rows, place, size=30, strokeWidth=0)]
        if name == "shares":
            bars = rows.mark_bar(width=alt.ExprRef("max(1.5, width / bins * 0.74)"), tooltip=TIP)
            stacked = bars.encode(**place, order=alt.Order("order", type="quantitative"))
            marks = [stacked, zero_rule(rows, alt.Y("value", type="quantitative"), along="y")]
        specs[name] = layered(*marks, bins=32, ticks=[], labels=[])
    return specs

"""The page of a sweep: which settings came out best, how the runs learnt, and which failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, interval, short
from wherewhat.report.blocks.axes import ACCENT, MUTED, colour, legend, names, x, y
from wherewhat.report.blocks.chart import LINE, chart, lines
from wherewhat.report.blocks.layout import counted, definitions, note, panel, present
from wherewhat.report.blocks.marks import ROWS, dots, where, whiskers
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose
from wherewhat.report.core.page import Page, Section
from wherewhat.stats.intervals import over_seeds
from wherewhat.tables.files import AGAIN
from wherewhat.tables.manifest.sweep import SweepManifest

MOST_LINES = 7  # of a chart with a colour each; more points are chosen by how well they did
FALLING = ("loss",)  # measures of which less is better
LAYER_TONES = [f"var(--layer-{number})" for number in range(7)]
DONE = "done"


@dataclass(frozen=True)
class SweepData:
    """The finished runs of a sweep, by point and by measure."""

    rows: pl.DataFrame
    manifest: SweepManifest

    @property
    def fields(self) -> list[str]:
        """The settings that change."""
        return list(self.manifest.over)

    @cached_property
    def finished(self) -> pl.DataFrame:
        """The numbers of finished runs, with the name of their point."""
        point = pl.concat_str([pl.format("{}={}", pl.lit(name), pl.col(name)) for name in self.fields], separator=", ")
        named = self.rows.with_columns((point if self.fields else pl.lit("as the recipe says")).alias("point"))
        return named.filter((pl.col("status") == DONE) & pl.col("measure").is_not_null())

    @property
    def measures(self) -> list[str]:
        """What was measured, the one that runs are compared by first."""
        known = self.finished["measure"].unique(maintain_order=True).to_list()
        return sorted(known, key=lambda measure: measure != self.manifest.measure)

    def is_better_low(self, measure: str) -> bool:
        """Whether less of a measure is better."""
        return measure.partition(" ")[0] in FALLING

    def within(self, measure: str) -> tuple[float, float]:
        """What a measure can be: shares are between 0 and 1, a loss is not negative."""
        return (0.0, float("inf")) if self.is_better_low(measure) else (0.0, 1.0)

    def ends(self, measure: str) -> list[dict[str, Any]]:
        """Of every point the last value of a measure, as the mean over seeds with its interval; the best first."""
        last = (
            self.finished.filter(pl.col("measure") == measure).sort("step").group_by("run", maintain_order=True).last()
        )
        rows = []
        for (point,), runs in last.group_by("point", maintain_order=True):
            values = runs["value"].drop_nulls().to_list()
            value, low, high = over_seeds(values, within=self.within(measure)).numbers
            if value is not None:
                settings = {name: runs[name][0] for name in self.fields}
                seconds = runs["seconds"].mean()
                rows.append(
                    {"point": point, **settings, "value": value, "low": low, "high": high, "seeds": len(values)}
                    | {"seconds": seconds, "values": values}
                )
        return sorted(rows, key=lambda row: row["value"], reverse=not self.is_better_low(measure))


def page_of_sweep(rows: pl.DataFrame, manifest: SweepManifest) -> Page:
    """Lay out the points, their curves and the failures."""
    if missing := [name for name in manifest.over if name not in rows.columns]:
        raise UserError(f"sweep.parquet lacks the column '{missing[0]}'; {AGAIN}")
    data, status = SweepData(rows, manifest), manifest.status
    facts = [
        counted(sum(status.values()), "run"),
        *([counted(status["failed"], "failed", "failed")] if status.get("failed") else []),
        counted(len(manifest.seeds), "seed"),
        *([(duration(manifest.seconds), "in all")] if manifest.seconds else []),
    ]
    tried = f" at every combination of {' and '.join(data.fields)}" if data.fields else ""
    return Page(
        title=f"{manifest.recipe}: {' × '.join(data.fields) or 'seeds'}",
        kind="Sweep",
        lede=f"The recipe {manifest.recipe}, trained{tried} from {count(len(manifest.seeds), 'seed')}.",
        facts=facts,
        findings=_findings(data),
        sections=present(
            [
                _points(data) if data.measures else None,
                _fields(data) if data.measures and len(data.fields) > 1 else None,
                _curves(data) if data.measures else None,
                _failures(manifest),
                provenance_section(manifest),
            ]
        ),
    )


def _findings(data: SweepData) -> list[Html]:
    if not data.measures:
        return [prose("No run is finished yet.")]
    measure = data.measures[0]
    rows = data.ends(measure)
    best = rows[0]
    end = "lowest" if data.is_better_low(measure) else "highest"
    sentences = [f"The {end} {measure} is {_written(best)}, with {best['point']}."]
    if len(rows) > 1:
        clear = _apart(best, rows[1])
        other = f"The next is {rows[1]['point']} with {_written(rows[1])}"
        sentences.append(
            f"{other}: {'their intervals do not overlap' if clear else 'the seeds do not tell them apart'}."
        )
    return [prose(sentence) for sentence in sentences]


def _apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two intervals do not overlap."""
    if any(row[end] is None for row in (first, second) for end in ("low", "high")):
        return False
    return bool(first["low"] > second["high"] or second["low"] > first["high"])


def _written(row: Mapping[str, Any]) -> str:
    ends = interval(row["low"], row["high"])
    return f"{short(row['value'])} ({ends})" if ends else short(row["value"])


def _points(data: SweepData) -> Section:
    """Every point with its last values, and the table of all measures."""
    measure = data.measures[0]
    drawn = [{**row, "place": number} for number, row in enumerate(data.ends(measure))]
    single = [
        {"point": row["point"], "place": row["place"], "value": value} for row in drawn for value in row["values"]
    ]
    rows = [{**row, "kind": "mean"} for row in drawn] + [{**row, "kind": "run"} for row in single]
    across = x("value", measure, zero=False, padding=8, tickCount=6)
    place = {"x": across, "y": names("point", order="place", grid=True)}
    means, runs = where(ROWS, kind="mean"), where(ROWS, kind="run")
    picture = chart(
        "points",
        rows,
        [
            dots(runs, place, size=46, fill=MUTED, opacity=0.6),
            whiskers(means, place, stroke=ACCENT),
            dots(means, place, size=90, fill=ACCENT),
        ],
        label=f"the last {measure} of every point, with its interval over seeds",
        tip="{point}: {value:short}",
        height=LINE * len(drawn) + 40,
        figure=True,
        title=f"{data.manifest.recipe}: {measure}",
    )
    lede = "The last value of every point: the mean over seeds with its 95 % interval, and each seed as a small dot."
    return Section("points", "Points", lede, join(panel(picture), _table(data)), "Points")


def _table(data: SweepData) -> Html:
    headings = [*(data.fields or ["point"]), *data.measures, "seeds", "time per run"]
    ends = {measure: {row["point"]: row for row in data.ends(measure)} for measure in data.measures}
    lines_ = []
    for point, row in ends[data.measures[0]].items():
        cells = [str(row[name]) for name in data.fields] or [point]
        cells += [_written(ends[measure][point]) if point in ends[measure] else "–" for measure in data.measures]
        lines_.append([*cells, str(row["seeds"]), duration(row["seconds"] or 0.0)])
    return table(headings, lines_, label="every point with all measures", look="")


def _fields(data: SweepData) -> Section:
    """What each value of each field comes to, over all other fields."""
    measure, cards = data.measures[0], []
    for name in data.fields:
        values = [str(value) for value in data.manifest.over[name]]
        rows = []
        for place, value in enumerate(values):
            points = [row for row in data.ends(measure) if str(row[name]) == _typed(value, row[name])]
            means = [row["value"] for row in points]
            if means:
                rows += [{"name": value, "place": place, "value": each, "kind": "point"} for each in means]
                rows.append({"name": value, "place": place, "value": sum(means) / len(means), "kind": "mean"})
        at = {
            "x": x("value", measure, zero=False, padding=8, tickCount=5),
            "y": names("name", order="place", grid=True),
        }
        picture = chart(
            f"field {name}",
            rows,
            [
                dots(where(ROWS, kind="point"), at, size=36, fill=MUTED, opacity=0.55),
                dots(where(ROWS, kind="mean"), at, size=90, fill=ACCENT),
            ],
            label=f"the last {measure} by {name}",
            tip="{name}: {value:short}",
            height=LINE * len(values) + 40,
        )
        cards.append(panel(picture, title=name))
    lede = "One setting at a time: every point with that value as a small dot, and their mean."
    return Section("fields", "Settings", lede, join(*cards), "Settings")


def _typed(value: str, like: Any) -> str:
    """A value as it was typed, written as the table's column has it."""
    return str(type(like)(value)) if isinstance(like, int | float) else value


def _curves(data: SweepData) -> Section:
    """How the runs learnt: means over seeds with intervals, thin lines single seeds."""
    best = [row["point"] for row in data.ends(data.measures[0])][:MOST_LINES]
    tones = colour(
        "point", dict(zip(best, _tones(len(best)), strict=True)), legend=legend(symbolType="stroke", columns=1)
    )
    views = {}
    for measure in data.measures:
        rows: list[dict[str, Any]] = []
        chosen = data.finished.filter((pl.col("measure") == measure) & pl.col("point").is_in(best))
        for (point, step), runs in chosen.group_by("point", "step", maintain_order=True):
            value, low, high = over_seeds(runs["value"].drop_nulls().to_list(), within=data.within(measure)).numbers
            ends = {"low": value if low is None else low, "high": value if high is None else high}
            rows.append({"point": point, "step": step, "seed": None, "value": value, **ends})
        if len(data.manifest.seeds) > 1:
            rows += chosen.select("point", "step", "seed", "value").to_dicts()
        views[capital(measure)] = sorted(rows, key=lambda row: row["step"])
    picture = lines(
        "curves",
        views,
        x=x("step", "training step", nice=False, grid=False, format=",d", tickCount=6),
        y=y("value", None, zero=False),
        colour=tones,
        seeds=True,
        label="how every measure changes during training",
        tip="{point}, step {step}: {value:short}",
        height=340,
        size=30,
        figure=True,
        title="Learning curves",
    )
    hidden = len(data.ends(data.measures[0])) - len(best)
    text = f"Shown are the best {len(best)} points; the table has all." if hidden else ""
    lede = "Bold lines are means over seeds with their 95 % interval, thin lines single seeds."
    return Section("curves", "Learning curves", lede, panel(picture, note(text) if text else ""), "Curves")


def _tones(lines_: int) -> Sequence[str]:
    """So many colours, as far apart as the palette has them."""
    if lines_ == 1:
        return [LAYER_TONES[3]]
    return [LAYER_TONES[round(number * (len(LAYER_TONES) - 1) / (lines_ - 1))] for number in range(lines_)]


def _failures(manifest: SweepManifest) -> Section | None:
    if not manifest.failures:
        return None
    listed = definitions((failure.run, prose(failure.sentence)) for failure in manifest.failures)
    lede = "These runs have no result. The same command with --resume tries them again."
    return Section("failures", "Failed runs", lede, panel(listed), "Failures")

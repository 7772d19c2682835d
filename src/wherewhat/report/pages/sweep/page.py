"""The page of a sweep: which settings came out best, how the runs learnt, and which failed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, interval, listed, short
from wherewhat.report.blocks.axes import ACCENT, MUTED, colour, legend, names, x, y
from wherewhat.report.blocks.chart import LINE, ViewRows, chart, lines
from wherewhat.report.blocks.layout import counted, definitions, note, panel, present
from wherewhat.report.blocks.marks import ROWS, dots, line, named, rule, where, whiskers
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds, wilson
from wherewhat.tables.files import AGAIN
from wherewhat.tables.manifest.sweep import SweepManifest

MOST_LINES = 7  # of a chart with a colour each; more points are chosen by how well they did
FALLING = ("loss", "error")  # measures of which less is better
LAYER_TONES = [f"var(--layer-{number})" for number in range(7)]
DONE = "done"
OF_LENGTH = re.compile(r"(.+) length (\d+(?:x\d+)*)")  # a measure of the samples of one length, or of several lengths
TABLE = "sweep.parquet"  # beside the page


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
        """What was measured over all lengths, the one that runs are compared by first."""
        known = self.finished["measure"].unique(maintain_order=True).to_list()
        whole = [measure for measure in known if not OF_LENGTH.fullmatch(measure)]
        return sorted(whole, key=lambda measure: measure != self.manifest.measure)

    def is_better_low(self, measure: str) -> bool:
        """Whether less of a measure is better."""
        return measure.partition(" ")[0] in FALLING

    def within(self, measure: str) -> tuple[float, float]:
        """What a measure can be: shares are between 0 and 1, a loss is not negative."""
        return (0.0, float("inf")) if self.is_better_low(measure) else (0.0, 1.0)

    def estimate(self, values: Sequence[float], measure: str, samples: int | None = None) -> Estimate:
        """The mean over seeds with its interval; of a single seed, the interval over test samples where it has one."""
        estimate = over_seeds(values, within=self.within(measure))
        samples = self.manifest.samples.get(measure) if samples is None else samples
        if len(values) != 1 or not samples:
            return estimate
        return Estimate(estimate.value, *wilson(estimate.value, samples))

    @property
    def intervals(self) -> str:
        """What intervals are over."""
        return "seeds" if len(self.manifest.seeds) > 1 else "test samples"

    @cached_property
    def last(self) -> pl.DataFrame:
        """The last value of every measure of every finished run."""
        return self.finished.sort("step").group_by("run", "measure", maintain_order=True).last()

    def ends(self, measure: str) -> list[dict[str, Any]]:
        """Of every point the last value of a measure, as the mean over seeds with its interval; the best first."""
        rows = []
        for (point,), runs in self.last.filter(measure=measure).group_by("point", maintain_order=True):
            values = runs["value"].drop_nulls().to_list()
            value, low, high = self.estimate(values, measure).numbers
            if value is not None:
                settings = {name: runs[name][0] for name in self.fields}
                seconds = runs["seconds"].mean()
                rows.append(
                    {"point": point, **settings, "value": value, "low": low, "high": high, "seeds": len(values)}
                    | {"seconds": seconds, "values": values}
                )
        return sorted(rows, key=lambda row: row["value"], reverse=not self.is_better_low(measure))

    def by_length(self, kind: str, lengths: Mapping[str, int]) -> list[dict[str, Any]]:
        """Of every point the last values of a kind of measure, from short to long; `lengths` has them by measure."""
        samples = {measure: self.manifest.samples.get(measure, 0) for measure in lengths}
        weight = pl.col("samples").clip(1)
        of_runs = (
            self.last.filter(pl.col("measure").is_in(list(lengths)))
            .with_columns(
                length=pl.col("measure").replace_strict(lengths, return_dtype=pl.Int64),
                samples=pl.col("measure").replace_strict(samples, return_dtype=pl.Int64),
            )
            .group_by("point", "run", "length", maintain_order=True)
            .agg(value=(pl.col("value") * weight).sum() / weight.sum(), samples=pl.col("samples").sum())
        )
        rows = []
        for (point, length), runs in of_runs.sort("length", maintain_order=True).group_by(
            "point", "length", maintain_order=True
        ):
            value, low, high = self.estimate(runs["value"].drop_nulls().to_list(), kind, runs["samples"][0]).numbers
            rows.append({"point": point, "length": length, "value": value, "low": low, "high": high})
        return rows


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
    what = "every value" if len(data.fields) == 1 else "every combination"
    tried = f" with {what} of {' and '.join(data.fields)}" if data.fields else ""
    notes = [f"The settings below are those of all runs; each has its own {listed([*data.fields, 'seed'])}."]
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
                _lengths(data) if data.measures else None,
                _curves(data) if data.measures else None,
                _failures(manifest),
                provenance_section(manifest, notes=notes),
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
    if len(rows) > 1 and best["value"] == rows[-1]["value"]:
        sentences = [f"All {len(rows)} points end with the same {measure}, {_written(best)}."]
    else:
        sentences = [f"The {end} {measure} is {_written(best)}, with {best['point']}."]
        sentences += [_second(data, best, rows[1])] if len(rows) > 1 else []
    if measure in data.manifest.chance:
        sentences.append(_above_chance(rows, data.manifest.chance[measure]))
    return [prose(sentence) for sentence in sentences]


def _second(data: SweepData, best: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The point after the best, and whether they can be told apart."""
    relation = (
        "their intervals do not overlap" if _apart(best, second) else f"the {data.intervals} do not tell them apart"
    )
    return f"The next is {second['point']} with {_written(second)}: {relation}."


def _above_chance(rows: Sequence[Mapping[str, Any]], chance: float) -> str:
    """How many points are clearly above what guessing gives."""
    if any(row["low"] is None for row in rows):
        return f"Chance is {short(chance)}."
    above = sum(row["low"] > chance for row in rows)
    if above == len(rows):
        return f"Chance is {short(chance)}: {'all points are' if above > 1 else 'it is'} clearly above it."
    some = "no point is" if not above else count(above, "point is", "points are")
    return f"Chance is {short(chance)}: {some} clearly above it."


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
    place = {"x": across, "y": names("point", order="place", grid=True, labelLimit=300)}
    means, runs = where(ROWS, kind="mean"), where(ROWS, kind="run")
    guessed = measure in data.manifest.chance
    rows += [{"point": "chance", "value": data.manifest.chance[measure], "kind": "chance"}] if guessed else []
    picture = chart(
        "points",
        rows,
        [
            *([rule(where(ROWS, kind="chance"), {"x": across})] if guessed else []),
            *([dots(runs, place, size=46, fill=MUTED, opacity=0.6)] if len(data.manifest.seeds) > 1 else []),
            *([whiskers(means, place, stroke=ACCENT)] if any(row["low"] is not None for row in drawn) else []),
            dots(means, place, size=90, fill=ACCENT),
        ],
        label=f"the last {measure} of every point, with its interval over {data.intervals}",
        tip="{point}: {value:short}",
        height=LINE * len(drawn) + 40,
        figure=True,
        title=f"{data.manifest.recipe}: {measure}",
    )
    if len(data.manifest.seeds) > 1:
        lede = "The last value of every point: the mean over seeds with its 95 % interval, each seed as a small dot."
    elif measure in data.manifest.samples:
        lede = "The last value of every point, with its 95 % interval over test samples. Other seeds may differ more."
    else:
        lede = "The last value of every point. There is one seed, so nothing is known of how much seeds differ."
    lede += " The dotted line is chance." if guessed else ""
    whole = tag("p", "All numbers of all runs: ", tag("a", TABLE, href=TABLE, download=True), class_="note")
    return Section("points", "Points", lede, join(panel(picture), _table(data), whole), "Points")


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
    seeds, upward, views = len(data.manifest.seeds) > 1, y("value", None, zero=False), dict[str, ViewRows]()
    for measure in data.measures:
        rows: list[dict[str, Any]] = []
        chosen = data.finished.filter((pl.col("measure") == measure) & pl.col("point").is_in(best))
        for (point, step), runs in chosen.group_by("point", "step", maintain_order=True):
            value, low, high = data.estimate(runs["value"].drop_nulls().to_list(), measure).numbers
            ends = {"low": value if low is None else low, "high": value if high is None else high}
            rows.append({"point": point, "step": step, "seed": None, "value": value, **ends})
        if seeds:
            rows += chosen.select("point", "step", "seed", "value").to_dicts()
        chance = [{"value": data.manifest.chance[measure]}] if measure in data.manifest.chance else []
        views[capital(measure)] = ViewRows(sorted(rows, key=lambda row: row["step"]), {}, {"chance": chance})
    picture = lines(
        "curves",
        views,
        x=x("step", "training step", nice=False, grid=False, format=",d", tickCount=6),
        y=upward,
        colour=_colours(best),
        seeds=seeds,
        below=[rule(named("chance"), {"y": upward})] if data.manifest.chance else [],
        label="how every measure changes during training",
        tip="{point}, step {step}: {value:short}",
        height=340,
        size=30,
        figure=True,
        title="Learning curves",
    )
    hidden = len(data.ends(data.measures[0])) - len(best)
    text = f"Shown are the best {len(best)} points; the table has all." if hidden else ""
    lede = f"How the measures change, with 95 % intervals over {data.intervals}."
    lede += " Bold lines are means over seeds, thin lines single seeds." if seeds else ""
    lede += " The dotted line is chance." if data.manifest.chance else ""
    return Section("curves", "Learning curves", lede, panel(picture, note(text) if text else ""), "Curves")


def _lengths(data: SweepData) -> Section | None:
    """How well the best points answer samples of every length, if that was measured."""
    measures = data.finished["measure"].unique(maintain_order=True)
    parts = {measure: part for measure in measures if (part := OF_LENGTH.fullmatch(measure))}
    if not parts:
        return None
    best, views = [row["point"] for row in data.ends(data.measures[0])][:MOST_LINES], dict[str, ViewRows]()
    for kind in dict.fromkeys(part[1] for part in parts.values()):
        lengths = {name: max(map(int, part[2].split("x"))) for name, part in parts.items() if part[1] == kind}
        chances = {
            length: data.manifest.chance[name] for name, length in lengths.items() if name in data.manifest.chance
        }
        chance = [{"length": length, "value": value} for length, value in sorted(chances.items())]
        rows = [row for row in data.by_length(kind, lengths) if row["point"] in best]
        views[capital(kind)] = ViewRows(rows, {}, {"chance": chance})
    across, upward = x("length", "length", nice=False, grid=False, format="d", tickCount=8), y("value", None, zero=True)
    trained = _longest_trained(data.manifest)
    below = [line(named("chance"), {"x": across, "y": upward}, width=1.2, strokeDash=[2, 3], stroke=MUTED)]
    picture = lines(
        "lengths",
        views,
        x=across,
        y=upward,
        colour=_colours(best),
        intervals="whiskers",
        below=[*(below if data.manifest.chance else []), *([rule(named("trained"), {"x": across})] if trained else [])],
        tables={"trained": [{"length": trained}]} if trained else {},
        label="the last value of every measure by the length of samples",
        tip="{point}, length {length}: {value:short}",
        height=340,
        size=40,
        figure=True,
        title="By length",
    )
    lede = f"The last values for samples of each length, with 95 % intervals over {data.intervals}."
    lede += f" Nets were trained on lengths up to {trained}, the vertical line." if trained else ""
    lede += " The dotted line is chance." if data.manifest.chance else ""
    return Section("lengths", "By length", lede, panel(picture), "Lengths")


def _longest_trained(manifest: SweepManifest) -> int | None:
    """The longest length that all runs were trained on, if they have one in common."""
    tasks = manifest.settings.get("tasks")
    given = [task.get("train_length") for task in tasks or () if isinstance(task, Mapping)]
    changes = any(name.rpartition(".")[2] in ("train_length", "tasks") for name in manifest.over)
    return given[0] if len(given) == 1 and isinstance(given[0], int) and not changes else None


def _colours(points: Sequence[str]) -> Any:
    """A colour per point."""
    look = legend(symbolType="stroke", columns=1, labelLimit=500)
    return colour("point", dict(zip(points, _tones(len(points)), strict=True)), legend=look)


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

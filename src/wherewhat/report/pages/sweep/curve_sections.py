"""How the points of a sweep learnt, and how they do at other lengths."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.report.blocks.axes import MUTED, colour, legend, x, y
from wherewhat.report.blocks.chart import ViewRows, lines
from wherewhat.report.blocks.layout import note, panel
from wherewhat.report.blocks.marks import line, named, rule
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.core.page import Section
from wherewhat.report.pages.sweep.sweep_data import OF_LENGTH, SweepData
from wherewhat.tables.manifest.sweep import SweepManifest

MOST_LINES = 7  # of a chart with a colour each; more points are chosen by how well they did
LAYER_TONES = [f"var(--layer-{number})" for number in range(7)]


def curves_section(data: SweepData) -> Section:
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
        colour=colours_of(best),
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


def lengths_section(data: SweepData) -> Section | None:
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
        colour=colours_of(best),
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


def colours_of(points: Sequence[str]) -> Any:
    """A colour per point."""
    look = legend(symbolType="stroke", columns=1, labelLimit=500)
    return colour("point", dict(zip(points, tones_of(len(points)), strict=True)), legend=look)


def tones_of(lines_: int) -> Sequence[str]:
    """So many colours, as far apart as the palette has them."""
    if lines_ == 1:
        return [LAYER_TONES[3]]
    return [LAYER_TONES[round(number * (len(LAYER_TONES) - 1) / (lines_ - 1))] for number in range(lines_)]

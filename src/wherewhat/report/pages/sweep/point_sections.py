"""The points of a sweep: how well each did, by field, and which failed."""

from typing import Any

from wherewhat.formatting import duration
from wherewhat.report.blocks.axes import ACCENT, MUTED, names, x
from wherewhat.report.blocks.chart import LINE, chart
from wherewhat.report.blocks.layout import definitions, panel
from wherewhat.report.blocks.marks import ROWS, dots, rule, where, whiskers
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Section
from wherewhat.report.pages.sweep.findings import _written
from wherewhat.report.pages.sweep.sweep_data import SweepData
from wherewhat.tables.manifest.sweep import SweepManifest

TABLE = "sweep.parquet"  # beside the page


def points_section(data: SweepData) -> Section:
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
    return Section("points", "Points", lede, join(panel(picture), table_of_points(data), whole), "Points")


def table_of_points(data: SweepData) -> Html:
    headings = [*(data.fields or ["point"]), *data.measures, "seeds", "time per run"]
    ends = {measure: {row["point"]: row for row in data.ends(measure)} for measure in data.measures}
    lines_ = []
    for point, row in ends[data.measures[0]].items():
        cells = [str(row[name]) for name in data.fields] or [point]
        cells += [_written(ends[measure][point]) if point in ends[measure] else "–" for measure in data.measures]
        lines_.append([*cells, str(row["seeds"]), duration(row["seconds"] or 0.0)])
    return table(headings, lines_, label="every point with all measures", look="")


def fields_section(data: SweepData) -> Section:
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


def failures_section(manifest: SweepManifest) -> Section | None:
    if not manifest.failures:
        return None
    listed = definitions((failure.run, prose(failure.sentence)) for failure in manifest.failures)
    lede = "These runs have no result. The same command with --resume tries them again."
    return Section("failures", "Failed runs", lede, panel(listed), "Failures")

"""Charts of what tables have learnt of a layout: its correlation, its growth, cosines of rows, modules. Torch-free."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isnan
from typing import Any

import altair as alt

from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import LINE, MUTED, colour, end, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, heat_map
from wherewhat.report.blocks.marks import ROWS, dots, line, named, rule, whiskers
from wherewhat.report.core.page import Chart
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.charts import CIRCLES, STROKES, block_tints, numbers_of, over_training, tints
from wherewhat.studies.latin_square.names import (
    CENTRED,
    DISTANCE,
    HEADINGS,
    LAYOUT,
    LEARNED,
    MODULES,
    NETWORK,
    SINUSOID,
    SQUARES,
    accuracy,
    block_name,
    chance,
    label,
    modules_cell,
    name_of,
    table_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection
from wherewhat.tasks.latin import CELLS, SIDE

NAMES = legend(symbolType="circle", columns=2, labelLimit=190)
Rows = Iterator[Mapping[str, Any]]
STRETCHED = [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6]
TITLES = {LAYOUT: "Layout", DISTANCE: "Distance", CENTRED: "Centred Procrustes"}


def layout_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """The layout correlation of every table: hollow where it starts, filled where it ends; grey are random tables."""
    arms = [arm for arm in about.arms if arm in about.sigmas]
    across = x("value", HEADINGS[LAYOUT], domainMin=-0.25, nice=False, tickCount=5, padding=10)
    tint = colour("block", block_tints(about.layers or 1), legend=CIRCLES)
    place = {"x": across, "y": names("name", labelLimit=170, grid=True), "color": tint}
    band = named("random").mark_rect(fill=MUTED, opacity=0.14).encode(**end({}, "x"))
    layers = [
        band,
        rule(named("sinusoid"), {"x": across}, colour=shade("chance", 5)),
        line(ROWS, {**place, "detail": ["name:N", "block:N"]}, width=1.4, opacity=0.5),
        dots(marks.where(ROWS, when="start"), place, size=44, hollow=True, strokeWidth=1.4),
        dots(marks.where(ROWS, when="end"), place, size=84),
    ]
    theirs = table.row(SINUSOID, chance(LAYOUT))
    tables = {
        "random": [random_range(table, LAYOUT)],
        "sinusoid": [{"value": theirs["value"]}] if theirs else [],
    }
    look: dict[str, Any] = {"height": 70 + 30 * len(arms), "figure": True, "title": "Do tables recover the grid?"}
    words, tip = "layout correlation of every table", "{name}, {block}, {when}: {value:short}"
    return chart("layout", list(layout_rows(table, arms, about)), layers, tip=tip, label=words, tables=tables, **look)


def layout_rows(table: ResultTable, arms: Sequence[str], about: LatinSquareSection) -> Rows:
    """Where tables start, and where they end."""
    for arm in arms:
        for block in range(about.layers or 1):
            for when, step in (("start", 0.0), ("end", None)):
                if row := table.row(name_of(SQUARES, arm), table_cell(LAYOUT, block, step)):
                    yield {"name": label(arm), "block": block_name(block), "when": when, **numbers_of(row)}


def growth_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Measures of tables over training, a view per measure and block; grey are random tables."""
    arms = [arm for arm in about.arms if arm in about.sigmas and about.kinds.get(arm) == LEARNED]
    views = {}
    for block, (measure, title) in product(range(about.layers or 1), TITLES.items()):
        rows, ends = list(growth_rows(table, arms, measure, block)), (0.0, float(about.steps or 1))
        random = [{"at": at, **random_range(table, measure)} for at in ends]
        views[f"{title}, {block_name(block)}"] = ViewRows(
            rows, words={"axis": HEADINGS[measure]}, tables={"random": random}
        )
    across = x("at", "training step", nice=False, grid=False, tickCount=5, padding=6)
    up = y("value", "{axis}", nice=True, tickCount=5)
    place = {"x": across, "y": up, "color": colour("name", tints(arms), legend=STROKES)}
    layers = [
        named("random").mark_area(fill=MUTED, opacity=0.14).encode(**end({"x": across}, "y")),
        *([marks.band(ROWS, place)] if (about.seeds or 1) > 1 else []),  # a single table has no interval
        line(ROWS, place),
        dots(ROWS, place, size=34),
    ]
    look: dict[str, Any] = {"height": 300, "figure": True, "title": "Tables over training"}
    tip = "{name}, step {at:,.0f}: {value:short}"
    return chart("growth", views, layers, tip=tip, label="measures of tables over training", **look)


def growth_rows(table: ResultTable, arms: Sequence[str], measure: str, block: int) -> Rows:
    """A measure of a block's table by step."""
    for arm in arms:
        for row in over_training(table, arm, table_cell(measure, block)).iter_rows(named=True):
            yield {"name": label(arm), "at": row["at"], **numbers_of(row)}


def scatter_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Test accuracy by the best table of a net, a dot per net; grey are random tables."""
    arms = [arm for arm in about.arms if arm in about.sigmas]
    views = {
        TITLES[measure]: ViewRows(
            list(run_rows(table, arms, measure, about.layers or 1)),
            words={"axis": HEADINGS[measure]},
            tables={"random": [random_range(table, measure)]},
        )
        for measure in (LAYOUT, CENTRED)
    }
    across, up = x("value", "{axis}, best block", tickCount=5, padding=8), share(y, "accuracy", "test accuracy")
    place = {"x": across, "y": up, "color": colour("name", tints(arms), legend=NAMES)}
    band = named("random").mark_rect(fill=MUTED, opacity=0.14).encode(**end({}, "x"))
    look: dict[str, Any] = {"height": 320, "figure": True, "title": "Tables and test accuracy"}
    tip, words = "{name}, seed {seed}: {value:short}, {accuracy:share}", "test accuracy by similarity of tables"
    return chart("tables", views, [band, dots(ROWS, place, size=74)], tip=tip, label=words, **look)


def run_rows(table: ResultTable, arms: Sequence[str], measure: str, layers: int) -> Rows:
    """Of every net, its test accuracy and the highest value of a measure among its tables."""
    for arm in arms:
        for seed in table.seeds:
            cells = [accuracy(), *(table_cell(measure, block) for block in range(layers))]
            share_, *values = (table.value(name_of(SQUARES, arm), cell, seed) for cell in cells)
            if not isnan(share_) and not any(map(isnan, values)):
                yield {"name": label(arm), "seed": seed, "value": max(values), "accuracy": share_}


def random_range(table: ResultTable, measure: str) -> dict[str, Any]:
    """The range of 95 % of random tables."""
    row = table.row("", chance(measure)) or {}
    return {name: row.get(name) for name in ("low", "high")}


def cosine_map(table: ResultTable, arm: str, subject: str, item: str) -> Chart | None:
    """The cosines of all pairs of rows of one table, cell by cell; None if there is none."""
    rows = table.where(part="cosine", subject=subject, item=item)
    if rows.is_empty():
        return None
    first = rows.filter(seed=rows["seed"].min()) if rows["seed"].null_count() == 0 else rows
    cells = [cosine_cell(int(at), value) for at, value in first.sort("at").select("at", "value").iter_rows()]
    ordinal: dict[str, Any] = {"type": "ordinal", "paddingInner": 0, "axis": None}
    return heat_map(
        f"cosines_{arm}_{item}".replace(" ", "_").replace(".", ""),
        cells,
        x=x("there", **ordinal),
        y=y("here", **ordinal),
        scale=cosine_scale(),
        edge=0.5,
        unclear="datum.shared",
        label=f"cosines of the rows of {label(arm)}",
        tip="{from} and {to}: {value:short}",
        height=210,
        figure=True,
        width=300,
        title=f"{label(arm)}: cosines of rows",
    )


def cosine_scale() -> alt.Scale:
    """Blue below 0, orange above; cosines of different cells are rarely beyond its ends."""
    colours = [shade("chance", step) for step in range(7)]
    return alt.Scale(domain=STRETCHED, range=colours, interpolate="lab", clamp=True)


def cosine_cell(number: int, value: float) -> dict[str, Any]:
    """A pair of cells by their places, counted from 1 for people."""
    here, there = divmod(number, CELLS)
    places = [f"row {cell // SIDE + 1} column {cell % SIDE + 1}" for cell in (here, there)]
    shared = here != there and (here // SIDE == there // SIDE or here % SIDE == there % SIDE)
    return {"here": here, "there": there, "value": value, "from": places[0], "to": places[1], "shared": shared}


def network_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """By how much rows of nodes are more alike inside modules; grey are random tables."""
    arms = [arm for arm in about.network_arms if arm in about.sigmas]
    cell = modules_cell()
    rows = [{"name": label(arm), **numbers_of(row)} for arm in arms if (row := table.row(name_of(NETWORK, arm), cell))]
    across = x("value", "cosine inside modules minus across", zero=True, tickCount=5, padding=10)
    place = {"x": across, "y": names("name", grid=True), "color": colour("name", tints(arms))}
    layers = [
        named("random").mark_rect(fill=MUTED, opacity=0.14).encode(**end({}, "x")),
        rule(named("zero"), {"x": across}, dash=(1, 0), colour=LINE),
        whiskers(ROWS, place),
        dots(ROWS, place, size=90),
    ]
    tables = {"random": [random_range(table, MODULES)], "zero": [{"value": 0.0}]}
    look: dict[str, Any] = {"height": 60 + 34 * len(arms), "figure": True, "title": "Modules in a simulated network"}
    tip, words = "{name}: {value:short}", "cosine of table rows inside modules minus across"
    return chart("network", rows, layers, tip=tip, label=words, tables=tables, **look)

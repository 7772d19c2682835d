"""The page of the control experiment: four cells compared with their controls."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import polars as pl

from wherewhat.formatting import interval, large, short
from wherewhat.report.blocks.axes import BOTH, INK, MUTED, WHAT, WHERE, colour, grouped_names, legend, shape, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, scatter
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import columns, folded, key, note, panel
from wherewhat.report.blocks.marks import ROWS, TIP, dots, estimates, text_labels, where, whiskers, zero_rule
from wherewhat.report.blocks.numbers import side
from wherewhat.report.blocks.provenance import provenance_section, texts_section
from wherewhat.report.blocks.rows import Row
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, prose, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.control.settings import BEHAVIOUR, CONTROLS, KINDS, MEAN, MEASURES, OPERATIONS, SIDES, band_size
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import ControlManifest

ITEM = r"^(?<operation>\w+) (?<side>\w+):(?<share>.+)$"  # of the result table, such as `drop high:0.25`
CELLS = ("fast, positional heads", "slow, positional heads", "slow, symbolic heads", "fast, symbolic heads")
LINES = [f"{cell}{line}" for cell in CELLS for line in ("", *(f"|{control}" for control in CONTROLS), "| ")][:-1]
LINE = 17  # pixels per line
SHAPES = {"random bands": "circle", "random heads": "diamond"}
KIND = {"positional": WHERE, "symbolic": WHAT, "other": BOTH}
MARKS = {
    "where": "positional heads",
    "what": "symbolic heads",
    "unclear": "one draw of a control; hollow if its norm is not equal",
    "tick": "mean of the draws of equal norm",
}
SEVERAL = {"0.25": "quarters", "0.5": "halves"}
CHANGE = {"loss": "change, nats per token", "copy": "change of the share copied", "induction": "change, nats per token"}
USE = {"theta": "speed of a frequency", "mean_speed": "speed of the mean frequency"}
MODELS = {"correlation": "", "unlearnt": ", redrawn weights"}  # parts of the result with correlations


def page(result: pl.DataFrame, manifest: ControlManifest) -> Page:
    """Lay out what happens when bands are removed from heads of both kinds."""
    results, about, near = ResultTable(result), manifest.about, float(manifest.settings.get("near", 0.1))
    points = _points(result, near)
    heads = results.where(part="heads").with_columns(pl.col("measure").str.extract("^([^:]*)"))
    heads = heads.pivot("measure", index=["item", "subject"], values="value")
    size = band_size(float(points["share"][0]))
    facts = [(f"{len(about.chosen.get(kind, ()))} of {about.model.heads}", f"{kind} heads") for kind in KINDS]
    facts += [(f"{about.texts.count:,}", "texts")] if about.texts.count else []
    facts += [(f"{points.filter(pl.col('mark') != 'cell', measure='loss').height:,}", "controls")]
    facts += [(large(about.model.parameters), "parameters")] if about.model.parameters else []
    return Page(
        title=about.model.id,
        kind="Control: do fast and slow frequencies matter where they should?",
        lede="Fast frequencies are thought to serve heads that attend by position, slow frequencies heads that attend "
        "by content. Here each band is removed from each kind of head, and compared with removing as much at random.",
        facts=facts,
        sections=[
            _cells(results, points, manifest),
            _norms(points),
            _use(result, heads, size),
            claims_section(manifest.claims),
            _selected_heads(heads, about.rule, size),
            _matched_norms(results, points, near),
            texts_section(about.texts),
            provenance_section(manifest, model=about.model, texts=about.texts),
        ],
    )


def _points(result: pl.DataFrame, near: float) -> pl.DataFrame:
    """Every cell and every draw of a control, by measure; `near` is the tolerance for equal norms."""
    rows, draw = result.filter(pl.col("part").is_in(["cells", *CONTROLS])), ["part", "subject", "item", "at"]
    norms = rows.filter(pl.col("measure").is_in(["norm", "ratio"])).pivot("measure", index=draw, values="value")
    points = rows.filter(pl.col("measure").is_in(list(MEASURES)))
    points = points.join(norms, on=draw, how="left", nulls_equal=True, maintain_order="left")
    points = points.with_columns(of=pl.col("item").str.extract_groups(ITEM)).unnest("of").rename({"subject": "kind"})
    is_cell, equal, norm = pl.col("part") == "cells", (pl.col("ratio") - 1).abs() <= near, pl.col("norm")
    middle = (norm.filter(~is_cell).min() * norm.filter(~is_cell).max()).sqrt()  # of a logarithmic axis
    label = pl.format("{}, {}", pl.col("side").replace(SIDES), "kind")
    return points.with_columns(
        norm=100 * norm,
        left=norm > middle,
        label=label,
        line=label + pl.lit(" heads") + pl.when(is_cell).then(pl.lit("")).otherwise(pl.lit("|") + pl.col("part")),
        mark=pl.when(is_cell).then(pl.lit("cell")).when(equal).then(pl.lit("equal")).otherwise(pl.lit("unequal")),
    )


def _tip(point: Row) -> str:
    if point["mark"] == "mean":
        return f"{point['part']}, mean of the draws of equal norm: {short(point['value'])}"
    draw = point["mark"] != "cell"
    more = f", {short(point['ratio'])} times the norm" if draw else f" ({interval(point['low'], point['high'])})"
    return f"{point['part' if draw else 'label']}: {short(point['value'])}{more}"


def _views(points: pl.DataFrame, measure: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """The points by operation and, if there are several, band size, with a title each."""
    sizes = points["share"].unique(maintain_order=True).to_list()
    for share, (operation, name) in product(sizes, OPERATIONS.items()):
        size = SEVERAL.get(share, band_size(float(share)))
        title = f"{name}, {size}" if len(sizes) > 1 else name
        yield title, points.filter(measure=measure, operation=operation, share=share)


def _cells(results: ResultTable, points: pl.DataFrame, manifest: ControlManifest) -> Section:
    """The cells and their controls, with the verdict on every claim."""
    panels = {}
    for measure in points["measure"].unique(maintain_order=True):
        before = results.value("", Cell("before", measure))
        level = f"{100 * before:.0f} % copied" if measure == "copy" else f"{short(before)} nats per token"
        words = {"title": f"Effect on {MEASURES[measure]}", "text": f"Before the change: {level}."}
        panels[measure] = panel(_cells_chart(measure, points), **words)
    second = "copy" if manifest.about.copying == "induction" else "induction"
    other = folded("Another measure of copying", panels.pop(second)) if second in panels else None
    verdicts = [
        tag("li", tag("span", claim.verdict, class_="verdict", data_verdict=claim.verdict), " ", prose(claim.claim))
        for claim in manifest.claims
    ]
    aside = tag("aside", tag("h3", "Verdicts"), tag("ul", *verdicts, class_="cards"), class_="worth")
    look = "cards" if len(panels) > 1 else "whole"
    left = tag("div", columns(*panels.values(), look=look), key(*MARKS.items(), look="key"), other)
    lede = (
        "A coloured dot is a cell: one band of one kind of heads, with its 95 % interval over texts. Below it are its "
        "controls, one dot per draw: other frequencies of the same heads, and the same band in as many other heads. A "
        "cell matters only if its effect exceeds both."
    )
    return Section("cells", "Four cells and their controls", lede, columns(left, aside, look="first"), short="Cells")


def _cells_chart(measure: str, points: pl.DataFrame) -> Chart:
    """One line per cell with its interval, and below it every draw of its controls and the mean of equal norm."""
    views = {}
    for title, its in _views(points, measure):
        by_line = its.filter(mark="equal").group_by("line", "part", maintain_order=True)
        views[title] = pl.concat([its, by_line.agg(pl.mean("value"), mark=pl.lit("mean"))], how="diagonal")
    place = {"x": x("value", CHANGE[measure], nice=True, zero=True, tickCount=5), "y": grouped_names("line", LINES)}
    cells, equal, unequal, mean = (where(ROWS, mark=mark) for mark in ("cell", "equal", "unequal", "mean"))
    layers = [
        zero_rule(ROWS, place["x"]),
        dots(unequal, place, size=34, opacity=0.55, hollow=True, stroke=MUTED),
        dots(equal, place, size=34, opacity=0.55, fill=MUTED, strokeWidth=0),
        mean.mark_tick(thickness=2.2, size=13, color=INK, tooltip=TIP).encode(**place),
        *estimates(cells, place, size=92, colour=colour("kind", KIND)),
    ]
    label = f"Change of {MEASURES[measure]} in the four cells and under their controls"
    picture = {"title": f"Effect on {MEASURES[measure]}", "subtitle": "of bands of frequencies in one kind of heads"}
    look: dict[str, Any] = {"height": LINE * len(LINES) + 8, "figure": True, "width": 620, **picture}
    return chart(measure, views, layers, tip=_tip, label=label, **look)


def _norms(points: pl.DataFrame) -> Section:
    """Effect by norm: whether it matters what is removed, or only how much."""
    views = {
        f"{MEASURES[measure]}, {title}": ViewRows(its, {"change": CHANGE[measure]})
        for measure in points["measure"].unique(maintain_order=True)
        for title, its in _views(points, measure)
    }
    norm = {"scale": "log", "nice": False, "padding": 24, "tickCount": 5, "grid": False, "format": "~g"}
    place = {"x": x("norm", "norm changed, % of the model's", **norm), "y": y("value", "{change}", tickCount=5)}
    shapes = shape("part", SHAPES, legend=legend(symbolFillColor=MUTED, symbolStrokeWidth=0))
    draws, cells = ROWS.transform_filter("datum.mark != 'cell'"), where(ROWS, mark="cell")
    layers = [
        dots(draws, {**place, "shape": shapes}, size=46, opacity=0.45, fill=MUTED, strokeWidth=0),
        *estimates(cells, place, along="y", size=110, colour=colour("kind", KIND)),
        *text_labels(where(cells, left=True), "label", place, align="right", dx=-8, dy=-9),
        *text_labels(where(cells, left=False), "label", place, align="left", dx=8, dy=-9),
    ]
    label = "Effect of every cell and every control by its norm"
    lede = (
        "If only the amount mattered, all marks would be on one line. Labelled dots are cells, faint ones are draws of "
        "controls. The norm is the mean length of queries times the mean length of keys, summed over the changed "
        "pairs. A slow pair may have a large norm and little effect, because it adds nearly the same to every key."
    )
    body = panel(chart("norms", views, layers, tip=_tip, label=label, height=340))
    return Section("norms", "Does it matter what is removed, or only how much?", lede, body, short="Norms")


def _use(result: pl.DataFrame, heads: pl.DataFrame, size: str) -> Section:
    """How positional heads are, and which frequencies they use."""
    titles = {MEAN: ("mean frequency", "mean frequency number; faster →")}
    titles |= {band: (f"norm in {speed}", f"share of norm in the {speed} {size}") for band, speed in SIDES.items()}
    views = {}
    for use, (title, axis) in titles.items():
        if use in heads.columns:
            rows = heads.select(x=use, y="position_share", kind="subject", name="item").drop_nulls()
            views[title] = ViewRows(rows, {"axis": axis, "reverse": str(use == MEAN).lower()})  # the first is fastest
    look = {"zero": False, "nice": True, "padding": 12}
    every = scatter(
        "use",
        views,
        x=x("x", "{axis}", reverse={"expr": "{reverse}"}, tickCount=6, **look),
        y=y("y", "position share", tickCount=5, **look),
        colour=colour("kind", KIND, legend=legend()),
        tip="{name}, {kind}: position share {y:short}",
        label="Position share of every head by the frequencies it uses",
    )
    lede = (
        "First each head, by the frequencies it uses and its position share. Then rank correlations with 95 % "
        "intervals over heads: grey ones include 0, and those to the right of 0 are positive correlations with the "
        "quantity in bold. Open dots are the same model with redrawn weights: they show what follows from the "
        "architecture alone, since a pair that hardly rotates cannot tell slots apart."
    )
    body = columns(panel(every, title="Every head"), panel(_correlations(result, size), title="Rank correlations"))
    return Section("use", "Position shares and frequency use", lede, body, short="Use")


def _correlations(result: pl.DataFrame, size: str) -> Chart | Html:
    """Every correlation of behaviour with frequency use, and below it, thin and open, that for redrawn weights."""
    rhos, use = [], {**USE, **{band: f"norm in {speed} {size}" for band, speed in SIDES.items()}}
    known = pl.col("value").is_not_null() & pl.col("measure").is_in(list(BEHAVIOUR))
    for row in result.filter(known, pl.col("part").is_in(list(MODELS))).iter_rows(named=True):
        of, name, rho = row["item"].partition(":")[0], BEHAVIOUR[row["measure"]], row
        if of == MEAN:  # earlier runs stored its number, which is larger the slower it is
            ends = [None if row[end] is None else -row[end] for end in ("value", "high", "low")]
            of, rho = "mean_speed", {**row, **dict(zip(("value", "low", "high"), ends, strict=True))}
        rhos.append({**rho, "side": side(rho), "line": f"{use[of]}|{name}", "name": name + MODELS[row["part"]]})
    if not rhos:
        return note("There are too few heads for correlations.")
    lines = list(dict.fromkeys(line for rho in rhos for line in (rho["line"].partition("|")[0], rho["line"])))
    across = x("value", "Spearman correlation", domain=[-1, 1], nice=False, values=[-1, -0.5, 0, 0.5, 1])
    place, redrawn = {"x": across, "y": grouped_names("line", lines)}, where(ROWS, part="unlearnt")
    layers = [
        zero_rule(ROWS, across),
        whiskers(redrawn, place, width=1, yOffset=5, stroke=MUTED),
        dots(redrawn, place, size=30, hollow=True, strokeWidth=1.2, yOffset=5, stroke=MUTED),
        *estimates(where(ROWS, part="correlation"), place, size=64),
    ]
    label, height = "Correlations over heads", LINE * len(lines) + 8
    return chart("correlations", rhos, layers, tip="{name}: {value:short}", label=label, height=height)


def _selected_heads(heads: pl.DataFrame, rule: str, size: str) -> Section:
    """The selected heads of both kinds, with their scores, the purest first."""
    scores = {**BEHAVIOUR, "entropy": "entropy", MEAN: "mean frequency"}
    scores |= {band: f"norm in {speed} {size}" for band, speed in SIDES.items()}
    purity = (pl.col("position_share") - pl.col("symbol_share")).abs()
    selected = heads.filter(pl.col("subject").is_in(KINDS)).sort("subject", -purity, maintain_order=True)
    rows = [[row["item"], row["subject"], *(short(row.get(name)) for name in scores)] for row in selected.to_dicts()]
    body = table(("head", "selected as", *scores.values()), rows, label="The selected heads", look="")
    return Section("chosen", "The selected heads", rule, body, short="Heads")


def _matched_norms(results: ResultTable, points: pl.DataFrame, near: float) -> Section:
    """How well the norms of the controls match, by cell."""
    rows, losses = [], points.filter(measure="loss")
    for cell, control in product(losses.filter(mark="cell").to_dicts(), CONTROLS):
        kind, item, size = cell["kind"], cell["item"], band_size(float(cell["share"]))
        name = f"{SIDES[cell['side']]} {size} {OPERATIONS[cell['operation']]} in {kind} heads"
        draws = losses.filter(part=control, kind=kind, item=item)
        ratios, equal = draws["ratio"].to_list(), f"{draws.filter(mark='equal').height} of {draws.height}"
        ends = " to ".join(dict.fromkeys((short(min(ratios)), short(max(ratios)))))
        above = results.row(kind, Cell(f"above {control}", "loss", item))
        excess = [short(above["value"]), interval(above["low"], above["high"])] if above else ["", ""]
        rows.append([name, control, f"{cell['norm']:.2f} %", draws.height, ends, equal, *excess])
    headings = ("cell", "control", "norm", "draws", "ratio of norms", "equal", "excess loss", "95 % interval")
    title = "How well the norms of the controls match"
    lede = (
        "The norm of every control divided by that of its cell. A control counts as equal within "
        f"{100 * near:.0f}\N{NO-BREAK SPACE}%. If none is equal, the nearest are shown: smaller ones can only refute a "
        "claim, larger ones only support it. Intervals are over texts and draws."
    )
    return Section("controls", title, lede, table(headings, rows, label=title, look=""), short="Controls")

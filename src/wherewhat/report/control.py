"""The page of the control experiment: four cells compared with their controls."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.formatting import interval, large, short
from wherewhat.report.claims import claims_section
from wherewhat.report.control_charts import cells_chart, correlations_chart, height_of, norms_chart, use_chart
from wherewhat.report.control_tables import BEHAVIOUR, CONTROLS, SPEED, split_item, tables_of
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section, texts_section
from wherewhat.report.tags import Html, prose, tag
from wherewhat.tables.manifest.study import ControlManifest, ControlSection

CELLS = (("positional", "high"), ("positional", "low"), ("symbolic", "low"), ("symbolic", "high"))
OPERATIONS = {"drop": "dropped", "unrotate": "unrotated"}
SIZE = {"0.25": "quarter", "0.5": "half"}
SEVERAL = {"0.25": "quarters", "0.5": "halves"}
TITLES = {
    "loss": "change, nats per token",
    "copy": "change of the share copied",
    "induction": "change, nats per token",
}
NAMES = {"loss": "the loss", "copy": "copying", "induction": "induction"}
X_LABELS = {
    "theta": "speed of a frequency",
    "mean_speed": "speed of the mean frequency",
    "high": "norm in fast",
    "low": "norm in slow",
}


@dataclass(frozen=True)
class ControlData:
    """The result of the experiment, with what the page needs from it."""

    result: pl.DataFrame
    manifest: ControlManifest
    tables: Mapping[str, Columns]

    @property
    def about(self) -> ControlSection:
        return self.manifest.about

    @property
    def measures(self) -> list[str]:
        """The measures: the loss, and copying if the model copies."""
        there = set(self.result.filter(pl.col("part") == "before")["measure"])
        return [name for name in TITLES if name in there]

    @property
    def shares(self) -> list[str]:
        """Band sizes; the first is the one that verdicts are about."""
        items = self.result.filter(pl.col("part") == "cells")["item"]
        return list(dict.fromkeys(item.partition(":")[2] for item in items))

    def before(self, measure: str) -> float:
        """A measure of the unchanged model."""
        return float(self.result.filter((pl.col("part") == "before") & (pl.col("measure") == measure))["value"][0])


def page_of_control(result: pl.DataFrame, manifest: ControlManifest) -> Page:
    """Lay out what happens when bands are removed from heads of both kinds."""
    data = ControlData(result, manifest, tables_of(result, _near(manifest)))
    about = data.about
    sections = [_first(data), _norms(data), _correlation(data), claims_section(manifest.claims), _selected_heads(data)]
    return Page(
        title=about.model.id,
        kind="Control: do fast and slow frequencies matter where they should?",
        lede="Fast frequencies are thought to serve heads that attend by position, slow frequencies heads that attend "
        "by content. Here each band is removed from each kind of head, and compared with removing as much at random.",
        facts=_facts(data),
        sections=[
            *sections,
            _matched_norms(data),
            texts_section(about.texts),
            provenance_section(manifest, model=about.model, texts=about.texts),
        ],
        charts=_charts(data),
        tables=data.tables,
        figures=_figures(data),
    )


def _near(manifest: ControlManifest) -> float:
    """How far the ratio of norms may be from 1 for a control of equal norm."""
    return float(manifest.settings.get("near", 0.1))


def _first(data: ControlData) -> Section:
    """The cells and their controls, with the verdict on every claim."""
    charts = [_cells_of(data, measure) for measure in data.measures if measure != _second_copy_measure(data)]
    body = tag(
        "div",
        tag("div", *charts, _key(), class_="cards"),
        tag("aside", tag("h3", "Verdicts"), _verdicts(data), class_="worth"),
        class_="first",
    )
    lede = (
        "A coloured dot is a cell: one band of one kind of heads, with its 95 % interval over texts. Below it are its "
        "controls, one dot per draw: other frequencies of the same heads, and the same band in as many other heads. A "
        "cell matters only if its effect exceeds both."
    )
    return Section("cells", "Four cells and their controls", lede, body, short="Cells")


def _second_copy_measure(data: ControlData) -> str:
    """Of the two measures of copying, the one that is not on the first screen."""
    return "copy" if data.about.copying == "induction" else "induction"


def _cells_of(data: ControlData, measure: str) -> Html:
    heading = tag("h3", f"Effect on {NAMES[measure]}")
    before = tag("p", f"Before the change: {_level(data, measure)}.", class_="note")
    label = f"Change of {NAMES[measure]} in the four cells and under their controls"
    chart = chart_widget(
        "cells", label, height=height_of(_labels()), words={"share": data.shares[0]}, views=_views(data, measure)
    )
    return panel(heading, before, chart)


def _level(data: ControlData, measure: str) -> str:
    value = data.before(measure)
    return f"{100 * value:.0f} % copied" if measure == "copy" else f"{short(value)} nats per token"


def _views(data: ControlData, measure: str) -> list[tuple[str, dict[str, str]]]:
    """The views of a chart: the operation and, if there are several, the band size."""
    several = len(data.shares) > 1
    return [
        (
            f"{name}, {SEVERAL.get(share, _size(share))}" if several else name,
            {"measure": measure, "operation": operation, "share": share, "title": TITLES[measure]},
        )
        for share in data.shares
        for operation, name in OPERATIONS.items()
    ]


def _key() -> Html:
    return tag(
        "p",
        tag("span", tag("i", class_="where"), "positional heads"),
        tag("span", tag("i", class_="what"), "symbolic heads"),
        tag("span", tag("i", class_="unclear"), "one draw of a control; hollow if its norm is not equal"),
        tag("span", tag("i", class_="tick"), "mean of the draws of equal norm"),
        class_="key",
    )


def _verdicts(data: ControlData) -> Html:
    """Every claim with its verdict, one line each."""
    lines = []
    for claim in data.manifest.claims:
        verdict = claim.verdict
        lines.append(tag("li", tag("span", verdict, class_="verdict", data_verdict=verdict), " ", prose(claim.claim)))
    return tag("ul", *lines, class_="cards")


def _norms(data: ControlData) -> Section:
    """Effect by norm: whether it matters what is removed, or only how much."""
    views = [
        (f"{NAMES[measure]}, {title}", words) for measure in data.measures for title, words in _views(data, measure)
    ]
    words = {"half": f"{_middle(data.tables['draws']['norm']):.4g}"}
    label = "Effect of every cell and every control by its norm"
    chart = chart_widget("norms", label, height=340, words=words, views=views)
    lede = (
        "If only the amount mattered, all marks would be on one line. Labelled dots are cells, faint ones are draws of "
        "controls. The norm is the mean length of queries times the mean length of keys, summed over the changed "
        "pairs. A slow pair may have a large norm and little effect, because it adds nearly the same to every key."
    )
    return Section("norms", "Does it matter what is removed, or only how much?", lede, panel(chart), short="Norms")


def _middle(norms: Sequence[float]) -> float:
    """The middle of a logarithmic axis."""
    return math.sqrt(min(norms) * max(norms))


def _correlation(data: ControlData) -> Section:
    """How positional heads are, and which frequencies they use."""
    size = _size(data.shares[0])
    titles = {"mean_frequency": ("mean frequency", "mean frequency number; faster →")} | {
        side: (f"norm in {SPEED[side]}", f"share of norm in the {SPEED[side]} {size}") for side in SPEED
    }
    views = [
        (short_title, {"x": x, "x title": title, "y": "position_share", "y title": "position share"})
        for x, (short_title, title) in titles.items()
    ]
    heads = chart_widget("use", "Position share of every head by the frequencies it uses", height=320, views=views)
    labels, _ = _correlation_labels(data)
    lines = chart_widget("correlations", "Correlations over heads", height=height_of(labels))
    none = tag("p", "There are too few heads for correlations.", class_="note")
    body = tag(
        "div",
        panel(tag("h3", "Every head"), heads),
        panel(tag("h3", "Rank correlations"), lines if labels else none),
        class_="two",
    )
    lede = (
        "First each head, by the frequencies it uses and its position share. Then rank correlations with 95 % "
        "intervals over heads: grey ones include 0, and those to the right of 0 are positive correlations with the "
        "quantity in bold. Open dots are the same model with redrawn weights: they show what follows from the "
        "architecture alone, since a pair that hardly rotates cannot tell slots apart."
    )
    return Section("use", "Position shares and frequency use", lede, body, short="Use")


def _selected_heads(data: ControlData) -> Section:
    """The selected heads of both kinds, with their scores."""
    used = data.tables["used"]
    rows = [dict(zip(used, values, strict=True)) for values in zip(*used.values(), strict=True)]
    kinds = [row for kind in ("positional", "symbolic") for row in rows if row["kind"] == kind]
    ordered = sorted(kinds, key=lambda row: (row["kind"], -abs(row["position_share"] - row["symbol_share"])))
    size = _size(data.shares[0])
    columns = {
        "kind": "selected as",
        **BEHAVIOUR,
        "entropy": "entropy",
        "mean_frequency": "mean frequency",
        "high": f"norm in fast {size}",
        "low": f"norm in slow {size}",
    }
    body = _table(
        ("head", *columns.values()), [[row["head"], *(_cell(row.get(name)) for name in columns)] for row in ordered]
    )
    return Section("chosen", "The selected heads", data.about.rule, body, short="Heads")


def _matched_norms(data: ControlData) -> Section:
    """How well the norms of the controls match, by cell."""
    rows = []
    for item, kind in (
        data.result.filter(pl.col("part") == "cells").select("item", "subject").unique(maintain_order=True).iter_rows()
    ):
        own = data.result.filter((pl.col("subject") == kind) & (pl.col("item") == item))
        norm = own.filter((pl.col("part") == "cells") & (pl.col("measure") == "norm"))["value"][0]
        for control in CONTROLS:
            ratios = own.filter((pl.col("part") == control) & (pl.col("measure") == "ratio"))["value"].to_list()
            above = own.filter((pl.col("part") == f"above {control}") & (pl.col("measure") == "loss")).to_dicts()
            rows.append(
                [
                    _cell_name(kind, item),
                    control,
                    f"{100 * norm:.2f} %",
                    *_equality(ratios, _near(data.manifest)),
                    *_excess(above),
                ]
            )
    headings = ("cell", "control", "norm", "draws", "ratio of norms", "equal", "excess loss", "95 % interval")
    lede = (
        "The norm of every control divided by that of its cell. A control counts as equal within "
        f"{100 * _near(data.manifest):.0f}\N{NO-BREAK SPACE}%. If none is equal, the nearest are shown: smaller ones "
        "can only refute a claim, larger ones only support it. Intervals are over texts and draws."
    )
    return Section(
        "controls", "How well the norms of the controls match", lede, _table(headings, rows), short="Controls"
    )


def _equality(ratios: Sequence[float], near: float) -> list[str]:
    equal = sum(abs(ratio - 1) <= near for ratio in ratios)
    ends = dict.fromkeys((short(min(ratios)), short(max(ratios))))
    return [str(len(ratios)), " to ".join(ends), f"{equal} of {len(ratios)}"]


def _excess(above: Sequence[Mapping[str, Any]]) -> list[str]:
    return [short(above[0]["value"]), interval(above[0]["low"], above[0]["high"])] if above else ["", ""]


def _cell_name(kind: str, item: str) -> str:
    operation, side, share = split_item(item)
    return f"{SPEED[side]} {_size(share)} {OPERATIONS[operation]} in {kind} heads"


def _size(share: str) -> str:
    return SIZE.get(share, f"{100 * float(share):.0f} %")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroller")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else short(value)


def _facts(data: ControlData) -> list[tuple[str, str]]:
    model, texts, chosen = data.about.model, data.about.texts, data.about.chosen
    draws = data.result.filter(pl.col("part").is_in(CONTROLS)).select("part", "subject", "item", "at").n_unique()
    facts = [(f"{len(chosen.get(kind, ()))} of {model.heads}", f"{kind} heads") for kind in ("positional", "symbolic")]
    facts += [(f"{texts.count:,}", "texts")] if texts.count else []
    facts.append((f"{draws:,}", "controls"))
    return facts + ([(large(model.parameters), "parameters")] if model.parameters else [])


def _labels() -> dict[str, str]:
    """The lines of the chart of cells from top to bottom, with an empty line after each cell."""
    labels = {}
    for kind, side in CELLS:
        labels[f"{kind} {side}"] = f"{SPEED[side]}, {kind} heads"
        labels |= {f"{kind} {side} {control}": control for control in CONTROLS}
        labels[f"{kind} {side} gap"] = ""
    return dict(list(labels.items())[:-1])


def _correlation_labels(data: ControlData) -> tuple[dict[str, str], list[str]]:
    """The lines of the chart of correlations: a heading per quantity, then one line per behaviour."""
    labels, leading = {}, []
    table = data.tables["correlations"]
    for line, x, y in zip(*(table.get(name, ()) for name in ("line", "x", "y")), strict=True):
        if (heading := f"{x} heading") not in labels:
            side = "norm in" in X_LABELS[x]
            labels[heading] = f"{X_LABELS[x]} {_size(data.shares[0])}" if side else X_LABELS[x]
            leading.append(heading)
        labels[line] = BEHAVIOUR[y]
    return labels, leading


def _charts(data: ControlData) -> dict[str, Spec]:
    labels = _labels()
    leading = [f"{kind} {side}" for kind, side in CELLS]
    charts: dict[str, Spec] = {"cells": cells_chart(labels, leading), "norms": norms_chart(), "use": use_chart()}
    return charts | {"correlations": correlations_chart(*_correlation_labels(data))}


def _figures(data: ControlData) -> dict[str, Figure]:
    charts, figures = _charts(data), {}
    for measure in data.measures:
        for title, words in _views(data, measure):
            name = f"{measure}_{words['operation']}_{words['share'].replace('.', '')}"
            spec = titled(charts["cells"], f"Effect on {NAMES[measure]}", f"bands {title}")
            figures[name] = figure_of(spec, data.tables, (620, height_of(_labels())), words)
    return figures

"""The page of the control experiment: four cells against their controls, and what is seen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wherewhat.report.claims import the_claims
from wherewhat.report.control_charts import cells_chart, correlations_chart, height_of, norms_chart, use_chart
from wherewhat.report.control_tables import BEHAVIOUR, CONTROLS, SPEED, tables_of, taken
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import interval, large, short
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.tags import Html, prose, tag

PLACES = (("positional", "high"), ("positional", "low"), ("symbolic", "low"), ("symbolic", "high"))
OPERATIONS = {"drop": "dropped", "unrotate": "unrotated"}
SIZE = {"0.25": "quarter", "0.5": "half"}
SEVERAL = {"0.25": "quarters", "0.5": "halves"}
TITLES = {
    "loss": "change, nats a token",
    "copy": "change of the share copied",
    "induction": "change, nats a token",
}
NAMES = {"loss": "the loss", "copy": "copying", "induction": "induction"}
AGAINST = {
    "theta": "speed of a frequency",
    "mean_speed": "speed of the mean frequency",
    "high": "norm in fast",
    "low": "norm in slow",
}


@dataclass(frozen=True)
class Shown:
    """The result as the page tells it."""

    result: pl.DataFrame
    manifest: Manifest
    tables: Mapping[str, Columns]

    @property
    def about(self) -> Mapping[str, Any]:
        return self.manifest.get("about") or {}

    @property
    def measures(self) -> list[str]:
        """What was measured: the loss, and copying where there was something to copy."""
        there = set(self.result.filter(pl.col("part") == "before")["measure"])
        return [name for name in TITLES if name in there]

    @property
    def shares(self) -> list[str]:
        """Sizes of bands, the one that is judged first."""
        items = self.result.filter(pl.col("part") == "cells")["item"]
        return list(dict.fromkeys(item.partition(":")[2] for item in items))

    def before(self, measure: str) -> float:
        """A measure of the model as it is."""
        return float(self.result.filter((pl.col("part") == "before") & (pl.col("measure") == measure))["value"][0])


def page_of_control(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what was found when bands were taken from heads of both kinds."""
    shown = Shown(result, manifest, tables_of(result, _near(manifest)))
    about = shown.about
    told = {**manifest, "model": about.get("model"), "texts": about.get("texts")}
    model = about.get("model") or {}
    sections = [_first(shown), _norms(shown), _correlation(shown), the_claims(manifest), _chosen(shown)]
    return Page(
        title=str(model.get("id") or "a model"),
        kind="Control: do fast and slow frequencies matter where they should?",
        lede="Fast frequencies are said to serve heads that go by place, slow ones heads that go by content. Here each "
        "band is taken from each kind of head, and held against taking as much at random.",
        facts=_facts(shown),
        sections=[*sections, _draws(shown), the_texts(told), how_it_was_made(told)],
        charts=_charts(shown),
        tables=shown.tables,
        figures=_figures(shown),
    )


def _near(manifest: Manifest) -> float:
    """How far from 1 the ratio of norms of an equal control may be."""
    return float((manifest.get("settings") or {}).get("near", 0.1))


def _first(shown: Shown) -> Section:
    """The cells and their controls, and beside them what is seen."""
    charts = [_cells_of(shown, measure) for measure in shown.measures if measure != _spare(shown)]
    body = tag(
        "div",
        tag("div", *charts, _key(), class_="cards"),
        tag("aside", tag("h3", "What is seen"), _seen(shown), class_="worth"),
        class_="first",
    )
    lede = (
        "A coloured dot is a cell: one band of one kind of heads, with its 95 % interval over texts. Below it stand "
        "its controls, a dot a draw: other frequencies of the same heads, and the same band of as many other heads. "
        "A cell tells something only if it lies beyond both."
    )
    return Section("cells", "Four cells and their controls", lede, body, short="Cells")


def _spare(shown: Shown) -> str:
    """Of the two measures of copying, the one that is left for the second look."""
    return "copy" if shown.about.get("copying") == "induction" else "induction"


def _cells_of(shown: Shown, measure: str) -> Html:
    heading = tag("h3", f"Effect on {NAMES[measure]}")
    before = tag("p", f"As the model is: {_level(shown, measure)}.", class_="note")
    label = f"Change of {NAMES[measure]} in the four cells and under their controls"
    chart = drawn(
        "cells", label, height=height_of(_labels()), words={"share": shown.shares[0]}, views=_views(shown, measure)
    )
    return panel(heading, before, chart)


def _level(shown: Shown, measure: str) -> str:
    value = shown.before(measure)
    return f"{100 * value:.0f} % copied" if measure == "copy" else f"{short(value)} nats a token"


def _views(shown: Shown, measure: str) -> list[tuple[str, dict[str, str]]]:
    """What a reader may choose: the operation and, where there are several, the size of the band."""
    several = len(shown.shares) > 1
    return [
        (
            f"{told}, {SEVERAL.get(share, _size(share))}" if several else told,
            {"measure": measure, "operation": operation, "share": share, "title": TITLES[measure]},
        )
        for share in shown.shares
        for operation, told in OPERATIONS.items()
    ]


def _key() -> Html:
    return tag(
        "p",
        tag("span", tag("i", class_="where"), "positional heads"),
        tag("span", tag("i", class_="what"), "symbolic heads"),
        tag("span", tag("i", class_="unclear"), "one draw of a control; hollow if its norm is not equal"),
        tag("span", tag("i", class_="tick"), "mean of the draws that count"),
        class_="key",
    )


def _seen(shown: Shown) -> Html:
    """Every claim in one line: what was asked, and what is seen."""
    lines = []
    for claim in shown.manifest.get("claims") or ():
        verdict = str(claim.get("verdict"))
        lines.append(
            tag("li", tag("span", verdict, class_="verdict", data_verdict=verdict), " ", prose(str(claim.get("claim"))))
        )
    return tag("ul", *lines, class_="cards")


def _norms(shown: Shown) -> Section:
    """Effect against norm: whether it matters what is taken, or only how much."""
    views = [
        (f"{NAMES[measure]}, {title}", words) for measure in shown.measures for title, words in _views(shown, measure)
    ]
    words = {"half": f"{_middle(shown.tables['draws']['norm']):.4g}"}
    label = "Effect of every cell and every control against its norm"
    chart = drawn("norms", label, height=340, words=words, views=views)
    lede = (
        "If only the amount counted, all marks would lie on one line. Labelled dots are the cells, faint ones are "
        "draws of controls. The norm is mean length of queries times mean length of keys, summed over what was "
        "changed; a slow pair may have much of it and do little, as it adds nearly the same to every key."
    )
    return Section("norms", "Is it what is taken, or how much?", lede, panel(chart), short="Norms")


def _middle(norms: Sequence[float]) -> float:
    """The middle of a logarithmic axis."""
    return math.sqrt(min(norms) * max(norms))


def _correlation(shown: Shown) -> Section:
    """What heads go by against the frequencies they use."""
    size = _size(shown.shares[0])
    titles = {
        "mean_frequency": ("mean frequency", "mean number of the frequency, from 0 for the fastest; faster →")
    } | {side: (f"norm in {SPEED[side]}", f"share of norm in the {SPEED[side]} {size}") for side in SPEED}
    views = [
        (short_title, {"x": x, "x title": title, "y": "position_share", "y title": "position share"})
        for x, (short_title, title) in titles.items()
    ]
    heads = drawn("use", "Every head: the frequencies it uses against its position share", height=320, views=views)
    labels, _ = _correlation_labels(shown)
    lines = drawn("correlations", "Correlations over heads", height=height_of(labels))
    none = tag("p", "There are too few heads for correlations.", class_="note")
    body = tag(
        "div",
        panel(tag("h3", "Every head"), heads),
        panel(tag("h3", "Rank correlations"), lines if labels else none),
        class_="two",
    )
    lede = (
        "First each head, by the frequencies it uses and the share of its logits' variance that position explains. "
        "Then rank correlations with 95 % intervals over heads; grey is not told from none; right of 0, there is more "
        "of it where what is named in bold is larger. Open dots are the same "
        "model with weights drawn anew: what they show is arithmetic, as a pair that hardly turns tells no slots apart."
    )
    return Section("use", "Shares and the use of frequencies", lede, body, short="Use")


def _chosen(shown: Shown) -> Section:
    """The heads of both kinds, with what they were chosen by."""
    used = shown.tables["used"]
    rows = [dict(zip(used, values, strict=True)) for values in zip(*used.values(), strict=True)]
    kinds = [row for kind in ("positional", "symbolic") for row in rows if row["kind"] == kind]
    ordered = sorted(kinds, key=lambda row: (row["kind"], -abs(row["position_share"] - row["symbol_share"])))
    size = _size(shown.shares[0])
    columns = {
        "kind": "chosen as",
        **BEHAVIOUR,
        "entropy": "entropy",
        "mean_frequency": "mean frequency",
        "high": f"norm in fast {size}",
        "low": f"norm in slow {size}",
    }
    body = _table(
        ("head", *columns.values()), [[row["head"], *(_cell(row.get(name)) for name in columns)] for row in ordered]
    )
    return Section("chosen", "The heads that were chosen", str(shown.about.get("rule") or ""), body, short="Heads")


def _draws(shown: Shown) -> Section:
    """How equal the controls are, cell by cell."""
    rows = []
    for item, kind in (
        shown.result.filter(pl.col("part") == "cells").select("item", "subject").unique(maintain_order=True).iter_rows()
    ):
        own = shown.result.filter((pl.col("subject") == kind) & (pl.col("item") == item))
        norm = own.filter((pl.col("part") == "cells") & (pl.col("measure") == "norm"))["value"][0]
        for control in CONTROLS:
            ratios = own.filter((pl.col("part") == control) & (pl.col("measure") == "ratio"))["value"].to_list()
            above = own.filter((pl.col("part") == f"above {control}") & (pl.col("measure") == "loss")).to_dicts()
            rows.append(
                [
                    _told(kind, item),
                    control,
                    f"{100 * norm:.2f} %",
                    *_equality(ratios, _near(shown.manifest)),
                    *_gap(above),
                ]
            )
    headings = ("cell", "control", "norm", "draws", "ratio of norms", "equal", "loss beyond it", "95 % interval")
    lede = (
        "The norm of every control divided by that of its cell. A control counts as equal within "
        f"{100 * _near(shown.manifest):.0f} %. Where none is, the nearest are shown: smaller ones can speak only "
        "against a claim, larger ones only for it. An interval is over texts and over draws."
    )
    return Section("controls", "How equal the controls are", lede, _table(headings, rows), short="Controls")


def _equality(ratios: Sequence[float], near: float) -> list[str]:
    equal = sum(abs(ratio - 1) <= near for ratio in ratios)
    ends = dict.fromkeys((short(min(ratios)), short(max(ratios))))
    return [str(len(ratios)), " to ".join(ends), f"{equal} of {len(ratios)}"]


def _gap(above: Sequence[Mapping[str, Any]]) -> list[str]:
    return [short(above[0]["value"]), interval(above[0]["low"], above[0]["high"])] if above else ["", ""]


def _told(kind: str, item: str) -> str:
    operation, side, share = taken(item)
    return f"{SPEED[side]} {_size(share)} {OPERATIONS[operation]} in {kind} heads"


def _size(share: str) -> str:
    return SIZE.get(share, f"{100 * float(share):.0f} %")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroller")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else short(value)


def _facts(shown: Shown) -> list[tuple[str, str]]:
    model, texts, chosen = (shown.about.get(name) or {} for name in ("model", "texts", "chosen"))
    draws = shown.result.filter(pl.col("part").is_in(CONTROLS)).select("part", "subject", "item", "at").n_unique()
    facts = [
        (f"{len(chosen.get(kind) or ())} of {model.get('heads')}", f"{kind} heads")
        for kind in ("positional", "symbolic")
    ]
    facts += [(f"{texts['count']:,}", "texts")] if texts.get("count") else []
    facts.append((f"{draws:,}", "controls"))
    return facts + ([(large(model["parameters"]), "parameters")] if model.get("parameters") else [])


def _labels() -> dict[str, str]:
    """The lines of the chart of cells, from the top, with a gap after each cell."""
    labels = {}
    for kind, side in PLACES:
        labels[f"{kind} {side}"] = f"{SPEED[side]}, {kind} heads"
        labels |= {f"{kind} {side} {control}": control for control in CONTROLS}
        labels[f"{kind} {side} gap"] = ""
    return dict(list(labels.items())[:-1])


def _correlation_labels(shown: Shown) -> tuple[dict[str, str], list[str]]:
    """The lines of the chart of correlations: a heading for what is compared with, then a line for each behaviour."""
    labels, leading = {}, []
    table = shown.tables["correlations"]
    for line, x, y in zip(*(table.get(name, ()) for name in ("line", "x", "y")), strict=True):
        if (heading := f"{x} heading") not in labels:
            side = "norm in" in AGAINST[x]
            labels[heading] = f"{AGAINST[x]} {_size(shown.shares[0])}" if side else AGAINST[x]
            leading.append(heading)
        labels[line] = BEHAVIOUR[y]
    return labels, leading


def _charts(shown: Shown) -> dict[str, Spec]:
    labels = _labels()
    leading = [f"{kind} {side}" for kind, side in PLACES]
    charts: dict[str, Spec] = {"cells": cells_chart(labels, leading), "norms": norms_chart(), "use": use_chart()}
    return charts | {"correlations": correlations_chart(*_correlation_labels(shown))}


def _figures(shown: Shown) -> dict[str, Figure]:
    charts, made = _charts(shown), {}
    for measure in shown.measures:
        for title, words in _views(shown, measure):
            name = f"{measure}_{words['operation']}_{words['share'].replace('.', '')}"
            spec = titled(charts["cells"], f"Effect on {NAMES[measure]}", f"bands {title}")
            made[name] = figure_of(spec, shown.tables, (620, height_of(_labels())), words)
    return made

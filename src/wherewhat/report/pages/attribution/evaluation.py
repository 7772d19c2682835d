"""How good methods are on these texts: their scores beside chance, curves, and differences from AttnLRP."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from wherewhat.formatting import count, interval, listed, short, signed
from wherewhat.report.blocks.layout import answered, panel
from wherewhat.report.blocks.method_charts import DRAWN, PROCEDURES, curve_chart, method_name, score_chart
from wherewhat.report.blocks.numbers import plain
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import tag
from wherewhat.report.core.page import Section
from wherewhat.tables.manifest.attribution import EvaluationSection

LEAD, BASELINE = "abpc", "attnlrp"
KNOWN = "miou"
FEWEST = 6  # texts: even if all of fewer agree, that happens by chance more often than once in 20
ORDERS = ("random", "left to right", "right to left")  # that know nothing of the output
WAYS = {
    "token": "{replacement} stands in the place of a token that is taken away",
    "delete": "tokens that are taken away are left out, and the rest moves together",
}
ORDER_WORDS = {
    "signed": "signed scores give the order in both directions",
    "published": "the least relevant tokens are those with the smallest scores, whatever their sign, as released",
}


def evaluation_findings(scores: pl.DataFrame, differences: pl.DataFrame) -> list[str]:
    """Which method has the highest ABPC, for every kind of texts, and whether it differs from AttnLRP."""
    sentences = []
    for data in _kinds(scores):
        rows = scores.filter(pl.col("measure") == LEAD, pl.col("data") == data, ~pl.col("method").is_in(ORDERS))
        if best := next(rows.sort("value", descending=True).iter_rows(named=True), None):
            sentences.append(
                f"On {count(best['texts'], 'text')} ({data}), {method_name(best['method'], best['aggregate'])} has the "
                f"highest ABPC: {_estimate(best, short)}; random orders have 0.{_beyond_baseline(best, differences)}"
            )
    return sentences


def _beyond_baseline(best: Mapping[str, Any], differences: pl.DataFrame) -> str:
    """How far the best method is above AttnLRP, text by text, and whether that is more than chance."""
    own = {name: best[name] for name in ("data", "method", "aggregate", "measure")}
    gap = next(differences.filter(**own, against=BASELINE).iter_rows(named=True), None)
    if gap is None:
        return ""
    clear = gap["texts"] >= FEWEST and gap["low"] is not None and gap["low"] > 0
    words = _estimate(gap, lambda value: signed(value, 2))
    return f" Its difference from AttnLRP is {words}{'' if clear else ', which may be chance'}."


def _estimate(row: Mapping[str, Any], written: Callable[[float], str]) -> str:
    ends = interval(row["low"], row["high"])
    return f"{written(row['value'])}{f' ({ends})' if ends else ''}"


def evaluation_section(
    scores: pl.DataFrame, differences: pl.DataFrame, curves: pl.DataFrame, *, section: EvaluationSection | None
) -> Section | None:
    """The comparison of methods, if there is one."""
    if section is None or scores.is_empty():
        return None
    data, labels = _kinds(scores), {name: each.label for name, each in section.measures.items()}
    measured = [name for name in (LEAD, KNOWN) if name in labels]
    views = {labels[name]: list(_score_rows(scores, name)) for name in measured}
    drawn = score_chart("evaluation", views, data)
    lines = curve_chart("evaluation_curves", {kind: list(_curve_rows(curves, kind)) for kind in data})
    way = WAYS.get(section.replace, "").format(replacement=section.replacement)
    how = (
        "ABPC is the area between two curves of the output's probability: tokens are taken away, the least relevant "
        f"first or the most relevant first; random orders have 0 in expectation. Here {way}; "
        f"{ORDER_WORDS.get(section.order, section.order)}. Where it is known which tokens decide, mIoU compares them "
        "with those whose scores are above the mean; ticks are what the same scores give on other tokens. "
        "Intervals at 95 % confidence resample texts."
    )
    numbers = panel(_numbers(scores, differences, labels))
    lede = " ".join(evaluation_findings(scores, differences))
    body = answered(tag("div", panel(drawn), panel(lines), numbers, class_="stacked"), text=how)
    return Section("evaluation", "Which order of tokens is best", lede, body, short="Evaluation")


def _kinds(scores: pl.DataFrame) -> list[str]:
    """Where texts are from, in the order of the table."""
    return scores["data"].unique(maintain_order=True).to_list()


def _score_rows(scores: pl.DataFrame, measure: str) -> Iterator[Mapping[str, Any]]:
    for row in scores.filter(measure=measure).iter_rows(named=True):
        ends = {end: row[end] for end in ("value", "low", "high", "chance")}
        yield {"method": method_name(row["method"], row["aggregate"]), "data": row["data"], **ends}


def _curve_rows(curves: pl.DataFrame, data: str) -> Iterator[Mapping[str, Any]]:
    for row in curves.filter(data=data).iter_rows(named=True):
        name = f"{row['method']}, {row['aggregate']}" if row["aggregate"] else row["method"]
        if name in DRAWN and row["procedure"] in PROCEDURES:
            own = {"method": method_name(name), "way": PROCEDURES[row["procedure"]], "at": row["share"]}
            yield {**own, **{end: row[end] for end in ("value", "low", "high")}}


def _numbers(scores: pl.DataFrame, differences: pl.DataFrame, labels: Mapping[str, str]) -> Any:
    """All measures of all methods, and how far each is from AttnLRP."""
    wide = scores.pivot("measure", index=["data", "method", "aggregate"], values="value", maintain_order=True)
    key = ["data", "method", "aggregate"]
    gaps = {
        tuple(row[name] for name in key): plain(row)
        for row in differences.filter(measure=LEAD, against=BASELINE).iter_rows(named=True)
    }
    rows = [
        [
            f"{row['data']}, {method_name(row['method'], row['aggregate'])}",
            *(short(row.get(measure)) for measure in labels),
            gaps.get(tuple(row[name] for name in key), "–"),
        ]
        for row in wide.iter_rows(named=True)
    ]
    headings = ["texts and method", *labels.values(), "ABPC minus AttnLRP"]
    return table(headings, rows, label=f"all measures: {listed(list(labels.values()))}", look="")

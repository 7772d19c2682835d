"""The page of attribution: which methods find the tokens that decide, and where the relevance of positions falls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import percent, short
from wherewhat.report.blocks.axes import WHAT, WHERE, colour, grouped_names, legend, share, x, y
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, counted, panel, run_time
from wherewhat.report.blocks.marks import ROWS, estimates, zero_rule
from wherewhat.report.blocks.method_charts import DRAWN, PROCEDURES, curve_chart, method_name, score_chart
from wherewhat.report.blocks.numbers import points, side
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.attribution.names import (
    AROUND,
    ATTNLRP,
    CHANCE,
    CURVE,
    EVEN,
    INDEX,
    ON_SLOT,
    ORDER,
    POSITION_SHARE,
    RETRIEVAL,
    ROTATION,
    SCORE,
    SLOTS,
    TEXTS,
    TOP,
    VARIANTS,
    gap,
    score,
    title,
)
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.tables.manifest.study import AttributionStudyManifest, AttributionStudySection

MEASURES = {"abpc": "ABPC", "miou": "mIoU"}
COLUMNS = {
    "abpc": "ABPC",
    "auac_generation": "AUAC in",
    "auac_pruning": "AUAC out",
    "aupc": "AUPC",
    "merf": "MERF",
    "lerf": "LERF",
    "au_mse_generation": "AU-MSE in",
    "au_mse_pruning": "AU-MSE out",
    "miou": "mIoU",
    "accuracy": "accuracy",
    "f1": "F1",
    "ap": "AP",
}
LEDES = {
    "answer": "ABPC is the area between two curves of the output's probability: tokens are taken away, the least "
    "relevant first or the most relevant first. Random orders have 0 in expectation. mIoU compares the tokens "
    "whose scores are above their mean with those that decide; ticks are what the same scores give on other tokens. "
    "Intervals at 95 % confidence resample texts, or are over seeds if there are several.",
    "gain": "Differences text by text. ABPC judges the order of tokens, mIoU the tokens whose scores are above their "
    "mean. Orange is clearly better than AttnLRP, blue clearly worse. `absolute` is how scores were released.",
    "curves": "The mean probability of the explained output while tokens are taken away. A good order keeps it high "
    "for long if the least relevant tokens go first, and lets it fall at once if the most relevant do.",
    "slots": "The relevance of what position adds to the logits of attention, around the slot that decides: the share "
    "of each slot, whatever its sign. Relevance is where attention is, so some of it falls on that slot also where "
    "content decides; how much there is in all tells the tasks apart. The fastest rotation turns once in 6.3 slots.",
    "table": "Every measure as a mean over texts. AUAC is the area under the probability while the most relevant "
    "tokens are put in, or the least relevant taken out; AUPC that while the most relevant are taken out (lower is "
    "better); MERF and LERF are areas under the logit while the most, or the least, relevant tokens are put in; AU-MSE "
    "is the squared change of all logits (lower is better). The chance level of mIoU is that of the same scores on "
    "other tokens of the same text.",
}


def page(result: pl.DataFrame, manifest: AttributionStudyManifest) -> Page:
    """Which methods find the deciding tokens, whether positions help, and where their relevance falls."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.sources or result.filter(part=SCORE).is_empty():
        raise UserError("the table has no method that was evaluated; run `wherewhat reproduce attribution` again")
    texts = int(sum(table.where(part=TEXTS, measure="texts").drop_nulls("seed")["value"]))
    methods = len(methods_of(table))
    return Page(
        title="Do positions help attribution?",
        kind="Reproduction of arXiv 2506.02138",
        lede="Relevance is passed back from an output to its tokens. If positions are inputs too, they get a share of "
        "it. Small nets read texts of which it is known which tokens decide, so that methods with and without "
        "positions can be compared.",
        facts=[counted(methods, "method"), counted(texts, "text"), *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about),
            gain(table, about),
            *slots(table, about),
            curves(table, about),
            numbers(table, about),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def methods_of(table: ResultTable) -> list[str]:
    """All methods, in the order of the table."""
    return table.where(part=SCORE)["item"].unique(maintain_order=True).to_list()


def ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """The number of a row and its interval."""
    return {end: row[end] for end in ("value", "low", "high")}


def answer(table: ResultTable, about: AttributionStudySection) -> Section:
    """The first screen: the ABPC of every method on every kind of texts."""
    views = {label: list(answer_rows(table, about, measure)) for measure, label in MEASURES.items()}
    drawn = score_chart("answer", views, [title(source) for source in about.sources])
    answers = [about.answers[name] for name in ("order", "random") if name in about.answers]
    return answer_section(
        "answer", "Which order of tokens is best", answers, panel(drawn), text=LEDES["answer"], short="Answer"
    )


def answer_rows(table: ResultTable, about: AttributionStudySection, measure: str) -> Iterator[Mapping[str, Any]]:
    """What every method is worth on every kind of texts, and its chance level."""
    for method in methods_of(table):
        for source in about.sources:
            if row := table.row(source, score(method, measure)):
                chance = (table.row(source, Cell(CHANCE, measure, method)) or {}).get("value")
                yield {"method": method_name(method), "data": title(source), "chance": chance, **ends(row)}


def gain(table: ResultTable, about: AttributionStudySection) -> Section:
    """Differences of position-aware scores from AttnLRP, by texts and way of scoring."""
    views = {label: list(gain_rows(table, about, measure)) for measure, label in MEASURES.items()}
    groups = [
        [title(source), *(f"{title(source)}|{_way(arm)}" for arm in VARIANTS), f"{title(source)}| "]
        for source in about.sources
    ]
    names_ = [line for group in groups for line in group][:-1]
    across = x("value", "minus AttnLRP, in points", zero=True, nice=True, tickCount=5)
    place = {"x": across, "y": grouped_names("line", names_)}
    drawn = chart(
        "gain",
        views,
        [zero_rule(ROWS, across), *estimates(ROWS, place)],
        tip="{texts}, {way}: {words}",
        label="position-aware scores minus AttnLRP",
        height=40 + 18 * len(names_),
        figure=True,
        title="Position-aware scores minus AttnLRP",
    )
    answers = [about.answers[name] for name in ("segments",) if name in about.answers]
    return answer_section("gain", "What positions add", answers, panel(drawn), text=LEDES["gain"], short="Gain")


def _way(method: str) -> str:
    return method.removeprefix("pa-lrp, ")


def gain_rows(table: ResultTable, about: AttributionStudySection, measure: str) -> Iterator[Mapping[str, Any]]:
    """Differences in points, with their intervals."""
    for source in about.sources:
        for arm in VARIANTS:
            if row := table.row(source, gap(arm, ATTNLRP, measure)):
                scaled = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                own = {"texts": title(source), "way": _way(arm), "line": f"{title(source)}|{_way(arm)}"}
                yield {**own, **scaled, "side": side(row), "words": points(row)}


def curves(table: ResultTable, about: AttributionStudySection) -> Section:
    """Probability while tokens are taken away, a view per kind of texts."""
    views = {title(source): list(curve_rows(table, source)) for source in about.sources}
    drawn = curve_chart("curves", {name: rows for name, rows in views.items() if rows})
    return Section("curves", "Taking tokens away", LEDES["curves"], panel(drawn), "Curves")


def curve_rows(table: ResultTable, source: str) -> Iterator[Mapping[str, Any]]:
    """The curves of some methods, in both directions."""
    for method in DRAWN:
        for procedure, way in PROCEDURES.items():
            rows = table.where(part=CURVE, subject=source, item=method, measure=procedure, seed=None).sort("at")
            for row in rows.iter_rows(named=True):
                yield {"method": method_name(method), "way": way, "at": row["at"], **ends(row)}


def slots(table: ResultTable, about: AttributionStudySection) -> list[Section]:
    """Where the relevance of positions falls, if nets have rotations."""
    measured = [source for source in about.sources if table.row(source, Cell(SLOTS, ON_SLOT))]
    if not measured:
        return []
    tints = {title(INDEX): WHERE, title(RETRIEVAL): WHAT}
    rows = [
        {"task": title(source), "at": row["at"], **ends(row)}
        for source in (INDEX, RETRIEVAL)
        for row in table.where(part=AROUND, subject=source, seed=None).sort("at").iter_rows(named=True)
    ]
    drawn = lines(
        "slots",
        rows,
        x=x("at", "slots from the one that decides", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=share(y, "value", "relevance of positions", domain=False, zero=True),
        colour=colour("task", tints, legend=legend(symbolType="stroke", symbolStrokeWidth=3)),
        label="relevance of positions around the deciding slot",
        tip="{task}, {at:+.0f}: {value:share}",
        height=300,
        figure=True,
        title="Relevance of positions around the deciding slot",
    )
    answers = [about.answers[name] for name in ("slot",) if name in about.answers]
    body = panel(*([drawn] if rows else []), slot_table(table, measured))
    name = "Where the relevance of positions falls"
    return [answer_section("slots", name, answers, body, text=LEDES["slots"], short="Slots")]


def slot_table(table: ResultTable, sources: Sequence[str]) -> Any:
    """Shares of positions by kind of texts."""
    headings = {
        POSITION_SHARE: "positions, of all logits",
        ON_SLOT: "of that, on deciding slots",
        EVEN: "if evenly spread",
        TOP: "largest there",
        ROTATION: "of rotations, on deciding slots",
    }
    rows = [
        [title(source), *(_percent(table, source, Cell(SLOTS, measure)) for measure in headings)] for source in sources
    ]
    return table_of(["texts", *headings.values()], rows, label="where the relevance of positions falls")


def _percent(table: ResultTable, source: str, cell: Cell) -> str:
    row = table.row(source, cell)
    return percent(row["value"]) if row else "–"


def numbers(table: ResultTable, about: AttributionStudySection) -> Section:
    """All measures of all methods, by kind of texts."""
    rows = []
    for source in about.sources:
        for method in methods_of(table):
            cells = [table.row(source, score(method, measure)) for measure in COLUMNS]
            chance = table.row(source, Cell(CHANCE, "miou", method))
            order = table.row(source, Cell(ORDER, "pairs", method))
            written = [short(row["value"]) if row else "–" for row in (*cells, chance, order)]
            rows.append([f"{title(source)}, {method_name(method)}", *written])
    headings = ["texts and method", *COLUMNS.values(), "chance of mIoU", "pairs reordered"]
    body = panel(table_of(headings, rows, label="all measures", look=""))
    return Section("table", "All numbers", LEDES["table"], body, "Numbers")

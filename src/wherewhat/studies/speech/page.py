"""The page of speech: who errs how often, what it costs, one utterance as pictures, and how far heads look."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.corpora.speech.tones import LONG
from wherewhat.errors import UserError
from wherewhat.formatting import short, tenths
from wherewhat.published.speech import COMPARISONS
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, forest, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, panel, present, run_time
from wherewhat.report.blocks.marks import ROWS, estimates, named, rule
from wherewhat.report.blocks.numbers import plus_minus, side
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import join, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.speech.names import (
    EARLY,
    EXACT,
    LONGEST,
    MEMORY,
    NONE,
    PARAMETERS,
    REACH,
    RELATIVE,
    ROPE,
    SINUSOIDS,
    TEST,
    TIME,
    TIME_RATIO,
    TRAINING_BATCH,
    UNIFORM,
    cost,
    difference,
    error,
    label,
)
from wherewhat.studies.speech.pictures import attention_map, decoded, length_of, spectrogram
from wherewhat.tables.manifest.study import SpeechManifest, SpeechSection

Rows = Iterator[Mapping[str, Any]]
TINTS = {
    ROPE: WHERE,
    RELATIVE: WHAT,
    NONE: MUTED,
    "alibi": shade("layers", 4),
    "t5_bias": shade("layers", 2),
    SINUSOIDS: shade("chance", 5),
    EARLY: shade("chance", 1),
}
TRAINED = 3  # digits of an utterance in training, on average
LEDES = {
    "answer": "The error rate is the number of insertions, deletions and substitutions per {unit}, with intervals at "
    "95 % confidence over utterances, or over seeds if there are several. All nets hear the same utterances.",
    "cost": "Both encodings take steps in turn inside one run, so that they share conditions; intervals are over "
    "rounds. Memory is what a step keeps for its backward pass.",
    "longer": "Training has strings of one to five digits, drawn at their mean; tests have ten to twenty.",
    "difference": "How many more {unit}s an encoding gets wrong than RoPE, over the same utterances, in points.",
    "picture": "One test utterance, {words}. Above, the energy in every band as a net hears it: four frames of 10 ms "
    "become a token. In the middle, where the sharpest head looks from every moment (down) to every other (across); "
    "the dotted line is the moment itself. Below, the probability of every {unit}: a {unit} is recognised where it is "
    "likelier than the blank, and repeats count once.",
    "heads": "The mean distance between a token and what a head looks at, weighed by attention. The dotted line is "
    "uniform attention over the same utterances, which depends on how long they are.",
    "frequencies": "How much of what varies in RoPE's logits each frequency carries, mean over heads, by the time in "
    "which it turns once.",
    "published": "Error rates in per cent as published, of words or of characters, beside ours, of {unit}s. Data and "
    "sizes differ too much to compare rates; what can be compared is whether RoPE errs more.",
    "table": "Error rates in per cent, with half the width of their intervals; in the last columns, the share of "
    "utterances without any error and means over heads.",
}
COSTS = {  # names of lines, and how numbers are written
    PARAMETERS: ("weights", ",.0f"),
    TIME: ("ms per step, {}", ".0f"),
    MEMORY: ("MB kept, {}", ".1f"),
}
SCORES = {REACH: "distance, ms", "entropy": "entropy", "locality": "locality", "position_share": "position share"}


def page(result: pl.DataFrame, manifest: SpeechManifest) -> Page:
    """Who errs how often, what it costs, one utterance as pictures, and how far heads look."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.arms or result.filter(part="error").is_empty():
        raise UserError("the table has no net that was tested; run `wherewhat reproduce speech` again")
    sounds = {"tones": "touch tones", "digits": "spoken digits"}.get(about.corpus, "recordings")
    facts = [
        counted(len(about.arms), "encoding"),
        counted(about.seeds or 1, "seed"),
        (f"{about.steps or 0:,}", "steps"),
    ]
    return Page(
        title="Rotary positions for speech",
        kind="Reproduction of arXiv 2107.05907 and 2501.06051",
        lede=f"A conformer hears {sounds} and learns which {about.unit}s are said. Its attention needs positions, or "
        "perhaps does not: are rotary ones as good as relative ones, faster and smaller?",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=present(
            [
                answer(table, about),
                picture(table, about),
                longer(table, about),
                differences(table, about),
                heads(table, about),
                frequencies(table),
                published(table, about),
                numbers(table, about),
                claims_section(manifest.claims),
                provenance_section(manifest),
            ]
        ),
    )


def lede(name: str, about: SpeechSection) -> str:
    """How to read a section, in the words of the corpus."""
    return LEDES[name].format(unit=about.unit, words=" ".join(about.utterance))


def answer(table: ResultTable, about: SpeechSection) -> Section:
    """The first screen: error rates of every test, and what a step of training costs."""
    views = {test: list(error_rows(table, about, test)) for test in about.tests}
    across = x("value", "error rate", zero=True, nice=True, format="~%", tickCount=4, padding=6)
    place = {"x": across, "y": names("name", labelLimit=170)}
    layers = estimates(ROWS, place, colour=tint(about))
    drawn = chart(
        "errors",
        {test: rows for test, rows in views.items() if rows},
        layers,
        tip="{name}: {value:share}",
        label="error rate by encoding",
        height=50 + 34 * len(about.arms),
        figure=True,
        title="Error rate",
    )
    cards = [panel(drawn, title="Errors", text=lede("answer", about))]
    if (body := cost_table(table)) is not None:
        cards.append(panel(body, title="Cost of a step", text=LEDES["cost"]))
    questions = ("as good", "faster", "longer", "without positions")
    answers = [about.answers[name] for name in questions if name in about.answers]
    return answer_section("answer", "As good, faster, smaller?", answers, columns(*cards), text="", short="Answer")


def tint(about: SpeechSection, *, shown: Any = None) -> Any:
    """A colour per arm."""
    tones = {label(arm): TINTS.get(arm, MUTED) for arm in about.arms}
    return colour("name", tones, legend=shown)


def error_rows(table: ResultTable, about: SpeechSection, test: str) -> Rows:
    """The error rate of every arm in a test."""
    for arm in about.arms:
        if row := table.row(arm, error(test)):
            yield {"name": label(arm), **{end: row[end] for end in ("value", "low", "high")}}


def cost_table(table: ResultTable) -> Any:
    """Parameters, times and memory of both sides and their ratio; None where they were not measured."""
    rows = []
    for batch in (TRAINING_BATCH, LONGEST):
        for measure, (name, written) in COSTS.items():
            ours, theirs = (table.row(arm, cost(measure, batch)) for arm in (ROPE, RELATIVE))
            if ours and theirs:
                spread = table.row(ROPE, cost(TIME_RATIO, batch)) if measure == TIME else None
                cells = [format(row["value"], written) for row in (ours, theirs)]
                rows.append([name.format(batch), *cells, ratio_of(ours["value"] / theirs["value"], spread)])
    return table_of(["", label(ROPE), label(RELATIVE), "ratio"], rows, label="cost of a step") if rows else None


def ratio_of(plain: float, row: Mapping[str, Any] | None) -> str:
    """A ratio, with its interval over rounds where it has one."""
    if row is None or row["low"] is None:
        return f"{plain:.2f}"
    return f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def picture(table: ResultTable, about: SpeechSection) -> Section | None:
    """One utterance: what is heard, where a head looks, what is recognised."""
    until = length_of(table)
    if table.where(part="spectrogram").is_empty() or not until:
        return None
    drawn = [spectrogram(table, until), attention_map(table, about, until), decoded(table, about, until)]
    return Section(
        "picture",
        "One utterance",
        lede("picture", about),
        join(*(panel(each, title=each.title) for each in drawn if each is not None)),
        "Picture",
    )


def longer(table: ResultTable, about: SpeechSection) -> Section | None:
    """Error rates by the number of digits."""
    rows = list(length_rows(table, about))
    if len({row["at"] for row in rows}) < 2:
        return None
    drawn = lines(
        "longer",
        rows,
        x=x(
            "at",
            "digits per utterance",
            domain=[0, LONG[-1] + 0.5],
            nice=False,
            grid=False,
            values=[TRAINED, *LONG],
            labelExpr=f"datum.value == {TRAINED} ? '1 to 5' : datum.label",
        ),
        y=share(y, "value", "error rate", domain=False, zero=True),
        colour=tint(about, shown=legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=200)),
        label="error rate by number of digits",
        tip="{name}, {at:.0f} digits: {value:share}",
        height=320,
        figure=True,
        title="Error rate by number of digits",
    )
    return Section("longer", "Longer than in training", LEDES["longer"], panel(drawn), "Longer")


def length_rows(table: ResultTable, about: SpeechSection) -> Rows:
    """Error rates of the plain test and of those that are longer."""
    for arm in about.arms:
        for at, test in ((TRAINED, TEST), *((count, f"{count} digits") for count in LONG)):
            if row := table.row(arm, error(test)):
                yield {"name": label(arm), "at": at, **{end: row[end] for end in ("value", "low", "high")}}


def differences(table: ResultTable, about: SpeechSection) -> Section | None:
    """By how much other encodings err more than RoPE, in every test."""
    views = {}
    for test in about.tests:
        rows = [(arm, table.row(arm, difference(test, ROPE))) for arm in about.arms if arm != ROPE]
        views[test] = [
            {"name": label(arm), "side": side(row), **{end: 100 * row[end] for end in ("value", "low", "high")}}
            for arm, row in rows
            if row
        ]
    views = {test: rows for test, rows in views.items() if rows}
    if not views:
        return None
    drawn = forest(
        "differences",
        views,
        line="name",
        axis="more errors than RoPE, in points",
        tip="{name}: {value:+.1f} points ({low:+.1f} to {high:+.1f})",
        label="difference to RoPE by encoding",
        figure=True,
        title="More errors than RoPE",
    )
    return Section("differences", "Compared with RoPE", lede("difference", about), panel(drawn), "Differences")


def heads(table: ResultTable, about: SpeechSection) -> Section | None:
    """How far every head looks, by layer, a view per arm."""
    views = {}
    for arm in about.arms:
        uniform = table.value(arm, Cell("heads", REACH, UNIFORM))
        rows = list(head_rows(table, arm))
        if rows:
            views[label(arm)] = ViewRows(rows, tables={"uniform": [{"value": uniform}]})
    if not views:
        return None
    most = max(row["value"] for view in views.values() for row in view.rows)  # type: ignore[index]
    across = x("value", "mean distance, ms", zero=True, nice=True, domain=[0, most * 1.1], tickCount=6)
    place = {"x": across, "y": names("layer", labelLimit=120, grid=True)}
    layers = [rule(named("uniform"), {"x": across}), marks.dots(ROWS, place, size=110, fill=WHERE, opacity=0.8)]
    drawn = chart(
        "heads",
        views,
        layers,
        tip="{name}: {value:.0f} ms",
        label="how far heads look, in milliseconds",
        height=60 + 34 * (about.layers or 1),
        figure=True,
        title="How far heads look",
    )
    return Section("heads", "How far heads look", LEDES["heads"], panel(drawn), "Heads")


def head_rows(table: ResultTable, arm: str) -> Rows:
    """How far each head of the first seed looks."""
    rows = table.where(part="heads", subject=arm, measure=REACH).drop_nulls("seed")
    first = rows.filter(seed=rows["seed"].min()) if rows.height else rows
    for item, value in first.select("item", "value").iter_rows():
        if item != UNIFORM:
            yield {"name": item, "layer": f"layer {item[1:].partition('H')[0]}", "value": value}


def frequencies(table: ResultTable) -> Section | None:
    """What each rotary frequency carries, by the time in which it turns once."""
    rows = [
        {"at": float(period), "value": value, "name": label(ROPE)}
        for period, value in table.where(part="frequencies", subject=ROPE, seed=None).select("item", "value").rows()
    ]
    if not rows:
        return None
    drawn = lines(
        "frequencies",
        rows,
        x=x("at", "seconds per turn", scale="log", nice=False, grid=False, format="~s", tickCount=6, padding=12),
        y=share(y, "value", "of the variance of logits", domain=False, zero=True),
        colour=colour("name", {label(ROPE): WHERE}),
        intervals="none",
        size=40,
        label="what each rotary frequency carries",
        tip="one turn in {at:.2g} s: {value:share}",
        height=260,
        figure=True,
        title="What rotary frequencies carry",
    )
    return Section("frequencies", "Rotary frequencies", LEDES["frequencies"], panel(drawn), "Frequencies")


def published(table: ResultTable, about: SpeechSection) -> Section:
    """Published comparisons, and ours."""
    rows: list[list[Any]] = [
        [f"{each.source}: {each.data}", rate(each.relative), rate(each.rope), words(each.note)] for each in COMPARISONS
    ]
    for test in about.tests:
        ours, theirs = (table.row(arm, error(test)) for arm in (ROPE, RELATIVE))
        if ours and theirs:
            gap = table.estimate(ROPE, difference(test, RELATIVE))
            note = f"RoPE minus relative: {gap.points()}" if gap.known else ""
            rows.append([f"ours: {test}", tenths(theirs["value"]), tenths(ours["value"]), words(note)])
    headings = ["comparison", "relative, %", "RoPE, %", ""]
    body = panel(table_of(headings, rows, label="published error rates beside ours"))
    return Section("published", "Published, and ours", lede("published", about), body, "Published")


def words(text: str) -> Any:
    """A cell of words rather than numbers."""
    return tag("td", text, class_="word")


def rate(value: float | None) -> str:
    """An error rate as published; a dash if it was not."""
    return "–" if value is None else f"{value:.2f}"


def numbers(table: ResultTable, about: SpeechSection) -> Section:
    """All error rates, exact utterances, and what heads do."""
    rows = []
    for arm in about.arms:
        exact = table.row(arm, Cell("error", EXACT, TEST))
        of_heads = table.where(part="heads", subject=arm, seed=None)
        means = [mean_of(of_heads, measure) for measure in SCORES]
        cells = [plus_minus(table.row(arm, error(test))) for test in about.tests]
        rows.append([label(arm), *cells, tenths(exact["value"]) if exact else "–", *means])
    groups = [("", 1), ("error rate, %", len(about.tests)), ("", 1), ("means over heads", len(SCORES))]
    headings = ["encoding", *about.tests, "all right, %", *SCORES.values()]
    body = panel(table_of(headings, rows, label="error rates and heads", groups=groups))
    return Section("table", "All numbers", LEDES["table"], body, "Numbers")


def mean_of(heads: pl.DataFrame, measure: str) -> str:
    """The mean over heads of one measure; a dash if there is none."""
    values = heads.filter((pl.col("measure") == measure) & (pl.col("item") != UNIFORM))["value"].to_list()
    mean = fmean(values) if values else None
    return f"{mean:.0f}" if mean is not None and measure == REACH else short(mean)

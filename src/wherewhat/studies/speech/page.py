"""The page of speech: who errs how often, what it costs, one utterance as pictures, and how far heads look."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.corpora.speech.splits import TEST
from wherewhat.errors import UserError
from wherewhat.formatting import short, tenths
from wherewhat.published.speech import COMPARISONS
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, panel, present, run_time
from wherewhat.report.blocks.numbers import plus_minus
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.speech.charts import difference_chart, error_chart, frequency_chart, head_chart, length_chart
from wherewhat.studies.speech.names import (
    EXACT,
    LONGEST,
    MEMORY,
    PARAMETERS,
    REACH,
    RELATIVE,
    ROPE,
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

LEDES = {
    "answer": "The error rate is the number of insertions, deletions and substitutions per {unit}, with intervals at "
    "95 % confidence over {samples}. All nets hear the same utterances.",
    "cost": "Both encodings take steps in turn inside one run, so that they share conditions; intervals are over "
    "{runs}. Memory is that of activations at their peak, to which weights and optimizer are added.",
    "longer": "Training has strings of one to five digits, drawn at their mean; tests have ten to twenty.",
    "differences": "How many more {unit}s an encoding gets wrong than RoPE, over the same utterances, in points.",
    "picture": "One test utterance, {words}. Above, the energy in every band as a net hears it: four frames of 10 ms "
    "become a token. In the middle, where the sharpest head looks from every moment (down) to every other (across); "
    "the dotted line is the moment itself. Below, the probability of every {unit}: a {unit} is recognised where it is "
    "likelier than the blank, and repeats count once.",
    "heads": "The mean distance between a token and what a head looks at, weighed by attention, for every head of the "
    "run with the first seed. The dotted line is uniform attention over the same utterances, which depends on how "
    "long they are.",
    "frequencies": "How much of what varies in RoPE's logits each frequency carries, mean over heads, by the time in "
    "which it turns once.",
    "literature": "Error rates in per cent as published, of words or of characters, beside ours, of {unit}s. Data and "
    "sizes differ too much to compare rates; what can be compared is whether RoPE errs more.",
    "table": "Error rates in per cent, with half the width of their intervals; in the last columns, the share of "
    "utterances without any error and means over heads.",
}
COSTS = {  # names of lines, and how numbers are written
    PARAMETERS: ("weights", ",.0f"),
    TIME: ("ms per step, {}", ",.0f"),
    MEMORY: ("MB of activations, {}", ".0f"),
}
SCORES = {REACH: "distance, ms", "entropy": "entropy", "position_share": "position share"}
QUESTIONS = ("as good", "faster", "longer", "without positions")


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
                drawn("longer", "Longer than in training", length_chart(table, about), about),
                drawn("differences", "Compared with RoPE", difference_chart(table, about), about),
                drawn("heads", "How far heads look", head_chart(table, about), about),
                drawn("frequencies", "Rotary frequencies", frequency_chart(table), about),
                literature(table, about),
                numbers(table, about),
                claims_section(manifest.claims),
                provenance_section(manifest),
            ]
        ),
    )


def lede(name: str, about: SpeechSection) -> str:
    """How to read a section, in the words of the corpus."""
    several = (about.seeds or 1) > 1
    samples, runs = ("seeds", "seeds") if several else ("the utterances of one training run", "rounds")
    return LEDES[name].format(unit=about.unit, words=" ".join(about.utterance), samples=samples, runs=runs)


def drawn(name: str, title: str, figure: Chart | None, about: SpeechSection) -> Section | None:
    """A section with one chart, if there is something to draw."""
    return None if figure is None else Section(name, title, lede(name, about), panel(figure), name.capitalize())


def answer(table: ResultTable, about: SpeechSection) -> Section:
    """The first screen: error rates of every test, and what a step of training costs."""
    cards = [panel(error_chart(table, about), title="Errors", text=lede("answer", about))]
    if (body := cost_table(table)) is not None:
        cards.append(panel(body, title="Cost of a step", text=lede("cost", about)))
    answers = [about.answers[name] for name in QUESTIONS if name in about.answers]
    return answer_section("answer", "As good, faster, smaller?", answers, columns(*cards), text="", short="Answer")


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
    """A ratio, with its interval where it has one."""
    if row is None or row["low"] is None:
        return f"{plain:.2f}"
    return f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def picture(table: ResultTable, about: SpeechSection) -> Section | None:
    """One utterance: what is heard, where a head looks, what is recognised."""
    until = length_of(table)
    if table.where(part="spectrogram").is_empty() or not until:
        return None
    pictures = [spectrogram(table, until), attention_map(table, about, until), decoded(table, about, until)]
    body = join(*(panel(each, title=each.title) for each in pictures if each is not None))
    return Section("picture", "One utterance", lede("picture", about), body, "Picture")


def literature(table: ResultTable, about: SpeechSection) -> Section:
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
    return Section("literature", "Published error rates", lede("literature", about), body, "Literature")


def words(text: str) -> Any:
    """A cell of words rather than numbers."""
    return tag("td", text, class_="word")


def rate(value: float | None) -> str:
    """An error rate as published; a dash if it was not."""
    return "–" if value is None else f"{value:.2f}"


def numbers(table: ResultTable, about: SpeechSection) -> Section:
    """All error rates, exact utterances, and what heads do."""
    plain = TEST if TEST in about.tests else about.tests[0]
    rows = []
    for arm in about.arms:
        exact = table.row(arm, Cell("error", EXACT, plain))
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

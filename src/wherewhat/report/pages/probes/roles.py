"""The page of `wherewhat probe roles`: what changes when agent and patient are swapped."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import polars as pl

from wherewhat.published import word_swaps as published
from wherewhat.report.blocks.chart import ViewRows
from wherewhat.report.blocks.layout import columns, panel
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.swaps import MARKS, TOGETHER, axis_of, swap_chart
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import join, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.report.pages.probes import swap_results as results
from wherewhat.report.pages.probes.probe_sections import probe_page
from wherewhat.report.pages.probes.swap_results import CHANGES, VOICES, WORDS_ALONE, Row, SwapResults, read_swaps
from wherewhat.tables.manifest.probe import ProbeManifest


class RoleLine(NamedTuple):
    """One line of a chart: its name, its row of the table, and its mark."""

    words: str
    item: str
    kind: str
    measure: str
    mark: str = "swap"


class RoleChart(NamedTuple):
    """A chart: its title, the title of its axis, its lines, and which examples it is about."""

    title: str
    unit: str  # shares are drawn from 0 to 100 %
    lines: tuple[RoleLine, ...]
    side: str = ""


NEW, OLD = "role swap: the new label", "role swap: the old label"
ANSWERS = (
    RoleLine("original: the right label", "roles", "original", "accuracy"),
    RoleLine(NEW, "roles", "swapped", "accuracy"),
    RoleLine(OLD, "roles", "swapped", "old label"),
    RoleLine("control: the right label", "roles", "control", "accuracy", "control"),
    RoleLine("other voice: the right label", "voice", "swapped", "accuracy", "voice"),
)


def _effects(measure: str, swapped: str = "swapped", control: str = "control") -> tuple[RoleLine, ...]:
    """The role swap, its control and the other voice."""
    return (
        RoleLine("role swap", "roles", swapped, measure),
        RoleLine("control", "roles", control, measure, "control"),
        RoleLine("other voice", "voice", swapped, measure, "voice"),
    )


CHARTS = {
    "answers": RoleChart("Answers", "% of answers", ANSWERS),
    "turned": RoleChart("Where the right answer changes", "% of answers", ANSWERS, CHANGES),
    "flips": RoleChart("Right answers that change", "% of right answers", _effects("flip")),
    "kept": RoleChart("Answers that stay", "% of answers", _effects("kept")),
    "nats": RoleChart("Surprisal", "change, nats per token", _effects("nats", "change", "control change")),
    "distance": RoleChart("Distance of hidden states", "1 is as far as another sentence", _effects("distance")),
}
HEADINGS = {
    "accuracy": "accuracy",
    "old label": "old label",
    "flip": "right answers that change",
    "kept": "answers kept",
    "lenient": "accuracy, lenient",
    "nats": "surprisal",
    "distance": "distance of states",
}
KINDS = ("original", WORDS_ALONE, "swapped", "change", "control", "control change", "beyond control", "beyond voice")
ITEMS = {"roles": "role swap", "voice": "other voice"}


def page_of_roles(numbers: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """Whether a model notices that agent and patient were swapped, in numbers and in examples."""
    swaps = read_swaps(numbers, manifest)
    examples = swaps.examples(
        "The original sentence, below it what the model read after the role swap, and its answers to both."
    )
    question = "If agent and patient are swapped, who did what to whom is reversed. Does the model notice?"
    sections = [what_changes(swaps), examples, label_by_label(swaps), every_number(swaps)]
    return probe_page(manifest, f"swapped roles in {', '.join(swaps.datasets)}", question, sections)


def what_changes(swaps: SwapResults) -> Section:
    """The main figures: before and after, and how often answers change."""
    cards = []
    for number, data in enumerate(swaps.datasets):
        for name, its in CHARTS.items():
            if rows := list(_rows(swaps, data, its)):
                every = [row for other in swaps.datasets for row in _rows(swaps, other, its)]
                view = ViewRows(rows, axis_of(its.unit, every, whole=100.0 if "%" in its.unit else None))
                label = f"{its.title} in {data}. {'; '.join(row['tip'] for row in rows if row['kind'] in MARKS)}"
                title = f"{data}: {its.title.lower()}"
                chart = swap_chart(f"{name}_{number}", {"": view}, places=TOGETHER, label=label, title=title)
                cards.append(panel(chart, title=swaps.named(its.title, data)))
    reads = (
        "A model that reads roles gives the new answer when they are swapped, and keeps its answer in the other voice, "
        "where the same roles come in reverse order."
    )
    differs = (
        "The role swap says something else in the same words; the other voice says the same in another order. The "
        "outputs of a model that reads roles change more with the first."
    )
    control = "The control swaps two other spans of the same lengths. Bars are 95 % intervals over sentences."
    marks = swaps.key("original, and role swap" if swaps.labelled else "role swap", "by")
    body = join(columns(*cards, look="two" if len(cards) > 1 else ""), marks)
    lede = f"{reads if swaps.labelled else differs} {control}"
    return Section("change", "Before and after", lede, body, short="Effect")


def _rows(swaps: SwapResults, data: str, chart: RoleChart) -> Iterator[Row]:
    """What a chart draws: its lines, published models on the two that they report, and the words alone."""
    for order, line in enumerate(chart.lines):
        row = swaps.of(data, line.item, line.kind, line.measure, chart.side)
        if not row or (line.measure == "kept" and swaps.labelled):  # right answers that change tell more
            continue
        place = {"line": line.words, "order": order}
        tip = f"{line.words}: {results.in_words(row, line.measure, line.kind)}"
        yield {**place, "kind": line.mark, "tip": tip, **results.drawn(row, line.measure)}
        if swaps.labelled and not chart.side and line in ANSWERS[:2]:
            for model, (before, change) in published.ROLES.items():
                value = before if line.kind == "original" else before + change
                tip = f"{model}, published on SNLI: {value:.1f} %"
                yield {**place, "kind": "published", "value": value, "tip": tip}
    if chart.lines == ANSWERS and (alone := swaps.of(data, "roles", WORDS_ALONE, "accuracy", chart.side)):
        yield {"kind": "level", "value": 100 * alone["value"], "tip": f"words alone: {per_cent(alone['value'])} %"}


def label_by_label(swaps: SwapResults) -> Section | None:
    """The same by label, and by voice."""
    shown = {("original", "accuracy"): "original", (WORDS_ALONE, "accuracy"): WORDS_ALONE}
    shown |= {("swapped", "accuracy"): NEW, ("swapped", "old label"): OLD}
    shown |= {("swapped", "flip"): "right answers that change"}
    there = {at: heading for at, heading in shown.items() if at[0] != WORDS_ALONE or at[0] in swaps.kinds}
    sides = [side for side in (*swaps.labels, CHANGES, *VOICES) if side in swaps.sides]
    rows = [
        [swaps.named(tag("bdi", side), data), results.sentences(swapped)]
        + [results.with_interval(swaps.of(data, "roles", *at, side), at[1], at[0]) for at in there]
        for data in swaps.datasets
        for side in sides
        if (swapped := swaps.of(data, "roles", "swapped", "accuracy", side))
    ]
    if not rows:
        return None
    headings = ("label or voice", "sentences", *there.values())
    body = table(headings, rows, label="Role swap, by label")
    return Section("labels", "By label", "In per cent of answers, with 95 % intervals.", body, short="Labels")


def every_number(swaps: SwapResults) -> Section:
    """All numbers, one line per measure."""
    there = [kind for kind in KINDS if kind in swaps.kinds]
    rows = []
    for data, item, (measure, name) in product(swaps.datasets, swaps.items, HEADINGS.items()):
        numbers = {kind: swaps.of(data, item, kind, measure) for kind in there}
        if any(numbers.values()):
            cells = [results.with_interval(row, measure, kind) for kind, row in numbers.items()]
            rows.append([swaps.named(f"{name}, {ITEMS.get(item, item)}", data), *cells])
    lede = (
        "Answers in per cent, their changes in points; surprisal in nats per token. Beyond control and beyond voice: "
        "the effect of the role swap minus that of the control, or of the other voice, on the same sentences."
    )
    body = table(["what", *there], rows, label="Every number of the role swap")
    return Section("numbers", "Every number", lede, body, short="Table")

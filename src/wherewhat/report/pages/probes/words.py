"""The page of `wherewhat probe words`: what changes when words are shuffled within constituents."""

from itertools import chain

import polars as pl

from wherewhat.report.blocks.chart import ViewRows
from wherewhat.report.blocks.layout import columns, panel
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.swaps import axis_of, published_changes, size_words, swap_chart
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.report.pages.probes import swap_results as results
from wherewhat.report.pages.probes.probe_sections import probe_page
from wherewhat.report.pages.probes.swap_results import EVERY_SIZE, MEASURES, WORDS_ALONE, Row, SwapResults, read_swaps
from wherewhat.tables.manifest.probe import ProbeManifest

PAIRS = dict.fromkeys(("accuracy", "nats"), ("change", "control change"))  # other measures have no original
PLAIN = ("swapped", "control")
UNITS = {
    "accuracy": "change, points",
    "nats": "change, nats per token",
    "distance": "× two sentences",
    "kept": "% of answers",
}
# Kinds and their headings in a table, where there is an original; then by measure.
HEADINGS = {"original": "original", "swapped": "swapped", "change": "change", "control change": "control"}
COLUMNS = {"accuracy": {"original": "original", WORDS_ALONE: WORDS_ALONE, **HEADINGS}, "nats": HEADINGS}


def page_of_words(numbers: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """The effects of shuffled constituents, in numbers and in examples."""
    swaps = read_swaps(numbers, manifest)
    examples = swaps.examples(
        "Above the original sentence, below it the same words after the swap. Lines lead each word from its old place "
        "to its new one; small numbers give the old place."
    )
    question = "How do the model's outputs change when words are shuffled within constituents that stay where they are?"
    kind = f"shuffled words in {', '.join(swaps.datasets)}"
    return probe_page(manifest, kind, question, [what_changes(swaps), examples, every_number(swaps)])


def what_changes(swaps: SwapResults) -> Section:
    """The main figure: the effect of every size beside that of the control."""
    several = len(swaps.datasets) > 1
    cards = [
        panel(chart, title=tag("bdi", data) if several else "")
        for number, data in enumerate(swaps.datasets)
        if (chart := _effects(swaps, number, data)) is not None  # else no sentence of it could be swapped
    ]
    lede = (
        "Each line is a size of constituents whose words were shuffled, with the 95 % interval over sentences. The "
        "control shuffles as many words in spans of the same size that are not constituents; a whole sentence has no "
        "control. Each size is measured on the sentences that have such constituents."
    )
    marks = swaps.key("constituents shuffled", "the same accuracy as")
    body = join(columns(*cards, look="two" if several else ""), marks)
    return Section("change", "The effect of shuffling", lede, body, short="Effect")


def _effects(swaps: SwapResults, number: int, data: str) -> Chart | None:
    """The reader chooses the measure, and only sentences with constituents of every size."""
    first, *others = swaps.measures
    views = {}
    for measure, side in ((first, ""), (first, EVERY_SIZE), *((other, "") for other in others)):
        rows = _rows(swaps, data, measure, side)
        if any(row["kind"] == "swap" for row in rows):
            title = f"{MEASURES[measure]}, in sentences with constituents of every size" if side else MEASURES[measure]
            # The axis of a measure is the same for all data.
            every = [_rows(swaps, other, measure, which) for other in swaps.datasets for which in ("", EVERY_SIZE)]
            views[title] = ViewRows(rows, axis_of(UNITS[measure], chain(*every)))
    if not views:
        return None
    in_words = "; ".join(row["tip"] for row in _rows(swaps, data, first) if row["kind"] == "swap")
    title, label = f"{data}: words shuffled within constituents", f"What swaps change in {data}. {in_words}"
    return swap_chart(f"changes_{number}", views, label=label, title=title, subtitle="hollow: control")


def _rows(swaps: SwapResults, data: str, measure: str, side: str = "") -> list[Row]:
    """What the chart draws: every swap and its control; of accuracy also that of the words alone, and published."""
    rows: list[Row] = published_changes(swaps.items) if measure == "accuracy" and swaps.labelled else []
    for order, item in enumerate(swaps.items):
        place = {"line": size_words(item), "order": order}
        for mark, kind in zip(("swap", "control"), PAIRS.get(measure, PLAIN), strict=True):
            if row := swaps.of(data, item, kind, measure, side):
                tip = f"{size_words(item)}, {mark}: {results.in_words(row, measure, kind)}"
                rows.append({**place, "kind": mark, "tip": tip, **results.drawn(row, measure)})
        alone, original = (swaps.of(data, item, kind, measure, side) for kind in (WORDS_ALONE, "original"))
        if alone and original:
            shares = [per_cent(row["value"]) for row in (alone, original)]
            tip = f"{size_words(item)}, words alone: {shares[0]} %, original {shares[1]} %"
            rows.append({**place, "kind": "alone", "tip": tip, "value": 100 * (alone["value"] - original["value"])})
    return rows


def every_number(swaps: SwapResults) -> Section:
    """All numbers of the charts, and how many sentences they rest on; then accuracy by label, where it is known."""
    parts: list[Html] = []
    for data in swaps.datasets:
        parts += [tag("h3", tag("bdi", data), class_="of-kind")] if len(swaps.datasets) > 1 else []
        parts += [_numbers(swaps, data, measure) for measure in swaps.measures]
    by_label = [
        [swaps.named(size_words(item), data), tag("bdi", label)]
        + [_cell(swaps.of(data, item, kind, "accuracy", label), "accuracy", kind, item) for kind in HEADINGS]
        for data in swaps.datasets
        for item in swaps.items
        for label in swaps.labels
        if swaps.of(data, item, "change", "accuracy", label)
    ]
    if by_label:
        headings, title = ["accuracy", "label", *HEADINGS.values()], tag("h3", "By label", class_="of-kind")
        parts += [title, table(headings, by_label, label="Accuracy by label")]
    beyond = " Beyond control: the effect of the swap minus that of its control, on the same sentences."
    lede = "Accuracy in per cent, its changes in points; surprisal in nats per token."
    lede += beyond if "beyond control" in swaps.kinds else ""
    return Section("numbers", "Every number", lede, join(*parts), short="Table")


def _numbers(swaps: SwapResults, data: str, measure: str) -> Html:
    headings = {**COLUMNS.get(measure, dict(zip(PLAIN, PLAIN, strict=True))), "beyond control": "beyond control"}
    kinds = [kind for kind in headings if kind != WORDS_ALONE or kind in swaps.kinds]
    rows = []
    for item in swaps.items:
        cells = [_cell(swaps.of(data, item, kind, measure), measure, kind, item) for kind in kinds]
        moved = [_cell(swaps.of(data, item, "swapped", name), name, "swapped", item) for name in ("moved", "reach")]
        behind = results.sentences(swaps.of(data, item, PAIRS.get(measure, PLAIN)[0], measure))
        rows.append([size_words(item), behind, *cells, *moved])
    names = (MEASURES[measure], "sentences", *(headings[kind] for kind in kinds), "words moved", "distance moved")
    return table(names, rows, label=f"{MEASURES[measure]} in {data}, by size of the constituents")


def _cell(row: Row, measure: str, kind: str, item: str) -> Html | str:
    """A number with its interval; a whole sentence has no control."""
    impossible = item == "whole" and "control" in kind and not row
    return "none possible" if impossible else results.with_interval(row, measure, kind)

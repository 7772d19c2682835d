"""The page of `wherewhat probe words`: what changes when words are shuffled within constituents."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.published import word_swaps as published
from wherewhat.report.figures import rows as rows_of
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, columns, figure_of, panel, titled
from wherewhat.report.probe_examples import laid_out, shuffle_example
from wherewhat.report.probe_sections import claims_of, facts_of, key, per_cent, size_words, table, the_data
from wherewhat.report.probe_swaps_charts import ROW, changes
from wherewhat.report.probe_swaps_tables import (
    ALONE,
    EVERY_SIZE,
    MEASURES,
    Row,
    SwapTables,
    clear,
    ends_of,
    first_known,
    in_words,
    scaled,
    with_interval,
)
from wherewhat.report.provenance import provenance_section
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.probe import ProbeManifest

PAIRS = dict.fromkeys(("accuracy", "nats"), ("change", "control change"))  # other measures have no original
PLAIN = ("swapped", "control")
COLUMNS = {  # of the table, by measure: kinds and their headings
    "accuracy": {"original": "original", "words alone": "words alone", "swapped": "swapped", "change": "change"}
    | {"control change": "control"},
    "nats": {"original": "original", "swapped": "swapped", "change": "change", "control change": "control"},
    "distance": {"swapped": "swapped", "control": "control"},
    "kept": {"swapped": "swapped", "control": "control"},
}
LABELLED = {kind: name for kind, name in COLUMNS["accuracy"].items() if kind != "words alone"}  # label by label
EVERY_SET = "in sentences with constituents of every size"


def page_of_words(table: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """The effects of shuffled constituents, in numbers and in examples."""
    swaps = SwapTables(table, manifest)
    if table.is_empty() or not swaps.measures:
        raise UserError("the table of the probe has no swaps; run `wherewhat probe words` again")
    numbers, charts = _tables(swaps), {"changes": changes()}
    sections = [
        what_changes(swaps, numbers),
        claims_of(manifest),
        in_sentences(swaps),
        every_number(swaps),
        the_data(manifest),
        provenance_section(manifest, model=manifest.model),
    ]
    return Page(
        title=manifest.model.id,
        kind=f"Probe: shuffled words in {', '.join(swaps.datasets)}",
        lede=_lede(swaps),
        facts=facts_of(manifest),
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(swaps, charts, numbers),
    )


def _lede(swaps: SwapTables) -> str:
    """The question of the probe, and how the model was read."""
    question = "How do the model's outputs change when words are shuffled within constituents that stay where they are?"
    return " ".join(filter(None, (question, swaps.manifest.question)))


def what_changes(swaps: SwapTables, numbers: Mapping[str, Columns]) -> Section:
    """The main figure: the effect of every size beside that of the control."""
    charts = []
    for number, data in enumerate(swaps.datasets):
        views = [
            (title, words | {"panel": str(number)} | _ends(numbers, words)) for title, words in _views(swaps, data)
        ]
        if not views:
            continue  # no sentence of it could be swapped
        label = f"What swaps change in {data}. {_chart_in_words(swaps, data)}"
        chart = chart_widget("changes", label, height=ROW * len(swaps.items) + 10, words=views[0][1], views=views)
        charts.append(panel(*([tag("h3", tag("bdi", data))] if len(swaps.datasets) > 1 else []), chart))
    body = join(tag("div", *charts, class_="two" if len(charts) > 1 else "cards"), _key(swaps))
    lede = (
        "Each line is a size of constituents whose words were shuffled, with the 95 % interval over sentences. The "
        "control shuffles as many words in spans of the same size that are not constituents; a whole sentence has no "
        "control. Each size is measured on the sentences that have such constituents."
    )
    return Section("change", "The effect of shuffling", lede, body, short="Effect")


def _views(swaps: SwapTables, data: str) -> list[tuple[str, dict[str, str]]]:
    """What the reader can choose: the measure, and only sentences with constituents of every size."""
    sets = [("", measure) for measure in swaps.measures]
    sets[1:1] = [(side, swaps.measures[0]) for side in swaps.sides(EVERY_SIZE)]
    return [
        (_title(measure, which), {"measure": measure, "set": which, "unit": _unit(swaps, measure)})
        for which, measure in sets
        if first_known([_pair(swaps, data, item, measure, which)[0] for item in swaps.items])
    ]


def _ends(numbers: Mapping[str, Columns], words: Mapping[str, str]) -> dict[str, str]:
    """The ends of the axis of a measure: the same for all data."""
    drawn_rows = [row for name in ("changes", "published", "alone") for row in rows_of(numbers[name])]
    return ends_of(row for row in drawn_rows if row["measure"] == words["measure"])


def _title(measure: str, which: str) -> str:
    return f"{MEASURES[measure]}, {EVERY_SET}" if which else MEASURES[measure]


def _unit(swaps: SwapTables, measure: str) -> str:
    return f"change, {swaps.unit(measure)}" if measure in PAIRS else swaps.unit(measure)


def _pair(swaps: SwapTables, data: str, item: str, measure: str, which: str = "") -> tuple[Row, Row]:
    """The swap and its control."""
    first, second = PAIRS.get(measure, PLAIN)
    return swaps.of(data, item, first, measure, which), swaps.of(data, item, second, measure, which)


def _chart_in_words(swaps: SwapTables, data: str) -> str:
    """The main measure as text, for those who cannot see the chart."""
    measure = swaps.measures[0]
    kind = PAIRS.get(measure, PLAIN)[0]
    parts = [
        f"{size_words(item)}: {in_words(row, measure, kind)}"
        for item in swaps.items
        if (row := _pair(swaps, data, item, measure)[0]).get("value") is not None
    ]
    return "; ".join(parts)


def _key(swaps: SwapTables) -> Html:
    entries = [("mark swap", "constituents shuffled"), ("mark control", "control")]
    if swaps.has_alone:
        entries.append(("mark alone", f"the same accuracy as {ALONE}"))
    if swaps.labelled:
        entries.append(("mark published", published.SOURCE))
    return key(*entries)


def in_sentences(swaps: SwapTables) -> Section | None:
    """Examples of swaps with the model's answers."""
    if not swaps.manifest.examples:
        return None
    body = laid_out(swaps, shuffle_example)
    lede = (
        "Above the original sentence, below it the same words after the swap. Lines lead each word from its old place "
        "to its new one; small numbers give the old place."
    )
    return Section("examples", "Examples", lede, body, short="Examples")


def every_number(swaps: SwapTables) -> Section:
    """All numbers of the charts, and how many sentences they rest on."""
    blocks = []
    for data in swaps.datasets:
        heading = [tag("h3", tag("bdi", data), class_="of-kind")] if len(swaps.datasets) > 1 else []
        blocks += [*heading, *(_numbers(swaps, data, measure) for measure in swaps.measures)]
    whole = any(row.get("kind") == "beyond control" for row in swaps.rows.values())
    lede = "Accuracy in per cent, its changes in points; surprisal in nats per token." + (
        " Beyond control: the effect of the swap minus that of its control, on the same sentences." if whole else ""
    )
    return Section("numbers", "Every number", lede, join(*blocks, _by_label(swaps)), short="Table")


def _numbers(swaps: SwapTables, data: str, measure: str) -> Html:
    kinds = {kind: name for kind, name in COLUMNS[measure].items() if kind != "words alone" or swaps.has_alone}
    headings = [MEASURES[measure], "sentences", *kinds.values(), "beyond control", "words moved", "mean distance moved"]
    rows = []
    for item in swaps.items:
        cells = [_cell(swaps.of(data, item, kind, measure), measure, kind, item) for kind in kinds]
        gap = swaps.of(data, item, "beyond control", measure)
        sure = tag("span", _cell(gap, measure, "beyond control", item), class_=None if clear(gap) else "unsure")
        behind = _pair(swaps, data, item, measure)[0].get("count")
        moved = [with_interval(swaps.of(data, item, "swapped", name), name, "swapped") for name in ("moved", "reach")]
        rows.append([size_words(item), "–" if behind is None else f"{behind:,}", *cells, sure, *moved])
    return table(headings, rows, label=f"{MEASURES[measure]} in {data}, by size of the constituents")


def _cell(row: Row, measure: str, kind: str, item: str) -> Html | str:
    """A number with its interval; a whole sentence has no control."""
    return "none possible" if item == "whole" and "control" in kind and not row else with_interval(row, measure, kind)


def _by_label(swaps: SwapTables) -> Html:
    """Accuracy by label, where there are labels."""
    if not swaps.labels or "accuracy" not in swaps.measures:
        return Html("")
    rows = [
        [join(size_words(item), *([" · ", tag("bdi", data)] if len(swaps.datasets) > 1 else [])), tag("bdi", label)]
        + [_cell(swaps.of(data, item, kind, "accuracy", label), "accuracy", kind, item) for kind in LABELLED]
        for data in swaps.datasets
        for item in swaps.items
        for label in swaps.labels
        if swaps.of(data, item, "change", "accuracy", label)
    ]
    headings = ["accuracy", "label", *LABELLED.values()]
    title = tag("h3", "By label", class_="of-kind")
    return join(title, table(headings, rows, label="Accuracy by label")) if rows else Html("")


def _tables(swaps: SwapTables) -> dict[str, Columns]:
    """The numbers of the chart, of the words alone, and of published classifiers."""
    places = product(swaps.datasets, enumerate(swaps.items), swaps.measures, ("", *swaps.sides(EVERY_SIZE)))
    drawn_rows = [row for data, size, measure, which in places for row in _both(swaps, data, size, measure, which)]
    names = ("panel", "measure", "set", "kind", "line", "order", "value", "low", "high", "said")
    return {
        "changes": columns(drawn_rows, names),
        "published": columns(_published(swaps), ("measure", "line", "order", "value", "said")),
        "alone": columns(_alone(swaps), (*names[:3], "line", "order", "value", "said")),
    }


def _alone(swaps: SwapTables) -> list[Row]:
    """By how much accuracy would change to be that of the words alone."""
    made: list[Row] = []
    for data, (order, item), which in product(swaps.datasets, enumerate(swaps.items), ("", *swaps.sides(EVERY_SIZE))):
        alone, original = swaps.alone(data, item, which), swaps.of(data, item, "original", "accuracy", which)
        if first_known([alone]) and first_known([original]):
            place = {"panel": str(swaps.datasets.index(data)), "measure": "accuracy", "set": which, "order": order}
            shares = [per_cent(row["value"]) for row in (alone, original)]
            tooltip = f"{size_words(item)}, words alone: {shares[0]} %, original {shares[1]} %"
            value = 100 * (alone["value"] - original["value"])
            made.append(place | {"line": size_words(item), "value": value, "said": tooltip})
    return made


def _both(swaps: SwapTables, data: str, size: tuple[int, str], measure: str, which: str) -> list[Row]:
    """The swap and its control as the chart draws them."""
    order, item = size
    place = {"panel": str(swaps.datasets.index(data)), "measure": measure, "set": which, "order": order}
    made: list[Row] = []
    for name, kind in zip(("swap", "control"), PAIRS.get(measure, PLAIN), strict=True):
        row = swaps.of(data, item, kind, measure, which)
        tooltip = f"{size_words(item)}, {name}: {in_words(row, measure, kind)}"
        if row.get("value") is not None:
            made.append(place | {"kind": name, "line": size_words(item), "said": tooltip} | scaled(row, measure, kind))
    return made


def _published(swaps: SwapTables) -> list[Mapping[str, Any]]:
    if not swaps.labelled:
        return []
    return [
        {"measure": "accuracy", "line": size_words(size), "order": swaps.items.index(size), "value": change}
        | {"said": f"{model}, published on SNLI, {size_words(size)}: {change:+.1f} points".replace("-", "−")}
        for model, changed in published.CHANGES.items()
        for size, change in zip(published.SIZES, changed, strict=True)
        if size in swaps.items
    ]


def _figures(swaps: SwapTables, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    made = {}
    for number, data in enumerate(swaps.datasets):
        for title, words in _views(swaps, data):
            if not words["set"]:
                spec = titled(charts["changes"], f"{data}: {title} when words are shuffled", "hollow: control")
                name = f"{words['measure']}_{number}"
                made[name] = figure_of(
                    spec, numbers, (560, ROW * len(swaps.items)), words | {"panel": str(number)} | _ends(numbers, words)
                )
    return made

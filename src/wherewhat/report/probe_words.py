"""The page of `wherewhat probe words`: what changes when the words inside phrases change places."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report import probe_published as published
from wherewhat.report.drawn import columns, drawn, figure_of, panel, titled
from wherewhat.report.figures import rows as rows_of
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.probe_examples import laid_out, shuffle_example
from wherewhat.report.probe_swaps_charts import ROW, changes
from wherewhat.report.probe_swaps_tables import (
    ALONE,
    EVERY_SIZE,
    MEASURES,
    Row,
    Swaps,
    clear,
    ends_of,
    first_known,
    in_words,
    scaled,
    with_interval,
)
from wherewhat.report.probe_told import claims_of, facts_of, key, model_of, per_cent, size_words, table, the_data
from wherewhat.report.tags import Html, join, tag

PAIRS = dict.fromkeys(("accuracy", "nats"), ("change", "control change"))  # of others, there is no original
PLAIN = ("swapped", "control")
COLUMNS = {  # of the table, by measure: kinds and their headings
    "accuracy": {"original": "as it is", "words alone": "words alone", "swapped": "swapped", "change": "change"}
    | {"control change": "control"},
    "nats": {"original": "as it is", "swapped": "swapped", "change": "change", "control change": "control"},
    "distance": {"swapped": "swapped", "control": "control"},
    "kept": {"swapped": "swapped", "control": "control"},
}
LABELLED = {kind: name for kind, name in COLUMNS["accuracy"].items() if kind != "words alone"}  # label by label
EVERY_SET = "where there are phrases of every size"


def page_of_words(table: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what shuffled phrases change, in numbers and in words."""
    found = Swaps(table, manifest)
    if table.is_empty() or not found.measures:
        raise UserError("the table of the probe has no swaps to show; run `wherewhat probe words` again")
    numbers, charts = _tables(found), {"changes": changes()}
    sections = [
        what_changes(found, numbers),
        claims_of(manifest),
        in_sentences(found),
        every_number(found),
        the_data(manifest),
        how_it_was_made(manifest),
    ]
    return Page(
        title=model_of(manifest),
        kind=f"Probe: words in other places, in {', '.join(found.datas)}",
        lede=_lede(found),
        facts=facts_of(manifest),
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(found, charts, numbers),
    )


def _lede(found: Swaps) -> str:
    """What was asked, in a sentence, and how the model was read."""
    asked = (
        "If the words inside phrases change places, and the phrases stay where they are, what changes for the model?"
    )
    return " ".join(filter(None, (asked, str(found.manifest.get("asked") or ""))))


def what_changes(found: Swaps, numbers: Mapping[str, Columns]) -> Section:
    """The main figure: the change for every size beside that of the control."""
    charts = []
    for number, data in enumerate(found.datas):
        views = [
            (title, words | {"panel": str(number)} | _ends(numbers, words)) for title, words in _views(found, data)
        ]
        if not views:
            continue  # none of its sentences could be swapped
        label = f"What swaps change in {data}. {_spoken(found, data)}"
        chart = drawn("changes", label, height=ROW * len(found.items) + 10, words=views[0][1], views=views)
        charts.append(panel(*([tag("h3", tag("bdi", data))] if len(found.datas) > 1 else []), chart))
    body = join(tag("div", *charts, class_="two" if len(charts) > 1 else "cards"), _key(found))
    lede = (
        "Each line is a length of the phrases whose words were shuffled, with the 95 % interval over sentences. The "
        "control shuffles as many words in stretches of the same lengths that are no phrases; a whole sentence "
        "leaves no words for one. Each length is told of the sentences that have such phrases."
    )
    return Section("change", "What shuffling changes", lede, body, short="Change")


def _views(found: Swaps, data: str) -> list[tuple[str, dict[str, str]]]:
    """What the reader may choose: the measure, and the sentences that have phrases of every size alone."""
    sets = [("", measure) for measure in found.measures]
    sets[1:1] = [(side, found.measures[0]) for side in found.sides(EVERY_SIZE)]
    return [
        (_title(measure, which), {"measure": measure, "set": which, "unit": _unit(found, measure)})
        for which, measure in sets
        if first_known([_pair(found, data, item, measure, which)[0] for item in found.items])
    ]


def _ends(numbers: Mapping[str, Columns], words: Mapping[str, str]) -> dict[str, str]:
    """How far the axis of a measure goes: the same for all data."""
    drawn_rows = [row for name in ("changes", "published", "alone") for row in rows_of(numbers[name])]
    return ends_of(row for row in drawn_rows if row["measure"] == words["measure"])


def _title(measure: str, which: str) -> str:
    return f"{MEASURES[measure]}, {EVERY_SET}" if which else MEASURES[measure]


def _unit(found: Swaps, measure: str) -> str:
    return f"change, {found.unit(measure)}" if measure in PAIRS else found.unit(measure)


def _pair(found: Swaps, data: str, item: str, measure: str, which: str = "") -> tuple[Row, Row]:
    """The swap and its control."""
    first, second = PAIRS.get(measure, PLAIN)
    return found.of(data, item, first, measure, which), found.of(data, item, second, measure, which)


def _spoken(found: Swaps, data: str) -> str:
    """The main measure for those who cannot see the chart."""
    measure = found.measures[0]
    kind = PAIRS.get(measure, PLAIN)[0]
    told = [
        f"{size_words(item)}: {in_words(row, measure, kind)}"
        for item in found.items
        if (row := _pair(found, data, item, measure)[0]).get("value") is not None
    ]
    return "; ".join(told)


def _key(found: Swaps) -> Html:
    entries = [("mark swap", "phrases shuffled"), ("mark control", "control")]
    if found.has_alone:
        entries.append(("mark alone", f"where it would be by {ALONE}"))
    if found.judged:
        entries.append(("mark published", published.SOURCE))
    return key(*entries)


def in_sentences(found: Swaps) -> Section | None:
    """What was done and what the model said, in words."""
    if not found.manifest.get("examples"):
        return None
    body = laid_out(found, shuffle_example)
    lede = (
        "Above the sentence as it is, below it the same words after the swap. Lines lead each word from its old place "
        "to its new one; small numbers say which place that was."
    )
    return Section("examples", "In words", lede, body, short="Examples")


def every_number(found: Swaps) -> Section:
    """All numbers of the charts and what they rest on."""
    blocks = []
    for data in found.datas:
        heading = [tag("h3", tag("bdi", data), class_="of-kind")] if len(found.datas) > 1 else []
        blocks += [*heading, *(_numbers(found, data, measure) for measure in found.measures)]
    whole = any(row.get("kind") == "beyond control" for row in found.rows.values())
    lede = "Right answers in per cent, their changes in points; surprise in nats a token." + (
        " Beyond control is the change by the swap minus that by its control, on the same sentences." if whole else ""
    )
    return Section("numbers", "Every number", lede, join(*blocks, _by_label(found)), short="Table")


def _numbers(found: Swaps, data: str, measure: str) -> Html:
    kinds = {kind: name for kind, name in COLUMNS[measure].items() if kind != "words alone" or found.has_alone}
    headings = [MEASURES[measure], "sentences", *kinds.values(), "beyond control", "words moved", "by so many places"]
    rows = []
    for item in found.items:
        cells = [_cell(found.of(data, item, kind, measure), measure, kind, item) for kind in kinds]
        gap = found.of(data, item, "beyond control", measure)
        sure = tag("span", _cell(gap, measure, "beyond control", item), class_=None if clear(gap) else "unsure")
        behind = _pair(found, data, item, measure)[0].get("count")
        moved = [with_interval(found.of(data, item, "swapped", name), name, "swapped") for name in ("moved", "reach")]
        rows.append([size_words(item), "–" if behind is None else f"{behind:,}", *cells, sure, *moved])
    return table(headings, rows, label=f"{MEASURES[measure]} in {data}, by length of the phrases")


def _cell(row: Row, measure: str, kind: str, item: str) -> Html | str:
    """A number with its interval; a whole sentence has no control."""
    return "none possible" if item == "whole" and "control" in kind and not row else with_interval(row, measure, kind)


def _by_label(found: Swaps) -> Html:
    """Right answers label by label, where there are labels."""
    if not found.labels or "accuracy" not in found.measures:
        return Html("")
    rows = [
        [join(size_words(item), *([" · ", tag("bdi", data)] if len(found.datas) > 1 else [])), tag("bdi", label)]
        + [_cell(found.of(data, item, kind, "accuracy", label), "accuracy", kind, item) for kind in LABELLED]
        for data in found.datas
        for item in found.items
        for label in found.labels
        if found.of(data, item, "change", "accuracy", label)
    ]
    headings = ["right answers", "label", *LABELLED.values()]
    title = tag("h3", "Label by label", class_="of-kind")
    return join(title, table(headings, rows, label="Right answers label by label")) if rows else Html("")


def _tables(found: Swaps) -> dict[str, Columns]:
    """The numbers of the chart, what the words alone tell, and what was published of models that gave labels too."""
    places = product(found.datas, enumerate(found.items), found.measures, ("", *found.sides(EVERY_SIZE)))
    drawn_rows = [row for data, size, measure, which in places for row in _both(found, data, size, measure, which)]
    names = ("panel", "measure", "set", "kind", "line", "order", "value", "low", "high", "said")
    return {
        "changes": columns(drawn_rows, names),
        "published": columns(_published(found), ("measure", "line", "order", "value", "said")),
        "alone": columns(_alone(found), (*names[:3], "line", "order", "value", "said")),
    }


def _alone(found: Swaps) -> list[Row]:
    """How far right answers would change, to be as many as the words alone tell."""
    made: list[Row] = []
    for data, (order, item), which in product(found.datas, enumerate(found.items), ("", *found.sides(EVERY_SIZE))):
        alone, original = found.alone(data, item, which), found.of(data, item, "original", "accuracy", which)
        if first_known([alone]) and first_known([original]):
            place = {"panel": str(found.datas.index(data)), "measure": "accuracy", "set": which, "order": order}
            shares = [per_cent(row["value"]) for row in (alone, original)]
            said = f"{size_words(item)}, words alone: {shares[0]} %, as it is {shares[1]} %"
            value = 100 * (alone["value"] - original["value"])
            made.append(place | {"line": size_words(item), "value": value, "said": said})
    return made


def _both(found: Swaps, data: str, size: tuple[int, str], measure: str, which: str) -> list[Row]:
    """The swap and its control as the chart draws them."""
    order, item = size
    place = {"panel": str(found.datas.index(data)), "measure": measure, "set": which, "order": order}
    made: list[Row] = []
    for name, kind in zip(("swap", "control"), PAIRS.get(measure, PLAIN), strict=True):
        row = found.of(data, item, kind, measure, which)
        said = f"{size_words(item)}, {name}: {in_words(row, measure, kind)}"
        if row.get("value") is not None:
            made.append(place | {"kind": name, "line": size_words(item), "said": said} | scaled(row, measure, kind))
    return made


def _published(found: Swaps) -> list[Mapping[str, Any]]:
    if not found.judged:
        return []
    return [
        {"measure": "accuracy", "line": size_words(size), "order": found.items.index(size), "value": change}
        | {"said": f"{model}, published on SNLI, {size_words(size)}: {change:+.1f} points".replace("-", "−")}
        for model, changed in published.CHANGES.items()
        for size, change in zip(published.SIZES, changed, strict=True)
        if size in found.items
    ]


def _figures(found: Swaps, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    made = {}
    for number, data in enumerate(found.datas):
        for title, words in _views(found, data):
            if not words["set"]:
                spec = titled(charts["changes"], f"{data}: {title} when words change places", "hollow: control")
                name = f"{words['measure']}_{number}"
                made[name] = figure_of(
                    spec, numbers, (560, ROW * len(found.items)), words | {"panel": str(number)} | _ends(numbers, words)
                )
    return made

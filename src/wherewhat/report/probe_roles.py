"""The page of `wherewhat probe roles`: what changes when agent and patient are swapped."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.published import word_swaps as published
from wherewhat.report.figures import rows as rows_of
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, columns, figure_of, panel, titled
from wherewhat.report.probe_examples import laid_out, role_swap_example
from wherewhat.report.probe_sections import claims_of, facts_of, key, per_cent, table, the_data
from wherewhat.report.probe_swaps_charts import ROW, levels
from wherewhat.report.probe_swaps_tables import (
    ALONE,
    CHANGES,
    VOICES,
    Row,
    SwapTables,
    clear,
    ends_of,
    in_words,
    scaled,
    with_interval,
)
from wherewhat.report.provenance import provenance_section
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.probe import ProbeManifest


@dataclass(frozen=True)
class RoleLine:
    """One line of a chart: its row of the table, its name, and its mark."""

    words: str
    item: str
    kind: str
    measure: str
    look: str = "swap"
    side: str = ""


AFTER = "role swap: the new label"
CHARTS: dict[str, tuple[str, str, tuple[RoleLine, ...]]] = {  # by name: title, axis, lines
    "answers": (
        "Answers",
        "% of answers",
        (
            RoleLine("original: the right label", "roles", "original", "accuracy"),
            RoleLine(AFTER, "roles", "swapped", "accuracy"),
            RoleLine("role swap: the old label", "roles", "swapped", "old label"),
            RoleLine("control: the right label", "roles", "control", "accuracy", "control"),
            RoleLine("other voice: the right label", "voice", "swapped", "accuracy", "voice"),
        ),
    ),
    "turned": (
        "Where the right answer changes",
        "% of answers",
        (
            RoleLine("original: the right label", "roles", "original", "accuracy", side=CHANGES),
            RoleLine("role swap: the new label", "roles", "swapped", "accuracy", side=CHANGES),
            RoleLine("role swap: the old label", "roles", "swapped", "old label", side=CHANGES),
            RoleLine("control: the right label", "roles", "control", "accuracy", "control", side=CHANGES),
            RoleLine("other voice: the right label", "voice", "swapped", "accuracy", "voice", side=CHANGES),
        ),
    ),
    "flips": (
        "Right answers that change",
        "% of right answers",
        (
            RoleLine("role swap", "roles", "swapped", "flip"),
            RoleLine("control", "roles", "control", "flip", "control"),
            RoleLine("other voice", "voice", "swapped", "flip", "voice"),
        ),
    ),
    "kept": (
        "Answers that stay",
        "% of answers",
        (
            RoleLine("role swap", "roles", "swapped", "kept"),
            RoleLine("control", "roles", "control", "kept", "control"),
            RoleLine("other voice", "voice", "swapped", "kept", "voice"),
        ),
    ),
    "nats": (
        "Surprisal",
        "change, nats per token",
        (
            RoleLine("role swap", "roles", "change", "nats"),
            RoleLine("control", "roles", "control change", "nats", "control"),
            RoleLine("other voice", "voice", "change", "nats", "voice"),
        ),
    ),
    "distance": (
        "Distance of hidden states",
        "1 is as far as another sentence",
        (
            RoleLine("role swap", "roles", "swapped", "distance"),
            RoleLine("control", "roles", "control", "distance", "control"),
            RoleLine("other voice", "voice", "swapped", "distance", "voice"),
        ),
    ),
}
SHARES = ("answers", "turned", "flips", "kept")  # charts from 0 to 100 %
HEADINGS = {
    "accuracy": "accuracy",
    "old label": "old label",
    "flip": "right answers that change",
    "kept": "answers kept",
    "lenient": "accuracy, lenient",
    "nats": "surprisal",
    "distance": "distance of states",
}
BESIDE = {"answers": "", "turned": CHANGES}  # charts with the accuracy of the words alone, and of which examples
KINDS = ("original", "words alone", "swapped", "change", "control", "control change", "beyond control", "beyond voice")
ITEMS = {"roles": "role swap", "voice": "other voice"}


CONTROL = "The control swaps two other spans of the same lengths. Bars are 95 % intervals over sentences."
HOW = {  # to read the main figures, with labels and without
    True: "A model that reads roles gives the new answer when they are swapped, and keeps its answer in the other "
    "voice, where the same roles come in reverse order.",
    False: "The role swap says something else in the same words; the other voice says the same in another order. The "
    "outputs of a model that reads roles change more with the first.",
}


def page_of_roles(table: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """Whether a model notices that agent and patient were swapped, in numbers and in examples."""
    swaps = SwapTables(table, manifest)
    if table.is_empty() or not swaps.measures:
        raise UserError("the table of the probe has no role swaps; run `wherewhat probe roles` again")
    numbers, charts = _tables(swaps), {"levels": levels()}
    sections = [
        what_changes(swaps, numbers),
        claims_of(manifest),
        in_sentences(swaps),
        label_by_label(swaps),
        every_number(swaps),
        the_data(manifest),
        provenance_section(manifest, model=manifest.model),
    ]
    question = "If agent and patient are swapped, who did what to whom is reversed. Does the model notice?"
    return Page(
        title=manifest.model.id,
        kind=f"Probe: swapped roles in {', '.join(swaps.datasets)}",
        lede=" ".join(filter(None, (question, manifest.question))),
        facts=facts_of(manifest),
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(swaps, charts, numbers),
    )


def what_changes(swaps: SwapTables, numbers: Mapping[str, Columns]) -> Section:
    """The main figures: before and after, and how often answers change."""
    charts = []
    for number, data in enumerate(swaps.datasets):
        for name, (title, unit, lines) in CHARTS.items():
            there = [line for line in lines if _row(swaps, data, line).get("value") is not None]
            if there:
                words = {"panel": str(number), "measure": name, "unit": unit} | _ends(numbers, name)
                label = f"{title} in {data}. {_chart_in_words(swaps, data, there)}"
                heading = [title, *([" · ", tag("bdi", data)] if len(swaps.datasets) > 1 else [])]
                charts.append(
                    panel(tag("h3", *heading), chart_widget("levels", label, height=ROW * len(there) + 10, words=words))
                )
    body = join(tag("div", *charts, class_="two" if len(charts) > 1 else "cards"), _key(swaps))
    lede = f"{HOW[swaps.labelled]} {CONTROL}"
    return Section("change", "Before and after", lede, body, short="Effect")


def _ends(numbers: Mapping[str, Columns], name: str) -> dict[str, str]:
    """The ends of the axis of a chart: 0 to 100 % for shares, else the same for all data."""
    whole = 100.0 if name in SHARES else None
    return ends_of((row for row in rows_of(numbers["levels"]) if row["measure"] == name), whole=whole)


def _row(swaps: SwapTables, data: str, line: RoleLine) -> Mapping[str, Any]:
    """A row to draw. Where labels are known, the right answers that change tell more than the answers that stay."""
    if line.measure == "kept" and swaps.labelled:
        return {}
    return swaps.of(data, line.item, line.kind, line.measure, line.side)


def _chart_in_words(swaps: SwapTables, data: str, lines: list[RoleLine]) -> str:
    return "; ".join(f"{line.words}: {in_words(_row(swaps, data, line), line.measure, line.kind)}" for line in lines)


def _key(swaps: SwapTables) -> Html:
    before = "original, and role swap" if swaps.labelled else "role swap"
    entries = [("mark swap", before), ("mark control", "control")]
    if "voice" in swaps.items:
        entries.append(("mark voice", "other voice"))
    if swaps.has_alone:
        entries.append(("mark alone", f"by {ALONE}"))
    if swaps.labelled:
        entries.append(("mark published", published.SOURCE))
    return key(*entries)


def in_sentences(swaps: SwapTables) -> Section | None:
    """Examples of role swaps with the model's answers."""
    if not swaps.manifest.examples:
        return None
    body = laid_out(swaps, role_swap_example)
    lede = "The original sentence, below it what the model read after the role swap, and its answers to both."
    return Section("examples", "Examples", lede, body, short="Examples")


def label_by_label(swaps: SwapTables) -> Section | None:
    """The same by label, and by voice."""
    sides = [*swaps.labels, *swaps.sides(CHANGES, *VOICES)]
    shown = {("original", "accuracy"): "original", ("words alone", "accuracy"): "words alone"}
    shown |= {("swapped", "accuracy"): AFTER, ("swapped", "old label"): "role swap: the old label"}
    shown |= {("swapped", "flip"): "right answers that change"}
    if not swaps.has_alone:
        del shown["words alone", "accuracy"]
    rows = [
        [join(tag("bdi", side), *([" · ", tag("bdi", data)] if len(swaps.datasets) > 1 else []))]
        + [_behind(swaps, data, side)]
        + [with_interval(swaps.of(data, "roles", kind, measure, side), measure, kind) for kind, measure in shown]
        for data in swaps.datasets
        for side in sides
        if swaps.of(data, "roles", "swapped", "accuracy", side)
    ]
    if not rows:
        return None
    headings = ("label or voice", "sentences", *shown.values())
    body = table(headings, rows, label="Role swap, by label")
    return Section("labels", "By label", "In per cent of answers, with 95 % intervals.", body, short="Labels")


def _behind(swaps: SwapTables, data: str, side: str) -> str:
    many = swaps.of(data, "roles", "swapped", "accuracy", side).get("count")
    return "–" if many is None else f"{many:,}"


def every_number(swaps: SwapTables) -> Section:
    """All numbers, one line per measure."""
    there = [kind for kind in KINDS if any(row["kind"] == kind for row in swaps.rows.values())]
    rows = []
    for data in swaps.datasets:
        for item in swaps.items:
            for measure, name in HEADINGS.items():
                its = {kind: swaps.of(data, item, kind, measure) for kind in there}
                if any(row.get("value") is not None for row in its.values()):
                    cells = [_cell(row, measure, kind) for kind, row in its.items()]
                    where = [" · ", tag("bdi", data)] if len(swaps.datasets) > 1 else []
                    rows.append([join(f"{name}, {ITEMS.get(item, item)}", *where), *cells])
    lede = (
        "Answers in per cent, their changes in points; surprisal in nats per token. Beyond control and beyond voice: "
        "the effect of the role swap minus that of the control, or of the other voice, on the same sentences."
    )
    body = table(["what", *there], rows, label="Every number of the role swap")
    return Section("numbers", "Every number", lede, body, short="Table")


def _cell(row: Mapping[str, Any], measure: str, kind: str) -> Html:
    number = with_interval(row, measure, kind)
    unsure = kind.startswith("beyond") and not clear(row)
    return tag("span", number, class_="unsure") if unsure else number


def _tables(swaps: SwapTables) -> dict[str, Columns]:
    """The numbers of the charts, and published ones where labels are known."""
    rows: list[Row] = []
    crosses: list[Row] = []
    places = product(
        enumerate(swaps.datasets), ((name, *line) for name, its in CHARTS.items() for line in enumerate(its[2]))
    )
    for (number, data), (name, order, line) in places:
        if (row := _row(swaps, data, line)).get("value") is not None:
            place = {"panel": str(number), "measure": name, "line": line.words, "order": order}
            tooltip = f"{line.words}: {in_words(row, line.measure, line.kind)}"
            rows.append({**place, "kind": line.look, "said": tooltip, **_drawn(row, line)})
            crosses += [{**place, **cross} for cross in _published(swaps, line)]
    names = ("panel", "measure", "line", "order", "kind", "value", "low", "high", "said")
    return {
        "levels": columns(rows, names),
        "published": columns(crosses, (*names[:4], "value", "said")),
        "alone": columns(_alone(swaps), ("panel", "measure", "value", "said")),
    }


def _alone(swaps: SwapTables) -> list[Row]:
    """The accuracy of the words alone."""
    there = product(enumerate(swaps.datasets), BESIDE.items())
    lines = [(number, name, swaps.alone(data, "roles", side)) for (number, data), (name, side) in there]
    return [
        {"panel": str(number), "measure": name, "value": 100 * row["value"]}
        | {"said": f"words alone: {per_cent(row['value'])} %"}
        for number, name, row in lines
        if row.get("value") is not None
    ]


def _drawn(row: Mapping[str, Any], line: RoleLine) -> dict[str, float | None]:
    """Shares as per cent, all else as it is."""
    numbers = scaled(row, line.measure, line.kind)
    shares = line.measure in ("accuracy", "old label", "flip", "kept")
    return {name: 100 * value if shares and value is not None else value for name, value in numbers.items()}


def _published(swaps: SwapTables, line: RoleLine) -> list[dict[str, Any]]:
    """Models of the paper, on the two lines that it reports."""
    if not swaps.labelled or line.measure != "accuracy" or line.item != "roles" or line.kind == "control" or line.side:
        return []
    made = []
    for model, (before, change) in published.ROLES.items():
        value = before if line.kind == "original" else before + change
        made.append({"value": value, "said": f"{model}, published on SNLI: {value:.1f} %"})
    return made


def _figures(swaps: SwapTables, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    made = {}
    for number, data in enumerate(swaps.datasets):
        for name, (title, unit, lines) in CHARTS.items():
            there = [line for line in lines if _row(swaps, data, line).get("value") is not None]
            if there:
                words = {"panel": str(number), "measure": name, "unit": unit} | _ends(numbers, name)
                spec = titled(charts["levels"], f"{data}: {title.lower()}")
                made[f"{name}_{number}"] = figure_of(spec, numbers, (520, ROW * len(there)), words)
    return made

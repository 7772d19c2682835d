"""The page of `wherewhat probe roles`: what changes when agent and patient change places."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from wherewhat.report.probe_examples import exchange_example, laid_out
from wherewhat.report.probe_swaps_charts import ROW, levels
from wherewhat.report.probe_swaps_tables import (
    ALONE,
    CHANGES,
    VOICES,
    Row,
    Swaps,
    clear,
    ends_of,
    in_words,
    scaled,
    with_interval,
)
from wherewhat.report.probe_told import claims_of, facts_of, key, model_of, per_cent, table, the_data
from wherewhat.report.tags import Html, join, tag


@dataclass(frozen=True)
class Line:
    """One line of a chart: which row it is, what it is called, and how it looks."""

    words: str
    item: str
    kind: str
    measure: str
    look: str = "swap"
    side: str = ""


AFTER = "exchanged: the new label"
CHARTS: dict[str, tuple[str, str, tuple[Line, ...]]] = {  # by name: title, axis, lines
    "answers": (
        "What it answers",
        "% of answers",
        (
            Line("as it is: the right label", "roles", "original", "accuracy"),
            Line(AFTER, "roles", "swapped", "accuracy"),
            Line("exchanged: the old label", "roles", "swapped", "old label"),
            Line("control: the right label", "roles", "control", "accuracy", "control"),
            Line("other voice: the right label", "voice", "swapped", "accuracy", "voice"),
        ),
    ),
    "turned": (
        "Where the right answer changes",
        "% of answers",
        (
            Line("as it is: the right label", "roles", "original", "accuracy", side=CHANGES),
            Line("exchanged: the new label", "roles", "swapped", "accuracy", side=CHANGES),
            Line("exchanged: the old label", "roles", "swapped", "old label", side=CHANGES),
            Line("control: the right label", "roles", "control", "accuracy", "control", side=CHANGES),
            Line("other voice: the right label", "voice", "swapped", "accuracy", "voice", side=CHANGES),
        ),
    ),
    "flips": (
        "Right answers that change",
        "% of right answers",
        (
            Line("roles exchanged", "roles", "swapped", "flip"),
            Line("control", "roles", "control", "flip", "control"),
            Line("other voice", "voice", "swapped", "flip", "voice"),
        ),
    ),
    "kept": (
        "Answers that stay",
        "% of answers",
        (
            Line("roles exchanged", "roles", "swapped", "kept"),
            Line("control", "roles", "control", "kept", "control"),
            Line("other voice", "voice", "swapped", "kept", "voice"),
        ),
    ),
    "nats": (
        "How much more it surprises",
        "change, nats a token",
        (
            Line("roles exchanged", "roles", "change", "nats"),
            Line("control", "roles", "control change", "nats", "control"),
            Line("other voice", "voice", "change", "nats", "voice"),
        ),
    ),
    "distance": (
        "How far hidden states go",
        "1 is as far as another sentence",
        (
            Line("roles exchanged", "roles", "swapped", "distance"),
            Line("control", "roles", "control", "distance", "control"),
            Line("other voice", "voice", "swapped", "distance", "voice"),
        ),
    ),
}
SHARES = ("answers", "turned", "flips", "kept")  # charts from none to all
HEADINGS = {
    "accuracy": "right answers",
    "old label": "old label",
    "flip": "right answers that change",
    "kept": "answers kept",
    "lenient": "right, lenient",
    "nats": "surprise",
    "distance": "distance of states",
}
BESIDE = {"answers": "", "turned": CHANGES}  # charts with what the words alone tell, and of which cases
KINDS = ("original", "words alone", "swapped", "change", "control", "control change", "beyond control", "beyond voice")
ITEMS = {"roles": "roles exchanged", "voice": "other voice"}


CONTROL = "The control exchanges two other stretches of the same lengths. Bars are 95 % intervals over sentences."
HOW = {  # to read the main figures, with labels and without
    True: "A model that reads roles gives the new answer when they are exchanged, and keeps its answer in the other "
    "voice, where the same roles stand in reverse order.",
    False: "The exchanged sentence says something else in the same words; the other voice says the same in another "
    "order. A model that reads roles is moved further by the first.",
}


def page_of_roles(table: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out whether a model follows roles when agent and patient change places."""
    found = Swaps(table, manifest)
    if table.is_empty() or not found.measures:
        raise UserError("the table of the probe has no roles to show; run `wherewhat probe roles` again")
    numbers, charts = _tables(found), {"levels": levels()}
    sections = [
        what_changes(found, numbers),
        claims_of(manifest),
        in_sentences(found),
        label_by_label(found),
        every_number(found),
        the_data(manifest),
        how_it_was_made(manifest),
    ]
    asked = "If agent and patient change places, who did what to whom is reversed. Does the model notice?"
    return Page(
        title=model_of(manifest),
        kind=f"Probe: roles exchanged, in {', '.join(found.datas)}",
        lede=" ".join(filter(None, (asked, str(manifest.get("asked") or "")))),
        facts=facts_of(manifest),
        sections=[section for section in sections if section],
        charts=charts,
        tables=numbers,
        figures=_figures(found, charts, numbers),
    )


def what_changes(found: Swaps, numbers: Mapping[str, Columns]) -> Section:
    """The main figures: before and after, and how often answers change."""
    charts = []
    for number, data in enumerate(found.datas):
        for name, (title, unit, lines) in CHARTS.items():
            there = [line for line in lines if _row(found, data, line).get("value") is not None]
            if there:
                words = {"panel": str(number), "measure": name, "unit": unit} | _ends(numbers, name)
                label = f"{title} in {data}. {_spoken(found, data, there)}"
                heading = [title, *([" · ", tag("bdi", data)] if len(found.datas) > 1 else [])]
                charts.append(
                    panel(tag("h3", *heading), drawn("levels", label, height=ROW * len(there) + 10, words=words))
                )
    body = join(tag("div", *charts, class_="two" if len(charts) > 1 else "cards"), _key(found))
    lede = f"{HOW[found.judged]} {CONTROL}"
    return Section("change", "Before and after", lede, body, short="Change")


def _ends(numbers: Mapping[str, Columns], name: str) -> dict[str, str]:
    """How far the axis of a chart goes: shares from none to all, all else the same for all data."""
    whole = 100.0 if name in SHARES else None
    return ends_of((row for row in rows_of(numbers["levels"]) if row["measure"] == name), whole=whole)


def _row(found: Swaps, data: str, line: Line) -> Mapping[str, Any]:
    """A row to draw. Where right answers are known, those that change say more than how many stay."""
    if line.measure == "kept" and found.judged:
        return {}
    return found.of(data, line.item, line.kind, line.measure, line.side)


def _spoken(found: Swaps, data: str, lines: list[Line]) -> str:
    return "; ".join(f"{line.words}: {in_words(_row(found, data, line), line.measure, line.kind)}" for line in lines)


def _key(found: Swaps) -> Html:
    before = "as it is, and roles exchanged" if found.judged else "roles exchanged"
    entries = [("mark swap", before), ("mark control", "control")]
    if "voice" in found.items:
        entries.append(("mark voice", "other voice"))
    if found.has_alone:
        entries.append(("mark alone", f"by {ALONE}"))
    if found.judged:
        entries.append(("mark published", published.SOURCE))
    return key(*entries)


def in_sentences(found: Swaps) -> Section | None:
    """What was exchanged and what the model said, in words."""
    if not found.manifest.get("examples"):
        return None
    body = laid_out(found, exchange_example)
    lede = "The sentence as it is, and below it what the model read after the exchange, with what it made of both."
    return Section("examples", "In words", lede, body, short="Examples")


def label_by_label(found: Swaps) -> Section | None:
    """The same for each right answer, and for each voice."""
    sides = [*found.labels, *found.sides(CHANGES, *VOICES)]
    shown = {("original", "accuracy"): "as it is", ("words alone", "accuracy"): "words alone"}
    shown |= {("swapped", "accuracy"): AFTER, ("swapped", "old label"): "exchanged: the old label"}
    shown |= {("swapped", "flip"): "changed, of the right"}
    if not found.has_alone:
        del shown["words alone", "accuracy"]
    rows = [
        [join(tag("bdi", side), *([" · ", tag("bdi", data)] if len(found.datas) > 1 else []))]
        + [_behind(found, data, side)]
        + [with_interval(found.of(data, "roles", kind, measure, side), measure, kind) for kind, measure in shown]
        for data in found.datas
        for side in sides
        if found.of(data, "roles", "swapped", "accuracy", side)
    ]
    if not rows:
        return None
    headings = ("right answer, or voice", "sentences", *shown.values())
    body = table(headings, rows, label="Roles exchanged, label by label")
    return Section("labels", "Label by label", "In per cent of answers, with 95 % intervals.", body, short="Labels")


def _behind(found: Swaps, data: str, side: str) -> str:
    many = found.of(data, "roles", "swapped", "accuracy", side).get("count")
    return "–" if many is None else f"{many:,}"


def every_number(found: Swaps) -> Section:
    """All numbers, a line for each measure."""
    there = [kind for kind in KINDS if any(row["kind"] == kind for row in found.rows.values())]
    rows = []
    for data in found.datas:
        for item in found.items:
            for measure, name in HEADINGS.items():
                its = {kind: found.of(data, item, kind, measure) for kind in there}
                if any(row.get("value") is not None for row in its.values()):
                    cells = [_cell(row, measure, kind) for kind, row in its.items()]
                    where = [" · ", tag("bdi", data)] if len(found.datas) > 1 else []
                    rows.append([join(f"{name}, {ITEMS.get(item, item)}", *where), *cells])
    lede = (
        "Answers in per cent, their changes in points; surprise in nats a token. Beyond control and beyond voice: the "
        "difference that is left when that of the control, or of the other voice, is taken away, on the same sentences."
    )
    body = table(["what", *(_heading(kind) for kind in there)], rows, label="Every number of exchanged roles")
    return Section("numbers", "Every number", lede, body, short="Table")


def _heading(kind: str) -> str:
    return {"original": "as it is"}.get(kind, kind)


def _cell(row: Mapping[str, Any], measure: str, kind: str) -> Html:
    told = with_interval(row, measure, kind)
    unsure = kind.startswith("beyond") and not clear(row)
    return tag("span", told, class_="unsure") if unsure else told


def _tables(found: Swaps) -> dict[str, Columns]:
    """The numbers of the charts, and the published ones where models were read by labels too."""
    rows: list[Row] = []
    crosses: list[Row] = []
    places = product(
        enumerate(found.datas), ((name, *line) for name, its in CHARTS.items() for line in enumerate(its[2]))
    )
    for (number, data), (name, order, line) in places:
        if (row := _row(found, data, line)).get("value") is not None:
            place = {"panel": str(number), "measure": name, "line": line.words, "order": order}
            said = f"{line.words}: {in_words(row, line.measure, line.kind)}"
            rows.append({**place, "kind": line.look, "said": said, **_drawn(row, line)})
            crosses += [{**place, **cross} for cross in _published(found, line)]
    names = ("panel", "measure", "line", "order", "kind", "value", "low", "high", "said")
    return {
        "levels": columns(rows, names),
        "published": columns(crosses, (*names[:4], "value", "said")),
        "alone": columns(_alone(found), ("panel", "measure", "value", "said")),
    }


def _alone(found: Swaps) -> list[Row]:
    """What a reader of the words alone gets right."""
    there = product(enumerate(found.datas), BESIDE.items())
    lines = [(number, name, found.alone(data, "roles", side)) for (number, data), (name, side) in there]
    return [
        {"panel": str(number), "measure": name, "value": 100 * row["value"]}
        | {"said": f"words alone: {per_cent(row['value'])} %"}
        for number, name, row in lines
        if row.get("value") is not None
    ]


def _drawn(row: Mapping[str, Any], line: Line) -> dict[str, float | None]:
    """Shares as per cent, all else as it is."""
    numbers = scaled(row, line.measure, line.kind)
    shares = line.measure in ("accuracy", "old label", "flip", "kept")
    return {name: 100 * value if shares and value is not None else value for name, value in numbers.items()}


def _published(found: Swaps, line: Line) -> list[dict[str, Any]]:
    """Models of the paper, on the two lines that it tells of."""
    if not found.judged or line.measure != "accuracy" or line.item != "roles" or line.kind == "control" or line.side:
        return []
    made = []
    for model, (before, change) in published.ROLES.items():
        value = before if line.kind == "original" else before + change
        made.append({"value": value, "said": f"{model}, published on SNLI: {value:.1f} %"})
    return made


def _figures(found: Swaps, charts: Mapping[str, Spec], numbers: Mapping[str, Columns]) -> dict[str, Figure]:
    made = {}
    for number, data in enumerate(found.datas):
        for name, (title, unit, lines) in CHARTS.items():
            there = [line for line in lines if _row(found, data, line).get("value") is not None]
            if there:
                words = {"panel": str(number), "measure": name, "unit": unit} | _ends(numbers, name)
                spec = titled(charts["levels"], f"{data}: {title.lower()}")
                made[f"{name}_{number}"] = figure_of(spec, numbers, (520, ROW * len(there)), words)
    return made

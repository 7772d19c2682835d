"""The page of the canonical tasks: what one head with one frequency can learn, by its angle."""

from collections.abc import Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, percent, tenths
from wherewhat.report import canonical_charts as charts
from wherewhat.report.canonical_tables import (
    INDEX,
    ONE_PLANE,
    RETRIEVAL,
    SHARES,
    TITLES,
    TWO_PLANES,
    CanonicalData,
    Row,
    spread,
)
from wherewhat.report.claims import claims_section
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.study import CanonicalManifest

LEARNT, SOLVED = 0.95, 0.98  # accuracies from which a task counts as learnt, and as solved
MOSTLY = 0.9  # share of variance from which content decides nearly everything


def page_of_canonical(result: pl.DataFrame, manifest: CanonicalManifest) -> Page:
    """Lay out what was learnt at which angle, with the published claims and the predictions of theory."""
    data = CanonicalData(result, manifest)
    if missing := [TITLES[name] for name in TITLES if name not in data.conditions]:
        raise UserError(f"the table has nothing on {missing[0]}; run `wherewhat reproduce canonical` again")
    sections = (
        by_angle,
        lambda _: claims_section(manifest.claims),
        by_slot,
        circles,
        where_or_what,
        both_at_once,
        theory,
        numbers,
    )
    made: list[Section] = [section(data) for section in sections]
    return Page(
        title="One head, one frequency",
        kind="Reproduction of arXiv 2511.11579: canonical tasks",
        lede=(
            "The smallest possible heads, each trained at one angle of rotation. By theory a head attends by position "
            "if its angle is large, and by content if it is small."
        ),
        facts=_facts(data),
        sections=[*made, provenance_section(manifest)],
        charts=_charts(),
        tables=data.tables,
        figures=_figures(data),
    )


def by_angle(data: CanonicalData) -> Section:
    """The first screen: the two crossing curves, and what they show."""
    chart = panel(chart_widget("curves", "Accuracy of index and retrieval by base angle", height=430))
    many = "Lines are means over seeds with 95 % intervals; small dots are single seeds."
    lede = (
        f"Each head was trained at one angle. {many if data.seeds > 1 else 'Lines are from one seed.'} Dashed lines "
        "are theory for n tokens and m symbols: below 2π/(n·m) symbols stay distinct in every slot, and up to 2π/n all "
        "slots are distinct."
    )
    body = tag("div", chart, _first_findings(data), class_="first")
    return Section("angle", "Index and retrieval by angle", lede, body, "Angle")


def _first_findings(data: CanonicalData) -> Html:
    """What the first chart shows, in three sentences."""
    single, double = (
        max((data.mean(name, base) for base in data.bases), key=lambda row: float(row["value"]))
        for name in (ONE_PLANE, TWO_PLANES)
    )
    paper = ", where the paper says that it fails" if single["value"] >= LEARNT else ""
    both = (
        f"Partial induction needs both. Two planes reach {percent(double['value'])} at best; one plane alone reaches "
        f"{percent(single['value'])} at base {single['at']:g}{paper}."
    )
    return tag(
        "div",
        tag("p", "Asked for the symbol in a slot (", _word("index", "where"), "), ", _ends(data, INDEX)),
        tag("p", "Asked for the integer of a symbol (", _word("retrieval", "what"), "), ", _ends(data, RETRIEVAL)),
        tag("p", both),
        class_="says-it",
    )


def _ends(data: CanonicalData, subject: str) -> str:
    smallest, largest = data.bases[0], data.bases[-1]
    unrotated, rotated = (percent(data.mean(subject, base)["value"]) for base in (smallest, largest))
    return f"heads are {rotated} correct at base {largest:g}, and {unrotated} without rotation."


def by_slot(data: CanonicalData) -> Section:
    """Small multiples over angles: a U for index, an inverted U for retrieval."""
    lede = (
        "Accuracy by the slot of the answer, 0 to 31, at every angle. By theory, where the angle is too small index is "
        "most accurate at both ends (a U), and where it is too large retrieval is most accurate in the middle (an "
        "inverted U)."
    )
    ends = ", with 95 % intervals over seeds." if data.seeds > 1 else ", of one seed."
    words = (_word("index", "where"), " and ", _word("retrieval", "what"), ends)
    body = panel(_multiples("slots", "Accuracy by slot", data), tag("p", *words, class_="note"))
    return Section("slots", "By slot of the answer", lede, body, "Slots")


def _multiples(chart: str, label: str, data: CanonicalData) -> Html:
    """One small chart per angle, from the largest."""
    charts_by_base = [
        tag(
            "div",
            tag("h4", f"base {base:g}"),
            chart_widget(chart, f"{label} at base {base:g}", height=120, words={"base": f"{base:g}"}),
        )
        for base in reversed(data.bases)
    ]
    return tag("div", *charts_by_base, class_="multiples small")


def circles(data: CanonicalData) -> Section:
    """Learnt keys and queries, one small chart per angle."""
    lede = (
        "Keys (dots, inner circle) and queries (rings, outer circle) of one seed, each scaled to its longest vector. "
        "By theory index needs one key for all symbols, and queries that advance around the circle by slot; retrieval "
        "needs a separate direction for every symbol, and a query, in the same colour, that points there. Where a task "
        "is not learnt, vectors need not look like this."
    )
    rows = [
        tag(
            "div",
            tag("h3", TITLES[subject]),
            tag("div", *(_circle(data, subject, base) for base in reversed(data.bases)), class_="multiples small"),
            class_="below",
        )
        for subject in (INDEX, RETRIEVAL)
    ]
    return Section("circle", "Keys and queries on the circle", lede, panel(*rows), "Circle")


def _circle(data: CanonicalData, subject: str, base: float) -> Html:
    lengths = data.means.filter(part="lengths", subject=subject, item="plane 0", measure="norm")
    length = lengths.filter(pl.col("at") == base)["value"].item()
    size = f"{length:.0f}" if length >= 10 else f"{length:.2g}"
    title = tag("h4", f"base {base:g}", tag("span", f"|q||k| {size}", class_="dim"))
    label = f"Keys and queries of {TITLES[subject].lower()} at base {base:g}"
    words = {"subject": subject, "base": f"{base:g}", "plane": "0"}
    return tag("div", title, chart_widget("circle", label, height=150, words=words))


def where_or_what(data: CanonicalData) -> Section:
    """Scores and shares by angle."""
    lede = (
        "Bars: how much of the variance of a head's logits position explains, content explains, or only the two "
        "together. Lines: the published scores at τ = 1e-4 (solid) and with all swaps weighted equally (dashed); "
        "dotted is the entropy of attention, from 0 (all on one key) to 1 (even). Where attention is even, both "
        "scores are 1 and say little."
    )
    key = tag("p", *_keys(list(SHARES.values())), class_="note")
    columns = tag("div", *(_column(subject) for subject in data.conditions), class_="two")
    return Section("scores", "Position or content, by angle", lede, panel(columns, key), "Scores")


def _column(subject: str) -> Html:
    title = TITLES[subject]
    return tag(
        "div",
        tag("h3", title),
        chart_widget("shares", f"Shares of {title} by angle", height=110, words={"subject": subject}),
        chart_widget("scores", f"Scores of {title} by angle", height=170, words={"subject": subject}),
    )


def both_at_once(data: CanonicalData) -> Section:
    """Partial induction with one plane and with two."""
    chart = panel(chart_widget("induction", "Accuracy of partial induction by base angle", height=400))
    slots = _multiples("induction_slots", "Partial induction by slot", data)
    lede = (
        "Two pairs have the queried symbol and the later one counts: content finds the pairs, position must choose "
        "between them. Dashed lines are hand-built heads with all attention on the largest logit; trained heads may do "
        "better, because training also chooses the lengths of queries and keys."
    )
    body = join(
        tag("div", chart, _induction_findings(data), class_="first"),
        tag("div", panel(tag("h3", "By slot of the answer"), slots), class_="below"),
    )
    return Section("both", "Both at once: partial induction", lede, body, "Induction")


def _induction_findings(data: CanonicalData) -> Html:
    single, double = ({base: data.mean(name, base)["value"] for base in data.bases} for name in (ONE_PLANE, TWO_PLANES))
    best, unrotated = max(single, key=lambda base: single[base]), data.bases[0]
    bound = int(1000 * data.bounds.get("tilt", 0)) / 1000  # rounded down, so that it holds
    hand_built = f" A hand-built head makes no error up to base {bound:g}." if bound else ""
    return tag(
        "div",
        tag("p", _two_planes(data, [base for base in data.bases if double[base] >= SOLVED])),
        tag(
            "p",
            f"With one plane the best accuracy is {percent(single[best])}, at base {best:g}. By theory a small angle "
            f"can use the gap between symbols, 2π/16 on the circle, to favour the later pair.{hand_built}",
        ),
        tag(
            "p",
            "Without rotation both pairs have the same logit, so theory allows no better than chance. Measured: "
            f"{percent(single[unrotated])} with one plane, {percent(double[unrotated])} with two.",
        ),
        class_="says-it",
    )


def _two_planes(data: CanonicalData, solved: Sequence[float]) -> str:
    """Where two planes succeed, and how little of their logits' variance position needs for that."""
    planes = "With two planes, one unrotated and one rotated,"
    if not solved:
        return f"{planes} no angle reaches {percent(SOLVED)}."
    rows = data.means.filter(part="scores", subject=TWO_PLANES, measure="symbol_share")
    content = rows.filter(pl.col("at").is_in(solved))["value"].drop_nulls().drop_nans().to_list()
    little = (
        f" Content explains {percent(min(content))} or more of the variance of their logits: position only has to tip "
        "the balance between two pairs."
        if content and min(content) >= MOSTLY
        else ""
    )
    return f"{planes} accuracy is at least {percent(SOLVED)} at {_bases(solved, data.bases)}.{little}"


def _bases(bases: Sequence[float], every: Sequence[float]) -> str:
    """Name base angles, as a range if none in between is missing.

    >>> _bases([0.1], [0, 0.1, 0.5]), _bases([0.1, 0.5, 1], [0, 0.1, 0.5, 1]), _bases([0.1, 1, 2], [0.1, 0.5, 1, 2])
    ('base 0.1', 'bases 0.1 to 1', 'bases 0.1, 1 and 2')
    """
    names = [f"{base:g}" for base in bases]
    if len(names) == 1:
        return f"base {names[0]}"
    if len(names) > 2 and list(every[every.index(bases[0]) :][: len(bases)]) == list(bases):
        return f"bases {names[0]} to {names[-1]}"
    return f"bases {', '.join(names[:-1])} and {names[-1]}"


def theory(data: CanonicalData) -> Section:
    """What theory predicts without training."""
    cards = (
        _card(
            "Index: required length of queries and keys",
            "To give every slot half of the attention when it is queried, the length of query times key must grow as "
            "1/θ² (dashed). Solid is the learnt length.",
            chart_widget("norms", "Learnt and required length of query × key", height=300, words={"subject": INDEX}),
        ),
        _card(
            "Retrieval: hand-built heads",
            "Symbols spread evenly on the circle, all attention on the largest logit, no training (dashed). Solid "
            "lines are learnt heads.",
            chart_widget("by_hand", "Learnt and hand-built retrieval", height=300, words={"subject": RETRIEVAL}),
        ),
        _card(
            "The U and the inverted U",
            "Attention on the queried slot by formula, with queries and keys of length 1 at base 1.",
            chart_widget("peaks", "Attention by slot, by formula", height=240),
        ),
        _card(
            "Retrieval: required length of queries and keys",
            "For half of the attention when every other pair has a neighbouring symbol, in the worst slots.",
            chart_widget("norms", "Length of query × key for retrieval", height=240, words={"subject": RETRIEVAL}),
        ),
    )
    lede = "Formulas and hand-built heads, compared with what was learnt. Dashed lines are always theory."
    return Section("theory", "What theory says", lede, tag("div", *cards, class_="two"), "Theory")


def _card(title: str, note: str, chart: Html) -> Html:
    return panel(tag("h3", title), tag("p", note, class_="note"), chart)


def numbers(data: CanonicalData) -> Section:
    """Every accuracy, in a table."""
    head = tag("tr", tag("th", "base angle"), *(tag("th", TITLES[name]) for name in data.conditions))
    rows = [
        tag("tr", tag("td", f"{base:g}"), *(tag("td", _cell(data.mean(name, base))) for name in data.conditions))
        for base in reversed(data.bases)
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="numbers accuracies panel")
    many = "Means over seeds in percent, with 95 % intervals by Student's t."
    return Section("numbers", "Every accuracy", many if data.seeds > 1 else "In percent, of one seed.", table, "Table")


def _cell(row: Row) -> str:
    return f"{tenths(row['value'])}{spread(row)}"


def _word(name: str, tone: str) -> Html:
    return tag("b", name, class_=f"tone-{tone}")


def _keys(names: Sequence[str]) -> list[Html]:
    return [join(tag("span", class_="swatch", data_hue=str(hue)), f"{name}  ") for hue, name in enumerate(names)]


def _facts(data: CanonicalData) -> list[tuple[str, str]]:
    settings = data.manifest.settings
    facts = [(str(len(data.bases)), "angles"), (str(data.seeds), "seed" if data.seeds == 1 else "seeds")]
    facts += [(f"{settings['steps']:,}", "steps")] if settings.get("steps") else []
    return [*facts, (f"{len(data.conditions) * len(data.bases) * data.seeds:,}", "heads")]


def _charts() -> dict[str, Spec]:
    names = (
        "curves",
        "slots",
        "induction",
        "induction_slots",
        "circle",
        "shares",
        "scores",
        "norms",
        "by_hand",
        "peaks",
    )
    return {name: getattr(charts, name)() for name in names}


def _figures(data: CanonicalData) -> dict[str, Figure]:
    subtitle = count(len(data.bases), "angle")
    return {
        "angles": figure_of(titled(charts.curves(), "Index and retrieval by angle", subtitle), data.tables, (760, 420)),
        "induction": figure_of(
            titled(charts.induction(), "Partial induction by angle", subtitle), data.tables, (760, 420)
        ),
    }

"""The page of the canonical tasks: what one head with one frequency can learn, by its angle."""

from collections.abc import Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report import canonical_charts as charts
from wherewhat.report.canonical_tables import (
    INDEX,
    ONE,
    RETRIEVAL,
    SHARES,
    TITLES,
    TWO,
    Canonical,
    Row,
    spread,
)
from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, percent, tenths
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.tags import Html, join, tag

LEARNT, SOLVED = 0.95, 0.98  # accuracies from which a task counts as learnt, and as solved
MOSTLY = 0.9  # share from which content is said to make up nearly all


def page_of_canonical(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what was learnt at which angle, beside what was published and what theory says."""
    found = Canonical(result, manifest)
    if missing := [TITLES[name] for name in TITLES if name not in found.subjects]:
        raise UserError(f"the table has nothing on {missing[0]}; run `wherewhat reproduce canonical` again")
    sections = (
        by_angle,
        lambda _: the_claims(manifest),
        by_slot,
        circles,
        where_or_what,
        both_at_once,
        theory,
        numbers,
    )
    made: list[Section] = [section(found) for section in sections]
    return Page(
        title="One head, one frequency",
        kind="Reproduction of arXiv 2511.11579: canonical tasks",
        lede=(
            "The smallest heads there are, each trained at one angle of rotation. By theory a head finds places if its "
            "angle is large, and contents if it is small."
        ),
        facts=_facts(found),
        sections=[*made, how_it_was_made(manifest)],
        charts=_charts(),
        tables=found.tables,
        figures=_figures(found),
    )


def by_angle(found: Canonical) -> Section:
    """The first screen: the two curves that cross, and what is seen in them."""
    chart = panel(drawn("curves", "Accuracy of index and retrieval by base angle", height=430))
    many = "Lines are means over seeds with 95 % intervals, small dots are single seeds."
    lede = (
        f"Each head was trained at one angle. {many if found.seeds > 1 else 'Lines are those of one seed.'} Dashed is "
        "theory: below 2π/(n·m) symbols stay apart wherever they stand, up to 2π/n no two slots look alike, for n "
        "tokens and m symbols."
    )
    body = tag("div", chart, _seen(found), class_="first")
    return Section("angle", "Index and retrieval by angle", lede, body, "Angle")


def _seen(found: Canonical) -> Html:
    """What the first chart shows, in three sentences."""
    one, two = (max((found.mean(name, base) for base in found.bases), key=_value) for name in (ONE, TWO))
    paper = ", where the paper says that it fails" if one["value"] >= LEARNT else ""
    both = (
        f"Partial induction asks for both. Two planes reach {percent(two['value'])} at best; one plane alone reaches "
        f"{percent(one['value'])} at base {one['at']:g}{paper}."
    )
    return tag(
        "div",
        tag("p", "Asked which symbol stands in a slot (", _word("index", "where"), "), ", _ends(found, INDEX)),
        tag(
            "p", "Asked which integer goes with a symbol (", _word("retrieval", "what"), "), ", _ends(found, RETRIEVAL)
        ),
        tag("p", both),
        class_="says-it",
    )


def _ends(found: Canonical, subject: str) -> str:
    still, fast = found.bases[0], found.bases[-1]
    without, turning = (percent(found.mean(subject, base)["value"]) for base in (still, fast))
    return f"heads are right in {turning} of cases at base {fast:g}, and in {without} without rotation."


def _value(row: Row) -> float:
    return float(row["value"])


def by_slot(found: Canonical) -> Section:
    """Small multiples over angles: a U for index, an inverted U for retrieval."""
    lede = (
        "Right answers by the slot in which the answer stands, 0 to 31, at every angle. By theory index does best at "
        "both ends where its angle is too small, a U, and retrieval in the middle where its angle is too large, an "
        "inverted U."
    )
    ends = ", with 95 % intervals over seeds." if found.seeds > 1 else ", of one seed."
    words = (_word("index", "where"), " and ", _word("retrieval", "what"), ends)
    body = panel(_multiples("slots", "Accuracy by slot", found), tag("p", *words, class_="note"))
    return Section("slots", "By slot of the answer", lede, body, "Slots")


def _multiples(chart: str, label: str, found: Canonical) -> Html:
    """One small chart an angle, from the largest."""
    places = [
        tag(
            "div",
            tag("h4", f"base {base:g}"),
            drawn(chart, f"{label} at base {base:g}", height=120, words={"base": f"{base:g}"}),
        )
        for base in reversed(found.bases)
    ]
    return tag("div", *places, class_="multiples small")


def circles(found: Canonical) -> Section:
    """Learnt keys and queries, a small multiple an angle."""
    lede = (
        "Keys (dots, inner circle) and queries (rings, outer circle) of one seed, each kind drawn as large as its "
        "longest. By theory index needs one key for all symbols and queries that walk around by slot; retrieval needs "
        "a place of its own for every symbol, and a query, in the same colour, that points there. Where a task is not "
        "learnt, vectors need not look like that."
    )
    rows = [
        tag(
            "div",
            tag("h3", TITLES[subject]),
            tag("div", *(_circle(found, subject, base) for base in reversed(found.bases)), class_="multiples small"),
            class_="below",
        )
        for subject in (INDEX, RETRIEVAL)
    ]
    return Section("circle", "Keys and queries on the circle", lede, panel(*rows), "Circle")


def _circle(found: Canonical, subject: str, base: float) -> Html:
    lengths = found.means.filter(part="lengths", subject=subject, item="plane 0", measure="norm")
    length = lengths.filter(pl.col("at") == base)["value"].item()
    size = f"{length:.0f}" if length >= 10 else f"{length:.2g}"
    title = tag("h4", f"base {base:g}", tag("span", f"|q||k| {size}", class_="dim"))
    label = f"Keys and queries of {TITLES[subject].lower()} at base {base:g}"
    words = {"subject": subject, "base": f"{base:g}", "plane": "0"}
    return tag("div", title, drawn("circle", label, height=150, words=words))


def where_or_what(found: Canonical) -> Section:
    """Scores and shares by angle."""
    lede = (
        "Above, what decides a head's logits: the share of their variance that goes by place, by content, or only by "
        "both together. Below, the published scores at τ = 1e-4 (solid) and over all swaps alike (dashed); dotted is "
        "how even attention is, from 0 on one key to 1 on all. Where it is even, both scores are 1 and say little."
    )
    key = tag("p", *_keys(list(SHARES.values())), class_="note")
    columns = tag("div", *(_column(subject) for subject in found.subjects), class_="two")
    return Section("scores", "Where or what, by angle", lede, panel(columns, key), "Scores")


def _column(subject: str) -> Html:
    title = TITLES[subject]
    return tag(
        "div",
        tag("h3", title),
        drawn("shares", f"Shares of {title} by angle", height=110, words={"subject": subject}),
        drawn("scores", f"Scores of {title} by angle", height=170, words={"subject": subject}),
    )


def both_at_once(found: Canonical) -> Section:
    """Partial induction, one plane against two."""
    chart = panel(drawn("induction", "Accuracy of partial induction by base angle", height=400))
    slots = _multiples("induction_slots", "Partial induction by slot", found)
    lede = (
        "Two pairs have the symbol asked for and the later one counts: content finds the pairs, place has to choose. "
        "Dashed are heads put together by hand, with all attention on the largest logit; training may do better, as it "
        "chooses lengths too."
    )
    body = join(
        tag("div", chart, _about_both(found), class_="first"),
        tag("div", panel(tag("h3", "By slot of the answer"), slots), class_="below"),
    )
    return Section("both", "Both at once: partial induction", lede, body, "Induction")


def _about_both(found: Canonical) -> Html:
    one, two = ({base: found.mean(name, base)["value"] for base in found.bases} for name in (ONE, TWO))
    best, still = max(one, key=lambda base: one[base]), found.bases[0]
    bound = int(1000 * found.bounds.get("tilt", 0)) / 1000  # rounded down, so that it holds
    by_hand = f" By hand that works without error up to base {bound:g}." if bound else ""
    return tag(
        "div",
        tag("p", _with_two(found, [base for base in found.bases if two[base] >= SOLVED])),
        tag(
            "p",
            f"With one plane the best is {percent(one[best])}, at base {best:g}. By theory a small angle can use the "
            f"room between symbols, 2π/16 on the circle, to tilt a head towards the later pair.{by_hand}",
        ),
        tag(
            "p",
            "Without rotation both pairs look alike, so that theory allows no better than a coin. Measured: "
            f"{percent(one[still])} with one plane, {percent(two[still])} with two.",
        ),
        class_="says-it",
    )


def _with_two(found: Canonical, solved: Sequence[float]) -> str:
    """Where two planes succeed, and how little of their logits has to go by place for that."""
    planes = "With two planes, one that stands still and one that turns,"
    if not solved:
        return f"{planes} no angle reaches {percent(SOLVED)}."
    rows = found.means.filter(part="scores", subject=TWO, measure="symbol_share")
    content = rows.filter(pl.col("at").is_in(solved))["value"].drop_nulls().drop_nans().to_list()
    little = (
        f" Content makes up {percent(min(content))} or more of what decides their logits: to choose between two pairs, "
        "place has only to tip the scale."
        if content and min(content) >= MOSTLY
        else ""
    )
    return f"{planes} at least {percent(SOLVED)} are right at {_bases(solved, found.bases)}.{little}"


def _bases(some: Sequence[float], every: Sequence[float]) -> str:
    """Name base angles, as a range where none is left out.

    >>> _bases([0.1], [0, 0.1, 0.5]), _bases([0.1, 0.5, 1], [0, 0.1, 0.5, 1]), _bases([0.1, 1, 2], [0.1, 0.5, 1, 2])
    ('base 0.1', 'bases 0.1 to 1', 'bases 0.1, 1 and 2')
    """
    names = [f"{base:g}" for base in some]
    if len(names) == 1:
        return f"base {names[0]}"
    if len(names) > 2 and list(every[every.index(some[0]) :][: len(some)]) == list(some):
        return f"bases {names[0]} to {names[-1]}"
    return f"bases {', '.join(names[:-1])} and {names[-1]}"


def theory(found: Canonical) -> Section:
    """What could be known without training."""
    cards = (
        _card(
            "Index: how long queries and keys must be",
            "For every slot to get half of the attention when it is asked for, query times key must grow as 1/θ² "
            "(dashed). Solid is what was learnt.",
            drawn("norms", "Length of query times key, learnt and asked for", height=300, words={"subject": INDEX}),
        ),
        _card(
            "Retrieval: heads by hand",
            "Symbols evenly on the circle, attention on the largest logit, no training (dashed). Solid are learnt "
            "heads.",
            drawn("by_hand", "Learnt retrieval beside heads by hand", height=300, words={"subject": RETRIEVAL}),
        ),
        _card(
            "The U and the inverted U",
            "Attention on the slot asked for, by formula, with queries and keys of length 1 at base 1.",
            drawn("peaks", "Attention by slot, by formula", height=240),
        ),
        _card(
            "Retrieval: how long queries and keys must be",
            "For half of the attention when every other pair has a neighbouring symbol, in the worst slots.",
            drawn("norms", "Length of query times key for retrieval", height=240, words={"subject": RETRIEVAL}),
        ),
    )
    lede = "Formulas and heads put together by hand, beside what was learnt. Dashed is always theory."
    return Section("theory", "What theory says", lede, tag("div", *cards, class_="two"), "Theory")


def _card(title: str, note: str, chart: Html) -> Html:
    return panel(tag("h3", title), tag("p", note, class_="note"), chart)


def numbers(found: Canonical) -> Section:
    """Every accuracy, in a table."""
    head = tag("tr", tag("th", "base angle"), *(tag("th", TITLES[name]) for name in found.subjects))
    rows = [
        tag("tr", tag("td", f"{base:g}"), *(tag("td", _cell(found.mean(name, base))) for name in found.subjects))
        for base in reversed(found.bases)
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="numbers accuracies panel")
    many = "Means over seeds in per cent, with 95 % intervals by Student's t."
    return Section(
        "numbers", "Every accuracy", many if found.seeds > 1 else "In per cent, of one seed.", table, "Table"
    )


def _cell(row: Row) -> str:
    return f"{tenths(row['value'])}{spread(row)}"


def _word(name: str, tone: str) -> Html:
    return tag("b", name, class_=f"tone-{tone}")


def _keys(names: Sequence[str]) -> list[Html]:
    return [join(tag("span", class_="swatch", data_hue=str(hue)), f"{name}  ") for hue, name in enumerate(names)]


def _facts(found: Canonical) -> list[tuple[str, str]]:
    settings = found.manifest.get("settings") or {}
    facts = [(str(len(found.bases)), "angles"), (str(found.seeds), "seed" if found.seeds == 1 else "seeds")]
    facts += [(f"{settings['steps']:,}", "steps")] if settings.get("steps") else []
    return [*facts, (f"{len(found.subjects) * len(found.bases) * found.seeds:,}", "heads")]


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


def _figures(found: Canonical) -> dict[str, Figure]:
    told = count(len(found.bases), "angle")
    return {
        "angles": figure_of(titled(charts.curves(), "Index and retrieval by angle", told), found.tables, (760, 420)),
        "induction": figure_of(
            titled(charts.induction(), "Partial induction by angle", told), found.tables, (760, 420)
        ),
    }

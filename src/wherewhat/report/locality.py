"""The page of the study of locality and symmetry: do they help, and by how much?"""

from collections.abc import Mapping, Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, short
from wherewhat.report.claims import claims_section
from wherewhat.report.locality_chart_data import CORRELATIONS, GAPS, SMALL, WIDE, leaning_contrasts, span, tables_of
from wherewhat.report.locality_charts import charts_of
from wherewhat.report.locality_data import (
    ALL,
    BY_HAND,
    DECODER,
    FAMILIES,
    HOW,
    PREDICTORS,
    LocalityPageData,
    LocalityQuestion,
    leaning_curves,
)
from wherewhat.report.locality_table import numbers
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import ChartWords, chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section
from wherewhat.report.result_text import plain
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.study import LocalityManifest

LINE, THREE = 26, 40  # pixels per question, with one mark and with three
TITLES = {
    "locality": "locality of attention",
    "bias_locality": "locality of the curve by itself",
    "balance": "balance of attention",
    "bias_balance": "balance of the curve by itself",
}
# By claim, the section that starts with its answer: its name, and its short title.
SHORT = {"stability": ("stability", "Stability"), DECODER: ("decoders", "Decoders"), "leaning": ("leaning", "Roles")}
CONTROLLED = {"locality": "symmetry", "balance": "locality"}  # what a partial correlation is controlled for


def page_of_locality(result: pl.DataFrame, manifest: LocalityManifest) -> Page:
    """Show how accuracy depends on locality and symmetry, compared with the publication."""
    data = LocalityPageData(result, manifest)
    if not data.questions or not data.encodings:
        raise UserError("the table has no encoding with an accuracy; run `wherewhat reproduce locality` again")
    sections = (answer, by_locality, by_symmetry, numbers, steadiness, decoders, leaning)
    made = [section(data) for section in sections]
    charts, tables = charts_of(tuple(_families_shown(data))), tables_of(data)
    return Page(
        title="Locality and symmetry",
        kind="Reproduction of arXiv 2310.12864",
        lede=(
            "Locality and symmetry of attention, set by hand. Small nets are pre-trained on masked words, each with "
            "one encoding of position, and fine-tuned on questions about sentences. A log curve multiplies attention "
            "by e^(−w·distance²): the larger w, the more local. s is how much steeper the curve is after the query: "
            "below 1 flatter ahead, above 1 steeper, 1 symmetric."
        ),
        facts=_facts(data),
        sections=[*made, claims_section(manifest.claims), provenance_section(manifest)],
        charts=charts,
        tables=tables,
        figures=_figures(data, charts, tables),
    )


def answer(data: LocalityPageData) -> Section:
    """The first screen: the study's answers and the numbers they rest on, one line per question."""
    answers = {of: data.answer(of) for of in GAPS}
    lede = " ".join(lead for lead, _ in answers.values()).strip() or "The effect of locality and symmetry on accuracy."
    cards = [
        panel(tag("h3", of.capitalize()), *_rest(rest), _lines(data, of, GAPS[of])) for of, (_, rest) in answers.items()
    ]
    without = (
        f" The mean over all questions leaves out {data.left_out}, which no symmetric encoding can answer."
        if data.left_out
        else ""
    )
    note = (
        "Right of 0 means higher accuracy, with 95 % intervals over seeds, which draw initial weights and sentences; "
        "grey is no clear difference. Middle curves are all symmetric ones except the flattest and the steepest. "
        "Symmetric curves are compared with others at the same locality; at the same w those also differ in locality, "
        "so that view is confounded. Correlations are over curves; a partial correlation controls locality for "
        f"symmetry, or symmetry for locality.{without}"
    )
    body = tag("div", tag("div", *cards, class_="two"), tag("p", note, class_="note"), class_="answered")
    return Section("answer", "Does locality help? Does symmetry?", lede, body, "Answer")


def _rest(rest: str) -> list[Html]:
    """The numbers that an answer rests on, if there is an answer."""
    return [tag("p", rest)] if rest else []


def _lines(data: LocalityPageData, of: str, gaps: dict[str, str]) -> Html:
    """A chart of contrasts and correlations, one line per question."""
    views = [
        (title, {"line": name, "x title": "gain, points of accuracy"}) for title, name in gaps.items() if data.gap(name)
    ]
    titles = {"pearson": "correlation", "spearman": "ranks", "partial": "partial"}
    views += [
        (titles[measure], {"line": f"{of} {measure}", "x title": "correlation"})
        for measure in CORRELATIONS
        if data.link(of, ALL, measure)
    ]
    height = LINE * (1 + len(data.questions)) + 8
    return _drawn_if("lines", f"The effect of {of} on accuracy, by question", views, height=height)


def by_locality(data: LocalityPageData) -> Section:
    """Accuracy against locality, over all questions and for each."""
    n, level = data.about.n, data.about.uniform
    uniform = f" Uniform attention over {n} words has locality {short(level)}." if level else ""
    lede = (
        "Every mark is an encoding, placed by the locality of its curve, or of the attention of trained nets over "
        f"identical words.{uniform} Lines join symmetric curves from the flattest to the steepest; hollow marks are "
        f"log curves with s ≠ 1. Crosses are other encodings, named at the side.{_alone(data)} In frozen nets only a "
        "layer on top is trained. Above each chart is the correlation r over encoders, or over log curves, with its 95 "
        "% interval."
    )
    body = join(_against(data, "locality"), tag("p", _families(data), class_="note"))
    return Section("locality", "Accuracy against locality", lede, body, "Locality")


def _alone(data: LocalityPageData) -> str:
    there = any(data.bag_of_words(question.name) is not None for question in data.questions)
    return " Words alone is the accuracy of a bag of words." if there else ""


def by_symmetry(data: LocalityPageData) -> Section:
    """Accuracy against symmetry, one line over s per w."""
    lede = (
        "The same against balance: 1 if a word attends equally to its left and right at every distance, 0 if it "
        "attends to one side only. Lines join curves of the same w by s: along a line only the side ahead gets steeper"
        f"{_where_lines_turn_back(data)}. Paler marks are symmetric curves of another w."
    )
    return Section("symmetry", "Accuracy against symmetry", lede, _against(data, "balance"), "Symmetry")


def _where_lines_turn_back(data: LocalityPageData) -> str:
    steeper_ahead = any(curve.s is not None and curve.s > 1 for curve in data.of("log"))
    return ", until beyond s = 1 it is the steeper side and the line turns back" if steeper_ahead else ""


def _against(data: LocalityPageData, x: str) -> Html:
    """A large chart over all questions, and a small one per question."""
    chart = f"against_{x}"
    kinds = [("trained nets", x, "accuracy"), ("the curve itself", f"bias_{x}", "accuracy")]
    views = [
        (title, _words(data, data.overall, by, measure))
        for title, by, measure in [*kinds, ("frozen nets", x, "frozen accuracy")]
        if any(
            data.property_of(curve.name, by) is not None and data.mean(curve.name, ALL, measure)
            for curve in data.of(*BY_HAND)
        )
    ]
    heading = tag("h3", f"Mean over all questions{f' except {data.left_out}' if data.left_out else ''}")
    whole = panel(heading, chart_widget(chart, f"Accuracy over all questions against {x}", height=WIDE, views=views))
    small = [
        tag(
            "div",
            tag("h4", question.name),
            tag("p", question.asks, class_="note"),
            chart_widget(
                f"{chart}_small", f"{question.name} against {x}", height=SMALL, words=_words(data, question, x)
            ),
        )
        for question in data.questions
    ]
    parts = (whole, panel(tag("div", *small, class_="panels")))
    return join(*(tag("div", part, class_="below") for part in parts))


def _words(data: LocalityPageData, question: LocalityQuestion, x: str, measure: str = "accuracy") -> ChartWords:
    """The parameters of a chart of a question; never a name that a user gave."""
    floor, ceiling = span(data, question, measure)
    predictor = PREDICTORS[x] if measure == "accuracy" else ""  # not computed for frozen nets
    partial = data.link(predictor, question.name, "partial")
    return {
        "question": question.key,
        "how": HOW[measure],
        "x": x,
        "x title": TITLES[x],
        "top": f"{_top(data, x):g}",
        "floor": f"{floor:g}",
        "ceiling": f"{ceiling:g}",
        "link": _correlation(data, predictor, question.name),
        "still": f"controlled for {CONTROLLED[x.removeprefix('bias_')]} {plain(partial)}" if partial else " ",
    }


def _correlation(data: LocalityPageData, predictor: str, item: str) -> str:
    """The correlation that a chart shows."""
    row = data.link(predictor, item)
    return f"r {plain(row)}" if row else " "


def _top(data: LocalityPageData, x: str) -> float:
    """The upper end of an axis, a multiple of 0.2."""
    most = max(data.property_of(encoding.name, x) or 0.0 for encoding in data.encodings)
    return min(1.0, (int(most * 5) + 1) / 5)


def steadiness(data: LocalityPageData) -> Section:
    """Spread over seeds and forgetting, by locality and by balance."""
    measures = {
        "spread": ("Spread over seeds", "standard deviation, points"),
        "forgetting": ("Forgetting", "word loss after minus before"),
    }
    cards = [
        panel(
            tag("h3", title),
            _drawn_if("stability", f"{title} of every encoding", _steady_views(data, measure, axis), height=300),
        )
        for measure, (title, axis) in measures.items()
    ]
    note = (
        "Spread is the standard deviation of accuracy over seeds; forgetting is the rise of the word loss through "
        "fine-tuning, in nats. Means over questions; marks as above."
    )
    return _answered(data, "stability", "Is fine-tuning stable?", tag("div", *cards, class_="two"), note)


def _steady_views(data: LocalityPageData, measure: str, axis: str) -> list[tuple[str, ChartWords]]:
    known = any(data.mean(encoder.name, ALL, measure) for encoder in data.encoders)
    return [
        (
            f"by {x}",
            {"measure": measure, "x": x, "x title": TITLES[x], "y title": axis, "top": f"{_top(data, x):g}"}
            | {"link": _correlation(data, PREDICTORS[x], measure)},
        )
        for x in ("locality", "balance")
        if known
    ]


def _drawn_if(chart: str, label: str, views: Sequence[tuple[str, ChartWords]], *, height: int) -> Html:
    """A chart, if there is something to draw."""
    return (
        chart_widget(chart, label, height=height, views=views) if views else tag("p", "Nothing to draw.", class_="note")
    )


def decoders(data: LocalityPageData) -> Section:
    """The same sweep under a causal mask."""
    measures = {"accuracy": ("accuracy", "accuracy", "%"), "word loss": ("word loss", "word loss, nats", ".2f")}
    views = [
        (title, {"measure": measure, "y title": axis, "y format": number})
        for measure, (title, axis, number) in measures.items()
        if any(data.mean(decoder.name, ALL, measure) for decoder in data.of(DECODER))
    ]
    chart = _drawn_if("causal", "Decoders and encoders against locality", views, height=320)
    note = (
        "The paper left decoders open. Symmetry has no meaning under a causal mask, and locality is higher to begin "
        "with, as there are fewer words to attend to. Hollow marks are other encodings in decoders."
    )
    return _answered(data, DECODER, "In decoders", panel(chart), note)


def leaning(data: LocalityPageData) -> Section:
    """Leaning heads compared with the symmetric curve of the same w, and with others."""
    views = [(f"w {w:g}", {"w": f"{w:g}"}) for w in leaning_curves(data)]
    height = THREE * len(data.questions) + 10
    roles = _drawn_if("roles", "Leaning and symmetric curves, by question", views, height=height)
    gaps = [(_short(name), {"line": name, "x title": "gain, points of accuracy"}) for name in leaning_contrasts(data)]
    over = _drawn_if(
        "lines", "The gain of leaning heads, by question", gaps, height=LINE * (1 + len(data.questions)) + 8
    )
    note = (
        "In theory, a symmetric curve cannot tell a sentence from its reversal, which hides who does what to whom. "
        "Leaning is ours: equally local, but every head prefers one side and learns by how much; in the control the "
        "preference is fixed. The vertical mark is chance."
    )
    cards = (panel(tag("h3", "At the same w"), roles), panel(tag("h3", "Gains"), over))
    return _answered(data, "leaning", "Who does what to whom", tag("div", *cards, class_="two"), note)


def _short(contrast: str) -> str:
    """The name of a contrast among those of leaning heads.

    >>> _short("leaning over rope"), _short("not learned over symmetric")
    ('over rope', 'not learned over symmetric')
    """
    return contrast.removeprefix("leaning ").replace("learned positions", "position table")


def _answered(data: LocalityPageData, name: str, title: str, charts: Html, note: str) -> Section:
    """The study's answer, then charts and how to read them; without an answer, how to read them comes first."""
    lead, rest = data.answer(name)
    body = tag("div", *_rest(rest), charts, tag("p", note, class_="note"), class_="answered") if lead else charts
    section, short_title = SHORT[name]
    return Section(section, title, lead or note, body, short_title)


def _families(data: LocalityPageData) -> str:
    """What the families of curves are."""
    about = data.about.families
    families = "; ".join(
        f"{FAMILIES.get(name, name)}: {about[name]}" for name in _families_shown(data) if name in about
    )
    seeds = "Intervals are over seeds." if data.seeds > 1 else "One seed only."
    return f"{families}. {seeds}" if families else seeds


def _families_shown(data: LocalityPageData) -> list[str]:
    return [name for name in BY_HAND if data.of(name)]


def _facts(data: LocalityPageData) -> list[tuple[str, str]]:
    encodings, questions = len(data.encodings), len(data.questions)
    runs = data.result.filter(part="run").select("subject", "seed").n_unique()
    return [
        (str(encodings), "encoding" if encodings == 1 else "encodings"),
        (str(questions), "question" if questions == 1 else "questions"),
        (str(data.seeds), "seed" if data.seeds == 1 else "seeds"),
        (f"{runs:,}", "nets"),
        *_run_time(data),
    ]


def _run_time(data: LocalityPageData) -> list[tuple[str, str]]:
    """The time of all runs together, including those finished before a resume."""
    seconds, processes = data.about.seconds, data.about.processes
    if not seconds:
        return []
    return [(duration(seconds), f"summed over {count(processes, 'process', 'processes')}" if processes else "in all")]


def _figures(data: LocalityPageData, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """Accuracy against locality and balance, over all questions and for each."""
    made = {}
    for x in ("locality", "balance"):
        for number, question in enumerate((data.overall, *data.questions)):
            words = _words(data, question, x)
            title = f"Accuracy against {x}: {'all questions' if question.key == ALL else question.name}"
            figure = figure_of(charts[f"against_{x}"], tables, (760, WIDE), words)
            spec = titled(figure.spec, title, f"{words['link']}, {words['still']}".strip(", "))
            made[f"{x}_{number}" if number else x] = Figure(spec, figure.tables, figure.width, figure.height)
    return made

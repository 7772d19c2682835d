"""The page of the study of locality and symmetry: do they help, and by how much? Torch-free."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, listed, short
from wherewhat.report.blocks.axes import ACCENT, MUTED, SHAPES, WHAT, WHERE, colour, legend, names, shade, shape, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, forest, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answered, columns, counted, panel, run_time, small
from wherewhat.report.blocks.marks import ROWS, TIP, dots, named, where, whiskers
from wherewhat.report.blocks.numbers import plain, plus_minus, points, share, side
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.rows import drawable
from wherewhat.report.blocks.table import table as html_table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.claims import FEWEST_SEEDS
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.locality import charts
from wherewhat.studies.locality.charts import CURVES, LABELS, known_property, label
from wherewhat.studies.locality.sets import ALL, BAG, of, sets_of
from wherewhat.tables.manifest.study import LocalityManifest, LocalitySection, LongAnswer, QuestionSection

WIDE, SMALL = 400, 240  # heights of charts with names at their side
LONGEST = 12  # characters of a column heading
NOTHING = tag("p", "Nothing to draw.", class_="note")  # in place of a chart
# Contrasts on the first screen, by their titles there.
GAPS = {
    "locality": {"over flattest": "middle over flat", "over steepest": "middle over steep"},
    "symmetry": {
        "over flatter ahead": "symmetric over flatter ahead, same locality",
        "over steeper ahead": "symmetric over steeper ahead, same locality",
        "same w (confounded)": "symmetric over one-sided",
    },
}
CORRELATIONS = {"correlation": "pearson", "ranks": "spearman", "partial": "partial"}
OURS = ("leaning over ", "not learned over ")  # how the names of contrasts of leaning heads start
ROLES: dict[str, tuple[str, Any, str]] = {  # the set of encodings, its colour and its shape
    "symmetric": ("symmetric curves", WHERE, "circle"),
    "not learned": ("control", shade("layers", 4), "triangle-down"),
    "leaning": ("ours", WHAT, "square"),
}


def page(result: pl.DataFrame, manifest: LocalityManifest) -> Page:
    """Show how accuracy depends on locality and symmetry, compared with the publication."""
    table, about = read(result, manifest.about)
    nets = table.where(part="run").select("subject", "seed").n_unique()
    parts = (answer, by_locality, by_symmetry, numbers, stability, decoders, leaning)
    sections = [part(table, about) for part in parts]
    return Page(
        title="Locality and symmetry",
        kind="Reproduction of arXiv 2310.12864",
        lede=(
            "Locality and symmetry of attention, set by hand. Small nets are pre-trained on masked words, each with "
            "one encoding of position, and fine-tuned on questions about sentences. A log curve multiplies attention "
            "by e^(−w·distance²): the larger w, the more local. s is how much steeper the curve is after the query: "
            "below 1 flatter ahead, above 1 steeper, 1 symmetric."
        ),
        facts=[
            counted(len(table.conditions), "encoding"),
            counted(len(about.questions), "question"),
            counted(len(table.seeds), "seed"),
            (f"{nets:,}", "nets"),
            *run_time(about.seconds, about.processes),
        ],
        sections=[*sections, claims_section(manifest.claims), provenance_section(manifest)],
    )


def read(result: pl.DataFrame, about: LocalitySection) -> tuple[ResultTable, LocalitySection]:
    """The result with the encodings that have an accuracy, and the questions with whether they count in means."""
    there = set(result.filter(part="mean", measure="accuracy")["subject"]) - {BAG}
    encodings = [encoding for encoding in about.subjects if encoding.name in there]
    if not about.questions or not encodings:
        raise UserError("the table has no encoding with an accuracy; run `wherewhat reproduce locality` again")
    questions = [replace(each, counted=not each.sharp) if each.counted is None else each for each in about.questions]
    return ResultTable(result, encodings, notes={"sets": sets_of(encodings)}), replace(about, questions=questions)


def overall(about: LocalitySection) -> QuestionSection:
    """The mean over all questions, as if it were a question."""
    chances = [question.chance for question in about.questions if question.counted]
    return QuestionSection(name=ALL, chance=fmean(chances) if chances else 0.0)


def left_out(about: LocalitySection, words: str) -> str:
    """Words with the names of questions that are not in means over all questions; nothing if all are."""
    without = listed([f"“{question.name}”" for question in about.questions if not question.counted])
    return words.format(without) if without else ""


def answer(table: ResultTable, about: LocalitySection) -> Section:
    """The first screen: the study's answers and the numbers they rest on, one line per question."""
    answers = {name: answer_of(about, name) for name in GAPS}
    cards = []
    for name, gaps in GAPS.items():
        views = {title: (gap, Cell("contrast", "accuracy")) for title, gap in gaps.items()}
        views |= {title: (name, Cell("link", measure)) for title, measure in CORRELATIONS.items()}
        drawn = by_question(table, about, views, label=f"The effect of {name} on accuracy, by question")
        cards.append(panel(answers[name][1], drawn, title=name.capitalize()))
    note = (
        "Right of 0 means higher accuracy, with 95 % intervals over seeds, which draw initial weights and sentences; "
        "grey is no clear difference. Middle curves are all symmetric ones except the flattest and the steepest. "
        "Symmetric curves are compared with others at the same locality; at the same w those also differ in locality, "
        "so that view is confounded. Correlations are over curves; a partial correlation controls locality for "
        "symmetry, or symmetry for locality."
    )
    note += left_out(about, " The mean over all questions leaves out {}, which no symmetric encoding can answer.")
    lede = " ".join(filter(None, (lead for lead, _ in answers.values())))
    lede = lede or "The effect of locality and symmetry on accuracy."
    body = answered(columns(*cards), text=note)
    return Section("answer", "Does locality help? Does symmetry?", lede, body, "Answer")


def answer_of(about: LocalitySection, name: str) -> tuple[str, Html | None]:
    """The study's answer in a sentence, and the numbers it rests on; nothing if it has none."""
    its = about.answers.get(name, LongAnswer())
    return f"{its.lead.removesuffix('.')}." if its.lead else "", tag("p", its.rest) if its.rest else None


def by_question(table: ResultTable, about: LocalitySection, views: Mapping[str, Any], *, label: str) -> object:
    """Contrasts in points and correlations with their intervals, a view each, one line per question."""
    drawn = {}
    for title, (subject, cell) in views.items():
        rows, gap = [], cell.part == "contrast"
        for question in (overall(about), *about.questions):
            if row := table.row(subject, cell._replace(item=question.name)):
                named = "all questions" if question.name == ALL else question.name
                clear = side(row) if not gap or len(table.seeds) >= FEWEST_SEEDS else "unclear"
                mark = {"label": named, "side": clear, "tip": f"{named}: {points(row) if gap else plain(row)}"}
                rows.append({**drawable(row, 100 if gap else 1), **mark})
        if rows and rows[0]["item"] == ALL:
            drawn[title] = ViewRows(rows, {"x title": "gain, points of accuracy" if gap else "correlation"})
    return forest("lines", drawn, line="label", axis="{x title}", label=label) if drawn else NOTHING


def by_locality(table: ResultTable, about: LocalitySection) -> Section:
    """Accuracy against locality, over all questions and for each."""
    uniform = f" Uniform attention over {about.n} words has locality {short(about.uniform)}." if about.uniform else ""
    bag = any(table.row(BAG, Cell("mean", "accuracy", question.name)) for question in about.questions)
    lede = (
        "Every mark is an encoding, placed by the locality of its curve, or of the attention of trained nets over "
        f"identical words.{uniform} Lines join symmetric curves from the flattest to the steepest; hollow marks are "
        "log curves with s ≠ 1. Crosses are other encodings, named at the side."
        f"{' Words alone is the accuracy of a bag of words.' if bag else ''} In frozen nets only a layer on top is "
        "trained. Above each chart is the correlation r over encoders, or over log curves, with its 95 % interval."
    )
    tried = [name for name in CURVES if of(table, name) and name in about.families]
    families = "; ".join(f"{LABELS.get(name, name)}: {about.families[name]}" for name in tried)
    seeds = "Intervals are over seeds." if len(table.seeds) > 1 else "One seed only."
    body = join(against(table, about, "locality"), tag("p", ". ".join(filter(None, (families, seeds))), class_="note"))
    return Section("locality", "Accuracy against locality", lede, body, "Locality")


def by_symmetry(table: ResultTable, about: LocalitySection) -> Section:
    """Accuracy against symmetry, one line over s per w."""
    turns = ", until beyond s = 1 it is the steeper side and the line turns back" if of(table, "steeper ahead") else ""
    lede = (
        "The same against balance: 1 if a word attends equally to its left and right at every distance, 0 if it "
        "attends to one side only. Lines join curves of the same w by s: along a line only the side ahead gets steeper"
        f"{turns}. Paler marks are symmetric curves of another w."
    )
    return Section("symmetry", "Accuracy against symmetry", lede, against(table, about, "balance"), "Symmetry")


def against(table: ResultTable, about: LocalitySection, axis: str) -> Html:
    """A large chart over all questions, and a small one per question."""
    whole, attention = overall(about), f"attention.{axis}"
    views = {
        "trained nets": charts.accuracy_view(table, whole, attention, height=WIDE),
        "the curve itself": charts.accuracy_view(table, whole, f"bias.{axis}", height=WIDE),
        "frozen nets": charts.accuracy_view(table, whole, attention, "frozen accuracy", height=WIDE),
    }
    spec, title = charts.against(table, axis), f"Accuracy against {axis}"
    picture: dict[str, Any] = {"figure": True, "width": 760, "subtitle": "{link}\n{partial}"}
    known, singles = {name: view for name, view in views.items() if view.rows}, []
    look = {**picture, "title": f"{title}: all questions", "height": WIDE}
    every = chart(axis, known, spec, label=f"Accuracy over all questions against {axis}", **look) if known else NOTHING
    for number, question in enumerate(about.questions, start=1):
        view = charts.accuracy_view(table, question, attention, height=SMALL)
        look = {**picture, "title": f"{title}: {question.name}", "height": SMALL}
        its = chart(f"{axis}_{number}", view, spec, label=f"{question.name} against {axis}", **look)
        singles.append(small(question.name, its, question.asks, level="h3"))
    first = panel(every, title=left_out(about, "Mean over all questions except {}") or "Mean over all questions")
    return join(*(tag("div", part, class_="below") for part in (first, panel(columns(*singles)))))


def numbers(table: ResultTable, about: LocalitySection) -> Section:
    """The table of every encoding on every question."""
    items = (ALL, *(question.name for question in about.questions))

    def means(name: str) -> dict[str, Any]:
        return {item: table.row(name, Cell("mean", "accuracy", item)) for item in items}

    encoders = [means(encoding.name) for encoding in of(table, "encoder")]
    best = {item: max((row[item]["value"] for row in encoders if row[item]), default=None) for item in items}
    rows: list[list[object]] = []
    for encoding in table.conditions:
        properties = (known_property(table, encoding, f"attention.{name}") for name in ("locality", "balance"))
        cells = {item: plus_minus(row) for item, row in means(encoding.name).items()}
        if encoding.family != "decoder":
            leads = (item for item, row in means(encoding.name).items() if row and row["value"] == best[item])
            cells |= {item: tag("b", cells[item]) for item in leads}
        losses = (table.row(encoding.name, Cell("mean", measure, ALL)) for measure in ("word loss", "forgetting"))
        ends = [short(row["value"] if row else None) for row in losses]
        rows.append([label(encoding), *map(short, properties), *cells.values(), *ends])
    if any(bag := means(BAG).values()):
        rows.append([BAG, short(None), short(None), *map(plus_minus, bag), short(None), short(None)])
    seeds = f"Means over {count(len(table.seeds), 'seed')}, ± half the width of their 95 % intervals (Student's t)."
    lede = (
        f"All {count(len(table.conditions), 'encoding')}, accuracy in per cent, the best encoder in bold. "
        f"{seeds if len(table.seeds) > 1 else 'One seed only.'} Loss is that of masked words, in decoders of the next "
        "word, in nats (natural logarithm); forgetting is how much it rises through fine-tuning. Locality and balance "
        "are those of attention in trained nets."
    )
    headings = ("encoding", "locality", "balance", "mean", *items[1:], "loss", "forgetting")
    cut = [tag("span", name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…", title=name) for name in headings]
    return Section("numbers", "Every encoding", lede, html_table(cut, rows, label="Every encoding"), "Table")


def stability(table: ResultTable, about: LocalitySection) -> Section:
    """Spread over seeds and forgetting, by locality and by balance."""
    cards = []
    for measure, title, axis in (
        ("spread", "Spread over seeds", "standard deviation, points"),
        ("forgetting", "Forgetting", "word loss after minus before"),
    ):
        by = {f"by {name}": f"attention.{name}" for name in ("locality", "balance")}
        views = {name: charts.encoder_view(table, own, measure, ALL) for name, own in by.items()}
        place = {"x": charts.property_axis(), "y": y("value", axis, zero=True, tickCount=5)}
        spec = charts.titled(charts.marks(place, charts.family_channels(table)), "{link}")
        drawn = chart("stability", views, spec, label=f"{title} of every encoding", height=300)
        cards.append(panel(drawn if any(view.rows for view in views.values()) else NOTHING, title=title))
    note = (
        "Spread is the standard deviation of accuracy over seeds; forgetting is the rise of the word loss through "
        "fine-tuning, in nats. Means over questions; marks as above."
    )
    section = Section("stability", "Is fine-tuning stable?", note, columns(*cards), "Stability")
    return with_answer(section, about, "stability")


def decoders(table: ResultTable, about: LocalitySection) -> Section:
    """The same sweep under a causal mask."""
    encodings, views = (*of(table, "symmetric curves"), *of(table, "decoder")), {}
    swept, others = ([each for each in encodings if (each.w is None) == other] for other in (False, True))
    for measure, axis, form in (("accuracy", "accuracy", "%"), ("word loss", "word loss, nats", ".2f")):
        curves, rest = (charts.marks_of(table, each, "attention.locality", measure) for each in (swept, others))
        if any(row["family"] == "decoder" for row in (*curves, *rest)):
            views[measure] = ViewRows(curves, {"y title": axis, "y format": form}, {"others": rest})
    place = {
        "x": x("x", "locality of attention", zero=False, padding=14, tickCount=6, grid=False),
        "y": y("value", "{y title}", zero=False, padding=8, format="{y format}", tickCount=5),
    }
    kinds = colour("family", {"log": MUTED, "decoder": ACCENT}, legend=legend({"log": "encoder"}))
    forms = {each.name.removeprefix("decoder "): SHAPES[1 + number % 3] for number, each in enumerate(others)}
    rows, coloured = named("others"), {**place, "color": kinds}
    hollow = rows.mark_point(size=80, opacity=1, strokeWidth=2, tooltip=TIP)
    marks = hollow.encode(**coloured, shape=shape("name", forms, legend=legend()))
    above = [whiskers(rows, coloured, along="y", width=1.6), marks]
    look: dict[str, Any] = {**place, "colour": kinds, "intervals": "whiskers", "above": above, "size": 70}
    drawn = lines("causal", views, **look, label="Decoders and encoders against locality") if views else NOTHING
    note = (
        "The paper left decoders open. Symmetry has no meaning under a causal mask, and locality is higher to begin "
        "with, as there are fewer words to attend to. Hollow marks are other encodings in decoders."
    )
    return with_answer(Section("decoders", "In decoders", note, panel(drawn), "Decoders"), about, "decoder")


def leaning(table: ResultTable, about: LocalitySection) -> Section:
    """Leaning heads compared with the symmetric curve of the same w, and with others."""
    contrasts = table.where(part="contrast", item=ALL, measure="accuracy")["subject"].to_list()
    ours = [name for start in OURS for name in contrasts if name.startswith(start)]
    titles = {name.removeprefix("leaning ").replace("learned positions", "position table"): name for name in ours}
    views = {title: (name, Cell("contrast", "accuracy")) for title, name in titles.items()}
    gains = by_question(table, about, views, label="The gain of leaning heads, by question")
    note = (
        "In theory, a symmetric curve cannot tell a sentence from its reversal, which hides who does what to whom. "
        "Leaning is ours: equally local, but every head prefers one side and learns by how much; in the control the "
        "preference is fixed. The vertical mark is chance."
    )
    cards = columns(panel(roles(table, about), title="At the same w"), panel(gains, title="Gains"))
    return with_answer(Section("leaning", "Who does what to whom", note, cards, "Roles"), about, "leaning")


def roles(table: ResultTable, about: LocalitySection) -> object:
    """Leaning curves and the symmetric one with the same w, one line per question."""
    views = {}
    for w in sorted({each.w for each in of(table, "ours") if each.w is not None}):
        at_w = [(kind, each) for kind, (name, _, _) in ROLES.items() for each in of(table, name) if each.w == w]
        views[f"w {w:g}"] = [
            drawable(row, within=(0.0, 1.0))
            | {"kind": kind, "chance": question.chance, "tip": f"{each.name}, {question.name}: {share(row)}"}
            for question in about.questions
            for kind, each in at_w
            if (row := table.row(each.name, Cell("mean", "accuracy", question.name)))
        ]
    views = {title: rows for title, rows in views.items() if any(row["kind"] == "symmetric" for row in rows)}
    if not views:
        return NOTHING
    across = x("value", "right answers", domainMax=1, zero=False, nice=False, padding=10, format="%", tickCount=5)
    down = names("item", labelLimit=104)
    place = {"x": across, "y": down, "yOffset": {"field": "kind", "type": "nominal", "sort": list(ROLES)}}
    place["color"] = colour("kind", {kind: tone for kind, (_, tone, _) in ROLES.items()}, legend=legend())
    forms = shape("kind", {kind: form for kind, (_, _, form) in ROLES.items()}, legend=legend())
    ticks = where(ROWS, kind="symmetric").mark_tick(color=MUTED, thickness=2, size=26).encode(x="chance:Q", y=down)
    layers = [ticks, whiskers(ROWS, place, width=2), dots(ROWS, {**place, "shape": forms}, strokeWidth=0)]
    height = 40 * len(about.questions) + 10
    return chart("roles", views, layers, label="Leaning and symmetric curves, by question", height=height)


def with_answer(section: Section, about: LocalitySection, claim: str) -> Section:
    """The study's answer, then charts and how to read them; without an answer, how to read them comes first."""
    lead, rest = answer_of(about, claim)
    if not lead:
        return section
    return replace(section, lede=lead, body=answered(rest, section.body, text=section.lede))

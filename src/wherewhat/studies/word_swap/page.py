"""The page of the study of swapped words: what nets miss, and whether encoding or training is to blame."""

import math
from itertools import cycle, product

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, listed, percent, signed, tenths
from wherewhat.published import word_swaps as published
from wherewhat.report.blocks.axes import ACCENT, INK, WHAT, WHERE, colour, legend, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, dumbbell
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, key, note, panel, run_time
from wherewhat.report.blocks.marks import ROWS, TIP, dots, named, rule, whiskers
from wherewhat.report.blocks.numbers import Row, capital, in_points, per_cent, plus_minus, points
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.rows import drawable
from wherewhat.report.blocks.swap_examples import swap_example
from wherewhat.report.blocks.swaps import axis_of, published_changes, size_words, swap_chart
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.word_swap import names
from wherewhat.studies.word_swap.names import AFTER, BAG, CHANGE, CONTROL_CHANGE, FOLLOWED, ORIGINAL, ROLE_SWAP, cell
from wherewhat.tables.manifest.study import LongAnswer, WordSwapManifest, WordSwapSection

SIZES = (*names.CONSTITUENTS, names.WHOLE)
QUESTIONS = {
    names.CONTENT: "fine-tuned on content",
    names.NAMES: "fine-tuned on who does it",
    names.ROLES: "fine-tuned on roles in pairs",
}
SIDES = {  # what is shown of symmetry, by measure: the title of the axis
    FOLLOWED: "role swaps that are followed",
    AFTER: "accuracy after the role swap",
    names.SHIFT: "change of probabilities",
}
CHANGES = (CHANGE, CONTROL_CHANGE)  # measures that may be negative
COLUMNS = {  # of the table: by heading, the swap and the measure
    "original": (ORIGINAL, AFTER),
    **{size: (size, CHANGE) for size in SIZES},
    "voice": (names.VOICE, CHANGE),
    "role swap": (ROLE_SWAP, AFTER),
    "followed": (ROLE_SWAP, FOLLOWED),
    "old label": (ROLE_SWAP, names.OLD),
    "control": (ROLE_SWAP, CONTROL_CHANGE),
}


def page(result: pl.DataFrame, manifest: WordSwapManifest) -> Page:
    """Show what swaps cost, by encoding and by question, compared with the publication."""
    about, every = manifest.about, ResultTable(result, manifest.about.subjects)
    answering = {row["subject"] for question in QUESTIONS for row in means(every, question, ORIGINAL, AFTER)}
    if not answering:
        raise UserError("the table has no encoding that answered; run `wherewhat reproduce word-swap` again")
    results = ResultTable(result, [each for each in about.subjects if each.name in answering])
    nets, questions = results.where(part="run").select("subject", "seed").n_unique(), questions_of(results)
    return Page(
        title="Swapped words",
        kind="Reproduction of arXiv 2310.12864",
        lede="Do nets miss that words were swapped because their encoding is symmetric, or because nothing rewarded "
        "them for noticing? Small encoders are pre-trained on short passages, each with one encoding of position, and "
        "fine-tuned on questions: on the content of sentence pairs, which a bag of words decides; on who does it in "
        "three words such as “maria sees peter”; and on roles in pairs, which is harder. Then words are swapped.",
        facts=[
            counted(len(results.conditions), "encoding"),
            counted(about.seeds or 0, "seed"),
            (f"{nets:,}", f"nets, each fine-tuned on {count(len(questions), 'question')}"),
            *run_time(about.seconds, about.processes),
        ],
        sections=[
            *(section(results, about) for section in (role_swaps, shuffles, symmetry, in_words, numbers)),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def mean(results: ResultTable, subject: str, question: str, swap: str, measure: str) -> Row | None:
    """A measure, the mean over seeds."""
    return results.row(subject, cell(question, swap, measure, part="mean"))


def means(results: ResultTable, question: str, swap: str, measure: str) -> list[Row]:
    """The same for every encoding that has it."""
    return [row for each in results.conditions if (row := mean(results, each.name, question, swap, measure))]


def questions_of(results: ResultTable) -> list[str]:
    """What nets were fine-tuned on."""
    return [question for question in QUESTIONS if means(results, question, ORIGINAL, AFTER)]


def role_swaps(results: ResultTable, about: WordSwapSection) -> Section:
    """The first screen: accuracy before and after agent and patient are swapped."""
    cards = [panel(_before_and_after(results, name), title=capital(QUESTIONS[name])) for name in questions_of(results)]
    models = listed([f"{model} {signed(change)}" for model, (_, change) in published.ROLES.items()])
    return answer_section(
        "exchange",
        "Agent and patient swapped",
        [about.answers[name] for name in ("blindness", "training") if name in about.answers],
        columns(*cards, look="strips" if len(cards) > 2 else "two"),
        key(
            ("mark before", "before"),
            ("mark swap", "after the role swap"),
            ("level upright uniform", "bag of words, at most"),
        ),
        text="After a role swap the right label is the new one: for content, entailment becomes contradiction and the "
        "others stay; for who does it, woman and man are swapped; for roles, entailed and reversed are swapped and "
        "other stays. On content, a net that misses role swaps loses the third whose label changes. On roles, it keeps "
        "two thirds at most, as many as before. On who does it, the role swap of every sentence is in the data too, so "
        "accuracy is the same before and after: half if nets cannot tell, and all if they follow. Intervals are over "
        f"seeds. Published, on SNLI and by a rule that is unknown: {models} points.",
        short="Roles",
    )


def _before_and_after(results: ResultTable, question: str) -> Chart:
    """One line per encoding: hollow before, filled after the role swap; a vertical line at a bag of words."""
    states = {"before": names.BEFORE, "after": AFTER}
    rows = [{**row, "state": state} for state in states for row in means(results, question, ROLE_SWAP, states[state])]
    across = share(x, title="accuracy", values=[0, 0.25, 0.5, 0.75, 1])
    in_words = "; ".join(f"{row['subject']} {tenths(row['value'])} % {row['state']}" for row in rows)
    return dumbbell(
        f"exchange_{question}",
        rows,
        line="subject",
        x=across,
        states={"before": INK, "after": ACCENT},
        below=[rule(named("levels"), {"x": across}, dash=(4, 3), colour=INK, opacity=0.7, tooltip=TIP)],
        tables={"levels": [{"value": BAG[question], "tip": f"bag of words, at most: {percent(BAG[question])}"}]},
        tip="{subject}, {state} the role swap: {value:share} right",
        label=f"Accuracy {QUESTIONS[question]}: {in_words}",
        figure=True,
        title=f"Accuracy before and after a role swap, {QUESTIONS[question]}",
    )


def shuffles(results: ResultTable, about: WordSwapSection) -> Section:
    """What shuffled constituents cost, by size, with published models."""
    subjects = {"all that learnt it": names.POOLED} | {each.name: each.name for each in results.conditions}
    cards = []
    for question, training in QUESTIONS.items():
        views = {title: _changes(results, question, title, name) for title, name in subjects.items()}
        if drawn := {title: view for title, view in views.items() if view is not None}:
            title = f"What shuffles cost, {training}"
            shuffled = swap_chart(f"shuffles_{question}", drawn, label=title, title=title)
            cards.append(panel(shuffled, title=capital(training)))
    return answer_section(
        "shuffles",
        "Words shuffled inside constituents",
        [about.answers.get("shuffles", LongAnswer())],
        columns(*cards),
        key(("mark swap", "shuffled"), ("mark control", "control"), ("mark published", published.SOURCE)),
        text="Words are shuffled inside every constituent of this many words, in both sentences; the label stays. Each "
        "size has its own pairs, compared with the same pairs unshuffled. The control applies the same permutation to "
        "spans that are not constituents. Published models were fine-tuned on SNLI, which resembles content.",
        short="Shuffles",
    )


def _changes(results: ResultTable, question: str, title: str, subject: str) -> ViewRows | None:
    """What shuffles cost in points, with their controls; published models stand beside content, which is like SNLI."""
    if not mean(results, subject, question, names.WHOLE, CHANGE):
        return None
    drawn: list[Row] = [
        {"kind": kind, "line": size_words(size), "order": order, **drawable(row, 100, within=(-100, 100))}
        | {"tip": f"{title}, {size_words(size)}, {'shuffled' if kind == 'swap' else kind}: {points(row)}"}
        for kind, measure in zip(("swap", "control"), CHANGES, strict=True)
        for order, size in enumerate(SIZES)
        if (row := mean(results, subject, question, size, measure))
    ]
    drawn += published_changes(SIZES) if question == names.CONTENT else []
    return ViewRows(drawn, axis_of("change, points", drawn))


def symmetry(results: ResultTable, about: WordSwapSection) -> Section:
    """Curves of the same locality, from one-sided to symmetric and beyond."""
    views: dict[str, ViewRows] = {}
    for question, (measure, title) in product((names.NAMES, names.ROLES, names.CONTENT), SIDES.items()):
        rows = [
            {**row, "locality": f"{locality:g}", "s": side}
            for locality, side, name in curves_of(results, about)
            if (row := mean(results, name, question, ROLE_SWAP, measure))
        ]
        views |= {f"{measure}, {question}": ViewRows(rows, {"y title": title})} if rows else {}
    tones = zip((f"{locality:g}" for locality, _ in about.groups), cycle((WHERE, WHAT, INK, ACCENT)))
    place = {
        "x": x("s", "s (1: symmetric), or leaning heads", type="ordinal", sort=None, labelAngle=0),
        "xOffset": "locality:N",
        "y": share(y, title="{y title}"),
        "color": colour("locality", dict(tones), legend=legend(title="locality")),
    }
    sides = chart(
        "symmetry",
        views,
        [whiskers(ROWS, place, along="y", clip=True), dots(ROWS, place, size=90, strokeWidth=0)],
        tip="{subject}, locality {locality}: {value:share}",
        label="After a role swap, by s",
        height=300,
        figure=True,
        title="After a role swap, by s",
    )
    return answer_section(
        "symmetry",
        "Is symmetry to blame?",
        [about.answers.get("symmetry", LongAnswer())],
        panel(sides if views else "Nothing to draw."),
        text="Attention falls off with the squared distance, s times as steeply after the query as before it: 1 is "
        "symmetric, 0 does not fall off ahead. With leaning heads both sides fall off equally, and heads alternate in "
        "which side they weigh more. Names are three words without a full stop: reversed, they are their own role "
        "swap, so with s = 1 no net can tell it. Followed is the share of right answers that become the new label "
        "where it changes; shift is how far the probabilities of the labels change, whether or not the answer does.",
        short="Symmetry",
    )


def curves_of(results: ResultTable, about: WordSwapSection) -> list[tuple[float, str, str]]:
    """Curves with their locality and what distinguishes them there: by s, and then those with leaning heads."""
    s = {each.name: each.s for each in results.conditions}
    curves = [(locality, name) for locality, group in about.groups for name in group if name in s]
    curves.sort(key=lambda curve: math.inf if s[curve[1]] is None else s[curve[1]])
    return [(at, name.partition(" w ")[0] if s[name] is None else f"{s[name]:g}", name) for at, name in curves]


def in_words(results: ResultTable, about: WordSwapSection) -> Section:
    """One example per swap, with the right label before and after it."""
    lede = (
        "Three words about who does it; then a premise and a hypothesis, before and after each swap. Nets read a pair "
        "as one text."
    )
    cards = []
    for example in about.examples:
        old, new = example.label, example.new
        label = f"{old}, before and after" if new in (None, old) else f"{old} → {new}"
        cards.append(tag("div", swap_example(example), note(f"Right label: {label}")))
    body = tag("div", *cards, class_="swap-examples") if cards else note("The run kept no examples.")
    return Section("words", "Examples", lede, body, "Examples")


def numbers(results: ResultTable, about: WordSwapSection) -> Section:
    """The table of every encoding under every swap."""
    parts: list[Html] = []
    for question in questions_of(results):
        there = {heading: place for heading, place in COLUMNS.items() if means(results, question, *place)}
        training, rows = QUESTIONS[question], []
        for name in (each.name for each in results.conditions):
            not_learnt = None if name in about.learnt.get(question, ()) else tag("span", " not learnt", class_="reach")
            cells = [
                plus_minus(mean(results, name, question, *at), in_points if at[1] in CHANGES else per_cent)
                for at in there.values()
            ]
            rows.append([join(name, not_learnt), *cells])
        parts += [tag("h3", capital(training)), table(("encoding", *there), rows, label=training)]
    seeds = about.seeds or 0
    over = f"Means over {count(seeds, 'seed')}, ± half the width of their 95 % intervals (Student's t)."
    level = "; ".join(f"{question} {percent(BAG[question])}" for question in questions_of(results))
    lede = (
        "Original and role swap: accuracy in %. Shuffles by size and the other voice: change in points. Followed: "
        "right answers that become the new label, where it changes; old label: pairs that still get the old one; "
        f"control: change through a control swap as large as the role swap. {over if seeds > 1 else 'One seed only.'} "
        f"A bag of words gives at most: {level}."
    )
    return Section("numbers", "Every encoding", lede, join(*parts), "Table")

"""The page of swapped words: what nets overlook, and whether their encoding or their training is to blame."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import Words, drawn, figure_of, panel, titled
from wherewhat.report.locality_said import give_or_take, listed
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, duration, percent, signed, tenths
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.probe_examples import exchange_example, shuffle_example
from wherewhat.report.probe_published import ROLES, SOURCE
from wherewhat.report.probe_swaps_charts import ROW
from wherewhat.report.probe_swaps_tables import Swaps
from wherewhat.report.probe_told import key, table
from wherewhat.report.tags import Html, join, tag
from wherewhat.report.word_swap_charts import LINE, charts_of
from wherewhat.report.word_swap_study import EXCHANGE, ORIGINAL, QUESTIONS, SIZES, VOICE, Row, WordSwap
from wherewhat.report.word_swap_tables import panels_of, tables_of

FIRST = ("names", "roles", "content")  # where symmetry is asked about
MEASURES = {  # of curves after an exchange, and what the axis counts
    "followed": ("followed", "exchanges that are followed, %"),
    "accuracy": ("right answers", "right after the exchange, %"),
    "shift": ("moved", "how far answers move, %"),
}
COLUMNS = {  # of the table, and what stands in them
    "as it is": (ORIGINAL, "accuracy"),
    **{size: (size, "change") for size in SIZES},
    "voice": (VOICE, "change"),
    "exchange": (EXCHANGE, "accuracy"),
    "followed": (EXCHANGE, "followed"),
    "old label": (EXCHANGE, "old label"),
    "control": (EXCHANGE, "control change"),
}
CHANGES = ("change", "control change")  # measures that may be negative
NOT_LEARNT = "not learnt"
SIDES = 300  # pixels of height of the chart by s


def page_of_word_swap(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what swaps cost, by encoding and by what nets were fine-tuned on, beside what was published."""
    found = WordSwap(result, manifest)
    if not found.subjects or not found.questions:
        raise UserError("the table has no encoding that answered; run `wherewhat reproduce word-swap` again")
    charts, tables = charts_of(), tables_of(found)
    sections = (exchange, shuffles, symmetry, in_words, numbers)
    return Page(
        title="Words in other places",
        kind="Reproduction of arXiv 2310.12864",
        lede=(
            "Do nets overlook that words stand elsewhere, because their encoding is symmetric or because nothing "
            "rewarded them for looking? Small encoders read short passages, each with one encoding of position, and "
            "are then fine-tuned on questions: on content of pairs of sentences, which the words alone decide; on who "
            "does it in three words like “maria sees peter”; and on roles in pairs, which is harder. Then words change "
            "places."
        ),
        facts=_facts(found),
        sections=[*(section(found) for section in sections), the_claims(manifest), how_it_was_made(manifest)],
        charts=charts,
        tables=tables,
        figures=_figures(found, charts, tables),
    )


def exchange(found: WordSwap) -> Section:
    """The first screen: right answers before and after agent and patient change places."""
    told = [found.answer(name) for name in ("blindness", "training")]
    lede = " ".join(lead for lead, _ in told if lead) or "What an exchange of agent and patient does to right answers."
    cards = [
        panel(
            tag("h3", _capital(QUESTIONS[question])),
            drawn("exchanged", _exchanged_in_words(found, question), height=_tall(found), words={"question": question}),
        )
        for question in found.questions
    ]
    models = listed(f"{model} {change:+.1f}".replace("-", "−") for model, (_, change) in ROLES.items())
    note = (
        "After an exchange the right label is the new one: of content, entailment becomes contradiction and the others "
        "stay; of who does it, woman and man change places; of roles, entailed and reversed do and other stays. Of "
        "content a net that overlooks exchanges loses the third whose label changes. Of roles a net that overlooks "
        "them keeps two thirds at the most, right on as many as before. Of who does it every sentence has its exchange "
        "beside it, so that as many answers are right after as before: half where nets cannot tell, and all "
        "where they follow. Intervals are over seeds. "
        f"Published, on SNLI and by a rule that is unknown: {models} points."
    )
    marks = key(
        ("mark before", "as it is"), ("mark swap", "exchanged"), ("level upright uniform", "all that words alone tell")
    )
    rest = [tag("p", text) for _, text in told if text]
    shown = tag("div", *cards, class_="strips" if len(cards) > 2 else "two")
    body = tag("div", *rest, shown, marks, tag("p", note, class_="note"), class_="answered")
    return Section("exchange", "Agent and patient exchanged", lede, body, "Roles")


def shuffles(found: WordSwap) -> Section:
    """What shuffled phrases cost, by size, with published models beside."""
    lead, rest = found.answer("shuffles")
    cards = [
        panel(tag("h3", _capital(QUESTIONS[question])), _shuffled(found, question))
        for question in found.questions
        if panels_of(found, question)
    ]
    note = (
        "Words are shuffled inside every phrase of so many words, in both sentences; the label stays. Each size has "
        "its own pairs, held against the same pairs as they are. The control brings stretches that are no phrases into "
        "the same order. Published models were fine-tuned on SNLI, which resembles content."
    )
    marks = key(("mark swap", "shuffled"), ("mark control", "control"), ("mark published", SOURCE))
    body = tag(
        "div",
        *([tag("p", rest)] if rest else []),
        tag("div", *cards, class_="two"),
        marks,
        tag("p", note, class_="note"),
        class_="answered",
    )
    return Section("shuffles", "Words shuffled inside phrases", lead or note, body, "Shuffles")


def _shuffled(found: WordSwap, question: str) -> Html:
    views = [(title, _change_words(found, question, name)) for title, name in panels_of(found, question).items()]
    return drawn("changes", f"What shuffles cost, {QUESTIONS[question]}", height=ROW * len(SIZES) + 8, views=views)


def _change_words(found: WordSwap, question: str, subject: str) -> Words:
    """What the chart of changes fills in: whose, and from where to where its axis goes."""
    rows = [
        row
        for size in SIZES
        for measure in ("change", "control change")
        if (row := found.mean(subject, question, size, measure))
    ]
    floor = min([0.0, *(100 * (row["value"] if row["low"] is None else row["low"]) for row in rows)])
    ceiling = max([0.0, *(100 * (row["value"] if row["high"] is None else row["high"]) for row in rows)])
    low, high = max(-100.0, min(floor, -8.0)), min(100.0, max(ceiling, 2.0))
    return {
        "panel": subject,
        "measure": question,
        "set": "all",
        "unit": "change, points",
        "floor": f"{low:g}",
        "ceiling": f"{high:g}",
    }


def symmetry(found: WordSwap) -> Section:
    """Curves of one locality, from one-sided to symmetric."""
    lead, rest = found.answer("symmetry")
    views = _side_views(found, sorted(found.questions, key=FIRST.index))
    note = (
        "Attention fades with the squared distance, ahead s times as steeply as behind: 1 is symmetric, 0 does not "
        "fade ahead. Where heads lean, both sides fade alike, and every head weighs one side more, the heads in turns. "
        "Curves of one locality look equally near. Names are three words without a full stop: read backwards they are "
        "their exchange, so that where s is 1 no net can tell it. Followed is the share of right answers that "
        "become the new label where it changes; moved is how far the probabilities of the labels go, noticed or not."
    )
    chart = (
        drawn("sides", "After an exchange, by s", height=SIDES, views=views) if views else tag("p", "Nothing to draw.")
    )
    body = tag(
        "div", *([tag("p", rest)] if rest else []), panel(chart), tag("p", note, class_="note"), class_="answered"
    )
    return Section("symmetry", "Is symmetry to blame?", lead or note, body, "Symmetry")


def _side_views(found: WordSwap, questions: Sequence[str]) -> list[tuple[str, Words]]:
    """What can be looked at of curves by s."""
    return [
        (f"{title}, {question}", {"question": question, "measure": measure, "y title": axis})
        for question in questions
        for measure, (title, axis) in MEASURES.items()
        if any(found.mean(one.name, question, EXCHANGE, measure) for _, one in found.curves)
    ]


def in_words(found: WordSwap) -> Section:
    """A pair under every swap."""
    beside = Swaps(pl.DataFrame({"data": []}), found.manifest)
    shown = [
        tag(
            "div",
            (exchange_example if example.get("item") in ("roles", VOICE) else shuffle_example)(beside, example),
            tag("p", f"Right label: {labels_of(example)}", class_="note"),
        )
        for example in found.about.get("examples") or ()
    ]
    lede = (
        "Three words about who does it; then a premise, what is said to follow from it, and what becomes of both. Nets "
        "read pairs as one text."
    )
    body = tag("div", *shown, class_="swap-examples") if shown else tag("p", "The run kept no examples.", class_="note")
    return Section("words", "In words", lede, body, "Examples")


def labels_of(example: Mapping[str, Any]) -> str:
    """The label that is right before, and the one that is right after.

    >>> labels_of({"label": "entailed", "new": "reversed"}), labels_of({"label": "other", "new": "other"})
    ('entailed → reversed', 'other, before and after')
    """
    old, new = example.get("label"), example.get("new")
    return f"{old}, before and after" if new in (None, old) else f"{old} → {new}"


def numbers(found: WordSwap) -> Section:
    """Every encoding under every swap, in a table."""
    parts = []
    for question in found.questions:
        rows = [_row(found, question, one.name) for one in found.subjects]
        headings = ("encoding", *columns_of(found, question))
        parts += [tag("h3", _capital(QUESTIONS[question])), table(headings, rows, label=QUESTIONS[question])]
    level = "; ".join(
        f"{question} {percent(bag)}" for question in found.questions if (bag := found.bag(question)) is not None
    )
    lede = (
        "As it is and after an exchange: right answers in %. Shuffles by size and the other voice: change in points. "
        "Followed: of right answers whose label changes, those that become the new label; old label: pairs that still "
        f"get the old one; control: change from a control swap as large as the exchange. {_over(found)} "
        f"The words alone give at the most: {level}."
    )
    return Section("numbers", "Every encoding", lede, join(*parts), "Table")


def _over(found: WordSwap) -> str:
    """What the numbers are means of."""
    if found.seeds < 2:
        return "Of one seed."
    return f"Means over {count(found.seeds, 'seed')}, ± half of their 95 % intervals by Student's t."


def _row(found: WordSwap, question: str, name: str) -> list[object]:
    label: object = name
    if name not in found.learnt(question):
        label = join(name, tag("span", f" {NOT_LEARNT}", class_="reach"))
    return [
        label,
        *(_cell(found.mean(name, question, *asked), asked[1]) for asked in columns_of(found, question).values()),
    ]


def _cell(row: Row | None, measure: str) -> Html | str:
    """A share in per cent; a change in points has its sign."""
    if row is None or measure not in CHANGES:
        return give_or_take(row)
    told = signed(100 * row["value"], 1)
    if row["low"] is None or row["high"] is None:
        return told
    return join(told, tag("span", f" ± {50 * (row['high'] - row['low']):.1f}", class_="reach"))


def columns_of(found: WordSwap, question: str) -> dict[str, tuple[str, str]]:
    """The columns of a question: by heading, which measure of which swap. What no encoding has is left out."""
    names = [one.name for one in found.subjects]
    return {
        heading: asked
        for heading, asked in COLUMNS.items()
        if any(found.mean(name, question, *asked) for name in names)
    }


def _exchanged_in_words(found: WordSwap, question: str) -> str:
    """What the first chart shows, for those who cannot see it."""
    told = []
    for one in found.subjects:
        ends = [found.mean(one.name, question, EXCHANGE, measure) for measure in ("before", "accuracy")]
        if all(ends):
            before, after = (tenths(row["value"]) for row in ends if row)
            told.append(f"{one.name} {before} % before, {after} % after")
    return f"Right answers {QUESTIONS[question]}: {'; '.join(told)}"


def _tall(found: WordSwap) -> int:
    return LINE * len(found.subjects) + 8


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _facts(found: WordSwap) -> list[tuple[str, str]]:
    runs = found.result.filter(part="run").select("subject", "seed").n_unique()
    facts = [
        (str(len(found.subjects)), "encoding" if len(found.subjects) == 1 else "encodings"),
        (str(found.seeds), "seed" if found.seeds == 1 else "seeds"),
        (f"{runs:,}", f"nets, each fine-tuned on {count(len(found.questions), 'question')}"),
    ]
    seconds, processes = (found.about.get(name) for name in ("seconds", "processes"))
    if seconds:
        several = f"summed over {count(processes, 'process', 'processes')}" if processes else "in all"
        facts.append((duration(seconds), several))
    return facts


def _figures(found: WordSwap, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """Before and after, what shuffles cost, and symmetry, as pictures."""
    made: dict[str, Any] = {}
    for question in found.questions:
        asked = QUESTIONS[question]
        figure = figure_of(charts["exchanged"], tables, (640, _tall(found)), {"question": question})
        made[f"exchange_{question}"] = _titled(figure, f"Right answers before and after an exchange, {asked}")
        for name in list(panels_of(found, question).values())[:1]:
            words = _change_words(found, question, name)
            figure = figure_of(charts["changes"], tables, (640, ROW * len(SIZES)), words)
            made[f"shuffles_{question}"] = _titled(figure, f"What shuffles cost, {asked}")
        if views := [words for _, words in _side_views(found, [question])][:1]:
            figure = figure_of(charts["sides"], tables, (640, SIDES), views[0])
            made[f"symmetry_{question}"] = _titled(figure, f"Exchanges that are followed, by s, {asked}")
    return made


def _titled(figure: Figure, title: str) -> Figure:
    return Figure(titled(figure.spec, title), figure.tables, figure.width, figure.height)

"""The page of the study of swapped words: what nets miss, and whether encoding or training is to blame."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, percent, signed, tenths
from wherewhat.published.word_swaps import ROLES, SOURCE
from wherewhat.report.claims import claims_section
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import ChartWords, chart_widget, figure_of, panel, titled
from wherewhat.report.probe_examples import role_swap_example, shuffle_example
from wherewhat.report.probe_sections import key, table
from wherewhat.report.probe_swaps_charts import ROW
from wherewhat.report.provenance import provenance_section
from wherewhat.report.result_text import Row, give_or_take, listed
from wherewhat.report.tags import Html, join, tag
from wherewhat.report.word_swap_chart_data import panels_of, tables_of
from wherewhat.report.word_swap_charts import LINE, charts_of
from wherewhat.report.word_swap_data import ORIGINAL, QUESTIONS, ROLE_SWAP, SIZES, VOICE, WordSwapPageData
from wherewhat.tables.manifest.probe import ProbeExample
from wherewhat.tables.manifest.study import WordSwapManifest

FIRST = ("names", "roles", "content")  # the order of questions where symmetry is shown
MEASURES = {  # after a role swap: the title of the view, and of the axis
    "followed": ("followed", "role swaps that are followed, %"),
    "accuracy": ("accuracy", "accuracy after the role swap, %"),
    "shift": ("shift", "change of probabilities, %"),
}
COLUMNS = {  # of the table: by heading, the swap and the measure
    "original": (ORIGINAL, "accuracy"),
    **{size: (size, "change") for size in SIZES},
    "voice": (VOICE, "change"),
    "role swap": (ROLE_SWAP, "accuracy"),
    "followed": (ROLE_SWAP, "followed"),
    "old label": (ROLE_SWAP, "old label"),
    "control": (ROLE_SWAP, "control change"),
}
CHANGES = ("change", "control change")  # measures that may be negative
NOT_LEARNT = "not learnt"
SIDES = 300  # height of the chart by s, in pixels


def page_of_word_swap(result: pl.DataFrame, manifest: WordSwapManifest) -> Page:
    """Show what swaps cost, by encoding and by question, compared with the publication."""
    data = WordSwapPageData(result, manifest)
    if not data.encodings or not data.questions:
        raise UserError("the table has no encoding that answered; run `wherewhat reproduce word-swap` again")
    charts, tables = charts_of(), tables_of(data)
    sections = (role_swaps, shuffles, symmetry, in_words, numbers)
    return Page(
        title="Swapped words",
        kind="Reproduction of arXiv 2310.12864",
        lede=(
            "Do nets miss that words were swapped because their encoding is symmetric, or because nothing rewarded "
            "them for noticing? Small encoders are pre-trained on short passages, each with one encoding of position, "
            "and fine-tuned on questions: on the content of sentence pairs, which a bag of words decides; on who does "
            "it in three words such as “maria sees peter”; and on roles in pairs, which is harder. Then words are "
            "swapped."
        ),
        facts=_facts(data),
        sections=[
            *(section(data) for section in sections),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
        charts=charts,
        tables=tables,
        figures=_figures(data, charts, tables),
    )


def role_swaps(data: WordSwapPageData) -> Section:
    """The first screen: accuracy before and after agent and patient are swapped."""
    answers = [data.answer(name) for name in ("blindness", "training")]
    lede = " ".join(lead for lead, _ in answers if lead) or "The effect of swapping agent and patient on accuracy."
    cards = [
        panel(
            tag("h3", _capital(QUESTIONS[question])),
            chart_widget(
                "exchanged", _role_swaps_in_words(data, question), height=_tall(data), words={"question": question}
            ),
        )
        for question in data.questions
    ]
    models = listed(f"{model} {change:+.1f}".replace("-", "−") for model, (_, change) in ROLES.items())
    note = (
        "After a role swap the right label is the new one: for content, entailment becomes contradiction and the "
        "others stay; for who does it, woman and man are swapped; for roles, entailed and reversed are swapped and "
        "other stays. On content, a net that misses role swaps loses the third whose label changes. On roles, it keeps "
        "two thirds at most, as many as before. On who does it, the role swap of every sentence is in the data too, so "
        "accuracy is the same before and after: half if nets cannot tell, and all if they follow. Intervals are over "
        "seeds. "
        f"Published, on SNLI and by a rule that is unknown: {models} points."
    )
    marks = key(
        ("mark before", "before"),
        ("mark swap", "after the role swap"),
        ("level upright uniform", "bag of words, at most"),
    )
    rest = [tag("p", text) for _, text in answers if text]
    shown = tag("div", *cards, class_="strips" if len(cards) > 2 else "two")
    body = tag("div", *rest, shown, marks, tag("p", note, class_="note"), class_="answered")
    return Section("exchange", "Agent and patient swapped", lede, body, "Roles")


def shuffles(data: WordSwapPageData) -> Section:
    """What shuffled constituents cost, by size, with published models."""
    lead, rest = data.answer("shuffles")
    cards = [
        panel(tag("h3", _capital(QUESTIONS[question])), _shuffled(data, question))
        for question in data.questions
        if panels_of(data, question)
    ]
    note = (
        "Words are shuffled inside every constituent of this many words, in both sentences; the label stays. Each size "
        "has its own pairs, compared with the same pairs unshuffled. The control applies the same permutation to spans "
        "that are not constituents. Published models were fine-tuned on SNLI, which resembles content."
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
    return Section("shuffles", "Words shuffled inside constituents", lead or note, body, "Shuffles")


def _shuffled(data: WordSwapPageData, question: str) -> Html:
    views = [(title, _change_words(data, question, name)) for title, name in panels_of(data, question).items()]
    return chart_widget(
        "changes", f"What shuffles cost, {QUESTIONS[question]}", height=ROW * len(SIZES) + 8, views=views
    )


def _change_words(data: WordSwapPageData, question: str, subject: str) -> ChartWords:
    """The parameters of a chart of changes: the encoding, and the range of the axis."""
    rows = [
        row
        for size in SIZES
        for measure in ("change", "control change")
        if (row := data.mean(subject, question, size, measure))
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


def symmetry(data: WordSwapPageData) -> Section:
    """Curves of the same locality, from one-sided to symmetric."""
    lead, rest = data.answer("symmetry")
    views = _side_views(data, sorted(data.questions, key=FIRST.index))
    note = (
        "Attention falls off with the squared distance, s times as steeply after the query as before it: 1 is "
        "symmetric, 0 does not fall off ahead. With leaning heads both sides fall off equally, and heads alternate in "
        "which side they weigh more. Names are three words without a full stop: reversed, they are their own role "
        "swap, so with s = 1 no net can tell it. Followed is the share of right answers that become the new label "
        "where it changes; shift is how far the probabilities of the labels change, whether or not the answer does."
    )
    chart = (
        chart_widget("sides", "After a role swap, by s", height=SIDES, views=views)
        if views
        else tag("p", "Nothing to draw.")
    )
    body = tag(
        "div", *([tag("p", rest)] if rest else []), panel(chart), tag("p", note, class_="note"), class_="answered"
    )
    return Section("symmetry", "Is symmetry to blame?", lead or note, body, "Symmetry")


def _side_views(data: WordSwapPageData, questions: Sequence[str]) -> list[tuple[str, ChartWords]]:
    """The views of the chart by s."""
    return [
        (f"{title}, {question}", {"question": question, "measure": measure, "y title": axis})
        for question in questions
        for measure, (title, axis) in MEASURES.items()
        if any(data.mean(curve.name, question, ROLE_SWAP, measure) for _, curve in data.curves)
    ]


def in_words(data: WordSwapPageData) -> Section:
    """One example per swap."""
    shown = [
        tag(
            "div",
            (role_swap_example if example.item in ("roles", VOICE) else shuffle_example)(example),
            tag("p", f"Right label: {labels_of(example)}", class_="note"),
        )
        for example in data.about.examples
    ]
    lede = (
        "Three words about who does it; then a premise and a hypothesis, before and after each swap. Nets read a pair "
        "as one text."
    )
    body = tag("div", *shown, class_="swap-examples") if shown else tag("p", "The run kept no examples.", class_="note")
    return Section("words", "Examples", lede, body, "Examples")


def labels_of(example: ProbeExample) -> str:
    """The right label before and after a swap.

    >>> labels_of(ProbeExample(label="entailed", new="reversed")), labels_of(ProbeExample(label="other", new="other"))
    ('entailed → reversed', 'other, before and after')
    """
    old, new = example.label, example.new
    return f"{old}, before and after" if new in (None, old) else f"{old} → {new}"


def numbers(data: WordSwapPageData) -> Section:
    """The table of every encoding under every swap."""
    parts = []
    for question in data.questions:
        rows = [_row(data, question, encoding.name) for encoding in data.encodings]
        headings = ("encoding", *columns_of(data, question))
        parts += [tag("h3", _capital(QUESTIONS[question])), table(headings, rows, label=QUESTIONS[question])]
    level = "; ".join(
        f"{question} {percent(bag)}" for question in data.questions if (bag := data.bag(question)) is not None
    )
    lede = (
        "Original and role swap: accuracy in %. Shuffles by size and the other voice: change in points. Followed: "
        "right answers that become the new label, where it changes; old label: pairs that still get the old one; "
        f"control: change through a control swap as large as the role swap. {_over(data)} "
        f"A bag of words gives at most: {level}."
    )
    return Section("numbers", "Every encoding", lede, join(*parts), "Table")


def _over(data: WordSwapPageData) -> str:
    """How many seeds the numbers are means over."""
    if data.seeds < 2:
        return "One seed only."
    return f"Means over {count(data.seeds, 'seed')}, ± half the width of their 95 % intervals (Student's t)."


def _row(data: WordSwapPageData, question: str, name: str) -> list[object]:
    label: object = name
    if name not in data.learnt(question):
        label = join(name, tag("span", f" {NOT_LEARNT}", class_="reach"))
    return [
        label,
        *(
            _cell(data.mean(name, question, swap, measure), measure)
            for swap, measure in columns_of(data, question).values()
        ),
    ]


def _cell(row: Row | None, measure: str) -> Html | str:
    """A share in per cent; a change in points has its sign."""
    if row is None or measure not in CHANGES:
        return give_or_take(row)
    change = signed(100 * row["value"], 1)
    if row["low"] is None or row["high"] is None:
        return change
    return join(change, tag("span", f" ± {50 * (row['high'] - row['low']):.1f}", class_="reach"))


def columns_of(data: WordSwapPageData, question: str) -> dict[str, tuple[str, str]]:
    """The columns of a question: by heading, the swap and the measure. Empty columns are left out."""
    return {
        heading: (swap, measure)
        for heading, (swap, measure) in COLUMNS.items()
        if any(data.mean(encoding.name, question, swap, measure) for encoding in data.encodings)
    }


def _role_swaps_in_words(data: WordSwapPageData, question: str) -> str:
    """The first chart in words, for screen readers."""
    accuracies = []
    for encoding in data.encodings:
        ends = [data.mean(encoding.name, question, ROLE_SWAP, measure) for measure in ("before", "accuracy")]
        if all(ends):
            before, after = (tenths(row["value"]) for row in ends if row)
            accuracies.append(f"{encoding.name} {before} % before, {after} % after")
    return f"Accuracy {QUESTIONS[question]}: {'; '.join(accuracies)}"


def _tall(data: WordSwapPageData) -> int:
    return LINE * len(data.encodings) + 8


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _facts(data: WordSwapPageData) -> list[tuple[str, str]]:
    runs = data.result.filter(part="run").select("subject", "seed").n_unique()
    facts = [
        (str(len(data.encodings)), "encoding" if len(data.encodings) == 1 else "encodings"),
        (str(data.seeds), "seed" if data.seeds == 1 else "seeds"),
        (f"{runs:,}", f"nets, each fine-tuned on {count(len(data.questions), 'question')}"),
    ]
    seconds, processes = data.about.seconds, data.about.processes
    if seconds:
        several = f"summed over {count(processes, 'process', 'processes')}" if processes else "in all"
        facts.append((duration(seconds), several))
    return facts


def _figures(data: WordSwapPageData, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """Accuracy before and after, the cost of shuffles, and symmetry, as figures."""
    made: dict[str, Any] = {}
    for question in data.questions:
        training = QUESTIONS[question]
        figure = figure_of(charts["exchanged"], tables, (640, _tall(data)), {"question": question})
        made[f"exchange_{question}"] = _titled(figure, f"Accuracy before and after a role swap, {training}")
        for name in list(panels_of(data, question).values())[:1]:
            words = _change_words(data, question, name)
            figure = figure_of(charts["changes"], tables, (640, ROW * len(SIZES)), words)
            made[f"shuffles_{question}"] = _titled(figure, f"What shuffles cost, {training}")
        if views := [words for _, words in _side_views(data, [question])][:1]:
            figure = figure_of(charts["sides"], tables, (640, SIDES), views[0])
            made[f"symmetry_{question}"] = _titled(figure, f"Role swaps that are followed, by s, {training}")
    return made


def _titled(figure: Figure, title: str) -> Figure:
    return Figure(titled(figure.spec, title), figure.tables, figure.width, figure.height)

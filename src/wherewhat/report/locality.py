"""The page of locality and symmetry: does it help to set them by hand, and by how much?"""

from collections.abc import Mapping, Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report import locality_said as said
from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import Words, drawn, figure_of, panel, titled
from wherewhat.report.locality_charts import charts_of
from wherewhat.report.locality_numbers import numbers
from wherewhat.report.locality_study import (
    ALL,
    AXES,
    BY_HAND,
    DECODER,
    FAMILIES,
    HOW,
    Locality,
    Question,
    beside,
)
from wherewhat.report.locality_tables import CORRELATIONS, GAPS, SMALL, WIDE, ours, span, tables_of
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, duration, short
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.tags import Html, join, tag

LINE, THREE = 26, 40  # pixels of height that a question takes, with one mark and with three
TITLES = {
    "locality": "locality of attention",
    "bias_locality": "locality of the curve by itself",
    "balance": "balance of attention",
    "bias_balance": "balance of the curve by itself",
}
# The names of sections that begin with an answer, and what links call them, by what is answered.
SHORT = {"stability": ("stability", "Stability"), DECODER: ("decoders", "Decoders"), "leaning": ("leaning", "Roles")}
HELD = {"locality": "symmetry", "balance": "locality"}  # what is held still beside it


def page_of_locality(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out how accuracy goes with locality and symmetry, beside what was published."""
    found = Locality(result, manifest)
    if not found.questions or not found.subjects:
        raise UserError("the table has no encoding with an accuracy; run `wherewhat reproduce locality` again")
    sections = (answer, by_locality, by_symmetry, numbers, steadiness, decoders, leaning)
    made = [section(found) for section in sections]
    charts, tables = charts_of(tuple(_there(found))), tables_of(found)
    return Page(
        title="Locality and symmetry",
        kind="Reproduction of arXiv 2310.12864",
        lede=(
            "How near a net looks, and how alike left and right are to it, set by hand: small nets learn to guess "
            "words, each with one encoding of position, and are then fine-tuned on questions about sentences. A log "
            "curve multiplies attention by e^(−w·distance²): the larger w, the nearer it looks. s says how much "
            "steeper the side ahead is: below 1 flatter ahead, above 1 steeper, 1 symmetric."
        ),
        facts=_facts(found),
        sections=[*made, the_claims(manifest), how_it_was_made(manifest)],
        charts=charts,
        tables=tables,
        figures=_figures(found, charts, tables),
    )


def answer(found: Locality) -> Section:
    """The first screen: the study's answers, and what they rest on, a line a question."""
    told = {of: found.answer(of) for of in GAPS}
    lede = " ".join(lead for lead, _ in told.values()).strip() or "What more of either does to accuracy."
    cards = [
        panel(tag("h3", of.capitalize()), *_rest(rest), _lines(found, of, GAPS[of])) for of, (_, rest) in told.items()
    ]
    without = (
        f" All together leaves out {out}, made so that no symmetric encoding can answer."
        if (out := said.left_out(found))
        else ""
    )
    note = (
        "To the right of 0 there are more right answers, with 95 % intervals over seeds, which draw first weights and "
        "sentences; grey is not told from no difference. Middle curves are all symmetric ones but the flattest and the "
        "steepest. Symmetric curves are set against others at the same locality; at the same w those also differ in "
        "locality, so that view is confounded. Correlations are over curves; with the other held still, what goes with "
        f"symmetry is taken out of locality, or the other way round.{without}"
    )
    body = tag("div", tag("div", *cards, class_="two"), tag("p", note, class_="note"), class_="answered")
    return Section("answer", "Does locality help? Does symmetry?", lede, body, "Answer")


def _rest(told: str) -> list[Html]:
    """What an answer rests on, if there is one."""
    return [tag("p", told)] if told else []


def _lines(found: Locality, of: str, gaps: dict[str, str]) -> Html:
    """A chart of gaps and correlations, a line a question."""
    views = [
        (title, {"line": name, "x title": "gain, points of accuracy"})
        for title, name in gaps.items()
        if found.gap(name)
    ]
    told = {"pearson": "correlation", "spearman": "ranks", "partial": "other held still"}
    views += [
        (told[measure], {"line": f"{of} {measure}", "x title": "correlation"})
        for measure in CORRELATIONS
        if found.link(of, ALL, measure)
    ]
    height = LINE * (1 + len(found.questions)) + 8
    return _drawn_if("lines", f"What more {of} does to accuracy, by question", views, height=height)


def by_locality(found: Locality) -> Section:
    """Accuracy against locality, over all questions and for each."""
    n, level = found.about.get("n"), found.about.get("uniform")
    uniform = f" Attention that is the same everywhere has {short(level)} over {n} words." if level else ""
    lede = (
        "Every mark is an encoding, placed by how local the attention is that its trained nets pay to identical words, "
        f"or its curve by itself.{uniform} Lines join symmetric curves from the flattest to the steepest; hollow marks "
        f"are log curves with s ≠ 1. Crosses are other encodings, with their names at the side.{_alone(found)} In nets "
        "left frozen only a layer on top learns to answer. Above each chart stands the correlation r over encoders, or "
        "over log curves by themselves, with its 95 % interval."
    )
    body = join(_against(found, "locality"), tag("p", _families(found), class_="note"))
    return Section("locality", "Accuracy against locality", lede, body, "Locality")


def _alone(found: Locality) -> str:
    there = any(found.words_alone(question.name) is not None for question in found.questions)
    return " Words alone is what the words give in whatever order." if there else ""


def by_symmetry(found: Locality) -> Section:
    """Accuracy against symmetry, at each w its own line over s."""
    lede = (
        "The same against balance, which is 1 where a word sees as much to its left as to its right at every distance, "
        "and 0 where it sees one side only. Lines join curves of one w from s to s: along a line, one side alone gets "
        f"steeper{_turning(found)}. Paler marks are symmetric curves of another w."
    )
    return Section("symmetry", "Accuracy against symmetry", lede, _against(found, "balance"), "Symmetry")


def _turning(found: Locality) -> str:
    beyond = any(one.s is not None and one.s > 1 for one in found.of("log"))
    return ", until beyond s = 1 it is the steeper one and the line turns back" if beyond else ""


def _against(found: Locality, x: str) -> Html:
    """A large chart over all questions, and a small one for each."""
    chart = f"against_{x}"
    kinds = [("in trained nets", x, "accuracy"), ("the curve by itself", f"bias_{x}", "accuracy")]
    views = [
        (title, _words(found, found.overall, by, measure))
        for title, by, measure in [*kinds, ("nets left frozen", x, "frozen accuracy")]
        if any(
            found.place(one.name, by) is not None and found.mean(one.name, ALL, measure) for one in found.of(*BY_HAND)
        )
    ]
    out = said.left_out(found)
    heading = tag("h3", f"All questions together{f' but {out}' if out else ''}")
    whole = panel(heading, drawn(chart, f"Accuracy over all questions against {x}", height=WIDE, views=views))
    small = [
        tag(
            "div",
            tag("h4", question.name),
            tag("p", question.asks, class_="note"),
            drawn(f"{chart}_small", f"{question.name} against {x}", height=SMALL, words=_words(found, question, x)),
        )
        for question in found.questions
    ]
    parts = (whole, panel(tag("div", *small, class_="panels")))
    return join(*(tag("div", part, class_="below") for part in parts))


def _words(found: Locality, question: Question, x: str, measure: str = "accuracy") -> Words:
    """What a chart of a question needs to know: never a name that a reader gave."""
    floor, ceiling = span(found, question, measure)
    axis = AXES[x] if measure == "accuracy" else ""  # how frozen nets go with it was not worked out
    still = found.link(axis, question.name, "partial")
    return {
        "question": question.key,
        "how": HOW[measure],
        "x": x,
        "x title": TITLES[x],
        "top": f"{_top(found, x):g}",
        "floor": f"{floor:g}",
        "ceiling": f"{ceiling:g}",
        "link": _told(found, axis, question.name),
        "still": f"with {HELD[x.removeprefix('bias_')]} held still {said.plain(still)}" if still else " ",
    }


def _told(found: Locality, axis: str, item: str) -> str:
    """The correlation that a chart shows."""
    row = found.link(axis, item)
    return f"r {said.plain(row)}" if row else " "


def _top(found: Locality, x: str) -> float:
    """How far an axis reaches: to the next fifth."""
    most = max(found.place(one.name, x) or 0.0 for one in found.subjects)
    return min(1.0, (int(most * 5) + 1) / 5)


def steadiness(found: Locality) -> Section:
    """Spread over seeds and forgetting, by locality and by balance."""
    told = {
        "spread": ("Spread over seeds", "standard deviation, points"),
        "forgetting": ("Forgetting", "word loss after, minus before"),
    }
    cards = [
        panel(
            tag("h3", title),
            _drawn_if("stability", f"{title} of every encoding", _steady_views(found, measure, axis), height=300),
        )
        for measure, (title, axis) in told.items()
    ]
    note = (
        "Spread is how much accuracy differs from seed to seed, forgetting by how many nats the loss on words grows "
        "while a net is fine-tuned. Means over questions; marks as above."
    )
    return _answered(found, "stability", "Is fine-tuning steady?", tag("div", *cards, class_="two"), note)


def _steady_views(found: Locality, measure: str, axis: str) -> list[tuple[str, Words]]:
    known = any(found.mean(one.name, ALL, measure) for one in said.encoders(found))
    return [
        (
            f"by {x}",
            {"measure": measure, "x": x, "x title": TITLES[x], "y title": axis, "top": f"{_top(found, x):g}"}
            | {"link": _told(found, AXES[x], measure)},
        )
        for x in ("locality", "balance")
        if known
    ]


def _drawn_if(chart: str, label: str, views: Sequence[tuple[str, Words]], *, height: int) -> Html:
    """A chart, if there is something to draw."""
    return drawn(chart, label, height=height, views=views) if views else tag("p", "Nothing to draw.", class_="note")


def decoders(found: Locality) -> Section:
    """The same sweep in nets that see only what came before."""
    told = {"accuracy": ("right answers", "right answers", "%"), "word loss": ("word loss", "word loss, nats", ".2f")}
    views = [
        (title, {"measure": measure, "y title": axis, "y format": number})
        for measure, (title, axis, number) in told.items()
        if any(found.mean(one.name, ALL, measure) for one in found.of(DECODER))
    ]
    chart = _drawn_if("causal", "Decoders and encoders against locality", views, height=320)
    note = (
        "What holds where a word sees only what came before it was left open by the paper. Symmetry means nothing "
        "there, and locality is larger by itself, as there are fewer words to see. Hollow marks are other encodings in "
        "decoders."
    )
    return _answered(found, DECODER, "In decoders", panel(chart), note)


def leaning(found: Locality) -> Section:
    """Ours beside the symmetric curve of the same w, and against others."""
    views = [(f"w {w:g}", {"w": f"{w:g}"}) for w in beside(found)]
    height = THREE * len(found.questions) + 10
    roles = _drawn_if("roles", "Leaning and symmetric curves, by question", views, height=height)
    gaps = [(_short(name), {"line": name, "x title": "gain, points of accuracy"}) for name in ours(found)]
    over = _drawn_if("lines", "What leaning gains, by question", gaps, height=LINE * (1 + len(found.questions)) + 8)
    note = (
        "By theory a sentence looks the same from behind to a symmetric curve, which hides who does what to whom. "
        "Leaning is ours: as local, but every head prefers one side, and learns how much; not learned, it stays as it "
        "starts. The upright mark is chance."
    )
    cards = (panel(tag("h3", "At the same w"), roles), panel(tag("h3", "Gains"), over))
    return _answered(found, "leaning", "Who does what to whom", tag("div", *cards, class_="two"), note)


def _short(contrast: str) -> str:
    """What a contrast of leaning is called where that it leans is clear.

    >>> _short("leaning over rope"), _short("not learned over symmetric")
    ('over rope', 'not learned over symmetric')
    """
    return contrast.removeprefix("leaning ").replace("learned positions", "position table")


def _answered(found: Locality, name: str, title: str, charts: Html, note: str) -> Section:
    """The study's answer, then charts, and how to read them; where it has none, that comes first."""
    lead, rest = found.answer(name)
    body = tag("div", *_rest(rest), charts, tag("p", note, class_="note"), class_="answered") if lead else charts
    section, short_title = SHORT[name]
    return Section(section, title, lead or note, body, short_title)


def _families(found: Locality) -> str:
    """What the kinds of curves are, as the study tells it."""
    about = found.about.get("families") or {}
    told = "; ".join(f"{FAMILIES.get(name, name)}: {about[name]}" for name in _there(found) if name in about)
    seeds = "Intervals are over seeds." if found.seeds > 1 else "Of one seed."
    return f"{told}. {seeds}" if told else seeds


def _there(found: Locality) -> list[str]:
    return [name for name in BY_HAND if found.of(name)]


def _facts(found: Locality) -> list[tuple[str, str]]:
    encodings, questions = len(found.subjects), len(found.questions)
    runs = found.result.filter(part="run").select("subject", "seed").n_unique()
    return [
        (str(encodings), "encoding" if encodings == 1 else "encodings"),
        (str(questions), "question" if questions == 1 else "questions"),
        (str(found.seeds), "seed" if found.seeds == 1 else "seeds"),
        (f"{runs:,}", "nets"),
        *_took(found),
    ]


def _took(found: Locality) -> list[tuple[str, str]]:
    """How long all runs took together, those that were finished before the last command too."""
    seconds, processes = (found.about.get(name) for name in ("seconds", "processes"))
    if not seconds:
        return []
    return [(duration(seconds), f"summed over {count(processes, 'process', 'processes')}" if processes else "in all")]


def _figures(found: Locality, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """Accuracy against either, over all questions and for each, by their numbers."""
    made = {}
    for x in ("locality", "balance"):
        for number, question in enumerate((found.overall, *found.questions)):
            words = _words(found, question, x)
            title = f"Accuracy against {x}: {'all questions' if question.key == ALL else question.name}"
            figure = figure_of(charts[f"against_{x}"], tables, (760, WIDE), words)
            spec = titled(figure.spec, title, f"{words['link']}, {words['still']}".strip(", "))
            made[f"{x}_{number}" if number else x] = Figure(spec, figure.tables, figure.width, figure.height)
    return made

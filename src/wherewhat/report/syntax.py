"""The page of the study of syntax: which relations heads find by position, and which by content."""

from collections.abc import Mapping, Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, duration, short
from wherewhat.report.claims import claims_section
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import ChartWords, chart_widget, figure_of, panel, titled
from wherewhat.report.probe_dependencies_charts import ROW
from wherewhat.report.probe_dependencies_tables import LEVELS, PARTS, TITLES
from wherewhat.report.probe_sections import key
from wherewhat.report.provenance import provenance_section
from wherewhat.report.result_text import plain
from wherewhat.report.syntax_chart_data import FAR, NEAR, panel_of, tables_of
from wherewhat.report.syntax_charts import charts_of
from wherewhat.report.syntax_data import GROUPS, SIDED, SyntaxEncoding, SyntaxPageData
from wherewhat.report.syntax_tables import by_encoding, by_relation_table, shuffled
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.study import SyntaxManifest

DIRECTIONS = {"to head": "From a word to its head", "to dependent": "From a head to the word"}
TIES = "A symmetric encoding gives both neighbours equal weight, and ties go to the word before."
TALL, SMALL, LOCAL = 320, 210, 300  # pixels


def page_of_syntax(result: pl.DataFrame, manifest: SyntaxManifest) -> Page:
    """Show what position and content find, by distance, by relation and by encoding."""
    data = SyntaxPageData(result, manifest)
    if not data.encodings or not data.relations or not data.distances:
        raise UserError("the table has no encoding that was probed; run `wherewhat reproduce syntax` again")
    sections = (answer, encodings, relations, by_relation_table, locality, by_encoding, shuffled)
    charts, tables = charts_of(tuple(data.groups)), tables_of(data)
    return Page(
        title="Near by position, far by content?",
        kind="Reproduction after arXiv 2310.12864 and 1906.04341",
        lede=(
            "Small nets are trained on masked words, each with one encoding of position. Then, for every relation "
            "between two words, we check which word every head attends to most: with full attention, over copies of "
            "one word (position alone, the positional part), and averaged over permutations of the words (content "
            "alone, the contextual part). Sentences and their trees come from a grammar, so every relation is known."
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


def answer(data: SyntaxPageData) -> Section:
    """The first screen: the share found by distance, for groups of encodings."""
    near, far = (data.answer(name) for name in ("short", "long"))
    lede = f"{near[0]}; {far[0]}." if near[0] and far[0] else "What each part of attention finds, near and far."
    cards = [
        panel(
            tag("h3", title),
            chart_widget("distances", _in_words(data, data.groups[0], side), height=TALL, views=_views(data, side)),
        )
        for side, title in DIRECTIONS.items()
    ]
    note = (
        "The share of relations that are found, by the distance of the two words. Each relation is found by the head "
        "chosen for it on the other half of the sentences, whatever the distance. Bars are 95 % intervals over seeds. "
        f"{_grouped(data)}"
    )
    rest = [tag("p", numbers) for _, numbers in (near, far) if numbers]
    body = tag("div", *rest, tag("div", *cards, class_="two"), _key(), tag("p", note, class_="note"), class_="answered")
    return Section("answer", "Near and far", lede, body, "Answer")


def _views(data: SyntaxPageData, side: str) -> list[tuple[str, ChartWords]]:
    return [(GROUPS[name], {"panel": panel_of(data, name, side)}) for name in data.groups]


def _grouped(data: SyntaxPageData) -> str:
    """Which encodings are in which group."""
    members = {
        name: ", ".join(encoding.label for encoding in data.members(name)) for name in data.groups if name != SIDED
    }
    groups = "; ".join(f"{GROUPS[name]} ({labels})" for name, labels in members.items())
    return f"Groups: {groups}. The mean over all that tell sides apart excludes symmetric encodings. {TIES}"


def _in_words(data: SyntaxPageData, subject: str, side: str) -> str:
    """A chart by distance in words, for screen readers."""
    shares = []
    for part in PARTS:
        rows = {name: data.mean(subject, part, at=at, side=side) for at, name in data.distances.items()}
        values = ", ".join(f"{100 * row['value']:.0f} % at {name}" for name, row in rows.items() if row)
        shares.append(f"{TITLES[part]} {values}")
    return f"Share found by distance, {side}, {GROUPS.get(subject, subject)}: {'; '.join(shares)}"


def _key() -> Html:
    entries = [(f"mark-line {part}", TITLES[part]) for part in reversed(PARTS)]
    return key(*entries, *((f"level {name} flat", TITLES[name]) for name in LEVELS))


def encodings(data: SyntaxPageData) -> Section:
    """The same for every encoding, as small multiples."""
    groups = []
    for group in (name for name in data.groups if name != SIDED):
        about, title = data.about.groups.get(group, ""), GROUPS[group]
        small = [_small(data, encoding) for encoding in data.members(group)]
        heading = tag("h3", f"{title[:1].upper()}{title[1:]}")
        note = [tag("p", f"{about[:1].upper()}{about[1:]}.", class_="note")] if about else []
        groups.append(panel(heading, *note, tag("div", *small, class_="panels")))
    lede = (
        "Every encoding separately, from a word to its head. A curve set by hand has the same positional part in all "
        f"heads: what position alone finds follows from the curve. {TIES}"
    )
    body = join(*(tag("div", group, class_="below") for group in groups), _key())
    return Section("encodings", "Encoding by encoding", lede, body, "Encodings")


def _small(data: SyntaxPageData, encoding: SyntaxEncoding) -> Html:
    """One encoding by distance, with its loss and its locality."""
    local = short(data.locality(encoding.name, "attention.locality"))
    words = {"panel": panel_of(data, encoding.name, data.sides[0])}
    return tag(
        "div",
        tag("h4", encoding.label),
        tag("p", f"loss {short(data.loss(encoding.name))}, locality {local}", class_="note"),
        chart_widget("distances", _in_words(data, encoding.name, data.sides[0]), height=SMALL, words=words),
    )


def relations(data: SyntaxPageData) -> Section:
    """One line per relation, in both directions, for groups of encodings."""
    height = ROW * len(data.relations) + 8
    cards = [
        panel(
            tag("h3", title),
            chart_widget("relations", f"Every relation, {side}", height=height, views=_views(data, side)),
        )
        for side, title in DIRECTIONS.items()
    ]
    lead, rest = data.answer("content")
    lede = (
        f"{lead}. " if lead else ""
    ) + "Sorted by distance, neighbours first. The vertical mark is the best fixed offset."
    levels = ((f"level {name} upright", TITLES[name]) for name in LEVELS)
    marks = key(*((f"mark {part}", TITLES[part]) for part in reversed(PARTS)), *levels)
    note = [tag("p", rest, class_="note")] if rest else []
    return Section(
        "relations", "Relation by relation", lede, join(tag("div", *cards, class_="two"), marks, *note), "Relations"
    )


def locality(data: SyntaxPageData) -> Section:
    """The share found near and far, against locality."""
    cards = []
    for at in (NEAR, FAR):
        views = [("curves", _local_words(data, "bias.locality", "full", at))]
        views += [(TITLES[part], _local_words(data, "attention.locality", part, at)) for part in reversed(PARTS)]
        title = f"At distance {data.distances.get(at, short(at))}"
        cards.append(
            panel(tag("h3", title), chart_widget("places", f"{title}, against locality", height=LOCAL, views=views))
        )
    lead, rest = data.answer("locality")
    numbers = [tag("p", rest)] if rest else []
    note = (
        "Curves: full attention of curves set by hand, against the locality of the curve itself. Other views: every "
        "encoding, against the locality of attention over identical words in trained nets. From a word to its head; r "
        "is the correlation over encodings with its 95 % interval."
    )
    body = tag("div", *numbers, tag("div", *cards, class_="two"), tag("p", note, class_="note"), class_="answered")
    return Section("locality", "Against locality", f"{lead}." if lead else "Near and far.", body, "Locality")


def _local_words(data: SyntaxPageData, by: str, part: str, at: float) -> ChartWords:
    row = data.link(by, part, at)
    return {"by": by, "part": part, "at": f"{at:g}", "link": f"r {plain(row)}" if row else " "}


def _facts(data: SyntaxPageData) -> list[tuple[str, str]]:
    runs = data.result.filter(part="run").select("subject", "seed").n_unique()
    facts = [
        (str(len(data.encodings)), "encodings"),
        (str(len(data.relations)), "relations"),
        (str(data.seeds), "seed" if data.seeds == 1 else "seeds"),
        (f"{runs:,}", "nets"),
    ]
    seconds, processes = data.about.seconds, data.about.processes
    if not seconds:
        return facts
    return [*facts, (duration(seconds), f"summed over {count(processes or 1, 'process', 'processes')}")]


def _figures(data: SyntaxPageData, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """By distance and by relation, for every group and direction."""
    made = {}
    legend = f"square {TITLES['positional']}, triangle {TITLES['contextual']}, circle {TITLES['full']}"
    sizes: Sequence[tuple[str, str, int]] = (
        ("distances", "near and far", TALL),
        ("relations", "relation by relation", ROW * len(data.relations) + 8),
    )
    for group in data.groups:
        for side in data.sides:
            for chart, title, height in sizes:
                spec = titled(charts[chart], f"{GROUPS[group]}, {side}: {title}", legend)
                name = f"{chart}_{group}_{side}".replace(" ", "_").replace("-", "_")
                made[name] = figure_of(spec, tables, (560, height), {"panel": panel_of(data, group, side)})
    return made

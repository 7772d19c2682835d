"""The page of the study of relations: what heads find by where words stand, and what by what they say."""

from collections.abc import Mapping, Sequence

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import Words, drawn, figure_of, panel, titled
from wherewhat.report.locality_said import plain
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, duration, short
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.probe_dependencies_charts import ROW
from wherewhat.report.probe_dependencies_tables import LEVELS, PARTS, TITLES
from wherewhat.report.probe_told import key
from wherewhat.report.syntax_charts import charts_of
from wherewhat.report.syntax_numbers import by_encoding, by_relation_table, shuffled
from wherewhat.report.syntax_study import GROUPS, SIDED, Subject, Syntax
from wherewhat.report.syntax_tables import FAR, NEAR, panel_of, tables_of
from wherewhat.report.tags import Html, join, tag

ASKED = {"to head": "From a word to its governor", "to dependent": "From a governor to the word"}
TIES = "To a symmetric one both neighbours weigh the same, and of two equal weights the one before counts."
TALL, SMALL, LOCAL = 320, 210, 300  # pixels


def page_of_syntax(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what position and content find, near and far, relation by relation, encoding by encoding."""
    found = Syntax(result, manifest)
    if not found.subjects or not found.relations or not found.distances:
        raise UserError("the table has no encoding that was probed; run `wherewhat reproduce syntax` again")
    sections = (answer, encodings, relations, by_relation_table, locality, by_encoding, shuffled)
    charts, tables = charts_of(tuple(found.groups)), tables_of(found)
    return Page(
        title="Near by position, far by content?",
        kind="Reproduction after arXiv 2310.12864 and 1906.04341",
        lede=(
            "Small nets learn to guess hidden words, each with one encoding of position. Then every head is asked, for "
            "every relation between two words, where its largest weight falls: with all it knows, among copies of one "
            "word (place alone, the positional part), and averaged over other orders of the same words (content alone, "
            "the contextual part). Sentences and their "
            "trees come from a grammar, so that every relation is known."
        ),
        facts=_facts(found),
        sections=[*(section(found) for section in sections), the_claims(manifest), how_it_was_made(manifest)],
        charts=charts,
        tables=tables,
        figures=_figures(found, charts, tables),
    )


def answer(found: Syntax) -> Section:
    """The first screen: near and far, over encodings whose heads may look to either side, and over others."""
    near, far = (found.answer(name) for name in ("short", "long"))
    lede = f"{near[0]}; {far[0]}." if near[0] and far[0] else "What each part of attention finds, near and far."
    cards = [
        panel(
            tag("h3", title),
            drawn("distances", _in_words(found, found.groups[0], side), height=TALL, views=_views(found, side)),
        )
        for side, title in ASKED.items()
    ]
    note = (
        "How often a relation is found, by how far apart its two words stand; each relation by the head that "
        "the other half of the sentences chose for it, whatever the distance. Bars are 95 % intervals over seeds. "
        f"{_grouped(found)}"
    )
    rest = [tag("p", told[1]) for told in (near, far) if told[1]]
    body = tag("div", *rest, tag("div", *cards, class_="two"), _key(), tag("p", note, class_="note"), class_="answered")
    return Section("answer", "Near and far", lede, body, "Answer")


def _views(found: Syntax, side: str) -> list[tuple[str, Words]]:
    return [(GROUPS[name], {"panel": panel_of(found, name, side)}) for name in found.groups]


def _grouped(found: Syntax) -> str:
    """Which encodings are in which group."""
    members = {name: ", ".join(one.label for one in found.members(name)) for name in found.groups if name != SIDED}
    told = f"Groups: {'; '.join(f'{GROUPS[name]} ({its})' for name, its in members.items())}."
    return f"{told} Of what is symmetric, nothing is in the mean over all that tell sides apart. {TIES}"


def _in_words(found: Syntax, subject: str, side: str) -> str:
    """What a chart by distance shows, for those who cannot see it."""
    told = []
    for part in PARTS:
        rows = {name: found.mean(subject, part, at=at, side=side) for at, name in found.distances.items()}
        its = ", ".join(f"{100 * row['value']:.0f} % at {name}" for name, row in rows.items() if row)
        told.append(f"{TITLES[part]} {its}")
    return f"Share found by distance, {side}, {GROUPS.get(subject, subject)}: {'; '.join(told)}"


def _key() -> Html:
    entries = [(f"mark-line {part}", TITLES[part]) for part in reversed(PARTS)]
    return key(*entries, *((f"level {name} flat", TITLES[name]) for name in LEVELS))


def encodings(found: Syntax) -> Section:
    """The same for every encoding, as small multiples."""
    groups = []
    for group in (name for name in found.groups if name != SIDED):
        about, title = str((found.about.get("groups") or {}).get(group) or ""), GROUPS[group]
        small = [_small(found, one) for one in found.members(group)]
        heading = tag("h3", f"{title[:1].upper()}{title[1:]}")
        note = [tag("p", f"{about[:1].upper()}{about[1:]}.", class_="note")] if about else []
        groups.append(panel(heading, *note, tag("div", *small, class_="panels")))
    lede = (
        "Every encoding by itself, from a word to its governor. A curve that is set by hand has the same positional "
        f"part in all heads: what place alone finds there follows from the curve. {TIES}"
    )
    body = join(*(tag("div", group, class_="below") for group in groups), _key())
    return Section("encodings", "Encoding by encoding", lede, body, "Encodings")


def _small(found: Syntax, one: Subject) -> Html:
    """One encoding near and far, with how well it reads and how local it is."""
    local = short(found.place(one.name, "attention.locality"))
    words = {"panel": panel_of(found, one.name, found.sides[0])}
    return tag(
        "div",
        tag("h4", one.label),
        tag("p", f"loss {short(found.loss(one.name))}, locality {local}", class_="note"),
        drawn("distances", _in_words(found, one.name, found.sides[0]), height=SMALL, words=words),
    )


def relations(found: Syntax) -> Section:
    """A line a relation, both sides, over groups of encodings."""
    height = ROW * len(found.relations) + 8
    cards = [
        panel(
            tag("h3", title),
            drawn("relations", f"Every relation, {side}", height=height, views=_views(found, side)),
        )
        for side, title in ASKED.items()
    ]
    lead, rest = found.answer("content")
    lede = (
        f"{lead}. " if lead else ""
    ) + "From relations between neighbours to those that reach far. The upright mark is the best fixed offset."
    levels = ((f"level {name} upright", TITLES[name]) for name in LEVELS)
    marks = key(*((f"mark {part}", TITLES[part]) for part in reversed(PARTS)), *levels)
    told = [tag("p", rest, class_="note")] if rest else []
    return Section(
        "relations", "Relation by relation", lede, join(tag("div", *cards, class_="two"), marks, *told), "Relations"
    )


def locality(found: Syntax) -> Section:
    """What is found near and far, against how local an encoding is."""
    cards = []
    for at in (NEAR, FAR):
        views = [("curves", _local_words(found, "bias.locality", "full", at))]
        views += [(TITLES[part], _local_words(found, "attention.locality", part, at)) for part in reversed(PARTS)]
        title = f"At distance {found.distances.get(at, short(at))}"
        cards.append(panel(tag("h3", title), drawn("places", f"{title}, against locality", height=LOCAL, views=views)))
    lead, rest = found.answer("locality")
    told = [tag("p", rest)] if rest else []
    note = (
        "Curves: full attention of curves that are set by hand, against the locality of the curve itself. Else every "
        "encoding, against the locality of attention to identical words in trained nets. From a word to its governor; "
        "r is the correlation over encodings with its 95 % interval."
    )
    body = tag("div", *told, tag("div", *cards, class_="two"), tag("p", note, class_="note"), class_="answered")
    return Section("locality", "Against locality", f"{lead}." if lead else "Near and far.", body, "Locality")


def _local_words(found: Syntax, by: str, part: str, at: float) -> Words:
    row = found.link(by, part, at)
    return {"by": by, "part": part, "at": f"{at:g}", "link": f"r {plain(row)}" if row else " "}


def _facts(found: Syntax) -> list[tuple[str, str]]:
    runs = found.result.filter(part="run").select("subject", "seed").n_unique()
    facts = [
        (str(len(found.subjects)), "encodings"),
        (str(len(found.relations)), "relations"),
        (str(found.seeds), "seed" if found.seeds == 1 else "seeds"),
        (f"{runs:,}", "nets"),
    ]
    seconds, processes = (found.about.get(name) for name in ("seconds", "processes"))
    if not seconds:
        return facts
    return [*facts, (duration(seconds), f"summed over {count(processes or 1, 'process', 'processes')}")]


def _figures(found: Syntax, charts: Mapping[str, Spec], tables: Mapping[str, Columns]) -> dict[str, Figure]:
    """Near and far, and relation by relation, for every group and side."""
    made = {}
    legend = f"square {TITLES['positional']}, triangle {TITLES['contextual']}, circle {TITLES['full']}"
    sizes: Sequence[tuple[str, str, int]] = (
        ("distances", "near and far", TALL),
        ("relations", "relation by relation", ROW * len(found.relations) + 8),
    )
    for group in found.groups:
        for side in found.sides:
            for chart, title, height in sizes:
                spec = titled(charts[chart], f"{GROUPS[group]}, {side}: {title}", legend)
                name = f"{chart}_{group}_{side}".replace(" ", "_").replace("-", "_")
                made[name] = figure_of(spec, tables, (560, height), {"panel": panel_of(found, group, side)})
    return made

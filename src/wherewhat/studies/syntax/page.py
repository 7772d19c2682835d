"""The page of the study of syntax: which relations heads find by position, and which by content."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, count, short
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.report.blocks import axes, relations
from wherewhat.report.blocks.chart import ViewRows, scatter
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answered, columns, counted, note, panel, paragraphs, run_time, small
from wherewhat.report.blocks.numbers import capital, per_cent, plain, plus_minus
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.relations import PARTS, SIDES, TITLES, chart_rows, part_key
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.studies.engine.results import ResultRow, ResultTable
from wherewhat.studies.syntax import results
from wherewhat.studies.syntax.results import FREE, GROUPS, SIDED, members, share
from wherewhat.tables.manifest.study import LongAnswer, SyntaxManifest

Answers = Mapping[str, LongAnswer]
Places = Mapping[str, Mapping[str, Any]]  # distances or relations, and where their shares are in the table
DIRECTIONS = {"to head": "From a word to its head", "to dependent": "From a head to the word"}
DISTANCES = {far.replace("-", "–"): {"at": at} for at, far in results.DISTANCES.items()}
LABELS = {FREE: "free heads", results.ONE_SIDED: "one-sided curves", results.EVEN: "symmetric or none"}
LABELS |= {SIDED: "all that tell sides apart", "learned": "position table"}
COLOURS = {FREE: axes.WHAT, results.ONE_SIDED: axes.WHERE, results.EVEN: axes.MUTED}
SHAPES = {FREE: "triangle-up", results.ONE_SIDED: "square", results.EVEN: "circle"}
TIES = "A symmetric encoding gives both neighbours equal weight, and ties go to the word before."


def page(result: pl.DataFrame, manifest: SyntaxManifest) -> Page:
    """What position and content find, by distance, by relation and by encoding."""
    there, about = set(result.filter(part="trained mean")["subject"]), manifest.about
    groups = {each.name: each.groups for each in about.subjects if each.name in there}
    table, answers = results.grouped(ResultTable(result, list(groups)), groups), defaultdict(LongAnswer, about.answers)
    names = results.relations(table)
    if not groups or not names:
        raise UserError("the table has no encoding that was probed; run `wherewhat reproduce syntax` again")
    nets = result.filter(part="run").select("subject", "seed").n_unique()
    counts = {"encoding": len(groups), "relation": len(names), "seed": len(table.seeds), "net": nets}
    sections = (near_and_far, encodings, by_relation, every_relation, against_locality, learnt, shuffled)
    return Page(
        title="Near by position, far by content?",
        kind="Reproduction after arXiv 2310.12864 and 1906.04341",
        lede="Small nets are trained on masked words, each with one encoding of position. Then, for every relation "
        "between two words, we check which word every head attends to most: with full attention, over copies of one "
        "word (position alone, the positional part), and averaged over permutations of the words (content alone, the "
        "contextual part). Sentences and their trees come from a grammar, so every relation is known.",
        facts=[*(counted(many, noun) for noun, many in counts.items()), *run_time(about.seconds, about.processes)],
        sections=[
            *(section(table, answers) for section in sections),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def label(name: str) -> str:
    """How the page calls an encoding or a group."""
    return LABELS.get(name, name)


def mean_share(table: ResultTable, name: str, kind: str, **where: Any) -> ResultRow | None:
    """The share that an encoding or a group finds, the mean over seeds; of trained nets unless `part` is another."""
    return table.row(name, share(kind, **{"part": "trained mean", **where}))


def rows_of(table: ResultTable, name: str, column: str, places: Places, side: str = SIDES[0]) -> list[Any]:
    """The rows of a chart of an encoding or a group, by distance or by relation."""
    return chart_rows(column, places, lambda kind, where: mean_share(table, name, kind, side=side, **where))


def both_sides(table: ResultTable, draw: Callable[..., Chart], title: str, column: str, places: Places) -> Html:
    """A chart for each direction, with a view for each group of encodings."""
    cards = []
    for side, heading in DIRECTIONS.items():
        views = {label(group): rows_of(table, group, column, places, side) for group in table.notes}
        look = {"figure": f"{column}s_{side}".replace(" ", "_"), "title": f"{heading}: {title}", "width": 560}
        cards.append(panel(draw(views, f"{side}, {next(iter(views))}", **look), title=heading))
    return columns(*cards)


def near_and_far(table: ResultTable, answers: Answers) -> Section:
    """The first screen: the share found by distance, for groups of encodings."""
    near, far = answers["short"], answers["long"]
    both = f"{near.lead}; {far.lead[:1].lower()}{far.lead[1:]}."
    groups = [f"{label(name)} ({', '.join(map(label, members(table, name)))})" for name in table.notes if name != SIDED]
    body = answered(
        paragraphs(near.rest, far.rest),
        both_sides(table, relations.by_distance, "near and far", "distance", DISTANCES),
        part_key(PARTS, "mark-line", "flat"),
        text="The share of relations that are found, by the distance of the two words. Each relation is found by the "
        "head chosen for it on the other half of the sentences, whatever the distance. Bars are 95 % intervals over "
        f"seeds. Groups: {'; '.join(groups)}. The mean over all that tell sides apart excludes symmetric encodings. "
        f"{TIES}",
    )
    lede = both if near.lead and far.lead else "What each part of attention finds, near and far."
    return Section("answer", "Near and far", lede, body, "Answer")


def encodings(table: ResultTable, answers: Answers) -> Section:
    """The same for every encoding, as small multiples."""
    loss, local = (table.means(measure=measure) for measure in ("word loss", results.ATTENTION))
    cards = []
    for group in (group for group in table.notes if group != SIDED):
        multiples = []
        for name in members(table, group):
            rows, place = rows_of(table, name, "distance", DISTANCES), f"{SIDES[0]}, {label(name)}"
            facts = f"loss {short(loss.get(name))}, locality {short(local.get(name))}"
            multiples.append(small(label(name), relations.by_distance(rows, place, height=210), facts))
        words = {"title": capital(label(group)), "text": f"{capital(GROUPS[group])}."}
        cards.append(tag("div", panel(columns(*multiples, look="multiples languages"), **words), class_="below"))
    lede = (
        "Every encoding separately, from a word to its head. A curve set by hand has the same positional part in all "
        f"heads: what position alone finds follows from the curve. {TIES}"
    )
    body = join(*cards, part_key(PARTS, "mark-line", "flat"))
    return Section("encodings", "Encoding by encoding", lede, body, "Encodings")


def by_relation(table: ResultTable, answers: Answers) -> Section:
    """One line per relation, in both directions, for groups of encodings."""
    names = {relation: {"item": relation} for relation in results.relations(table)}
    charts = both_sides(table, relations.by_relation, "relation by relation", "relation", names)
    lead, rest = answers["content"].lead, answers["content"].rest
    how = "Sorted by distance, neighbours first. The vertical mark is the best fixed offset."
    body = join(charts, part_key(PARTS, "mark", "upright"), note(rest))
    return Section("relations", "Relation by relation", f"{lead}. {how}" if lead else how, body, "Relations")


def every_relation(table: ResultTable, answers: Answers) -> Section:
    """Every relation: rows, chance, the best offset, and the three parts for encodings with free heads."""
    free, rows = members(table) or list(table.conditions)[:3], []
    for item in ("all", *results.relations(table)):
        cells = [mean_share(table, free[0], kind, item=item) for kind in ("rows", "distance", "uniform", "offset")]
        cells += [mean_share(table, name, part, item=item) for name in free for part in PARTS]
        many, far, *shares = (cell["value"] if cell else None for cell in cells)
        theirs = "{} {:.1f} / {:.1f}".format(*ANCHORS[item]) if item in ANCHORS else MISSING
        rows.append([item, f"{many:,.0f}" if many else MISSING, short(far), *map(per_cent, shares), theirs])
    headings, parts = ["relation", "rows", "distance", "chance", "offset"], ("position", "content", "full") * len(free)
    groups = [("", len(headings)), *((label(name), len(PARTS)) for name in free), ("", 1)]
    lede = (
        f"From a word to its head, in per cent: means over {count(len(table.seeds), 'seed')}. All is one head for "
        "every relation; rows and distance are means over seeds. BERT-base is best head / best offset as published by "
        "Clark et al. (2019), with their names for relations, on other text, the head chosen on the data it was scored "
        "on: compare the pattern, not the figures."
    )
    body = table_of([*headings, *parts, "BERT-base"], rows, label="Every relation", groups=groups)
    return Section("table", "Every relation", lede, body, "Table")


def against_locality(table: ResultTable, answers: Answers) -> Section:
    """The share found near and far, against locality."""
    cards = [panel(locality_chart(table, at), title=f"At distance {results.DISTANCES[at]}") for at in (1.0, 6.0)]
    lead, rest = answers["locality"].lead, answers["locality"].rest
    body = answered(
        paragraphs(rest),
        columns(*cards),
        text="Curves: full attention of curves set by hand, against the locality of the curve itself. Other views: "
        "every encoding, against the locality of attention over identical words in trained nets. From a word to its "
        "head; r is the correlation over encodings with its 95 % interval.",
    )
    return Section("locality", "Against locality", f"{lead}." if lead else "Near and far.", body, "Locality")


def locality_chart(table: ResultTable, at: float) -> Chart:
    """The share that parts of attention find at a distance, against the locality of curves and of all encodings."""

    def view(by: str, part: str) -> ViewRows:
        local, link = table.means(measure=by), table.row(by, share(part, at=at, part="link"))
        rows = [
            {**relations.clipped(row), "x": local[name], "name": label(name), "group": group}
            for group in COLOURS
            for name in members(table, group)
            if name in local and (row := mean_share(table, name, part, at=at))
        ]
        groups = [group for group in COLOURS if group in {row["group"] for row in rows}]
        across = f"locality, r {plain(link)}" if link else "locality"
        return ViewRows(rows, {"x title": across, "groups": str(groups)})

    key = axes.legend(LABELS, values={"expr": "{groups}"})
    by_part = {TITLES[part]: view(results.ATTENTION, part) for part in reversed(PARTS)}
    return scatter(
        "places",
        {"curves": view(results.BIAS, "full"), **by_part},
        x=axes.x("x", "{x title}", zero=False, padding=18, tickCount=5, grid=False, titleLimit=400),
        y=axes.share(axes.y, title="found"),
        colour=axes.colour("group", COLOURS, legend=key),
        shape=axes.shape("group", SHAPES, legend=key),
        intervals="y",
        size=90,
        tip="{name}: {value:share}, locality {x:short}",
        label=f"The share found at distance {results.DISTANCES[at]}, against locality",
        height=300,
    )


def learnt(table: ResultTable, answers: Answers) -> Section:
    """Every encoding, trained and untrained."""
    loss, local = (table.means(measure=measure) for measure in ("word loss", results.ATTENTION))
    rows = [[label(name), short(loss.get(name)), short(local.get(name))] for name in table.conditions]
    rows += [[tag("i", label(name)), "", ""] for name in table.notes]
    for name, row in zip((*table.conditions, *table.notes), rows, strict=True):
        row += [
            plus_minus(mean_share(table, name, part, part=f"{state} mean"))
            for state in results.STATES
            for part in PARTS
        ]
    lead, rest = answers["learnt"].lead, answers["learnt"].rest
    lede = (f"{lead}. " if lead else "") + (
        "The share of all relations found from a word to its head, each by its own attention head, in per cent, ± half "
        "the width of the 95 % interval over seeds. Loss is that of masked words in nats; locality is that of "
        "attention over identical words."
    )
    headings = ["encoding", "loss", "locality", *(TITLES[part] for part in PARTS * 2)]
    groups = [("", 3), ("trained", len(PARTS)), ("untrained", len(PARTS))]
    body = join(table_of(headings, rows, label="Every encoding", groups=groups), note(rest))
    return Section("learnt", "What is learnt", lede, body, "Learnt")


def shuffled(table: ResultTable, answers: Answers) -> Section:
    """Heads chosen by position or by content alone, on unshuffled and on shuffled sentences."""
    kinds = [*(f"by {way}{order}" for way in ("position", "content") for order in ("", ", shuffled")), "uniform"]
    cells = {name: [mean_share(table, name, kind) for kind in kinds] for name in (*table.conditions, *table.notes)}
    rows = [[label(name), *map(plus_minus, its)] for name, its in cells.items()]
    headings = ["encoding", *("unshuffled", "shuffled") * 2, "chance"]
    groups = [("", 1), ("chosen by position", 2), ("chosen by content", 2), ("", 1)]
    lede = (
        "Heads are chosen by one part alone, on unshuffled sentences, and scored with their full attention: on "
        "unshuffled sentences, and with shuffled words whose relations move with them. In per cent, from a word to its "
        "head, ± half the width of the 95 % interval over seeds."
    )
    body = table_of(headings, rows, label="Heads by how they were chosen", groups=groups)
    return Section("shuffled", "Shuffled words", lede, body, "Shuffled")

"""The tables of the study of syntax: every relation, every encoding, and shuffled words."""

from collections.abc import Mapping

from wherewhat.formatting import MISSING, count, short
from wherewhat.report.page import Section
from wherewhat.report.probe_dependencies_tables import PARTS, TITLES
from wherewhat.report.probe_sections import per_cent, table
from wherewhat.report.result_text import Row, give_or_take
from wherewhat.report.syntax_data import GROUPS, SyntaxPageData
from wherewhat.report.tags import join, tag
from wherewhat.tables.manifest.study import SyntaxAnchor

ORDERS = {"by position": "chosen by position", "by content": "chosen by content"}


def by_relation_table(data: SyntaxPageData) -> Section:
    """Every relation: rows, chance, the best offset, and the three parts for encodings with free heads."""
    shown = data.members("free") or data.encodings[:3]
    headings = ["relation", "rows", "distance", "chance", "offset"]
    groups = [("", len(headings))]
    for encoding in shown:
        headings += ["position", "content", "full"]
        groups.append((encoding.label, len(PARTS)))
    anchors = data.about.anchors
    headings.append("BERT-base")
    groups.append(("", 1))
    rows = [_relation(data, name, [encoding.name for encoding in shown], anchors) for name in ("all", *data.relations)]
    lede = (
        f"From a word to its head, in per cent: means over {count(data.seeds, 'seed')}. All is one head for every "
        "relation; rows and distance are means over seeds. BERT-base is best head / best offset as published by Clark "
        "et al. (2019), with their names for relations, on other text, the head chosen on the data it was scored on: "
        "compare the pattern, not the figures."
    )
    body = table(headings, rows, label="Every relation", groups=groups)
    return Section("table", "Every relation", lede, body, "Table")


def _relation(data: SyntaxPageData, item: str, names: list[str], anchors: Mapping[str, SyntaxAnchor]) -> list[object]:
    facts = [_number(data.mean(names[0], kind, item)) for kind in ("rows", "distance")]
    levels = [_share(data.mean(names[0], kind, item)) for kind in ("uniform", "offset")]
    parts = [_share(data.mean(name, part, item)) for name in names for part in PARTS]
    anchor = anchors.get(item)
    theirs = f"{anchor.name} {anchor.head:.1f} / {anchor.offset:.1f}" if anchor else MISSING
    return [item, f"{facts[0]:,.0f}" if facts[0] else MISSING, short(facts[1]), *levels, *parts, theirs]


def _number(row: Row | None) -> float | None:
    return None if row is None else float(row["value"])


def _share(row: Row | None) -> str:
    return per_cent(_number(row))


def by_encoding(data: SyntaxPageData) -> Section:
    """Every encoding, trained and untrained."""
    lead, rest = data.answer("learnt")
    headings = ["encoding", "loss", "locality", *(TITLES[part] for part in PARTS), *(TITLES[part] for part in PARTS)]
    groups = [("", 3), ("trained", len(PARTS)), ("untrained", len(PARTS))]
    rows = []
    for encoding in data.encodings:
        locality = data.locality(encoding.name, "attention.locality")
        trained = [give_or_take(data.mean(encoding.name, part)) for part in PARTS]
        untrained = [give_or_take(data.untrained(encoding.name, part)) for part in PARTS]
        rows.append([encoding.label, short(data.loss(encoding.name)), short(locality), *trained, *untrained])
    for name in data.groups:
        trained = [give_or_take(data.mean(name, part)) for part in PARTS]
        untrained = [give_or_take(data.untrained(name, part)) for part in PARTS]
        rows.append([tag("i", GROUPS[name]), "", "", *trained, *untrained])
    lede = (f"{lead}. " if lead else "") + (
        "The share of all relations found from a word to its head, each by its own attention head, in per cent, ± half "
        "the width of the 95 % interval over seeds. Loss is that of masked words in nats; locality is that of "
        "attention over identical words."
    )
    note = [tag("p", rest, class_="note")] if rest else []
    return Section(
        "learnt",
        "What is learnt",
        lede,
        join(table(headings, rows, label="Every encoding", groups=groups), *note),
        "Learnt",
    )


def shuffled(data: SyntaxPageData) -> Section:
    """Heads chosen by position or by content alone, on unshuffled and on shuffled sentences."""
    headings = ["encoding", *("unshuffled", "shuffled") * len(ORDERS), "chance"]
    groups = [("", 1), *((title, 2) for title in ORDERS.values()), ("", 1)]
    rows = []
    for name, label in [
        *((encoding.name, encoding.label) for encoding in data.encodings),
        *((group, GROUPS[group]) for group in data.groups),
    ]:
        cells = [give_or_take(data.mean(name, kind)) for how in ORDERS for kind in (how, f"{how}, shuffled")]
        rows.append([label, *cells, _share(data.mean(name, "uniform"))])
    lede = (
        "Heads are chosen by one part alone, on unshuffled sentences, and scored with their full attention: on "
        "unshuffled sentences, and with shuffled words whose relations move with them. In per cent, from a word to its "
        "head, ± half the width of the 95 % interval over seeds."
    )
    body = table(headings, rows, label="Heads by how they were chosen", groups=groups)
    return Section("shuffled", "Shuffled words", lede, body, "Shuffled")

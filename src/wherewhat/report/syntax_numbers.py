"""The tables of the study of relations: every relation, every encoding, and words in another order."""

from wherewhat.report.locality_said import give_or_take
from wherewhat.report.numbers import MISSING, count, short
from wherewhat.report.page import Section
from wherewhat.report.probe_dependencies_tables import PARTS, TITLES
from wherewhat.report.probe_told import per_cent, table
from wherewhat.report.syntax_study import GROUPS, Row, Syntax
from wherewhat.report.tags import join, tag

ORDERS = {"by position": "chosen by place", "by content": "chosen by content"}


def by_relation_table(found: Syntax) -> Section:
    """Every relation: rows, chance, the best offset, and the three parts of encodings whose heads are free."""
    shown = found.members("free") or found.subjects[:3]
    headings = ["relation", "rows", "distance", "even", "offset"]
    groups = [("", len(headings))]
    for one in shown:
        headings += ["place", "content", "full"]
        groups.append((one.label, len(PARTS)))
    anchors = found.about.get("anchors") or {}
    headings.append("BERT-base")
    groups.append(("", 1))
    rows = [_relation(found, name, [one.name for one in shown], anchors) for name in ("all", *found.relations)]
    lede = (
        f"From a word to its governor, in per cent: means over {count(found.seeds, 'seed')}. All is one head for every "
        "relation; rows and distance are means over seeds. BERT-base is best head / best offset as published by Clark "
        "et al. (2019) under their names for relations, on other text, with the head chosen on the data it was scored "
        "on: a pattern to compare with, not a figure."
    )
    body = table(headings, rows, label="Every relation", groups=groups)
    return Section("table", "Every relation", lede, body, "Table")


def _relation(found: Syntax, item: str, names: list[str], anchors: dict[str, dict[str, object]]) -> list[object]:
    facts = [_number(found.mean(names[0], kind, item)) for kind in ("rows", "distance")]
    levels = [_share(found.mean(names[0], kind, item)) for kind in ("uniform", "offset")]
    parts = [_share(found.mean(name, part, item)) for name in names for part in PARTS]
    one = anchors.get(item)
    theirs = f"{one['name']} {one['head']:.1f} / {one['offset']:.1f}" if one else MISSING
    return [item, f"{facts[0]:,.0f}" if facts[0] else MISSING, short(facts[1]), *levels, *parts, theirs]


def _number(row: Row | None) -> float | None:
    return None if row is None else float(row["value"])


def _share(row: Row | None) -> str:
    return per_cent(_number(row))


def by_encoding(found: Syntax) -> Section:
    """Every encoding, trained and untrained."""
    lead, rest = found.answer("learnt")
    headings = ["encoding", "loss", "locality", *(TITLES[part] for part in PARTS), *(TITLES[part] for part in PARTS)]
    groups = [("", 3), ("trained", len(PARTS)), ("untrained", len(PARTS))]
    rows = []
    for one in found.subjects:
        place = found.place(one.name, "attention.locality")
        trained = [give_or_take(found.mean(one.name, part)) for part in PARTS]
        fresh = [give_or_take(found.untrained(one.name, part)) for part in PARTS]
        rows.append([one.label, short(found.loss(one.name)), short(place), *trained, *fresh])
    for name in found.groups:
        trained = [give_or_take(found.mean(name, part)) for part in PARTS]
        fresh = [give_or_take(found.untrained(name, part)) for part in PARTS]
        rows.append([tag("i", GROUPS[name]), "", "", *trained, *fresh])
    lede = (f"{lead}. " if lead else "") + (
        "Of all relations from a word to its governor, each by its own head, in per cent, ± half of the 95 % interval "
        "over seeds. Loss is that of hidden words in nats; locality is that of attention to identical words."
    )
    told = [tag("p", rest, class_="note")] if rest else []
    return Section(
        "learnt",
        "What is learnt",
        lede,
        join(table(headings, rows, label="Every encoding", groups=groups), *told),
        "Learnt",
    )


def shuffled(found: Syntax) -> Section:
    """Heads chosen by their place or their content alone, on sentences in order and on shuffled ones."""
    headings = ["encoding", *("in order", "shuffled") * len(ORDERS), "even"]
    groups = [("", 1), *((title, 2) for title in ORDERS.values()), ("", 1)]
    rows = []
    for name, label in [
        *((one.name, one.label) for one in found.subjects),
        *((one, GROUPS[one]) for one in found.groups),
    ]:
        cells = [give_or_take(found.mean(name, kind)) for how in ORDERS for kind in (how, f"{how}, shuffled")]
        rows.append([label, *cells, _share(found.mean(name, "uniform"))])
    lede = (
        "Heads are chosen by one part alone, on sentences in order, and scored with their full attention: on sentences "
        "in order, and with the words shuffled and the relations carried along. Even is chance. In per cent, from a "
        "word to its governor, ± half of the 95 % interval over seeds."
    )
    body = table(headings, rows, label="Heads by how they were chosen", groups=groups)
    return Section("shuffled", "Words in another order", lede, body, "Shuffled")

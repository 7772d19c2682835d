"""More of dependency relations: which head is best for what, treebank beside treebank, and rows in words."""

from collections.abc import Sequence

from wherewhat.report.drawn import drawn, panel
from wherewhat.report.numbers import MISSING, interval, short
from wherewhat.report.page import Section
from wherewhat.report.probe_dependencies_tables import (
    ALL,
    OF_HEADS,
    PARTS,
    TITLES,
    Relations,
    Row,
    best_for,
    winners,
)
from wherewhat.report.probe_told import direction, notes, per_cent, table
from wherewhat.report.tags import Html, join, tag

MOST = 8  # examples shown
IN_WORDS = {"offset": "best fixed offset", "positional": TITLES["positional"], "contextual": TITLES["contextual"]}


def which_heads(found: Relations) -> Section | None:
    """Layer by head: what each was chosen for, how fixed its offset is and how sure it looks."""
    measures = [name for name in OF_HEADS if name in set(found.heads["measure"])]
    if not measures:
        return None
    layers = found.heads["layer"].n_unique()
    height = max(120, min(46 * layers, 620))
    charts = []
    for data in found.treebanks[:1]:
        views = [
            (f"{measure}, {side}", {"panel": found.panel(data, side), "measure": measure})
            for side in found.sides
            for measure in measures[:2]
        ]
        label = f"Layer by head: the relation that each head was chosen for in {data}"
        charts.append(drawn("grid", label, height=height, views=views))
    told = [tag("div", tag("dt", TITLES.get(name, name)), tag("dd", OF_HEADS[name])) for name in measures]
    body = join(
        panel(*charts, notes("A dot stands where there is no room for the name; the numbers are below.")),
        tag("dl", *told, class_="asked sources"),
        _heads_table(found, measures),
    )
    several = f" Chosen on {found.treebanks[0]}." if len(found.treebanks) > 1 else ""
    lede = (
        "Each cell is a head, with the relation that its full attention was chosen for; +2 says that there are two "
        f"more. The stronger its colour, the larger the measure that is chosen above.{several}"
    )
    return Section("heads", "Which head is best for what", lede, body, short="Heads")


def _heads_table(found: Relations, measures: Sequence[str]) -> Html:
    """Every head that was chosen, with its measures."""
    data = found.treebanks[0]
    values = {
        (row["layer"], row["head"], row["measure"]): row["value"]
        for row in found.heads.iter_rows(named=True)
        if row["data"] == data
    }
    rows = []
    for layer, head in sorted({(layer, head) for layer, head, _ in values}):
        name = f"L{layer}H{head}"
        best = {side: best_for(found, data, side, name) for side in found.sides}
        if any(best.values()):
            numbers = [short(values.get((layer, head, measure))) for measure in measures]
            rows.append(
                [name, *(tag("span", ", ".join(its) or MISSING, class_="listed") for its in best.values()), *numbers]
            )
    headings = ["head", *(tag("span", f"chosen {side}", class_="listed") for side in found.sides)]
    headings += [TITLES.get(measure, measure) for measure in measures]
    return table(headings, rows, label="Heads that were chosen, with what they were chosen for") if rows else Html("")


def across_treebanks(found: Relations) -> Section | None:
    """Relation by relation, treebank beside treebank, with what their word order is like; and what goes with what."""
    if len(found.treebanks) < 2:
        return None
    blocks = [
        tag(
            "details",
            tag("summary", f"{side[:1].upper()}{side[1:]}"),
            _beside(found, side),
            open=side == found.sides[0],
            class_="treebank",
        )
        for side in found.sides
    ]
    lede = (
        "The same relations in every treebank: how many governors stand to the left, how far away they are, and what "
        "the best fixed offset and each part of attention find, in per cent of rows."
    )
    if found.causal:
        lede += " Left is about all governors, seen or not; distance is about the rows that are asked."
    return Section(
        "treebanks", "Treebank beside treebank", lede, join(*blocks, _beyond(found), _links(found)), short="Treebanks"
    )


def _beside(found: Relations, side: str) -> Html:
    names = ("left, of all" if found.causal else "left", "distance", "offset", *(TITLES[part] for part in found.parts))
    groups = [("", 1), *((data, len(names)) for data in found.treebanks)]
    rows = []
    asked = {item for data in found.treebanks for item in found.relations(data, side)}
    for item in [ALL, *(item for item in found.everywhere if item in asked)]:
        cells: list[object] = [tag("bdi", item)]
        for data in found.treebanks:
            offset, *scores = (found.of((data, item, side), kind).get("value") for kind in ("offset", *found.parts))
            best = max((value for value in scores if value is not None), default=None)
            cells += [per_cent(found.fact(data, item, "left")), short(found.fact(data, item, "distance", side))]
            cells.append(per_cent(offset))
            cells += [tag("b", per_cent(one)) if one is not None and one == best else per_cent(one) for one in scores]
        rows.append(cells)
    headings = ["relation", *(name for _ in found.treebanks for name in names)]
    return table(headings, rows, label=f"Relations {side}, treebank beside treebank", groups=groups)


def _beyond(found: Relations) -> Html:
    """For how many relations of each treebank a part of attention is told to be beyond the best fixed offset."""
    rows = []
    for data, side in found.panels():
        items = found.relations(data, side)
        won = winners(found, data, side, items)
        rows.append([join(tag("bdi", data), f", {side}"), str(len(items)), *(str(won[part]) for part in found.parts)])
    title = tag("h3", "Clearly more than the best fixed offset", class_="of-kind")
    headings = ["treebank", "relations", *(TITLES[part] for part in found.parts)]
    return join(title, table(headings, rows, label="Relations clearly beyond the best offset"))


def _links(found: Relations) -> Html:
    """Correlations over treebanks, with what they rest on."""
    if not found.links:
        return Html("")
    rows = []
    for link in found.links:
        which = [" ".join(IN_WORDS.get(word, word) for word in str(link["item"]).split(" ")), link["side"]]
        many = MISSING if link["count"] is None else f"{link['count']:,}"
        between = interval(link["low"], link["high"]) or MISSING
        rows.append([", ".join(filter(None, which)), short(link["value"]), between, many])
    title = tag("h3", "What goes with what", class_="of-kind")
    told = notes("Correlations (Pearson) with their 95 % intervals, and how many points each rests on.")
    return join(
        title,
        told,
        table(["between", "correlation", "95 % interval", "over"], rows, label="Correlations over treebanks"),
    )


def in_sentences(found: Relations) -> Section | None:
    """A few rows in words: which word asks, which is its partner, and where each part of attention looked."""
    examples = [one for one in found.manifest.get("examples") or () if set(PARTS) & set(one.get("looked") or ())][:MOST]
    if not examples:
        return None
    body = tag("div", *(_example(found, one) for one in examples), class_="swap-examples")
    lede = (
        "The word in the box asks, the word with dashes around it is its partner in the tree. Below the words, where "
        "the largest weight of each chosen head falls."
    )
    return Section("examples", "In words", lede, body, short="Examples")


def _example(found: Relations, one: Row) -> Html:
    words = [str(word) for word in one.get("words") or ()]
    looked = {part: place for part, place in (one.get("looked") or {}).items() if part in PARTS and place is not None}
    cells = [_looked_at(word, place, one, looked) for place, word in enumerate(words)]
    heads = one.get("head") or {}
    told = [
        f"{TITLES[part]} ({heads.get(part, MISSING)}): {'found' if place == one.get('to') else 'missed'}"
        for part, place in looked.items()
    ]
    where = [tag("span", tag("bdi", str(one.get("data"))), class_="dim")] if len(found.treebanks) > 1 else []
    title = tag("h3", tag("bdi", str(one.get("item"))), f", {one.get('side')}", *where)
    line = tag("div", *cells, class_="looked", dir=direction(words))
    return tag("article", title, line, tag("p", "; ".join(told), class_="note"), class_="swap-example panel")


def _looked_at(word: str, place: int, one: Row, looked: Row) -> Html:
    """One word: whether it asks or is the partner, and the marks of the parts that look at it."""
    role = "asks" if place == one.get("from") else "partner" if place == one.get("to") else None
    marks = [tag("i", class_=f"mark {part}", title=TITLES[part]) for part, at in looked.items() if at == place]
    name = tag("small", role) if role else ""
    return tag("span", tag("bdi", word), name, tag("span", *marks, class_="key marks") if marks else "", class_=role)

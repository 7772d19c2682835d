"""More sections on dependency relations: which head is best for what, treebanks side by side, and examples."""

from collections.abc import Mapping, Sequence

from wherewhat.formatting import MISSING, interval, short
from wherewhat.report.page import Section
from wherewhat.report.panels import chart_widget, panel
from wherewhat.report.probe_dependencies_tables import (
    ALL,
    OF_HEADS,
    PARTS,
    TITLES,
    RelationTables,
    best_for,
    winners,
)
from wherewhat.report.probe_sections import direction, notes, per_cent, table
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.probe import ProbeExample

MOST = 8  # examples shown
IN_WORDS = {"offset": "best fixed offset", "positional": TITLES["positional"], "contextual": TITLES["contextual"]}


def which_heads(scores: RelationTables) -> Section | None:
    """Layer by head: what each was chosen for, how fixed its offset is, and its confidence."""
    measures = [name for name in OF_HEADS if name in set(scores.heads["measure"])]
    if not measures:
        return None
    layers = scores.heads["layer"].n_unique()
    height = max(120, min(46 * layers, 620))
    charts = []
    for data in scores.treebanks[:1]:
        views = [
            (f"{measure}, {side}", {"panel": scores.panel(data, side), "measure": measure})
            for side in scores.sides
            for measure in measures[:2]
        ]
        label = f"Layer by head: the relation that each head was chosen for in {data}"
        charts.append(chart_widget("grid", label, height=height, views=views))
    meanings = [tag("div", tag("dt", TITLES.get(name, name)), tag("dd", OF_HEADS[name])) for name in measures]
    body = join(
        panel(*charts, notes("A dot replaces a name that does not fit; the numbers are below.")),
        tag("dl", *meanings, class_="asked sources"),
        _heads_table(scores, measures),
    )
    several = f" Chosen on {scores.treebanks[0]}." if len(scores.treebanks) > 1 else ""
    lede = (
        "Each cell is a head, with the relation that its full attention was chosen for; +2 means two more. The "
        f"stronger its colour, the larger the measure that is selected above.{several}"
    )
    return Section("heads", "Which head is best for what", lede, body, short="Heads")


def _heads_table(scores: RelationTables, measures: Sequence[str]) -> Html:
    """Every head that was chosen, with its measures."""
    data = scores.treebanks[0]
    values = {
        (row["layer"], row["head"], row["measure"]): row["value"]
        for row in scores.heads.iter_rows(named=True)
        if row["data"] == data
    }
    rows = []
    for layer, head in sorted({(layer, head) for layer, head, _ in values}):
        name = f"L{layer}H{head}"
        best = {side: best_for(scores, data, side, name) for side in scores.sides}
        if any(best.values()):
            numbers = [short(values.get((layer, head, measure))) for measure in measures]
            rows.append(
                [name, *(tag("span", ", ".join(its) or MISSING, class_="listed") for its in best.values()), *numbers]
            )
    headings = ["head", *(tag("span", f"chosen {side}", class_="listed") for side in scores.sides)]
    headings += [TITLES.get(measure, measure) for measure in measures]
    return table(headings, rows, label="Chosen heads, and their relations") if rows else Html("")


def across_treebanks(scores: RelationTables) -> Section | None:
    """Relation by relation, treebanks side by side, with facts about their word order; and correlations."""
    if len(scores.treebanks) < 2:
        return None
    blocks = [
        tag(
            "details",
            tag("summary", f"{side[:1].upper()}{side[1:]}"),
            _treebank_table(scores, side),
            open=side == scores.sides[0],
            class_="treebank",
        )
        for side in scores.sides
    ]
    lede = (
        "The same relations in every treebank: how many head words are to the left, how far away they are, and the "
        "accuracy of the best fixed offset and of each part of attention, in per cent of rows."
    )
    if scores.causal:
        lede += " Left is about all head words, visible or not; distance is about the rows that are scored."
    return Section(
        "treebanks", "Treebanks side by side", lede, join(*blocks, _beyond(scores), _links(scores)), short="Treebanks"
    )


def _treebank_table(scores: RelationTables, side: str) -> Html:
    names = (
        "left, of all" if scores.causal else "left",
        "distance",
        "offset",
        *(TITLES[part] for part in scores.parts),
    )
    groups = [("", 1), *((data, len(names)) for data in scores.treebanks)]
    rows = []
    reported = {item for data in scores.treebanks for item in scores.relations(data, side)}
    for item in [ALL, *(item for item in scores.everywhere if item in reported)]:
        cells: list[object] = [tag("bdi", item)]
        for data in scores.treebanks:
            offset, *shares = (scores.of((data, item, side), kind).get("value") for kind in ("offset", *scores.parts))
            best = max((value for value in shares if value is not None), default=None)
            cells += [per_cent(scores.fact(data, item, "left")), short(scores.fact(data, item, "distance", side))]
            cells.append(per_cent(offset))
            cells += [
                tag("b", per_cent(share)) if share is not None and share == best else per_cent(share)
                for share in shares
            ]
        rows.append(cells)
    headings = ["relation", *(name for _ in scores.treebanks for name in names)]
    return table(headings, rows, label=f"Relations {side}, treebanks side by side", groups=groups)


def _beyond(scores: RelationTables) -> Html:
    """For how many relations of each treebank a part of attention is clearly better than the best fixed offset."""
    rows = []
    for data, side in scores.panels():
        items = scores.relations(data, side)
        won = winners(scores, data, side, items)
        rows.append([join(tag("bdi", data), f", {side}"), str(len(items)), *(str(won[part]) for part in scores.parts)])
    title = tag("h3", "Clearly better than the best fixed offset", class_="of-kind")
    headings = ["treebank", "relations", *(TITLES[part] for part in scores.parts)]
    return join(title, table(headings, rows, label="Relations where attention is clearly better than the best offset"))


def _links(scores: RelationTables) -> Html:
    """Correlations over treebanks, with the number of points."""
    if not scores.links:
        return Html("")
    rows = []
    for link in scores.links:
        which = [" ".join(IN_WORDS.get(word, word) for word in str(link["item"]).split(" ")), link["side"]]
        many = MISSING if link["count"] is None else f"{link['count']:,}"
        between = interval(link["low"], link["high"]) or MISSING
        rows.append([", ".join(filter(None, which)), short(link["value"]), between, many])
    title = tag("h3", "Correlations", class_="of-kind")
    explanation = notes("Pearson's correlation with its 95 % interval, and the number of points.")
    return join(
        title,
        explanation,
        table(["between", "correlation", "95 % interval", "points"], rows, label="Correlations over treebanks"),
    )


def in_sentences(scores: RelationTables) -> Section | None:
    """A few rows as examples: the word that attends, its partner, and the target of each part of attention."""
    examples = [each for each in scores.manifest.examples if set(PARTS) & set(each.looked)][:MOST]
    if not examples:
        return None
    body = tag("div", *(_example(scores, example) for example in examples), class_="swap-examples")
    lede = (
        "The word in the box attends, the word with dashes around it is its partner in the tree. Marks below the words "
        "show where the largest weight of each chosen head is."
    )
    return Section("examples", "Examples", lede, body, short="Examples")


def _example(scores: RelationTables, example: ProbeExample) -> Html:
    words = example.words
    looked = {part: place for part, place in example.looked.items() if part in PARTS and place is not None}
    cells = [_example_word(word, place, example, looked) for place, word in enumerate(words)]
    outcomes = [
        f"{TITLES[part]} ({example.head.get(part, MISSING)}): {'found' if place == example.partner else 'missed'}"
        for part, place in looked.items()
    ]
    where = [tag("span", tag("bdi", example.data), class_="dim")] if len(scores.treebanks) > 1 else []
    title = tag("h3", tag("bdi", example.item), f", {example.side}", *where)
    line = tag("div", *cells, class_="looked", dir=direction(words))
    return tag("article", title, line, tag("p", "; ".join(outcomes), class_="note"), class_="swap-example panel")


def _example_word(word: str, place: int, example: ProbeExample, looked: Mapping[str, int]) -> Html:
    """One word: whether it attends or is the partner, and the marks of the parts that attend to it most."""
    role = "asks" if place == example.query else "partner" if place == example.partner else None
    marks = [tag("i", class_=f"mark {part}", title=TITLES[part]) for part, at in looked.items() if at == place]
    name = tag("small", role) if role else ""
    return tag("span", tag("bdi", word), name, tag("span", *marks, class_="key marks") if marks else "", class_=role)

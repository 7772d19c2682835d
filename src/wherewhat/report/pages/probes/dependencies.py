"""The page of `wherewhat probe dependencies`: which relations attention finds by position, by content and by both."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, Number, count, listed, short
from wherewhat.report.blocks.axes import INK, PAPER, gradient, tone, x, y
from wherewhat.report.blocks.chart import ViewRows, heat_map
from wherewhat.report.blocks.layout import columns, definitions, folded, note, panel, present, small
from wherewhat.report.blocks.marks import ROWS, TIP
from wherewhat.report.blocks.numbers import capital, per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.relations import (
    LEVELS,
    PARTS,
    TITLES,
    by_distance,
    by_relation,
    chart_rows,
    part_key,
    share_in_words,
)
from wherewhat.report.blocks.rows import Row
from wherewhat.report.blocks.swap_examples import direction
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.report.pages.probes.dependency_numbers import every_relation, side_by_side
from wherewhat.report.pages.probes.probe_sections import claims_of, facts_of, the_data
from wherewhat.report.pages.probes.relation_tables import ALL, EACH, OF_HEADS, RelationTables
from wherewhat.tables.manifest.probe import ProbeExample, ProbeManifest

QUESTIONS = {
    "to head": "From a word, is its head word found?",
    "to dependent": "From a head word, is its dependent found?",
}
PARTNERS = {"to head": "the head word of a word", "to dependent": "the dependent of a head word"}
BY = {"positional": "by position alone", "contextual": "by content alone", "full": "as it is"}
HOW = {"positional": "attention on one repeated word", "contextual": "attention averaged over permutations"}
WIDE = 54  # pixels of width from which a cell can hold a relation's name
MOST = 8  # examples shown


def page_of_dependencies(numbers: pl.DataFrame, manifest: ProbeManifest) -> Page:
    """What heads find, by distance, by relation, by head and by treebank."""
    scores = RelationTables(numbers, manifest)
    if scores.held_out.is_empty() or not scores.treebanks:
        raise UserError("the table of the probe has no relations; run `wherewhat probe dependencies` again")
    many = len(scores.treebanks)
    by = f" {listed([BY[part] for part in scores.parts])}" if scores.parts else ""
    return Page(
        title=manifest.model.id,
        kind=f"Probe: dependency relations in {', '.join(scores.treebanks) if many <= 3 else count(many, 'treebank')}",
        lede="Some related words can be found by their places, others only by their content. "
        f"Which relations does attention find{by}?",
        facts=[*facts_of(manifest), *([(str(len(scores.everywhere)), "relations")] if scores.everywhere else [])],
        sections=present(
            [
                together(scores),
                near_and_far(scores),
                claims_of(manifest),
                relation_by_relation(scores),
                side_by_side(scores),
                which_heads(scores),
                in_sentences(scores),
                every_relation(scores),
                the_data(manifest),
                provenance_section(manifest, model=manifest.model, layers=manifest.layers),
            ]
        ),
    )


def together(scores: RelationTables) -> Section | None:
    """Where sentences are few: the accuracy of one head for all relations together, and why there is no more."""
    few = [panel for panel in scores.panels if not scores.near_and_far(*panel)]
    rows, sentences = [], []
    for data, side in scores.panels if few else ():
        by_kind = {kind: scores.of((data, ALL, side), kind) for kind in (*reversed(scores.parts), *LEVELS)}
        known = {kind: row for kind, row in by_kind.items() if row.get("value") is not None}
        where = side if len(scores.treebanks) == 1 else join(tag("bdi", data), f", {side}")
        for kind, row in known.items():
            rows.append([where, TITLES[kind], per_cent(row["value"]), _between(row), f"{row['count'] or 0:,}"])
        partner = capital(PARTNERS[side]) if len(scores.treebanks) == 1 else f"In {data}, {PARTNERS[side]}"
        sentences += [f"{partner} is found {shares}." for shares in _in_short(known)]
    if not rows:
        return None
    how = "Found means that the largest weight is on it, with one head for all relations."
    lede = " ".join([*sentences, how, _choice(scores), "Intervals are over sentences.", _parts(scores)])
    numbers = table(["side", "by", "found, %", "95 % interval", "rows"], rows, label="All relations together")
    body = join(numbers, note(_one_sided(scores), *dict.fromkeys(_too_few(scores, *panel) for panel in few)))
    return Section("together", "All relations together", lede.strip(), body, "Together")


def _in_short(known: Mapping[str, Row]) -> list[str]:
    """What each part of attention finds, and the best fixed offset, in words; nothing if no part was read."""
    first, *others = [part for part in known if part in PARTS] or [""]
    if not first:
        return []
    rows = count(known[first].get("count") or 0, "row")
    words = [f"in {share_in_words({**known[first], 'count': None})} of {rows} by {TITLES[first]}"]
    words += [f"in {per_cent(known[part]['value'])} % by {TITLES[part]}" for part in others]
    offset = f"; the best fixed offset finds {per_cent(known['offset']['value'])} %" if "offset" in known else ""
    return [f"{', '.join(words)}{offset}"]


def _between(row: Row) -> str:
    """An interval in per cent; nothing where there is none."""
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return ""
    return Number(f"{per_cent(low)} to {per_cent(high)}", 100 * low, 100 * high)


def near_and_far(scores: RelationTables) -> Section | None:
    """The main chart, for each side: near and far partners, treebank by treebank."""
    if not any(scores.near_and_far(*panel) for panel in scores.panels):
        return None
    cards = []
    for side in scores.sides:
        charts = [_distance_chart(scores, data, side) for data in scores.treebanks]
        if len(charts) > 1:
            each = [small(tag("bdi", data), chart) for data, chart in zip(scores.treebanks, charts, strict=True)]
            charts = [columns(*each, look="multiples languages")]
        cards.append(panel(*charts, title=capital(side), text=QUESTIONS[side]))
    offsets = scores.manifest.settings.get("offsets") or ()
    reach = f", out of {min(offsets)} to +{max(offsets)}".replace("-", "−") if offsets else ""
    sentences = [
        "The share of rows whose largest weight is on the right word, by the distance of that word. Every relation is "
        f"scored with its own best head over all distances. {_choice(scores)} Bars are 95 % intervals over sentences.",
        _parts(scores),
        f"The best fixed offset is also chosen for each relation{reach}.",
    ]
    body = join(columns(*cards), part_key(scores.parts, "mark-line", "flat"), note(_one_sided(scores)))
    return Section("distance", "Near and far", " ".join(filter(None, sentences)), body, "Distance")


def _distance_chart(scores: RelationTables, data: str, side: str) -> Chart | Html:
    """One treebank from one side, by distance, or why there is nothing to draw."""
    places = {far.replace("-", "–"): far for far in scores.near_and_far(data, side)}
    if not places:
        return note(_too_few(scores, data, side))
    rows = chart_rows("distance", places, lambda kind, far: scores.of((data, EACH, side), kind, distance=far))
    look = {"height": 300 if len(scores.treebanks) == 1 else 220, "title": f"{data}, {side}: near and far"}
    return by_distance(rows, f"{side}, in {data}", figure=_figure(scores, "distance", data, side), width=560, **look)


def _figure(scores: RelationTables, name: str, data: str, side: str) -> str:
    """The name of the picture of a chart: names of treebanks may be no file names."""
    return f"{name}_{scores.treebanks.index(data)}_{side.replace(' ', '_')}"


def _parts(scores: RelationTables) -> str:
    """What the parts of attention are."""
    parts = [f"{TITLES[part]} is {how}" for part, how in HOW.items() if part in scores.parts]
    black_box = "black-box: measured on other inputs, not computed from the model's weights"
    return f"{capital('; '.join(parts))} ({black_box})." if parts else ""


def _choice(scores: RelationTables) -> str:
    """On which sentences heads were chosen."""
    if scores.manifest.settings.get("selection") == "same":
        return "Heads were chosen on the same sentences, as in earlier work, so the numbers are too high."
    return "Each half of the sentences is scored with the head that the other half chose."


def _one_sided(scores: RelationTables) -> str:
    """That a causal model is scored only on visible partners, and on how many rows."""
    if not scores.causal:
        return ""
    visible, hidden = (
        sum(sum(getattr(source, name).values()) for source in scores.manifest.data) for name in ("rows", "hidden")
    )
    left = f" ({visible:,} of {visible + hidden:,} rows)" if hidden else ""
    return (
        f"Each word of this model sees only the words before it, so only such partners are scored{left}. Do not "
        "compare this with a model that sees both sides. Facts about a whole treebank (left, distance, median) are "
        "about all head words."
    )


def _too_few(scores: RelationTables, data: str, side: str) -> str:
    """Why there is nothing to draw, and what would help."""
    least = scores.manifest.settings.get("least")
    needed = f"{least:,} rows" if least else "enough rows"
    if scores.relations(data, side):
        why = f"all relations together have fewer than {needed} at every distance"
    else:
        sources = [source for source in scores.manifest.data if source.name == data]
        dropped = [(each.rows, each.item) for source in sources for each in source.dropped if each.side == side]
        most = f"; the most frequent, {max(dropped)[1]}, has {max(dropped)[0]:,}" if dropped else ""
        why = f"no relation has {needed} {side} in both halves of the sentences{most}"
    return f"Too few rows: {why}. Read more sentences, or give a smaller `--least`."


def relation_by_relation(scores: RelationTables) -> Section | None:
    """One line per relation, the two sides beside each other; nothing where no relation has enough rows."""
    if not scores.everywhere:
        return None
    single, groups = len(scores.treebanks) == 1, []
    for data in scores.treebanks:
        cards = [panel(_relation_chart(scores, data, side), title=capital(side)) for side in scores.sides]
        opened = data == scores.treebanks[0]
        groups.append(columns(*cards) if single else folded(tag("bdi", data), columns(*cards), opened=opened))
    counts = " ".join(filter(None, (_counted(scores, *panel) for panel in scores.panels)))
    several = f"How many are clearly better in each of {count(len(scores.treebanks), 'treebank')} is written below it."
    lede = (
        "From relations between neighbours to distant ones. The vertical mark is the best fixed offset, with its "
        "interval as a band: the accuracy of always attending the same number of words away. The thin mark is uniform "
        f"attention. {counts if single else several}"
    )
    body = join(*groups, part_key(scores.parts, "mark", "upright"))
    return Section("relations", "Relation by relation", lede.strip(), body, "Relations")


def _relation_chart(scores: RelationTables, data: str, side: str) -> Html:
    """One treebank from one side, relation by relation, or why there is nothing to draw."""
    items = scores.relations(data, side)
    if not items:
        return note(_too_few(scores, data, side))
    counted, names = _counted(scores, data, side), dict(zip(items, items, strict=True))
    rows = chart_rows("relation", names, lambda kind, item: scores.of((data, item, side), kind))
    look = {"figure": _figure(scores, "relations", data, side), "title": f"{data}, {side}: relation by relation"}
    chart = by_relation(rows, f"{side}, in {data}. {counted}".strip(), width=560, **look)
    return join(chart, note(counted) if len(scores.treebanks) > 1 else None)


def _counted(scores: RelationTables, data: str, side: str) -> str:
    """For how many relations each part is clearly better than the offset; nothing where there are none."""
    items = scores.relations(data, side)
    better = scores.winners(data, side, items)
    if not items or not better:
        return ""
    each = ", ".join(f"{TITLES[part]} for {better[part]}" for part in reversed(scores.parts))
    where = f" in {data}" if len(scores.treebanks) > 1 else ""
    return f"Of {count(len(items), 'relation')} {side}{where}, clearly better than the best fixed offset: {each}."


def which_heads(scores: RelationTables) -> Section | None:
    """Layer by head: what each was chosen for, how fixed its offset is, and its confidence."""
    measures = [name for name in OF_HEADS if name in set(scores.heads["measure"])]
    if not measures:
        return None
    rows = []
    for (layer, head), its in sorted(scores.heads.partition_by("layer", "head", as_dict=True).items()):
        best = [scores.best_for(side, f"L{layer}H{head}") for side in scores.sides]
        values = dict(its.select("measure", "value").iter_rows())
        if any(best):
            chosen = [tag("span", ", ".join(items) or MISSING, class_="listed") for items in best]
            rows.append([f"L{layer}H{head}", *chosen, *(short(values.get(measure)) for measure in measures)])
    headings = ["head", *(tag("span", f"chosen {side}", class_="listed") for side in scores.sides)]
    headings += [TITLES.get(measure, measure) for measure in measures]
    body = join(
        panel(_grid(scores, measures[:2]), note("A dot replaces a name that does not fit; the numbers are below.")),
        definitions(((TITLES.get(name, name), OF_HEADS[name]) for name in measures), "asked sources"),
        table(headings, rows, label="Chosen heads, and their relations") if rows else None,
    )
    several = f" Chosen on {scores.treebanks[0]}." if len(scores.treebanks) > 1 else ""
    lede = (
        "Each cell is a head, with the relation that its full attention was chosen for; +2 means two more. The "
        f"stronger its colour, the larger the measure that is selected above.{several}"
    )
    return Section("heads", "Which head is best for what", lede, body, "Heads")


def _grid(scores: RelationTables, measures: Sequence[str]) -> Chart:
    """Layer by head: a measure of the head as its colour, and the relation that it was chosen for."""
    views, heads, layers = {}, max(scores.heads["head"]) + 1, scores.heads["layer"].n_unique()
    for side, measure in product(scores.sides, measures):
        rows = scores.heads.filter(measure=measure).drop_nulls("value").iter_rows(named=True)
        cells = [{**row, "items": scores.best_for(side, f"L{row['layer']}H{row['head']}")} for row in rows]
        for cell in cells:
            more = f" +{len(cell['items']) - 1}" if len(cell["items"]) > 1 else ""
            cell["best"] = f"{cell['items'][0]}{more}" if cell["items"] else ""
        views[f"{measure}, {side}"] = ViewRows(cells, {"measure": measure})
    axis: dict[str, Any] = {"type": "ordinal", "paddingInner": 0, "paddingOuter": 0}
    axis["axis"] = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True)
    place: dict[str, Any] = {"x": x("head", "head", **axis), "y": y("layer", "layer", **axis)}
    label = ROWS.transform_calculate(words=f"width / {heads} >= {WIDE} ? datum.best : datum.best ? '●' : ''")
    look: dict[str, Any] = {"fontSize": 12, "limit": alt.ExprRef(f"width / {heads} - 6"), "tooltip": TIP}
    pale, deep = (label.transform_filter(f"datum.value {sign} (dark ? 0.65 : 0.5)") for sign in ("<=", ">"))
    words = {**place, "text": alt.Text("words", type="nominal")}
    return heat_map(
        "heads",
        views,
        **place,
        scale=alt.Scale(domain=[0, 1], range=[tone("card"), tone("where")], clamp=True, interpolate="lab"),
        legend=gradient("{measure}", titleLimit=200, gradientLength=160, values=[0, 0.5, 1]),
        above=[pale.mark_text(color=INK, **look).encode(**words), deep.mark_text(color=PAPER, **look).encode(**words)],
        tip=lambda row: (
            f"L{row['layer']}H{row['head']}: {row['measure']} {short(row['value'])}; "
            f"chosen for {', '.join(row['items']) or 'none'}"
        ),
        label=f"Layer by head: the relation that each head was chosen for in {scores.treebanks[0]}",
        height=max(120, min(46 * layers, 620)),
        figure=True,
        width=720,
        title=f"{scores.treebanks[0]}: what each head is best for",
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
    return Section("examples", "Examples", lede, body, "Examples")


def _example(scores: RelationTables, example: ProbeExample) -> Html:
    """A sentence: which word attends, which is its partner, and below each word the parts that attend to it most."""
    targets = {part: place for part, place in example.looked.items() if part in PARTS and place is not None}
    words = []
    for place, word in enumerate(example.words):
        role = "asks" if place == example.query else "partner" if place == example.partner else None
        marks = [tag("i", class_=f"mark {part}", title=TITLES[part]) for part, at in targets.items() if at == place]
        below = tag("span", *marks, class_="key marks") if marks else None
        words.append(tag("span", tag("bdi", word), tag("small", role) if role else None, below, class_=role))
    outcomes = [
        f"{TITLES[part]} ({example.head.get(part, MISSING)}): {'found' if place == example.partner else 'missed'}"
        for part, place in targets.items()
    ]
    where = tag("span", tag("bdi", example.data), class_="dim") if len(scores.treebanks) > 1 else None
    title = tag("h3", tag("bdi", example.item), f", {example.side}", where)
    line = tag("div", *words, class_="looked", dir=direction(example.words))
    return tag("article", title, line, note("; ".join(outcomes)), class_="swap-example panel")

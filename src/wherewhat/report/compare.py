"""The page of a comparison: what changed over all heads, layer by layer, along the list, and in which heads most."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.claims import the_claims
from wherewhat.report.compare_charts import along, by_layer, strips
from wherewhat.report.compare_tables import Found, between, by, of_all, quartiles, stepped
from wherewhat.report.compare_words import sentences
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.edit_charts import changed
from wherewhat.report.edit_tables import clear, plain, three, unsaid
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, interval, short
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.similar import similar_charts, similar_figures, similar_tables, the_same_things
from wherewhat.report.tags import Html, join, prose, tag

HEADINGS = (
    "score",
    "before",
    "half of heads",
    "after",
    "half of heads",
    "change",
    "95 %",
    "95 % over heads",
    "up",
    "down",
)


def page_of_comparison(compare: pl.DataFrame, manifest: Manifest, similarity: pl.DataFrame | None = None) -> Page:
    """Lay out what changed, and how it was found out."""
    found = Found(compare, manifest)
    pairs = pl.DataFrame() if similarity is None else similarity
    if compare.is_empty() or not found.whole:
        raise UserError("the table of the comparison has no rows to show; run `wherewhat compare` again")
    told = {**manifest, "notes": [*(manifest.get("intervals") or ()), *(manifest.get("notes") or ())]}
    sections = [
        what_changed(found),
        the_claims(manifest) if manifest.get("claims") else None,
        layer_by_layer(found),
        along_the_list(found),
        which_heads(found),
        the_same_things(pairs, manifest),
        every_score(found),
        what_was_compared(found),
        the_texts(manifest),
        how_it_was_made(told),
    ]
    return Page(
        title=found.last,
        kind=f"Compared with {found.first}"
        if len(found.sides) < 3
        else f"{len(found.sides)} states, from {found.first}",
        lede=_lede(found),
        facts=_facts(found),
        sections=[section for section in sections if section],
        charts={**_charts(found), **similar_charts(pairs)},
        tables={**found.tables, **similar_tables(pairs)},
        figures={**_figures(found), **similar_figures(pairs)},
    )


def what_changed(found: Found) -> Section:
    """The first screen: every leading score over all heads, before and after, with every head as a dot."""
    tiles = [_tile(row, found) for row in found.leading]
    body = join(tag("div", *tiles, class_="tiles"), *(tag("p", note, class_="note") for note in _by_draws(found)))
    lede = (
        f"Means over all heads of {found.first} and of {found.last}. Each dot is a head; the bar holds the half of "
        "them in the middle, the upright mark is their mean"
        f"{', the dashed line chance' if any(found.tables['chances']['there']) else ''}. {_over_heads(found)}"
    )
    return Section("change", "Before and after", lede, body, short="Change")


def layer_by_layer(found: Found) -> Section | None:
    """The same by depth."""
    layers = found.alone["layer"].n_unique()
    if layers < 2:
        return None
    views = [(plain(what), {"what": what, "title": plain(what)}) for what in found.views]
    body = panel(drawn("by_layer", "Every head by its layer, before and after", height=380, views=views))
    lede = f"Every head beside its layer, and the means of layers as lines. {_farthest(found)}"
    return Section("layers", "Layer by layer", lede, body, short="Layers")


def along_the_list(found: Found) -> Section | None:
    """How scores go from stop to stop, where there are more than two."""
    if "along" not in found.tables:
        return None
    views = [(plain(what), {"what": what, "title": plain(what)}) for what in found.views]
    body = panel(drawn("along", "Means of heads from the first to the last", height=380, views=views))
    stops = "steps of training" if stepped(found) else "what was compared, in its order"
    lede = (
        f"From left to right: {stops}. The thick line is the mean over all heads, with the 95 % interval of its "
        f"change since {found.first}; thin lines are layers. {_turn(found)}"
    )
    return Section("along", "Along the list", lede, body, short="Along")


def which_heads(found: Found) -> Section | None:
    """The heads that changed most, and whether that means anything."""
    if not found.paired:
        return None
    views = [(plain(what), {"score": what}) for what in found.views]
    most = max(found.tables["changed"]["score"].count(what) for what in found.views)
    body = panel(drawn("changed", "The heads that changed most", height=60 + 26 * most, views=views))
    meaning = (
        "These are states of one training run, so a head is the same head throughout."
        if found.same_heads
        else "Read it with care: heads of models that do not come from each other share nothing but their place, so "
        "this says where a layer has changed, not what became of a head. Within one run, or of a fine-tuned model, it "
        "does."
    )
    lede = f"With 95 % intervals: orange rises, blue falls, grey is not told from no change. {meaning}"
    return Section("most", "Which heads changed most", lede, body, short="Heads")


def every_score(found: Found) -> Section:
    """Every score that both have, as numbers."""
    head = tag("tr", *(tag("th", name, scope="col") for name in HEADINGS))
    body = [_line(row, found) for row in found.whole]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroller")
    lede = (
        "Means over all heads, the half of the heads in the middle, and the change of the mean. Up and down count the "
        "heads whose own interval holds no zero."
    )
    return Section("scores", "Every score", lede, table, short="Scores")


def what_was_compared(found: Found) -> Section:
    """Which models and which texts."""
    entries = []
    for side in found.sides:
        model, texts = side.get("model") or {}, side.get("texts") or {}
        fresh = f", {count(side['draws'], 'draw')} of fresh weights" if side.get("draws") else ""
        read = f"{count(texts['count'], 'text')} from {texts.get('source')}" if texts.get("count") else ""
        rows = {"model": f"{model.get('path') or model.get('id')}{fresh}", "family": model.get("family"), "texts": read}
        rows |= {"weights": str(model.get("weights_hash") or "")[:12], "command": side.get("command")}
        known = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows.items() if value]
        entries.append(tag("section", tag("h3", side["name"]), tag("dl", *known)))
    lede = f"Every later one is held against {found.first}."
    return Section("sides", "What was compared", lede, tag("div", *entries, class_="made"), short="Sides")


def _tile(row: Mapping[str, Any], found: Found) -> Html:
    """One score: large numbers, by how much they differ, and every head."""
    what = row["what"]
    big = [tag("span", three(row["before"])), tag("i", "→", aria_label="to"), tag("b", three(row["after"]))]
    unsure = "" if clear(row) or unsaid(row) else ", not told from none"
    spread = tag("span", f"{between(row) or 'no interval'}{unsure}")
    change = tag("p", tag("b", by(row["change"])), spread, class_="by")
    beside = "; ".join(filter(None, (found.length(row["score"]), _moved(row), _in_general(row))))
    chart = drawn("strips", f"{plain(what)} of every head before and after", height=150, words={"what": what})
    told = (found.manifest.get("scores") or {}).get(row["score"]) or {}
    note = tag("p", prose(str(told["asks"])), class_="note") if told.get("asks") else ""
    return panel(
        tag("h3", plain(what)), tag("p", *big, class_="big"), change, tag("p", beside, class_="note"), chart, note
    )


def _moved(row: Mapping[str, Any]) -> str:
    """How many heads surely moved, and which way; nothing where no head has a counterpart, or an interval."""
    known = row["heads"] and (row["exact"] or not unsaid(row))
    return f"{row['up']} of {count(row['heads'], 'head')} up, {row['down']} down" if known else ""


def _in_general(row: Mapping[str, Any]) -> str:
    """What is known of heads in general, beside what is of these."""
    return f"over heads {between(of_all(row))}" if row["over_heads"] else ""


def _over_heads(found: Found) -> str:
    """What the intervals of means are over."""
    told = list(found.manifest.get("intervals") or ())
    return " ".join(map(str, told[:2]))


def _by_draws(found: Found) -> list[Html]:
    """How much draws of fresh weights differ among themselves, beside how much training changed."""
    if len(found.draws) < 2:
        return []
    rows = found.shown.filter(pl.col("against").is_in(found.draws) & pl.col("layer").is_null())
    told = []
    for row in found.leading:
        values = rows.filter(pl.col("what") == row["what"])["before"]
        told.append(f"`{row['what']}` {' to '.join(dict.fromkeys(map(short, _ends(values))))}")
    return [prose(f"The means of the {len(found.draws)} draws of fresh weights lie at: {'; '.join(told)}.")]


def _ends(values: pl.Series) -> list[float]:
    return sorted(values)[:: max(1, len(values) - 1)]


def _lede(found: Found) -> str:
    """What became of the heads: how they spread and where they moved, then their mean."""
    told = [sentence[:1].upper() + sentence[1:] for sentence in sentences(found)]
    return f"From {found.first} to {found.last}. {' '.join(told)}"


def _farthest(found: Found) -> str:
    """In which layer the first score changed most."""
    what = found.views[0]
    rows = found.ours.filter((pl.col("what") == what) & pl.col("layer").is_not_null() & pl.col("head").is_null())
    if not found.paired:
        return ""
    row = rows.sort(pl.col("change").abs(), descending=True).row(0, named=True)
    sure = "" if unsaid(row) else f" ({between(row)} in its heads)"
    return f"`{what}` changed most in layer {row['layer']}: {by(row['change'])}{sure}."


def _turn(found: Found) -> str:
    """Between which two stops the first score moved most."""
    what, table = found.views[0], found.tables["along"]
    stops = sorted(
        {
            (order, name, value)
            for order, name, value, of, layer in zip(
                *(table[column] for column in ("order", "name", "value", "what", "layer")), strict=True
            )
            if of == what and layer is None
        }
    )
    steps = [(abs(after[2] - before[2]), before, after) for before, after in pairwise(stops)]
    _, before, after = max(steps)
    return f"`{what}` moves most between {before[1]} and {after[1]}: {by(after[2] - before[2])}."


def _line(row: Mapping[str, Any], found: Found) -> Html:
    both = found.of(row["what"])
    halves = {state: quartiles(heads) for state, heads in both.items()}
    cells = []
    for state in ("before", "after"):
        cells += [short(row[state]), interval(halves[state][0], halves[state][2])]
    moved = [str(row["up"]), str(row["down"])] if found.paired else ["", ""]
    cells += [by(row["change"]), between(row), between(of_all(row)), *moved]
    quiet = None if clear(row) else "unclear"
    return tag(
        "tr",
        tag("th", plain(row["what"]), scope="row"),
        *(tag("td", cell, class_=quiet) for cell in cells),
    )


def _facts(found: Found) -> list[tuple[str, str]]:
    model = found.sides[-1].get("model") or {}
    facts = [(f"{model[name]:,}", name) for name in ("layers", "heads") if model.get(name)]
    facts.append((f"{len(found.whole)}", "scores in common" if len(found.whole) != 1 else "score in common"))
    facts += [(str(len(found.draws)), "draws of fresh weights")] if len(found.draws) > 1 else []
    copies = (found.manifest.get("positional") or {}).get("n")
    return facts + ([(str(copies), "copies of a word")] if copies else [])


def _charts(found: Found) -> dict[str, Spec]:
    dots = max(len(rows) for rows in found.of(found.views[0]).values())
    layers = int(found.alone["layer"].max()) + 1  # type: ignore[arg-type]
    charts: dict[str, Spec] = {"strips": strips(dots), "by_layer": by_layer(layers, dots)}
    charts |= {"changed": changed()} if found.paired else {}
    if "along" in found.tables:
        charts["along"] = along(layers, steps=stepped(found))
    return charts


def _figures(found: Found) -> dict[str, Figure]:
    """The charts of the leading scores as pictures."""
    charts, made = _charts(found), {}
    between = f"{found.first} and {found.last}"
    for row in found.leading:
        what = row["what"]
        words, name = {"what": what, "title": plain(what)}, _file_name(what)
        for chart, size in (("by_layer", (640, 380)), ("along", (640, 380))):
            if chart in charts:
                spec = titled(charts[chart], plain(what), between)
                made[f"{chart}_{name}"] = figure_of(spec, found.tables, size, words)
    if not found.paired:
        return made
    what = found.views[0]
    spec = titled(charts["changed"], f"Which heads changed most: {plain(what)}", between)
    return {**made, "changed": figure_of(spec, found.tables, (560, 380), {"score": what})}


def _file_name(what: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in what)

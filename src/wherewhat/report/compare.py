"""The page of a comparison: what changed over all heads, by layer, along the list, and in which heads most."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, interval, short
from wherewhat.report.claims import claims_section
from wherewhat.report.compare_charts import along, by_layer, strips
from wherewhat.report.compare_sentences import sentences
from wherewhat.report.compare_tables import ComparisonData, between, by, of_all, quartiles, stepped
from wherewhat.report.edit_charts import changed
from wherewhat.report.edit_tables import clear, fixed, lacks_interval, plain
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section, texts_section
from wherewhat.report.similar import similar_charts, similar_figures, similar_heads_section, similar_tables
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.tables.manifest.scores import CompareManifest

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


def page_of_comparison(
    compare: pl.DataFrame, manifest: CompareManifest, similarity: pl.DataFrame | None = None
) -> Page:
    """Lay out what changed, and how it was measured."""
    comparison = ComparisonData(compare, manifest)
    pairs = pl.DataFrame() if similarity is None else similarity
    if compare.is_empty() or not comparison.whole:
        raise UserError("the table of the comparison has no rows to show; run `wherewhat compare` again")
    sections = [
        what_changed(comparison),
        claims_section(manifest.claims) if manifest.claims else None,
        layer_by_layer(comparison),
        along_the_list(comparison),
        which_heads(comparison),
        similar_heads_section(pairs, manifest.similar),
        every_score(comparison),
        what_was_compared(comparison),
        texts_section(manifest.texts),
        provenance_section(
            manifest,
            model=manifest.model,
            texts=manifest.texts,
            layers=manifest.layers,
            notes=manifest.intervals,
        ),
    ]
    return Page(
        title=comparison.last,
        kind=f"Compared with {comparison.first}"
        if len(comparison.sides) < 3
        else f"{len(comparison.sides)} models, from {comparison.first}",
        lede=_lede(comparison),
        facts=_facts(comparison),
        sections=[section for section in sections if section],
        charts={**_charts(comparison), **similar_charts(pairs)},
        tables={**comparison.tables, **similar_tables(pairs)},
        figures={**_figures(comparison), **similar_figures(pairs)},
    )


def what_changed(comparison: ComparisonData) -> Section:
    """The first screen: every leading score over all heads, before and after, with one dot per head."""
    tiles = [_tile(row, comparison) for row in comparison.leading]
    body = join(tag("div", *tiles, class_="tiles"), *(tag("p", note, class_="note") for note in _by_draws(comparison)))
    chance = ", the dashed line the chance level" if any(comparison.tables["chances"]["there"]) else ""
    lede = (
        f"Means over all heads of {comparison.first} and of {comparison.last}. Each dot is a head; the bar is the "
        f"middle half of the heads, the vertical mark their mean{chance}. {_over_heads(comparison)}"
    )
    return Section("change", "Before and after", lede, body, short="Change")


def layer_by_layer(comparison: ComparisonData) -> Section | None:
    """The same by layer."""
    layers = comparison.alone["layer"].n_unique()
    if layers < 2:
        return None
    views = [(plain(what), {"what": what, "title": plain(what)}) for what in comparison.views]
    body = panel(chart_widget("by_layer", "Every head by layer, before and after", height=380, views=views))
    lede = f"One dot per head; lines are the means of layers. {_farthest(comparison)}"
    return Section("layers", "By layer", lede, body, short="Layers")


def along_the_list(comparison: ComparisonData) -> Section | None:
    """How scores change along the list, if it has more than two models."""
    if "along" not in comparison.tables:
        return None
    views = [(plain(what), {"what": what, "title": plain(what)}) for what in comparison.views]
    body = panel(chart_widget("along", "Means of heads from the first to the last", height=380, views=views))
    stops = "steps of training" if stepped(comparison) else "the models in the order given"
    lede = (
        f"From left to right: {stops}. The thick line is the mean over all heads, with the 95 % interval of its "
        f"change since {comparison.first}; thin lines are layers. {_turn(comparison)}"
    )
    return Section("along", "Along the list", lede, body, short="Along")


def which_heads(comparison: ComparisonData) -> Section | None:
    """The heads that changed most, and whether a head is the same head on both sides."""
    if not comparison.paired:
        return None
    views = [(plain(what), {"score": what}) for what in comparison.views]
    most = max(comparison.tables["changed"]["score"].count(what) for what in comparison.views)
    body = panel(chart_widget("changed", "The heads that changed most", height=60 + 26 * most, views=views))
    meaning = (
        "These are checkpoints of one training run, so a head is the same head throughout."
        if comparison.manifest.same_heads
        else "Heads of independently trained models share only their position, so a change here says that a layer "
        "differs, not that a head changed. Within one training run, or after fine-tuning, heads correspond."
    )
    lede = f"With 95 % intervals: orange rises, blue falls, grey is no clear change. {meaning}"
    return Section("most", "Which heads changed most", lede, body, short="Heads")


def every_score(comparison: ComparisonData) -> Section:
    """Every score that both models have, as numbers."""
    head = tag("tr", *(tag("th", name, scope="col") for name in HEADINGS))
    body = [_line(row, comparison) for row in comparison.whole]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroller")
    lede = (
        "Means over all heads, the middle half of the heads, and the change of the mean. Up and down count the heads "
        "whose own interval excludes zero."
    )
    return Section("scores", "Every score", lede, table, short="Scores")


def what_was_compared(comparison: ComparisonData) -> Section:
    """Which models were compared, on which texts."""
    entries = []
    for side in comparison.sides:
        model, texts = side.model, side.texts
        draws = f", {count(side.draws, 'draw')} of untrained weights" if side.draws else ""
        read = f"{count(texts.count, 'text')} from {texts.source}" if texts.count else ""
        rows = {"model": f"{model.path or model.id}{draws}", "family": model.family, "texts": read}
        rows |= {"weights": (model.weights_hash or "")[:12], "command": side.command}
        known = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows.items() if value]
        entries.append(tag("section", tag("h3", side.name), tag("dl", *known)))
    lede = f"Every later model is compared with {comparison.first}."
    return Section("sides", "What was compared", lede, tag("div", *entries, class_="made"), short="Sides")


def _tile(row: Mapping[str, Any], comparison: ComparisonData) -> Html:
    """One score: its means in large type, their change, and every head."""
    what = row["what"]
    big = [tag("span", fixed(row["before"])), tag("i", "→", aria_label="to"), tag("b", fixed(row["after"]))]
    unsure = "" if clear(row) or lacks_interval(row) else ", no clear change"
    spread = tag("span", f"{between(row) or 'no interval'}{unsure}")
    change = tag("p", tag("b", by(row["change"])), spread, class_="by")
    beside = "; ".join(filter(None, (comparison.length(row["score"]), _moved(row), _in_general(row))))
    chart = chart_widget("strips", f"{plain(what)} of every head before and after", height=150, words={"what": what})
    score = comparison.manifest.scores.get(row["score"])
    note = tag("p", prose(score.asks), class_="note") if score and score.asks else ""
    return panel(
        tag("h3", plain(what)), tag("p", *big, class_="big"), change, tag("p", beside, class_="note"), chart, note
    )


def _moved(row: Mapping[str, Any]) -> str:
    """How many heads clearly changed, and in which direction; empty where no head has a counterpart or an interval."""
    known = row["heads"] and (row["exact"] or not lacks_interval(row))
    return f"{row['up']} of {count(row['heads'], 'head')} up, {row['down']} down" if known else ""


def _in_general(row: Mapping[str, Any]) -> str:
    """The interval over heads, beside that of exactly these heads."""
    return f"over heads {between(of_all(row))}" if row["over_heads"] else ""


def _over_heads(comparison: ComparisonData) -> str:
    """What the intervals of means are intervals of."""
    return " ".join(comparison.manifest.intervals[:2])


def _by_draws(comparison: ComparisonData) -> list[Html]:
    """How much draws of untrained weights differ, to compare with the change through training."""
    if len(comparison.manifest.draws) < 2:
        return []
    rows = comparison.shown.filter(pl.col("against").is_in(comparison.manifest.draws) & pl.col("layer").is_null())
    ranges = []
    for row in comparison.leading:
        values = rows.filter(pl.col("what") == row["what"])["before"]
        ranges.append(f"`{row['what']}` {' to '.join(dict.fromkeys(map(short, _ends(values))))}")
    draws = len(comparison.manifest.draws)
    return [prose(f"Means of the {draws} draws of untrained weights: {'; '.join(ranges)}.")]


def _ends(values: pl.Series) -> list[float]:
    return sorted(values)[:: max(1, len(values) - 1)]


def _lede(comparison: ComparisonData) -> str:
    """The findings, after the names of the two models."""
    findings = [sentence[:1].upper() + sentence[1:] for sentence in sentences(comparison)]
    return f"From {comparison.first} to {comparison.last}. {' '.join(findings)}"


def _farthest(comparison: ComparisonData) -> str:
    """In which layer the leading score changed most."""
    what = comparison.views[0]
    rows = comparison.first_to_last.filter(
        (pl.col("what") == what) & pl.col("layer").is_not_null() & pl.col("head").is_null()
    )
    if not comparison.paired:
        return ""
    row = rows.sort(pl.col("change").abs(), descending=True).row(0, named=True)
    sure = "" if lacks_interval(row) else f" ({between(row)} in its heads)"
    return f"`{what}` changed most in layer {row['layer']}: {by(row['change'])}{sure}."


def _turn(comparison: ComparisonData) -> str:
    """Between which two models the leading score changed most."""
    what, table = comparison.views[0], comparison.tables["along"]
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
    return f"`{what}` changes most between {before[1]} and {after[1]}: {by(after[2] - before[2])}."


def _line(row: Mapping[str, Any], comparison: ComparisonData) -> Html:
    both = comparison.of(row["what"])
    halves = {state: quartiles(heads) for state, heads in both.items()}
    cells = []
    for state in ("before", "after"):
        cells += [short(row[state]), interval(halves[state][0], halves[state][2])]
    moved = [str(row["up"]), str(row["down"])] if comparison.paired else ["", ""]
    cells += [by(row["change"]), between(row), between(of_all(row)), *moved]
    quiet = None if clear(row) else "unclear"
    return tag(
        "tr",
        tag("th", plain(row["what"]), scope="row"),
        *(tag("td", cell, class_=quiet) for cell in cells),
    )


def _facts(comparison: ComparisonData) -> list[tuple[str, str]]:
    model = comparison.sides[-1].model
    facts = [(f"{size:,}", name) for name, size in (("layers", model.layers), ("heads", model.heads)) if size]
    facts.append((f"{len(comparison.whole)}", "scores in common" if len(comparison.whole) != 1 else "score in common"))
    facts += (
        [(str(len(comparison.manifest.draws)), "draws of untrained weights")]
        if len(comparison.manifest.draws) > 1
        else []
    )
    copies = comparison.manifest.positional.n if comparison.manifest.positional else 0
    return facts + ([(str(copies), "copies of a word")] if copies else [])


def _charts(comparison: ComparisonData) -> dict[str, Spec]:
    dots = max(len(rows) for rows in comparison.of(comparison.views[0]).values())
    layers = int(comparison.alone["layer"].max()) + 1  # type: ignore[arg-type]
    charts: dict[str, Spec] = {"strips": strips(dots), "by_layer": by_layer(layers, dots)}
    charts |= {"changed": changed()} if comparison.paired else {}
    if "along" in comparison.tables:
        charts["along"] = along(layers, steps=stepped(comparison))
    return charts


def _figures(comparison: ComparisonData) -> dict[str, Figure]:
    """The charts of the leading scores as figures."""
    charts, made = _charts(comparison), {}
    between = f"{comparison.first} and {comparison.last}"
    for row in comparison.leading:
        what = row["what"]
        words, name = {"what": what, "title": plain(what)}, _file_name(what)
        for chart, size in (("by_layer", (640, 380)), ("along", (640, 380))):
            if chart in charts:
                spec = titled(charts[chart], plain(what), between)
                made[f"{chart}_{name}"] = figure_of(spec, comparison.tables, size, words)
    if not comparison.paired:
        return made
    what = comparison.views[0]
    spec = titled(charts["changed"], f"Which heads changed most: {plain(what)}", between)
    return {**made, "changed": figure_of(spec, comparison.tables, (560, 380), {"score": what})}


def _file_name(what: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in what)

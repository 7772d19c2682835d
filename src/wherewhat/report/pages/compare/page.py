"""The page of a comparison: what changed over all heads, by layer, along the list, and in which heads most."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import count, interval, short
from wherewhat.report.blocks.axes import ACCENT, INK, MUTED, colour, legend, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, forest
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import counted, definitions, note, panel, present
from wherewhat.report.blocks.marks import ROWS, TIP, dots, line, named, rule
from wherewhat.report.blocks.numbers import capital, clear, fixed, lacks_interval, spaced
from wherewhat.report.blocks.provenance import provenance_section, texts_section
from wherewhat.report.blocks.rows import Row, drawable
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Chart, Page, Section
from wherewhat.report.pages.compare.along import (
    along_the_list,
    heads_along_the_list,
    no_head_by_head,
    value_axis,
)
from wherewhat.report.pages.compare.comparison import STATES, ComparisonData, between, by, of_all, quartiles, sentences
from wherewhat.report.pages.compare.similar import similar_heads_section
from wherewhat.tables.manifest.scores import CompareManifest

HEADINGS = (
    *("score", "before", "half of heads", "after", "half of heads"),
    *("change", "95 %", "95 % over heads", "up", "down"),
)
MOST_HEADS = 14  # that changed most are shown
MOST_CARDS = 6  # models that are described one by one; more are lines of a table
GOLDEN = 0.6180339887  # multiples of it never coincide: heads of equal value are drawn side by side
TONES = {"before": MUTED, "after": ACCENT}
ASIDE = {"before": -0.13, "after": 0.13}  # how far states are drawn from the number of their layer


def page_of_comparison(
    compare: pl.DataFrame, manifest: CompareManifest, similarity: pl.DataFrame | None = None
) -> Page:
    """Lay out what changed, and how it was measured."""
    comparison = ComparisonData(compare, manifest)
    if compare.is_empty() or not comparison.whole:
        raise UserError("the table of the comparison has no rows to show; run `wherewhat compare` again")
    models, first = len(comparison.sides), comparison.first
    findings = " ".join(capital(sentence) for sentence in sentences(comparison))
    sections = [
        what_changed(comparison),
        claims_section(manifest.claims) if manifest.claims else None,
        layer_by_layer(comparison),
        along_the_list(comparison),
        heads_along_the_list(comparison),
        no_head_by_head(comparison),
        which_heads(comparison),
        similar_heads_section(pl.DataFrame() if similarity is None else similarity, manifest.similar),
        every_score(comparison),
        what_was_compared(comparison),
        texts_section(manifest.texts),
    ]
    origin: dict[str, Any] = {name: getattr(manifest, name) for name in ("model", "texts", "layers")}
    return Page(
        title=comparison.last,
        kind=f"{models} models, from {first}" if models > 2 else f"Compared with {first}",
        lede=f"From {first} to {comparison.last}. {findings}",
        facts=_facts(comparison),
        sections=present([*sections, provenance_section(manifest, notes=manifest.intervals, **origin)]),
    )


def what_changed(comparison: ComparisonData) -> Section:
    """The first screen: every leading score over all heads, before and after, with one dot per head."""
    tiles = [_tile(row, comparison) for row in comparison.leading]
    body = join(tag("div", *tiles, class_="tiles"), _spread_of_draws(comparison))
    known = any(comparison.chance(what) is not None for what in comparison.views)
    chance = ", the dashed line the chance level" if known else ""
    lede = (
        f"Means over all heads of {comparison.first} and of {comparison.last}. Each dot is a head; the bar is the "
        f"middle half of the heads, the vertical mark their mean{chance}. "
        f"{' '.join(comparison.manifest.intervals[:2])}"
    )
    return Section("change", "Before and after", lede, body, short="Change")


def _tile(row: Mapping[str, Any], comparison: ComparisonData) -> Html:
    """One score: its means in large type, their change, and every head."""
    what, score = row["what"], comparison.manifest.scores.get(row["score"])
    big = [tag("span", fixed(row["before"])), tag("i", "→", aria_label="to"), tag("b", fixed(row["after"]))]
    unsure = "" if clear(row) or lacks_interval(row) else ", no clear change"
    change = tag("p", tag("b", by(row["change"])), tag("span", f"{between(row) or 'no interval'}{unsure}"), class_="by")
    known = row["heads"] and (row["exact"] or not lacks_interval(row))
    moved = f"{row['up']} of {count(row['heads'], 'head')} up, {row['down']} down" if known else ""
    general = f"over heads {between(of_all(row))}" if row["over_heads"] else ""
    beside = "; ".join(filter(None, (comparison.length(row["score"]), moved, general)))
    asks = tag("p", prose(score.asks), class_="note") if score and score.asks else ""
    numbers = (tag("p", *big, class_="big"), change, tag("p", beside, class_="note"))
    return panel(*numbers, _strips(comparison, what), asks, title=spaced(what))


def _strips(comparison: ComparisonData, what: str) -> Chart:
    """One dot per head, before above after: a bar for the middle half, a tick for the mean."""
    quarters = named("middles")
    across = x("value", zero=False, nice=True, padding=8, tickCount=4, labelOverlap=True, labelSeparation=10)
    look: dict[str, Any] = {"ticks": False, "domain": False, "labelPadding": 8, "minExtent": 46}
    down = y("state", type="nominal", sort=list(STATES), paddingInner=0.35, paddingOuter=0.12, **look)
    tone = colour("state", TONES)
    jitter = alt.YOffset("jitter", type="quantitative", scale=alt.Scale(domain=[0, 1]))
    size, opacity = _size(comparison)
    layers = [
        _chance_rule({"x": across}),
        quarters.mark_bar(size=22, opacity=0.16).encode(x="low:Q", x2="high", y=down, color=tone),
        ROWS.mark_circle(size=size, opacity=opacity, tooltip=TIP).encode(x=across, y=down, yOffset=jitter, color=tone),
        quarters.mark_tick(thickness=2.6, size=34, color=INK, tooltip=TIP).encode(x="mean:Q", y=down),
    ]
    middles = []
    for state, heads in comparison.of(what).items():
        low, middle, high = quartiles(heads)
        mean = float(heads["value"].mean() or 0.0)  # type: ignore[arg-type]
        tip = f"{state}: mean {short(mean)}, median {short(middle)}, half of the heads {short(low)} to {short(high)}"
        middles.append({"state": state, "mean": mean, "low": low, "high": high, "tip": tip})
    tables = {"middles": middles, "chances": _chance(comparison, what)}
    label = f"{spaced(what)} of every head before and after"
    return chart("strips", _dots(comparison, what), layers, tables=tables, label=label, height=150)


def _dots(comparison: ComparisonData, what: str) -> list[dict[str, Any]]:
    """One row per head and state: its value, and its place in the strip and beside its layer."""
    rows = []
    for state, heads in comparison.of(what).items():
        for number, row in enumerate(heads.iter_rows(named=True)):
            jitter = (number * GOLDEN) % 1
            tip = f"{comparison.name(row)} of {row['who']}: {spaced(what)} {short(row['value'])}"
            place = {"jitter": jitter, "x": row["layer"] + ASIDE[state] + 0.14 * (jitter - 0.5)}
            rows.append({"state": state, "value": row["value"], **place, "tip": tip})
    return rows


def _chance(comparison: ComparisonData, what: str) -> list[dict[str, Any]]:
    """The chance level of a score; where there is none, the line is invisible and lies at a value on the axis."""
    level = comparison.chance(what)
    after = next(row["after"] for row in comparison.whole if row["what"] == what)
    return [{"value": after if level is None else level, "there": int(level is not None)}]


def _chance_rule(place: Mapping[str, Any]) -> Any:
    there = alt.Opacity("there", type="quantitative", scale=None, legend=None)
    return rule(named("chances"), {**place, "opacity": there}, dash=(3, 4))


def _size(comparison: ComparisonData) -> tuple[float, float]:
    """Size and opacity of the dots, which become small where there are many heads."""
    heads = max(len(rows) for rows in comparison.of(comparison.views[0]).values())
    return (16, 0.4) if heads > 400 else (34, 0.62)


def _spread_of_draws(comparison: ComparisonData) -> Html | None:
    """How much draws of untrained weights differ, to compare with the change through training."""
    draws = comparison.manifest.draws
    if len(draws) < 2:
        return None
    rows = comparison.shown.filter(pl.col("against").is_in(draws) & pl.col("layer").is_null())
    ranges = []
    for row in comparison.leading:
        values = sorted(rows.filter(pl.col("what") == row["what"])["before"])
        ends = dict.fromkeys(map(short, values[:: max(1, len(values) - 1)]))
        ranges.append(f"`{row['what']}` {' to '.join(ends)}")
    return note(f"Means of the {len(draws)} draws of untrained weights: {'; '.join(ranges)}.")


def layer_by_layer(comparison: ComparisonData) -> Section | None:
    """One dot per head at its layer, before to the left and after to the right, with the means of layers as lines."""
    if comparison.alone["layer"].n_unique() < 2:
        return None
    layers = comparison.layers
    ticks = {"values": list(range(0, layers, max(1, layers // 12))), "format": "d", "grid": False}
    across = x("x", "layer", domain=[-0.5, layers - 0.5], nice=False, zero=False, **ticks)
    key = legend(symbolType="circle", symbolStrokeWidth=0)
    tone = colour("state", TONES, legend=key)
    place, (size, opacity) = {"x": across, "y": value_axis(), "color": tone}, _size(comparison)
    marks = [
        _chance_rule({"y": value_axis()}),
        ROWS.mark_circle(size=size, opacity=opacity * 0.75, tooltip=TIP).encode(**place),
        line(named("layers"), place, width=2.2),
        dots(named("layers"), place, size=70),
    ]
    views = {}
    for what in comparison.views:
        tables = {"layers": _layer_means(comparison, what), "chances": _chance(comparison, what)}
        views[spaced(what)] = ViewRows(_dots(comparison, what), {"title": spaced(what)}, tables)
    label, subtitle = "Every head by layer, before and after", f"{comparison.first} and {comparison.last}"
    drawn = chart("by_layer", views, marks, label=label, height=380, figure=True, title="By layer", subtitle=subtitle)
    lede = "One dot per head; lines are the means of layers. "
    if comparison.paired:
        what = comparison.views[0]
        row = comparison.layer_rows(what).sort(pl.col("change").abs(), descending=True).row(0, named=True)
        sure = "" if lacks_interval(row) else f" ({between(row)} in its heads)"
        lede += f"`{what}` changed most in layer {row['layer']}: {by(row['change'])}{sure}."
    return Section("layers", "By layer", lede, panel(drawn), short="Layers")


def _change(row: Row) -> str:
    """A number before and after, and its change with its interval, if it has one."""
    spread = f" ({between(row)})" if between(row) else ""
    return f"{short(row['before'])} → {short(row['after'])}, {by(row['change'])}{spread}"


def _layer_means(comparison: ComparisonData, what: str) -> list[dict[str, Any]]:
    """The mean of every layer, before and after."""
    rows = []
    for row in comparison.layer_rows(what).sort("layer", maintain_order=True).iter_rows(named=True):
        for state in STATES:
            if row[state] is not None:
                tip = f", {state}: {short(row[state])}" if row["change"] is None else f": {_change(row)}"
                place = {"state": state, "x": row["layer"] + ASIDE[state], "value": row[state]}
                rows.append({**place, "tip": f"layer {row['layer']}{tip}"})
    return rows


def which_heads(comparison: ComparisonData) -> Section | None:
    """The heads that changed most, and whether a head is the same head on both sides."""
    if not comparison.paired:
        return None
    label, axis = "The heads that changed most", "change, after minus before"
    views = {spaced(what): _changes(comparison, what) for what in comparison.views}
    subtitle = f"{comparison.first} and {comparison.last}"
    look: dict[str, Any] = {"width": 560, "title": "Which heads changed most", "subtitle": subtitle}
    body = panel(forest("changed", views, line="who", order="rank", axis=axis, label=label, figure=True, **look))
    meaning = (
        "These are checkpoints of one training run, so a head is the same head throughout."
        if comparison.manifest.same_heads
        else "Heads of independently trained models share only their position, so a change here says that a layer "
        "differs, not that a head changed. Within one training run, or after fine-tuning, heads correspond."
    )
    lede = f"With 95 % intervals: orange rises, blue falls, grey is no clear change. {meaning}"
    return Section("most", "Which heads changed most", lede, body, short="Heads")


def _changes(comparison: ComparisonData, what: str) -> list[dict[str, Any]]:
    """The heads that changed most in a score."""
    rows = []
    most = comparison.heads.filter(what=what).sort(pl.col("change").abs(), descending=True).head(MOST_HEADS)
    for rank, row in enumerate(most.iter_rows(named=True)):
        sign = "above" if row["change"] > 0 else "below"
        who = comparison.name(row)
        mark = {"who": who, "rank": rank, "side": sign if clear(row) or lacks_interval(row) else "unclear"}
        numbers = drawable({"value": row["change"], "low": row["low"], "high": row["high"]})
        rows.append({**numbers, **mark, "tip": f"{who} {spaced(what)}: {_change(row)}"})
    return rows


def every_score(comparison: ComparisonData) -> Section:
    """Every score that both models have, as numbers."""
    lede = (
        "Means over all heads, the middle half of the heads, and the change of the mean. Up and down count the heads "
        "whose own interval excludes zero."
    )
    rows = []
    for row in comparison.whole:
        cells = [cell for state in STATES for cell in (short(row[state]), interval(*row["halves"][state]))]
        moved = [str(row["up"]), str(row["down"])] if comparison.paired else ["", ""]
        cells += [by(row["change"]), between(row), between(of_all(row)), *moved]
        quiet = None if clear(row) else "unclear"
        rows.append([spaced(row["what"]), *(tag("td", cell, class_=quiet) for cell in cells)])
    return Section("scores", "Every score", lede, table(HEADINGS, rows, label="Every score", look=""), short="Scores")


def what_was_compared(comparison: ComparisonData) -> Section:
    """Which models were compared, on which texts."""
    lede = f"Every later model is compared with {comparison.first}."
    if len(comparison.sides) > MOST_CARDS:
        return Section("sides", "What was compared", lede, _lines_of_sides(comparison), short="Sides")
    entries = []
    for side in comparison.sides:
        model, texts = side.model, side.texts
        draws = f", {count(side.draws, 'draw')} of untrained weights" if side.draws else ""
        read = f"{count(texts.count, 'text')} from {texts.source}" if texts.count else ""
        rows = {"model": f"{model.path or model.id}{draws}", "family": model.family, "texts": read}
        rows |= {"weights": (model.weights_hash or "")[:12], "command": side.command}
        known = definitions((name, value) for name, value in rows.items() if value)
        entries.append(tag("section", tag("h3", side.name), known))
    return Section("sides", "What was compared", lede, tag("div", *entries, class_="made"), short="Sides")


def _lines_of_sides(comparison: ComparisonData) -> Html:
    """The same of many models: one line each."""
    lines = []
    for side in comparison.sides:
        model, texts = side.model, side.texts
        read = f"{count(texts.count, 'text')} from {texts.source}" if texts.count else ""
        lines.append([side.name, model.path or model.id, model.family, read, (model.weights_hash or "")[:12]])
    return table(("name", "model", "family", "texts", "weights"), lines, label="What was compared", look="")


def _facts(comparison: ComparisonData) -> list[tuple[str, str]]:
    model, draws = comparison.sides[-1].model, len(comparison.manifest.draws)
    facts = [(f"{size:,}", name) for name, size in (("layers", model.layers), ("heads", model.heads)) if size]
    facts += [(f"{len(comparison.sides):,}", "models")] if len(comparison.sides) > 2 else []
    facts.append(counted(len(comparison.whole), "score in common", "scores in common"))
    facts += [(str(draws), "draws of untrained weights")] if draws > 1 else []
    copies = comparison.manifest.positional.n if comparison.manifest.positional else 0
    return facts + ([(str(copies), "copies of a word")] if copies else [])

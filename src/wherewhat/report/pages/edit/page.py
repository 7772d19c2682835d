"""The page of an edit: what the model can do before and after, how its heads move, and the heat map of a sweep."""

import math
import re
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, Number, count, interval, large, short, signed
from wherewhat.report.blocks.axes import ACCENT, MUTED, colour, gradient, layer_colour, names, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, forest, heat_map
from wherewhat.report.blocks.layout import columns, counted, note, panel, present
from wherewhat.report.blocks.marks import ROWS, TIP, dots, line, text_labels, where, whiskers
from wherewhat.report.blocks.numbers import clear, fixed, lacks_interval, side, spaced
from wherewhat.report.blocks.provenance import provenance_section, texts_section
from wherewhat.report.blocks.rows import Row, drawable
from wherewhat.report.blocks.table import table
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.report.pages.edit.edit_data import MEASURES, PAIRS, EditData, interval_of
from wherewhat.tables.manifest.scores import EditManifest

HARDLY = 0.01  # a share of tokens below which a model does not copy
MOST_HEADS = 14  # that changed most are shown
LABELS = 6  # heads whose names are written in the plane
NOTES = {  # how to read a measure; the loss by what is predicted
    "next": "nats per token, each predicted from those before it; lower is better",
    "masked": "nats per masked token; lower is better",
    "answer": "nats per answer, at the last token; lower is better",
    "loss": "nats per token; lower is better",
    "copy": "share of repeated random tokens that are predicted; higher is better",
    "induction": "nats per token by which the loss falls where random tokens repeat; higher is better",
}
OPERATIONS = {
    "drop": "**Drop** removes channels: the frequencies of the band are left out of the dot product of queries and "
    "keys, and with them all they carry about position and content.",
    "unrotate": "**Unrotate** removes only a rotation: the channels of the band stay in the dot product, but queries "
    "and keys are not rotated in them. What they carry about content stays, what they carry about position is gone.",
    "keep": "**Keep** removes channels: every frequency outside the band is left out of the dot product of queries and "
    "keys. Channels that are not rotated stay.",
    "scale": "**Scale** changes the weight of channels: what the band adds to the dot product is multiplied by a "
    "factor. Its rotation stays.",
    "ablate": "**Ablate** sets the output of heads to 0. Their attention is computed as before.",
}


def page_of_edit(edit: pl.DataFrame, heads: pl.DataFrame, manifest: EditManifest) -> Page:
    """Lay out what an edit does, and how it was measured."""
    effect, model, texts = EditData(edit, heads, manifest), manifest.model, manifest.texts
    if "loss" not in effect.whole:
        raise UserError("the table of the edit has no loss of the whole model; run `wherewhat edit` again")
    facts = [(f"{size:,}", name) for name, size in (("layers", model.layers), ("heads", model.heads)) if size]
    facts += [counted(texts.count, "text")] if texts.count else []
    random = manifest.random
    facts += [(f"{random.sequences} × {random.half}", "random tokens, repeated once")] if random else []
    facts += [(large(model.parameters), "parameters")] if model.parameters else []
    return Page(
        title=model.id,
        kind=f"Edit: {manifest.edit.description}" if effect.after else f"Edit: every {effect.each} alone",
        lede=_lede(effect),
        facts=facts,
        sections=present(
            [
                before_and_after(effect),
                the_map(effect),
                ranking(effect),
                how_heads_move(effect),
                what_changed(effect),
                texts_section(texts),
                provenance_section(manifest, model=model, texts=texts, layers=manifest.layers),
            ]
        ),
    )


def _lede(effect: EditData) -> str:
    """What happens to the loss and to copying."""
    if not effect.after:
        return f"Every {effect.each} is edited alone, one after the other, to measure what each contributes."
    change, copying = effect.whole["loss"]["change"], effect.whole.get("copy")
    if clear(change) or lacks_interval(change):
        way = "rises" if change["value"] > 0 else "falls"
        times = f"the perplexity is {math.exp(change['value']):.2f} times what it was"
        lede = f"The loss {way} by {fixed(abs(change['value']))} nats, so that {times}"
    else:
        lede = f"The loss does not clearly change ({interval_of(change)} nats)"
    lede += " (one text gives no interval)" if lacks_interval(change) else ""
    if copying is None:
        return f"{lede}."
    if max(copying["before"]["value"], copying["after"]["value"]) < max(HARDLY, 2 * effect.guessed):
        return f"{lede}; random tokens are copied neither before nor after."
    if not clear(copying["change"]):
        return f"{lede}; copying does not clearly change."
    return f"{lede}; copying random tokens {'improves' if copying['change']['value'] > 0 else 'suffers'}."


def before_and_after(effect: EditData) -> Section:
    """The first screen: what the model can do before and after, and what was edited."""
    tiles = columns(*(_tile(name, effect) for name in effect.whole), look="tiles")
    operations = [tag("p", _bold(words)) for name, words in OPERATIONS.items() if getattr(effect.manifest.edit, name)]
    operations += [note(sentence) for sentence in _which_frequencies(effect)]
    body = join(tiles, tag("div", *operations, class_="operations") if operations else "")
    if not effect.after:
        lede = "What the model can do unedited; below, each edit is applied alone."
        return Section("change", "Before", lede, body, short="Change")
    copied = "copy" in effect.whole
    lede = (
        f"Measured on the same texts{' and the same random tokens' if copied else ''}. Lines are 95 % intervals over "
        f"texts{', of copy and induction over random sequences' if copied else ''}. The interval of the change is "
        "paired: both use the same texts, so differences in difficulty cancel out."
    )
    return Section("change", "Before and after", lede, body, short="Change")


def _tile(name: str, effect: EditData) -> Html:
    """One measure: its values in large type, their change, and both drawn with their intervals."""
    states, title = effect.whole[name], MEASURES[name]
    big = [tag("span", fixed(states["before"]["value"]))]
    if "after" in states:
        big += [tag("i", "→", aria_label="to"), tag("b", fixed(states["after"]["value"]))]
    how = NOTES.get(effect.manifest.predicts or "" if name == "loss" else name, NOTES[name])
    how += f"; guessing gives {short(effect.guessed)}" if name == "copy" and effect.guessed else ""
    change = states.get("change")
    rows = [
        {**drawable(row), "tip": f"{state}: {fixed(row['value'])} {interval(row['low'], row['high'])}"}
        for state, row in states.items()
        if state != "change"
    ]
    across = x("value", None, zero=False, nice=True, padding=10, tickCount=4, labelOverlap=True)
    place = {"x": across, "y": names("state", minExtent=46)}
    coloured = {**place, "color": colour("state", {"before": MUTED, "after": ACCENT})}
    layers = [
        line(ROWS, place, width=1, stroke=MUTED, strokeDash=[3, 3]),
        whiskers(ROWS, coloured, width=3),
        dots(ROWS, coloured, size=95, strokeWidth=0),
    ]
    drawn = chart("slope", rows, layers, label=f"{title} before and after", height=36 + 28 * len(rows))
    by = tag("p", *_by(change), class_="by") if change else None
    return panel(tag("p", *big, class_="big"), by, drawn, note(how), title=title)


def _by(change: Row) -> list[Html]:
    if change["value"] == change["low"] == change["high"] == 0:
        return [tag("b", "no change")]
    unsure = "" if clear(change) or lacks_interval(change) else ", no clear change"
    return [tag("b", signed(change["value"], 3)), tag("span", f"{interval_of(change)}{unsure}")]


def _which_frequencies(effect: EditData) -> list[str]:
    """Which frequencies of this model each band contains; by layer where layers rotate at different speeds."""
    sentences = []
    bands = effect.manifest.edit.frequencies
    for band in bands:
        turn = " to ".join(dict.fromkeys(short(length) for length in band.wavelengths))
        which = f"frequenc{'ies' if re.search('[,-]', band.numbers) else 'y'} {band.numbers} of {band.of}"
        alike = sum((other.band, other.operation) == (band.band, band.operation) for other in bands) == 1
        layers = "" if alike else f" in layer {', '.join(map(str, band.layers))}"
        sentences.append(f"Here `{band.band}` is {which}, counted from 0, with a wavelength of {turn} tokens{layers}.")
    return sentences


def _bold(words: str) -> Html:
    """A sentence in which bold words are between double asterisks."""
    return join(*(tag("b", piece) if odd % 2 else prose(piece) for odd, piece in enumerate(words.split("**"))))


def the_map(effect: EditData) -> Section | None:
    """The effect of each head, or each band of each layer, alone."""
    if not effect.sweep:
        return None
    views = {}
    for measure, title in MEASURES.items():
        if rows := [row for row in effect.sweep if row["measure"] == measure]:
            most = max(*(abs(row["value"]) for row in rows), 1e-6)
            words = {"most": f"{most:.2g}", "title": f"change of {title.lower()}"}
            cells = [{**row, "reach": row["value"] / float(words["most"]), "clear": clear(row)} for row in rows]
            views[title] = ViewRows([{**cell, "tip": _cell_tip(cell)} for cell in cells], words)
    ends = "datum.value > 0.5 ? '+{most}' : datum.value < -0.5 ? '−{most}' : '0'"
    drawn = heat_map(
        "map",
        views,
        x=_cells(x, "label", "head" if effect.each == "head" else "frequency, and its wavelength in tokens", "column"),
        y=_cells(y, "layer", "layer", "layer"),
        value="reach",
        legend=gradient("{title}", values=[-1, 0, 1], labelExpr=ends, titleLimit=400),
        unclear="!datum.clear",
        label=f"The effect of each {'head' if effect.each == 'head' else 'band of frequencies'} alone",
        height=110 + 30 * len({row["layer"] for row in effect.sweep}),
        figure=True,
        width=560,
        title=f"Each {effect.each} alone",
        subtitle=f"{effect.manifest.model.id}, {effect.alone}".replace("`", ""),
    )
    lede = (
        f"One edit per cell: {effect.alone}. Orange raises the measure, blue lowers it; a dot marks a cell whose "
        f"95 % interval includes no change. {_strongest(effect)}"
    )
    return Section("map", f"Each {effect.each} alone", lede, panel(drawn), short="Map")


def _cells(channel: Any, field: str, title: str, order: str) -> Any:
    """An axis of cells side by side; a label may have two lines, with a bar between them."""
    split = "split(datum.label, '|')"
    axis = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True, labelExpr=split)
    sort = alt.EncodingSortField(order, op="min", order="ascending")
    return channel(field, title, type="ordinal", sort=sort, axis=axis, paddingInner=0, paddingOuter=0)


def _cell_tip(cell: Row) -> str:
    who = cell["who"]
    if cell["band"] is not None:
        who = f"layer {cell['layer']}, {who} (wavelength {cell['wavelength']} tokens)"
    return f"{who}: {cell['measure']} {signed(cell['value'], 3)} ({interval_of(cell)})"


def _strongest(effect: EditData) -> str:
    """Which cell changes the loss most, if any clearly does."""
    losses = [row for row in effect.sweep if row["measure"] == "loss"]
    if not losses:
        return ""
    row = max(losses, key=lambda row: abs(row["value"]))
    if not clear(row) and not lacks_interval(row):
        return "None of them clearly changes the loss."
    who = row["who"] if row["band"] is None else f"{row['who']} in layer {row['layer']}"
    return f"`{who}` changes the loss most: {signed(row['value'], 3)} ({interval_of(row)})."


def ranking(effect: EditData) -> Section | None:
    """Every head, or every band of every layer, by how much its edit changes the loss; those without a loss last."""
    edits: dict[tuple[int, str], dict[str, Row]] = {}
    for row in effect.sweep:
        edits.setdefault((row["layer"], row["who"]), {})[row["measure"]] = row
    if not edits:
        return None
    ranked = sorted(edits.items(), key=lambda edit: -abs(edit[1]["loss"]["value"]) if "loss" in edit[1] else 1.0)
    measures = [name for name in MEASURES if any(name in changes for changes in edits.values())]
    rows = []
    for rank, ((layer, who), changes) in enumerate(ranked, 1):
        cells: list[object] = [who, Number(f"{rank}", rank)]
        if effect.each == "band":
            cells += [Number(f"{layer}", layer), next(iter(changes.values()))["wavelength"]]
        rows.append([*cells, *(cell for name in measures for cell in _change_cells(changes.get(name)))])
    headings = [effect.each, "rank", *(["layer", "wavelength"] if effect.each == "band" else [])]
    headings += [title for name in measures for title in (f"change of {MEASURES[name].lower()}", "95 % interval")]
    label = f"Every {effect.each} alone, by how much it changes the loss"
    lede = (
        f"One edit per row: {effect.alone}. Ranked by the absolute change of the loss; a number is grey if its "
        "interval includes no change. Click a heading to sort."
    )
    body = table(headings, rows, label=label, ranked="rank", look="")
    return Section("ranking", f"Every {effect.each}, ranked", lede, body, short="Ranking")


def _change_cells(change: Row | None) -> list[object]:
    """A change and its interval, both grey if it may be none."""
    if change is None:
        return [MISSING, ""]
    look = None if clear(change) else "unclear"
    between = "" if lacks_interval(change) else interval_of(change)
    return [tag("td", signed(change["value"], 3), class_=look), tag("td", between, class_=look)]


def how_heads_move(effect: EditData) -> Section | None:
    """The plane of heads, before and after, for every pair of scores with values in both states."""
    known = set(effect.heads.drop_nulls("value")["score"])
    pairs = [pair for pair in PAIRS[:-1] if known & set(pair)] or PAIRS  # the last only where there are no shares
    moves = {pair: rows for pair in pairs if (rows := _moves(effect, *pair))}
    if not moves:
        return None
    drawn = chart(
        "plane",
        {
            f"{spaced(first)} and {spaced(second)}": ViewRows(
                rows, {"x title": spaced(first), "y title": spaced(second)}
            )
            for (first, second), rows in moves.items()
        },
        _move_layers(layers=1 + max(row["layer"] for rows in moves.values() for row in rows)),
        label="Every head before and after the edit",
        height=520,
        figure=True,
        title="How heads move",
        subtitle=f"{effect.manifest.model.id}, {effect.manifest.edit.description}",
    )
    missing = effect.heads.select("layer", "head").n_unique() - len(next(iter(moves.values())))
    few = f"{count(missing, 'head')} without a value on both sides {'is' if missing == 1 else 'are'} not shown."
    edit = effect.manifest.edit
    lede = "Each head moves from its ring (before) to its dot (after)."
    if edit.heads or edit.layers or edit.ablate:
        lede += " Heads that were not edited move too: they read the output of edited ones."
    return Section("plane", "How heads move", lede, panel(drawn, note(few) if missing else None), short="Heads")


def _moves(effect: EditData, first: str, second: str) -> Sequence[Row]:
    """The place of every head before and after; those that move farthest are labelled with their names."""
    places = {
        (row["layer"], row["head"], row["score"], row["model"] == effect.manifest.model.id): row["value"]
        for row in effect.heads.filter(pl.col("score").is_in([first, second])).drop_nulls("value").to_dicts()
    }
    moves = []
    for layer, head in sorted({key[:2] for key in places}):
        keys = [(layer, head, score, old) for old in (True, False) for score in (first, second)]
        if all(key in places for key in keys):
            ends = [places[key] for key in keys]
            name, spots = f"L{layer}H{head}", dict(zip(("x", "y", "x2", "y2"), ends, strict=True))
            on_x, on_y = (f"{short(before)} → {short(after)}" for before, after in zip(ends[:2], ends[2:], strict=True))
            tip = f"{name}: {spaced(first)} {on_x}, {spaced(second)} {on_y}"
            moves.append({"layer": layer, "name": name, **spots, "way": math.dist(ends[:2], ends[2:]), "tip": tip})
    farthest = sorted((row["way"] for row in moves), reverse=True)[:LABELS]
    return [{**row, "label": row["name"] if row["way"] >= farthest[-1] > 0 else None} for row in moves]


def _move_layers(*, layers: int) -> list[Any]:
    """Every head from a ring (before) to a dot (after)."""
    look: dict[str, Any] = {"nice": True, "zero": False, "tickCount": 6, "labelSeparation": 8}
    colours = {"color": layer_colour(layers)}
    before = {"x": x("x", "{x title}", **look), "y": y("y", "{y title}", **look)}
    after = {"x": x("x2", "{x title}", **look), "y": y("y2", "{y title}", **look)}
    return [
        ROWS.mark_rule(strokeWidth=1.4, opacity=0.55, tooltip=TIP).encode(**before, **colours, x2="x2", y2="y2"),
        dots(ROWS, {**before, **colours}, size=26, hollow=True, strokeWidth=1.1, opacity=0.75),
        dots(ROWS, {**after, **colours}, opacity=0.95, strokeWidth=0.8),
        *text_labels(where(ROWS, label=...), "label", after, align="left", dx=8, fontSize=11, color=MUTED),
    ]


def what_changed(effect: EditData) -> Section | None:
    """The heads that changed most, with intervals."""
    if not effect.changes:
        return None
    views: dict[str, list[Row]] = {spaced(score): [] for score in effect.changes}
    for score, changes in effect.changes.items():
        for rank, row in enumerate(changes.head(MOST_HEADS).iter_rows(named=True)):
            who = f"L{row['layer']}H{row['head']}"
            tip = f"{who} {spaced(score)}: {signed(row['value'], 3)} ({interval_of(row)})"
            views[spaced(score)].append({**drawable(row), "who": who, "rank": rank, "side": side(row), "tip": tip})
    subtitle = f"{effect.manifest.model.id}, {effect.manifest.edit.description}"
    look: dict[str, Any] = {"figure": True, "width": 560, "title": "What changed most", "subtitle": subtitle}
    label, axis = "The heads that changed most", "change, after minus before"
    lede = (
        "The heads that changed most in a score, with 95 % intervals paired over texts: orange rises, blue falls, grey "
        "is no clear change."
    )
    body = panel(forest("changed", views, line="who", order="rank", axis=axis, label=label, **look))
    return Section("most", "What changed most", lede, body, short="Most")

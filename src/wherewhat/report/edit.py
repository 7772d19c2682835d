"""The page of an edit: what the model can do before and after, how its heads move, and the heat map of a sweep."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, Number, count, large, short
from wherewhat.formatting import signed as by
from wherewhat.report.edit_charts import changed, moves, slope, sweep_map
from wherewhat.report.edit_tables import (
    MEASURES,
    EditData,
    Ranked,
    clear,
    fixed,
    interval_of,
    lacks_interval,
    map_labels,
    pairs_of,
    plain,
    ranked_of,
    reaches,
    signed,
)
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section, texts_section
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.tables.manifest.scores import EditManifest

HARDLY = 0.01  # a share of tokens below which a model does not copy
OF_LOSS = {
    "next": "nats per token, each predicted from those before it; lower is better",
    "masked": "nats per masked token; lower is better",
    "answer": "nats per answer, at the last token; lower is better",
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
    effect = EditData(edit, heads, manifest)
    if "loss" not in effect.whole:
        raise UserError("the table of the edit has no loss of the whole model; run `wherewhat edit` again")
    sections = [
        before_and_after(effect),
        the_map(effect),
        ranking(effect),
        how_heads_move(effect),
        what_changed(effect),
    ]
    provenance = provenance_section(manifest, model=manifest.model, texts=manifest.texts, layers=manifest.layers)
    return Page(
        title=manifest.model.id,
        kind=f"Edit: {manifest.edit.description}" if effect.after else f"Edit: every {effect.each} alone",
        lede=_lede(effect),
        facts=_facts(effect),
        sections=[section for section in (*sections, texts_section(manifest.texts), provenance) if section],
        charts=_charts(effect),
        tables=effect.tables,
        figures=_figures(effect),
    )


def before_and_after(effect: EditData) -> Section:
    """The first screen: what the model can do before and after, and what was edited."""
    tiles = [_tile(name, effect) for name in effect.whole]
    operations = [name for name in OPERATIONS if getattr(effect.manifest.edit, name)]
    words = [tag("p", _bold(OPERATIONS[name])) for name in operations]
    words += [tag("p", which, class_="note") for which in _which_frequencies(effect)]
    body = join(tag("div", *tiles, class_="tiles"), tag("div", *words, class_="operations") if words else "")
    lede = (
        _how_measured(effect) if effect.after else "What the model can do unedited; below, each edit is applied alone."
    )
    return Section("change", "Before and after" if effect.after else "Before", lede, body, short="Change")


def _how_measured(effect: EditData) -> str:
    copied = "copy" in effect.whole
    return (
        f"Measured on the same texts{' and the same random tokens' if copied else ''}. Lines are 95 % intervals over "
        f"texts{', of copy and induction over random sequences' if copied else ''}. The interval of the change is "
        "paired: both use the same texts, so differences in difficulty cancel out."
    )


def _which_frequencies(effect: EditData) -> list[Html]:
    """Which frequencies of this model each band contains; by layer where layers rotate at different speeds."""
    sentences = []
    bands = effect.manifest.edit.frequencies
    for band in bands:
        near, far = (short(length) for length in band.wavelengths)
        many = re.search(r"[,-]", band.numbers) is not None
        alike = sum((other.band, other.operation) == (band.band, band.operation) for other in bands) == 1
        where = "" if alike else f" in layer {', '.join(map(str, band.layers))}"
        which = f"frequenc{'ies' if many else 'y'} {band.numbers} of {band.of}"
        turn = near if near == far else f"{near} to {far}"
        sentences.append(
            prose(f"Here `{band.band}` is {which}, counted from 0, with a wavelength of {turn} tokens{where}.")
        )
    return sentences


def ranking(effect: EditData) -> Section | None:
    """Every head, or every band of every layer, by how much its edit changes the loss."""
    ranked = ranked_of(effect)
    if not ranked:
        return None
    measures = [name for name in MEASURES if any(name in row.changes for row in ranked)]
    names = ["layer", "wavelength"] if effect.each == "band" else []
    names += [heading for name in measures for heading in (f"change of {MEASURES[name][0].lower()}", "95 % interval")]
    first = (tag("th", effect.each, scope="col"), tag("th", "rank", scope="col", aria_sort="ascending"))
    head = tag("tr", *first, *(tag("th", name, scope="col") for name in names))
    body = [_ranked_line(rank, row, measures) for rank, row in enumerate(ranked, 1)]
    label = f"Every {effect.each} alone, by how much it changes the loss"
    table = tag("table", tag("caption", label, class_="unseen"), tag("thead", head), tag("tbody", *body))
    scroller = tag("div", table, class_="scroller", tabindex="0", role="region", aria_label=label)
    lede = (
        f"One edit per row: {_alone(effect)}. Ranked by the absolute change of the loss; a number is grey if its "
        "interval includes no change. Click a heading to sort."
    )
    ranked_table = tag("div", scroller, data_widget="sortable")
    return Section("ranking", f"Every {effect.each}, ranked", lede, ranked_table, short="Ranking")


def _ranked_line(rank: int, row: Ranked, measures: Sequence[str]) -> Html:
    cells = [tag("th", row.name, scope="row"), tag("td", Number(f"{rank}", rank))]
    cells += [tag("td", Number(f"{row.layer}", row.layer)), tag("td", row.wavelength)] if row.wavelength else []
    for name in measures:
        change = row.changes.get(name)
        if change is None:
            cells += [tag("td", MISSING), tag("td", "")]
            continue
        quiet = None if clear(change) else "unclear"
        between = "" if lacks_interval(change) else _between(change)
        cells += [tag("td", by(change["value"], 3), class_=quiet), tag("td", between, class_=quiet)]
    return tag("tr", *cells)


def _between(change: Mapping[str, Any]) -> Number:
    """The interval of a change, with enough digits to show its signs."""
    low, high = change["low"], change["high"]
    return Number(f"{by(low, 3)} to {by(high, 3)}", low, high)


def the_map(effect: EditData) -> Section | None:
    """The effect of each head, or each band of each layer, alone."""
    if "sweep" not in effect.tables:
        return None
    views = [(MEASURES[name][0], words) for name, words in reaches(effect).items()]
    what = "head" if effect.each == "head" else "band of frequencies"
    strongest = _strongest(effect)
    body = panel(chart_widget("sweep", f"The effect of each {what} alone", height=_map_height(effect), views=views))
    lede = (
        f"One edit per cell: {_alone(effect)}. Orange raises the measure, blue lowers it; a dot marks a cell whose "
        f"95 % interval includes no change. {strongest}"
    )
    return Section("map", f"Each {effect.each} alone", lede, body, short="Map")


def how_heads_move(effect: EditData) -> Section | None:
    """The plane of heads, before and after."""
    if "moves" not in effect.tables:
        return None
    views = [(f"{plain(x)} and {plain(y)}", _axes(x, y)) for x, y in pairs_of(effect)]
    chart = chart_widget("moves", "Every head before and after the edit", height=520, views=views)
    missing = effect.count - effect.tables["moves"]["pair"].count(views[0][1]["pair"])
    few = f"{count(missing, 'head')} without a value on both sides {'is' if missing == 1 else 'are'} not shown."
    body = panel(chart, tag("p", few, class_="note") if missing else "")
    edit = effect.manifest.edit
    others = edit.heads or edit.layers or edit.ablate
    lede = "Each head moves from its ring (before) to its dot (after)." + (
        " Heads that were not edited move too: they read the output of edited ones." if others else ""
    )
    return Section("plane", "How heads move", lede, body, short="Heads")


def what_changed(effect: EditData) -> Section | None:
    """The heads that changed most, with intervals."""
    if "changed" not in effect.tables:
        return None
    names = list(dict.fromkeys(effect.tables["changed"]["score"]))
    views = [(plain(name), {"score": name}) for name in names]
    most = max(effect.tables["changed"]["score"].count(name) for name in names)
    body = panel(chart_widget("changed", "The heads that changed most", height=60 + 26 * most, views=views))
    lede = (
        "The heads that changed most in a score, with 95 % intervals paired over texts: orange rises, blue falls, grey "
        "is no clear change."
    )
    return Section("most", "What changed most", lede, body, short="Most")


def _tile(name: str, effect: EditData) -> Html:
    """One measure: its values in large type, their change, and both drawn with their intervals."""
    states = effect.whole[name]
    title, note = MEASURES[name]
    note = OF_LOSS.get(effect.manifest.predicts or "", note) if name == "loss" else note
    note += f"; guessing gives {short(_guessed(effect))}" if name == "copy" and _guessed(effect) else ""
    before, after = states["before"], states.get("after")
    big = [tag("span", fixed(before["value"]))]
    if after is not None:
        big += [tag("i", "→", aria_label="to"), tag("b", fixed(after["value"]))]
    by = tag("p", *_by(states["change"]), class_="by") if "change" in states else ""
    chart = chart_widget(
        "slope", f"{title} before and after", height=64 if after is None else 92, words={"measure": name}
    )
    return panel(tag("h3", title), tag("p", *big, class_="big"), by, chart, tag("p", note, class_="note"))


def _by(change: Mapping[str, Any]) -> list[Html]:
    if change["value"] == change["low"] == change["high"] == 0:
        return [tag("b", "no change")]
    unsure = "" if clear(change) or lacks_interval(change) else ", no clear change"
    return [tag("b", signed(change["value"])), tag("span", f"{interval_of(change)}{unsure}")]


def _lede(effect: EditData) -> str:
    states = effect.whole["loss"]
    if not effect.after:
        return f"Every {effect.each} is edited alone, one after the other, to measure what each contributes."
    change = states["change"]
    if not clear(change) and not lacks_interval(change):
        loss = f"The loss does not clearly change ({interval_of(change)} nats)"
    else:
        way = "rises" if change["value"] > 0 else "falls"
        times = f"the perplexity is {math.exp(change['value']):.2f} times what it was"
        loss = f"The loss {way} by {fixed(abs(change['value']))} nats, so that {times}"
    alone = " (one text gives no interval)" if lacks_interval(change) else ""
    return f"{loss}{alone}{_copying(effect)}."


def _copying(effect: EditData) -> str:
    """The effect on copying, as the end of a sentence."""
    states = effect.whole.get("copy")
    if states is None:
        return ""
    if max(states["before"]["value"], states["after"]["value"]) < max(HARDLY, 2 * _guessed(effect)):
        return "; random tokens are copied neither before nor after"
    if not clear(states["change"]):
        return "; copying does not clearly change"
    return f"; copying random tokens {'improves' if states['change']['value'] > 0 else 'suffers'}"


def _guessed(effect: EditData) -> float:
    """The share of random tokens that guessing would predict; 0 where it is not known."""
    return 1 / effect.manifest.random.of if effect.manifest.random and effect.manifest.random.of else 0.0


def _facts(effect: EditData) -> list[tuple[str, str]]:
    model, texts, random = effect.manifest.model, effect.manifest.texts, effect.manifest.random
    facts = [(f"{size:,}", name) for name, size in (("layers", model.layers), ("heads", model.heads)) if size]
    facts += [(f"{texts.count:,}", "texts" if texts.count != 1 else "text")] if texts.count else []
    facts += [(f"{random.sequences} × {random.half}", "random tokens, repeated once")] if random else []
    return facts + ([(large(model.parameters), "parameters")] if model.parameters else [])


def _alone(effect: EditData) -> str:
    """The edit of the sweep, in words."""
    edit = effect.manifest.edit
    bands = {"drop": edit.drop, "unrotate": edit.unrotate, "keep": edit.keep, "scale": edit.scale}
    operation = next((name for name, its in bands.items() if its), None)
    if effect.each == "head":
        return "one head is ablated" if operation is None else f"`{operation} {bands[operation][0]}` in one head"
    return f"{operation or 'drop'} one band of frequencies in one layer"


def _strongest(effect: EditData) -> str:
    """Which cell changes the loss most, if any clearly does."""
    rows = effect.sweep.filter((pl.col("measure") == "loss") & pl.col("value").is_not_null())
    if rows.is_empty():
        return ""
    row = rows.sort(pl.col("value").abs(), descending=True).row(0, named=True)
    if not clear(row) and not lacks_interval(row):
        return "None of them clearly changes the loss."
    who = f"L{row['layer']}H{row['head']}" if row["head"] is not None else f"{row['band']} in layer {row['layer']}"
    return f"`{who}` changes the loss most: {signed(row['value'])} ({interval_of(row)})."


def _map_height(effect: EditData) -> int:
    return 110 + 30 * effect.sweep["layer"].n_unique()


def _charts(effect: EditData) -> dict[str, Spec]:
    charts: dict[str, Spec] = {"slope": slope()}
    if "moves" in effect.tables:
        table = effect.tables["moves"]
        charts["moves"] = moves(layers=1 + max(table["layer"]))
    if "changed" in effect.tables:
        charts["changed"] = changed()
    if "sweep" in effect.tables:
        across = "head" if effect.each == "head" else "frequency, and its wavelength in tokens"
        charts["sweep"] = sweep_map(across, map_labels(effect))
    return charts


def _figures(effect: EditData) -> dict[str, Figure]:
    """The same charts as figures."""
    charts, made = _charts(effect), {}
    model = effect.manifest.model.id
    subtitle = f"{model}, {effect.manifest.edit.description}"
    if "moves" in charts:
        words = _axes(*pairs_of(effect)[0])
        spec = titled(charts["moves"], "How heads move", subtitle)
        made["plane"] = figure_of(spec, effect.tables, (620, 560), words)
    if "changed" in charts:
        name = effect.tables["changed"]["score"][0]
        spec = titled(charts["changed"], f"What changed most: {plain(name)}", subtitle)
        made["changed"] = figure_of(spec, effect.tables, (560, 380), {"score": name})
    if "sweep" in charts:
        for name, words in reaches(effect).items():
            spec = titled(
                charts["sweep"],
                f"{MEASURES[name][0]}: each {effect.each} alone",
                f"{model}, {_alone(effect)}".replace("`", ""),
            )
            made[f"map_{name}"] = figure_of(spec, effect.tables, (560, _map_height(effect) - 60), words)
    return made


def _axes(x: str, y: str) -> dict[str, str]:
    return {"pair": x, "x title": plain(x), "y title": plain(y)}


def _bold(words: str) -> Html:
    """A sentence in which bold words are between double asterisks."""
    return join(*(tag("b", piece) if odd % 2 else prose(piece) for odd, piece in enumerate(words.split("**"))))

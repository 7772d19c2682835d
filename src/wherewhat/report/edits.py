"""The page of an edit: what the model could do before and after, how its heads moved, and the map of a sweep."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.edit_charts import changed, moves, slope, sweep_map
from wherewhat.report.edit_tables import (
    MEASURES,
    Found,
    Ranked,
    clear,
    interval_of,
    map_labels,
    pairs_of,
    plain,
    ranked_of,
    reaches,
    signed,
    three,
    unsaid,
)
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import MISSING, Number, count, large, short
from wherewhat.report.numbers import signed as by
from wherewhat.report.page import Figure, Page, Section, Spec
from wherewhat.report.tags import Html, join, prose, tag

HARDLY = 0.01  # a share of tokens below which nothing is said to be copied
OF_LOSS = {
    "next": "nats a token, of every token from those before it; lower is better",
    "masked": "nats a masked token; lower is better",
    "answer": "nats an answer, at the last token; lower is better",
}
OPERATIONS = {
    "drop": "**Drop** removes channels: the frequencies of the band leave the dot product of queries and keys, and "
    "with them everything they said, of place and of content.",
    "unrotate": "**Unrotate** removes only a rotation: the channels of the band stay in the dot product, but queries "
    "and keys meet in them as if nothing had turned. What they say of content stays, what they say of place is gone.",
    "keep": "**Keep** removes channels: every frequency outside the band leaves the dot product of queries and keys. "
    "Channels that never turn stay.",
    "scale": "**Scale** changes how loud channels are: what the band adds to the dot product counts so many times as "
    "much. Its rotation stays.",
    "ablate": "**Ablate** silences heads: what they write becomes 0. Where they look is computed as before.",
}


def page_of_edit(edit: pl.DataFrame, heads: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what an edit does, and how it was found out."""
    found = Found(edit, heads, manifest)
    if "loss" not in found.whole:
        raise UserError("the table of the edit has no loss of the whole model; run `wherewhat edit` again")
    sections = [before_and_after(found), the_map(found), ranking(found), how_heads_move(found), what_changed(found)]
    made = [*sections, the_texts(manifest), how_it_was_made(manifest)]
    return Page(
        title=str((manifest.get("model") or {}).get("id") or "a model"),
        kind=f"Edit: {found.told}" if found.after else f"Edit: every {found.each} alone",
        lede=_lede(found),
        facts=_facts(found),
        sections=[section for section in made if section],
        charts=_charts(found),
        tables=found.tables,
        figures=_figures(found),
    )


def before_and_after(found: Found) -> Section:
    """The first screen: what the model could do, what it can do now, and what kind of change that was."""
    tiles = [_tile(name, found) for name in found.whole]
    operations = [name for name in OPERATIONS if (found.manifest.get("edit") or {}).get(name)]
    words = [tag("p", _bold(OPERATIONS[name])) for name in operations]
    words += [tag("p", which, class_="note") for which in _which_frequencies(found)]
    body = join(tag("div", *tiles, class_="tiles"), tag("div", *words, class_="operations") if words else "")
    lede = (
        _how_measured(found) if found.after else "What the model can do as it is; each of those below is changed alone."
    )
    return Section("change", "Before and after" if found.after else "Before", lede, body, short="Change")


def _how_measured(found: Found) -> str:
    copied = "copy" in found.whole
    return (
        f"Measured on the same texts{' and the same random tokens' if copied else ''}. Lines are 95 % intervals over "
        f"texts{', of copy and induction over random sequences' if copied else ''}. That of the change takes the same "
        "before and after, so what makes one text harder than another cancels out."
    )


def _which_frequencies(found: Found) -> list[Html]:
    """Which frequencies of this model every band is; by layer where layers turn at different speeds."""
    told = []
    bands = (found.manifest.get("edit") or {}).get("frequencies") or ()
    for band in bands:
        near, far = (short(length) for length in band["wavelengths"])
        many = re.search(r"[,-]", str(band["numbers"])) is not None
        alike = sum(one["band"] == band["band"] and one["operation"] == band["operation"] for one in bands) == 1
        where = "" if alike else f" in layer {', '.join(map(str, band['layers']))}"
        which = f"frequenc{'ies' if many else 'y'} {band['numbers']} of {band['of']}"
        turn = near if near == far else f"{near} to {far}"
        told.append(prose(f"Here `{band['band']}` is {which}, counted from 0, of {turn} tokens a turn{where}."))
    return told


def ranking(found: Found) -> Section | None:
    """Every head, or every band of every layer, from the one whose edit changes the loss most."""
    ranked = ranked_of(found)
    if not ranked:
        return None
    measures = [name for name in MEASURES if any(name in row.changes for row in ranked)]
    names = ["layer", "wavelength"] if found.each == "band" else []
    names += [heading for name in measures for heading in (f"change of {MEASURES[name][0].lower()}", "95 % interval")]
    first = (tag("th", found.each, scope="col"), tag("th", "rank", scope="col", aria_sort="ascending"))
    head = tag("tr", *first, *(tag("th", name, scope="col") for name in names))
    body = [_ranked_line(rank, row, measures) for rank, row in enumerate(ranked, 1)]
    label = f"Every {found.each} alone, by how much it changes the loss"
    table = tag("table", tag("caption", label, class_="unseen"), tag("thead", head), tag("tbody", *body))
    scroller = tag("div", table, class_="scroller", tabindex="0", role="region", aria_label=label)
    lede = (
        f"Each line is one edit: {_alone(found)}. Ranked by the size of the change of the loss, up or down; a grey "
        "number is one whose interval holds no change. Click a heading to sort."
    )
    ranked_table = tag("div", scroller, data_widget="sortable")
    return Section("ranking", f"Every {found.each}, ranked", lede, ranked_table, short="Ranking")


def _ranked_line(rank: int, row: Ranked, measures: Sequence[str]) -> Html:
    cells = [tag("th", row.name, scope="row"), tag("td", Number(f"{rank}", rank))]
    cells += [tag("td", Number(f"{row.layer}", row.layer)), tag("td", row.wavelength)] if row.wavelength else []
    for name in measures:
        change = row.changes.get(name)
        if change is None:
            cells += [tag("td", MISSING), tag("td", "")]
            continue
        quiet = None if clear(change) else "unclear"
        between = "" if unsaid(change) else _between(change)
        cells += [tag("td", by(change["value"], 3), class_=quiet), tag("td", between, class_=quiet)]
    return tag("tr", *cells)


def _between(change: Mapping[str, Any]) -> Number:
    """The interval of a change, with digits enough to see its signs."""
    low, high = change["low"], change["high"]
    return Number(f"{by(low, 3)} to {by(high, 3)}", low, high)


def the_map(found: Found) -> Section | None:
    """What each head, or each band of each layer, does alone."""
    if "sweep" not in found.tables:
        return None
    views = [(MEASURES[name][0], words) for name, words in reaches(found).items()]
    what = "head" if found.each == "head" else "band of frequencies"
    strongest = _strongest(found)
    body = panel(drawn("sweep", f"What each {what} alone changes", height=_map_height(found), views=views))
    lede = (
        f"Each cell is one edit: {_alone(found)}. Orange raises the measure, blue lowers it; a dot marks a cell whose "
        f"95 % interval holds no change. {strongest}"
    )
    return Section("map", f"Each {found.each} alone", lede, body, short="Map")


def how_heads_move(found: Found) -> Section | None:
    """The plane of heads, before and after."""
    if "moves" not in found.tables:
        return None
    views = [(f"{plain(x)} and {plain(y)}", _axes(x, y)) for x, y in pairs_of(found)]
    chart = drawn("moves", "Every head before and after the edit", height=520, views=views)
    missing = found.count - found.tables["moves"]["pair"].count(views[0][1]["pair"])
    few = f"{count(missing, 'head')} without a value on both sides {'is' if missing == 1 else 'are'} not shown."
    body = panel(chart, tag("p", few, class_="note") if missing else "")
    edit = found.manifest.get("edit") or {}
    others = any(edit.get(name) for name in ("heads", "layers", "ablate"))
    lede = "Each head goes from its ring, before, to its dot, after." + (
        " Heads that were not touched move too: they read what others wrote." if others else ""
    )
    return Section("plane", "How heads move", lede, body, short="Heads")


def what_changed(found: Found) -> Section | None:
    """The heads that changed most, with intervals."""
    if "changed" not in found.tables:
        return None
    names = list(dict.fromkeys(found.tables["changed"]["score"]))
    views = [(plain(name), {"score": name}) for name in names]
    most = max(found.tables["changed"]["score"].count(name) for name in names)
    body = panel(drawn("changed", "The heads that changed most", height=60 + 26 * most, views=views))
    lede = (
        "The heads that changed most in a score, with 95 % intervals paired over texts: orange rises, blue falls, grey "
        "is not told from no change."
    )
    return Section("most", "What changed most", lede, body, short="Most")


def _tile(name: str, found: Found) -> Html:
    """One measure: large numbers, by how much they differ, and both drawn with their intervals."""
    states = found.whole[name]
    title, note = MEASURES[name]
    note = OF_LOSS.get(str(found.manifest.get("predicts")), note) if name == "loss" else note
    note += f"; guessing gives {short(_guessed(found))}" if name == "copy" and _guessed(found) else ""
    before, after = states["before"], states.get("after")
    big = [tag("span", three(before["value"]))]
    if after is not None:
        big += [tag("i", "→", aria_label="to"), tag("b", three(after["value"]))]
    by = tag("p", *_by(states["change"]), class_="by") if "change" in states else ""
    chart = drawn("slope", f"{title} before and after", height=64 if after is None else 92, words={"measure": name})
    return panel(tag("h3", title), tag("p", *big, class_="big"), by, chart, tag("p", note, class_="note"))


def _by(change: Mapping[str, Any]) -> list[Html]:
    if change["value"] == change["low"] == change["high"] == 0:
        return [tag("b", "no change")]
    unsure = "" if clear(change) or unsaid(change) else ", not told from none"
    return [tag("b", signed(change["value"])), tag("span", f"{interval_of(change)}{unsure}")]


def _lede(found: Found) -> str:
    states = found.whole["loss"]
    if not found.after:
        return f"Every {found.each} is taken away alone, one after the other, to see what each of them carries."
    change = states["change"]
    if not clear(change) and not unsaid(change):
        loss = f"No change of the loss can be told ({interval_of(change)} nats)"
    else:
        way = "rises" if change["value"] > 0 else "falls"
        times = f"the perplexity is {math.exp(change['value']):.2f} times what it was"
        loss = f"The loss {way} by {three(abs(change['value']))} nats, so that {times}"
    alone = " (one text gives no interval)" if unsaid(change) else ""
    return f"{loss}{alone}{_copying(found)}."


def _copying(found: Found) -> str:
    """What became of copying, as the end of a sentence."""
    states = found.whole.get("copy")
    if states is None:
        return ""
    if max(states["before"]["value"], states["after"]["value"]) < max(HARDLY, 2 * _guessed(found)):
        return "; random tokens are copied neither before nor after"
    if not clear(states["change"]):
        return "; no change of copying can be told"
    return f"; copying random tokens {'improves' if states['change']['value'] > 0 else 'suffers'}"


def _guessed(found: Found) -> float:
    """The share of random tokens that guessing would copy."""
    return 1 / ((found.manifest.get("random") or {}).get("of") or math.inf)


def _facts(found: Found) -> list[tuple[str, str]]:
    model, texts = found.manifest.get("model") or {}, found.manifest.get("texts") or {}
    facts = [(f"{model[name]:,}", name) for name in ("layers", "heads") if model.get(name)]
    facts += [(f"{texts['count']:,}", "texts" if texts["count"] != 1 else "text")] if texts.get("count") else []
    drawn_ = found.manifest.get("random") or {}
    facts += [(f"{drawn_['sequences']} × {drawn_['half']}", "random tokens, twice")] if drawn_ else []
    return facts + ([(large(model["parameters"]), "parameters")] if model.get("parameters") else [])


def _alone(found: Found) -> str:
    """What the sweep does, in words."""
    edit = found.manifest.get("edit") or {}
    done = next((name for name in ("drop", "unrotate", "keep", "scale") if edit.get(name)), None)
    if found.each == "head":
        return "one head is ablated" if done is None else f"`{done} {edit[done][0]}` in one head"
    return f"{done or 'drop'} one band of frequencies in one layer"


def _strongest(found: Found) -> str:
    """Which cell changes the loss most, and whether that is told from nothing."""
    rows = found.sweep.filter((pl.col("measure") == "loss") & pl.col("value").is_not_null())
    if rows.is_empty():
        return ""
    row = rows.sort(pl.col("value").abs(), descending=True).row(0, named=True)
    if not clear(row) and not unsaid(row):
        return "Of none of them a change of the loss can be told."
    who = f"L{row['layer']}H{row['head']}" if row["head"] is not None else f"{row['band']} in layer {row['layer']}"
    return f"The loss changes most by `{who}`: {signed(row['value'])} ({interval_of(row)})."


def _map_height(found: Found) -> int:
    return 110 + 30 * found.sweep["layer"].n_unique()


def _charts(found: Found) -> dict[str, Spec]:
    charts: dict[str, Spec] = {"slope": slope()}
    if "moves" in found.tables:
        table = found.tables["moves"]
        charts["moves"] = moves(layers=1 + max(table["layer"]))
    if "changed" in found.tables:
        charts["changed"] = changed()
    if "sweep" in found.tables:
        across = "head" if found.each == "head" else "frequency, and its tokens a turn"
        charts["sweep"] = sweep_map(across, map_labels(found))
    return charts


def _figures(found: Found) -> dict[str, Figure]:
    """The same charts as pictures."""
    charts, made = _charts(found), {}
    model = str((found.manifest.get("model") or {}).get("id") or "a model")
    said = f"{model}, {found.told}"
    if "moves" in charts:
        words = _axes(*pairs_of(found)[0])
        spec = titled(charts["moves"], "How heads move", said)
        made["plane"] = figure_of(spec, found.tables, (620, 560), words)
    if "changed" in charts:
        name = found.tables["changed"]["score"][0]
        spec = titled(charts["changed"], f"What changed most: {plain(name)}", said)
        made["changed"] = figure_of(spec, found.tables, (560, 380), {"score": name})
    if "sweep" in charts:
        for name, words in reaches(found).items():
            spec = titled(
                charts["sweep"],
                f"{MEASURES[name][0]}: each {found.each} alone",
                f"{model}, {_alone(found)}".replace("`", ""),
            )
            made[f"map_{name}"] = figure_of(spec, found.tables, (560, _map_height(found) - 60), words)
    return made


def _axes(x: str, y: str) -> dict[str, str]:
    return {"pair": x, "x title": plain(x), "y title": plain(y)}


def _bold(words: str) -> Html:
    """A sentence in which a word stands between double stars."""
    return join(*(tag("b", piece) if odd % 2 else prose(piece) for odd, piece in enumerate(words.split("**"))))

"""The page of one run: every head of one model. A new part of it is a new function and a line in `SECTIONS`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from wherewhat.report import sentences
from wherewhat.report.charts import Axis, dots, head_map, profile, thumb
from wherewhat.report.findings import Findings, findings
from wherewhat.report.kinds import POSITIONAL, PUBLISHED, in_order
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.measured import FEW_ROWS, Counts, Manifest, Measured, Score, fresh_windows
from wherewhat.report.numbers import interval, large, short
from wherewhat.report.offsets import axis_labels
from wherewhat.report.page import Columns, Page, Section
from wherewhat.report.pictures import first_axes, pictures, plane_of
from wherewhat.report.positional import by_place_alone, explained
from wherewhat.report.positional_shown import place_about, place_charts, place_pictures, place_tables
from wherewhat.report.silent import silences
from wherewhat.report.striking import BY_CONTENT, BY_PLACE, TELLING, Notice, nobody_stands_out
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.report.views import VERDICTS
from wherewhat.report.where import (
    against,
    by_frequency,
    by_layer,
    in_the_hidden_state,
    the_swaps,
    where_about,
    where_charts,
    where_tables,
)

MANY = 4  # scores named in one sentence
HEAD = re.compile(r"\b((?:(?:encoder|decoder|cross) )?L\d+H\d+)\b")
HUES = {BY_PLACE: "where", BY_CONTENT: "what"}
CHANCE = {
    "uniform": "Attention spread evenly over the same rows",
    "random logits": "Attention of random logits on the same rows",
    "one part": "A table of random logits over the same slots and contents",
    "left over": "A table of random logits over the same slots and contents",
    "half": "Neither more than the other",
    "as peaked": "A random head that is as peaked: the logits of each row in random places",
    "flat": "Attention that is the same everywhere",
}


def page_of_heads(
    heads: pl.DataFrame,
    offsets: pl.DataFrame,
    frequencies: pl.DataFrame,
    manifest: Manifest,
    positional: pl.DataFrame | None = None,
) -> Page:
    """Lay out everything that is known about the heads of one model, and choose what to show first."""
    found = findings(heads, offsets, frequencies, manifest, positional)
    charts = _charts(found)
    model = manifest.get("model") or {}
    made = [section(found) for section in SECTIONS]
    return Page(
        title=str(model.get("id") or "a model"),
        kind="Where every attention head looks, and why" if found.triples else "Where every attention head looks",
        lede=_lede(found.run),
        facts=_facts(found.run),
        sections=[section for section in made if section],
        charts=charts,
        findings=[_with_buttons(said) for said in sentences.findings(heads, manifest)],
        tables={
            "heads": _needed(found.run),
            "offsets": found.by_offset,
            **where_tables(found),
            **place_tables(found),
        },
        about=_about(found),
        figures=pictures(found) | place_pictures(found, charts),
    )


def first_screen(found: Findings) -> Section:
    """All heads in the triangle of shares, or between any two scores; beside it the selected one, below the notable."""
    worth = tag("div", tag("h3", "Worth a look"), _cards(found.notable, found.run), class_="worth")
    widget = "triangle" if found.triples else "plane"
    summary = tag("aside", data_widget="summary", class_="summary panel", aria_label="The selected head")
    body = join(tag("div", tag("div", data_widget=widget, class_="panel"), summary, class_="first"), worth)
    lede = " ".join((_how_to_read(found), *_few(found.run), *_unanswered(found)))
    title = "Where or what" if found.triples else "All heads"
    return Section("heads", title, lede, body, short="Heads")


def _how_to_read(found: Findings) -> str:
    """What the first picture shows."""
    if not found.triples:
        return (
            "Each mark is one head; dashed lines are chance. "
            "Click one, or walk with the arrow keys, to see where it looks."
        )
    name = found.triples[0].name
    decided = {
        "input": "its attention when tokens trade places at the input",
        "shift": "its attention when the text is shifted at the input",
        "shares": "its logits",
    }
    what = decided.get(name, "where it looks")
    return f"Each mark is one head, drawn towards what decides {what}. Click one, or walk with the arrow keys."


def _few(run: Measured) -> list[str]:
    """Which scores rest on little, so that nobody takes them for more."""
    few = [score.name for score in run.answered if any(counts.few for counts in score.rests)]
    if not few:
        return []
    if {counts.texts for score in run.answered for counts in score.rests} == {1}:
        return ["There is one text, so no number has an interval."]
    named = [f"`{name}`" for name in few]
    some = named if len(few) <= MANY else [*named[: MANY - 1], f"{len(few) - MANY + 1} more"]
    return [f"Fewer than {FEW_ROWS} rows, or a single text, stand behind {_listed(some)}."]


def _unanswered(found: Findings) -> list[str]:
    """Why the page's question has no answer, where logits could not be taken apart."""
    layers, told = set(found.run.heads["layer"]), []
    for reason in found.reasons:
        which = sorted(layer for layer, one in found.opaque.items() if one == reason and layer in layers)
        where = "" if set(which) == layers else f" in layer {', '.join(map(str, which))}"
        if which:
            told.append(f"Whether a head goes by place or by content cannot be read off its logits{where}: {reason}.")
    return told


def any_two(found: Findings) -> Section | None:
    """All heads between two scores of the reader's choice, unless the page began with that."""
    if not found.triples:
        return None
    lede = "All heads between two scores of your choice; dashed lines are chance."
    return Section("plane", "Any two scores", lede, tag("div", data_widget="plane", class_="panel"), short="Plane")


def maps(found: Findings) -> Section:
    """One map of layer by head, and all the others as small ones to choose from."""
    note = tag("p", prose(" ".join(silences(found.run))), class_="note") if silences(found.run) else ""
    return Section(
        "maps",
        "Layer by layer",
        "How far each head is from chance: orange above it, blue below. A struck-out cell has no value.",
        join(tag("div", data_widget="maps", class_="maps"), note),
        short="Maps",
    )


def one_head(found: Findings) -> Section:
    """Where the selected head looks, and all its scores."""
    return Section(
        "head",
        "One head",
        "Left, how much it attends to a key at each offset: negative offsets stand before the query. "
        "Right, its scores with their 95 % intervals over whole texts."
        + (" Below, what each rotary frequency adds." if found.spectra.there else ""),
        tag("div", data_widget="profile", class_="profile panel"),
        short="One head",
    )


def table(found: Findings) -> Section:
    """Every number, to sort and to search."""
    return Section(
        "table",
        "Every number",
        "Click a heading to sort; search for heads (`L3H7`, `layer 3`) or by score (`induction > 0.3 sink < 0.5`). "
        "A grey number is one whose interval does not tell it from chance. The last lines say how many texts, windows "
        "and rows each score rests on.",
        tag("div", data_widget="table", class_="panel"),
        short="Table",
    )


def words(found: Findings) -> Section:
    """What each score asks, kind by kind. A score at other temperatures is explained once."""
    names = {score.name for score in found.run.scores}
    told = [score for score in found.run.scores if "@" not in score.name or score.name.partition("@")[0] not in names]
    kinds = in_order(score.kind for score in told)
    return Section(
        "scores",
        "What each score asks",
        "A score is averaged over the rows of a window, then over windows, rows and windows alike; only the plain and "
        "the `input` shares count them by how much they vary. Chance is what the same rows give for a head that knows "
        "nothing, untrained what fresh weights of the same architecture give, the mean over a layer's heads "
        f"({fresh_windows(found.run.manifest)}).",
        join(*(_kind(kind, [score for score in told if score.kind == kind], found, len(kinds)) for kind in kinds)),
        short="Scores",
    )


def _kind(kind: str, scores: Sequence[Score], found: Findings, kinds: int) -> Html:
    title = tag("h3", kind, class_="of-kind") if kinds > 1 else ""
    if kind == POSITIONAL:
        return join(title, explained(scores, _explained))
    swaps = the_swaps(found.run.manifest) if kind == PUBLISHED else ""
    return join(title, swaps, tag("div", *(_explained(score) for score in scores), class_="words"))


SECTIONS: Sequence[Callable[[Findings], Section | None]] = (
    first_screen,
    against,
    by_layer,
    by_frequency,
    in_the_hidden_state,
    by_place_alone,
    any_two,
    maps,
    one_head,
    table,
    words,
    lambda found: the_texts(found.run.manifest),
    lambda found: how_it_was_made(found.run.manifest),
)


def _lede(run: Measured) -> str:
    return (
        "An attention head can look at a token because of where it stands or because of what it says. "
        f"Here is where {_which(run)} looks, and how far that is from chance."
    )


def _which(run: Measured) -> str:
    """The heads of the run: all of the model's, or some of them."""
    names, total = run.heads["name"], run.total
    if total is not None and total > len(names):
        one = f"{names[0]}, one of the {total:,} heads of this model,"
        return one if len(names) == 1 else f"each of {len(names):,} of the {total:,} heads of this model"
    return "the one head of this model" if len(names) == 1 else f"each of the {len(names):,} heads of this model"


def _facts(run: Measured) -> list[tuple[str, str]]:
    model, texts = run.manifest.get("model") or {}, run.manifest.get("texts") or {}
    layers, heads, many = len(set(run.heads["layer"])), len(set(run.heads["head"])), len(run.heads["name"])
    some = run.total is not None and run.total > many
    facts = [(f"{many:,} of {run.total:,}", "heads")] if some else [(f"{layers} × {heads}", "layers × heads")]
    windows = texts.get("windows") if texts.get("windows") != texts.get("count") else None
    counts = [(texts.get("count"), "text"), (windows, "window"), (texts.get("tokens"), "token")]
    facts += [(f"{count:,}", what if count == 1 else f"{what}s") for count, what in counts if isinstance(count, int)]
    facts += [(large(model["parameters"]), "parameters")] if model.get("parameters") else []
    return facts + ([(str(model["family"]), "family")] if model.get("family") else [])


def _cards(notable: Sequence[Notice], run: Measured) -> Html:
    if not notable:
        return tag("p", nobody_stands_out(run), class_="note")
    leads = any(notice.lead in HUES for notice in notable)
    rest = "for each score of attention" if leads else "For each score"
    far = f"if its interval is clear of it and it is at least {100 * TELLING:g} % of the range away."
    how = f"{rest} the head farthest from chance, {far}"
    if all(notice.low is None for notice in notable):
        how = "without intervals no other head is singled out; give two texts or more."
    said = f"First who clearly goes most by place and by content; then {how}" if leads else how
    chosen = tag("p", said, class_="note")
    return join(
        tag(
            "ul",
            *(tag("li", _card(notice, many=len(run.heads["name"]) > 1)) for notice in notable),
            class_="cards",
        ),
        chosen,
    )


def _card(notice: Notice, *, many: bool) -> Html:
    """One striking head as a button that selects it: the question, the answer, and chance."""
    words = notice.lead if many else notice.lead.replace(" most", "")
    lead = tag("span", words, class_="lead") if notice.lead else ""
    side = "" if notice.low is None or notice.unclear else "above " if notice.above else "below "
    levels = [(f"{side}chance", notice.chance), ("untrained", notice.untrained)]
    known = [f"{words} {short(level)}" for words, level in levels if level is not None] or ["no chance level"]
    unsure = ", not told from chance" if notice.unclear else ""
    few = ", few" if notice.rests.few else ""
    also = (
        tag("span", _also(notice, "farthest " if many else ""), class_="also")
        if notice.also or notice.sink is not None
        else ""
    )
    return tag(
        "button",
        tag("span", tag("b", notice.name), lead, tag("code", notice.score.name), class_="who"),
        tag("span", tag("b", short(notice.value)), tag("span", interval(notice.low, notice.high)), class_="what"),
        _track(notice),
        tag("span", _question(notice.score.asks), class_="why"),
        tag("span", ", ".join(known) + unsure, class_="against"),
        tag("span", f"{notice.rests}{few}", class_="rests") if str(notice.rests) else "",
        also,
        type="button",
        class_=f"card {HUES.get(notice.lead, '')}".strip(),
        data_head=notice.name,
        aria_pressed="false",
    )


def _also(notice: Notice, how: str) -> str:
    """What else is to say of a head: the other scores it is farthest from chance in, and whether it is a sink."""
    said = [
        f"{how}{side} chance in {_listed(names)}"
        for side, names in (
            ("above", [name for name, above in notice.also if above]),
            ("below", [name for name, above in notice.also if not above]),
        )
        if names
    ]
    told = f"Also {'; '.join(said)}." if said else ""
    rests = f"It rests on the first token: {short(notice.sink)} of its attention."
    return f"{told} {rests}".strip() if notice.sink is not None and notice.score.name != "sink" else told


def _track(notice: Notice) -> Html:
    """The head's value on its score's range as a small drawing: dot, interval, ticks at chance and at fresh weights."""

    def at(value: float) -> str:
        bottom, top = notice.score.range
        return f"{100 * min(max((value - bottom) / ((top - bottom) or 1), 0), 1):.1f}%"

    low = notice.value if notice.low is None else notice.low
    high = notice.value if notice.high is None else notice.high
    start = notice.score.range[0] if notice.chance is None else notice.chance
    tick = tag("line", x1=at(start), x2=at(start), y1="2", y2="12", class_="tick")
    return tag(
        "svg",
        tag("line", x1="0", x2="100%", y1="7", y2="7", class_="rail"),
        tag("line", x1=at(start), x2=at(notice.value), y1="7", y2="7", class_="way"),
        "" if notice.chance is None else tick,
        "" if notice.untrained is None else tag("circle", cx=at(notice.untrained), cy="7", r="3", class_="fresh"),
        tag("line", x1=at(low), x2=at(high), y1="7", y2="7", class_="whisker"),
        tag("circle", cx=at(notice.value), cy="7", r="4", class_="dot"),
        class_="track above" if notice.above else "track below",
        aria_hidden=True,
    )


def _explained(score: Score) -> Html:
    ends = [
        _end(score.ends[0], score.low, "lower end", "lower"),
        _end(score.ends[1], score.high, "upper end", "higher"),
    ]
    if score.chance:
        ends.append(tag("div", tag("dt", "chance"), tag("dd", CHANCE.get(score.chance, _sentence(score.chance)))))
    if score.untrained is not None:
        mean = f"Fresh weights of the same architecture: {short(score.untrained)} on average over heads"
        ends.append(tag("div", tag("dt", "untrained"), tag("dd", mean)))
    if rests := [str(counts) for counts in sorted(score.rests, key=_size) if str(counts)]:
        few = "; few, so read it with care" if any(counts.few for counts in score.rests) else ""
        said = rests[0] if len(rests) == 1 else f"{rests[0]} to {rests[-1]}, by head"
        ends.append(tag("div", tag("dt", "rests on"), tag("dd", said + few)))
    if score.paper:
        ends.append(tag("div", tag("dt", "from"), tag("dd", score.paper)))
    silent = (
        "" if score.answered else tag("p", "No head has a value of it here; “Layer by layer” says why.", class_="note")
    )
    asks = tag("p", _sentence(score.asks), class_="asks") if score.asks else ""
    return tag("article", tag("h3", tag("code", score.name)), asks, silent, tag("dl", *ends))


def _size(counts: Counts) -> tuple[int, ...]:
    return tuple(number or 0 for number in (counts.texts, counts.windows, counts.rows))


def _end(end: float | None, words: str, name: str, way: str) -> Html:
    """What one end of a range means; where there is none, that is said."""
    if end is None:
        return tag("div", tag("dt", way), tag("dd", _sentence(words), " " if words else "", f"(no {name})"))
    return tag("div", tag("dt", f"{end:g}".replace("-", "−")), tag("dd", _sentence(words) or name))


def _sentence(words: str) -> Html:
    """Begin with a capital, leave the rest alone."""
    return prose(words[:1].upper() + words[1:])


def _question(asks: str) -> Html:
    """The question itself, without what is said beside it."""
    question, mark, _ = asks.partition("?")
    return _sentence(question + mark)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _charts(found: Findings) -> dict[str, Any]:
    x, y = Axis("{x}", "{x title}"), Axis("{y}", "{y title}")
    return {
        "plane": plane_of(found.run, x, y),
        "map": head_map("{score}"),
        "thumb": thumb("{score}"),
        "profile": profile(axis_labels(found.by_offset)),
        "dots": dots(),
        **where_charts(found),
        **place_charts(found),
    }


def _about(found: Findings) -> dict[str, Any]:
    """What the widgets need to know: the scores, the axes to begin with, and the head to begin with."""
    run = found.run
    x, y = first_axes(run)
    drawable = [one for one in found.notable if one.name in found.by_offset]  # a first sight with a profile, if any
    leading = next(iter(drawable or found.notable), None)
    start = (
        {"map": leading.score.key, "selected": leading.name}
        if leading
        else {"map": x.key, "selected": run.heads["name"][0]}
    )
    told = {"scores": [_about_score(score) for score in run.scores], "kinds": in_order(one.kind for one in run.scores)}
    return {
        **told,
        "parts": list(run.parts),
        "verdicts": [words.format(_rest_of(found)) for words in VERDICTS],
        "sink": next((score.key for score in run.find("sink")), None),
        "x": x.key,
        "y": y.key,
        **start,
        **where_about(found),
        **place_about(found),
    }


def _rest_of(found: Findings) -> str:
    return found.triples[0].corners[2][0] if found.triples else ""


def _needed(run: Measured) -> Columns:
    """The columns of the heads without those that say the same of all of them, or nothing."""
    same = {f"rests_{score.key}" for score in run.scores if len(score.rests) < 2}
    same |= {f"untrained_{score.key}" for score in run.scores if score.untrained is None}
    return {name: column for name, column in run.heads.items() if name not in same}


def _with_buttons(said: str) -> Html:
    """A sentence whose heads can be selected."""
    return join(
        *(
            tag("button", piece, type="button", data_head=piece, class_="name") if odd % 2 else piece
            for odd, piece in enumerate(HEAD.split(said))
        )
    )


def _about_score(score: Score) -> dict[str, Any]:
    plain = ("key", "name", "asks", "low", "high", "kind", "reach", "answered")
    return {name: getattr(score, name) for name in plain} | {
        "rests": [{"said": str(counts), "few": counts.few, **asdict(counts)} for counts in score.rests],
        "range": list(score.range),
        "open": [end is None for end in score.ends],
        "span": list(score.span),
    }

"""The page of one run: every head of one model. A new part of it is a new function here and a line in `SECTIONS`."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from wherewhat.report.charts import Axis, dots, head_map, profile, thumb
from wherewhat.report.made import how_it_was_made, the_texts
from wherewhat.report.measured import Manifest, Measured, Score, measured
from wherewhat.report.numbers import interval, large, short
from wherewhat.report.offsets import axis_labels, profiles
from wherewhat.report.page import Columns, Page, Section
from wherewhat.report.pictures import first_axes, pictures, plane_of
from wherewhat.report.striking import Notice, striking
from wherewhat.report.tags import Html, join, prose, tag

CHANCE = {
    "uniform": "Attention spread evenly over the same rows",
    "random logits": "Attention of random logits on the same rows",
}


def page_of_heads(heads: pl.DataFrame, offsets: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out everything that is known about the heads of one model, and choose what to show first."""
    run = measured(heads, manifest)
    by_offset = profiles(offsets, run.heads["name"])
    notable = striking(run)
    model = manifest.get("model") or {}
    name = str(model.get("id") or "a model")
    return Page(
        title=name,
        kind="Where every attention head looks",
        lede=_lede(run),
        facts=_facts(run),
        sections=[section(run, notable) for section in SECTIONS],
        charts=_charts(run, by_offset),
        tables={"heads": run.heads, "offsets": by_offset},
        about=_about(run, notable, by_offset),
        figures=pictures(run, by_offset, notable),
    )


def first_screen(run: Measured, notable: Sequence[Notice]) -> Section:
    """The heads that stand out, beside all of them."""
    worth = tag("aside", tag("h3", "Worth a look"), _cards(notable, run.parts), class_="worth")
    return Section(
        "heads",
        "All heads",
        "Each mark is one head; dashed lines are chance. "
        "Click one, or walk with the arrow keys, to see where it looks.",
        tag("div", tag("div", data_widget="plane", class_="panel"), worth, class_="first"),
        short="Heads",
    )


def maps(run: Measured, notable: Sequence[Notice]) -> Section:
    """One map of layer by head, and all the others as small ones to choose from."""
    silent = [score.name for score in run.scores if not score.answered]
    note = tag("p", f"These texts give no answer for {_listed(silent)}.", class_="note") if silent else ""
    return Section(
        "maps",
        "Layer by layer",
        "How far each head is from chance: orange above it, blue below. A struck-out cell has no value.",
        join(tag("div", data_widget="maps", class_="maps"), note),
        short="Maps",
    )


def one_head(run: Measured, notable: Sequence[Notice]) -> Section:
    """Where the selected head looks, and all its scores."""
    return Section(
        "head",
        "One head",
        "Left, how much it attends to a key at each offset: negative offsets stand before the query. "
        "Right, its scores with their 95 % intervals over texts.",
        tag("div", data_widget="profile", class_="profile panel"),
        short="One head",
    )


def table(run: Measured, notable: Sequence[Notice]) -> Section:
    """Every number, to sort and to search."""
    return Section(
        "table",
        "Every number",
        "Click a heading to sort. A grey number is one whose interval does not tell it from chance.",
        tag("div", data_widget="table", class_="panel"),
        short="Table",
    )


def words(run: Measured, notable: Sequence[Notice]) -> Section:
    """What each score asks."""
    return Section(
        "scores",
        "What each score asks",
        "A score is averaged over the attention rows of a text, then over texts. "
        "Chance is what the same rows give for a head that knows nothing.",
        tag("div", *(_explained(score) for score in run.scores), class_="words"),
        short="Scores",
    )


SECTIONS: Sequence[Callable[[Measured, Sequence[Notice]], Section]] = (
    first_screen,
    maps,
    one_head,
    table,
    words,
    lambda run, notable: the_texts(run.manifest),
    lambda run, notable: how_it_was_made(run.manifest),
)


def _lede(run: Measured) -> str:
    many = len(run.heads["name"])
    heads = f"each of the {many:,} heads" if many > 1 else "the one head"
    return (
        f"An attention head can look at a token because of where it stands or because of what it says. "
        f"Here is where {heads} of this model looks, and how far that is from chance."
    )


def _facts(run: Measured) -> list[tuple[str, str]]:
    model, texts = run.manifest.get("model") or {}, run.manifest.get("texts") or {}
    layers, heads = len(set(run.heads["layer"])), len(set(run.heads["head"]))
    facts = [(f"{layers} × {heads}", "layers × heads")]
    counts = [(texts.get("count"), "text"), (texts.get("tokens"), "token")]
    facts += [(f"{count:,}", what if count == 1 else f"{what}s") for count, what in counts if isinstance(count, int)]
    facts += [(large(model["parameters"]), "parameters")] if model.get("parameters") else []
    return facts + ([(str(model["family"]), "family")] if model.get("family") else [])


def _cards(notable: Sequence[Notice], parts: Sequence[str]) -> Html:
    if not notable:
        return tag(
            "p",
            "No head's interval is clear of chance in any score: with so few texts nothing can be told from it.",
            class_="note",
        )
    chosen = tag("p", "For each score the head farthest from chance, if its interval is clear of it.", class_="note")
    return join(tag("ul", *(tag("li", _card(notice, parts)) for notice in notable), class_="cards"), chosen)


def _card(notice: Notice, parts: Sequence[str]) -> Html:
    """One striking head as a button that selects it: the question, the answer, and chance."""
    part = tag("span", notice.part, class_="part") if len(parts) > 1 else ""
    also = tag("span", f"Also leads {_listed(notice.also)}.", class_="also") if notice.also else ""
    return tag(
        "button",
        tag("span", tag("b", notice.name), part, tag("code", notice.score.name), class_="who"),
        tag("span", tag("b", short(notice.value)), tag("span", interval(notice.low, notice.high)), class_="what"),
        _track(notice),
        tag("span", _question(notice.score.asks), class_="why"),
        tag("span", f"chance {short(notice.chance)}", class_="against"),
        also,
        type="button",
        class_="card",
        data_head=notice.name,
        aria_pressed="false",
    )


def _track(notice: Notice) -> Html:
    """The head's value on its score's range as a small drawing: dot, interval, and a tick at chance."""

    def at(value: float) -> str:
        bottom, top = notice.score.range
        return f"{100 * min(max((value - bottom) / ((top - bottom) or 1), 0), 1):.1f}%"

    low = notice.value if notice.low is None else notice.low
    high = notice.value if notice.high is None else notice.high
    return tag(
        "svg",
        tag("line", x1="0", x2="100%", y1="7", y2="7", class_="rail"),
        tag("line", x1=at(notice.chance), x2=at(notice.value), y1="7", y2="7", class_="way"),
        tag("line", x1=at(notice.chance), x2=at(notice.chance), y1="2", y2="12", class_="tick"),
        tag("line", x1=at(low), x2=at(high), y1="7", y2="7", class_="whisker"),
        tag("circle", cx=at(notice.value), cy="7", r="4", class_="dot"),
        class_="track above" if notice.above else "track below",
        aria_hidden=True,
    )


def _explained(score: Score) -> Html:
    bottom, top = score.range
    ends = [
        tag("div", tag("dt", f"{bottom:g}".replace("-", "−")), tag("dd", _sentence(score.low) or "lower end")),
        tag("div", tag("dt", f"{top:g}"), tag("dd", _sentence(score.high) or "upper end")),
    ]
    if score.chance:
        ends.append(tag("div", tag("dt", "chance"), tag("dd", CHANCE.get(score.chance, _sentence(score.chance)))))
    if score.paper:
        ends.append(tag("div", tag("dt", "from"), tag("dd", score.paper)))
    silent = "" if score.answered else tag("p", "These texts give no answer for it.", class_="note")
    asks = tag("p", _sentence(score.asks), class_="asks") if score.asks else ""
    return tag("article", tag("h3", tag("code", score.name)), asks, silent, tag("dl", *ends))


def _sentence(words: str) -> Html:
    """Begin with a capital, leave the rest alone."""
    return prose(words[:1].upper() + words[1:])


def _question(asks: str) -> Html:
    """The question itself, without what is said beside it."""
    question, mark, _ = asks.partition("?")
    return _sentence(question + mark)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _charts(run: Measured, by_offset: Columns) -> dict[str, Any]:
    x, y = Axis("{x}", "{x title}"), Axis("{y}", "{y title}")
    return {
        "plane": plane_of(run, x, y),
        "map": head_map("{score}"),
        "thumb": thumb("{score}"),
        "profile": profile(axis_labels(by_offset)),
        "dots": dots(),
    }


def _about(run: Measured, notable: Sequence[Notice], by_offset: Columns) -> dict[str, Any]:
    """What the widgets need to know: the scores, the axes to begin with, and the head to begin with."""
    x, y = first_axes(run)
    drawable = [
        notice for notice in notable if notice.name in by_offset
    ]  # a first sight with a profile, if one can be had
    leading = next(iter(drawable or notable), None)
    scores = [
        {
            "key": score.key,
            "name": score.name,
            "asks": score.asks,
            "low": score.low,
            "high": score.high,
            "range": list(score.range),
            "reach": score.reach,
            "span": list(score.span),
            "answered": score.answered,
        }
        for score in run.scores
    ]
    start = (
        {"map": leading.score.key, "selected": leading.name}
        if leading
        else {"map": x.key, "selected": run.heads["name"][0]}
    )
    return {"scores": scores, "parts": list(run.parts), "x": x.key, "y": y.key, **start}

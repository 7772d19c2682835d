"""The cards of the notable heads: the head, its score with interval and chance, and what else stands out."""

from collections.abc import Sequence

from wherewhat.formatting import interval, listed, short
from wherewhat.report.head_table import HeadTable
from wherewhat.report.notable_heads import BY_CONTENT, BY_POSITION, TELLING, HeadScore, why_no_head_is_notable
from wherewhat.report.tags import Html, join, prose, tag

HUES = {BY_POSITION: "where", BY_CONTENT: "what"}


def notable_cards(notable: Sequence[HeadScore], run: HeadTable) -> Html:
    """One card per notable head, and how they were chosen; or why there is none."""
    if not notable:
        return tag("p", why_no_head_is_notable(run), class_="note")
    cards = [tag("li", _card(head, several=len(run.heads["name"]) > 1)) for head in notable]
    return join(tag("ul", *cards, class_="cards"), tag("p", _how_chosen(notable), class_="note"))


def _how_chosen(notable: Sequence[HeadScore]) -> str:
    leads = any(head.lead in HUES for head in notable)
    first = "First the heads that position and content decide most clearly. " if leads else ""
    if all(head.low is None for head in notable):
        return f"{first}Without intervals no other head is singled out; give two texts or more."
    return (
        f"{first}{'Then for' if leads else 'For'} each score of attention, the head farthest from chance, if its "
        f"interval excludes chance and it is at least {100 * TELLING:g} % of the range away."
    )


def _card(head: HeadScore, *, several: bool) -> Html:
    """One head as a button that selects it: the question, the answer, and chance."""
    words = head.lead if several else head.lead.removeprefix("most ")
    lead = tag("span", words, class_="lead") if head.lead else ""
    side = "" if head.low is None or head.unclear else "above " if head.above else "below "
    levels = [(f"{side}chance", head.chance), ("untrained", head.untrained)]
    known = [f"{words} {short(level)}" for words, level in levels if level is not None] or ["no chance level"]
    unsure = ", inside the interval" if head.unclear else ""
    also = _also(head, "farthest " if several else "")
    return tag(
        "button",
        tag("span", tag("b", head.name), lead, tag("code", head.score.name), class_="who"),
        tag("span", tag("b", short(head.value)), tag("span", interval(head.low, head.high)), class_="what"),
        _track(head),
        tag("span", prose(_question(head.score.asks)), class_="why"),
        tag("span", ", ".join(known) + unsure, class_="against"),
        tag("span", f"{'only ' if head.rests.few else ''}{head.rests}", class_="rests") if str(head.rests) else "",
        tag("span", also, class_="also") if also else "",
        type="button",
        class_=f"card {HUES.get(head.lead, '')}".strip(),
        data_head=head.name,
        aria_pressed="false",
    )


def _question(asks: str) -> str:
    """What a score asks, without the remarks after it."""
    question, mark, _ = asks.partition("?")
    return f"{question[:1].upper()}{question[1:]}{mark}"


def _also(head: HeadScore, how: str) -> str:
    """The other scores in which a head is farthest from chance, and whether it is an attention sink."""
    sides = (
        ("above", [name for name, above in head.also if above]),
        ("below", [name for name, above in head.also if not above]),
    )
    others = "; ".join(f"{how}{side} chance in {listed(names)}" for side, names in sides if names)
    sink = (
        f"Attention sink: the first token gets {short(head.sink)} of its attention."
        if head.sink is not None and head.score.name != "sink"
        else ""
    )
    return f"{f'Also {others}.' if others else ''} {sink}".strip()


def _track(head: HeadScore) -> Html:
    """The value on its score's range as a small drawing: dot, interval, tick at chance, ring at untrained weights."""
    bottom, top = head.score.range

    def at(value: float) -> str:
        return f"{100 * min(max((value - bottom) / ((top - bottom) or 1), 0), 1):.1f}%"

    low = head.value if head.low is None else head.low
    high = head.value if head.high is None else head.high
    start = bottom if head.chance is None else head.chance
    tick = tag("line", x1=at(start), x2=at(start), y1="2", y2="12", class_="tick")
    return tag(
        "svg",
        tag("line", x1="0", x2="100%", y1="7", y2="7", class_="rail"),
        tag("line", x1=at(start), x2=at(head.value), y1="7", y2="7", class_="way"),
        "" if head.chance is None else tick,
        "" if head.untrained is None else tag("circle", cx=at(head.untrained), cy="7", r="3", class_="fresh"),
        tag("line", x1=at(low), x2=at(high), y1="7", y2="7", class_="whisker"),
        tag("circle", cx=at(head.value), cy="7", r="4", class_="dot"),
        class_="track above" if head.above else "track below",
        aria_hidden=True,
    )

"""Choose the few heads to show first, and draw a card of each: the one decided most by position, the one decided most
by content, and for every score of attention the head farthest from chance, if its interval excludes chance. An
attention sink on the first token is reported as that, never as decided by position or by content."""

from collections.abc import Sequence
from dataclasses import replace

from wherewhat.formatting import interval, listed, short
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.pages.heads.head_table import ATTENTION, HeadScore, HeadTable, ScoreView
from wherewhat.report.pages.heads.shares import preference_of

FEW = 6
TELLING = 0.05  # of the range: a head nearer to chance is not notable, however narrow its interval
BY_POSITION, BY_CONTENT, SINK = "most positional", "most content-based", "attention sink"
HUES = {BY_POSITION: "where", BY_CONTENT: "what"}


def notable_heads(run: HeadTable) -> list[HeadScore]:
    """First the heads decided most by position and by content, then the strongest others, each head once.

    A head that is the farthest in several scores is shown by one in which it is above chance, if there is one.
    """
    first, farthest = leading_heads(run), farthest_heads(run)
    best: dict[str, HeadScore] = {}
    for head in farthest:
        best.setdefault(head.name, head)
    strongest = sorted(best.values(), key=lambda head: -head.strength)
    chosen = [*first, *(head for head in strongest if head.name not in {leading.name for leading in first})][:FEW]
    others = [[its for its in farthest if its.name == head.name and its.score != head.score] for head in chosen]
    also = [tuple((its.score.name, its.above) for its in more) for more in others]
    return [replace(head, also=more) for head, more in zip(chosen, also, strict=True)]


def farthest_heads(run: HeadTable) -> list[HeadScore]:
    """For every score of attention the head farthest from chance, those above chance first."""
    farthest = []
    for score in _ranking(run):
        if clear := [head for head in run.scored(score) if head.clear and head.strength >= TELLING]:
            head = max(clear, key=lambda head: head.strength)
            farthest.append(replace(head, lead=SINK) if score.name == "sink" and head.sink is not None else head)
    return sorted(farthest, key=lambda head: (not head.above, -head.strength, head.score.name))


def _ranking(run: HeadTable) -> list[ScoreView]:
    """The scores by which heads can be notable.

    Published scores are left out: they are shown beside the other measurements of position against content.
    """
    return [score for score in run.answered if score.kind == ATTENTION and None not in score.ends]


def why_no_head_is_notable(run: HeadTable) -> str:
    """Why no head is shown before the others."""
    scored = [head for score in _ranking(run) for head in run.scored(score) if head.chance is not None]
    nobody = "No head is singled out"
    if not scored:
        return f"{nobody}: none of the chosen scores has a chance level to compare with."
    if not any(head.comparable for head in scored):
        return f"{nobody}: without intervals, nothing says how reliable a number is. Give two texts or more."
    if any(head.clear for head in scored):
        return (
            "No head is far from chance: where an interval excludes chance, the head differs from it by less than "
            f"{100 * TELLING:g} % of the score's range."
        )
    return "No head's interval excludes chance in any score of attention; more texts would narrow the intervals."


def leading_heads(run: HeadTable) -> list[HeadScore]:
    """The heads decided most by position and most by content, where there are such heads.

    Only a head that clearly favours the one over the other qualifies, and no attention sink. The first of these shares
    that were measured answer the question of the page.
    """
    prefixes = ("attended.", "", "input.", "input.shift.")
    pairs = (run.find(f"{prefix}position_share", f"{prefix}symbol_share") for prefix in prefixes)
    both = next(filter(None, pairs), [])
    awake = [pair for pair in (run.together(both) if both else []) if pair[0].sink is None]
    leading = []
    for words, which, side in ((BY_POSITION, 0, 1), (BY_CONTENT, 1, -1)):
        if candidates := [pair[which] for pair in awake if preference_of(pair[0], pair[1]).side == side]:
            leading.append(replace(max(candidates, key=lambda head: head.value), lead=words))
    return leading


def notable_cards(notable: Sequence[HeadScore], run: HeadTable) -> Html:
    """One card per notable head, and how they were chosen; or why there is none."""
    if not notable:
        return tag("p", why_no_head_is_notable(run), class_="note")
    cards = [tag("li", _card(head, several=len(run.heads["name"]) > 1)) for head in notable]
    leads = any(head.lead in HUES for head in notable)
    chosen = "First the heads that position and content decide most clearly. " if leads else ""
    if all(head.low is None for head in notable):
        chosen += "Without intervals no other head is singled out; give two texts or more."
    else:
        chosen += (
            f"{'Then for' if leads else 'For'} each score of attention, the head farthest from chance, if its "
            f"interval excludes chance and it is at least {100 * TELLING:g} % of the range away."
        )
    return join(tag("ul", *cards, class_="cards"), tag("p", chosen, class_="note"))


def _card(head: HeadScore, *, several: bool) -> Html:
    """One head as a button that selects it: the question, the answer, and chance."""
    unclear = head.comparable and not head.clear
    side = "" if head.low is None or unclear else "above " if head.above else "below "
    levels = [(f"{side}chance", head.chance), ("untrained", head.untrained)]
    known = [f"{words} {short(level)}" for words, level in levels if level is not None] or ["no chance level"]
    question, mark, _ = head.score.asks.partition("?")
    lines = {
        "why": prose(capital(question + mark)),
        "against": ", ".join(known) + (", inside the interval" if unclear else ""),
        "rests": f"{'only ' if head.rests.few else ''}{head.rests}" if str(head.rests) else None,
        "also": _also(head, "farthest " if several else "") or None,
    }
    lead = tag("span", head.lead if several else head.lead.removeprefix("most "), class_="lead") if head.lead else ""
    return tag(
        "button",
        tag("span", tag("b", head.name), lead, tag("code", head.score.name), class_="who"),
        tag("span", tag("b", short(head.value)), tag("span", interval(head.low, head.high)), class_="what"),
        _track(head),
        *(tag("span", words, class_=name) for name, words in lines.items() if words is not None),
        type="button",
        class_=f"card {HUES.get(head.lead, '')}".strip(),
        data_head=head.name,
        aria_pressed="false",
    )


def _also(head: HeadScore, how: str) -> str:
    """The other scores in which a head is farthest from chance, and whether it is an attention sink."""
    sides = {side: [name for name, above in head.also if above == (side == "above")] for side in ("above", "below")}
    others = "; ".join(f"{how}{side} chance in {listed(names)}" for side, names in sides.items() if names)
    sink = f"Attention sink: the first token gets {short(head.sink)} of its attention."
    resting = head.sink is not None and head.score.name != "sink"
    return f"{f'Also {others}.' if others else ''} {sink if resting else ''}".strip()


def _track(head: HeadScore) -> Html:
    """The value on its score's range as a small drawing: dot, interval, tick at chance, ring at untrained weights."""
    bottom, top = head.score.range

    def at(value: float | None) -> str:
        known = head.value if value is None else value
        return f"{100 * min(max((known - bottom) / ((top - bottom) or 1), 0), 1):.1f}%"

    def line(look: str, left: str, right: str, ends: tuple[str, str] = ("7", "7")) -> Html:
        return tag("line", x1=left, x2=right, y1=ends[0], y2=ends[1], class_=look)

    start = at(bottom if head.chance is None else head.chance)
    return tag(
        "svg",
        line("rail", "0", "100%"),
        line("way", start, at(head.value)),
        "" if head.chance is None else line("tick", start, start, ("2", "12")),
        "" if head.untrained is None else tag("circle", cx=at(head.untrained), cy="7", r="3", class_="fresh"),
        line("whisker", at(head.low), at(head.high)),
        tag("circle", cx=at(head.value), cy="7", r="4", class_="dot"),
        class_="track above" if head.above else "track below",
        aria_hidden=True,
    )

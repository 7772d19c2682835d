"""Swaps in words: the sentence as it is above the swapped one, what moved marked and joined; or roles by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wherewhat.report.numbers import count, short
from wherewhat.report.probe_swaps_tables import Swaps
from wherewhat.report.probe_told import direction, size_words
from wherewhat.report.tags import Html, join, tag

JOINED = 9  # words of a stretch beyond which lines between them would be a tangle
MOST = 12  # examples that are shown at once
ALL = 60  # and with those that are folded away
ROLES = ("agent", "patient")
STATES = {"original": "as it is", "swapped": "swapped", "control": "control"}
Span = tuple[int, int]
Example = Mapping[str, Any]


def laid_out(found: Swaps, draw: Callable[[Swaps, Example], Html]) -> Html:
    """Of every kind of swap the first example and the one that moved the model most; the others folded away."""
    examples = list(found.manifest.get("examples") or ())[:ALL]
    firsts: dict[object, Example] = {}
    for example in examples:
        firsts.setdefault(tuple(example.get(name) for name in ("data", "item", "chosen")), example)
    shown = list(firsts.values())[:MOST]
    folded = [example for example in examples if not any(example is one for one in shown)]
    more = tag("summary", f"{count(len(folded), 'more example')}")
    rest = tag("div", *(draw(found, one) for one in folded), class_="swap-examples")
    open_ = tag("div", *(draw(found, one) for one in shown), class_="swap-examples")
    return join(open_, tag("details", more, rest, class_="treebank") if folded else "")


def shuffle_example(found: Swaps, example: Example) -> Html:
    """One example of shuffled phrases."""
    lines = [tag("div", _sentence(one), class_="sentence") for one in example.get("sentences") or ()]
    title = tag("h3", _phrases(str(example.get("item") or "")), *_from(found, example))
    return tag("article", title, *lines, answers(example), _control(example), class_="swap-example panel")


def exchange_example(found: Swaps, example: Example) -> Html:
    """One example of exchanged roles, or of the other voice."""
    voice = example.get("item") == "voice"
    title = tag("h3", "The other voice" if voice else "Roles exchanged", *_from(found, example))
    name = "other voice" if voice else "exchanged"
    lines = [tag("div", _exchanged(one, name), class_="sentence") for one in example.get("sentences") or ()]
    return tag("article", title, *lines, answers(example), _control(example), class_="swap-example panel")


def _phrases(item: str) -> str:
    return "The whole sentence shuffled" if item == "whole" else f"Phrases of {size_words(item)} shuffled"


def _from(found: Swaps, example: Example) -> list[object]:
    where = [str(example["data"])] if len(found.datas) > 1 and example.get("data") else []
    why = ["one of those that moved the model most"] if example.get("chosen") == "most moved" else []
    return [tag("span", tag("bdi", one), class_="dim") for one in (*where, *why)]


def _sentence(one: Mapping[str, Any], *, swapped: str = "swapped", order: str = "order", spans: str = "spans") -> Html:
    """A sentence above its swap, word above word; a sentence that was left alone is written once."""
    words, after = _words(one.get("words")), _words(one.get(swapped))
    if not after or after == words:
        return tag("p", _flow(words), class_="beside", dir=direction(words))
    places = [int(place) for place in one.get(order) or range(len(words))]
    read = tag("p", f"As it is: {' '.join(words)} Swapped: {' '.join(after)}", class_="unseen")
    pieces = []
    place, starts = 0, dict(_spans(one.get(spans)))
    while place < len(after):
        end = min(starts.get(place, place), len(after))
        if end > place:
            closed = end == len(after) - 1 and words[end:] == after[end:]
            stop = _still(words, after, end) if closed else None
            pieces.append(_stretch(words, after, places, (place, end), stop=stop))
            place = end + closed
            continue
        same = words[place : place + 1] == after[place : place + 1]
        shown = _still(words, after, place) if same else _stretch(words, after, places, (place, place + 1))
        pieces.append(shown)
        place += 1
    return join(read, tag("div", *pieces, class_="aligned", dir=direction(words), aria_hidden=True))


def _still(words: Sequence[str], after: Sequence[str], place: int) -> Html:
    """A word that stayed, above itself."""
    return tag("span", _word(words[place] if place < len(words) else ""), _word(after[place]), class_="still")


def _stretch(
    words: Sequence[str], after: Sequence[str], places: Sequence[int], span: Span, *, stop: Html | None = None
) -> Html:
    """A stretch whose words changed places: joined by lines, or numbered where it is long.

    The full stop behind it stays with it: by itself it might stand on a line of its own.
    """
    start, end = span
    here = range(start, end)
    if end - start > JOINED:
        columns = [
            tag("span", _word(words[at], number=at - start + 1), _word(after[at], number=places[at] - start + 1))
            for at in here
        ]
        return tag(
            "span", *(tag("span", column, class_="long") for column in columns), stop or "", class_="moved tangle"
        )
    above = [tag("span", _word(words[at])) for at in here]
    below = [tag("span", _word(after[at], number=places[at] - start + 1)) for at in here]
    ways = [_way(places[at] - start, at - start) for at in here if start <= places[at] < end]
    lines = tag("svg", *ways, viewBox=f"0 0 {end - start} 1", preserveAspectRatio="none", aria_hidden=True)
    box = tag(
        "span", tag("span", *above, class_="line"), lines, tag("span", *below, class_="line after"), class_="moved"
    )
    return tag("span", box, stop, class_="closed") if stop else box


def _way(old: int, new: int) -> Html:
    """The way of a word from its old place above to its new one below."""
    return tag("line", x1=old + 0.5, y1=0, x2=new + 0.5, y2=1, class_="stays" if old == new else "goes")


def _word(word: str, number: int | None = None) -> Html:
    return tag("span", tag("bdi", word), tag("sub", str(number)) if number is not None else "", class_="word")


def _exchanged(one: Mapping[str, Any], name: str) -> Html:
    """A sentence and below it the one with roles exchanged; agent and patient are marked and named."""
    words, after = _words(one.get("words")), _words(one.get("swapped"))
    if not after or after == words:
        return tag("p", _flow(words), class_="beside", dir=direction(words))
    roles = _roles(one.get("roles")) or {f"stretch {n}": span for n, span in enumerate(_spans(one.get("spans")), 1)}
    moved = _roles(one.get("swapped_roles")) or _after(one, roles)
    return tag(
        "dl",
        tag("div", tag("dt", "as it is"), tag("dd", _marked(words, roles), dir=direction(words))),
        tag("div", tag("dt", name), tag("dd", _marked(after, moved), dir=direction(after))),
        class_="exchange",
    )


def _after(one: Mapping[str, Any], roles: Mapping[str, Span]) -> dict[str, Span]:
    """Where roles stand after a swap: an exchange hands each to the other's words, another voice leaves them theirs."""
    words, after, places = _words(one.get("words")), _words(one.get("swapped")), one.get("order")
    if places is None:
        found = {role: _again(words[start:end], after) for role, (start, end) in roles.items()}
    else:
        now = {role: _where(places, start, end) for role, (start, end) in roles.items()}
        exchanged = set(roles) == set(ROLES)
        found = {role: now[ROLES[1 - ROLES.index(role)]] if exchanged else span for role, span in now.items()}
    return {role: span for role, span in found.items() if span}


def _again(stretch: Sequence[str], words: Sequence[str]) -> Span | None:
    """Where the same words stand in another sentence."""
    size = len(stretch)
    starts = (at for at in range(len(words) - size + 1) if list(words[at : at + size]) == list(stretch))
    return next(((at, at + size) for at in starts), None)


def _where(places: Sequence[int], start: int, end: int) -> Span | None:
    """Where a stretch of old places now stands."""
    now = [new for new, old in enumerate(places) if start <= old < end]
    return (min(now), max(now) + 1) if now else None


def _marked(words: Sequence[str], roles: Mapping[str, Span]) -> Html:
    """Words in a row, with the stretches of roles in boxes that say which."""
    starts = {start: (end, role) for role, (start, end) in roles.items()}
    pieces: list[object] = []
    place = 0
    while place < len(words):
        end, role = starts.get(place, (place, ""))
        if end > place:
            look = f"role {role if role in ROLES else 'other'}"
            last = tag("span", tag("bdi", words[end - 1]), tag("small", role), class_="last")
            pieces.append(tag("span", _flow(words[place : end - 1]), last, class_=look))
            place = end
        else:
            pieces.append(tag("bdi", words[place]))
            place += 1
    return join(*(join(piece, " ") for piece in pieces))


def _flow(words: Sequence[str]) -> Html:
    return join(*(join(tag("bdi", word), " ") for word in words))


def answers(example: Example) -> Html:
    """What the model said to the sentence as it is, to the swapped one and to the control."""
    told = example.get("said") or {}
    right = {"original": example.get("label"), "swapped": example.get("new"), "control": example.get("label")}
    if right["swapped"] is None:
        right["swapped"] = example.get("label")
    rows = [
        tag("div", tag("dt", name), tag("dd", _answer(told[state], right[state])))
        for state, name in STATES.items()
        if isinstance(told.get(state), Mapping)
    ]
    return tag("dl", *rows, class_="answers") if rows else Html("")


def _answer(said: Mapping[str, Any], right: Any) -> Html:
    """A label with whether it is right, or how much the words surprise, or how far the states went."""
    parts: list[object] = []
    if said.get("label") is not None:
        correct = right is None or said["label"] == right
        why = "" if right is None else " ✓" if correct else f" ✗ right: {right}"
        parts.append(join(tag("b", tag("bdi", said["label"])), tag("span", why, class_="good" if correct else "bad")))
    if said.get("probability") is not None:
        parts.append(tag("span", f"{short(said['probability'])} sure"))
    if said.get("nats") is not None:
        parts.append(join(tag("b", short(said["nats"])), " nats a token"))
    if said.get("distance"):
        parts.append(tag("span", f"states {short(said['distance'])} away"))
    return join(*(join(", " if number else "", part) for number, part in enumerate(parts))) if parts else Html("–")


def _control(example: Example) -> Html:
    """The control of an example, folded away."""
    made = [one for one in example.get("sentences") or () if one.get("control")]
    if not made:
        return Html("")
    lines = [_sentence(one, swapped="control", order="control_order", spans="control_spans") for one in made]
    return tag("details", tag("summary", "The control: as many words elsewhere"), *lines)


def _words(given: Any) -> list[str]:
    return [str(word) for word in given or ()]


def _spans(given: Any) -> list[Span]:
    return [(int(start), int(end)) for start, end in given or ()]


def _roles(given: Any) -> dict[str, Span]:
    return {str(role): (int(span[0]), int(span[1])) for role, span in (given or {}).items() if span}

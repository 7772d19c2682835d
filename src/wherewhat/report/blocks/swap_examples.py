"""Examples of swaps: the original above the swapped sentence, with moved words joined by lines; or with named roles."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from wherewhat.formatting import count, short
from wherewhat.report.blocks.layout import definitions, folded
from wherewhat.report.blocks.swaps import size_words
from wherewhat.report.core.html import Html, join, tag
from wherewhat.tables.manifest.probe import ModelAnswer, ProbeExample, Span, SwappedSentence

JOINED = 9  # words of a span; lines between more of them would be a tangle
MOST = 12  # examples that are shown at once
ALL = 60  # and with those that are folded away
ROLES = ("agent", "patient")
TITLES = {"roles": "Role swap", "voice": "Other voice", "whole": "The whole sentence shuffled"}


def example_cards(examples: Sequence[ProbeExample], *, several: bool) -> Html:
    """Of every kind of swap the first example and the one with the largest effect; the others folded away."""
    firsts: dict[object, ProbeExample] = {}
    for example in examples[:ALL]:
        firsts.setdefault((example.data, example.item, example.chosen), example)
    first = list(firsts.values())[:MOST]
    others = [example for example in examples[:ALL] if not any(example is other for other in first)]
    open_, rest = (
        tag("div", *(swap_example(each, several) for each in some), class_="swap-examples") for some in (first, others)
    )
    return join(open_, folded(count(len(others), "more example"), rest) if others else None)


def swap_example(example: ProbeExample, several: bool = False) -> Html:
    """One example of a swap, with the data that it is from where there are several."""
    item = example.item or ""
    title = TITLES.get(item, f"Constituents of {size_words(item)} shuffled")
    where = [example.data] if several and example.data else []
    why = ["one of those with the largest effect"] if example.chosen == "most moved" else []
    draw = partial(_roles, name=title.lower()) if item in ("roles", "voice") else _words
    return tag(
        "article",
        tag("h3", title, *(tag("span", tag("bdi", text), class_="dim") for text in (*where, *why))),
        *(tag("div", _version(sentence, draw), class_="sentence") for sentence in example.sentences),
        _answers(example),
        _control(example),
        class_="swap-example panel",
    )


def _version(sentence: SwappedSentence, draw: Callable[[SwappedSentence], Html]) -> Html:
    """A sentence and its swap; an unchanged sentence is written once."""
    if sentence.swapped and sentence.swapped != sentence.words:
        return draw(sentence)
    return tag("p", _flow(sentence.words), class_="beside", dir=direction(sentence.words))


def _words(sentence: SwappedSentence) -> Html:
    """A sentence above its swap, word above word."""
    words, after = sentence.words, sentence.swapped
    places = sentence.order or range(len(words))
    pieces: list[Html] = []
    place, ends = 0, dict(sentence.spans)
    while place < len(after):
        moved = words[place : place + 1] != after[place : place + 1]
        end = min(ends.get(place, place + moved), len(after))
        if end > place:
            closed = end == len(after) - 1 and words[end:] == after[end:]
            stop = _still(words, after, end) if closed else None
            pieces.append(_moved_span(words, after, places, (place, end), stop=stop))
            place = end + closed
        else:
            pieces.append(_still(words, after, place))
            place += 1
    read = tag("p", f"Original: {' '.join(words)} Swapped: {' '.join(after)}", class_="unseen")
    return join(read, tag("div", *pieces, class_="aligned", dir=direction(words), aria_hidden=True))


def _still(words: Sequence[str], after: Sequence[str], place: int) -> Html:
    """A word that stayed, above itself."""
    return tag("span", _word(words[place] if place < len(words) else ""), _word(after[place]), class_="still")


def _moved_span(
    words: Sequence[str], after: Sequence[str], places: Sequence[int], span: Span, *, stop: Html | None = None
) -> Html:
    """A span whose words moved: joined by lines, or numbered where it is long.

    The full stop after it stays with it: otherwise it might be on a line of its own.
    """
    start, end = span
    here = range(start, end)
    below = [_word(after[at], number=places[at] - start + 1) for at in here]
    if end - start > JOINED:
        columns = (tag("span", _word(words[at], number=at - start + 1), below[at - start]) for at in here)
        return tag("span", *(tag("span", column, class_="long") for column in columns), stop, class_="moved tangle")
    moves = [(places[at] - start, at - start) for at in here if start <= places[at] < end]
    ways = [
        tag("line", x1=old + 0.5, y1=0, x2=new + 0.5, y2=1, class_="stays" if old == new else "goes")
        for old, new in moves  # from the old place above to the new place below
    ]
    box = tag(
        "span",
        tag("span", *(tag("span", _word(words[at])) for at in here), class_="line"),
        tag("svg", *ways, viewBox=f"0 0 {end - start} 1", preserveAspectRatio="none", aria_hidden=True),
        tag("span", *(tag("span", word) for word in below), class_="line after"),
        class_="moved",
    )
    return tag("span", box, stop, class_="closed") if stop else box


def _word(word: str, number: int | None = None) -> Html:
    return tag("span", tag("bdi", word), tag("sub", str(number)) if number is not None else "", class_="word")


def _roles(sentence: SwappedSentence, name: str) -> Html:
    """A sentence and below it the one with swapped roles; agent and patient are marked and named."""
    roles = sentence.roles or {f"span {n}": span for n, span in enumerate(sentence.spans, 1)}
    versions = {"original": (sentence.words, roles), name: (sentence.swapped, _after(sentence, roles))}
    lines = [
        tag("div", tag("dt", title), tag("dd", _marked(words, its), dir=direction(words)))
        for title, (words, its) in versions.items()
    ]
    return tag("dl", *lines, class_="exchange")


def _after(sentence: SwappedSentence, roles: Mapping[str, Span]) -> dict[str, Span]:
    """Where roles are after a swap: a role swap gives each to the other's words, another voice leaves them theirs."""
    words, after, places = sentence.words, sentence.swapped, sentence.order
    if places is None:
        spans = {role: _again(words[start:end], after) for role, (start, end) in roles.items()}
    else:
        now = {role: _where(places, *span) for role, span in roles.items()}
        spans = dict(zip(now, reversed(now.values()), strict=True)) if set(roles) == set(ROLES) else now
    return {role: span for role, span in spans.items() if span}


def _again(stretch: Sequence[str], words: Sequence[str]) -> Span | None:
    """Where the same words are in another sentence."""
    size = len(stretch)
    starts = (at for at in range(len(words) - size + 1) if list(words[at : at + size]) == list(stretch))
    return next(((at, at + size) for at in starts), None)


def _where(places: Sequence[int], start: int, end: int) -> Span | None:
    """Where a span of old places is now."""
    now = [new for new, old in enumerate(places) if start <= old < end]
    return (min(now), max(now) + 1) if now else None


def _marked(words: Sequence[str], roles: Mapping[str, Span]) -> Html:
    """Words in a row, with the roles in named boxes."""
    starts = {start: (end, role) for role, (start, end) in roles.items()}
    pieces: list[Html] = []
    place = 0
    while place < len(words):
        end, role = starts.get(place, (place, ""))
        if end > place:
            last = tag("span", tag("bdi", words[end - 1]), tag("small", role), class_="last")
            look = f"role {role if role in ROLES else 'other'}"
            pieces += [tag("span", _flow(words[place : end - 1]), last, class_=look), Html(" ")]
        else:
            pieces.append(_flow(words[place : place + 1]))
        place = max(end, place + 1)
    return join(*pieces)


def _flow(words: Sequence[str]) -> Html:
    return join(*(join(tag("bdi", word), " ") for word in words))


def _answers(example: ProbeExample) -> Html | None:
    """The model's answers to the original sentence, to the swapped one and to the control."""
    after = example.label if example.new is None else example.new
    right = {"original": example.label, "swapped": after, "control": example.label}
    known = [(state, _answer(its, label)) for state, label in right.items() if (its := example.answers.get(state))]
    return definitions(known, "answers") if known else None


def _answer(answer: ModelAnswer, right: str | None) -> Html:
    """A label with whether it is right, or the surprisal, or the distance of the hidden states."""
    parts: list[object] = []
    if answer.label is not None:
        correct = right is None or answer.label == right
        why = "" if right is None else " ✓" if correct else f" ✗ right: {right}"
        parts.append(join(tag("b", tag("bdi", answer.label)), tag("span", why, class_="good" if correct else "bad")))
    if answer.probability is not None:
        parts.append(tag("span", f"probability {short(answer.probability)}"))
    if answer.nats is not None:
        parts.append(join(tag("b", short(answer.nats)), " nats per token"))
    if answer.distance:
        parts.append(tag("span", f"hidden states {short(answer.distance)} away"))
    return join(*(join(", " if number else "", part) for number, part in enumerate(parts))) if parts else Html("–")


def _control(example: ProbeExample) -> Html | None:
    """The control of an example, folded away."""
    controls = [
        _version(replace(each, swapped=each.control, order=each.control_order, spans=each.control_spans), _words)
        for each in example.sentences
        if each.control
    ]
    return tag("details", tag("summary", "The control: as many words elsewhere"), *controls) if controls else None


def direction(words: Iterable[str]) -> str:
    """The writing direction of a sentence, by its first letter that has one.

    >>> direction(["the", "cat"]), direction(["١", "كتب"])
    ('ltr', 'rtl')
    """
    kinds = map(unicodedata.bidirectional, "".join(words))
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"

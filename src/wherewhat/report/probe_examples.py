"""Examples of swaps: the original above the swapped sentence, with moved words joined by lines; or with named roles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wherewhat.formatting import count, short
from wherewhat.report.probe_sections import direction, size_words
from wherewhat.report.probe_swaps_tables import SwapTables
from wherewhat.report.tags import Html, join, tag
from wherewhat.tables.manifest.probe import ModelAnswer, ProbeExample, Span, SwappedSentence

JOINED = 9  # words of a span; lines between more of them would be a tangle
MOST = 12  # examples that are shown at once
ALL = 60  # and with those that are folded away
ROLES = ("agent", "patient")
STATES = {"original": "original", "swapped": "swapped", "control": "control"}


def laid_out(swaps: SwapTables, draw: Callable[[ProbeExample, bool], Html]) -> Html:
    """Of every kind of swap the first example and the one with the largest effect; the others folded away."""
    examples, several = swaps.manifest.examples[:ALL], len(swaps.datasets) > 1
    firsts: dict[object, ProbeExample] = {}
    for example in examples:
        firsts.setdefault((example.data, example.item, example.chosen), example)
    shown = list(firsts.values())[:MOST]
    folded = [example for example in examples if not any(example is other for other in shown)]
    more = tag("summary", f"{count(len(folded), 'more example')}")
    rest = tag("div", *(draw(example, several) for example in folded), class_="swap-examples")
    open_ = tag("div", *(draw(example, several) for example in shown), class_="swap-examples")
    return join(open_, tag("details", more, rest, class_="treebank") if folded else "")


def shuffle_example(example: ProbeExample, several: bool = False) -> Html:
    """One example of shuffled constituents."""
    lines = [tag("div", _sentence(sentence), class_="sentence") for sentence in example.sentences]
    title = tag("h3", _title(example.item or ""), *_from(example, several))
    return tag("article", title, *lines, answers(example), _control(example), class_="swap-example panel")


def role_swap_example(example: ProbeExample, several: bool = False) -> Html:
    """One example of swapped roles, or of the other voice."""
    voice = example.item == "voice"
    title = tag("h3", "Other voice" if voice else "Role swap", *_from(example, several))
    name = "other voice" if voice else "role swap"
    lines = [tag("div", _role_swap(sentence, name), class_="sentence") for sentence in example.sentences]
    return tag("article", title, *lines, answers(example), _control(example), class_="swap-example panel")


def _title(item: str) -> str:
    return "The whole sentence shuffled" if item == "whole" else f"Constituents of {size_words(item)} shuffled"


def _from(example: ProbeExample, several: bool) -> list[object]:
    where = [example.data] if several and example.data else []
    why = ["one of those with the largest effect"] if example.chosen == "most moved" else []
    return [tag("span", tag("bdi", text), class_="dim") for text in (*where, *why)]


def _sentence(sentence: SwappedSentence) -> Html:
    """A sentence above its swap, word above word; an unchanged sentence is written once."""
    words, after = sentence.words, sentence.swapped
    if not after or after == words:
        return tag("p", _flow(words), class_="beside", dir=direction(words))
    places = sentence.order or range(len(words))
    read = tag("p", f"Original: {' '.join(words)} Swapped: {' '.join(after)}", class_="unseen")
    pieces = []
    place, starts = 0, dict(sentence.spans)
    while place < len(after):
        end = min(starts.get(place, place), len(after))
        if end > place:
            closed = end == len(after) - 1 and words[end:] == after[end:]
            stop = _still(words, after, end) if closed else None
            pieces.append(_moved_span(words, after, places, (place, end), stop=stop))
            place = end + closed
            continue
        same = words[place : place + 1] == after[place : place + 1]
        shown = _still(words, after, place) if same else _moved_span(words, after, places, (place, place + 1))
        pieces.append(shown)
        place += 1
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
    """The line of a word from its old place above to its new place below."""
    return tag("line", x1=old + 0.5, y1=0, x2=new + 0.5, y2=1, class_="stays" if old == new else "goes")


def _word(word: str, number: int | None = None) -> Html:
    return tag("span", tag("bdi", word), tag("sub", str(number)) if number is not None else "", class_="word")


def _role_swap(sentence: SwappedSentence, name: str) -> Html:
    """A sentence and below it the one with swapped roles; agent and patient are marked and named."""
    words, after = sentence.words, sentence.swapped
    if not after or after == words:
        return tag("p", _flow(words), class_="beside", dir=direction(words))
    roles = sentence.roles or {f"span {n}": span for n, span in enumerate(sentence.spans, 1)}
    moved = sentence.swapped_roles or _after(sentence, roles)
    return tag(
        "dl",
        tag("div", tag("dt", "original"), tag("dd", _marked(words, roles), dir=direction(words))),
        tag("div", tag("dt", name), tag("dd", _marked(after, moved), dir=direction(after))),
        class_="exchange",
    )


def _after(sentence: SwappedSentence, roles: Mapping[str, Span]) -> dict[str, Span]:
    """Where roles are after a swap: a role swap gives each to the other's words, another voice leaves them theirs."""
    words, after, places = sentence.words, sentence.swapped, sentence.order
    if places is None:
        placed = {role: _again(words[start:end], after) for role, (start, end) in roles.items()}
    else:
        now = {role: _where(places, start, end) for role, (start, end) in roles.items()}
        both_roles = set(roles) == set(ROLES)
        placed = {role: now[ROLES[1 - ROLES.index(role)]] if both_roles else span for role, span in now.items()}
    return {role: span for role, span in placed.items() if span}


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


def answers(example: ProbeExample) -> Html:
    """The model's answers to the original sentence, to the swapped one and to the control."""
    after = example.label if example.new is None else example.new
    right = {"original": example.label, "swapped": after, "control": example.label}
    rows = [
        tag("div", tag("dt", name), tag("dd", _answer(answer, right[state])))
        for state, name in STATES.items()
        if (answer := example.answers.get(state)) is not None
    ]
    return tag("dl", *rows, class_="answers") if rows else Html("")


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


def _control(example: ProbeExample) -> Html:
    """The control of an example, folded away."""
    controls = [
        _sentence(replace(each, swapped=each.control, order=each.control_order, spans=each.control_spans))
        for each in example.sentences
        if each.control
    ]
    if not controls:
        return Html("")
    return tag("details", tag("summary", "The control: as many words elsewhere"), *controls)

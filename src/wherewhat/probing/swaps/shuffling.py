"""Words shuffled inside the phrases of a sentence, and the same done to stretches that are no phrases."""

from collections.abc import Sequence

from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.swaps.base import Span, Swap, body, rearranged, size_name
from wherewhat.tasks.stream import Stream

TRIES = 20  # stretches drawn for a control before it is given up


def phrases_of(sentence: Sentence, size: int | None) -> tuple[Span, ...]:
    """The phrases of just this many words that hold two different ones and none of the marks at the end.

    None is the whole sentence up to those marks.
    """
    end = body(sentence)
    spans = {(0, end)} if size is None else {(start, stop) for _, start, stop in sentence.spans if stop - start == size}
    return tuple(sorted(span for span in spans if span[1] <= end and _differ(sentence, span)))


def shuffle_phrases(
    sentence: Sentence, size: int | None, *, seed: int, key: int | str, one: bool = False
) -> Swap | None:
    """The words inside every phrase of this size (or one such phrase) in another order; None if there is no phrase.

    What is drawn depends on the seed, the size and the key alone.
    """
    spans = phrases_of(sentence, size)
    if not spans:
        return None
    stream = Stream(seed, "shuffle", "random" if size is None else size, key)
    if one:
        spans = (stream.pick(spans),)
    ways = [_another_order(sentence, span, stream) for span in spans]
    return rearranged(sentence, _placed(sentence, spans, ways), spans)


def shuffle_control(sentence: Sentence, swap: Swap, *, seed: int, key: int | str) -> Swap | None:
    """As many stretches of the same size that are no phrases, each brought into the same order as a shuffled phrase.

    So as many words move, as far. None where there are no such stretches, as for a whole sentence.
    """
    ways = [[before - start for before in swap.order[start:stop]] for start, stop in swap.spans]
    stretches = _no_phrases(sentence, ways)
    stream = Stream(seed, "shuffle control", size_name(len(ways[0])), key)
    for _ in range(TRIES):
        spans = _apart(stretches, len(ways), stream)
        if spans is None:
            return None
        control = rearranged(sentence, _placed(sentence, spans, ways), spans)
        if control.words != swap.words:
            return control
    return None


def _no_phrases(sentence: Sentence, ways: Sequence[Sequence[int]]) -> list[Span]:
    """Stretches that are no phrases, and that look different after each of these ways of shuffling."""
    size, phrases = len(ways[0]), {(start, stop) for _, start, stop in sentence.spans}
    stretches = [(start, start + size) for start in range(body(sentence) - size + 1)]
    return [span for span in stretches if span not in phrases and all(_changes(sentence, span, way) for way in ways)]


def _apart(stretches: Sequence[Span], count: int, stream: Stream) -> tuple[Span, ...] | None:
    """So many stretches that do not overlap, in their order; None if there are not as many."""
    chosen, left = list[Span](), list(stretches)
    while len(chosen) < count:
        for one in stream.shuffle(left):
            rest = [other for other in left if other[1] <= one[0] or one[1] <= other[0]]
            if _most_apart(rest) >= count - len(chosen) - 1:
                chosen, left = [*chosen, one], rest
                break
        else:
            return None
    return tuple(sorted(chosen))


def _most_apart(stretches: Sequence[Span]) -> int:
    """How many stretches of equal size, sorted, fit beside each other: always the next that fits."""
    count, end = 0, 0
    for start, stop in stretches:
        if start >= end:
            count, end = count + 1, stop
    return count


def _another_order(sentence: Sentence, span: Span, stream: Stream) -> list[int]:
    """A random order in which the words of a stretch do not read as before."""
    while True:
        way = stream.shuffle(range(span[1] - span[0]))
        if _changes(sentence, span, way):
            return way


def _changes(sentence: Sentence, span: Span, way: Sequence[int]) -> bool:
    words = _folded(sentence, span)
    return [words[before] for before in way] != words


def _differ(sentence: Sentence, span: Span) -> bool:
    return len(set(_folded(sentence, span))) > 1


def _folded(sentence: Sentence, span: Span) -> list[str]:
    """Without capitals: the one at the beginning of a sentence does not make another word."""
    return [word.lower() for word in sentence.words[span[0] : span[1]]]


def _placed(sentence: Sentence, spans: Sequence[Span], ways: Sequence[Sequence[int]]) -> list[int]:
    """The order of a whole sentence: a way inside each stretch, everything else as it was."""
    order = list(range(len(sentence.words)))
    for (start, stop), way in zip(spans, ways, strict=True):
        order[start:stop] = [start + before for before in way]
    return order

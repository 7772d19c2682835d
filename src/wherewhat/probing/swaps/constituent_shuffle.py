"""Words shuffled within the constituents of a sentence, and as a control within spans that are not constituents."""

from collections.abc import Sequence

from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.swaps.swap import Span, Swap, body, rearranged, size_name
from wherewhat.tasks.stream import Stream

TRIES = 20  # sets of spans drawn for a control before giving up


def constituents_of(sentence: Sentence, size: int | None) -> tuple[Span, ...]:
    """The constituents of exactly so many words that hold two different words and no final punctuation.

    None is the whole sentence up to its final punctuation.
    """
    end = body(sentence)
    spans = {(0, end)} if size is None else {(start, stop) for _, start, stop in sentence.spans if stop - start == size}
    return tuple(sorted(span for span in spans if span[1] <= end and len(set(_folded(sentence, span))) > 1))


def shuffle_constituents(
    sentence: Sentence, size: int | None, *, seed: int, key: int | str, single: bool = False
) -> Swap | None:
    """The words within every constituent of this size (or a single one) in another order; None if there is none.

    The draws depend on the seed, the size and the key alone.
    """
    spans = constituents_of(sentence, size)
    if not spans:
        return None
    stream = Stream(seed, "shuffle", "random" if size is None else size, key)
    if single:
        spans = (stream.pick(spans),)
    orders = []
    for span in spans:
        order = list(range(span[1] - span[0]))
        while not _changes(sentence, span, order):
            order = stream.shuffle(range(span[1] - span[0]))
        orders.append(order)
    return rearranged(sentence, _placed(sentence, spans, orders), spans)


def shuffle_control(sentence: Sentence, swap: Swap, *, seed: int, key: int | str) -> Swap | None:
    """As many spans of the same size that are not constituents, each brought into the order of a shuffled constituent.

    So as many words move, and as far. None where there are no such spans, as for a whole sentence.
    """
    orders = [[before - start for before in swap.order[start:stop]] for start, stop in swap.spans]
    size, constituents = len(orders[0]), {(start, stop) for _, start, stop in sentence.spans}
    others = [(start, start + size) for start in range(body(sentence) - size + 1)]
    others = [span for span in others if span not in constituents]
    candidates = [span for span in others if all(_changes(sentence, span, order) for order in orders)]
    stream = Stream(seed, "shuffle control", size_name(size), key)
    for _ in range(TRIES):
        spans = _disjoint(candidates, len(orders), stream)
        if spans is None:
            return None
        control = rearranged(sentence, _placed(sentence, spans, orders), spans)
        if control.words != swap.words:
            return control
    return None


def _disjoint(candidates: Sequence[Span], count: int, stream: Stream) -> tuple[Span, ...] | None:
    """So many spans of equal size that do not overlap, sorted; None if there are fewer."""
    chosen, left = list[Span](), list(candidates)
    while len(chosen) < count:
        for span in stream.shuffle(left):
            rest = [other for other in left if other[1] <= span[0] or span[1] <= other[0]]
            fitting, end = 0, 0  # how many of the rest fit beside each other: always the next that fits
            for start, stop in rest:
                fitting, end = (fitting + 1, stop) if start >= end else (fitting, end)
            if fitting >= count - len(chosen) - 1:
                chosen, left = [*chosen, span], rest
                break
        else:
            return None
    return tuple(sorted(chosen))


def _changes(sentence: Sentence, span: Span, order: Sequence[int]) -> bool:
    words = _folded(sentence, span)
    return [words[before] for before in order] != words


def _folded(sentence: Sentence, span: Span) -> list[str]:
    """In lower case: the capital letter at the beginning of a sentence does not make another word."""
    return [word.lower() for word in sentence.words[span[0] : span[1]]]


def _placed(sentence: Sentence, spans: Sequence[Span], orders: Sequence[Sequence[int]]) -> list[int]:
    """The order of a whole sentence: an order within each span, everything else as it was."""
    whole = list(range(len(sentence.words)))
    for (start, stop), order in zip(spans, orders, strict=True):
        whole[start:stop] = [start + before for before in order]
    return whole

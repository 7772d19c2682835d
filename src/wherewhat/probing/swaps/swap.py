"""A swap: a sentence with some of its words in other places, the capital and the full stop where they were."""

from collections.abc import Sequence
from dataclasses import dataclass

from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.units import punctuation

Span = tuple[int, int]  # the first word, and the one after the last
SIZES: tuple[int | None, ...] = (3, 4, 5, 6, None)  # of constituents, in words; None: the whole sentence


@dataclass(frozen=True)
class Swap:
    """The words of a sentence in another order."""

    words: tuple[str, ...]
    order: tuple[int, ...]  # where the word in each place was before
    spans: tuple[Span, ...]  # the spans that were changed, in old places

    @property
    def moved(self) -> float:
        """The share of words that are in another place than before."""
        return sum(now != before for now, before in enumerate(self.order)) / len(self.order)

    @property
    def reach(self) -> float:
        """How many places a word has moved, on average over all words."""
        return sum(abs(now - before) for now, before in enumerate(self.order)) / len(self.order)


def size_name(size: int | None) -> str:
    """The name of a size in tables.

    >>> [size_name(size) for size in SIZES]
    ['3', '4', '5', '6', 'whole']
    """
    return "whole" if size is None else str(size)


def rearranged(sentence: Sentence, order: Sequence[int], spans: Sequence[Span]) -> Swap:
    """The words in this order; the sentence begins with a capital letter if it did before."""
    words = [sentence.words[before] for before in order]
    return Swap(tuple(capitalised(sentence, words, order)), tuple(order), tuple(spans))


def capitalised(sentence: Sentence, words: Sequence[str], order: Sequence[int]) -> list[str]:
    """The words with a capital letter where the sentence begins now, and none where it began before."""
    result = list(words)
    first = _first_letter(sentence.words)
    if first is None or not sentence.words[first][0].isupper():
        return result
    now, there = order.index(first), _first_letter(words)
    if there is None or now == there:
        return result
    word, tag = sentence.words[first], (sentence.xpos[first] if sentence.xpos else None) or ""
    if sentence.lemma and sentence.lemma[first]:
        name = sentence.lemma[first][:1].isupper()
    else:
        name = word == "I" or tag.startswith("NNP") or (bool(sentence.upos) and sentence.upos[first] == "PROPN")
    if not name and word[1:] == word[1:].lower():  # no capital letter in the middle of a sentence
        result[now] = result[now][0].lower() + result[now][1:]
    result[there] = result[there][0].upper() + result[there][1:]
    return result


def _first_letter(words: Sequence[str]) -> int | None:
    """The place of the first word that begins with a letter; quotation marks and dashes may come before it."""
    return next((place for place, word in enumerate(words) if word[:1].isalpha()), None)


def body(sentence: Sentence) -> int:
    """How many words come before the punctuation that ends a sentence."""
    marks = punctuation(sentence)
    return next((end for end in range(len(marks), 0, -1) if not marks[end - 1]), 0)

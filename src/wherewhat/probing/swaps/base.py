"""What a swap is: a sentence with some of its words in other places, the capital and the full stop where they were."""

from collections.abc import Sequence
from dataclasses import dataclass

from wherewhat.corpora.punctuation import punctuation
from wherewhat.corpora.sentence import Sentence

Span = tuple[int, int]  # from a word to the first one behind
SIZES: tuple[int | None, ...] = (3, 4, 5, 6, None)  # of phrases, in words; None: the whole sentence


@dataclass(frozen=True)
class Swap:
    """The words of a sentence in another order."""

    words: tuple[str, ...]
    order: tuple[int, ...]  # where the word in each place stood before
    spans: tuple[Span, ...]  # the stretches that were changed, as they stood before

    @property
    def moved(self) -> float:
        """The share of words that stand in another place than before."""
        return sum(now != before for now, before in enumerate(self.order)) / len(self.order)

    @property
    def reach(self) -> float:
        """How many places a word has moved, on average over all words."""
        return sum(abs(now - before) for now, before in enumerate(self.order)) / len(self.order)


def size_name(size: int | None) -> str:
    """What a size is called in tables.

    >>> [size_name(size) for size in SIZES]
    ['3', '4', '5', '6', 'whole']
    """
    return "whole" if size is None else str(size)


def rearranged(sentence: Sentence, order: Sequence[int], spans: Sequence[Span]) -> Swap:
    """The words in this order; the sentence begins with a capital if it did before."""
    words = [sentence.words[before] for before in order]
    return Swap(tuple(begun(sentence, words, order)), tuple(order), tuple(spans))


def begun(sentence: Sentence, words: Sequence[str], order: Sequence[int]) -> list[str]:
    """The words with a capital where the sentence begins now, and none where it has begun before."""
    result = list(words)
    first = _first_letter(sentence.words)
    if first is None or not sentence.words[first][0].isupper():
        return result
    now, there = order.index(first), _first_letter(words)
    if there is None or now == there:
        return result
    if not _always_capital(sentence, first):
        result[now] = result[now][0].lower() + result[now][1:]
    result[there] = result[there][0].upper() + result[there][1:]
    return result


def _first_letter(words: Sequence[str]) -> int | None:
    """The place of the first word that begins with a letter; quotation marks and dashes come before it."""
    return next((place for place, word in enumerate(words) if word[:1].isalpha()), None)


def _always_capital(sentence: Sentence, place: int) -> bool:
    """Whether a word is written with a capital in the middle of a sentence too."""
    word = sentence.words[place]
    if sentence.lemma and sentence.lemma[place]:
        return sentence.lemma[place][:1].isupper() or word[1:] != word[1:].lower()
    tag = sentence.xpos[place] if sentence.xpos else None
    name = (tag or "").startswith("NNP") or (bool(sentence.upos) and sentence.upos[place] == "PROPN")
    return word == "I" or name or word[1:] != word[1:].lower()


def body(sentence: Sentence) -> int:
    """How many words come before the punctuation that ends a sentence."""
    marks = punctuation(sentence)
    return next((end for end in range(len(marks), 0, -1) if not marks[end - 1]), 0)

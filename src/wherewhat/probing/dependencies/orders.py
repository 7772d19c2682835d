"""What a model reads for a sentence: the sentence, other orders of its words, and one word as often as it has words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.vocabulary import word_ids
from wherewhat.probing.dependencies.sentences import NONE, Ready
from wherewhat.probing.dependencies.settings import FULL, POSITIONAL, Asking
from wherewhat.tasks.stream import Stream

AS_IT_IS = -1  # instead of the number of an order
Shape = tuple[int, tuple[tuple[int, int], ...]]  # how many tokens, and which of them are of no word


@dataclass(frozen=True)
class Text:
    """A sentence in some order of its words, as token ids."""

    order: int  # AS_IT_IS, or which of the other orders
    ids_T: Tensor
    word_of_T: Tensor  # kept words in the counting of the sentence as it is

    @cached_property
    def place_U(self) -> Tensor:
        """Where each kept word stands, told by its first token."""
        slots_T = torch.arange(len(self.ids_T))
        words = int(self.word_of_T.max()) + 1
        first_U = torch.full((words,), len(self.ids_T))
        real_T = self.word_of_T != NONE
        return first_U.scatter_reduce(0, self.word_of_T[real_T], slots_T[real_T], "amin")


def texts_of(sentences: Sequence[Ready], asking: Asking) -> list[list[Text]]:
    """All that a model has to read of every sentence for the parts that are asked for."""
    return [list(_of_one(one, asking)) for one in sentences]


def _of_one(one: Ready, asking: Asking) -> Iterator[Text]:
    if {FULL, POSITIONAL} & set(asking.parts):  # what position does is looked up as the sentence itself is read
        yield Text(AS_IT_IS, one.aligned.ids_T, one.word_of(one.aligned))
    for order in range(asking.orders):
        shuffled = Stream(asking.seed, "dependencies", one.number, order).shuffle(range(len(one.units.words)))
        text = one.aligned.in_order(shuffled)
        yield Text(order, text.ids_T, one.word_of(text))


def shape_of(one: Ready) -> Shape:
    """What the positional part of attention depends on: how many words there are, and where tokens of no word stand.

    Not how many pieces words have: that would say which of them are rare, and governors often are.
    """
    return len(one.one_each.ids_T), one.one_each.special


def repeated(shape: Shape, words: Sequence[int]) -> list[Tensor]:
    """For every word a text of nothing but this word; tokens of no word stay where they are."""
    length, special = shape
    texts = []
    for word in words:
        ids_T = torch.full((length,), word)
        for slot, id in special:
            ids_T[slot] = id
        texts.append(ids_T)
    return texts


def words_to_repeat(model: LoadedModel, sentences: Sequence[Ready], asking: Asking) -> list[int]:
    """Token ids of words of one piece, drawn from the sentences; whole words of the vocabulary where there are none."""
    special = set(model.tokenizer.all_special_ids)
    found = sorted({id for one in sentences for id in _single(one)} - special) or word_ids(model, asking.copies)
    return Stream(asking.seed, "dependencies", "words").sample(found, min(asking.copies, len(found)))


def _single(one: Ready) -> Iterator[int]:
    word_of_T = one.word_of(one.aligned)
    real_T = word_of_T != NONE
    pieces_U = torch.bincount(word_of_T[real_T], minlength=len(one.kept))
    return iter(one.aligned.ids_T[real_T][pieces_U[word_of_T[real_T]] == 1].tolist())

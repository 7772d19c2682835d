"""The texts that a model reads of every sentence: as it is, and in other orders of its words, each text once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wherewhat.capture.tokens.align import SPECIAL
from wherewhat.capture.tokens.batch import Batch
from wherewhat.probing.dependencies.repeated_word import Shape, shape_of
from wherewhat.probing.dependencies.settings import POSITIONAL, DependencySettings
from wherewhat.probing.dependencies.text_batches import padded_batch, runs_of
from wherewhat.probing.dependencies.treebanks import EncodedSentence
from wherewhat.probing.dependencies.word_attention import WordPooling
from wherewhat.tasks.stream import Stream

BEHIND = 10**6  # the place of words that do not exist: behind all others


@dataclass(frozen=True)
class SentenceTexts:
    """The distinct texts of a sentence, all of one length. A short sentence has few, whatever the permutations."""

    ids_BT: Tensor
    word_of_BT: Tensor  # kept words, numbered as in the sentence as it is
    text_R: Tensor  # which text each order is: first the sentence as it is, if it is read, then every permutation

    @classmethod
    def of(cls, sentence: EncodedSentence, settings: DependencySettings) -> "SentenceTexts":
        """The texts that the parts of attention in the settings need."""
        from_RT = _token_orders(sentence, settings)
        word_of_T = sentence.word_of(sentence.aligned)
        both_RX = torch.cat([sentence.aligned.ids_T[from_RT], word_of_T[from_RT]], 1)
        both_BX, text_R = both_RX.unique(dim=0, return_inverse=True)
        ids_BT, word_of_BT = both_BX.chunk(2, 1)
        return cls(ids_BT, word_of_BT, text_R)

    @cached_property
    def place_BU(self) -> Tensor:
        """Where each kept word is in every text, by its first token."""
        words = int(self.word_of_BT.max()) + 1
        slots_BT = torch.arange(self.word_of_BT.shape[1]).expand_as(self.word_of_BT)
        first_BU = torch.full((len(self.ids_BT), words + 1), BEHIND)  # the last is for tokens of no kept word
        return first_BU.scatter_reduce(1, self.word_of_BT % (words + 1), slots_BT, "amin")[:, :words]


def _token_orders(sentence: EncodedSentence, settings: DependencySettings) -> Tensor:
    """from_RT: for every order, which token of the sentence as it is comes in which slot; those of no word stay."""
    units = range(len(sentence.units.words))
    streams = (Stream(settings.seed, "dependencies", sentence.number, order) for order in range(settings.orders))
    orders = [units] * settings.reads_as_it_is + [stream.shuffle(units) for stream in streams]
    place_RU = torch.tensor(orders).argsort(1)
    unit_T = sentence.aligned.unit_of_T
    slots_N = (unit_T != SPECIAL).nonzero().flatten()
    from_RT = torch.arange(len(unit_T)).repeat(len(orders), 1)
    from_RT[:, slots_N] = slots_N[place_RU[:, unit_T[slots_N]].argsort(dim=1, stable=True)]
    return from_RT


@dataclass(frozen=True)
class SentenceGroup:
    """Sentences of nearly one length that are read together, each with all its texts."""

    numbers: tuple[int, ...]  # of the sentences
    shapes: tuple[Shape, ...]
    texts: tuple[SentenceTexts, ...]
    size_S: Tensor  # kept words of each
    one_each: WordPooling  # of the sentences with one token per word

    @classmethod
    def of(
        cls, numbers: Sequence[int], sentences: Sequence[EncodedSentence], texts: Sequence[SentenceTexts]
    ) -> "SentenceGroup":
        """Some of the sentences."""
        chosen = [sentences[number] for number in numbers]
        return cls(
            numbers=tuple(numbers),
            shapes=tuple(shape_of(sentence) for sentence in chosen),
            texts=tuple(texts[number] for number in numbers),
            size_S=torch.tensor([len(sentence.kept) for sentence in chosen]),
            one_each=WordPooling.of([sentence.word_of(sentence.one_each) for sentence in chosen]),
        )

    @property
    def batch(self) -> Batch:
        """The texts of the first sentence, then those of the second, ..."""
        return padded_batch([ids_T for texts in self.texts for ids_T in texts.ids_BT])

    @cached_property
    def pooling(self) -> WordPooling:
        """The words of every text."""
        return WordPooling.of([word_of_T for texts in self.texts for word_of_T in texts.word_of_BT])

    @cached_property
    def text_SR(self) -> Tensor:
        """The text in the batch that every order of every sentence is."""
        counts = torch.tensor([0, *(len(texts.ids_BT) for texts in self.texts)])
        return torch.stack([texts.text_R for texts in self.texts]) + counts.cumsum(0)[:-1, None]

    @cached_property
    def place_SRU(self) -> Tensor:
        """Where words are in every order."""
        places = [place_U for texts in self.texts for place_U in texts.place_BU]
        return pad_sequence(places, batch_first=True, padding_value=BEHIND)[self.text_SR]

    @cached_property
    def real_SU(self) -> Tensor:
        """Which words exist."""
        return torch.arange(int(self.size_S.max())) < self.size_S[:, None]

    def pairs(self, causal: bool) -> Tensor:
        """Which words of every sentence are visible from which, without themselves; pairs_SUU."""
        words = torch.arange(self.real_SU.shape[1])
        visible_UU = words[:, None] > words if causal else words[:, None] != words
        return self.real_SU[:, :, None] & self.real_SU[:, None] & visible_UU


def sentence_groups(
    sentences: Sequence[EncodedSentence], texts: Sequence[SentenceTexts], settings: DependencySettings
) -> Iterator[SentenceGroup]:
    """Sentences of similar length, up to so many padded tokens; a single sentence may have more.

    Where words are repeated too, sentences with equally many words come together, so that it is done once for all.
    """
    lengths = [text.ids_BT.shape[1] for text in texts]
    shapes = [shape_of(sentence) if POSITIONAL in settings.parts else (0, ()) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda number: (shapes[number], lengths[number], number))
    for run in runs_of([(len(texts[number].ids_BT), lengths[number]) for number in order], settings.batch_tokens):
        yield SentenceGroup.of(order[run], sentences, texts)

"""The positional part of attention: attention on a text in which one word is repeated."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, BatchRows
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.capture.tokens.word_ids import word_ids
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.probing.dependencies.text_batches import padded_batch, runs_of
from wherewhat.probing.dependencies.treebanks import NONE, EncodedSentence
from wherewhat.tasks.stream import Stream

Shape = tuple[int, tuple[tuple[int, int], ...]]  # the number of tokens, and (slot, id) of those that belong to no word


def shape_of(sentence: EncodedSentence) -> Shape:
    """What the positional part depends on: how many words there are, and where tokens of no word are.

    Not how many tokens words have: that would tell which words are rare, and head words often are.
    """
    return len(sentence.one_each.ids_T), sentence.one_each.special


def words_to_repeat(
    model: LoadedModel, sentences: Sequence[EncodedSentence], settings: DependencySettings
) -> list[int]:
    """Ids of words of one token, drawn from the sentences; whole words of the vocabulary where there are none."""
    ids = set[int]()
    for sentence in sentences:
        word_of_T = sentence.word_of(sentence.aligned)
        real_T = word_of_T != NONE
        tokens_U = torch.bincount(word_of_T[real_T], minlength=len(sentence.kept))
        ids |= set(sentence.aligned.ids_T[real_T][tokens_U[word_of_T[real_T]] == 1].tolist())
    known = sorted(ids - set(model.tokenizer.all_special_ids)) or word_ids(model, settings.copies)
    return Stream(settings.seed, "dependencies", "words").sample(known, min(settings.copies, len(known)))


@dataclass(frozen=True)
class RepeatedWordBatch:
    """Texts of one repeated word each: shapes and the words that are repeated in them, the shortest shape first."""

    words: tuple[tuple[Shape, tuple[int, ...]], ...]

    @property
    def batch(self) -> Batch:
        """The texts of the first shape, then those of the second, ..."""
        return padded_batch([_repeated(word, shape) for shape, words in self.words for word in words])

    @property
    def texts(self) -> int:
        """How many there are."""
        return sum(len(words) for _, words in self.words)


def _repeated(word: int, shape: Shape) -> Tensor:
    """One text; tokens of no word are where they are in a sentence."""
    length, special = shape
    ids_T = torch.full((length,), word)
    for slot, id in special:
        ids_T[slot] = id
    return ids_T


def repeated_word_batches(
    sentences: Sequence[EncodedSentence], words: Sequence[int], settings: DependencySettings
) -> list[RepeatedWordBatch]:
    """Every word repeated in every shape of the sentences, up to so many padded tokens at once."""
    sets = list[tuple[Shape, tuple[int, ...]]]()
    for shape in sorted(set(map(shape_of, sentences))):
        most = max(1, settings.batch_tokens // shape[0])
        sets += [(shape, tuple(words[first : first + most])) for first in range(0, len(words), most)]
    sizes = [(len(some), length) for (length, _), some in sets]
    return [RepeatedWordBatch(tuple(sets[run])) for run in runs_of(sizes, settings.batch_tokens)]


@dataclass
class RepeatedWordSums:
    """Attention on repeated words, summed over words; only for the shapes that are needed now, or next."""

    waiting: deque[RepeatedWordBatch]  # still to be read
    sums: dict[Shape, dict[AttentionSite, Tensor]] = field(default_factory=dict)
    _batch: RepeatedWordBatch = RepeatedWordBatch(())  # what is being read

    def add(self, block: BatchRows) -> None:
        """Add some rows of all texts; they are the same rows of every text, in order."""
        rows_Q, counts = block.rows_BQ[0], [len(words) for _, words in self._batch.words]
        for (shape, _), attention_BHQK in zip(self._batch.words, block.attention_BHQK.split(counts), strict=True):
            length, sums = shape[0], self.sums.setdefault(shape, {})
            if block.site not in sums:
                sums[block.site] = attention_BHQK.new_zeros(attention_BHQK.shape[1], length, length)
            first, count = int(rows_Q[0]), int((rows_Q < length).sum())  # without rows of padding
            sums[block.site][:, first : first + count] += attention_BHQK[:, :, :count, :length].sum(0)

    def prepare(self, shapes: set[Shape], read: Callable[[Batch], None]) -> int:
        """Read the texts of these shapes and drop shorter ones; returns how many texts were read.

        Sentences come sorted by shape, so what is dropped will not be needed again.
        """
        self.sums = {shape: sums for shape, sums in self.sums.items() if shape >= min(shapes)}
        texts = 0
        while self.waiting and self.waiting[0].words[0][0] <= max(shapes):
            self._batch = self.waiting.popleft()
            read(self._batch.batch)
            texts += self._batch.texts
        return texts

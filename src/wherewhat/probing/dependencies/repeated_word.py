"""The positional part of attention: attention on a text in which one word is repeated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, BatchRows
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, Batch, batches
from wherewhat.capture.tokens.word_ids import word_ids
from wherewhat.probing.dependencies.settings import DependencySettings
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


@dataclass
class RepeatedWordSums:
    """Attention on repeated words, summed over words; only for the shapes that are needed now."""

    words: Sequence[int]
    settings: DependencySettings
    sums: dict[Shape, dict[AttentionSite, Tensor]] = field(default_factory=dict)
    _shape: Shape = (0, ())  # of what is being read

    def add(self, block: BatchRows) -> None:
        """Add some rows of texts of one repeated word each, all of one length."""
        sums = self.sums[self._shape]
        if block.site not in sums:
            heads, tokens = block.attention_BHQK.shape[1], block.attention_BHQK.shape[-1]
            sums[block.site] = block.attention_BHQK.new_zeros(heads, tokens, tokens)
        sums[block.site][:, block.rows_BQ[0]] += block.attention_BHQK.sum(0)

    def prepare(self, shapes: set[Shape], read: Callable[[Batch], None]) -> int:
        """Read the texts of these shapes and drop others; returns how many texts were read.

        Sentences come sorted by length, so what is dropped will not be needed again.
        """
        self.sums = {shape: sums for shape, sums in self.sums.items() if shape in shapes}
        missing = [shape for shape in sorted(shapes) if shape not in self.sums]
        for self._shape in missing:
            self.sums[self._shape] = {}
            texts = [torch.full((self._shape[0],), word) for word in self.words]
            for ids_T, (slot, id) in product(texts, self._shape[1]):
                ids_T[slot] = id  # tokens of no word stay where they are
            for batch in batches(texts, queries=ALL, seed=self.settings.seed, tokens=self.settings.batch_tokens):
                read(batch)
        return len(missing) * len(self.words)

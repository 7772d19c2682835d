"""Run a model over sentences, and record the word that every head attends to most from every word."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import AttentionSite, BatchReader, BatchRows
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.attention_targets import CONFIDENCE, AttentionTargets, TargetRecorder
from wherewhat.probing.dependencies.repeated_word import RepeatedWordSums, Shape, shape_of, words_to_repeat
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, DependencySettings
from wherewhat.probing.dependencies.treebanks import NONE, EncodedSentence
from wherewhat.probing.dependencies.word_attention import WordPooling, correlation, strongest_word, without_self
from wherewhat.progress import OnText
from wherewhat.tasks.stream import Stream

AS_IT_IS = -1  # instead of the number of a permutation


@dataclass(frozen=True)
class OrderedText:
    """A sentence in some order of its words, as token ids."""

    order: int  # AS_IT_IS, or the number of a permutation
    ids_T: Tensor
    word_of_T: Tensor  # kept words, numbered as in the sentence as it is

    @cached_property
    def place_U(self) -> Tensor:
        """Where each kept word is, by its first token."""
        slots_T = torch.arange(len(self.ids_T))
        words = int(self.word_of_T.max()) + 1
        first_U = torch.full((words,), len(self.ids_T))
        real_T = self.word_of_T != NONE
        return first_U.scatter_reduce(0, self.word_of_T[real_T], slots_T[real_T], "amin")


@dataclass(frozen=True)
class SentenceGroup:
    """Sentences of nearly one length that are read together, each with all its texts."""

    numbers: tuple[int, ...]  # of the sentences
    shapes: tuple[Shape, ...]
    sizes: tuple[int, ...]  # kept words of each
    texts: tuple[OrderedText, ...]  # those of the first sentence, then those of the second, ...
    pooling: WordPooling = field(repr=False)
    one_each: WordPooling = field(repr=False)  # of the sentences with one token per word

    @classmethod
    def of(
        cls, numbers: Sequence[int], sentences: Sequence[EncodedSentence], texts: Sequence[Sequence[OrderedText]]
    ) -> "SentenceGroup":
        """Sorted by length, as a batch is."""
        numbers = sorted(numbers, key=lambda number: (len(sentences[number].aligned.ids_T), number))
        here = tuple(text for number in numbers for text in texts[number])
        chosen = [sentences[number] for number in numbers]
        shapes = tuple(shape_of(sentence) for sentence in chosen)
        sizes = tuple(len(sentence.kept) for sentence in chosen)
        pooling = WordPooling.of([text.word_of_T for text in here])
        one_each = WordPooling.of([sentence.word_of(sentence.one_each) for sentence in chosen])
        return cls(tuple(numbers), shapes, sizes, here, pooling, one_each)

    @property
    def orders(self) -> list[int]:
        """The order of each text of a sentence."""
        return [text.order for text in self.texts[: len(self.texts) // len(self.numbers)]]

    @property
    def place_BU(self) -> Tensor:
        """Where words are in every text; words that do not exist are behind all others."""
        return pad_sequence([text.place_U for text in self.texts], batch_first=True, padding_value=10**6)

    def pairs(self, causal: bool) -> Tensor:
        """Which words of every sentence are visible from which, without themselves; pairs_SUU."""
        words, size_S = torch.arange(self.pooling.words), torch.tensor(self.sizes)
        real_SU = words < size_S[:, None]
        visible_UU = words[:, None] > words if causal else words[:, None] != words
        return real_SU[:, :, None] & real_SU[:, None] & visible_UU


@dataclass
class TargetCollector:
    """Adds up rows of a group of sentences, and records the targets of heads when a layer is complete."""

    group: SentenceGroup
    recorder: TargetRecorder
    repeated: RepeatedWordSums
    _sum_BHUU: Tensor | None = None  # of the rows so far
    _rows: int = 0

    def add(self, block: BatchRows) -> None:
        """Add some rows of all texts."""
        pooled_BHUU = self.group.pooling.pool_rows(block)
        self._sum_BHUU = pooled_BHUU if self._sum_BHUU is None else self._sum_BHUU + pooled_BHUU
        self._rows += block.rows_BQ.shape[1]
        if self._rows < block.attention_BHQK.shape[-1]:
            return
        words_BHUU, self._sum_BHUU, self._rows = self._sum_BHUU, None, 0
        if not torch.isfinite(words_BHUU.sum()):
            raise UserError(
                f"the attention of {block.site.module} is not finite; load the model with --dtype float32, or check "
                "its weights"
            )
        self._record(block.site, words_BHUU.unflatten(0, (len(self.group.numbers), -1)))

    def _record(self, site: AttentionSite, words_SRHUU: Tensor) -> None:
        """The targets by full attention, by position alone and by content alone."""
        group, parts, by_part = self.group, self.repeated.settings.parts, dict[str, Tensor]()
        orders = group.orders
        if orders[:1] == [AS_IT_IS] and FULL in parts:
            # The mean over words of the largest weight; words that do not exist have none.
            size_S1 = torch.tensor(group.sizes).to(words_SRHUU)[:, None]
            confidence_SH = words_SRHUU[:, 0].amax(-1).sum(-1) / size_S1
            self.recorder.record_numbers(CONFIDENCE, site, group.numbers, confidence_SH)
            by_part[FULL] = without_self(words_SRHUU[:, 0])
        others_SRHUU = words_SRHUU[:, orders.index(0) :] if 0 in orders else words_SRHUU[:, :0]
        if SHUFFLED in parts:
            target_SHU = self._shuffled_targets(without_self(others_SRHUU[:, 0]), orders.index(0))
            self.recorder.record_targets(SHUFFLED, site, group.numbers, target_SHU)
        if POSITIONAL in parts:
            # Attention between the words of every sentence when one word is repeated instead of them.
            longest = max(length for length, _ in group.shapes)
            means = [self.repeated.sums[shape][site] / len(self.repeated.words) for shape in group.shapes]
            padded = [torch.nn.functional.pad(mean_HTT, (0, longest - mean_HTT.shape[-1]) * 2) for mean_HTT in means]
            by_part[POSITIONAL] = without_self(group.one_each.pool(torch.stack(padded)))
        if CONTEXTUAL in parts:
            by_part[CONTEXTUAL] = self._contextual(site, others_SRHUU)
        for part, words_SHUU in by_part.items():
            self.recorder.record_targets(part, site, group.numbers, strongest_word(words_SHUU))
            if FULL in by_part and part != FULL:
                pairs_SUU = group.pairs(site.part == "decoder").to(words_SHUU.device)
                r_SH = correlation(by_part[FULL], words_SHUU, pairs_SUU)
                self.recorder.record_numbers(part, site, group.numbers, r_SH)

    def _contextual(self, site: AttentionSite, others_SRHUU: Tensor) -> Tensor:
        """The mean over permutations; under a causal mask over those in which a word is visible."""
        sum_SHUU = without_self(others_SRHUU.sum(1))
        if site.part != "decoder":
            return sum_SHUU / others_SRHUU.shape[1]
        place_SRU = self.group.place_BU.unflatten(0, (len(self.group.numbers), -1))[:, -others_SRHUU.shape[1] :]
        times_SUU = (place_SRU[..., None, :] < place_SRU[..., :, None]).sum(1)
        mean_SHUU: Tensor = sum_SHUU / times_SUU[:, None].clamp_min(1)
        return mean_SHUU.tril(-1)  # only words that are visible in the sentence as it is

    def _shuffled_targets(self, words_SHUU: Tensor, order: int) -> Tensor:
        """The targets in another order, as words of the sentence as it is; of equals the first in that order."""
        order_SU = (
            self.group.place_BU[order :: len(self.group.orders)].argsort().to(words_SHUU.device)
        )  # new place to word
        index_SHUU = order_SU[:, None, None, :].expand_as(words_SHUU)
        in_order_SHUU = words_SHUU.gather(3, index_SHUU).gather(2, index_SHUU.transpose(2, 3))
        target_SHU = strongest_word(in_order_SHUU)
        word_SHU = order_SU[:, None].expand_as(target_SHU).gather(2, target_SHU)
        return torch.empty_like(word_SHU).scatter_(2, order_SU[:, None].expand_as(word_SHU), word_SHU)


def collect_targets(
    model: LoadedModel,
    sentences: Sequence[EncodedSentence],
    settings: DependencySettings,
    on_text: OnText | None = None,
) -> AttentionTargets:
    """Read all texts that the parts of attention need, and record the targets of every head."""
    texts = [list(_texts(sentence, settings)) for sentence in sentences]
    words = words_to_repeat(model, sentences, settings) if POSITIONAL in settings.parts else []
    repeated = RepeatedWordSums(words, settings)
    recorder = TargetRecorder(np.cumsum([0, *(len(sentence.kept) for sentence in sentences)]).tolist())
    done, of = 0, sum(map(len, texts)) + len(words) * len({shape_of(sentence) for sentence in sentences})
    add: Callable[[BatchRows], None] = repeated.add

    def on_batch(block: BatchRows) -> None:
        if block.site.part != "cross":
            add(block)

    with watched_by(BatchReader(on_batch, next(model.module.parameters()).dtype), model.module) as captured:
        for group in _groups(sentences, texts, repeated):
            if words:
                add = repeated.add
                done += repeated.prepare(set(group.shapes), captured.read)
            add = TargetCollector(group, recorder, repeated).add
            captured.read(next(batches([text.ids_T for text in group.texts], queries=ALL, seed=0, tokens=10**9)))
            done += len(group.texts)
            if on_text is not None:
                on_text(done, of)
    first = [text.place_U.numpy() for of_sentence in texts for text in of_sentence if text.order == 0]
    return recorder.finish(tuple(words), np.concatenate(first) if first else None)


def _texts(sentence: EncodedSentence, settings: DependencySettings) -> Iterator[OrderedText]:
    """The texts that a model has to read for the parts of attention in the settings."""
    if {FULL, POSITIONAL} & set(settings.parts):  # the positional part is looked up while the sentence itself is read
        yield OrderedText(AS_IT_IS, sentence.aligned.ids_T, sentence.word_of(sentence.aligned))
    for order in range(settings.orders):
        stream = Stream(settings.seed, "dependencies", sentence.number, order)
        text = sentence.aligned.in_order(stream.shuffle(range(len(sentence.units.words))))
        yield OrderedText(order, text.ids_T, sentence.word_of(text))


def _groups(
    sentences: Sequence[EncodedSentence], texts: Sequence[Sequence[OrderedText]], repeated: RepeatedWordSums
) -> Iterator[SentenceGroup]:
    """Sentences of similar length, up to so many padded tokens; a single sentence may have more.

    Where words are repeated too, sentences with equally many words come together, so that it is done once for all.
    """
    longest = [len(sentence.aligned.ids_T) for sentence in sentences]
    shapes = [shape_of(sentence) if repeated.words else (0, ()) for sentence in sentences]
    here: list[int] = []
    for number in sorted(range(len(sentences)), key=lambda number: (shapes[number], longest[number], number)):
        padded = max(longest[each] for each in [*here, number]) * len(texts[number]) * (len(here) + 1)
        if here and padded > repeated.settings.batch_tokens:
            yield SentenceGroup.of(here, sentences, texts)
            here = []
        here.append(number)
    yield SentenceGroup.of(here, sentences, texts)

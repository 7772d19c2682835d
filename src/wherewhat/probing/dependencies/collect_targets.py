"""Run a model over sentences, and record the word that every head attends to most from every word."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import AttentionSite, BatchReader, BatchRows
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.attention_targets import CONFIDENCE, AttentionTargets, Ints, TargetRecorder
from wherewhat.probing.dependencies.repeated_word import RepeatedWordSums, repeated_word_batches, words_to_repeat
from wherewhat.probing.dependencies.sentence_texts import SentenceGroup, SentenceTexts, sentence_groups
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, DependencySettings
from wherewhat.probing.dependencies.treebanks import EncodedSentence
from wherewhat.probing.dependencies.word_attention import correlation, strongest_word, without_self
from wherewhat.progress import OnText


@dataclass
class TargetCollector:
    """Adds up rows of a group of sentences, and records the targets of heads when a layer is complete."""

    group: SentenceGroup
    words_N: Ints  # the words of these sentences, counted over all sentences
    recorder: TargetRecorder
    repeated: RepeatedWordSums
    copies: int  # words that were repeated
    settings: DependencySettings
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
        self._record(block.site, words_BHUU)

    def _record(self, site: AttentionSite, words_BHUU: Tensor) -> None:
        """The targets by full attention, by position alone and by content alone."""
        group, parts, by_part = self.group, self.settings.parts, dict[str, Tensor]()
        if FULL in parts:
            full_SHUU = words_BHUU[group.text_SR[:, 0]]
            # The mean over words of the largest weight; words that do not exist have none.
            confidence_SH = full_SHUU.amax(-1).sum(-1) / group.size_S.to(full_SHUU)[:, None]
            self.recorder.record_numbers(CONFIDENCE, site, group.numbers, confidence_SH)
            by_part[FULL] = without_self(full_SHUU)
        if POSITIONAL in parts:
            by_part[POSITIONAL] = without_self(group.one_each.pool(self._on_repeated_words(site)))
        if CONTEXTUAL in parts:
            by_part[CONTEXTUAL] = self._contextual(site, words_BHUU)
        targets = {part: strongest_word(words_SHUU) for part, words_SHUU in by_part.items()}
        if SHUFFLED in parts:
            targets[SHUFFLED] = self._shuffled_targets(words_BHUU)
        for part, target_SHU in targets.items():
            target_NH = target_SHU.transpose(1, 2)[group.real_SU.to(target_SHU.device)]
            self.recorder.record_targets(part, site, self.words_N, target_NH)
        if FULL in by_part:
            pairs_SUU = group.pairs(site.part == "decoder").to(words_BHUU.device)
            for part in by_part.keys() - {FULL}:
                r_SH = correlation(by_part[FULL], by_part[part], pairs_SUU)
                self.recorder.record_numbers(part, site, group.numbers, r_SH)

    def _on_repeated_words(self, site: AttentionSite) -> Tensor:
        """The mean attention when one word is repeated instead of the words of every sentence, mean_SHTT."""
        longest = max(length for length, _ in self.group.shapes)
        sums = [self.repeated.sums[shape][site] for shape in self.group.shapes]
        padded = [torch.nn.functional.pad(sum_HTT, (0, longest - sum_HTT.shape[-1]) * 2) for sum_HTT in sums]
        return torch.stack(padded) / self.copies

    @cached_property
    def _permutations_SR(self) -> Tensor:
        """The text of every permutation of every sentence."""
        return self.group.text_SR[:, int(self.settings.reads_as_it_is) :]

    @cached_property
    def _place_SRU(self) -> Tensor:
        """Where words are in every permutation."""
        return self.group.place_SRU[:, int(self.settings.reads_as_it_is) :]

    @cached_property
    def _visible_SUU(self) -> Tensor:
        """Under a causal mask: in how many permutations a word is visible from another."""
        return (self._place_SRU[..., None, :] < self._place_SRU[..., :, None]).sum(1)

    def _contextual(self, site: AttentionSite, words_BHUU: Tensor) -> Tensor:
        """The mean over permutations; under a causal mask over those in which a word is visible."""
        sentences, permutations = self._permutations_SR.shape
        times_SB = words_BHUU.new_zeros(sentences, len(words_BHUU))
        text_SR = self._permutations_SR.to(times_SB.device)
        times_SB.scatter_add_(1, text_SR, torch.ones_like(text_SR, dtype=times_SB.dtype))
        sum_SHUU = without_self((times_SB @ words_BHUU.flatten(1)).unflatten(1, words_BHUU.shape[1:]))
        if site.part != "decoder":
            return sum_SHUU / permutations
        mean_SHUU: Tensor = sum_SHUU / self._visible_SUU.to(sum_SHUU.device)[:, None].clamp_min(1)
        return mean_SHUU.tril(-1)  # only words that are visible in the sentence as it is

    def _shuffled_targets(self, words_BHUU: Tensor) -> Tensor:
        """The targets in another order, as words of the sentence as it is; of equals the first in that order."""
        words_SHUU = without_self(words_BHUU[self._permutations_SR[:, 0]])
        order_SU = self._place_SRU[:, 0].argsort().to(words_SHUU.device)  # new place to word
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
    texts = [SentenceTexts.of(sentence, settings) for sentence in sentences]
    words = words_to_repeat(model, sentences, settings) if POSITIONAL in settings.parts else []
    repeated = RepeatedWordSums(deque(repeated_word_batches(sentences, words, settings) if words else ()))
    first_S = np.cumsum([0, *(len(sentence.kept) for sentence in sentences)])
    recorder = TargetRecorder(len(sentences), int(first_S[-1]))
    done, of = 0, sum(len(text.text_R) for text in texts) + sum(batch.texts for batch in repeated.waiting)
    add: Callable[[BatchRows], None] = repeated.add

    def on_batch(block: BatchRows) -> None:
        if block.site.part != "cross":
            add(block)

    with watched_by(BatchReader(on_batch, next(model.module.parameters()).dtype), model.module) as captured:
        for group in sentence_groups(sentences, texts, settings):
            add = repeated.add
            done += repeated.prepare(set(group.shapes), captured.read)
            words_N = np.concatenate([np.arange(*first_S[number : number + 2]) for number in group.numbers])
            add = TargetCollector(group, words_N, recorder, repeated, len(words), settings).add
            captured.read(group.batch)
            done += group.text_SR.numel()
            if on_text is not None:
                on_text(done, of)
    first = int(settings.reads_as_it_is)  # the first permutation
    places = [text.place_BU[text.text_R[first]].numpy() for text in texts if settings.orders]
    return recorder.finish(tuple(words), np.concatenate(places) if places else None)

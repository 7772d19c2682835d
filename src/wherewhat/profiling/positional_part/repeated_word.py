"""Run a model on texts of one repeated word, or on mean inputs: what attention is left when contents are equal."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.module_inputs import replace_inputs, watch_inputs
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, LAST, Batch, batches
from wherewhat.capture.tokens.word_ids import word_ids
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import not_finite
from wherewhat.profiling.positional_part.attention_matrix import (
    AttentionMatrix,
    MatrixCollector,
    PositionalMatrix,
    groups_for,
    mask_name,
    numpy_measures,
    reach_of,
)
from wherewhat.profiling.settings import LEAST_COPIES, PositionalSettings
from wherewhat.progress import OnText

Call = tuple[str, int]  # a module, and how often it ran before in the same forward pass: some serve several layers


@dataclass(frozen=True)
class WordProbe:
    """A model, and the words that it will read repeated."""

    model: LoadedModel
    n: int  # copies of a word in a text
    words_W: Tensor
    sites: tuple[AttentionSite, ...]  # every attention, in the order of the forward pass
    measured: tuple[AttentionSite, ...]  # those whose text is the word and nothing else
    settings: PositionalSettings

    @property
    def modules(self) -> list[str]:
        """The attention modules to measure, each once."""
        return list(dict.fromkeys(site.module for site in self.measured))

    @property
    def text_T(self) -> Tensor:
        """One of the texts."""
        return self.words_W[:1].repeat(self.n)

    @property
    def calls(self) -> dict[AttentionSite, Call]:
        """Which call of which module each site is, in the order of the forward pass."""
        count: Counter[str] = Counter()
        calls = {}
        for site in self.sites:
            calls[site] = (site.module, count[site.module])
            count[site.module] += 1
        return calls


def prepare_probe(model: LoadedModel, settings: PositionalSettings) -> WordProbe:
    """Draw words, and run one text to see what attention there is."""
    n = min(settings.length, model.context or settings.length)
    if n < LEAST_COPIES:
        raise UserError(
            f"{model.id} holds {n} tokens, and the positional part of attention needs at least {LEAST_COPIES}; leave "
            "--positional out"
        )
    known = torch.tensor(word_ids(model, settings.words))
    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(settings.seed))
    words_W = known[order[: settings.words]]
    with capture(model.module, lambda rows: None) as session:
        session.read(same_text(words_W[:1].repeat(n), 1))
        sites = session.sites
    two_stacks = any(site.part == "cross" for site in sites)
    measured = tuple(site for site in sites if site.part == "encoder" or not two_stacks)
    return WordProbe(model, n, words_W, sites, measured, settings)


@dataclass
class MeanInputs:
    """The sum of what every attention module read in each slot, by group of texts."""

    groups: int
    sums: dict[Call, Tensor] = field(default_factory=dict)  # sum_GTD
    counts: Counter[int] = field(default_factory=Counter)  # texts of each group
    _batch: Batch | None = None
    _calls: Counter[str] = field(default_factory=Counter)

    def begin(self, batch: Batch) -> None:
        """A forward pass over whole texts of one length starts."""
        self._batch, self._calls = batch, Counter()
        self.counts.update(text % self.groups for text in batch.texts)

    def add(self, name: str, x: Tensor) -> None:
        """Add what an attention module reads, texts first or slots first."""
        assert self._batch is not None
        call = (name, self._calls[name])
        self._calls[name] += 1
        shape = self._batch.ids_BT.shape
        if x.dim() != 3 or x.shape[:2] not in (shape, shape[::-1]):
            return
        x_BTD = x if x.shape[:2] == shape else x.transpose(0, 1)
        sum_GTD = self.sums.setdefault(call, torch.zeros(self.groups, *x_BTD.shape[1:], dtype=torch.float64))
        group_B = torch.tensor([text % self.groups for text in self._batch.texts])
        sum_GTD.index_add_(0, group_B, x_BTD.detach().cpu().double())

    def means(self, call: Call) -> Tensor:
        """mean_NTD of all texts, then without each group, if there is more than one."""
        sum_GTD, total = self.sums[call], sum(self.counts.values())
        count_G = torch.tensor([self.counts[group] for group in range(self.groups)], dtype=torch.float64)
        whole_1TD = sum_GTD.sum(0, keepdim=True) / total
        if self.groups < 2:
            return whole_1TD
        without_GTD = (sum_GTD.sum(0) - sum_GTD) / (total - count_G)[:, None, None]
        return torch.cat((whole_1TD, without_GTD))


@dataclass
class MatrixSum:
    """Attention summed over texts, by group."""

    groups: int
    allowed_TT: Tensor
    counts: list[int]
    sum_GHTT: Tensor
    log_HTT: Tensor  # of the sum over all groups; summed apart, as small attention is 0 before its logarithm is

    def add(self, matrix: AttentionMatrix) -> None:
        group = matrix.text % self.groups
        self.counts[group] += 1
        self.sum_GHTT[group] += matrix.attention_HTT
        log_HTT = matrix.attention_HTT.double().log()
        if matrix.logits_HTT is not None:  # which are known where attention rounds to 0
            log_HTT = matrix.logits_HTT.double().masked_fill(~matrix.allowed_TT, -torch.inf).log_softmax(-1)
        self.log_HTT = torch.logaddexp(self.log_HTT, log_HTT)

    def mean(self) -> PositionalMatrix:
        """The mean over all texts, and its measures without each group."""
        total, sum_HTT = sum(self.counts), self.sum_GHTT.double().sum(0)
        groups = zip(self.sum_GHTT, self.counts, strict=True) if self.groups > 1 else ()
        others = [numpy_measures((sum_HTT - some_HTT) / (total - count), self.allowed_TT) for some_HTT, count in groups]
        return PositionalMatrix(sum_HTT / total, self.log_HTT - math.log(total), self.allowed_TT, total, others)


@dataclass
class RepeatedWordAttention:
    """The attention on texts of one word: as it is, without its mask, and what attention modules read."""

    inputs: MeanInputs
    identical: dict[AttentionSite, MatrixSum] = field(default_factory=dict)
    unmasked: dict[AttentionSite, MatrixSum] = field(default_factory=dict)
    masked: set[AttentionSite] = field(default_factory=set)  # sites that see only one side

    @property
    def masks(self) -> dict[str, Tensor]:
        """Every mask, allowed_TT by its name, but none where all keys are visible."""
        masks = {mask_name(reach_of(sums.allowed_TT)): sums.allowed_TT for sums in self.identical.values()}
        return {name: allowed_TT for name, allowed_TT in masks.items() if name}

    def add(self, matrix: AttentionMatrix) -> None:
        if not torch.isfinite(matrix.attention_HTT.sum()):
            raise not_finite("attention", matrix.site, "on copies of one word")
        matrices = [(self.identical, matrix)]
        if not torch.equal(matrix.allowed_TT, matrix.allowed_TT.T):
            self.masked.add(matrix.site)
            matrices += [(self.unmasked, matrix.unmasked())] if matrix.open else []
        groups = self.inputs.groups
        for by_site, each in matrices:
            if each.site not in by_site:
                zeros_GHTT = each.attention_HTT.new_zeros(groups, *each.attention_HTT.shape)
                log_HTT = zeros_GHTT[0].double().log()
                by_site[each.site] = MatrixSum(groups, each.allowed_TT, [0] * groups, zeros_GHTT, log_HTT)
            by_site[each.site].add(each)


def read_repeated_words(probe: WordProbe, on_text: OnText | None = None) -> RepeatedWordAttention:
    """Run the model over n copies of every word."""
    texts = [word.repeat(probe.n) for word in probe.words_W]
    attention = RepeatedWordAttention(MeanInputs(groups_for(len(texts), probe.n)))
    for done in read_texts(probe, texts, attention.add, attention.inputs):
        if on_text is not None:
            on_text(done, len(texts))
    return attention


def read_texts(
    probe: WordProbe,
    texts: Sequence[Tensor],
    on_matrix: Callable[[AttentionMatrix], None] | None,
    inputs: MeanInputs | None = None,
) -> Iterator[int]:
    """Run the model over texts of one length, hand on matrices, sum up inputs; yields how many texts are done."""
    queries = LAST if on_matrix is None else ALL
    on_rows = (lambda rows: None) if on_matrix is None else MatrixCollector(on_matrix, probe.modules).add
    # Fewer texts than slots at once: some families put slots before texts.
    tokens, done = min(probe.settings.batch_tokens, len(texts[0]) * (len(texts[0]) - 1)), 0
    watching = nullcontext() if inputs is None else watch_inputs(probe.model.module, probe.modules, inputs.add)
    with watching, capture(probe.model.module, on_rows) as session:
        for batch in batches(texts, queries=queries, seed=probe.settings.seed, tokens=tokens):
            if inputs is not None:
                inputs.begin(batch)
            session.read(batch)
            done += len(batch.texts)
            yield done


def feed_inputs(
    probe: WordProbe, ids_T: Tensor, inputs: Mapping[Call, Tensor], on_matrix: Callable[[int, AttentionMatrix], None]
) -> None:
    """Let every attention module read these inputs_NTD, and hand on the attention it then has, one for each of N."""
    count, tokens = len(next(iter(inputs.values()))), len(ids_T)
    # Fewer than slots, so that texts are never taken for them.
    at_once = max(1, min(probe.settings.batch_tokens // tokens, tokens - 1))
    modules, start = list(dict.fromkeys(name for name, _ in inputs)), 0
    calls: Counter[str] = Counter()

    def replacement(name: str, x: Tensor) -> Tensor:
        call = (name, calls[name])
        calls[name] += 1
        if call not in inputs:
            return x
        x_NTD = inputs[call][start : start + at_once].to(x)
        return (x_NTD if x.shape == x_NTD.shape else x_NTD.transpose(0, 1)).contiguous()

    collector = MatrixCollector(lambda matrix: on_matrix(start + matrix.text, matrix), modules)
    model = probe.model.module
    with capture(model, collector.add) as session, replace_inputs(model, modules, replacement):
        for start in range(0, count, at_once):
            calls.clear()
            session.read(same_text(ids_T, min(at_once, count - start)))


def same_text(ids_T: Tensor, count: int) -> Batch:
    """The same text several times, every row of it wanted."""
    ids_BT = ids_T.repeat(count, 1)
    return Batch(
        tuple(range(count)), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.arange(len(ids_T)),) * count
    )

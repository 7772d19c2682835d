"""Texts of one word over and over: what attention is left when every token says the same."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.hooks.watch_inputs import watch_inputs
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, LAST, Batch, batches
from wherewhat.capture.tokens.vocabulary import word_ids
from wherewhat.errors import UserError
from wherewhat.profiling.positional_part.inputs import MeanInputs, same_text
from wherewhat.profiling.positional_part.matrix import Matrix, groups_for, measured, without_mask
from wherewhat.profiling.positional_part.probing import LEAST, Probing
from wherewhat.profiling.positional_part.whole import Whole, Wholes

Progress = Callable[[int, int], None]  # texts done, texts in all


@dataclass(frozen=True)
class Probe:
    """A model, and the words that it will read over and over."""

    model: LoadedModel
    n: int  # copies of a word in a text
    words_W: Tensor
    sites: tuple[AttentionSite, ...]  # every attention, in the order of the forward pass
    asked: tuple[AttentionSite, ...]  # those whose text is the word and nothing else
    probing: Probing

    @property
    def modules(self) -> list[str]:
        """The attention modules to ask, each once."""
        return list(dict.fromkeys(site.module for site in self.asked))

    @property
    def text_T(self) -> Tensor:
        """One of the texts."""
        return self.words_W[:1].repeat(self.n)


def prepare(model: LoadedModel, probing: Probing) -> Probe:
    """Draw words, and read one text to see what attentions there are."""
    n = min(probing.length, model.context or probing.length)
    if n < LEAST:
        raise UserError(f"{model.id} holds {n} tokens, and the positional part of attention needs at least {LEAST}")
    known = torch.tensor(word_ids(model, probing.words))
    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(probing.seed))
    words_W = known[order[: probing.words]]
    with capture(model.module, lambda seen: None) as captured:
        captured.read(same_text(words_W[:1].repeat(n), 1))
        sites = captured.sites
    two_stacks = any(site.part == "cross" for site in sites)
    asked = tuple(site for site in sites if site.part == "encoder" or not two_stacks)
    return Probe(model, n, words_W, sites, asked, probing)


@dataclass
class Sums:
    """Attention added up over texts, by group."""

    groups: int
    allowed_TT: Tensor
    counts: list[int]
    sum_GHTT: Tensor
    log_HTT: Tensor  # of the sum over all groups; added up apart, as small attention is 0 before its logarithm is

    @classmethod
    def like(cls, attention_HTT: Tensor, allowed_TT: Tensor, groups: int) -> "Sums":
        sum_GHTT = attention_HTT.new_zeros(groups, *attention_HTT.shape)
        return cls(groups, allowed_TT, [0] * groups, sum_GHTT, sum_GHTT[0].double().log())

    def add(self, text: int, attention_HTT: Tensor, share_HTT: Tensor) -> None:
        self.counts[text % self.groups] += 1
        self.sum_GHTT[text % self.groups] += attention_HTT
        self.log_HTT = torch.logaddexp(self.log_HTT, share_HTT)

    def matrix(self) -> Matrix:
        """The mean over all texts, and how it measures without each group."""
        all, sum_HTT = sum(self.counts), self.sum_GHTT.double().sum(0)
        rest = zip(self.sum_GHTT, self.counts, strict=True) if self.groups > 1 else ()
        others = [measured((sum_HTT - some_HTT) / (all - count), self.allowed_TT) for some_HTT, count in rest]
        return Matrix(sum_HTT / all, self.log_HTT - math.log(all), self.allowed_TT, all, others)


@dataclass
class Copies:
    """What came of texts of one word: attention as it is, without its mask, and what attentions read."""

    inputs: MeanInputs
    identical: dict[AttentionSite, Sums] = field(default_factory=dict)
    unmasked: dict[AttentionSite, Sums] = field(default_factory=dict)
    masked: set[AttentionSite] = field(default_factory=set)  # places that see only one side

    def add(self, whole: Whole) -> None:
        groups = self.inputs.groups
        if not torch.isfinite(whole.attention_HTT.sum()):
            raise UserError(
                f"the attention of {whole.site.module} is not finite on copies of one word; "
                "load the model with --dtype float32, or check its weights"
            )
        books = [(self.identical, whole)]
        if not torch.equal(whole.allowed_TT, whole.allowed_TT.T):
            self.masked.add(whole.site)
            books += [(self.unmasked, without_mask(whole))] if whole.open else []
        for book, one in books:
            if whole.site not in book:
                book[whole.site] = Sums.like(one.attention_HTT, one.allowed_TT, groups)
            book[whole.site].add(whole.text, one.attention_HTT, one.share_HTT)


def read_copies(probe: Probe, on_text: Progress | None = None) -> Copies:
    """Run the model over n copies of every word."""
    texts = [word.repeat(probe.n) for word in probe.words_W]
    copies = Copies(MeanInputs(groups_for(len(texts), probe.n)))
    with watch_inputs(probe.model.module, probe.modules, copies.inputs.see):
        for done in read_wholes(probe, texts, copies.add, copies.inputs.begin):
            if on_text is not None:
                on_text(done, len(texts))
    return copies


def read_wholes(
    probe: Probe,
    texts: Sequence[Tensor],
    on_whole: Callable[[Whole], None],
    on_batch: Callable[[Batch], None] = lambda batch: None,
) -> Iterator[int]:
    """Run the model over texts of one length, every row of them looked at; tells how many are done."""
    done = 0
    with capture(probe.model.module, Wholes(on_whole, probe.modules).see) as captured:
        for batch in alike(probe, texts, ALL):
            on_batch(batch)
            captured.read(batch)
            done += len(batch.texts)
            yield done


def read_inputs(probe: Probe, texts: Sequence[Tensor]) -> MeanInputs:
    """What attentions read of texts of one length, in the mean."""
    inputs = MeanInputs(groups_for(len(texts), len(texts[0])))
    watching = watch_inputs(probe.model.module, probe.modules, inputs.see)
    with capture(probe.model.module, lambda seen: None) as captured, watching:
        for batch in alike(probe, texts, LAST):
            inputs.begin(batch)
            captured.read(batch)
    return inputs


def alike(probe: Probe, texts: Sequence[Tensor], queries: int) -> Iterator[Batch]:
    """Batches of texts of one length, with fewer texts than slots: some families put slots before texts."""
    tokens = min(probe.probing.batch_tokens, len(texts[0]) * (len(texts[0]) - 1))
    return batches(texts, queries=queries, seed=probe.probing.seed, tokens=tokens)

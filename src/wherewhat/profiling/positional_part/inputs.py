"""What attentions read, in the mean over words or texts, slot by slot, and what they make of such a mean."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.hooks.replace_inputs import feed
from wherewhat.capture.tokens.batch import Batch
from wherewhat.profiling.positional_part.whole import Whole, Wholes

Call = tuple[str, int]  # a module, and how often it had run before in the same reading: some serve several layers
Inputs = Mapping[Call, Tensor]  # what each is to read, x_NTD
Take = Callable[[int, Whole], None]  # which of N it was, and what came of it


@dataclass
class MeanInputs:
    """The sum of what every attention read in each slot, by group of texts."""

    groups: int
    sums: dict[Call, Tensor] = field(default_factory=dict)  # sum_GTD
    counts: Counter[int] = field(default_factory=Counter)  # texts of each group
    _batch: Batch | None = None
    _calls: Counter[str] = field(default_factory=Counter)

    def begin(self, batch: Batch) -> None:
        """A reading of whole texts of one length starts."""
        self._batch, self._calls = batch, Counter()
        self.counts.update(text % self.groups for text in batch.texts)

    def see(self, name: str, x: Tensor) -> None:
        """What an attention reads, texts first or slots first."""
        assert self._batch is not None
        call = (name, self._calls[name])
        self._calls[name] += 1
        x_BTD = texts_first(x, self._batch.ids_BT.shape)
        if x_BTD is None:
            return
        sum_GTD = self.sums.setdefault(call, torch.zeros(self.groups, *x_BTD.shape[1:], dtype=torch.float64))
        group_B = torch.tensor([text % self.groups for text in self._batch.texts])
        sum_GTD.index_add_(0, group_B, x_BTD.detach().cpu().double())

    def means(self, call: Call) -> Tensor:
        """mean_NTD of all texts, then without each group, if there is more than one."""
        sum_GTD, all = self.sums[call], sum(self.counts.values())
        count_G = torch.tensor([self.counts[group] for group in range(self.groups)], dtype=torch.float64)
        whole_1TD = sum_GTD.sum(0, keepdim=True) / all
        if self.groups < 2:
            return whole_1TD
        without_GTD = (sum_GTD.sum(0) - sum_GTD) / (all - count_G)[:, None, None]
        return torch.cat((whole_1TD, without_GTD))


def texts_first(x: Tensor, shape: torch.Size) -> Tensor | None:
    """x_BTD, whichever of texts and slots a family puts first; None if it holds neither."""
    if x.dim() != 3 or x.shape[:2] not in (shape, shape[::-1]):
        return None
    return x if x.shape[:2] == shape else x.transpose(0, 1)


def feed_all(model: nn.Module, ids_T: Tensor, inputs: Inputs, batch_tokens: int, take: Take) -> None:
    """Let every attention read these inputs_NTD, and hand on all the attention it then has, one for each of N."""
    count, tokens = len(next(iter(inputs.values()))), len(ids_T)
    at_once = max(1, min(batch_tokens // tokens, tokens - 1))  # fewer than slots, so that these are never mistaken
    modules, start = list(dict.fromkeys(name for name, _ in inputs)), 0
    calls: Counter[str] = Counter()

    def instead(name: str, x: Tensor) -> Tensor:
        call = (name, calls[name])
        calls[name] += 1
        if call not in inputs:
            return x
        x_NTD = inputs[call][start : start + at_once].to(x)
        return (x_NTD if x.shape == x_NTD.shape else x_NTD.transpose(0, 1)).contiguous()

    listener = Wholes(lambda whole: take(start + whole.text, whole), modules)
    with capture(model, listener.see) as captured, feed(model, modules, instead):
        for start in range(0, count, at_once):
            calls.clear()
            captured.read(same_text(ids_T, min(at_once, count - start)))


def same_text(ids_T: Tensor, count: int) -> Batch:
    """The same text several times, every row of it wanted."""
    ids_BT = ids_T.repeat(count, 1)
    return Batch(
        tuple(range(count)), ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), (torch.arange(len(ids_T)),) * count
    )


def calls_of(sites: Sequence[AttentionSite]) -> dict[AttentionSite, Call]:
    """Which call of which module each place is, in the order of the forward pass."""
    count: Counter[str] = Counter()
    found = {}
    for site in sites:
        found[site] = (site.module, count[site.module])
        count[site.module] += 1
    return found

"""What both ways of looking inside share: what is measured, and how answers are written down."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.profiling.accumulate import Answer, LayerScores, Resampling, Summary, summarise

Progress = Callable[[int, int], None]  # texts done, texts in all


@dataclass(frozen=True)
class Run:
    """What is measured, and how."""

    model: LoadedModel
    ids: Sequence[Tensor]
    taus: tuple[float, ...]
    first: int  # slots before this one stay as they are, and nothing is said of them
    seed: int
    batch_tokens: int
    resampling: Resampling

    @property
    def eps(self) -> float:
        """The rounding of the type that the model computes in."""
        dtypes = (parameter.dtype for parameter in self.model.module.parameters())
        return torch.finfo(next(dtype for dtype in dtypes if dtype.is_floating_point)).eps


def enter(
    account: LayerScores, name: str, window: int, answer: tuple[Tensor, Tensor, float], rows: Tensor | int
) -> None:
    """Write down a window's answer to a score: value_H, how much it counts for each head, chance, and its rows."""
    value_H, weight_H, chance = answer
    rows_H = torch.as_tensor(rows).expand(len(value_H))
    account.add(name, window, Answer(value_H, weight_H, torch.tensor([chance]), rows_H))


def summaries(books: Iterable[dict[AttentionSite, LayerScores]], site: AttentionSite, run: Run) -> dict[str, Summary]:
    accounts = [accounts[site] for accounts in books if site in accounts]
    found = [(account, name) for account in accounts for name in account.values]
    return {name: summarise(account, name, run.resampling) for account, name in found}

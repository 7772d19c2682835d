"""The logits of rows of several texts, one text after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.logits.base import Logits
from wherewhat.logits.factors import Factors, join_factors
from wherewhat.logits.planes import RotaryPlanes


@dataclass(frozen=True)
class JoinedLogits(Logits):
    """Rows of several texts, each with the logits of its own text; all are of one kind."""

    parts: Sequence[Logits]  # by text
    starts_B: Tensor  # the number of each text's first row among the rows of all texts
    text_Q: Tensor  # which text each row belongs to
    number_Q: Tensor  # its number among the rows of all texts

    @classmethod
    def of(cls, parts: Sequence[Logits], text_Q: Tensor) -> "JoinedLogits":
        """All rows of some texts, one text after the other; `text_Q` is the text of each."""
        number_Q = torch.arange(len(text_Q), device=text_Q.device)
        return cls(parts, torch.searchsorted(text_Q, torch.arange(len(parts), device=text_Q.device)), text_Q, number_Q)

    @property
    def row_Q(self) -> Tensor:
        """The number of each row among those of its text."""
        return self.number_Q - self.starts_B[self.text_Q]

    @property
    def position_free(self) -> bool:  # type: ignore[override]
        return self.parts[0].position_free

    @property
    def by_table(self) -> bool:  # type: ignore[override]
        return self.parts[0].by_table

    @cached_property
    def planes(self) -> RotaryPlanes | None:  # type: ignore[override]
        planes = [part.planes for part in self.parts if part.planes is not None]
        return RotaryPlanes.join(planes).rows(self.number_Q) if planes else None

    @cached_property
    def actual_HQK(self) -> Tensor:
        actual = [part.actual_HQK for part in self.parts]
        keys = max(actual_HQK.shape[-1] for actual_HQK in actual)
        padded = [pad(actual_HQK, (0, keys - actual_HQK.shape[-1])) for actual_HQK in actual]
        return torch.cat(padded, 1)[:, self.number_Q]

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        return self.parts[int(self.text_Q[query])].table(int(self.row_Q[query]), contents_K, slots_S)

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        if self.planes is not None:
            return replace(self.planes.factors(rows_Q, keys), nonlinearity=self.parts[0].nonlinearity)
        text_Q = self.text_Q[rows_Q]
        texts = text_Q.unique().tolist()
        mine = [(text_Q == text).nonzero()[:, 0] for text in texts]
        parts = [
            self.parts[text].factors(self.row_Q[rows_Q[here_Q]], keys) for text, here_Q in zip(texts, mine, strict=True)
        ]
        return join_factors(parts, torch.cat(mine).argsort(), keys)

    def rows(self, index_Q: Tensor) -> "JoinedLogits":
        some = replace(self, text_Q=self.text_Q[index_Q], number_Q=self.number_Q[index_Q])
        if self.planes is not None:
            vars(some)["planes"] = self.planes.rows(index_Q)  # the keys of all texts have already been joined
        return some

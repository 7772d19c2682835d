"""Every score about logits again, from whole tables and texts with keys exchanged: slow, and easy to believe."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from logit_tables import plane_tables, softmax, table

from wherewhat.logits.capped import CappedLogits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows

Answer = tuple[float, float]  # value and weight
OUT = (0.0, 0.0)


@dataclass(frozen=True)
class Row:
    """One row with its whole table: table[k, j] is the logit of content k in slot j."""

    table: np.ndarray
    allowed: np.ndarray
    query: int
    first: int = 1
    blocks: tuple[tuple[int, int], ...] = ()
    tau: float = 1e-4
    planes: np.ndarray | None = None  # table[f, k, j]

    @property
    def swappable(self) -> list[int]:
        return [j for j, may in enumerate(self.allowed) if may and j != self.query and j >= self.first]

    def weights(self, order: list[int]) -> np.ndarray:
        """The attention of the text in which slot j holds content order[j]."""
        return softmax(np.array([self.table[content, slot] for slot, content in enumerate(order)]), self.allowed)

    @property
    def inner(self) -> np.ndarray:
        return self.table[np.ix_(self.swappable, self.swappable)]


def rows(asked: Rows, *, tau: float = 1e-4) -> Iterator[tuple[int, int, Row]]:
    """Every row of every head."""
    inner = asked.logits.inner if isinstance(asked.logits, CappedLogits) else asked.logits
    for head in range(len(asked.attention_HQK)):
        for index, query in enumerate(asked.queries_Q.tolist()):
            row = Row(
                table=table(asked.logits, head, index),
                allowed=asked.allowed_QK[index].numpy(),
                query=query,
                first=asked.first,
                blocks=() if asked.blocks is None else tuple(map(tuple, asked.blocks[0].tolist())),
                tau=tau,
                planes=plane_tables(inner, head, index) if isinstance(inner, RotaryLogits) else None,
            )
            yield head, index, row


def exclusion(row: Row) -> tuple[float, float]:
    """P and S: every content comes to every slot equally often over all permutations."""
    inner, actual = row.inner, np.diag(row.inner)
    return float(np.mean((inner - actual[None]) ** 2)), float(np.mean((inner - actual[:, None]) ** 2))


def exclusion_positional(row: Row) -> Answer:
    return (exclusion(row)[0], 1.0) if len(row.swappable) > 1 else OUT


def exclusion_symbolic(row: Row) -> Answer:
    return (exclusion(row)[1], 1.0) if len(row.swappable) > 1 else OUT


def logit_variance(row: Row) -> Answer:
    return (float(np.var(np.diag(row.inner))), 1.0) if len(row.swappable) > 1 else OUT


def exclusion_ratio(row: Row) -> Answer:
    if len(row.swappable) < 2 or sum(variances(row)) < 1e-25:
        return OUT
    moved = exclusion(row)
    return moved[1] / sum(moved), sum(moved)


def variances(row: Row, weights: np.ndarray | None = None) -> tuple[float, float, float]:
    """Position, symbol and interaction, from the definition."""
    inner = row.inner
    weights = np.full(len(inner), 1 / len(inner)) if weights is None else weights
    content, slot, grand = inner @ weights, weights @ inner, weights @ inner @ weights
    left = inner - content[:, None] - slot[None] + grand
    return (
        float(weights @ (slot - grand) ** 2),
        float(weights @ (content - grand) ** 2),
        float(weights @ left**2 @ weights),
    )


def share(which: int, *, attended: bool = False) -> Callable[[Row], Answer]:
    def answer(row: Row) -> Answer:
        if len(row.swappable) < 2:
            return OUT
        weights = row.weights(list(range(len(row.table))))[row.swappable]
        mixed = (weights / weights.sum() + 1 / len(weights)) / 2
        parts = variances(row, mixed if attended else None)
        return (parts[which] / sum(parts), 1.0 if attended else sum(parts)) if sum(parts) > 1e-25 else OUT

    return answer


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def averaged(swaps: list[tuple[float, float, float]], tau: float) -> tuple[float, float]:
    """Gap and both cosines of every swap, averaged by exp(gap / tau)."""
    gaps, positional, symbolic = np.array(swaps).T
    alpha = np.exp((gaps - gaps.max()) / tau)
    return float(alpha @ positional / alpha.sum()), float(alpha @ symbolic / alpha.sum())


def published(row: Row) -> tuple[float, float] | None:
    before, swaps = row.weights(list(range(len(row.table)))), []
    for s, t in combinations(row.swappable, 2):
        order = list(range(len(row.table)))
        order[s], order[t] = t, s
        after = row.weights(order)[[s, t]]
        gap = abs(before[s] - before[t])
        swaps.append((gap, cosine(after, before[[s, t]]), cosine(after, before[[t, s]])))
    return averaged(swaps, row.tau) if swaps else None


def published_blocks(row: Row) -> tuple[float, float] | None:
    """Write the text anew with two blocks exchanged; what lies between moves up or down."""
    inside = [block for block in row.blocks if set(range(*block)) <= set(row.swappable)]
    before, swaps = row.weights(list(range(len(row.table)))), []
    for (a0, a1), (b0, b1) in combinations(sorted(inside), 2):
        if a1 - a0 != b1 - b0 and not set(range(a0, b1)) <= set(row.swappable):
            continue  # would move what must stay
        order = [*range(a0), *range(b0, b1), *range(a1, b0), *range(a0, a1), *range(b1, len(row.table))]
        after = row.weights(order)
        was = np.array([before[a0:a1].mean(), before[b0:b1].mean()])
        now = np.array([after[a0 : a0 + b1 - b0].mean(), after[b1 - (a1 - a0) : b1].mean()])
        swaps.append((abs(was[0] - was[1]), cosine(now, was), cosine(now, was[::-1])))
    return averaged(swaps, row.tau) if swaps else None


def swapped(how: Callable[[Row], tuple[float, float] | None], which: int) -> Callable[[Row], Answer]:
    def answer(row: Row) -> Answer:
        found = how(row)
        return OUT if found is None else (found[which], 1.0)

    return answer


def mean_frequency(row: Row) -> Answer:
    if row.planes is None or len(row.swappable) < 2:
        return OUT
    peaks = [max(0.0, max(plane[j, j] for j in row.swappable)) for plane in row.planes]
    total = math.fsum(peaks)
    return (math.fsum(number * peak for number, peak in enumerate(peaks)) / total, total) if total else OUT


ORACLES: dict[str, Callable[[Row], Answer]] = {
    "exclusion_positional": exclusion_positional,
    "exclusion_symbolic": exclusion_symbolic,
    "logit_variance": logit_variance,
    "exclusion_ratio": exclusion_ratio,
    "position_share": share(0),
    "symbol_share": share(1),
    "interaction_share": share(2),
    "attended.position_share": share(0, attended=True),
    "attended.symbol_share": share(1, attended=True),
    "attended.interaction_share": share(2, attended=True),
    "positional": swapped(published, 0),
    "symbolic": swapped(published, 1),
    "block.positional": swapped(published_blocks, 0),
    "block.symbolic": swapped(published_blocks, 1),
    "mean_frequency": mean_frequency,
}

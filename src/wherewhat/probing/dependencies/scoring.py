"""How well heads find relations: every head by itself, and the best of them on sentences that did not choose it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.bootstrap import Counts, draws
from wherewhat.probing.dependencies.book import Looked
from wherewhat.probing.dependencies.choosing import SELECTIONS, Choice, Hits, choose, score
from wherewhat.probing.dependencies.estimating import Estimate, chance_of_none, estimate, estimates, holm
from wherewhat.probing.dependencies.gold import ALL, DISTANCES, SIDES, Rows, rows_of, visible
from wherewhat.probing.dependencies.sentences import Ready
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, Asking

OFFSET, UNIFORM, UNIFORM_SHUFFLED = "offset", "uniform", "uniform shuffled"
RESAMPLE = "dependencies"  # names the draws: treebanks of the same sentences are resampled together

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Group:
    """The rows of a relation, seen from a side, at a distance."""

    item: str
    side: str
    distance: str
    rows_N: Ints  # their numbers


@dataclass(frozen=True)
class Held:
    """How the candidate that others chose does on the rows of a group."""

    kind: str  # a part, offset, uniform, or uniform on the rows and in the order of the shuffled sentence
    group: Group
    chosen: tuple[int, ...]
    value_N: NDArray[np.float64]
    rows_N: Ints  # the group's, without those that this part cannot be asked


@dataclass(frozen=True)
class Scoring:
    """One treebank, and where heads looked on it."""

    sentences: Sequence[Ready]
    looked: Looked
    asking: Asking
    least: int

    @cached_property
    def every(self) -> Rows:
        """All rows of the treebank, whether or not the partner can be seen."""
        return rows_of(self.sentences, subtypes=self.asking.subtypes)

    @cached_property
    def rows(self) -> Rows:
        """The rows that are asked."""
        return visible(self.every) if self.looked.causal else self.every

    @cached_property
    def count_BS(self) -> Counts:
        """How often each sentence is in each replicate, for every number alike."""
        return draws(self.asking.seed, RESAMPLE, len(self.sentences))

    @cached_property
    def offsets(self) -> list[int]:
        """The fixed offsets that heads are held against."""
        low, high = self.asking.offsets
        return [offset for offset in range(low, high + 1) if offset]

    @cached_property
    def hits(self) -> dict[str, Hits]:
        """By part, whether a head looks at the partner, hit_NH; of offsets, whether the partner stands there."""
        rows = self.rows
        found = {part: look_WH[rows.from_N] == rows.to_N[:, None] for part, look_WH in self.looked.looks.items()}
        return found | {OFFSET: rows.offset_N[:, None] == np.array(self.offsets)}

    @cached_property
    def asked(self) -> Bools:
        """Of every row, whether it can be asked of the shuffled sentence: whether the partner is seen there."""
        if not self.looked.causal or self.looked.place_W is None:
            return np.ones(len(self.rows), dtype=bool)
        first_S = np.cumsum([0, *(len(one.kept) for one in self.sentences)])
        partner_N = first_S[self.rows.sentence_N] + self.rows.to_N
        before: Bools = self.looked.place_W[partner_N] < self.looked.place_W[self.rows.from_N]
        return before

    @cached_property
    def shuffled_chance_N(self) -> NDArray[np.float64]:
        """Of every row, the chance of guessing in the shuffled sentence; under a mask among what stands before there.

        NaN where the partner does not stand before.
        """
        if not self.looked.causal or self.looked.place_W is None:
            return self.rows.chance_N
        first_S = np.cumsum([0, *(len(one.kept) for one in self.sentences)])
        ranks = [self.looked.place_W[a:b].argsort().argsort() for a, b in pairwise(first_S)]
        before_N = np.concatenate(ranks)[self.rows.from_N]
        return np.where(self.asked, 1 / np.maximum(before_N, 1), np.nan)

    @cached_property
    def relations(self) -> list[str]:
        """Every relation, the most frequent first."""
        names, counts = np.unique(self.every.relation_N, return_counts=True)
        return [str(name) for _, name in sorted(zip(-counts, names, strict=True))]

    @cached_property
    def groups(self) -> list[Group]:
        """Those with enough rows, of which both halves have some."""
        found = (
            Group(item, side, distance, self.rows.where(item, side, distance))
            for item in (ALL, *self.relations)
            for side in SIDES
            for distance in DISTANCES
        )
        return [group for group in found if self.enough(group.rows_N)]

    def enough(self, rows_N: Ints) -> bool:
        """Whether so many rows are told, of which both halves have some."""
        return len(rows_N) >= self.least and len(np.unique(self.rows.half_N[rows_N])) == 2

    @property
    def dropped(self) -> list[dict[str, object]]:
        """The relations with too few rows, by side."""
        told = {(group.item, group.side) for group in self.groups}
        return [
            {"item": item, "side": side, "rows": len(self.rows.where(item, side))}
            for item in self.relations
            for side in SIDES
            if (item, side) not in told
        ]

    def rows_for(self, part: str, group: Group) -> Ints:
        """The rows of a group that can be asked of a part."""
        return group.rows_N[self.asked[group.rows_N]] if part == SHUFFLED else group.rows_N

    def of_heads(self, part: str, group: Group) -> list[Estimate]:
        """How often every head looks at the partner; with intervals over all distances, as there are many numbers."""
        rows_N = self.rows_for(part, group)
        hit_NH = self.hits[part][rows_N]
        if group.distance == ALL and len(rows_N):
            return estimates(hit_NH, self.rows.sentence_N[rows_N], self.count_BS)
        nothing = float("nan")
        means = hit_NH.mean(0).tolist() if len(rows_N) else [nothing] * hit_NH.shape[1]
        return [Estimate(mean, nothing, nothing, len(rows_N)) for mean in means]

    def held(self, group: Group) -> dict[str, Held]:
        """Every part, the offset and even attention, each by the candidate that other sentences chose.

        A shuffled sentence is read by the heads that were chosen on sentences as they are, if these were read.
        """
        found: dict[str, Held] = {}
        for kind in (*self.looked_parts, OFFSET):
            rows_N = self.rows_for(kind, group)
            if not self._halved(rows_N):
                continue
            hit_NC, half_N = self.hits[kind][rows_N], self.rows.half_N[rows_N]
            if kind == SHUFFLED and FULL in found:
                choice = Choice(found[FULL].chosen, score(found[FULL].chosen, hit_NC, half_N))
            else:
                choice = choose(SELECTIONS[self.asking.selection], hit_NC, half_N)
            found[kind] = Held(kind, group, choice.chosen, choice.hit_N.astype(np.float64), rows_N)
        found[UNIFORM] = Held(UNIFORM, group, (), self.rows.chance_N[group.rows_N], group.rows_N)
        if SHUFFLED in found:
            rows_N = found[SHUFFLED].rows_N
            found[UNIFORM_SHUFFLED] = Held(UNIFORM_SHUFFLED, group, (), self.shuffled_chance_N[rows_N], rows_N)
        return found

    def _halved(self, rows_N: Ints) -> bool:
        return len(np.unique(self.rows.half_N[rows_N])) == 2

    @property
    def looked_parts(self) -> list[str]:
        """The parts that were read, the sentence as it is first."""
        return [part for part in (FULL, POSITIONAL, CONTEXTUAL, SHUFFLED) if part in self.looked.looks]

    def sure(self, held: Held) -> Estimate:
        """How often it is right, with the interval."""
        return estimate(held.value_N, self.rows.sentence_N[held.rows_N], self.count_BS)

    def beyond(self, one: Held, other: Held) -> Estimate:
        """By how much one is right more often than another on the same rows."""
        return estimate(one.value_N - other.value_N, self.rows.sentence_N[one.rows_N], self.count_BS)

    def chance_of_none(self, one: Held, other: Held) -> float:
        """How probable such a difference is if there is none."""
        return chance_of_none(one.value_N - other.value_N, self.rows.sentence_N[one.rows_N])

    def all_held(self) -> Iterator[dict[str, Held]]:
        """All groups, one after the other."""
        return (self.held(group) for group in self.groups)


def corrected(found: Sequence[tuple[Group, float]]) -> list[tuple[Group, float]]:
    """Chances of no difference after Holm's correction, over relations and sides."""
    return list(zip([group for group, _ in found], holm([chance for _, chance in found]), strict=True))

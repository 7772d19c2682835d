"""How well heads find relations: every head by itself, and the best of them on sentences that did not choose it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.dependencies.attention_targets import AttentionTargets
from wherewhat.probing.dependencies.head_selection import SELECTIONS, Hits, score
from wherewhat.probing.dependencies.relation_rows import RelationRows, rows_of, visible
from wherewhat.probing.dependencies.settings import (
    ALL,
    CONTEXTUAL,
    DISTANCES,
    FULL,
    POSITIONAL,
    SHUFFLED,
    SIDES,
    DependencySettings,
)
from wherewhat.probing.dependencies.treebanks import EncodedSentence
from wherewhat.stats.bootstrap import Counts, estimate, estimates, named_draws
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.significance import sign_flip

OFFSET, UNIFORM, UNIFORM_SHUFFLED = "offset", "uniform", "uniform shuffled"
EACH = "each relation"  # as an item: all relations together, each by its own head
RESAMPLE = "dependencies"  # names the draws: treebanks of the same sentences are resampled together

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RelationGroup:
    """The rows of a relation, from one side, at a distance."""

    item: str
    side: str
    distance: str
    rows_N: Ints  # their numbers

    @property
    def is_relation(self) -> bool:
        """Whether it is a single relation over all distances."""
        return self.item != ALL and self.distance == ALL


@dataclass(frozen=True)
class HeldOutScore:
    """How the candidate that other sentences chose does on the rows of a group."""

    kind: str  # a part, offset, uniform, or uniform on the rows and in the order of the shuffled sentence
    group: RelationGroup
    chosen: tuple[int, ...]
    value_N: NDArray[np.float64]
    rows_N: Ints  # those of the group that this part can be scored on


Scores = dict[str, HeldOutScore]  # of one group, by kind


@dataclass(frozen=True)
class RelationScorer:
    """One treebank, and the words that heads attend to most in it."""

    sentences: Sequence[EncodedSentence]
    targets: AttentionTargets
    settings: DependencySettings
    least: int

    @cached_property
    def every(self) -> RelationRows:
        """All rows of the treebank, whether or not the partner is visible."""
        return rows_of(self.sentences, subtypes=self.settings.subtypes)

    @cached_property
    def rows(self) -> RelationRows:
        """The rows that are scored."""
        return visible(self.every) if self.targets.causal else self.every

    @cached_property
    def count_BS(self) -> Counts:
        """How often each sentence is in each replicate, the same for every number."""
        return named_draws(self.settings.seed, RESAMPLE, len(self.sentences))

    @cached_property
    def offsets(self) -> list[int]:
        """The fixed offsets that heads are compared with."""
        low, high = self.settings.offsets
        return [offset for offset in range(low, high + 1) if offset]

    @cached_property
    def hits(self) -> dict[str, Hits]:
        """By part, whether a head attends to the partner most, hit_NH; of offsets, whether the partner is there."""
        rows = self.rows
        hits = {part: target_WH[rows.from_N] == rows.to_N[:, None] for part, target_WH in self.targets.targets.items()}
        return hits | {OFFSET: rows.offset_N[:, None] == np.array(self.offsets)}

    @cached_property
    def _first_S(self) -> Ints:
        """The first word of every sentence among all words, and the number of all words."""
        return np.cumsum([0, *(len(sentence.kept) for sentence in self.sentences)])

    @cached_property
    def visible_when_shuffled(self) -> Bools:
        """For every row, whether the partner is visible in the shuffled sentence."""
        if not self.targets.causal or self.targets.place_W is None:
            return np.ones(len(self.rows), dtype=bool)
        partner_N = self._first_S[self.rows.sentence_N] + self.rows.to_N
        before: Bools = self.targets.place_W[partner_N] < self.targets.place_W[self.rows.from_N]
        return before

    @cached_property
    def shuffled_chance_N(self) -> NDArray[np.float64]:
        """For every row, the chance of guessing in the shuffled sentence; NaN where the partner is not visible."""
        if not self.targets.causal or self.targets.place_W is None:
            return self.rows.chance_N
        ranks = [self.targets.place_W[a:b].argsort().argsort() for a, b in pairwise(self._first_S)]
        before_N = np.concatenate(ranks)[self.rows.from_N]
        return np.where(self.visible_when_shuffled, 1 / np.maximum(before_N, 1), np.nan)

    @cached_property
    def relations(self) -> list[str]:
        """Every relation, the most frequent first."""
        names, counts = np.unique(self.every.relation_N, return_counts=True)
        return [str(name) for _, name in sorted(zip(-counts, names, strict=True))]

    @cached_property
    def groups(self) -> list[RelationGroup]:
        """The groups with enough rows, some of them in each half."""
        groups = (
            RelationGroup(item, side, distance, self.rows.where(item, side, distance))
            for item in (ALL, *self.relations)
            for side in SIDES
            for distance in DISTANCES
        )
        return [group for group in groups if self.enough(group.rows_N)]

    def enough(self, rows_N: Ints) -> bool:
        """Whether these are enough rows, some of them in each half."""
        return len(rows_N) >= self.least and self._in_both_halves(rows_N)

    def _in_both_halves(self, rows_N: Ints) -> bool:
        return len(np.unique(self.rows.half_N[rows_N])) == 2

    def rows_for(self, part: str, group: RelationGroup) -> Ints:
        """The rows of a group that a part can be scored on."""
        return group.rows_N[self.visible_when_shuffled[group.rows_N]] if part == SHUFFLED else group.rows_N

    def of_heads(self, part: str, group: RelationGroup) -> list[Estimate]:
        """The accuracy of every head; with intervals over all distances only, as there are many numbers."""
        rows_N = self.rows_for(part, group)
        hit_NH = self.hits[part][rows_N]
        if group.distance == ALL and len(rows_N):
            return estimates(hit_NH, self.rows.sentence_N[rows_N], self.count_BS)
        means = hit_NH.mean(0).tolist() if len(rows_N) else [float("nan")] * hit_NH.shape[1]
        return [Estimate(mean, count=len(rows_N)) for mean in means]

    def held_out(self, group: RelationGroup) -> Scores:
        """Every part, the offset and uniform attention, each by the candidate that other sentences chose.

        A shuffled sentence is scored with the heads that were chosen on sentences as they are, if these were read.
        """
        scores: Scores = {}
        for kind in (*self.parts, OFFSET):
            rows_N = self.rows_for(kind, group)
            if not self._in_both_halves(rows_N):
                continue
            hit_NC, half_N = self.hits[kind][rows_N], self.rows.half_N[rows_N]
            if kind == SHUFFLED and FULL in scores:
                chosen = scores[FULL].chosen
            else:
                chosen = SELECTIONS[self.settings.selection](hit_NC, half_N)
            value_N = score(chosen, hit_NC, half_N).astype(np.float64)
            scores[kind] = HeldOutScore(kind, group, chosen, value_N, rows_N)
        scores[UNIFORM] = HeldOutScore(UNIFORM, group, (), self.rows.chance_N[group.rows_N], group.rows_N)
        if SHUFFLED in scores:
            rows_N = scores[SHUFFLED].rows_N
            scores[UNIFORM_SHUFFLED] = HeldOutScore(UNIFORM_SHUFFLED, group, (), self.shuffled_chance_N[rows_N], rows_N)
        return scores

    @property
    def parts(self) -> list[str]:
        """The parts of attention that were read, the sentence as it is first."""
        return [part for part in (FULL, POSITIONAL, CONTEXTUAL, SHUFFLED) if part in self.targets.targets]

    def accuracy(self, scores: HeldOutScore) -> Estimate:
        """The accuracy with its interval."""
        return estimate(scores.value_N, self.rows.sentence_N[scores.rows_N], self.count_BS)

    def difference(self, first: HeldOutScore, second: HeldOutScore) -> Estimate:
        """By how much the first is more accurate than the second on the same rows."""
        return estimate(first.value_N - second.value_N, self.rows.sentence_N[first.rows_N], self.count_BS)

    def p_value(self, first: HeldOutScore, second: HeldOutScore) -> float:
        """How probable so large a difference is if there is none."""
        return sign_flip(first.value_N - second.value_N, self.rows.sentence_N[first.rows_N])


def each_by_its_own_head(scorer: RelationScorer, scores: Sequence[Scores]) -> list[Scores]:
    """By side and distance, the rows of all reported relations, each scored by the head of its relation.

    The best head for words at one distance would be given the distance with the question: between neighbours it has
    only to choose the side. Chosen for a relation over all distances, a head has to find near and far partners alike.
    """
    together = []
    for side in SIDES:
        groups = [(next(iter(of_group.values())).group, of_group) for of_group in scores]
        relations = [of_group for group, of_group in groups if group.is_relation and group.side == side]
        for distance in DISTANCES:
            here: Scores = {}
            for kind in dict.fromkeys(kind for of_group in relations for kind in of_group):
                parts = [of_group[kind] for of_group in relations if kind in of_group]
                rows_N = np.concatenate([part.rows_N for part in parts])
                order_N = rows_N.argsort()  # sentence by sentence, as rows come
                rows_N, value_N = rows_N[order_N], np.concatenate([part.value_N for part in parts])[order_N]
                near_N = scorer.rows.within(distance)[rows_N]
                if scorer.enough(rows_N[near_N]):
                    group = RelationGroup(EACH, side, distance, rows_N[near_N])
                    here[kind] = HeldOutScore(kind, group, (), value_N[near_N], rows_N[near_N])
            if here:
                together.append(here)
    return together

"""The share of relations that heads find: a head is chosen on one half of the sentences and scored on the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.head_selection import Hits, by_halves, score
from wherewhat.probing.dependencies.relation_rows import RelationRows
from wherewhat.probing.dependencies.scoring import EACH, OFFSET, UNIFORM, RelationScorer
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
from wherewhat.probing.dependencies.treebanks import GRAMMAR, encode_treebank

# By kind of share: whose hits choose the head, and whose hits are counted.
CHOICES: dict[str, tuple[str, str]] = {
    **{part: (part, part) for part in (FULL, POSITIONAL, CONTEXTUAL, OFFSET)},
    SHUFFLED: (FULL, SHUFFLED),
    "by position": (POSITIONAL, FULL),
    "by position, shuffled": (POSITIONAL, SHUFFLED),
    "by content": (CONTEXTUAL, FULL),
    "by content, shuffled": (CONTEXTUAL, SHUFFLED),
}
KINDS = (*CHOICES, UNIFORM)
ShareRow = tuple[str, str, str, float]  # relation, distance, kind, number


def split_half_shares(
    model: LoadedModel, sentences: Sequence[Sentence], settings: DependencySettings
) -> Iterator[tuple[str, *ShareRow]]:
    """The share of every relation that heads of a model find in sentences of the grammar, from both sides."""
    least = settings.least_for(grammar=True)
    encoded = encode_treebank(model, list(enumerate(sentences)), GRAMMAR, GRAMMAR).sentences
    scorer = RelationScorer(encoded, collect_targets(model, encoded, settings), settings, least)
    scored = ScoredRows(scorer.rows, scorer.hits)
    for side in SIDES:
        for row in scored.take(scorer.rows.where(ALL, side)).shares(least):
            yield side, *row


@dataclass(frozen=True)
class ScoredRows:
    """Rows of one direction, and which heads and fixed offsets find the partner, by part of attention."""

    rows: RelationRows
    hits: Mapping[str, Hits]  # each hit_NC

    def take(self, these_N: Hits | NDArray[np.int64]) -> "ScoredRows":
        """Some of the rows."""
        return ScoredRows(self.rows.take(these_N), {name: hit_NC[these_N] for name, hit_NC in self.hits.items()})

    def hits_by_kind(self) -> dict[str, NDArray[np.float64]]:
        """By kind, whether each row is found. One head is chosen for all rows."""
        half_N = self.rows.half_N
        chosen = {by: by_halves(self.hits[by], half_N) for by, _ in CHOICES.values()}
        hits = {
            kind: score(chosen[by], self.hits[counted], half_N).astype(np.float64)
            for kind, (by, counted) in CHOICES.items()
        }
        return {**hits, UNIFORM: self.rows.chance_N}

    def frequent(self, fewest: int) -> list[str]:
        """The relations with enough rows, and some in both halves."""
        names = [str(name) for name in np.unique(self.rows.relation_N)]
        halves = {name: self.rows.half_N[self.rows.relation_N == name] for name in names}
        return [name for name, half_N in halves.items() if len(half_N) >= fewest and len(np.unique(half_N)) == 2]

    def shares(self, fewest: int) -> Iterator[ShareRow]:
        """The share found of every relation with enough rows, and of all of them together, by distance.

        A head is chosen per relation, whatever the distance. If it were chosen per distance, a head that always attends
        two words ahead would be right at distance 2 without having found anything.
        """
        relations = self.frequent(fewest)
        scored = self.take(np.isin(self.rows.relation_N, relations))
        each = {kind: np.zeros(len(scored.rows)) for kind in KINDS}
        for relation in relations:
            here_N = scored.rows.relation_N == relation
            hits = scored.take(here_N).hits_by_kind()
            yield from _means(relation, ALL, hits)
            yield relation, ALL, "distance", float(scored.rows.distance_N[here_N].mean())
            for kind, hit_N in hits.items():
                each[kind][here_N] = hit_N
        yield from _means(ALL, ALL, scored.hits_by_kind())
        for distance in DISTANCES:
            near_N = scored.rows.within(distance)
            if near_N.any():
                yield from _means(EACH, distance, {kind: hit_N[near_N] for kind, hit_N in each.items()})


def _means(item: str, distance: str, hits: Mapping[str, NDArray[np.float64]]) -> Iterator[ShareRow]:
    for kind, hit_N in hits.items():
        yield item, distance, kind, float(hit_N.mean())
    yield item, distance, "rows", float(len(hits[UNIFORM]))

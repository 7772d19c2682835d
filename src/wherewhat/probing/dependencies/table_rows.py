"""The rows of the table: every number of one treebank, with what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from wherewhat.probing.dependencies.scoring import EACH, OFFSET, RelationScorer, Scores
from wherewhat.probing.dependencies.settings import ALL, CONTEXTUAL, FULL, POSITIONAL, SIDES, TO_HEAD
from wherewhat.stats.bootstrap import estimate, sentence_estimates
from wherewhat.stats.correlation import pearson_fisher
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.significance import holm

SYNTACTIC = 0.1  # a syntactic head is so much better than the best offset, after Voita et al. (arXiv 1905.09418)
SURE = 0.05  # a p-value below it, after Holm's correction
TREEBANKS = 3  # the fewest that are correlated
BY_RELATION = ", by relation"
# By name, the numbers that are correlated: one with another, or with a second minus a third.
CORRELATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "offset with positional": ((OFFSET, "accuracy"), (POSITIONAL, "accuracy")),
    "contextual beyond positional with distance": (
        ("order", "distance"),
        (CONTEXTUAL, "accuracy"),
        (POSITIONAL, "accuracy"),
    ),
}
Numbers = Mapping[tuple[str, str | None, str, str], float]  # by item, side, kind and measure, over all distances


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """One row, without the columns that are the same for a whole treebank."""

    item: str
    side: str | None
    kind: str
    measure: str
    estimate: Estimate
    distance: str = ALL
    layer: int | None = None
    head: int | None = None

    @property
    def value(self) -> float:
        """The number itself."""
        return self.estimate.value

    @property
    def columns(self) -> tuple[object, ...]:
        """The values, in the order of the table."""
        about = (self.item, self.layer, self.head, self.side, self.kind, self.distance, self.measure)
        return (*about, self.value, self.estimate.low, self.estimate.high, self.estimate.count)


def head_rows(scorer: RelationScorer) -> Iterator[ProbeRow]:
    """Every head, relation, side, part and distance."""
    for group in scorer.groups:
        for part in scorer.parts:
            accuracies = zip(scorer.targets.heads, scorer.of_heads(part, group), strict=True)
            for (layer, head), accuracy in accuracies:
                yield ProbeRow(group.item, group.side, part, "accuracy", accuracy, group.distance, layer, head)


def held_out_rows(scorer: RelationScorer, scores: Scores) -> Iterator[ProbeRow]:
    """One group: every accuracy, by how much it exceeds the offset's, and the difference of position and content."""
    group = next(iter(scores.values())).group

    def row(kind: str, measure: str, number: Estimate) -> ProbeRow:
        return ProbeRow(group.item, group.side, kind, measure, number, group.distance)

    for kind, score in scores.items():
        yield row(kind, "accuracy", scorer.accuracy(score))
    if OFFSET in scores:
        for part in (kind for kind in scores if kind in (FULL, POSITIONAL, CONTEXTUAL)):  # on the same rows
            yield row(part, "beyond offset", scorer.difference(scores[part], scores[OFFSET]))
    if FULL in scores and OFFSET in scores and group.item in scorer.relations and group.distance == ALL:
        ahead = float((scores[FULL].value_N - scores[OFFSET].value_N).mean())
        yield row(FULL, "syntactic", Estimate(float(ahead >= SYNTACTIC), count=len(scores[FULL].rows_N)))
    if POSITIONAL in scores and CONTEXTUAL in scores:
        yield row(POSITIONAL, "beyond contextual", scorer.difference(scores[POSITIONAL], scores[CONTEXTUAL]))


def p_value_rows(scorer: RelationScorer, scores: Sequence[Scores]) -> Iterator[ProbeRow]:
    """For every part, relation and side, the p-value of the difference to the offset, after Holm's correction."""
    relations = [of_group for of_group in scores if next(iter(of_group.values())).group.is_relation]
    for part in (FULL, POSITIONAL, CONTEXTUAL):
        pairs = [(each[part], each[OFFSET]) for each in relations if part in each and OFFSET in each]
        p_values = holm([scorer.p_value(score, offset) for score, offset in pairs])
        for (score, _), p_value in zip(pairs, p_values, strict=True):
            group = score.group
            number = Estimate(p_value, count=len(group.rows_N))
            yield ProbeRow(group.item, group.side, part, "p", number, group.distance)


def share_rows(rows: Sequence[ProbeRow]) -> Iterator[ProbeRow]:
    """For every part and side, the share of relations where the best head is clearly better than the best offset.

    Clearly: the interval is above 0, and the corrected p-value is small.
    """
    whole = [row for row in rows if row.head is None and row.distance == ALL]
    p_values = {(row.item, row.side, row.kind): row.value for row in whole if row.measure == "p"}
    for side in SIDES:
        for part in (FULL, POSITIONAL, CONTEXTUAL):
            gaps = [row for row in whole if (row.side, row.kind, row.measure) == (side, part, "beyond offset")]
            tests = [(row.estimate.low, p_values[key]) for row in gaps if (key := (row.item, side, part)) in p_values]
            if tests:
                share = float(np.mean([low > 0 and p_value < SURE for low, p_value in tests]))
                yield ProbeRow("relations", side, part, "share beyond offset", Estimate(share, count=len(tests)))


def order_rows(scorer: RelationScorer) -> Iterator[ProbeRow]:
    """Facts about word order: on which side head words are, and how far away.

    Without a side they are about all head words, visible or not; with a side, about the rows that are scored from it.
    """
    known = {group.item for group in scorer.groups}
    for item in (item for item in (ALL, *scorer.relations) if item in known):
        every = scorer.every.take(scorer.every.where(item, TO_HEAD))
        left = estimate((every.offset_N < 0).astype(np.float64), every.sentence_N, scorer.count_BS)
        yield ProbeRow(item, None, "order", "left", left)
        scored = [(side, scorer.rows.take(scorer.rows.where(item, side))) for side in SIDES]
        for where, rows in [(None, every), *((side, rows) for side, rows in scored if len(rows))]:
            distance = estimate(rows.distance_N.astype(np.float64), rows.sentence_N, scorer.count_BS)
            yield ProbeRow(item, where, "order", "distance", distance)
            median = Estimate(float(np.median(rows.distance_N)), count=len(rows))
            yield ProbeRow(item, where, "order", "median", median)
            yield ProbeRow(item, where, "order", "rows", Estimate(float(len(rows)), count=len(rows)))


def head_property_rows(scorer: RelationScorer) -> Iterator[ProbeRow]:
    """Whether a head has a fixed offset, its confidence, and its correlation with position alone and content alone."""
    targets = scorer.targets

    def row(measure: str, number: Estimate, head: tuple[int, int]) -> ProbeRow:
        return ProbeRow("", None, FULL, measure, number, layer=head[0], head=head[1])

    if FULL in targets.targets:
        for head, (offset, share, words) in zip(targets.heads, fixed_offsets(scorer), strict=True):
            yield row("fixed offset", Estimate(share, count=words), head)
            yield row("offset", Estimate(offset, count=words), head)
    numbers = {f"with {part}": r_SH for part, r_SH in targets.correlations.items()}
    if targets.confidence_SH is not None and FULL in targets.targets:
        numbers = {"confidence": targets.confidence_SH} | numbers
    for measure, value_SH in numbers.items():
        for head, number in zip(targets.heads, sentence_estimates(value_SH, scorer.count_BS), strict=True):
            yield row(measure, number, head)


def fixed_offsets(scorer: RelationScorer) -> list[tuple[float, float, int]]:
    """For every head its most frequent offset in kept words, the share of words with it, and the number of words."""
    place_W = np.concatenate([np.arange(len(sentence.kept)) for sentence in scorer.sentences])
    causal = scorer.targets.causal
    scored_W = place_W > 0 if causal else np.ones(len(place_W), dtype=bool)  # the first word sees no other
    offset_WH = scorer.targets.targets[FULL].astype(np.int64)[scored_W] - place_W[scored_W][:, None]
    fixed = []
    for offset_W in offset_WH.T:
        offsets, counts = np.unique(offset_W, return_counts=True)
        best = int(counts.argmax())
        fixed.append((float(offsets[best]), counts[best] / len(offset_W), len(offset_W)))
    return fixed


def numbers_of(rows: Sequence[ProbeRow]) -> Numbers:
    """The rows of a treebank that are about the best head or word order, over all distances."""
    whole = (row for row in rows if row.head is None and row.distance == ALL)
    return {(row.item, row.side, row.kind, row.measure): row.value for row in whole}


def correlation_rows(treebanks: Sequence[Numbers]) -> Iterator[ProbeRow]:
    """Whether scores rise and fall with word order, over treebanks and over the relations of all treebanks.

    None for fewer than three treebanks.
    """
    if len(treebanks) < TREEBANKS:
        return
    relations = sorted({key[0] for numbers in treebanks for key in numbers} - {ALL, EACH})
    for (name, pair), side in product(CORRELATIONS.items(), SIDES):
        for suffix, items in (("", [ALL]), (BY_RELATION, relations)):
            points = list[tuple[float, float]]()
            for numbers, item in product(treebanks, items):
                keys = [(item, side, kind, measure) for kind, measure in pair]
                if all(key in numbers for key in keys):  # not every treebank has every relation
                    order, first, *rest = (numbers[key] for key in keys)
                    points.append((order, first - rest[0] if rest else first))
            if len(points) >= TREEBANKS:
                r = replace(pearson_fisher(points), count=len(points))
                yield ProbeRow(name + suffix, side, "link", "pearson", r)

"""The lines of the table: every number of one treebank, with what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wherewhat.probing.bootstrap import ends_of
from wherewhat.probing.dependencies.estimating import Estimate, estimate
from wherewhat.probing.dependencies.gold import ALL, SIDES, TO_HEAD, Rows
from wherewhat.probing.dependencies.scoring import OFFSET, Group, Held, Scoring, corrected
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL

NOTHING = float("nan")
SYNTACTIC = 0.1  # so much more than the best offset a syntactic head finds, after Voita et al. (arXiv 1905.09418)
SURE = 0.05  # a chance of no difference below it, after Holm's correction


@dataclass(frozen=True, slots=True)
class Line:
    """One line, without the columns that are the same for a whole treebank."""

    item: str
    layer: int | None
    head: int | None
    side: str | None
    kind: str
    distance: str | None
    measure: str
    value: float
    low: float = NOTHING
    high: float = NOTHING
    count: int | None = None

    @property
    def columns(self) -> tuple[object, ...]:
        """The values, in the order of the table."""
        about = (self.item, self.layer, self.head, self.side, self.kind, self.distance, self.measure)
        return (*about, self.value, self.low, self.high, self.count)


def held_line(group: Group, kind: str, measure: str, found: Estimate) -> Line:
    """A number of the best head, whichever it is."""
    number = (found.value, found.low, found.high, found.count)
    return Line(group.item, None, None, group.side, kind, group.distance, measure, *number)


def of_heads(scoring: Scoring) -> Iterator[Line]:
    """Every head, relation, side, part and distance."""
    for group in scoring.groups:
        for part in scoring.looked_parts:
            numbers = zip(scoring.looked.heads, scoring.of_heads(part, group), strict=True)
            for (layer, head), found in numbers:
                number = (found.value, found.low, found.high, found.count)
                yield Line(group.item, layer, head, group.side, part, group.distance, "accuracy", *number)


def of_held(scoring: Scoring, held: Mapping[str, Held]) -> Iterator[Line]:
    """One group: how often each is right, by how much more often than the offset, and position against content."""
    group = next(iter(held.values())).group
    for kind, one in held.items():
        yield held_line(group, kind, "accuracy", scoring.sure(one))
    for part in beyond_offset(held):
        yield held_line(group, part, "beyond offset", scoring.beyond(held[part], held[OFFSET]))
    if FULL in held and OFFSET in held and group.item in scoring.relations and group.distance == ALL:
        ahead = float((held[FULL].value_N - held[OFFSET].value_N).mean())
        rows = len(held[FULL].rows_N)
        yield Line(group.item, None, None, group.side, FULL, ALL, "syntactic", float(ahead >= SYNTACTIC), count=rows)
    if POSITIONAL in held and CONTEXTUAL in held:
        found = scoring.beyond(held[POSITIONAL], held[CONTEXTUAL])
        yield held_line(group, POSITIONAL, "beyond contextual", found)


def beyond_offset(held: Mapping[str, Held]) -> list[str]:
    """The parts that are held against the offset: the same rows, and no shuffled sentence."""
    return [kind for kind in held if kind in (FULL, POSITIONAL, CONTEXTUAL)] if OFFSET in held else []


def of_chances(scoring: Scoring, all_held: list[dict[str, Held]]) -> Iterator[Line]:
    """Of every part, relation and side, how probable the difference to the offset is if there is none."""
    whole = [held for held in all_held if _is_relation(next(iter(held.values())).group)]
    for part in (FULL, POSITIONAL, CONTEXTUAL):
        pairs = [(held[part], held[OFFSET]) for held in whole if part in held and OFFSET in held]
        found = [(one.group, scoring.chance_of_none(one, other)) for one, other in pairs]
        for group, chance in corrected(found):
            count = len(group.rows_N)
            yield Line(group.item, None, None, group.side, part, group.distance, "p", chance, count=count)


def of_shares(lines: Sequence[Line]) -> Iterator[Line]:
    """Of every part and side, the share of relations where the best head is surely better than the best offset.

    Surely: the interval lies above 0, and the chance of no difference is small even for so many questions.
    """
    whole = [line for line in lines if line.head is None and line.distance == ALL]
    chances = {(line.item, line.side, line.kind): line.value for line in whole if line.measure == "p"}
    for side in SIDES:
        for part in (FULL, POSITIONAL, CONTEXTUAL):
            asked = [line for line in whole if (line.side, line.kind, line.measure) == (side, part, "beyond offset")]
            told = [(line.low, chances[key]) for line in asked if (key := (line.item, side, part)) in chances]
            if told:
                share = float(np.mean([low > 0 and chance < SURE for low, chance in told]))
                yield Line("relations", None, None, side, part, ALL, "share beyond offset", share, count=len(told))


def _is_relation(group: Group) -> bool:
    return group.item != ALL and group.distance == ALL


def of_order(scoring: Scoring) -> Iterator[Line]:
    """Facts of word order: where governors stand, and how far away.

    Without a side they are about all governors, seen or not; with a side, about the rows that are asked from it.
    """
    known = {group.item for group in scoring.groups}
    for item in (item for item in (ALL, *scoring.relations) if item in known):
        every = scoring.every.take(scoring.every.where(item, TO_HEAD))
        found = estimate((every.offset_N < 0).astype(np.float64), every.sentence_N, scoring.count_BS)
        yield Line(item, None, None, None, "order", ALL, "left", found.value, found.low, found.high, found.count)
        yield from _how_far(scoring, item, None, every)
        for side in SIDES:
            asked = scoring.rows.take(scoring.rows.where(item, side))
            if len(asked):
                yield from _how_far(scoring, item, side, asked)


def _how_far(scoring: Scoring, item: str, side: str | None, rows: Rows) -> Iterator[Line]:
    """How far partners are away, in the mean and in the middle, and how many there are."""
    found = estimate(rows.distance_N.astype(np.float64), rows.sentence_N, scoring.count_BS)
    yield Line(item, None, None, side, "order", ALL, "distance", found.value, found.low, found.high, found.count)
    for measure, value in {"median": float(np.median(rows.distance_N)), "rows": float(len(rows))}.items():
        yield Line(item, None, None, side, "order", ALL, measure, value, count=len(rows))


def of_heads_as_such(scoring: Scoring) -> Iterator[Line]:
    """Whether a head always looks at the same offset, how sure it is, and how much of it is position or content."""
    looked = scoring.looked
    if FULL in looked.looks:
        for (layer, head), (offset, share, words) in zip(looked.heads, fixed_offsets(scoring), strict=True):
            yield Line("", layer, head, None, FULL, ALL, "fixed offset", share, count=words)
            yield Line("", layer, head, None, FULL, ALL, "offset", offset, count=words)
    numbers = {f"with {part}": r_SH for part, r_SH in looked.alike.items()}
    if looked.confidence_SH is not None and FULL in looked.looks:
        numbers = {"confidence": looked.confidence_SH} | numbers
    for measure, value_SH in numbers.items():
        for (layer, head), found in zip(looked.heads, _over_sentences(scoring, value_SH), strict=True):
            number = (found.value, found.low, found.high, found.count)
            yield Line("", layer, head, None, FULL, ALL, measure, *number)


def fixed_offsets(scoring: Scoring) -> list[tuple[float, float, int]]:
    """Of every head the offset it looks at most often, in kept words, how often that is, and from how many words."""
    sizes = [len(one.kept) for one in scoring.sentences]
    place_W = np.concatenate([np.arange(size) for size in sizes])
    asked_W = place_W > 0 if scoring.looked.causal else np.ones(len(place_W), dtype=bool)  # the first sees no other
    offset_WH = scoring.looked.looks[FULL].astype(np.int64)[asked_W] - place_W[asked_W][:, None]
    found = []
    for offset_W in offset_WH.T:
        offsets, counts = np.unique(offset_W, return_counts=True)
        best = int(counts.argmax())
        found.append((float(offsets[best]), counts[best] / len(offset_W), len(offset_W)))
    return found


def _over_sentences(scoring: Scoring, value_SH: np.ndarray) -> list[Estimate]:
    """The mean over sentences that have a value, with its interval."""
    known_SH = np.isfinite(value_SH)
    filled_SH = np.where(known_SH, value_SH, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_H = filled_SH.sum(0) / known_SH.sum(0)
        low_H, high_H = ends_of((scoring.count_BS @ filled_SH) / (scoring.count_BS @ known_SH))
    columns = zip(mean_H.tolist(), low_H.tolist(), high_H.tolist(), known_SH.sum(0).tolist(), strict=True)
    return [Estimate(*column) for column in columns]


def chosen(scoring: Scoring, held: Mapping[str, Held], data: str) -> list[dict[str, Any]]:
    """Which head or offset each half chose for a group."""
    told = []
    for kind, one in held.items():
        if not one.chosen:
            continue
        heads = [] if kind == OFFSET else scoring.looked.names(one.chosen)
        offsets = [scoring.offsets[number] for number in one.chosen] if kind == OFFSET else []
        group = {"data": data, "item": one.group.item, "side": one.group.side, "kind": kind}
        told.append({**group, "distance": one.group.distance, "heads": heads, "offsets": offsets})
    return told

"""Results of the syntax experiment made by hand, in which claims hold or do not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from wherewhat.probing.dependencies.settings import ALL, SIDES, TO_HEAD
from wherewhat.probing.dependencies.split_half_scores import KINDS
from wherewhat.studies.engine.encodings import EncodingCondition, bias_rows
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.syntax.results import ATTENTION, DISTANCES, EACH, STATES, TRAINED, UNTRAINED, share
from wherewhat.studies.syntax.run import STUDY, groups_of
from wherewhat.studies.syntax.settings import SCALES

TINY = SCALES["tiny"]
CONDITIONS = TINY.conditions()
BLIND = {condition.name for condition in CONDITIONS if "symmetric" in groups_of(condition)}
LOCAL = {condition.name: condition.bias_measures(TINY.n).get("locality", 0.3) for condition in CONDITIONS}
# The mean distance of relations, and what the best fixed offset finds of each.
RELATIONS = {
    **{"amod": (1.0, 1.0), "aux:pass": (1.0, 1.0), "det": (1.3, 0.68), "nsubj": (1.8, 0.4), "obj": (2.6, 0.4)},
    **{"advmod": (2.7, 0.2), "mark": (4.3, 0.3), "ccomp": (5.1, 0.3), "obl": (5.4, 0.2)},
}
CHANCE = 0.1


@dataclass(frozen=True)
class Share:
    """Which number of a run: the share of rows that are found, by which part of attention, relation and distance."""

    kind: str
    item: str = EACH
    at: float | None = None
    side: str = TO_HEAD
    state: str = TRAINED


Expected = Callable[[EncodingCondition, Share], float]


def far(share: Share) -> float:
    """How far apart the two words are."""
    if share.at is not None:
        return share.at + 0.5
    return 2.0 if share.item in (ALL, EACH) else RELATIONS[share.item][0]


def offset(share: Share) -> float:
    """What the best fixed offset finds."""
    return RELATIONS[share.item][1] if share.item in RELATIONS else 0.9 / far(share)


def as_published(condition: EncodingCondition, share: Share) -> float:
    """Position finds near words and content far ones; all is learnt; sides and locality matter."""
    blind = condition.name in BLIND
    reach = (LOCAL[condition.name] - 0.5) * (0.4 if far(share) < 2 else -0.2 if far(share) > 5 else 0.0)
    near = 0.4 if blind else 0.95 - 0.1 * far(share)
    named = RELATIONS.get(share.item, (0.0, 0.0))[0]
    positional = offset(share) if not blind and 0 < named < 1.5 else max(near, CHANCE) if far(share) < 3 else CHANCE
    contextual = (0.5 if condition.name == "rope" else 0.35) - (0.1 if far(share) < 3 else 0.0)
    full = min(1.0, max(positional, contextual, offset(share)) + 0.05 + reach - 0.15 * blind)
    values = {
        "positional": positional,
        "contextual": contextual,
        "full": 0.1 if share.item == "obl" else full,
        "offset": offset(share),
        "uniform": CHANCE,
        "shuffled": 0.2,
        "by position": positional,
        "by position, shuffled": CHANCE,
        "by content": contextual,
        "by content, shuffled": 0.3,
    }
    learnt = share.kind in ("positional", "contextual", "full") and share.state == UNTRAINED
    return 0.12 if learnt else values[share.kind]


def the_other_way(condition: EncodingCondition, share: Share) -> float:
    """Everything opposite."""
    reach = (LOCAL[condition.name] - 0.5) * (-0.4 if far(share) < 2 else 0.2 if far(share) > 5 else 0.0)
    values = {
        "positional": 0.3 if far(share) < 3 else 0.6,
        "contextual": (0.6 if far(share) < 3 else 0.2) - 0.1 * (condition.name == "rope"),
        "full": 0.3 + reach,
        "offset": 0.7,
        "uniform": CHANCE,
        "shuffled": 0.2,
        "by position": 0.5,
        "by position, shuffled": 0.5,
        "by content": 0.3,
        "by content, shuffled": 0.02,
    }
    if condition.family == "log" and condition.s != 1 and share.kind in ("positional", "full"):
        values[share.kind] -= 0.2
    if share.state == UNTRAINED and share.kind in ("positional", "contextual", "full"):
        return 0.9
    if share.item == "obl" and share.kind == "full":
        return 0.9
    return values[share.kind]


def shake(condition: EncodingCondition, share: Share, seed: int, size: float) -> float:
    """Noise that is always the same."""
    return size * float(np.random.default_rng([crc32(f"{condition.name} {share}".encode()), seed]).normal())


def world(expected: Expected, *, noise: float = 0.003, seeds: range = range(3)) -> ResultTable:
    """All rows that runs would give, as claims are tested on them."""
    rows: list[Row] = list(bias_rows(CONDITIONS, TINY.n))
    places = [*((item, None) for item in (*RELATIONS, ALL, EACH)), *((EACH, at) for at in DISTANCES)]
    for seed in seeds:
        for condition in CONDITIONS:
            name = condition.name
            for item, at in places:
                for side in SIDES:
                    for state in STATES:
                        for kind in KINDS:
                            its = Share(kind, item, at, side, state)
                            value = expected(condition, its) + shake(condition, its, seed, noise)
                            cell = share(kind, item, at=at, side=side, part=state)
                            rows.append((state, name, item, at, seed, cell.measure, value, None, None))
                        for fact, number in (("rows", 100.0), ("distance", far(Share("rows", item, at)))):
                            rows.append((state, name, item, at, seed, f"{side}: {fact}", number, None, None))
            rows.append(("run", name, "", None, seed, "word loss", 2.0, None, None))
            local = LOCAL[name] + shake(condition, Share(""), seed, 0.01)
            rows.append(("encoding", name, "", None, seed, ATTENTION, local, None, None))
    return results_of(rows)


def results_of(rows: Sequence[Row], conditions: Sequence[EncodingCondition] = tuple(CONDITIONS)) -> ResultTable:
    """A table as the study hands it to its claims, without means."""
    return STUDY.results(table_of(rows, conditions, TINY))

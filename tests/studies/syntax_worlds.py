"""Results of the syntax experiment made by hand, in which claims hold or do not."""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from wherewhat.probing.dependencies.relation_rows import ALL, SIDES
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.syntax.means import bias_rows
from wherewhat.studies.syntax.results import ATTENTION, STATES, UNTRAINED, Share, SyntaxResults, groups_of
from wherewhat.studies.syntax.settings import SCALES
from wherewhat.studies.syntax.split_half_scores import DISTANCES, EACH, KINDS
from wherewhat.tables.schema import RESULT, frame

TINY = SCALES["tiny"]
TRIALS = TINY.conditions()
BLIND = {condition.name for condition in TRIALS if "symmetric" in groups_of(condition)}
LOCAL = {condition.name: condition.bias_measures(TINY.n).get("locality", 0.3) for condition in TRIALS}
# The mean distance of relations, and what the best fixed offset finds of each.
RELATIONS = {
    **{"amod": (1.0, 1.0), "aux:pass": (1.0, 1.0), "det": (1.3, 0.68), "nsubj": (1.8, 0.4), "obj": (2.6, 0.4)},
    **{"advmod": (2.7, 0.2), "mark": (4.3, 0.3), "ccomp": (5.1, 0.3), "obl": (5.4, 0.2)},
}
CHANCE = 0.1
Said = Callable[[EncodingCondition, Share], float]


def far(share: Share) -> float:
    """How far apart the two words are."""
    if share.at is not None:
        return share.at + 0.5
    return 2.0 if share.item in (ALL, EACH) else RELATIONS[share.item][0]


def offset(share: Share) -> float:
    """What the best fixed offset finds."""
    return RELATIONS[share.item][1] if share.item in RELATIONS else 0.9 / far(share)


def as_said(condition: EncodingCondition, share: Share) -> float:
    """Position finds near words and content far ones; all is learnt; sides and locality matter."""
    blind = condition.name in BLIND
    reach = (LOCAL[condition.name] - 0.5) * (0.4 if far(share) < 2 else -0.2 if far(share) > 5 else 0.0)
    near = 0.4 if blind else 0.95 - 0.1 * far(share)
    named = RELATIONS.get(share.item, (0.0, 0.0))[0]
    positional = offset(share) if not blind and 0 < named < 1.5 else max(near, CHANCE) if far(share) < 3 else CHANCE
    contextual = (0.5 if condition.name == "rope" else 0.35) - (0.1 if far(share) < 3 else 0.0)
    full = min(1.0, max(positional, contextual, offset(share)) + 0.05 + reach - 0.15 * blind)
    told = {
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
    return 0.12 if learnt else told[share.kind]


def the_other_way(condition: EncodingCondition, share: Share) -> float:
    """Everything opposite."""
    reach = (LOCAL[condition.name] - 0.5) * (-0.4 if far(share) < 2 else 0.2 if far(share) > 5 else 0.0)
    told = {
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
        told[share.kind] -= 0.2
    if share.state == UNTRAINED and share.kind in ("positional", "contextual", "full"):
        return 0.9
    if share.item == "obl" and share.kind == "full":
        return 0.9
    return told[share.kind]


def shake(condition: EncodingCondition, share: Share, seed: int, size: float) -> float:
    """Noise that is always the same."""
    return size * float(np.random.default_rng([crc32(f"{condition.name} {share}".encode()), seed]).normal())


def world(said: Said, *, noise: float = 0.003, seeds: range = range(3)) -> SyntaxResults:
    """All rows that runs would give."""
    rows: list[Row] = list(bias_rows(TRIALS, TINY.n))
    asked = [*((item, None) for item in (*RELATIONS, ALL, EACH)), *((EACH, at) for at in DISTANCES)]
    for seed in seeds:
        for condition in TRIALS:

            def row(
                part: str,
                share: Share,
                measure: str,
                value: float,
                condition: EncodingCondition = condition,
                seed: int = seed,
            ) -> Row:
                at = None if share.at is None else float(share.at)
                return part, condition.name, share.item, at, seed, measure, value, None, None

            for item, at in asked:
                for side in SIDES:
                    for state in STATES:
                        for kind in KINDS:
                            share = Share(kind, item, at, side, state)
                            value = said(condition, share) + shake(condition, share, seed, noise)
                            rows.append(row(state, share, share.measure, value))
                        facts = {"rows": 100.0, "distance": far(Share("rows", item, at))}
                        rows += [row(state, Share("", item, at), f"{side}: {name}", x) for name, x in facts.items()]
            rows.append(row("run", Share("", ""), "word loss", 2.0))
            rows.append(
                row(
                    "encoding",
                    Share("", ""),
                    ATTENTION,
                    LOCAL[condition.name] + shake(condition, Share(""), seed, 0.01),
                )
            )
    return SyntaxResults(frame(rows, RESULT), TRIALS)

"""Results of the syntax experiment made by hand, in which claims hold or do not."""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.syntax.evidence import ATTENTION, STATES, UNTRAINED, Evidence, What, groups_of
from wherewhat.studies.syntax.halves import DISTANCES, EACH, KINDS
from wherewhat.studies.syntax.means import bias_rows
from wherewhat.studies.syntax.settings import SCALES
from wherewhat.tables.schema import RESULT, frame

TINY = SCALES["tiny"]
TRIALS = TINY.trials()
BLIND = {trial.name for trial in TRIALS if "symmetric" in groups_of(trial)}
LOCAL = {trial.name: trial.bias_measures(TINY.n).get("locality", 0.3) for trial in TRIALS}
# The mean distance of relations, and what the best fixed offset finds of each.
RELATIONS = {
    **{"amod": (1.0, 1.0), "aux:pass": (1.0, 1.0), "det": (1.3, 0.68), "nsubj": (1.8, 0.4), "obj": (2.6, 0.4)},
    **{"advmod": (2.7, 0.2), "mark": (4.3, 0.3), "ccomp": (5.1, 0.3), "obl": (5.4, 0.2)},
}
CHANCE = 0.1
Said = Callable[[Trial, What], float]


def far(what: What) -> float:
    """How far apart the two words are."""
    if what.at is not None:
        return what.at + 0.5
    return 2.0 if what.item in (ALL, EACH) else RELATIONS[what.item][0]


def offset(what: What) -> float:
    """What the best fixed offset finds."""
    return RELATIONS[what.item][1] if what.item in RELATIONS else 0.9 / far(what)


def as_said(trial: Trial, what: What) -> float:
    """Position finds near words and content far ones; all is learnt; sides and locality matter."""
    blind = trial.name in BLIND
    reach = (LOCAL[trial.name] - 0.5) * (0.4 if far(what) < 2 else -0.2 if far(what) > 5 else 0.0)
    near = 0.4 if blind else 0.95 - 0.1 * far(what)
    named = RELATIONS.get(what.item, (0.0, 0.0))[0]
    positional = offset(what) if not blind and 0 < named < 1.5 else max(near, CHANCE) if far(what) < 3 else CHANCE
    contextual = (0.5 if trial.name == "rope" else 0.35) - (0.1 if far(what) < 3 else 0.0)
    full = min(1.0, max(positional, contextual, offset(what)) + 0.05 + reach - 0.15 * blind)
    told = {
        "positional": positional,
        "contextual": contextual,
        "full": 0.1 if what.item == "obl" else full,
        "offset": offset(what),
        "uniform": CHANCE,
        "shuffled": 0.2,
        "by position": positional,
        "by position, shuffled": CHANCE,
        "by content": contextual,
        "by content, shuffled": 0.3,
    }
    learnt = what.kind in ("positional", "contextual", "full") and what.state == UNTRAINED
    return 0.12 if learnt else told[what.kind]


def the_other_way(trial: Trial, what: What) -> float:
    """Everything opposite."""
    reach = (LOCAL[trial.name] - 0.5) * (-0.4 if far(what) < 2 else 0.2 if far(what) > 5 else 0.0)
    told = {
        "positional": 0.3 if far(what) < 3 else 0.6,
        "contextual": (0.6 if far(what) < 3 else 0.2) - 0.1 * (trial.name == "rope"),
        "full": 0.3 + reach,
        "offset": 0.7,
        "uniform": CHANCE,
        "shuffled": 0.2,
        "by position": 0.5,
        "by position, shuffled": 0.5,
        "by content": 0.3,
        "by content, shuffled": 0.02,
    }
    if trial.family == "log" and trial.s != 1 and what.kind in ("positional", "full"):
        told[what.kind] -= 0.2
    if what.state == UNTRAINED and what.kind in ("positional", "contextual", "full"):
        return 0.9
    if what.item == "obl" and what.kind == "full":
        return 0.9
    return told[what.kind]


def shake(trial: Trial, what: What, seed: int, size: float) -> float:
    """Noise that is always the same."""
    return size * float(np.random.default_rng([crc32(f"{trial.name} {what}".encode()), seed]).normal())


def world(said: Said, *, noise: float = 0.003, seeds: range = range(3)) -> Evidence:
    """All rows that runs would give."""
    rows: list[Row] = list(bias_rows(TRIALS, TINY.n))
    asked = [*((item, None) for item in (*RELATIONS, ALL, EACH)), *((EACH, at) for at in DISTANCES)]
    for seed in seeds:
        for trial in TRIALS:

            def row(part: str, what: What, measure: str, value: float, trial: Trial = trial, seed: int = seed) -> Row:
                at = None if what.at is None else float(what.at)
                return part, trial.name, what.item, at, seed, measure, value, None, None

            for item, at in asked:
                for side in SIDES:
                    for state in STATES:
                        for kind in KINDS:
                            what = What(kind, item, at, side, state)
                            value = said(trial, what) + shake(trial, what, seed, noise)
                            rows.append(row(state, what, what.measure, value))
                        facts = {"rows": 100.0, "distance": far(What("rows", item, at))}
                        rows += [row(state, What("", item, at), f"{side}: {name}", x) for name, x in facts.items()]
            rows.append(row("run", What("", ""), "word loss", 2.0))
            rows.append(
                row("encoding", What("", ""), ATTENTION, LOCAL[trial.name] + shake(trial, What(""), seed, 0.01))
            )
    return Evidence(frame(rows, RESULT), TRIALS)

"""Sets of encodings and of questions, and numbers over them, by seed. Torch-free, as the page has them too."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import polars as pl

from wherewhat.formatting import percent
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.results import Cell, ResultTable, paired

ALL, OTHERS = "all", "others"  # items that stand for means over several questions
OTHER_OUTCOMES = ("forgetting", "spread", "word loss")  # what may depend on locality and symmetry, besides accuracy
RESERVED = (ALL, OTHERS, *OTHER_OUTCOMES)  # what rows have in place of a question
BAG = "bag of words"  # the baseline, in place of an encoding
SHARP = ("names",)  # no symmetric encoding can answer these, so means over all questions leave them out
OF_ROLES = ("agent", "names")  # who does what to whom
NEAR_CHANCE = 0.02  # accuracy within this distance of chance counts as guessing
MANY_UNKNOWN = 0.2  # means over all questions leave out a question with a larger share of unknown words
LEFT_OUT = (
    f"above {percent(MANY_UNKNOWN)} a question is left out of means over all questions (train on its words with --text)"
)


def sets_of(conditions: Sequence[Any]) -> dict[str, list[Any]]:
    """Encodings by what they have in common: their family, their part of a sweep over w, or their name."""
    sets: dict[str, list[Any]] = {"encoder": [each for each in conditions if each.family != "decoder"]}
    for condition in conditions:
        sets.setdefault(condition.family, []).append(condition)
    log, causal = ([each for each in sets.get(family, []) if each.w is not None] for family in ("log", "decoder"))
    symmetric = [curve for curve in log if curve.s == 1]
    for kind, sweep in (("curve", symmetric), ("decoder", causal)):
        curves = sorted(sweep, key=lambda curve: curve.w)  # the flattest first
        sets |= {f"symmetric {kind}s": curves, f"flattest {kind}": curves[:1], f"steepest {kind}": curves[-1:]}
        sets[f"middle {kind}s"] = curves[1:-1]  # all but the two ends, so that none is selected by its result
    sets["flatter ahead"] = [curve for curve in log if curve.s is not None and curve.s < 1]
    sets["steeper ahead"] = [curve for curve in log if curve.s is not None and curve.s > 1]
    for name in ("flatter ahead", "ours", "control"):
        same = {curve.w for curve in sets.get(name, [])}
        sets[f"symmetric at the w of {name}"] = [curve for curve in symmetric if curve.w in same]
    single = {"position table": "learned", **{name: name for name in ("rope", "deberta", "none", "decoder none")}}
    return sets | {name: [each for each in conditions if each.name == own] for name, own in single.items()}


def with_notes(table: ResultTable) -> ResultTable:
    """The table with sets of encodings, the questions behind every item, and which of them nets can read."""
    rows = table.where(measure="unknown words").group_by("item", maintain_order=True)
    unknown = dict(rows.agg(pl.col("value").mean()).iter_rows())
    questions = table.scale.questions
    readable = [question for question in questions if unknown.get(question, 0.0) <= MANY_UNKNOWN]
    items = {question: (question,) for question in questions}
    items[ALL] = tuple(question for question in readable if question not in SHARP)
    items[OTHERS] = tuple(question for question in readable if question not in OF_ROLES)
    items = {name: members for name, members in items.items() if members}
    chances = {question: table.scale.chance(question, table.seeds[0]) for question in questions}
    notes = {"items": items, "readable": readable, "unknown words": unknown, "chances": chances}
    noted = replace(table, notes={**notes, "sets": sets_of(table.conditions)})
    return replace(noted, notes={**noted.notes, "guessed": [each for each in questions if _guessed(noted, each)]})


def of(table: ResultTable, name: str) -> list[Any]:
    """A set of encodings; empty if none was tried."""
    members: list[Any] = table.notes["sets"].get(name, [])
    return members


def property_of(table: ResultTable, condition: Any, name: str) -> float:
    """Such as `bias.locality` of the curve by itself, or `attention.balance` over identical words; NaN if unknown."""
    cell = Cell("encoding", name)
    seeds = [None] if name.startswith("bias.") else table.seeds
    return fmean([table.value(condition.name, cell, seed) for seed in seeds] or [math.nan])


def by_seed(table: ResultTable, conditions: Sequence[Any], item: str, measure: str = "accuracy") -> list[float]:
    """By seed, the mean over some encodings, each the mean over the questions of an item; NaN if one is missing."""
    cells = [Cell("run", measure, question) for question in table.notes["items"].get(item, (item,))]
    return [
        fmean(fmean(table.value(condition.name, cell, seed) for cell in cells) for condition in conditions)
        for seed in table.seeds
    ]


def gap(table: ResultTable, first: list[Any], second: list[Any], item: str, measure: str = "accuracy") -> Estimate:
    """By how much the first encodings exceed the second. Differences are per seed, as both have the same data."""
    if not first or not second:
        return Estimate()
    return paired(by_seed(table, first, item, measure), by_seed(table, second, item, measure))


def spread(table: ResultTable, condition: Any, item: str) -> float:
    """The standard deviation of accuracy over seeds, the mean over the questions of the item.

    A net that only guesses has a small spread, which is no merit. So a question on which any curve set by hand is at
    chance from every seed is left out for all encodings, and all are compared on the same questions.
    """
    questions = [question for question in table.notes["items"].get(item, ()) if question not in table.notes["guessed"]]
    by_question = [by_seed(table, [condition], question) for question in questions]
    deviations = [stdev(values) for values in by_question if len(values) > 1]
    return fmean(deviations) if deviations else math.nan


def _guessed(table: ResultTable, question: str) -> bool:
    """Whether some curve is at chance from every seed."""
    chance = table.notes["chances"][question]
    by_curve = (by_seed(table, [curve], question) for curve in of(table, "log"))
    return any(all(abs(value - chance) <= NEAR_CHANCE for value in values) for values in by_curve)

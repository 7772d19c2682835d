"""What was published about scratchpads, each claim above the test that decides on it."""

import math
from collections.abc import Sequence
from statistics import fmean

from wherewhat.formatting import percent
from wherewhat.published import scratchpads as published
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover
from wherewhat.stats.verdict import lenient_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.scratchpad.names import TEST, TRAIN, WITHOUT, name_of
from wherewhat.studies.scratchpad.settings import formats_of

CLEAR = 0.02  # points below which a gain counts as nothing
LEARNT = 0.75  # accuracy at training lengths below which a run is left out


def gain(table: ResultTable, task: str, written: str, encoding: str) -> Estimate:
    """By how much a scratchpad raises accuracy on longer inputs, if the task was learnt with and without it."""
    names = [name_of(task, each, encoding) for each in (written, WITHOUT)]
    if not all(table.value(name, TRAIN) >= LEARNT for name in names):
        return Estimate()
    after, before = (table.estimate(name, TEST) for name in names)
    return Estimate(after.value - before.value, *mover(before, after))


def gains(table: ResultTable, task: str, written: str) -> dict[str, Estimate]:
    """The gains of a format by encoding, where they are known."""
    by_encoding = {each: gain(table, task, written, each) for each in table.scale.encodings}
    return {each: estimate for each, estimate in by_encoding.items() if estimate.known}


def sides(estimates: Sequence[Estimate]) -> list[int]:
    """1 for a clear gain, -1 for a clear loss, else 0."""
    return [sign_of(each.low, each.high, negligible=CLEAR) for each in estimates]


@claim(
    "In addition, a scratchpad helps every encoding.",
    "full against none: NoPE .156 against .084, T5 .162 and .072, ALiBi .108 and .077, RoPE .063 and .000, APE .075 "
    "and .004",
    answers={
        "agrees": "A scratchpad helps every encoding in addition",
        "in part": "A scratchpad helps some encodings in addition",
        "disagrees": "A scratchpad does not help in addition",
        "unknown": "Whether a scratchpad helps in addition stays open here",
    },
)
def helps_addition(table: ResultTable) -> Verdict:
    """By the gain of the full format for every encoding that learnt both."""
    by_encoding = gains(table, "addition", "full") if "addition" in table.scale.tasks else {}
    if not by_encoding:
        return Verdict("addition was not learnt both with and without a scratchpad", "unknown")
    ours = "; ".join(f"{name} {estimate.points()}" for name, estimate in by_encoding.items())
    return Verdict(ours, lenient_verdict(sides(list(by_encoding.values()))))


@claim(
    "In the other tasks, nets without a scratchpad do best nearly always.",
    "the best format is none for {} of {} pairs of task and encoding".format(*published.best_without()),
    answers={
        "agrees": "Elsewhere nets do best without one",
        "in part": "Elsewhere some nets do best without one",
        "disagrees": "Elsewhere it helps too",
        "unknown": "Elsewhere it stays open",
    },
)
def best_without(table: ResultTable) -> Verdict:
    """By how often the best format is none, over tasks and encodings in which some format was learnt."""
    best = {}
    for task in (each for each in table.scale.tasks if each != "addition"):
        for encoding in table.scale.encodings:
            values = {each: table.value(name_of(task, each, encoding), TEST) for each in formats_of(table.scale, task)}
            learnt = [each for each in values if table.value(name_of(task, each, encoding), TRAIN) >= LEARNT]
            if WITHOUT in learnt and len(learnt) > 1:
                best[f"{task} with {encoding}"] = max(learnt, key=lambda each: values[each])
    if not best:
        return Verdict("no other task was learnt both with and without a scratchpad", "unknown")
    without = sum(each == WITHOUT for each in best.values()) / len(best)
    ours = f"none is best in {percent(without)} of {len(best)}: {'; '.join(f'{n}: {f}' for n, f in best.items())}"
    return Verdict(ours, "agrees" if without > 0.75 else "in part" if without >= 0.4 else "disagrees")


@claim(
    "The format matters as much as the encoding.",
    "in sort_single NoPE falls from .995 to .129 with the full format, and RoPE from .489 to .006",
)
def format_matters(table: ResultTable) -> Verdict:
    """By the mean range of accuracy over formats at a fixed encoding, against that over encodings at a fixed format."""
    over_formats, over_encodings = list[float](), list[float]()
    for task in table.scale.tasks:
        grid = {
            (each, encoding): table.value(name_of(task, each, encoding), TEST)
            for each in formats_of(table.scale, task)
            for encoding in table.scale.encodings
        }
        for number, ranges in ((1, over_formats), (0, over_encodings)):
            for fixed in dict.fromkeys(key[number] for key in grid):
                values = [value for key, value in grid.items() if key[number] == fixed and not math.isnan(value)]
                if len(values) > 1:
                    ranges.append(max(values) - min(values))
    if not over_formats or not over_encodings:
        return Verdict("fewer than two formats or encodings were tried", "unknown")
    first, second = fmean(over_formats), fmean(over_encodings)
    ours = f"accuracy varies by {100 * first:.1f} points over formats and by {100 * second:.1f} over encodings"
    if max(first, second) < CLEAR:
        return Verdict(ours, "unknown", "Nothing generalises to longer inputs.")
    return Verdict(ours, "agrees" if first > 0.8 * second else "in part" if first > 0.4 * second else "disagrees")


CLAIMS: dict[str, Claim] = {"addition": helps_addition, "others": best_without, "format": format_matters}

"""What was published about scratchpads, each claim above the test that decides on it."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from wherewhat.formatting import count, listed, percent, signed
from wherewhat.published import scratchpads as published
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover
from wherewhat.stats.verdict import lenient_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.scratchpad.names import LEARNT, TEST, TRAIN, WITHOUT, name_of
from wherewhat.studies.scratchpad.settings import formats_of

CLEAR = 0.02  # accuracy or gain below which it counts as nothing
FEW = 3  # other tasks below which their verdict is only a first look
MOST, SOME = 2 / 3, 1 / 3  # shares of pairs from which a claim about most of them agrees, and agrees in part


def is_learnt(table: ResultTable, task: str, format_name: str, encoding: str) -> bool:
    """Whether a task was learnt at training lengths with this format and encoding."""
    return table.value(name_of(task, format_name, encoding), TRAIN) >= LEARNT


def gain(table: ResultTable, task: str, format_name: str, encoding: str) -> Estimate:
    """By how much a scratchpad raises accuracy on longer inputs, if the task was learnt with and without it."""
    if not all(is_learnt(table, task, each, encoding) for each in (format_name, WITHOUT)):
        return Estimate()
    after, before = (table.estimate(name_of(task, each, encoding), TEST) for each in (format_name, WITHOUT))
    return Estimate(after.value - before.value, *mover(before, after))


def gains(table: ResultTable, task: str, format_name: str) -> dict[str, Estimate]:
    """The gains of a format by encoding, where they are known."""
    by_encoding = {each: gain(table, task, format_name, each) for each in table.scale.encodings}
    return {each: estimate for each, estimate in by_encoding.items() if estimate.known}


def sides(estimates: Sequence[Estimate]) -> list[int]:
    """1 for a clear gain, -1 for a clear loss, else 0."""
    return [sign_of(each.low, each.high, negligible=CLEAR) for each in estimates]


@claim(
    "In addition, a scratchpad helps every encoding.",
    "full against no scratchpad, in points: "
    + ", ".join(
        f"{label(name)} {signed(100 * (row['full'] - row[WITHOUT]))}"
        for name, row in published.ACCURACY["addition"].items()
    ),
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
        return _not_learnt(table)
    ours = "; ".join(f"{label(name)} {estimate.points()}" for name, estimate in by_encoding.items())
    return Verdict(ours, lenient_verdict(sides(list(by_encoding.values()))))


def _not_learnt(table: ResultTable) -> Verdict:
    """The verdict where no net learnt addition in both ways: how much each learnt at training lengths."""

    def trained(format_name: str, encoding: str) -> float:
        return table.value(name_of("addition", format_name, encoding), TRAIN)

    ours = "addition was not learnt both with and without a scratchpad"
    pairs = {each: (trained("full", each), trained(WITHOUT, each)) for each in table.scale.encodings}
    learning = ", ".join(
        f"{label(each)} {percent(full)} against {percent(none)}"
        for each, (full, none) in pairs.items()
        if not math.isnan(full + none)
    )
    if learning:
        ours += f"; at training lengths, full against no scratchpad: {learning}"
    return Verdict(ours, "unknown", short=f"{ours[:1].upper()}{ours[1:]}.")


@claim(
    "In the other tasks, nets mostly do best without a scratchpad.",
    "no scratchpad is best for {} of {} pairs of task and encoding".format(*published.best_without()),
    answers={
        "agrees": "Elsewhere nets do best without one",
        "in part": "Elsewhere some nets do best without one",
        "disagrees": "Elsewhere it helps too",
        "unknown": "Elsewhere it stays open",
    },
)
def best_without(table: ResultTable) -> Verdict:
    """By how often no scratchpad is best, over tasks and encodings learnt both with and without one.

    Pairs in which nothing generalises are left out.
    """
    best: dict[tuple[str, str], str] = {}
    for task in (each for each in table.scale.tasks if each != "addition"):
        for encoding in table.scale.encodings:
            values = dict(learnt_values(table, task, encoding))
            if WITHOUT in values and len(values) > 1 and max(values.values()) >= CLEAR:
                best[task, encoding] = max(values, key=lambda each: values[each])
    if not best:
        return Verdict("no other task was learnt both with and without a scratchpad, and generalised", "unknown")
    without = sum(each == WITHOUT for each in best.values())
    others = [f"{each} in {task} with {label(name)}" for (task, name), each in best.items() if each != WITHOUT]
    ours = "; ".join([f"No scratchpad is best for {without} of {len(best)} pairs of task and encoding", *others])
    share = without / len(best)
    verdict = "agrees" if share >= MOST else "in part" if share >= SOME else "disagrees"
    tasks = list(dict.fromkeys(task for task, _ in best))
    if len(tasks) >= FEW or verdict == "in part":
        return Verdict(ours, verdict)
    # As few tasks as this can hint at what is claimed, and refute nothing.
    why, where = f"With {count(len(tasks), 'task')}, a first look.", f"In {listed(tasks)}"
    if verdict == "agrees":
        return Verdict(ours, "in part", why, answer=f"{where}, nets do best without one")
    return Verdict(ours, "unknown", why, answer=f"{where}, nets do best with one")


def learnt_values(table: ResultTable, task: str, encoding: str) -> Iterator[tuple[str, float]]:
    """By format with which a task was learnt: accuracy on longer inputs."""
    for format_name in formats_of(table.scale, task):
        if is_learnt(table, task, format_name, encoding):
            yield format_name, table.value(name_of(task, format_name, encoding), TEST)


@claim(
    "The format matters as much as the encoding.",
    "in sort_single NoPE falls from 99.5 % to 12.9 % with the full format, and partial RoPE from 48.9 % to 0.6 %",
)
def format_matters(table: ResultTable) -> Verdict:
    """By how much accuracy varies over formats at a fixed encoding, and over encodings at a fixed format.

    Means of standard deviations, which do not grow with the number of formats as ranges would.
    """
    over_formats, over_encodings = list[float](), list[float]()
    for task in table.scale.tasks:
        grid = {
            (format_name, encoding): value
            for encoding in table.scale.encodings
            for format_name, value in learnt_values(table, task, encoding)
        }
        for number, spreads in ((1, over_formats), (0, over_encodings)):
            for fixed in dict.fromkeys(key[number] for key in grid):
                values = [value for key, value in grid.items() if key[number] == fixed]
                if len(values) > 1:
                    spreads.append(stdev(values))
    if not over_formats or not over_encodings:
        return Verdict("fewer than two formats or encodings learnt the same task", "unknown")
    first, second = fmean(over_formats), fmean(over_encodings)
    ours = (
        f"standard deviation of accuracy: {100 * first:.1f} points over formats and {100 * second:.1f} over encodings"
    )
    if max(first, second) < CLEAR:
        return Verdict(ours, "unknown", "Accuracy hardly varies at all.")
    return Verdict(ours, "agrees" if first > 0.8 * second else "in part" if first > 0.4 * second else "disagrees")


CLAIMS: dict[str, Claim] = {"addition": helps_addition, "others": best_without, "format": format_matters}

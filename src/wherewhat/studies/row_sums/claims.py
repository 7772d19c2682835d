"""What was published about row sums, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Sequence
from statistics import fmean

from wherewhat.formatting import percent
from wherewhat.stats.verdict import UNPUBLISHED, seen_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.names import ADDED, ALL, BOUND, FIRST_HALF, FREE, LONGER, TASKS, accuracy, name_of
from wherewhat.studies.row_sums.settings import ARMS

ROUNDING = 1e-4  # of float32 logits through a few layers, relative to their size
SOLVED = 0.95
GUESSING = 3.0  # times chance up to which a net knows next to nothing
SPREAD = Cell("constant", "spread")


def encodings(table: ResultTable, *kinds: str) -> list[str]:
    """The encodings of the study that are of these kinds."""
    return [name for name in table.scale.encodings if ARMS[name].kind in kinds]


def values(table: ResultTable, task: str, names: Sequence[str], cell: Cell) -> dict[str, float]:
    """By encoding, the mean over seeds of one number, where there is one."""
    rows = {name: table.value(name_of(task, name), cell) for name in names}
    return {name: value for name, value in rows.items() if not math.isnan(value)}


def unsolved(table: ResultTable, task: str, item: str) -> Verdict | None:
    """The verdict where not even positions in the tokens solve a task: nothing was trained for long enough."""
    control = values(table, task, encodings(table, ADDED), accuracy(item))
    if not control or max(control.values()) > SOLVED:
        return None
    return Verdict(f"Not even positions in the tokens solve it at this scale: {list_shares(control)}", "unknown")


@claim(
    "If all tokens are equal, nets whose rows of attention sum to one answer the same in every slot.",
    "a theorem, for relative biases",
    answers={
        "agrees": "Equal tokens get equal answers wherever rows sum to one",
        "in part": "Equal tokens get equal answers in part of the nets whose rows sum to one",
        "disagrees": "Equal tokens get different answers although rows sum to one",
        "unknown": "There is no net whose rows sum to one",
    },
)
def equal_tokens(table: ResultTable) -> Verdict:
    """By the largest difference between slots of trained nets on a constant input."""
    bound, others = (
        [value for task in TASKS for value in values(table, task, encodings(table, *kinds), SPREAD).values()]
        for kinds in ((BOUND,), (FREE, ADDED))
    )
    if not bound:
        return Verdict("No such net was trained", "unknown")
    ours = f"Logits differ by at most {max(bound):.0e} of their size"
    if others:
        ours += f"; with free row sums or positions in the tokens by at least {min(others):.0e}"
    equal, apart = max(bound) < ROUNDING, not others or min(others) > ROUNDING
    return Verdict(ours, "agrees" if equal and apart else "in part" if equal else "disagrees")


@claim(
    "Which slot is it? Relative biases cannot learn it, free row sums can.",
    "about 10 % with a relative bias (chance 0.8 %), 100 % with URPE, read from a poster",
    answers={
        "agrees": "Only free row sums, or positions in the tokens, tell which slot it is",
        "in part": "Some encodings tell which slot it is as expected",
        "disagrees": "Encodings do not tell which slot it is as expected",
        "unknown": "Which slot it is was not learnt",
    },
)
def which_slot(table: ResultTable) -> Verdict:
    """By accuracy in the position task: near chance if rows sum to one, near 1 otherwise."""
    bound, free = (values(table, "position", encodings(table, kind), accuracy(ALL)) for kind in (BOUND, FREE))
    if not bound or not free:
        return Verdict("Both kinds of encoding are needed", "unknown")
    if verdict := unsolved(table, "position", ALL):
        return verdict
    chance = 1 / table.scale.position.tokens
    ours = f"{list_shares({**bound, **free})}; chance {percent(chance)}"
    guess = [value < GUESSING * chance for value in bound.values()]
    solved = [value > SOLVED for value in free.values()]
    whole, half = all(guess) and all(solved), any(guess) and any(solved)
    return Verdict(ours, "agrees" if whole else "in part" if half else "disagrees")


@claim(
    "Which tokens stand at even places? Relative biases fail where an answer needs its place, free row sums do not.",
    "about 55 % with a relative bias, 100 % with URPE, both halves together, read from a poster",
)
def even_places(table: ResultTable) -> Verdict:
    """By accuracy in the first half, which needs tokens; the second half is filler."""
    bound, free = (values(table, "even", encodings(table, kind), accuracy(FIRST_HALF)) for kind in (BOUND, FREE))
    if not bound or not free:
        return Verdict("Both kinds of encoding are needed", "unknown")
    if verdict := unsolved(table, "even", FIRST_HALF):
        return verdict
    ours = f"First half: {list_shares({**bound, **free})}"
    apart, solved = max(bound.values()) < min(free.values()), min(free.values()) > SOLVED
    return Verdict(
        ours, "agrees" if apart and solved and max(bound.values()) < 0.8 else "in part" if apart else "disagrees"
    )


@claim(
    "What a relative bias knows about slots, it knows near the ends.",
    f"{UNPUBLISHED}: accuracy was not published by slot",
)
def near_the_ends(table: ResultTable) -> Verdict:
    """By the accuracy of the outer quarter of the slots, on both sides, against the rest, without free row sums."""
    tokens = table.scale.position.tokens
    outer: dict[str, float] = {}
    for name in (each for each in encodings(table, BOUND) if each != "none"):
        by_slot = [
            table.value(name_of("position", name), Cell("slot", "accuracy", "", float(n))) for n in range(tokens)
        ]
        if any(map(math.isnan, by_slot)):
            continue
        ends = [*by_slot[: tokens // 8], *by_slot[-(tokens // 8) :]]
        middle = by_slot[tokens // 8 : -(tokens // 8)]
        outer[name] = fmean(ends) - fmean(middle)
    if not outer:
        return Verdict("No such net was trained", "unknown")
    ours = f"Ends minus middle: {', '.join(f'{name} {100 * gap:+.1f} points' for name, gap in outer.items())}"
    return Verdict(ours, seen_verdict([gap > 0.02 for gap in outer.values()]))


@claim(
    "On longer inputs, encodings that know only the lengths of training refuse or fail, others go on.",
    f"{UNPUBLISHED}: longer inputs were not tried",
)
def longer_inputs(table: ResultTable) -> Verdict:
    """By accuracy on the slots of training when the input is longer, of encodings that had learnt the task."""
    learnt = {
        name: value
        for name, value in values(table, "position", encodings(table, FREE, ADDED), accuracy(ALL)).items()
        if value > SOLVED
    }
    if not learnt:
        return Verdict("No encoding has learnt the position task", "unknown")
    longer = values(table, "position", list(learnt), accuracy(LONGER))
    refused = [name for name in learnt if name not in longer]
    ours = "; ".join(filter(None, [list_shares(longer), f"refused: {', '.join(refused)}" if refused else ""]))
    return Verdict(ours, seen_verdict([bool(refused), any(value > SOLVED for value in longer.values())]))


CLAIMS: dict[str, Claim] = {
    "equal tokens": equal_tokens,
    "which slot": which_slot,
    "even places": even_places,
    "ends": near_the_ends,
    "longer": longer_inputs,
}

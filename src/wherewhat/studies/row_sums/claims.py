"""What was published about row sums, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Sequence
from statistics import fmean

import polars as pl

from wherewhat.formatting import listed, percent
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict, seen_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    BOUND,
    EQUAL,
    FIRST_HALF,
    FREE,
    GAP,
    LINEAR_FIT,
    LONGER,
    MIRRORED,
    RANDOM_FIT,
    SOLVED,
    SUMS_ALONE,
    TASKS,
    UNIT_SUMS,
    accuracy,
    name_of,
)
from wherewhat.studies.row_sums.settings import ARMS

ROUNDING = 1e-4  # of float32 logits through a few layers, relative to their size
FAILED = 0.8  # the accuracy below which a task counts as not solved
HALF = 0.5  # most answers: the accuracy below which a net has lost the position task
SCORED = {"position": ALL, "even": FIRST_HALF}  # the slots that need their place
SPREAD = Cell("constant", "spread")


def encodings(table: ResultTable, *kinds: str) -> list[str]:
    """The encodings of the study that are of these kinds."""
    return [name for name in table.scale.encodings if ARMS[name].kind in kinds]


def biases(table: ResultTable) -> list[str]:
    """The relative biases of the study."""
    return [name for name in table.scale.encodings if ARMS[name].bias]


def values(table: ResultTable, task: str, names: Sequence[str], cell: Cell) -> dict[str, float]:
    """By encoding, the mean over seeds of one number, where there is one."""
    rows = {name: table.value(name_of(task, name), cell) for name in names}
    return {name: value for name, value in rows.items() if not math.isnan(value)}


def solvers(table: ResultTable, task: str, *kinds: str) -> list[str]:
    """The encodings of these kinds that solve a task on random tokens."""
    shares = values(table, task, encodings(table, *kinds), accuracy(SCORED[task]))
    return [name for name, share in shares.items() if share > SOLVED]


def biases_against_factors(table: ResultTable, task: str) -> Verdict:
    """The verdict on the claim that no relative bias solves a task and free factors do.

    It is open where not even positions in the tokens solve it: nothing was trained for long enough.
    """
    cell = accuracy(SCORED[task])
    bias, free, control = (
        values(table, task, names, cell) for names in (biases(table), encodings(table, FREE), encodings(table, ADDED))
    )
    if not bias or not free:
        return Verdict("Both kinds of encoding are needed", "unknown")
    if control and max(control.values()) <= SOLVED:
        return Verdict(f"Not even positions in the tokens solve it at this scale: {list_shares(control)}", "unknown")
    ours = list_shares({**bias, **free})
    apart = max(bias.values()) < min(free.values())
    whole = apart and max(bias.values()) < FAILED and min(free.values()) > SOLVED
    return Verdict(ours, "agrees" if whole else "in part" if apart else "disagrees")


@claim(
    "If all tokens are equal, nets whose rows of attention sum to one answer the same in every slot.",
    "a theorem, for relative biases",
    answers={
        "agrees": "Equal tokens get equal answers wherever rows sum to one, and only there",
        "in part": "Equal tokens get equal answers wherever rows sum to one, and elsewhere too",
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
    equal, apart = max(bound) < ROUNDING, not others or min(others) > ROUNDING
    most = f"less than {ROUNDING}" if equal else f"up to {max(bound):.4f}"
    ours = f"Equal tokens: logits differ between slots by {most} of their size if rows sum to one"
    if others:
        ours += f", by at least {min(others):.2f} otherwise"
    return Verdict(ours, "agrees" if equal and apart else "in part" if equal else "disagrees")


@claim(
    "Which slot is it? Relative biases do not learn it, URPE does.",
    "about 10 % with a relative bias (chance 0.8 %), 100 % with URPE, read from a poster",
    answers={
        "agrees": "No relative bias learns which slot it is, and URPE does",
        "in part": "Relative biases learn less than URPE which slot it is, but the difference is not as published",
        "disagrees": "Relative biases learn which slot it is no worse than URPE",
        "unknown": "Which slot it is was not learnt",
    },
)
def which_slot(table: ResultTable) -> Verdict:
    """By accuracy in the position task."""
    verdict = biases_against_factors(table, "position")
    if verdict.verdict == "unknown":
        return verdict
    chance = percent(1 / table.scale.position.tokens)
    return Verdict(f"Which slot: {verdict.ours}; chance {chance}", verdict.verdict)


@claim(
    "Which tokens stand at even places? Relative biases fail where an answer needs its place, URPE does not.",
    "about 55 % with a relative bias, 100 % with URPE, both halves together, read from a poster",
)
def even_places(table: ResultTable) -> Verdict:
    """By accuracy in the first half, which needs tokens; the second half is filler."""
    verdict = biases_against_factors(table, "even")
    return verdict if verdict.verdict == "unknown" else Verdict(f"First half: {verdict.ours}", verdict.verdict)


@claim(
    "The limit is one of equal tokens: where tokens differ, attention whose rows sum to one can tell where they stand.",
    f"{UNPUBLISHED}: of encodings whose rows sum to one, only relative biases and no positions were tried",
    answers={
        "seen": "Where tokens differ, rows that sum to one can be enough",
        "not seen": "Not even where tokens differ are rows that sum to one enough",
        "unknown": "What rows that sum to one learn where tokens differ is unknown",
    },
)
def unequal_tokens(table: ResultTable) -> Verdict:
    """By nets whose rows sum to one and that solve a task on random tokens and lose it on equal ones."""
    cases = [
        (task, name)
        for task in TASKS
        for name in solvers(table, task, BOUND)
        if table.value(name_of(task, name), accuracy(EQUAL)) < FAILED
    ]
    if not any(values(table, task, encodings(table, BOUND), accuracy(SCORED[task])) for task in TASKS):
        return Verdict("No such net was trained", "unknown")
    if not cases:
        return Verdict("No net whose rows sum to one solves a task by tokens that differ", "not seen")
    sentences = [
        f"{name} in the {task} task: random tokens {percent(table.value(name_of(task, name), accuracy(ALL)))}, "
        f"equal tokens {percent(table.value(name_of(task, name), accuracy(EQUAL)))}"
        for task, name in cases
    ]
    names = listed(list(dict.fromkeys(name for _, name in cases)))
    return Verdict(
        "; ".join(sentences), "seen", answer=f"Where tokens differ, {names} learns it although rows sum to one"
    )


@claim(
    "Nets with URPE find their place by counting slots: the sum of a row of attention changes evenly with its slot, "
    "and answers follow it.",
    f"{UNPUBLISHED}: one layer can count so by construction; what trained nets do was not published",
    answers={
        "seen": "URPE counts slots: the sum of a row of attention changes evenly with its slot, and answers follow it",
        "in part": "URPE counts slots only in part by the sums of its rows",
        "not seen": "URPE does not count slots by the sums of its rows",
        "unknown": "How URPE tells slots is unknown, as it did not learn to",
    },
)
def counted_slots(table: ResultTable) -> Verdict:
    """By nets that solve the position task: without row sums, with those of mirrored slots, and by how linear they are.

    Row sums are linear if the best head of the first layer is above 95 % of nets with random factors.
    """
    names = solvers(table, "position", FREE)
    unit, mirrored, alone = (
        values(table, "position", names, accuracy(item)) for item in (UNIT_SUMS, MIRRORED, SUMS_ALONE)
    )
    fits, random = {name: best_fit(table, name) for name in names}, table.estimate("", RANDOM_FIT)
    if not unit or not mirrored or any(map(math.isnan, fits.values())):
        return Verdict("No net with free factors has solved the position task", "unknown")
    best = ", ".join(f"{name} {fit:.3f}" for name, fit in fits.items())
    ours = (
        f"Answers that are the mirrored slot if row sums are those of mirrored slots: {list_shares(mirrored)}; right "
        f"answers with rows that sum to one again: {list_shares(unit)} (chance "
        f"{percent(1 / table.scale.position.tokens)}), with row sums alone: {list_shares(alone)}; R² of a linear fit "
        f"of the row sums of the best head of the first layer: {best} (random factors {random.value:.2f}, 95 % of them "
        f"up to {random.high:.2f})"
    )
    needed, followed = max(unit.values()) < HALF, min(mirrored.values()) > HALF
    return Verdict(ours, seen_verdict([needed, followed, min(fits.values()) > random.high]))


def best_fit(table: ResultTable, name: str) -> float:
    """The mean over seeds of R² of the row sums of the best head of the first layer."""
    rows = table.where(part="row sums", subject=name_of("position", name), measure=LINEAR_FIT)
    best = rows.filter(rows["item"].str.starts_with("L0")).group_by("seed").agg(pl.col("value").max())
    return fmean(best["value"]) if best.height else math.nan


@claim(
    "What a relative bias knows about slots, it knows near the ends.",
    f"{UNPUBLISHED}: accuracy was not published by slot",
)
def near_the_ends(table: ResultTable) -> Verdict:
    """By how much more is known about the outer quarter of the slots, both sides together, than about the rest.

    A preference for some answers is no knowledge: see `end_rows` in the run.
    """
    gaps = {name: table.estimate(name_of("position", name), GAP) for name in biases(table)}
    gaps = {name: gap for name, gap in gaps.items() if not math.isnan(gap.value)}
    if not gaps:
        return Verdict("No such net was trained", "unknown")
    sides = [sign_of(gap.low, gap.high) for gap in gaps.values()]
    return Verdict(f"Ends minus middle: {list_gaps(gaps)}", open_verdict(sides))


@claim(
    "Encodings that do not refuse longer inputs still tell the slots of training there.",
    f"{UNPUBLISHED}: longer inputs were not tried",
)
def longer_inputs(table: ResultTable) -> Verdict:
    """By accuracy on the slots of training when the input is longer, of encodings that have learnt the task."""
    names = solvers(table, "position", BOUND, FREE, ADDED)
    if not names:
        return Verdict("No encoding has learnt the position task", "unknown")
    longer = values(table, "position", names, accuracy(LONGER))
    refused = [name for name in names if table.row(name_of("position", name), Cell("refused", "refused", LONGER))]
    ours = "; ".join(filter(None, [list_shares(longer), f"refused by {listed(refused)}" if refused else ""]))
    return Verdict(ours, seen_verdict([value > SOLVED for value in longer.values()]) if longer else "unknown")


CLAIMS: dict[str, Claim] = {
    "equal tokens": equal_tokens,
    "which slot": which_slot,
    "even places": even_places,
    "unequal tokens": unequal_tokens,
    "counted slots": counted_slots,
    "ends": near_the_ends,
    "longer": longer_inputs,
}

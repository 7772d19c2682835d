"""What was published about row sums, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import polars as pl

from wherewhat.formatting import listed, percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict, seen_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    BOUND,
    EQUAL,
    FIRST_HALF,
    FOLLOWS,
    FREE,
    GAP,
    INNER,
    LINEAR_FIT,
    LONGER,
    MIRRORED,
    MOST_FREQUENT,
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
FAILED = {"position": 0.5, "even": 0.8}  # the accuracy below which a task counts as not solved, by task
HALF = 0.5  # of the answers: what is below it is not most of them
FOLLOWED = 0.8  # correlation with the mirrored slot from which answers follow the mirrored sums
SCORED = {"position": ALL, "even": FIRST_HALF}  # the slots that need their place
UNSOLVED = {  # the short answer where nobody but positions in the tokens solves a task
    "position": "Neither relative biases nor URPE learn which slot it is",
    "even": "Neither relative biases nor URPE learn which tokens stand at even places",
}
OVERLAP = "URPE does better than relative biases, by less than seeds differ"
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


def share(table: ResultTable, task: str, name: str, item: str) -> str:
    """The share of slots that an encoding answers correctly, in per cent."""
    return percent(table.value(name_of(task, name), accuracy(item)))


def solvers(table: ResultTable, task: str, *kinds: str) -> list[str]:
    """The encodings of these kinds that solve a task on random tokens."""
    shares = values(table, task, encodings(table, *kinds), accuracy(SCORED[task]))
    return [name for name, value in shares.items() if value > SOLVED]


def estimates(table: ResultTable, task: str, names: Sequence[str]) -> list[Estimate]:
    """The accuracies of encodings in a task with their intervals; a number without one is its own."""
    cell = accuracy(SCORED[task])
    known = (each for name in names if (each := table.estimate(name_of(task, name), cell)).known)
    return [each if math.isfinite(each.low) else Estimate(each.value, each.value, each.value) for each in known]


def biases_against_factors(table: ResultTable, task: str) -> Verdict:
    """The verdict on the claim that no relative bias solves a task and free factors do.

    It is open where neither free factors nor positions in the tokens solve it: nothing was trained for long enough.
    They are apart if every interval of a bias is below every interval of free factors.
    """
    bias, free = (estimates(table, task, names) for names in (biases(table), encodings(table, FREE)))
    if not bias or not free:
        return Verdict("A relative bias and URPE are both needed for this claim", "unknown")
    shares = list_shares(values(table, task, [*biases(table), *encodings(table, FREE, ADDED)], accuracy(SCORED[task])))
    if not solvers(table, task, FREE, ADDED):
        return Verdict(f"Neither URPE nor positions in the tokens solve it at this scale: {shares}", "unknown")
    highest, lowest = max(each.value for each in bias), min(each.value for each in free)
    apart = max(each.high for each in bias) < min(each.low for each in free)
    nobody = highest <= SOLVED and not solvers(table, task, FREE)
    if not apart and not nobody and highest < lowest:  # as two seeds may leave it
        return Verdict(shares, "unknown", "The intervals of relative biases and of URPE overlap.", answer=OVERLAP)
    if not apart:
        return Verdict(shares, "disagrees", answer=UNSOLVED[task] if nobody else "")
    return Verdict(shares, "agrees" if highest < FAILED[task] and lowest > SOLVED else "in part")


@claim(
    "If all tokens are equal, nets give the same output in every slot wherever rows of attention sum to one.",
    "a theorem, for relative biases",
    answers={
        "agrees": "Equal tokens give the same output in every slot wherever rows sum to one, and only there",
        "in part": "Equal tokens give the same output in every slot wherever rows sum to one, and elsewhere too",
        "disagrees": "Equal tokens give different outputs although rows sum to one",
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
        ours += f", by at least {min(others):.2g} otherwise"
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
    return replace(verdict, ours=f"Which slot: {verdict.ours}; chance {chance}")


@claim(
    "Which tokens stand at even places? Relative biases fail where an answer needs its place, URPE does not.",
    "about 55 % with a relative bias, 100 % with URPE, both halves together, read from a poster",
    answers={
        "agrees": "No relative bias learns which tokens stand at even places, and URPE does",
        "in part": "Relative biases learn less than URPE which tokens stand at even places, but the difference is not "
        "as published",
        "disagrees": "Relative biases learn which tokens stand at even places no worse than URPE",
        "unknown": "Which tokens stand at even places was not learnt",
    },
)
def even_places(table: ResultTable) -> Verdict:
    """By accuracy in the first half, which needs tokens; the second half is filler."""
    verdict = biases_against_factors(table, "even")
    if verdict.verdict == "unknown":
        return verdict
    blind = percent(table.value("", MOST_FREQUENT))
    return replace(verdict, ours=f"First half: {verdict.ours}; best guess without positions {blind}")


@claim(
    "The limit is one of equal tokens: where tokens differ, attention whose rows sum to one can tell where they stand.",
    f"{UNPUBLISHED}: of encodings whose rows sum to one, only relative biases and no positions were tried",
    answers={
        "seen": "Where tokens differ, rows that sum to one can be enough",
        "not seen": "No net whose rows sum to one learnt a task from tokens that differ",
        "unknown": "What rows that sum to one learn where tokens differ is unknown",
    },
)
def unequal_tokens(table: ResultTable) -> Verdict:
    """By nets whose rows sum to one and that solve a task on random tokens and lose it on equal ones."""
    cases = [
        (task, name)
        for task in TASKS
        for name in solvers(table, task, BOUND)
        if table.value(name_of(task, name), accuracy(EQUAL)) < FAILED[task]
    ]
    if not any(values(table, task, encodings(table, BOUND), accuracy(SCORED[task])) for task in TASKS):
        return Verdict("No such net was trained", "unknown")
    if not any(solvers(table, task, BOUND, FREE, ADDED) for task in TASKS):
        return Verdict("No encoding solves a task at this scale", "unknown")
    best = "; ".join(
        f"{task} {list_shares(values(table, task, encodings(table, BOUND), accuracy(SCORED[task])))}" for task in TASKS
    )
    if not cases:
        return Verdict(f"Accuracy of nets whose rows sum to one: {best}", "not seen")
    sentences = [
        f"{name} in the {task} task: random tokens {share(table, task, name, SCORED[task])}, equal tokens "
        f"{share(table, task, name, EQUAL)}"
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
    follows = values(table, "position", names, FOLLOWS)
    fits, random = {name: best_fit(table, name) for name in names}, table.estimate("", RANDOM_FIT)
    if not unit or not follows or any(map(math.isnan, fits.values())):
        return Verdict("No net with free factors has solved the position task", "unknown")
    correlations = [f"{value:.2f} ({name})" for name, value in follows.items()]
    best = ", ".join(f"{name} {fit:.3f}" for name, fit in fits.items())
    ours = (
        f"With the row sums of slots mirrored, answers correlate with the mirrored slot by {listed(correlations)}, and "
        f"{answers(mirrored)} exactly it; with rows that sum to one again, "
        f"{answers(unit)} right (chance {percent(1 / table.scale.position.tokens)}); with row sums alone, "
        f"{answers(alone)} right. R² of a linear fit of row sums, best head of the first layer: {best}; random factors "
        f"give {random.value:.2f} ({random.low:.2f} to {random.high:.2f})"
    )
    needed, followed = max(unit.values()) < HALF, min(follows.values()) > FOLLOWED
    return Verdict(ours, seen_verdict([needed, followed, min(fits.values()) > random.high]))


def answers(shares: Mapping[str, float]) -> str:
    """How many answers of one or several encodings, as the subject of a sentence.

    >>> answers({"urpe": 0.87})
    '87\\xa0% of answers are'
    """
    if len(shares) == 1:
        return f"{percent(next(iter(shares.values())))} of answers are"
    return f"{listed([f'{percent(share)} ({name})' for name, share in shares.items()])} of answers are"


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
    """By what is known about the outer eighth of slots on each side, and about those between them.

    Seen are biases that know clearly more at the ends and nothing clear between them; in part, those that know
    something clear between them too. A preference for some answers is no knowledge: see `end_rows` in the run.
    """
    gaps, inner = (
        {name: each for name in biases(table) if (each := table.estimate(name_of("position", name), cell)).known}
        for cell in (GAP, INNER)
    )
    if not gaps:
        return Verdict("No such net was trained", "unknown")
    more, between = ({name: sign_of(each.low, each.high) for name, each in it.items()} for it in (gaps, inner))
    ours = f"Ends minus the slots between them: {list_gaps(gaps)}. Between them: {list_gaps(inner)}"
    return Verdict(ours, ends_verdict(list(more.values()), list(between.values())))


def ends_verdict(more: Sequence[int], between: Sequence[int]) -> str:
    """By the sign of the gap of every bias, and of what it knows between the ends.

    >>> ends_verdict([1, 1], [0, 0]), ends_verdict([1, 0], [0, 0]), ends_verdict([1], [1])
    ('seen', 'in part', 'in part')
    >>> ends_verdict([0], [0]), ends_verdict([-1], [0])
    ('unknown', 'not seen')
    """
    verdict = open_verdict(more)
    return "in part" if verdict == "seen" and 1 in between else verdict


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

"""What was published about row sums, and what we ask beyond it, each claim above the test that decides on it."""

from collections.abc import Sequence
from dataclasses import replace

from wherewhat.formatting import listed, percent, short
from wherewhat.published.row_sums import BY_TASK
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict, seen_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.accuracies import biases, encodings, estimates, share, solvers, values
from wherewhat.studies.row_sums.answers import (
    IN_WORDS,
    above_answer,
    failed_answer,
    overlap,
    solved_answer,
    unequal_answer,
)
from wherewhat.studies.row_sums.names import (
    ADDED,
    BOUND,
    EQUAL,
    FAILED,
    FREE,
    GAP,
    INNER,
    LONGER,
    MOST_FREQUENT,
    ORDER,
    SCORED,
    SOLVED,
    TASKS,
    accuracy,
    name_of,
)
from wherewhat.studies.row_sums.solution import FOLLOWED, counted_slots

ROUNDING = 1e-5  # of float32 logits through a few layers, relative to their size
# The accuracy below which a task is lost on equal tokens, where equal outputs have one slot right, or one half.
LOST = {"position": 0.5, "even": 0.75}
NEGLIGIBLE = 0.01  # of the slots: what is known of fewer is not counted as knowledge
SPREAD = Cell("constant", "spread")
ONLY_THERE = "positions act only on attention whose rows sum to one"  # what the theorem is about
SAME_OUTPUT = f"Equal tokens give the same output in every slot wherever {ONLY_THERE}"


def biases_against_urpe(table: ResultTable, task: str) -> Verdict:
    """The verdict on the claim that no relative bias solves a task and URPE does.

    It is open where no encoding solves it: nothing was trained for long enough. A net with URPE is above the biases if
    its interval is above those of all of them. The claim agrees if all are, and solve the task, and no bias comes near;
    it disagrees only if none is.
    """
    bias, free = (estimates(table, task, names) for names in (biases(table), encodings(table, FREE)))
    if not bias or not free:
        return Verdict("A relative bias and URPE are both needed for this claim", "unknown")
    named = [*biases(table), *encodings(table, FREE, ADDED), *solvers(table, task, BOUND)]
    shares = list_shares(values(table, task, list(dict.fromkeys(named)), accuracy(SCORED[task])))
    if not solvers(table, task, BOUND, FREE, ADDED):
        every = list_shares(values(table, task, encodings(table, BOUND, FREE, ADDED), accuracy(SCORED[task])))
        return Verdict(f"No encoding solves it at this scale: {every}", "unknown")
    highest, reach = max(each.value for each in bias.values()), max(each.high for each in bias.values())
    above = [name for name, each in free.items() if each.low > reach]
    if above:
        solved = [name for name in above if free[name].value > SOLVED]
        if len(solved) < len(free):
            return Verdict(shares, "in part", answer=failed_answer(task, list(free), above, solved))
        near = highest >= FAILED
        return Verdict(
            shares,
            "in part" if near else "agrees",
            f"The best relative bias has {percent(highest)} right." if near else "",
            answer=solved_answer(values(table, task, biases(table), accuracy(SCORED[task])), task),
        )
    if any(each.value > highest for each in free.values()):  # as two seeds may leave it
        return Verdict(shares, "unknown", "Intervals of relative biases and of URPE overlap.", answer=overlap(table))
    nobody = highest <= SOLVED and not solvers(table, task, FREE)
    unsolved = f"Neither relative biases nor URPE solve {IN_WORDS[task]}"
    return Verdict(shares, "disagrees", answer=unsolved if nobody else "")


@claim(
    f"If all tokens are equal, nets give the same output in every slot wherever {ONLY_THERE}.",
    "a theorem, for relative biases",
    answers={
        "agrees": f"{SAME_OUTPUT}, and nowhere else",
        "in part": f"{SAME_OUTPUT}, and elsewhere too",
        "disagrees": f"Equal tokens give different outputs although {ONLY_THERE}",
        "unknown": "There is no net whose positions act only on attention whose rows sum to one",
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
    most = f"less than {ROUNDING:.5f}" if equal else f"up to {max(bound):.2g}"
    ours = f"Equal tokens: logits differ between slots by {most} of their size if {ONLY_THERE}"
    if others:
        ours += f", by at least {min(others):.2g} otherwise"
    verdict = "agrees" if equal and apart else "in part" if equal else "disagrees"
    return Verdict(ours, verdict, answer=SAME_OUTPUT if equal and not others else "")


@claim(
    "Which slot is it? Relative biases do not learn it, but URPE does.",
    "about 10 % with a relative bias (chance 0.8 %), 100 % with URPE, read from a poster",
    answers={
        "disagrees": "Relative biases learn which slot it is no worse than URPE",
        "unknown": "Which slot it is was not learnt",
    },
)
def which_slot(table: ResultTable) -> Verdict:
    """By accuracy in the position task."""
    verdict = biases_against_urpe(table, "position")
    if verdict.verdict == "unknown":
        return verdict
    chance = percent(best_guess(table, "position"))
    return replace(verdict, ours=f"Which slot: {verdict.ours}; chance {chance}")


@claim(
    "Which tokens stand at even places? Relative biases fail where an answer needs its place, but URPE does not.",
    "about 55 % with a relative bias, 100 % with URPE, both halves together, read from a poster",
    answers={
        "disagrees": "Relative biases learn which tokens stand at even places no worse than URPE",
        "unknown": "Which tokens stand at even places was not learnt",
    },
)
def even_places(table: ResultTable) -> Verdict:
    """By accuracy in the first half, which needs tokens; the second half is filler."""
    verdict = biases_against_urpe(table, "even")
    if verdict.verdict == "unknown":
        return verdict
    names = [*biases(table), *encodings(table, FREE, ADDED)]
    guess = percent(table.value("", MOST_FREQUENT))
    both = (
        f"First half: {verdict.ours}; best guess of a net that knows which half it is in, and nothing else about "
        f"positions, {guess}. Both halves together: {list_shares(values(table, 'even', names, accuracy()))}; published "
        f"{list_shares({name: share for name, share in BY_TASK['even'].items() if name in names})}"
    )
    return replace(verdict, ours=both)


@claim(
    f"The limit is one of equal tokens: where tokens differ, nets can tell where they stand although {ONLY_THERE}.",
    f"{UNPUBLISHED}: of encodings that act only there, only relative biases and no positions were tried",
    answers={
        "seen": f"Where tokens differ, nets can tell where they stand although {ONLY_THERE}",
        "not seen": "No net whose positions act only on attention whose rows sum to one learnt a task from tokens that "
        "differ",
        "unknown": f"Whether nets can tell where tokens stand if {ONLY_THERE} is unknown",
    },
)
def unequal_tokens(table: ResultTable) -> Verdict:
    """By nets whose positions act only on such attention: who solves a task on random tokens and not on equal ones.

    In part if none does, but some are clearly above the best guess of a net that does not know its slot.
    """
    shares = {task: values(table, task, encodings(table, BOUND), accuracy(SCORED[task])) for task in TASKS}
    if not any(shares.values()):
        return Verdict("No such net was trained", "unknown")
    cases = {task: lost_on_equal(table, task, solvers(table, task, BOUND)) for task in TASKS}
    if any(cases.values()):
        sentences = [
            f"{name} in the {task} task: random tokens {share(table, task, name, SCORED[task])}, equal tokens "
            f"{share(table, task, name, EQUAL)}"
            for task, names in cases.items()
            for name in names
        ]
        return Verdict("; ".join(sentences), "seen", answer=unequal_answer(cases))
    guesses = {task: best_guess(table, task) for task in TASKS}
    ours = f"Accuracy if {ONLY_THERE}: " + "; ".join(
        f"{task} {list_shares(shares[task])}, best guess {percent(guesses[task])}" for task in TASKS
    )
    above = [name for task in TASKS for name in above_guess(table, task)]
    if above:
        return Verdict(ours, "in part", answer=above_answer(list(dict.fromkeys(above))))
    if not any(solvers(table, task, BOUND, FREE, ADDED) for task in TASKS):
        return Verdict("No encoding solves a task at this scale", "unknown")
    return Verdict(ours, "not seen")


def lost_on_equal(table: ResultTable, task: str, names: Sequence[str]) -> list[str]:
    """The encodings that lose a task where all tokens are equal."""
    return [name for name in names if table.value(name_of(task, name), accuracy(EQUAL)) < LOST[task]]


def above_guess(table: ResultTable, task: str) -> list[str]:
    """The encodings whose rows sum to one that do not solve a task, but are clearly above the best guess.

    Those that do not lose the task on equal tokens do not count.
    """
    guess, known = best_guess(table, task), estimates(table, task, encodings(table, BOUND))
    clear = {name: sign_of(each.low - guess, each.high - guess, negligible=NEGLIGIBLE) for name, each in known.items()}
    unsolved = [name for name, sign in clear.items() if sign == 1 and known[name].value <= SOLVED]
    return lost_on_equal(table, task, unsolved)


def best_guess(table: ResultTable, task: str) -> float:
    """The share that the best guess has right: any slot of the position task, or see `most_frequent_share`."""
    return 1 / table.scale.position.tokens if task == "position" else table.value("", MOST_FREQUENT)


@claim(
    "In the position task, what a relative bias knows about slots, it knows near the ends.",
    f"{UNPUBLISHED}: accuracy was not published by slot",
    answers={
        "seen": "In the position task, what a relative bias knows about slots, it knows near the ends",
        "in part": "In the position task, only part of what relative biases know about slots is near the ends",
        "not seen": "In the position task, relative biases know no more about slots near the ends than about others",
        "unknown": "In the position task, no relative bias clearly knows more about slots near the ends",
    },
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
    more, between = (
        {name: sign_of(each.low, each.high, negligible=NEGLIGIBLE) for name, each in it.items()} for it in (gaps, inner)
    )
    knowing = [name for name in gaps if more[name] or between[name]]
    ours = f"Ends minus the slots between them: {list_gaps(gaps)}. Between them: {list_gaps(inner)}"
    if knowing:
        return Verdict(ours, ends_verdict([more[name] for name in knowing], [between[name] for name in knowing]))
    why = "No relative bias clearly knows any slot."
    return Verdict(ours, "unknown", why, answer="In the position task, no relative bias clearly knows any slot")


def ends_verdict(more: Sequence[int], between: Sequence[int]) -> str:
    """By the sign of the gap of every bias that knows slots, and of what it knows between the ends.

    >>> ends_verdict([1, 1], [0, 0]), ends_verdict([1, 0], [0, 1]), ends_verdict([1], [1])
    ('seen', 'in part', 'in part')
    >>> ends_verdict([0], [1]), ends_verdict([-1], [1])
    ('unknown', 'not seen')
    """
    verdict = open_verdict(more)
    return "in part" if verdict == "seen" and 1 in between else verdict


@claim(
    "Encodings that do not refuse longer inputs still tell the slots of training there.",
    f"{UNPUBLISHED}: longer inputs were not tried",
)
def longer_inputs(table: ResultTable) -> Verdict:
    """By accuracy on the slots of training when the input is longer, of encodings that have learnt the task.

    Told apart are answers that are right, those that keep the order of slots but name other ones, as those of a net
    that measures slots on another scale do, other wrong ones, and inputs that are refused.
    """
    names = solvers(table, "position", BOUND, FREE, ADDED)
    if not names:
        return Verdict("No encoding has learnt the position task", "unknown")
    shares, orders = (values(table, "position", names, cell) for cell in (accuracy(LONGER), ORDER))
    refused = [name for name in names if table.row(name_of("position", name), Cell("refused", "refused", LONGER))]
    right = [name for name, value in shares.items() if value > SOLVED]
    ordered = [name for name in shares if name not in right and orders.get(name, 0.0) > FOLLOWED]
    wrong = [name for name in shares if name not in (*right, *ordered)]
    orders_in_words = {name: f", correlation with the slot {short(order)}" for name, order in orders.items()}
    written = {
        name: f"{name} ({percent(value)} right{orders_in_words.get(name, '')})" for name, value in shares.items()
    }
    groups = {
        "Right": [f"{name} ({percent(shares[name])})" for name in right],
        "Wrong, but in the order of slots": [written[name] for name in ordered],
        "Wrong, not clearly in order": [written[name] for name in wrong],
        "Refused": refused,
    }
    ours = ". ".join(f"{what}: {listed(those)}" for what, those in groups.items() if those)
    return Verdict(ours, seen_verdict([value > SOLVED for value in shares.values()]) if shares else "unknown")


CLAIMS: dict[str, Claim] = {
    "equal tokens": equal_tokens,
    "which slot": which_slot,
    "even places": even_places,
    "unequal tokens": unequal_tokens,
    "counted slots": counted_slots,
    "ends": near_the_ends,
    "longer": longer_inputs,
}

"""How nets with URPE tell slots: by the sums of their rows, as interventions and the first layer show."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import polars as pl

from wherewhat.formatting import listed, percent, short
from wherewhat.stats.verdict import UNPUBLISHED, seen_verdict
from wherewhat.studies.engine.claims import Verdict, claim
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.accuracies import solvers, values
from wherewhat.studies.row_sums.answers import in_order, together
from wherewhat.studies.row_sums.names import (
    ALONE_ERROR,
    ALONE_FOLLOWS,
    ENTROPY,
    FOLLOWS,
    FREE,
    LINEAR_FIT,
    MIRRORED,
    MIRRORED_ERROR,
    SUMS_ALONE,
    UNIT_SUMS,
    accuracy,
    name_of,
    random_fit,
)
from wherewhat.studies.row_sums.settings import ARMS

HALF = 0.5  # of the answers: what is below it is not most of them
FOLLOWED = 0.8  # correlation from which answers follow slots, mirrored ones or their own
UNIFORM = 0.95  # the mean entropy from which attention counts as nearly uniform, which has 1
COUNTED_BY_HAND = (
    "URPE counts slots: attention of the first layer is nearly uniform, the sum of the row changes evenly with the "
    "slot in its best head, and answers follow the sums"
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

    Row sums are linear if R² of the best head of the first layer is above the 97.5 % quantile with random factors.
    """
    names = solvers(table, "position", FREE)
    unit, follows = (values(table, "position", names, cell) for cell in (accuracy(UNIT_SUMS), FOLLOWS))
    fits = {name: best_fit(table, name) for name in names}
    random = {name: table.estimate("", random_fit(ARMS[name].factors)).high for name in names}
    if not unit or not follows or any(map(math.isnan, [*fits.values(), *random.values()])):
        return Verdict("No net with URPE has solved the position task", "unknown")
    entropies = {name: fmean(first_layer(table, name, ENTROPY)["value"]) for name in names}
    ours = (
        f"With the row sums of mirrored slots, {near(table, names, FOLLOWS, MIRRORED_ERROR, MIRRORED)}. "
        f"With row sums alone, {near(table, names, ALONE_FOLLOWS, ALONE_ERROR, SUMS_ALONE)}. "
        f"With rows that sum to one again, {together(unit, percent)} of answers are right (chance "
        f"{percent(1 / table.scale.position.tokens)}). "
        f"Mean entropy of attention in the first layer, before the factors: {together(entropies, three)} (1 if "
        f"uniform). R² of a linear fit of row sums, best head of the first layer: {together(fits, three)}. "
        f"With random factors, 97.5 % of draws stay below {together(random, three)}"
    )
    failed = {
        "most answers of {} stay right with rows that sum to one": [name for name in unit if unit[name] >= HALF],
        "answers of {} do not follow mirrored sums closely": [name for name in follows if follows[name] <= FOLLOWED],
        "row sums of {} are no nearer to a line than those of random factors": [
            name for name in fits if fits[name] <= random[name]
        ],
    }
    verdict = seen_verdict([name not in those for those in failed.values() for name in names])
    reasons = "; ".join(reason.format(listed(those)) for reason, those in failed.items() if those)
    by_hand = COUNTED_BY_HAND if verdict == "seen" and min(entropies.values()) > UNIFORM else ""
    return Verdict(
        ours,
        verdict,
        because=reasons if verdict == "in part" else "",
        short=in_short(table, {ENTROPY: entropies, LINEAR_FIT: fits, "random": random}),
        answer=by_hand,
    )


def in_short(table: ResultTable, first: Mapping[str, Mapping[str, float]]) -> str:
    """What interventions and the first layer say of nets with URPE, without naming each net at each number."""
    names = list(first[ENTROPY])
    mirrored, alone, unit = (
        in_order(values(table, "position", names, accuracy(item)), percent)
        for item in (MIRRORED, SUMS_ALONE, UNIT_SUMS)
    )
    follows = in_order(values(table, "position", names, FOLLOWS), three)
    entropy, fit, random = (in_order(first[what], three) for what in (ENTROPY, LINEAR_FIT, "random"))
    chance = percent(1 / table.scale.position.tokens)
    which = f" Numbers are of {listed(names)}, in this order." if len(names) > 1 else ""
    return (
        f"With the row sums of mirrored slots, {mirrored} of answers are the mirrored slot, and the correlation with "
        f"it is {follows}. With row sums alone, {alone} of answers are right; with rows that sum to one again, {unit} "
        f"(chance {chance}). The attention of the first layer has an entropy of {entropy} (1 if uniform), and R² of a "
        f"linear fit of the row sums of its best head is {fit}; with random factors, 97.5 % of draws stay below "
        f"{random}.{which}"
    )


def near(table: ResultTable, names: Sequence[str], follows: Cell, error: Cell, exact: str) -> str:
    """How near answers in the position task are to the slot that row sums name, after an intervention."""
    correlations, distances, shares = (
        values(table, "position", names, cell) for cell in (follows, error, accuracy(exact))
    )
    slot = "the mirrored slot" if exact == MIRRORED else "the slot"
    return (
        f"the correlation of answers with {slot} is {together(correlations, three, named=True)}. On average they are "
        f"{together(distances, short)} slots from it; {together(shares, percent)} are exactly it"
    )


def three(number: float) -> str:
    """A number close to 1, with three decimals.

    >>> three(0.99861), three(-0.5)
    ('0.999', '−0.500')
    """
    return f"{number:.3f}".replace("-", "−")


def first_layer(table: ResultTable, name: str, measure: str) -> pl.DataFrame:
    """What was measured of the row sums of the first layer in the position task, a row per head and seed."""
    rows = table.where(part="row sums", subject=name_of("position", name), measure=measure)
    return rows.filter(rows["item"].str.starts_with("L0H"))


def best_fit(table: ResultTable, name: str) -> float:
    """The mean over seeds of R² of the row sums of the best head of the first layer."""
    best = first_layer(table, name, LINEAR_FIT).group_by("seed").agg(pl.col("value").max())
    return fmean(best["value"]) if best.height else math.nan

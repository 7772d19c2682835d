"""What was published about longer inputs, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

import polars as pl

from wherewhat.formatting import count, percent, signed
from wherewhat.published.length import ACCURACY, GROUPS, ORDER, RANK, winners
from wherewhat.stats.intervals import mover
from wherewhat.stats.ranks import rank_correlation, reciprocal_ranks
from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished, interval_verdict, seen_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_shares
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.length.names import PUBLISHED, TEST, TRAIN, name_of
from wherewhat.studies.length.summary import Query, block_mean, is_learnt, queries

FAILS, GENERALISES = 0.1, 0.5  # accuracy on longer inputs up to which, and from which
NEAR_ZERO = 0.2  # in addition, where numbers that are one digit longer count too
BETTER = 0.05  # difference of accuracies above which one encoding is better
CLOSE = 0.65  # a rank correlation from which two orders agree in part; that of five moves in steps of 0.1
FEW = 5  # tasks below which a mean rank is only a first look


def known(table: ResultTable, *encodings: str) -> bool:
    """Whether these encodings are in the comparison."""
    return set(encodings) <= set(table.scale.encodings)


def accuracies(table: ResultTable, tasks: Sequence[str], encoding: str, cell: Cell = TEST) -> dict[str, float]:
    """By task, the mean over seeds of accuracy on longer inputs."""
    values = {task: table.value(name_of(task, encoding), cell) for task in tasks}
    return {task: value for task, value in values.items() if not math.isnan(value)}


def obstacle(table: ResultTable, task: str, *encodings: str) -> str:
    """Why these encodings cannot be judged by a task: not tried, not compared or not learnt; empty if they can."""
    if task not in table.scale.tasks:
        return f"{task} was not tried"
    if absent := _labels(each for each in encodings if not known(table, each)):
        return f"not compared here: {absent}"
    failures = (each for each in encodings if not is_learnt(task, table.value(name_of(task, each), TRAIN)))
    if failed := _labels(failures):
        return f"{task} was not learnt with {failed}"
    return ""


def _labels(encodings: Iterable[str]) -> str:
    return ", ".join(map(label, encodings))


def missing(what: str) -> Verdict:
    """The verdict on something that this run does not have."""
    return Verdict(what, "unknown", short=f"{what[:1].upper()}{what[1:]}.")


def _ranked(table: ResultTable) -> list[Query]:
    """The queries with the published encodings alone."""
    if not known(table, *ORDER):
        return []
    return [query._replace(scores={each: query.scores[each] for each in ORDER}) for query in queries(table)]


def _unranked(table: ResultTable) -> Verdict:
    """The verdict where the published encodings are not ranked."""
    absent = _labels(each for each in ORDER if not known(table, each))
    return missing(f"not compared here: {absent}" if absent else "no task was learnt with enough encodings")


@claim(
    "On average over tasks, a decoder without position encoding generalises to longer inputs best.",
    f"mean reciprocal rank {RANK['all'][0]} without encoding, then {RANK['all'][1]} with T5 bias (51 queries)",
    answers={
        "agrees": "Without any encoding, nets generalise best on average",
        "disagrees": "Nets without an encoding do not generalise best on average",
        "in part": "Without any encoding, nets generalise best in the few tasks compared here",
        "unknown": "Which encoding generalises best on average stays open here",
    },
)
def nope_first(table: ResultTable) -> Verdict:
    """By the difference of reciprocal ranks between no encoding and the best other one, resampling tasks."""
    ranked = _ranked(table)
    if not ranked:
        return _unranked(table)
    means = {each: table.value(each, Cell("rank", "mrr", PUBLISHED)) for each in ORDER}
    rival = max(ORDER[1:], key=lambda each: means[each])
    by_query = [reciprocal_ranks(list(query.scores.values())) for query in ranked]
    gaps = [ranks[0] - ranks[ORDER.index(rival)] for ranks in by_query]
    _, low, high = block_mean(ranked, gaps)
    tasks = len({query.task for query in ranked})
    best_first = sorted(means.items(), key=lambda item: -item[1])
    ours = ", ".join(f"{label(each)} {mean:.2f}" for each, mean in best_first)
    ours = f"Mean reciprocal rank: {ours} ({count(tasks, 'task')})"
    verdict = "unknown" if low is None or high is None else interval_verdict(low, high)
    if tasks >= FEW:
        return Verdict(ours, verdict)
    # Few tasks can hint at what is claimed, and refute nothing.
    return Verdict(ours, "in part" if verdict == "agrees" else "unknown", f"With {count(tasks, 'task')}, a first look.")


@claim(
    "The order of the encodings is: none, T5 bias, ALiBi, RoPE, sinusoids.",
    ", ".join(f"{label(name)} {value:.3f}" for name, value in zip(ORDER, RANK["all"], strict=True)),
)
def order(table: ResultTable) -> Verdict:
    """By the order of mean reciprocal ranks."""
    means = [table.value(each, Cell("rank", "mrr", PUBLISHED)) for each in ORDER]
    if any(map(math.isnan, means)):
        return _unranked(table)
    same = all(before > after for before, after in pairwise(means))
    rho = rank_correlation(means, list(RANK["all"])) or 0.0
    ours = ", ".join(f"{label(name)} {mean:.2f}" for name, mean in zip(ORDER, means, strict=True))
    ours = f"{ours}; rank correlation with the published ones {signed(rho, 2)}"
    return Verdict(ours, "agrees" if same else "in part" if rho >= CLOSE else "disagrees")


@claim(
    "Repeating one character: without encoding nets go on, with RoPE and sinusoids they fail.",
    "98.6 % exact without encoding, 0 % with RoPE and with sinusoids",
)
def repeating(table: ResultTable) -> Verdict:
    """By accuracies on longer inputs in copy_repeat."""
    task, arms = "copy_repeat", ("none", "rope_quarter", "sinusoidal")
    if why := obstacle(table, task, *arms):
        return missing(why)
    values = {label(each): table.value(name_of(task, each), TEST) for each in arms}
    nope, *others = values.values()
    good, bad = nope > GENERALISES, [value < FAILS for value in others]
    return Verdict(
        list_shares(values), "agrees" if good and all(bad) else "in part" if good or any(bad) else "disagrees"
    )


@claim(
    "RoPE and sinusoids hardly generalise in any task of copying and reversing.",
    "at most 7.7 % with RoPE and 4.0 % with sinusoids",
)
def rotary_copies(table: ResultTable) -> Verdict:
    """By the best accuracy over the primitive tasks that were learnt."""
    best = {}
    for each in ("rope_quarter", "sinusoidal"):
        tasks = [task for task in GROUPS["primitive"] if not obstacle(table, task, each)]
        if values := accuracies(table, tasks, each):
            task = max(values, key=lambda name: values[name])
            best[f"{label(each)} ({task})"] = values[task]
    if len(best) < 2:
        return missing("no task of copying or reversing was learnt with both")
    low = [value < FAILS for value in best.values()]
    verdict = "agrees" if all(low) else "in part" if any(low) else "disagrees"
    return Verdict(f"at most {list_shares(best)}", verdict)


@claim(
    "Which encoding wins differs from task to task.",
    "NoPE wins 9 of 17 tasks, T5 bias 3 alone, ALiBi 3, partial RoPE 1; one is shared",
)
def winners_differ(table: ResultTable) -> Verdict:
    """By the best of the published encodings in every task that is ranked; none wins where all are at 0."""
    ranked = _ranked(table)
    if not ranked:
        return _unranked(table)
    best: dict[str, set[str]] = {}
    for task in dict.fromkeys(query.task for query in ranked):
        means = {each: fmean(query.scores[each] for query in ranked if query.task == task) for each in ORDER}
        if top := max(means.values()):
            best[task] = {each for each in ORDER if means[each] == top}
    if len(best) < 2:
        return missing("fewer than two tasks have a winner")
    same = sum(not best[task].isdisjoint(winners(task)) for task in best)
    ours = "; ".join(f"{task}: {_labels(each for each in ORDER if each in winning)}" for task, winning in best.items())
    why = f"In {same} of {count(len(best), 'task')} the winner is the published one."
    return Verdict(ours, "disagrees" if set.intersection(*best.values()) else "agrees", why)


@claim("In addition, every encoding is near 0 on longer numbers.", "at most 8.5 % (NoPE)")
def addition_fails(table: ResultTable) -> Verdict:
    """By accuracies in addition, of encodings that learnt it."""
    if "addition" not in table.scale.tasks:
        return missing(obstacle(table, "addition"))
    arms = [each for each in ORDER if not obstacle(table, "addition", each)]
    if not arms:
        return missing("addition was not learnt with any of the published encodings")
    values = {label(each): table.value(name_of("addition", each), TEST) for each in arms}
    return Verdict(list_shares(values), "agrees" if max(values.values()) < NEAR_ZERO else "disagrees")


@claim(
    "ALiBi leads in LEGO.",
    ", ".join(f"{label(name)} {percent(value)}" for name, value in zip(ORDER, ACCURACY["lego"], strict=True)),
)
def alibi_in_lego(table: ResultTable) -> Verdict:
    """By the difference in lego between ALiBi and the best other one, with its interval."""
    if why := obstacle(table, "lego", *ORDER):
        return missing(why)
    values = {each: table.estimate(name_of("lego", each), TEST) for each in ORDER}
    rival = max((each for each in ORDER if each != "alibi"), key=lambda each: values[each].value)
    verdict = interval_verdict(*mover(values[rival], values["alibi"]))
    ours = list_shares({label(each): estimate.value for each, estimate in values.items()})
    return Verdict(ours, verdict, "ALiBi and the best other one are too close." if verdict == "unknown" else "")


@claim(
    "RoPE that rotates whole heads generalises better than RoPE that rotates a quarter.",
    f"{UNPUBLISHED}: the published comparison has only the quarter",
    answers={
        "seen": "Rotating whole heads helps RoPE on longer inputs",
        "not seen": "Rotating whole heads does not help RoPE on longer inputs",
        "in part": "Rotating whole heads helps RoPE in some tasks",
        "unknown": "Whether rotating whole heads helps RoPE stays open here",
    },
)
def full_rotation(table: ResultTable) -> Verdict:
    """By the differences of accuracy, task by task, where both learnt it."""
    if not known(table, "rope", "rope_quarter"):
        return missing("the two are not both compared here")
    tasks = [task for task in table.scale.tasks if not obstacle(table, task, "rope", "rope_quarter")]
    if not tasks:
        return missing("no task was learnt with both")
    full, part = (accuracies(table, tasks, each) for each in ("rope", "rope_quarter"))
    gaps = {task: full[task] - part[task] for task in tasks}
    both = "; ".join(f"{task} {percent(full[task])} against {percent(part[task])}" for task in tasks)
    ours = f"Whole heads against a quarter: {both}"
    better, worse = (sum(sign * gap > BETTER for gap in gaps.values()) for sign in (1, -1))
    verdict = "agrees" if better and not worse else "in part" if better else "disagrees"
    why = f"Better by more than 5 points in {better} of {count(len(tasks), 'task')}, worse in {worse}."
    return Verdict(ours, if_unpublished(verdict), why)


@claim(
    "Nets that fail on longer inputs are those whose attention changes most as the input grows.",
    f"{UNPUBLISHED}: heads were not measured by length",
)
def heads_change(table: ResultTable) -> Verdict:
    """By the rank correlation, over runs, of accuracy and how much the heads' scores move beyond training lengths."""
    rhos, nets = dict[str, float](), 0
    for score in ("entropy", "sink", "locality", "input.position_share"):
        points = list(head_changes(table, score).values())
        rho = rank_correlation([change for change, _ in points], [accuracy for _, accuracy in points])
        if rho is not None and len(points) > 3:
            rhos[score.removeprefix("input.").replace("_", " ")] = rho
            nets = max(nets, len(points))
    if not rhos:
        return missing("too few nets learnt their task")
    ours = f"rank correlation with accuracy: {', '.join(f'{name} {signed(rho, 2)}' for name, rho in rhos.items())}"
    why = f"Over {nets} pairs of task and encoding."
    return Verdict(ours, seen_verdict([rho < -0.5 for rho in rhos.values()]), why)


def head_changes(table: ResultTable, score: str) -> dict[str, tuple[float, float]]:
    """How much heads change from the longest training to the longest test input, and accuracy on longer inputs.

    By pair of task and encoding that was learnt. The change is the mean over heads and seeds of the absolute
    difference; heads of different seeds have nothing in common but their number.
    """
    rows = table.where(part="heads", measure=score).filter(pl.col("seed").is_not_null()).sort("at")
    at = pl.col("at")
    ends = rows.filter((at == at.min().over("subject")) | (at == at.max().over("subject")))
    moved = ends.group_by("subject", "seed", "item").agg(pl.col("value").diff().abs().last())  # null without both
    change = dict(moved.drop_nulls().group_by("subject").agg(pl.col("value").mean()).iter_rows())
    return {
        name: (change[name], table.value(name, TEST))
        for task in table.scale.tasks
        for encoding in table.scale.encodings
        if (name := name_of(task, encoding)) in change and is_learnt(task, table.value(name, TRAIN))
    }


CLAIMS: dict[str, Claim] = {
    "nope first": nope_first,
    "order": order,
    "repeating": repeating,
    "rotary copies": rotary_copies,
    "winners": winners_differ,
    "addition": addition_fails,
    "lego": alibi_in_lego,
    "full rotation": full_rotation,
    "heads": heads_change,
}

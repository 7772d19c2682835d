"""What was published about longer inputs, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from wherewhat.formatting import percent
from wherewhat.published.length import ACCURACY, GROUPS, ORDER, RANK, winners
from wherewhat.recipes.length import ARMS
from wherewhat.stats.ranks import rank_correlation, reciprocal_ranks
from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished, interval_verdict, seen_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.length.names import PUBLISHED, TEST, TRAIN, name_of
from wherewhat.studies.length.summary import Query, block_mean, is_learnt, queries

FAILS, GENERALISES = 0.1, 0.5  # accuracy on longer inputs up to which, and from which
CLOSE = 0.7  # a rank correlation of the two orders from which they agree in part
FEW = 5  # tasks below which a mean rank is only a first look
NAMES = {name: each.published or "full RoPE" for name, each in ARMS.items()}


def known(table: ResultTable, *encodings: str) -> bool:
    """Whether these encodings are in the comparison."""
    return set(encodings) <= set(table.scale.encodings)


def accuracies(table: ResultTable, tasks: Sequence[str], encoding: str, cell: Cell = TEST) -> dict[str, float]:
    """By task, the mean over seeds of accuracy on longer inputs."""
    values = {task: table.value(name_of(task, encoding), cell) for task in tasks}
    return {task: value for task, value in values.items() if not math.isnan(value)}


def listed(values: Mapping[str, float]) -> str:
    """Accuracies one after the other.

    >>> listed({"none": 0.748, "rope": 0.0})
    'none 75\\xa0%, rope 0\\xa0%'
    """
    return ", ".join(f"{name} {percent(value)}" for name, value in values.items())


def learnt_by_all(table: ResultTable, task: str, *encodings: str) -> bool:
    """Whether a task is in the study and was learnt, on average over seeds, with each of these encodings."""
    if task not in table.scale.tasks or not known(table, *encodings):
        return False
    return all(is_learnt(task, table.value(name_of(task, each), TRAIN)) for each in encodings)


def missing(what: str) -> Verdict:
    """The verdict on something that this scale does not have."""
    return Verdict(f"{what[:1].upper()}{what[1:]} at this scale", "unknown", short=f"{what[:1].upper()}{what[1:]}.")


def _ranked(table: ResultTable) -> list[Query]:
    """The queries with the published encodings alone."""
    if not known(table, *ORDER):
        return []
    return [query._replace(scores={each: query.scores[each] for each in ORDER}) for query in queries(table)]


@claim(
    "On average over tasks, a decoder without position encoding generalises to longer inputs best.",
    f"mean reciprocal rank {RANK['all'][0]} without encoding, then {RANK['all'][1]} with T5 bias (51 queries)",
    answers={
        "agrees": "Without any encoding, nets generalise best on average",
        "disagrees": "Nets without an encoding do not generalise best on average",
        "in part": "Nets without an encoding generalise best in part",
        "unknown": "Which encoding generalises best on average stays open here",
    },
)
def nope_first(table: ResultTable) -> Verdict:
    """By the difference of reciprocal ranks between no encoding and the best other one, resampling tasks."""
    ranked = _ranked(table)
    if not ranked:
        return missing("no task was learnt with enough encodings")
    means = {each: table.value(each, Cell("rank", "mrr", PUBLISHED)) for each in ORDER}
    rival = max(ORDER[1:], key=lambda each: means[each])
    by_query = [reciprocal_ranks(list(query.scores.values())) for query in ranked]
    gaps = [ranks[0] - ranks[ORDER.index(rival)] for ranks in by_query]
    _, low, high = block_mean(ranked, gaps)
    tasks = len({query.task for query in ranked})
    ours = ", ".join(f"{NAMES[each]} {mean:.2f}" for each, mean in sorted(means.items(), key=lambda item: -item[1]))
    ours = f"Mean reciprocal rank: {ours} ({tasks} tasks)"
    verdict = "unknown" if low is None or high is None else interval_verdict(low, high)
    why = f"With {tasks} tasks this is a first look." if tasks < FEW else ""
    return Verdict(ours, "in part" if verdict == "agrees" and why else verdict, why)


@claim(
    "The order of the encodings is: none, T5 bias, ALiBi, RoPE, sinusoids.",
    ", ".join(f"{NAMES[name]} {value}" for name, value in zip(ORDER, RANK["all"], strict=True)),
)
def order(table: ResultTable) -> Verdict:
    """By the order of mean reciprocal ranks."""
    means = [table.value(each, Cell("rank", "mrr", PUBLISHED)) for each in ORDER]
    if any(map(math.isnan, means)):
        return missing("no task was learnt with enough encodings")
    same = all(before > after for before, after in pairwise(means))
    rho = rank_correlation(means, list(RANK["all"])) or 0.0
    ours = f"{', '.join(f'{NAMES[n]} {m:.2f}' for n, m in zip(ORDER, means, strict=True))}; rank correlation {rho:.2f}"
    return Verdict(ours, "agrees" if same else "in part" if rho >= CLOSE else "disagrees")


@claim(
    "Repeating one character: without encoding nets go on, with RoPE and sinusoids they fail.",
    "98.6 % exact without encoding, 0 % with RoPE and with sinusoids",
)
def repeating(table: ResultTable) -> Verdict:
    """By accuracies on longer inputs in copy_repeat."""
    task, arms = "copy_repeat", ("none", "rope_quarter", "sinusoidal")
    if not learnt_by_all(table, task, *arms):
        return missing("copy_repeat was not learnt with all of them")
    values = {NAMES[each]: table.value(name_of(task, each), TEST) for each in arms}
    nope, *others = values.values()
    good, bad = nope > GENERALISES, [value < FAILS for value in others]
    return Verdict(listed(values), "agrees" if good and all(bad) else "in part" if good or any(bad) else "disagrees")


@claim(
    "RoPE and sinusoids hardly generalise in any task of copying and reversing.",
    "at most 7.7 % with RoPE and 4.0 % with sinusoids",
)
def rotary_copies(table: ResultTable) -> Verdict:
    """By the best accuracy over the primitive tasks that were learnt."""
    best = {}
    for each in ("rope_quarter", "sinusoidal"):
        tasks = [task for task in GROUPS["primitive"] if learnt_by_all(table, task, each)]
        if values := accuracies(table, tasks, each):
            task = max(values, key=lambda name: values[name])
            best[f"{NAMES[each]} ({task})"] = values[task]
    if len(best) < 2:
        return missing("copying was not learnt with both")
    low = [value < FAILS for value in best.values()]
    verdict = "agrees" if all(low) else "in part" if any(low) else "disagrees"
    return Verdict(f"at most {listed(best)}", verdict)


@claim(
    "Which encoding wins differs from task to task.",
    "none wins 9 of 17 tasks, T5 bias 3 alone, ALiBi 3, RoPE 1; one is shared",
)
def winners_differ(table: ResultTable) -> Verdict:
    """By the best of the published encodings in every task that is ranked."""
    ranked = _ranked(table)
    tasks = list(dict.fromkeys(query.task for query in ranked))
    if len(tasks) < 2:
        return missing("fewer than two tasks were learnt with enough encodings")
    best = {}
    for task in tasks:
        means = {each: fmean(query.scores[each] for query in ranked if query.task == task) for each in ORDER}
        best[task] = max(means, key=lambda each: means[each])
    same = sum(best[task] in winners(task) for task in tasks)
    ours = "; ".join(f"{task}: {NAMES[each]}" for task, each in best.items())
    why = f"{same} of {len(tasks)} winners are the published ones."
    return Verdict(ours, "agrees" if len(set(best.values())) > 1 else "disagrees", why)


@claim("In addition, every encoding is near 0 on longer numbers.", "at most 8.5 % (NoPE)")
def addition_fails(table: ResultTable) -> Verdict:
    """By accuracies in addition, of encodings that learnt it."""
    arms = [each for each in ORDER if learnt_by_all(table, "addition", each)]
    if not arms:
        return missing("addition was not learnt with any of them")
    values = {NAMES[each]: table.value(name_of("addition", each), TEST) for each in arms}
    return Verdict(listed(values), "agrees" if max(values.values()) < 2 * FAILS else "disagrees")


@claim(
    "ALiBi leads in LEGO.",
    ", ".join(f"{NAMES[name]} {value:.3f}" for name, value in zip(ORDER, ACCURACY["lego"], strict=True)),
)
def alibi_in_lego(table: ResultTable) -> Verdict:
    """By accuracies in lego."""
    if not learnt_by_all(table, "lego", *ORDER):
        return missing("lego was not learnt with all of them")
    values = {NAMES[each]: table.value(name_of("lego", each), TEST) for each in ORDER}
    return Verdict(listed(values), "agrees" if max(values, key=lambda name: values[name]) == "ALiBi" else "disagrees")


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
    tasks = [task for task in table.scale.tasks if learnt_by_all(table, task, "rope", "rope_quarter")]
    if not tasks:
        return missing("no task was learnt with both")
    full, part = (accuracies(table, tasks, each) for each in ("rope", "rope_quarter"))
    gaps = {task: full[task] - part[task] for task in tasks}
    both = "; ".join(f"{task} {percent(full[task])} against {percent(part[task])}" for task in tasks)
    ours = f"Whole heads against a quarter: {both}"
    better, worse = (sum(sign * gap > 0.05 for gap in gaps.values()) for sign in (1, -1))
    verdict = "agrees" if better and not worse else "in part" if better else "disagrees"
    return Verdict(ours, if_unpublished(verdict), f"{better} of {len(tasks)} tasks by more than 5 points.")


@claim(
    "Nets that fail on longer inputs are those whose attention changes most as the input grows.",
    f"{UNPUBLISHED}: heads were not measured by length",
)
def heads_change(table: ResultTable) -> Verdict:
    """By the rank correlation, over runs, of accuracy and how much the heads' scores move beyond training lengths."""
    rhos: dict[str, float] = {}
    for score in ("entropy", "sink", "locality", "input.position_share"):
        points = list(head_changes(table, score).values())
        rho = rank_correlation([point[0] for point in points], [point[1] for point in points]) if points else None
        if rho is not None and len(points) > 3:
            rhos[score.removeprefix("input.").replace("_", " ")] = rho
    if not rhos:
        return missing("too few nets learnt their task")
    ours = f"rank correlation with accuracy: {', '.join(f'{name} {rho:+.2f}' for name, rho in rhos.items())}"
    return Verdict(ours, seen_verdict([rho < -0.5 for rho in rhos.values()]), f"Over {_count(table)} nets.")


def _count(table: ResultTable) -> int:
    return len(head_changes(table, "entropy"))


def head_changes(table: ResultTable, score: str) -> dict[str, tuple[float, float]]:
    """By run that learnt its task: how much heads change from the longest training to the longest test input, and
    accuracy on longer inputs."""
    rows = table.where(part="heads", measure=score, seed=None)
    changes = {}
    for task in table.scale.tasks:
        for encoding in table.scale.encodings:
            name = name_of(task, encoding)
            if not is_learnt(task, table.value(name, TRAIN)):
                continue
            by_length = {
                at: dict(group.select("item", "value").iter_rows())
                for (at,), group in rows.filter(rows["subject"] == name).partition_by("at", as_dict=True).items()
            }
            if len(by_length) > 1:
                first, last = by_length[min(by_length)], by_length[max(by_length)]
                moved = [abs(last[head] - first[head]) for head in first if head in last]
                changes[name] = float(np.mean(moved)), table.value(name, TEST)
    return changes


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

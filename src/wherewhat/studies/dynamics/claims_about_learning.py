"""Claims about the course of learning: when hops are learnt, when heads become pure, and how long inputs may be."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median

from wherewhat.formatting import percent
from wherewhat.studies.dynamics.results import LEARNT, TASKS, DynamicsResults
from wherewhat.studies.dynamics.verdicts import DynamicsVerdict

TOGETHER = 0.25  # part of the time until all hops are learnt by which the first may precede the last
CLOSE = 0.2  # by how much accuracy may differ between numbers of hops within one evaluation
Times = Sequence[float | None]  # the step at which each number of hops is learnt, fewest hops first; None: never


def in_turn(results: DynamicsResults) -> DynamicsVerdict:
    """Number: one hop after another."""
    times = [_times(results, "number", seed) for seed in results.seeds]
    in_order = [_one_after_another(steps) for steps in times]
    if all(step is None for steps in times for step in steps):
        verdict = "unknown"
    elif all(in_order) and all(None not in steps for steps in times):
        verdict = "agrees"
    else:
        verdict = "in part" if any(in_order) else "disagrees"
    return DynamicsVerdict(_when_learnt(results, "number"), verdict)


def together(results: DynamicsResults) -> DynamicsVerdict:
    """Letter: all hops at the same time, and equally accurate at every evaluation."""
    spreads = [_spread(_times(results, "letter", seed)) for seed in results.seeds]
    known = [spread for spread in spreads if spread is not None]
    gaps = {task: max(_accuracy_gap(results, task, seed) for seed in results.seeds) for task in TASKS}
    near, close = bool(known) and max(known) <= TOGETHER, gaps["letter"] <= CLOSE
    if not known:
        verdict = "unknown"
    elif near and close and len(known) == len(spreads):
        verdict = "agrees"
    else:
        verdict = "in part" if near or close else "disagrees"
    points = {task: f"up to {100 * gap:.0f}" for task, gap in gaps.items()}
    why = f"Within one evaluation they differ by {points['letter']} points; in the number task by {points['number']}."
    return DynamicsVerdict(_when_learnt(results, "letter"), verdict, why)


def with_purity(results: DynamicsResults) -> DynamicsVerdict:
    """Accuracy and purity rise most at the same evaluation, or at adjacent ones."""
    steepest = {task: [_steepest(results, task, seed) for seed in results.learners(task)] for task in TASKS}
    same = {
        task: all(a is not None and b is not None and abs(a - b) <= results.scale.every for a, b in pairs)
        for task, pairs in steepest.items()
    }
    medians = [
        f"{task} {' and '.join(_median_step(steps) for steps in zip(*pairs, strict=True))}"
        for task, pairs in steepest.items()
    ]
    return DynamicsVerdict(
        "step of the steepest rise in accuracy and in |s_POS − s_SYM|, with evaluations "
        f"{results.scale.every} steps apart: " + ", ".join(medians),
        "agrees" if all(same.values()) else "in part" if any(same.values()) else "disagrees",
    )


def longer_inputs(results: DynamicsResults) -> DynamicsVerdict:
    """Letter keeps working at lengths where number no longer does."""
    reach = {task: [results.reach(task, seed) for seed in results.learners(task)] for task in TASKS}
    far = {task: fmean(lengths) for task, lengths in reach.items()}
    longest = max(results.scale.lengths)
    ends = {
        task: [results.curve("length", task, "all", seed)[longest] for seed in results.learners(task)] for task in TASKS
    }
    farther = min(reach["letter"]) > max(reach["number"])
    if farther and min(reach["letter"]) == longest:
        verdict = "agrees"
    else:
        verdict = "in part" if far["letter"] > far["number"] else "disagrees"
    return DynamicsVerdict(
        f"at least {percent(LEARNT)} correct up to "
        + ", ".join(f"{far[task]:.0f} tokens ({task}, {far[task] / results.trained(task):.1f} ×)" for task in TASKS)
        + f"; at {longest} tokens "
        + ", ".join(f"{task} {percent(fmean(values))}" for task, values in ends.items()),
        verdict,
        "The direction is the same, but the letter task does not hold up to the longest inputs."
        if verdict == "in part" and farther
        else "",
    )


def _times(results: DynamicsResults, task: str, seed: int) -> list[float | None]:
    return [results.learnt(task, hops, seed) for hops in results.hops(task)]


def _one_after_another(times: Times) -> bool:
    """Whether hops are learnt in order, the last long after the first; a number never learnt counts as last."""
    known = [time for time in times if time is not None]
    in_order = list(times[: len(known)]) == known and all(a < b for a, b in pairwise(known))
    return bool(known) and in_order and (_spread(times) or 0.0) > TOGETHER


def _spread(times: Times) -> float | None:
    """Time from the first hops learnt to the last, as a part of the whole: 1 if some never are, None if none are."""
    known = [time for time in times if time is not None]
    if not known:
        return None
    return 1.0 if len(known) < len(times) else (max(known) - min(known)) / max(known)


def _accuracy_gap(results: DynamicsResults, task: str, seed: int) -> float:
    """The largest difference in accuracy between numbers of hops within one evaluation."""
    curves = [list(results.curve("accuracy", task, hops, seed).values()) for hops in results.hops(task)]
    return max((max(values) - min(values) for values in zip(*curves, strict=True)), default=0.0)


def _when_learnt(results: DynamicsResults, task: str) -> str:
    """When each number of hops was learnt."""
    steps, seeds = [], len(results.seeds)
    for hops in results.hops(task):
        times = [time for time in (results.learnt(task, hops, seed) for seed in results.seeds) if time is not None]
        if times:
            never = f" (never in {seeds - len(times)} of {seeds} seeds)" if len(times) < seeds else ""
            steps.append(f"{hops} {median(times):,.0f}{never}")
        else:
            accuracy = results.curve("accuracy", task, hops, None)[results.last]
            steps.append(f"{hops} never ({percent(accuracy)} at the end)")
    return (
        f"steps of {results.scale.batch} sequences until {percent(LEARNT)} are correct: {', '.join(steps)}; "
        f"interpolated between evaluations {results.scale.every} steps apart"
    )


def _steepest(results: DynamicsResults, task: str, seed: int) -> tuple[float | None, float | None]:
    """The evaluations at which accuracy and the purity of heads have risen most since the one before."""
    differences = {step: results.score_differences(task, step=step, seed=seed).values() for step in results.steps}
    pure = {step: fmean(map(abs, values)) for step, values in differences.items()}
    return _steepest_rise(results.curve("accuracy", task, "all", seed)), _steepest_rise(pure)


def _steepest_rise(curve: Mapping[float, float]) -> float | None:
    """The step before which a curve rises most; None if it never rises."""
    rises = {step: after - before for (_, before), (step, after) in pairwise(curve.items())}
    steepest = max(rises, key=rises.__getitem__)
    return steepest if rises[steepest] > 0 else None


def _median_step(steps: Sequence[float | None]) -> str:
    known = [step for step in steps if step is not None]
    return f"{median(known):,.0f}" if known else "never"

"""Judged here is the course of learning: when hops are learnt, when heads become pure, how far it holds."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median

from wherewhat.report.numbers import percent
from wherewhat.studies.dynamics.evidence import LEARNT, TASKS, Evidence
from wherewhat.studies.dynamics.questions import Judged

TOGETHER = 0.25  # of the time until all hops are learnt, by which the first may come before the last
CLOSE = 0.2  # of all answers, by which one number of hops may be ahead of another at one look
Times = Sequence[float | None]  # when each number of hops is learnt, the fewest first; None: never


def in_turn(seen: Evidence) -> Judged:
    """Number: one hop after another."""
    times = [_times(seen, "number", seed) for seed in seen.seeds]
    turns = [_takes_turns(its) for its in times]
    if all(time is None for its in times for time in its):
        verdict = "unknown"
    elif all(turns) and all(None not in its for its in times):
        verdict = "agrees"
    else:
        verdict = "in part" if any(turns) else "disagrees"
    return Judged(_said(seen, "number"), verdict)


def together(seen: Evidence) -> Judged:
    """Letter: all hops at once, in time and at every look."""
    spreads = [_spread(_times(seen, "letter", seed)) for seed in seen.seeds]
    known = [spread for spread in spreads if spread is not None]
    apart = {task: max(_apart(seen, task, seed) for seed in seen.seeds) for task in TASKS}
    near, close = bool(known) and max(known) <= TOGETHER, apart["letter"] <= CLOSE
    if not known:
        verdict = "unknown"
    elif near and close and len(known) == len(spreads):
        verdict = "agrees"
    else:
        verdict = "in part" if near or close else "disagrees"
    points = {task: f"up to {100 * its:.0f}" for task, its in apart.items()}
    why = f"At one look they are {points['letter']} points apart; in the number task {points['number']}."
    return Judged(_said(seen, "letter"), verdict, why)


def with_purity(seen: Evidence) -> Judged:
    """Accuracy and purity rise most at the same look, or at looks side by side."""
    steepest = {task: [_steepest(seen, task, seed) for seed in seen.learners(task)] for task in TASKS}
    same = {
        task: all(a is not None and b is not None and abs(a - b) <= seen.scale.every for a, b in its)
        for task, its in steepest.items()
    }
    said = [
        f"{task} {' and '.join(_typical(each) for each in zip(*its, strict=True))}" for task, its in steepest.items()
    ]
    return Judged(
        f"steepest rise of accuracy and of |s_POS − s_SYM|, by looks {seen.scale.every} steps apart: "
        + ", ".join(said),
        "agrees" if all(same.values()) else "in part" if any(same.values()) else "disagrees",
    )


def longer_inputs(seen: Evidence) -> Judged:
    """Letter goes on working at lengths where number does not."""
    reach = {task: [seen.reach(task, seed) for seed in seen.learners(task)] for task in TASKS}
    far = {task: fmean(its) for task, its in reach.items()}
    longest = max(seen.scale.lengths)
    ends = {task: [seen.curve("length", task, "all", seed)[longest] for seed in seen.learners(task)] for task in TASKS}
    farther = min(reach["letter"]) > max(reach["number"])
    if farther and min(reach["letter"]) == longest:
        verdict = "agrees"
    else:
        verdict = "in part" if far["letter"] > far["number"] else "disagrees"
    return Judged(
        f"{percent(LEARNT)} right up to "
        + ", ".join(f"{far[task]:.0f} tokens ({task}, {far[task] / seen.trained(task):.1f} ×)" for task in TASKS)
        + f"; at {longest} tokens "
        + ", ".join(f"{task} {percent(fmean(its))}" for task, its in ends.items()),
        verdict,
        "Ours goes the same way, but does not hold as far as it was tried." if verdict == "in part" and farther else "",
    )


def _times(seen: Evidence, task: str, seed: int) -> list[float | None]:
    return [seen.learnt(task, hops, seed) for hops in seen.hops(task)]


def _takes_turns(times: Times) -> bool:
    """Whether each number of hops comes after the one before and the last long after the first; never comes last."""
    known = [time for time in times if time is not None]
    in_order = list(times[: len(known)]) == known and all(a < b for a, b in pairwise(known))
    return bool(known) and in_order and (_spread(times) or 0.0) > TOGETHER


def _spread(times: Times) -> float | None:
    """From the first hops learnt to the last, as a part of the whole time: 1 if some never are, None if none is."""
    known = [time for time in times if time is not None]
    if not known:
        return None
    return 1.0 if len(known) < len(times) else (max(known) - min(known)) / max(known)


def _apart(seen: Evidence, task: str, seed: int) -> float:
    """By how much one number of hops is ahead of another at the look where they are farthest apart."""
    curves = [list(seen.curve("accuracy", task, hops, seed).values()) for hops in seen.hops(task)]
    ahead = [max(at_once) - min(at_once) for at_once in zip(*curves, strict=True)]
    return max(ahead, default=0.0)


def _said(seen: Evidence, task: str) -> str:
    """When each number of hops was learnt."""
    said, every = [], len(seen.seeds)
    for hops in seen.hops(task):
        times = [time for time in (seen.learnt(task, hops, seed) for seed in seen.seeds) if time is not None]
        if times:
            never = f" (never in {every - len(times)} of {every} seeds)" if len(times) < every else ""
            said.append(f"{hops} {median(times):,.0f}{never}")
        else:
            said.append(f"{hops} never ({percent(seen.curve('accuracy', task, hops, None)[seen.last])} at the end)")
    between = f"interpolated between looks {seen.scale.every} steps apart"
    return f"{percent(LEARNT)} right after, in steps of {seen.scale.batch}: {', '.join(said)}; {between}"


def _steepest(seen: Evidence, task: str, seed: int) -> tuple[float | None, float | None]:
    """The looks at which accuracy and the purity of heads have risen most since the look before."""
    pure = {step: fmean(abs(lean) for lean in seen.leaning(task, step=step, seed=seed).values()) for step in seen.steps}
    return _jump(seen.curve("accuracy", task, "all", seed)), _jump(pure)


def _jump(curve: Mapping[float, float]) -> float | None:
    """Where a curve has risen most; None if it never rises."""
    rises = {step: after - before for (_, before), (step, after) in pairwise(curve.items())}
    steepest = max(rises, key=rises.__getitem__)
    return steepest if rises[steepest] > 0 else None


def _typical(steps: Sequence[float | None]) -> str:
    known = [step for step in steps if step is not None]
    return f"{median(known):,.0f}" if known else "never"

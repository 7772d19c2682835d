"""What was published about learning hops, each claim above the test that decides on it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product, takewhile
from statistics import fmean, median

from wherewhat.formatting import percent
from wherewhat.stats.intervals import student
from wherewhat.studies.dynamics.settings import TASKS
from wherewhat.studies.dynamics.summary import KINDS, RULES, layer_of, measure_of
from wherewhat.studies.engine.claims import Claim, Verdict
from wherewhat.studies.engine.results import Cell, ResultTable

LEARNT = 0.9  # accuracy from which hops count as learnt
TOGETHER = 0.25  # part of the time until all hops are learnt by which the first may precede the last
CLOSE = 0.2  # by how much accuracy may differ between numbers of hops within one evaluation
CLEAR = 0.5  # |s_POS − s_SYM| from which a head counts as positional or symbolic
FAST, SLOW = 0.2, 0.55  # mean frequency from 0 (fastest) to 1 (slowest): at most, and at least
MUCH = 0.5  # a positional head keeps less than this part of what a symbolic head keeps of its margin
PUBLISHED_LAYERS = 12
TIED = "\u00a0"  # a no-break space
Test = Callable[[ResultTable], Verdict]
Curve = dict[float, float]  # by step, or by input length


def accuracy(table: ResultTable, task: str, seed: int | None, hops: str = "all", part: str = "accuracy") -> Curve:
    """The share of exact answers at every evaluation, or (part `length`) at every input length."""
    rows = table.where(part=part, subject=task, seed=seed, item=hops)
    return dict(rows.sort("at").select("at", "value").iter_rows())


def hops_of(table: ResultTable, task: str) -> list[str]:
    """The names of the numbers of hops of a task, fewest hops first."""
    return [group.removeprefix(f"{task} ") for group in table.scale.task(task).groups]


def learners(table: ResultTable, task: str) -> list[int]:
    """The seeds whose trained nets have learnt every number of hops."""
    ends = [Cell("accuracy", "accuracy", hops, table.scale.steps) for hops in hops_of(table, task)]
    return [seed for seed in table.seeds if all(table.value(task, end, seed) >= LEARNT for end in ends)]


def heads(table: ResultTable, task: str, score: str, seed: int, step: float) -> dict[str, float]:
    """One score of every head at a step, ordered by layer."""
    rows = table.where(part="heads", subject=task, seed=seed, at=step, measure=score).drop_nulls("value")
    return dict(sorted(rows.select("item", "value").iter_rows(), key=lambda entry: layer_of(entry[0])))


def score_differences(table: ResultTable, task: str, seed: int, step: float | None = None) -> dict[str, float]:
    """Positional minus symbolic score of each head, from 1 (positional) to -1 (symbolic), at a step or at the end."""
    at = table.scale.steps if step is None else step
    positional, symbolic = (heads(table, task, kind, seed, at) for kind in KINDS)
    return {head: value - symbolic[head] for head, value in positional.items() if head in symbolic}


def claim_by_learners(text: str, published: str, *tasks: str) -> Callable[[Test], Claim]:
    """A claim that a test decides on by nets that learnt these tasks; by one seed or only some, it agrees in part."""

    def decided_by(test: Test) -> Claim:
        def by_learners(table: ResultTable) -> Verdict:
            seeds, learnt = len(table.seeds), {task: len(learners(table, task)) for task in tasks}
            ends = {task: accuracy(table, task, None)[table.scale.steps] for task in tasks if not learnt[task]}
            if ends:
                never = [f"no seed learnt the {task} task ({percent(end)} correct)" for task, end in ends.items()]
                return Verdict("; ".join(never), "unknown")
            caveats = ["A single seed does not show what other seeds would do."] if seeds == 1 else []
            for task, missing in ((task, seeds - count) for task, count in learnt.items() if count < seeds):
                are = "is" if missing == 1 else "are"
                caveats.append(f"{missing} of {seeds} seeds did not learn the {task} task and {are} excluded.")
            verdict = test(table)
            kept = "in part" if verdict.verdict == "agrees" and caveats else verdict.verdict
            return replace(verdict, verdict=kept, why=" ".join(filter(None, [verdict.why, *caveats])))

        return Claim(text, published, by_learners)

    return decided_by


def _graded(whole: bool, half: bool, *, known: bool = True) -> str:
    return "unknown" if not known else "agrees" if whole else "in part" if half else "disagrees"


@claim_by_learners(
    "In the number task, hops are learnt one after another.",
    "1 hop first, then 2, 3 and 4; all by about 4,800 steps of 64",
)
def in_turn(table: ResultTable) -> Verdict:
    """Number: in order, and the last long after the first; what is never learnt counts as last."""
    times = [times_learnt(table, "number", seed) for seed in table.seeds]
    order = [all(a < b or a == b == math.inf for a, b in pairwise(steps)) for steps in times]
    slow = [ordered and _spread(steps) > TOGETHER for ordered, steps in zip(order, times, strict=True)]
    known = [step < math.inf for steps in times for step in steps]
    return Verdict(_when_learnt(table, "number"), _graded(all(slow) and all(known), any(slow), known=any(known)))


@claim_by_learners("In the letter task, all hops are learnt together.", "together, by about 3,400 steps of 64")
def together(table: ResultTable) -> Verdict:
    """Letter: all hops at the same time, and equally accurate at every evaluation."""
    spreads = [_spread(times_learnt(table, "letter", seed)) for seed in table.seeds]
    known = [spread for spread in spreads if not math.isnan(spread)]
    gaps = dict.fromkeys(TASKS, 0.0)  # between numbers of hops within one evaluation
    for task, seed in product(TASKS, table.seeds):
        curves = [accuracy(table, task, seed, hops).values() for hops in hops_of(table, task)]
        gaps[task] = max(gaps[task], *(max(values) - min(values) for values in zip(*curves, strict=True)))
    near, close = bool(known) and max(known) <= TOGETHER, gaps["letter"] <= CLOSE
    verdict = _graded(near and close and len(known) == len(spreads), near or close, known=bool(known))
    points = {task: f"up to {100 * gap:.0f}" for task, gap in gaps.items()}
    why = f"Within one evaluation they differ by {points['letter']} points; in the number task by {points['number']}."
    return Verdict(_when_learnt(table, "letter"), verdict, why)


def times_learnt(table: ResultTable, task: str, seed: int) -> list[float]:
    """The step at which each number of hops is first learnt, fewest hops first, interpolated linearly; never: inf."""
    times = []
    for hops in hops_of(table, task):
        points = list(accuracy(table, task, seed, hops).items())
        pairs = pairwise([(points[0][0], 0.0), *points])  # what is learnt at the first evaluation is learnt at its step
        crossed = (a + (b - a) * (LEARNT - low) / (high - low) for (a, low), (b, high) in pairs if high >= LEARNT)
        times.append(next(crossed, math.inf))
    return times


def _spread(times: Sequence[float]) -> float:
    """Time from the first hops learnt to the last, as a part of the whole: 1 if some never are, NaN if none are."""
    first, last = min(times), max(times)
    return math.nan if first == math.inf else 1.0 if last == math.inf else (last - first) / last


def _when_learnt(table: ResultTable, task: str) -> str:
    """When each number of hops was learnt."""
    scale, steps, seeds = table.scale, [], len(table.seeds)
    by_hops = zip(*(times_learnt(table, task, seed) for seed in table.seeds), strict=True)
    for hops, by_seed in zip(hops_of(table, task), by_hops, strict=True):
        if times := [time for time in by_seed if time < math.inf]:
            never = f" (never in {seeds - len(times)} of {seeds} seeds)" if len(times) < seeds else ""
            steps.append(f"{hops} {median(times):,.0f}{never}")
        else:
            steps.append(f"{hops} never ({percent(accuracy(table, task, None, hops)[scale.steps])} at the end)")
    until = f"steps of {scale.batch} sequences until {percent(LEARNT)} are correct: {', '.join(steps)}"
    return f"{until}; interpolated between evaluations {scale.every} steps apart"


@claim_by_learners(
    "Before training, attention is flat and both scores of every head are 1.",
    "all heads at (1, 1) in the plane of the two scores",
)
def starts_flat(table: ResultTable) -> Verdict:
    """All heads start with flat attention, where both scores are 1."""
    runs, scores = [(task, seed) for task in TASKS for seed in table.seeds], (*KINDS, "entropy")
    positional, symbolic, entropy = (
        [value for task, seed in runs for value in heads(table, task, score, seed, 0).values()] for score in scores
    )
    least, means = min(*positional, *symbolic), (fmean(positional), fmean(symbolic))
    larger = "Our initial weights are larger than those of a language model, and so are the initial logits."
    lowest = f"lowest single score {least:.2f}, entropy {fmean(entropy):.3f} of 1"
    ours = f"mean ({means[0]:.2f}, {means[1]:.2f}), {lowest}"
    return Verdict(ours, _graded(least >= 0.9, min(means) >= 0.8), "" if least >= 0.9 else larger)


@claim_by_learners(
    "Learning the number task makes early layers positional and later layers symbolic.",
    "layers 0–3 positional, 4–11 symbolic",
    "number",
)
def early_then_late(table: ResultTable) -> Verdict:
    """Number: positional layers first, symbolic layers after them."""
    kinds, nets, verdict = layers_of(table, "number")
    in_order = [_positional_first([difference for difference in net if abs(difference) >= CLEAR]) for net in nets]
    whole = all(kinds) and _positional_first(kinds)
    unanimous = whole or all(in_order) or not any(in_order)
    return replace(verdict, verdict=_graded(whole, all(in_order), known=unanimous))


@claim_by_learners(
    "Learning the letter task makes all layers symbolic.", "layers 1–11 symbolic, none positional", "letter"
)
def symbolic_throughout(table: ResultTable) -> Verdict:
    """Letter: all layers symbolic, except perhaps the first."""
    kinds, nets, verdict = layers_of(table, "letter")
    most = all(2 * sum(value <= -CLEAR for value in net) >= len(net) for net in nets)
    return replace(verdict, verdict=_graded(all(kind < 0 for kind in kinds[1:]) and kinds[0] <= 0, most))


def _positional_first(differences: Sequence[float]) -> bool:
    """Whether positional layers come first and at least one symbolic layer follows."""
    positional = [difference > 0 for difference in differences]
    return positional == sorted(positional, reverse=True) and len(set(positional)) == 2


def layers_of(table: ResultTable, task: str) -> tuple[list[int], list[list[float]], Verdict]:
    """What each layer has become, s_POS - s_SYM by net, and a verdict but for its grade.

    1 is positional, -1 symbolic, 0 neither: the score difference must be clear, and its interval over seeds must
    exclude 0, as must that of its change since the first step.
    """
    seeds, kinds, written = learners(table, task), [], []
    starts, nets = ([score_differences(table, task, seed, step) for seed in seeds] for step in (0, None))
    for head in nets[0]:
        pairs = [(net[head], start.get(head, 0.0)) for net, start in zip(nets, starts, strict=True) if head in net]
        both = [end for end, _ in pairs], [end - start for end, start in pairs]
        (mean, *interval), change = (student(values) if len(values) > 1 else values * 3 for values in both)
        sign, reach = 1 if mean > 0 else -1, interval[1] - mean
        excludes_zero = min(sign * end for end in (mean, *interval, *change)) > 0
        kinds.append(sign if excludes_zero and abs(mean) >= CLEAR else 0)
        written.append(number(mean) + (f"{TIED}±{TIED}{number(reach)}" if reach > 0 else ""))
    unclear = ", ".join(f"L{layer}" for layer, kind in enumerate(kinds) if not kind)
    why = f"Not clearly positional or symbolic: {unclear}." if unclear else ""
    ours = f"s_POS − s_SYM by layer, ± half its 95 % interval: {', '.join(written)}"
    return kinds, [list(net.values()) for net in nets], Verdict(ours, "unknown", why)


@claim_by_learners("Accuracy jumps when heads become pure.", "jumps at the same steps, read from figures", *TASKS)
def with_purity(table: ResultTable) -> Verdict:
    """Accuracy and purity rise most at the same evaluation, or at adjacent ones."""
    every, same, medians = table.scale.every, [], []
    evaluations = sorted(table.where(part="heads")["at"].unique())
    for task in TASKS:
        jumps = []
        for seed in learners(table, task):
            scores = {step: score_differences(table, task, seed, step).values() for step in evaluations}
            pure = {step: fmean(map(abs, differences)) for step, differences in scores.items()}
            jumps.append((_steepest_rise(accuracy(table, task, seed)), _steepest_rise(pure)))
        same.append(all(a is not None and b is not None and abs(a - b) <= every for a, b in jumps))
        known = [[step for step in steps if step is not None] for steps in zip(*jumps, strict=True)]
        medians.append(f"{task} {' and '.join(f'{median(steps):,.0f}' if steps else 'never' for steps in known)}")
    what = "step of the steepest rise in accuracy and in |s_POS − s_SYM|, with evaluations"
    return Verdict(f"{what} {every} steps apart: {', '.join(medians)}", _graded(all(same), any(same)))


def _steepest_rise(by_step: Mapping[float, float]) -> float | None:
    """The step before which a curve rises most; None if it never rises."""
    rises = {step: after - before for (_, before), (step, after) in pairwise(by_step.items())}
    steepest = max(rises, key=rises.__getitem__)
    return steepest if rises[steepest] > 0 else None


@claim_by_learners(
    "The letter task generalises to much longer inputs than the number task.",
    "letter above 90 % up to 850 tokens (53 ×), number falls at once and below 40 % by 400",
    *TASKS,
)
def longer_inputs(table: ResultTable) -> Verdict:
    """Letter keeps working at lengths where number no longer does."""
    longest, reach, lengths, ends = max(table.scale.lengths), {}, [], []
    for task in TASKS:
        curves = [accuracy(table, task, seed, part="length") for seed in learners(table, task)]
        kept = [takewhile(lambda point: point[1] >= LEARNT, by_length.items()) for by_length in curves]
        trained = table.scale.task(task).length
        reach[task] = [max([trained, *(length for length, _ in points)]) for points in kept]
        far = fmean(reach[task])
        lengths.append(f"{far:.0f} tokens ({task}, {far / trained:.1f} ×)")
        ends.append(f"{task} {percent(fmean(by_length[longest] for by_length in curves))}")
    farther = min(reach["letter"]) > max(reach["number"])
    whole = farther and min(reach["letter"]) == longest
    direction = "The direction is the same, but the letter task does not hold up to the longest inputs."
    ours = f"at least {percent(LEARNT)} correct up to {', '.join(lengths)}; at {longest} tokens {', '.join(ends)}"
    verdict = _graded(whole, fmean(reach["letter"]) > fmean(reach["number"]))
    return Verdict(ours, verdict, direction if farther and not whole else "")


@claim_by_learners(
    "The number task ends with a few purely positional heads and more purely symbolic ones.",
    "4 positional + 8 symbolic of 12 (γ not given), 2 + 7 at γ = 0.05",
    "number",
)
def number_counts(table: ResultTable) -> Verdict:
    """A few purely positional heads, more purely symbolic ones."""
    pairs, near, verdict = counts_of(table, "number", (4, 8))
    whole = near and all(0 < positional < symbolic for positional, symbolic in pairs)
    return replace(verdict, verdict=_graded(whole, any(min(pair) > 0 for pair in pairs)))


@claim_by_learners(
    "The letter task ends with most heads purely symbolic and none purely positional.",
    "0 positional + 11 symbolic of 12",
    "letter",
)
def letter_counts(table: ResultTable) -> Verdict:
    """Most heads purely symbolic, none purely positional."""
    pairs, near, verdict = counts_of(table, "letter", (0, 11))
    whole = near and all(positional == 0 and 2 * symbolic > table.scale.layers for positional, symbolic in pairs)
    return replace(verdict, verdict=_graded(whole, any(positional < symbolic for positional, symbolic in pairs)))


def counts_of(table: ResultTable, task: str, theirs: tuple[int, int]) -> tuple[list[tuple[float, ...]], bool, Verdict]:
    """Pure heads of both kinds by net, whether their counts allow to agree, and a verdict but for its grade.

    In a net of the published size, counts must be as published, give or take one.
    """
    scale, pure, by_gamma = table.scale, {}, []
    for gamma in scale.gamma:
        for rule, kind in product(RULES, KINDS):
            cell = Cell("purity", measure_of(kind, rule, gamma), "all", scale.steps)
            pure[gamma, rule, kind] = [table.value(task, cell, seed) for seed in learners(table, task)]
        means = {rule: [f"{fmean(pure[gamma, rule, kind]):.2g}" for kind in KINDS] for rule in RULES}
        counts = [f"{TIED}+{TIED}".join(pair) + f" by {rule}" for rule, pair in means.items()]
        by_gamma.append(f"γ{TIED}={TIED}{gamma:g}: {', '.join(counts)}")
    pairs = list(zip(*(pure[scale.gamma[0], RULES[0], kind] for kind in KINDS), strict=True))
    near = all(abs(a - b) <= 1 for pair in pairs for a, b in zip(pair, theirs, strict=True))
    ours = f"of {scale.layers} heads, mean over seeds; {'; '.join(by_gamma)}"
    if scale.layers == PUBLISHED_LAYERS:
        return pairs, near, Verdict(ours, "unknown")
    rule = f"the verdict is about the kinds of heads, by {RULES[0]} at γ = {scale.gamma[0]:g}"
    why = f"With {scale.layers} layers the counts cannot match the published ones; {rule}."
    return pairs, True, Verdict(ours, "unknown", why)


@claim_by_learners(
    "Positional heads rely on the fastest frequencies, symbolic heads on slow ones.",
    "mean frequency of 64, the fastest being 1, by layer: number 0 at 1, 1–3 at 2, 4 at 10, 5–11 at 37–39; "
    "letter 0 at 18, 1 at 32, 2 at 42, 3–11 at 37–41",
    *TASKS,
)
def frequencies(table: ResultTable) -> Verdict:
    """Heads of a clear kind, positional and symbolic, with their mean frequencies from 0 (fastest) to 1 (slowest)."""
    positional, symbolic = list[float](), list[float]()
    for task, seed in ((name, seed) for name in TASKS for seed in learners(table, name)):
        numbers = heads(table, task, "mean_frequency", seed, table.scale.steps)
        for head, difference in score_differences(table, task, seed).items():
            if abs(difference) >= CLEAR:
                kind = positional if difference > 0 else symbolic
                kind.append(numbers[head] / (table.scale.width // 2 - 1))
    fast, slow = (fmean(values) if values else 0.0 for values in (positional, symbolic))
    ranges = [f"{number(fmean(values))} ({_span(values)})" if values else "none" for values in (positional, symbolic)]
    ours = f"from 0 (fastest) to 1 (slowest): positional heads {ranges[0]}, symbolic heads {ranges[1]}"
    verdict = _graded(fast <= FAST and slow >= SLOW, fast < slow, known=bool(positional and symbolic))
    why = "The paper does not give its formula; a head that uses all frequencies equally gets 0.5."
    return Verdict(f"{ours}; published 0.00–0.02 and 0.14–0.65", verdict, why)


@claim_by_learners(
    "As inputs grow longer, the margin of the best key over the second shrinks much faster for a positional head "
    "than for a symbolic one.",
    "bounds min(1 − cos θ, 2π²/n²) and 1 − cos(2π/letters − nθ): from 8 to 100 tokens 0.303 → 0.002 and 0.278 → 0.130",
    *TASKS,
)
def margins(table: ResultTable) -> Verdict:
    """The margin of the best key over the second falls faster with length in number than in letter."""
    kept, ends = [], []
    for task in TASKS:
        gaps = [table.where(part="gap", measure="gap", subject=task, seed=seed) for seed in learners(table, task)]
        curves = [rows.sort("at")["value"].to_list() for rows in gaps]
        kept.append([values[-1] / values[0] for values in curves])
        ends.append(f"{task} {fmean(each[0] for each in curves):.3f} → {fmean(each[-1] for each in curves):.3f}")
    positional, symbolic = kept
    if max(positional) < min(*symbolic, 1.0):
        verdict = "agrees" if fmean(positional) < MUCH * fmean(symbolic) else "in part"
    else:
        verdict = "disagrees" if min(positional) >= min(max(symbolic), 1.0) else "unknown"
    lengths = f"from {table.scale.letter.length} to {max(table.scale.lengths)} tokens: {', '.join(ends)}"
    by_seed = f"part kept by single seeds: number {_span(positional)}, letter {_span(symbolic)}"
    many = "The bounds hold for a head with one frequency; learnt heads use many and are not limited by them."
    return Verdict(
        f"{lengths}; {by_seed}", verdict, "Seeds of the two tasks overlap." if verdict == "unknown" else many
    )


def _span(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else number(values[0])


def number(value: float) -> str:
    """Two decimals and a proper minus sign, except before 0.

    >>> number(-0.4449), number(-0.001)
    ('−0.44', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


CLAIMS: dict[str, Claim] = {
    "in_turn": in_turn,
    "together": together,
    "starts_flat": starts_flat,
    "early_then_late": early_then_late,
    "symbolic_throughout": symbolic_throughout,
    "with_purity": with_purity,
    "longer_inputs": longer_inputs,
    "number_counts": number_counts,
    "letter_counts": letter_counts,
    "frequencies": frequencies,
    "margins": margins,
}

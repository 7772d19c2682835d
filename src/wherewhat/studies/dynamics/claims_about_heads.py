"""Claims about heads: how they start, which kind they become, and which frequencies they use."""

from collections.abc import Sequence
from statistics import fmean

from wherewhat.stats.intervals import student
from wherewhat.studies.dynamics.purity import GAMMAS, KINDS, RULES
from wherewhat.studies.dynamics.results import TASKS, DynamicsResults
from wherewhat.studies.dynamics.verdicts import TIED, DynamicsVerdict, number

CLEAR = 0.5  # |s_POS − s_SYM| from which a head counts as positional or symbolic
FAST, SLOW = 0.2, 0.55  # mean frequency from 0 (fastest) to 1 (slowest): at most, and at least
MUCH = 0.5  # a positional head keeps less than this part of what a symbolic head keeps of its margin
PUBLISHED_LAYERS = 12
Interval = tuple[float, float, float]


def starts_flat(results: DynamicsResults) -> DynamicsVerdict:
    """All heads start with flat attention, where both scores are 1."""
    values = {
        score: [
            value
            for task in TASKS
            for seed in results.seeds
            for value in results.heads(task, score, step=0, seed=seed).values()
        ]
        for score in ("positional", "symbolic", "entropy")
    }
    positional, symbolic, entropy = values.values()
    least, average = min(*positional, *symbolic), min(fmean(positional), fmean(symbolic))
    return DynamicsVerdict(
        f"mean ({fmean(positional):.2f}, {fmean(symbolic):.2f}), lowest single score {least:.2f}, "
        f"entropy {fmean(entropy):.3f} of 1",
        "agrees" if least >= 0.9 else "in part" if average >= 0.8 else "disagrees",
        ""
        if least >= 0.9
        else "Our initial weights are larger than those of a language model, and so are the initial logits.",
    )


def early_then_late(results: DynamicsResults) -> DynamicsVerdict:
    """Number: positional layers first, symbolic layers after them."""
    kinds = kinds_of(results, "number")
    nets = [
        results.score_differences("number", step=results.last, seed=seed).values()
        for seed in results.learners("number")
    ]
    in_order = [_positional_first([difference for difference in net if abs(difference) >= CLEAR]) for net in nets]
    if all(kinds) and _positional_first(kinds):
        verdict = "agrees"
    else:
        verdict = "in part" if all(in_order) else "unknown" if any(in_order) else "disagrees"
    return DynamicsVerdict(_by_layer(results, "number"), verdict, _unclear_layers(kinds))


def symbolic_throughout(results: DynamicsResults) -> DynamicsVerdict:
    """Letter: all layers symbolic, except perhaps the first."""
    kinds = kinds_of(results, "letter")
    nets = [
        list(results.score_differences("letter", step=results.last, seed=seed).values())
        for seed in results.learners("letter")
    ]
    if all(kind < 0 for kind in kinds[1:]) and kinds[0] <= 0:
        verdict = "agrees"
    else:
        most = all(2 * sum(value <= -CLEAR for value in net) >= len(net) for net in nets)
        verdict = "in part" if most else "disagrees"
    return DynamicsVerdict(_by_layer(results, "letter"), verdict, _unclear_layers(kinds))


def number_counts(results: DynamicsResults) -> DynamicsVerdict:
    """A few purely positional heads, more purely symbolic ones."""
    pairs = _pairs(results, "number")
    as_published = [0 < positional < symbolic for positional, symbolic in pairs]
    both_kinds = [positional > 0 and symbolic > 0 for positional, symbolic in pairs]
    return DynamicsVerdict(
        _counts(results, "number"),
        _count_verdict(results, pairs, (4, 8), as_published, both_kinds),
        _size_caveat(results),
    )


def letter_counts(results: DynamicsResults) -> DynamicsVerdict:
    """Most heads purely symbolic, none purely positional."""
    pairs = _pairs(results, "letter")
    as_published = [positional == 0 and 2 * symbolic > results.scale.layers for positional, symbolic in pairs]
    more_symbolic = [symbolic > positional for positional, symbolic in pairs]
    return DynamicsVerdict(
        _counts(results, "letter"),
        _count_verdict(results, pairs, (0, 11), as_published, more_symbolic),
        _size_caveat(results),
    )


def frequencies(results: DynamicsResults) -> DynamicsVerdict:
    """Positional heads use fast frequencies, symbolic heads slow ones."""
    frequency: dict[bool, list[float]] = {True: [], False: []}
    for task in TASKS:
        for seed in results.learners(task):
            numbers = results.heads(task, "mean_frequency", step=results.last, seed=seed)
            for head, difference in results.score_differences(task, step=results.last, seed=seed).items():
                if abs(difference) >= CLEAR:
                    frequency[difference > 0].append(numbers[head] / (results.scale.width // 2 - 1))
    positional, symbolic = frequency[True], frequency[False]
    if not positional or not symbolic:
        verdict = "unknown"
    else:
        fast, slow = fmean(positional), fmean(symbolic)
        verdict = "agrees" if fast <= FAST and slow >= SLOW else "in part" if fast < slow else "disagrees"
    return DynamicsVerdict(
        f"from 0 (fastest) to 1 (slowest): positional heads {_range(positional)}, symbolic heads {_range(symbolic)}; "
        "published 0.00–0.02 and 0.14–0.65",
        verdict,
        "The paper does not give its formula; a head that uses all frequencies equally gets 0.5.",
    )


def margins(results: DynamicsResults) -> DynamicsVerdict:
    """The margin of the best key over the second falls faster with length in number than in letter."""
    curves = {task: [list(results.margins(task, seed).values()) for seed in results.learners(task)] for task in TASKS}
    positional, symbolic = ([curve[-1] / curve[0] for curve in curves[task]] for task in TASKS)  # the part that is kept
    if max(positional) < min(*symbolic, 1.0):
        verdict = "agrees" if fmean(positional) < MUCH * fmean(symbolic) else "in part"
    else:
        verdict = "disagrees" if min(positional) >= min(max(symbolic), 1.0) else "unknown"
    means = {task: [fmean(values) for values in zip(*curves[task], strict=True)] for task in TASKS}
    return DynamicsVerdict(
        f"from {results.trained('letter')} to {max(results.scale.lengths)} tokens: "
        + ", ".join(f"{task} {values[0]:.3f} → {values[-1]:.3f}" for task, values in means.items())
        + f"; part kept by single seeds: number {_span(positional)}, letter {_span(symbolic)}",
        verdict,
        "Seeds of the two tasks overlap."
        if verdict == "unknown"
        else "The bounds hold for a head with one frequency; learnt heads use many and are not limited by them.",
    )


def kinds_of(results: DynamicsResults, task: str) -> list[int]:
    """What each layer has become: 1 positional, -1 symbolic, 0 neither.

    The score difference must be clear, and its interval over seeds must exclude 0, as must that of its change since
    the first step.
    """
    kinds = []
    for difference, change in zip(_differences(results, task), _differences(results, task, since=0), strict=True):
        sign = 1 if difference[0] > 0 else -1
        excludes_zero = all(min(sign * end for end in interval) > 0 for interval in (difference, change))
        kinds.append(sign if excludes_zero and abs(difference[0]) >= CLEAR else 0)
    return kinds


def _differences(results: DynamicsResults, task: str, *, since: float | None = None) -> list[Interval]:
    """s_POS - s_SYM of every layer at the end, or its change since a step, with its interval over seeds."""
    by_head: dict[str, list[float]] = {}
    for seed in results.learners(task):
        first = {} if since is None else results.score_differences(task, step=since, seed=seed)
        for head, difference in results.score_differences(task, step=results.last, seed=seed).items():
            by_head.setdefault(head, []).append(difference - first.get(head, 0.0))
    return [student(values) if len(values) > 1 else (values[0],) * 3 for values in by_head.values()]


def _positional_first(differences: Sequence[float]) -> bool:
    """Whether positional layers come first and at least one symbolic layer follows."""
    positional = [difference > 0 for difference in differences]
    return positional == sorted(positional, reverse=True) and len(set(positional)) == 2


def _by_layer(results: DynamicsResults, task: str) -> str:
    layers = [
        number(mean) + (f"{TIED}±{TIED}{number(high - mean)}" if high > mean else "")
        for mean, _, high in _differences(results, task)
    ]
    return f"s_POS − s_SYM by layer, ± half its 95 % interval: {', '.join(layers)}"


def _unclear_layers(kinds: Sequence[int]) -> str:
    unclear = [f"L{layer}" for layer, kind in enumerate(kinds) if not kind]
    return f"Not clearly positional or symbolic: {', '.join(unclear)}." if unclear else ""


def _pairs(results: DynamicsResults, task: str) -> list[tuple[float, float]]:
    """How many heads are purely positional and purely symbolic, net by net."""
    counts = (
        [results.pure(task, kind, RULES[0], GAMMAS[0], seed) for seed in results.learners(task)] for kind in KINDS
    )
    return list(zip(*counts, strict=True))


def _counts(results: DynamicsResults, task: str) -> str:
    by_gamma = []
    for gamma in GAMMAS:
        pairs = {rule: [_mean_count(results, task, (kind, rule, gamma)) for kind in KINDS] for rule in RULES}
        counts = ", ".join(f"{TIED}+{TIED}".join(pair) + f" by {rule}" for rule, pair in pairs.items())
        by_gamma.append(f"γ{TIED}={TIED}{gamma:g}: {counts}")
    return f"of {results.scale.layers} heads, mean over seeds; " + "; ".join(by_gamma)


def _mean_count(results: DynamicsResults, task: str, count: tuple[str, str, float]) -> str:
    return f"{fmean(results.pure(task, *count, seed) for seed in results.learners(task)):.2g}"


def _count_verdict(
    results: DynamicsResults,
    pairs: Sequence[tuple[float, float]],
    theirs: tuple[int, int],
    whole: list[bool],
    half: list[bool],
) -> str:
    """The kinds must be as published; in a net of the published size, also their counts, give or take one."""
    near = all(abs(a - b) <= 1 for ours in pairs for a, b in zip(ours, theirs, strict=True))
    if all(whole) and (near or results.scale.layers != PUBLISHED_LAYERS):
        return "agrees"
    return "in part" if any(half) else "disagrees"


def _size_caveat(results: DynamicsResults) -> str:
    if results.scale.layers == PUBLISHED_LAYERS:
        return ""
    rule = f"the verdict is about the kinds of heads, by {RULES[0]} at γ = {GAMMAS[0]:g}"
    return f"With {results.scale.layers} layers the counts cannot match the published ones; {rule}."


def _range(values: Sequence[float]) -> str:
    return f"{number(fmean(values))} ({_span(values)})" if values else "none"


def _span(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else number(values[0])

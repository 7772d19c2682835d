"""Judged here are heads: where they start, which kind they become, and which frequencies they then use."""

from collections.abc import Sequence
from statistics import fmean

from wherewhat.studies.dynamics.evidence import TASKS, Evidence
from wherewhat.studies.dynamics.purity import GAMMAS, KINDS, RULES
from wherewhat.studies.dynamics.questions import TIED, Judged, number
from wherewhat.studies.intervals import of_mean

CLEAR = 0.5  # of s_POS − s_SYM: from here on a head is called positional or symbolic
FAST, SLOW = 0.2, 0.55  # of the way from the fastest frequency to the slowest: at most, and at least
MUCH = 0.5  # of what a symbolic head keeps of its lead: a positional one keeps less
PUBLISHED_LAYERS = 12
Interval = tuple[float, float, float]


def starts_flat(seen: Evidence) -> Judged:
    """All heads begin in the corner of flat attention."""
    found = {
        score: [
            value
            for task in TASKS
            for seed in seen.seeds
            for value in seen.heads(task, score, step=0, seed=seed).values()
        ]
        for score in ("positional", "symbolic", "entropy")
    }
    where, what, entropy = found.values()
    least, average = min(*where, *what), min(fmean(where), fmean(what))
    return Judged(
        f"mean ({fmean(where):.2f}, {fmean(what):.2f}), lowest single score {least:.2f}, "
        f"entropy {fmean(entropy):.3f} of 1",
        "agrees" if least >= 0.9 else "in part" if average >= 0.8 else "disagrees",
        "" if least >= 0.9 else "Our first weights are larger than a language model's, so the first logits are too.",
    )


def early_then_late(seen: Evidence) -> Judged:
    """Number: positional layers first, symbolic ones after them."""
    kinds = kinds_of(seen, "number")
    nets = [seen.leaning("number", step=seen.last, seed=seed).values() for seed in seen.learners("number")]
    right = [_place_first([lean for lean in net if abs(lean) >= CLEAR]) for net in nets]
    if all(kinds) and _place_first(kinds):
        verdict = "agrees"
    else:
        verdict = "in part" if all(right) else "unknown" if any(right) else "disagrees"
    return Judged(_by_layer(seen, "number"), verdict, _clear(kinds))


def symbolic_throughout(seen: Evidence) -> Judged:
    """Letter: symbolic layers only, the first perhaps left out."""
    kinds = kinds_of(seen, "letter")
    ends = [list(seen.leaning("letter", step=seen.last, seed=seed).values()) for seed in seen.learners("letter")]
    if all(kind < 0 for kind in kinds[1:]) and kinds[0] <= 0:
        verdict = "agrees"
    else:
        most = all(2 * sum(value <= -CLEAR for value in its) >= len(its) for its in ends)
        verdict = "in part" if most else "disagrees"
    return Judged(_by_layer(seen, "letter"), verdict, _clear(kinds))


def number_counts(seen: Evidence) -> Judged:
    """A few purely positional heads, more purely symbolic ones."""
    pairs = _pairs(seen, "number")
    all_of_it = [0 < where < what for where, what in pairs]
    both = [where > 0 and what > 0 for where, what in pairs]
    return Judged(_counts(seen, "number"), _counted(seen, pairs, (4, 8), all_of_it, both), _sizes(seen))


def letter_counts(seen: Evidence) -> Judged:
    """Most heads purely symbolic, none purely positional."""
    pairs = _pairs(seen, "letter")
    all_of_it = [where == 0 and 2 * what > seen.scale.layers for where, what in pairs]
    more = [what > where for where, what in pairs]
    return Judged(_counts(seen, "letter"), _counted(seen, pairs, (0, 11), all_of_it, more), _sizes(seen))


def frequencies(seen: Evidence) -> Judged:
    """Positional heads use fast frequencies, symbolic ones slow ones."""
    places: dict[bool, list[float]] = {True: [], False: []}
    for task in TASKS:
        for seed in seen.learners(task):
            numbers = seen.heads(task, "mean_frequency", step=seen.last, seed=seed)
            for head, lean in seen.leaning(task, step=seen.last, seed=seed).items():
                if abs(lean) >= CLEAR:
                    places[lean > 0].append(numbers[head] / (seen.scale.width // 2 - 1))
    fast, slow = places[True], places[False]
    if not fast or not slow:
        verdict = "unknown"
    else:
        a, b = fmean(fast), fmean(slow)
        verdict = "agrees" if a <= FAST and b >= SLOW else "in part" if a < b else "disagrees"
    return Judged(
        f"from 0 (fastest) to 1 (slowest): positional heads {_range(fast)}, symbolic heads {_range(slow)}; "
        "published 0.00–0.02 and 0.14–0.65",
        verdict,
        "The publication does not give its formula; a head that uses all frequencies alike gets 0.5.",
    )


def leads(seen: Evidence) -> Judged:
    """The best key's lead over the second falls faster with length in number than in letter."""
    gaps = {task: [list(seen.gap(task, seed).values()) for seed in seen.learners(task)] for task in TASKS}
    where, what = ([its[-1] / its[0] for its in gaps[task]] for task in TASKS)
    if max(where) < min(*what, 1.0):
        verdict = "agrees" if fmean(where) < MUCH * fmean(what) else "in part"
    else:
        verdict = "disagrees" if min(where) >= min(max(what), 1.0) else "unknown"
    ends = {task: [fmean(each) for each in zip(*gaps[task], strict=True)] for task in TASKS}
    return Judged(
        f"from {seen.trained('letter')} to {max(seen.scale.lengths)} tokens "
        + ", ".join(f"{task} {its[0]:.3f} → {its[-1]:.3f}" for task, its in ends.items())
        + f"; kept by single seeds: number {_span(where)}, letter {_span(what)}",
        verdict,
        "Seeds of the two tasks overlap."
        if verdict == "unknown"
        else "The bounds are for a head of one frequency; learned heads use many, and are not held to them.",
    )


def kinds_of(seen: Evidence, task: str) -> list[int]:
    """What each layer has become: 1 positional, -1 symbolic, 0 neither.

    It must lean clearly, and both lean and change since the first look must be told from 0 over seeds.
    """
    found = []
    for lean, change in zip(_leans(seen, task), _leans(seen, task, since=0), strict=True):
        sign = 1 if lean[0] > 0 else -1
        sure = all(min(sign * end for end in each) > 0 for each in (lean, change))
        found.append(sign if sure and abs(lean[0]) >= CLEAR else 0)
    return found


def _leans(seen: Evidence, task: str, *, since: float | None = None) -> list[Interval]:
    """s_POS - s_SYM of every layer at the end, or its change since a step, with its interval over seeds."""
    by_head: dict[str, list[float]] = {}
    for seed in seen.learners(task):
        first = {} if since is None else seen.leaning(task, step=since, seed=seed)
        for head, lean in seen.leaning(task, step=seen.last, seed=seed).items():
            by_head.setdefault(head, []).append(lean - first.get(head, 0.0))
    return [of_mean(values) if len(values) > 1 else (values[0],) * 3 for values in by_head.values()]


def _place_first(leans: Sequence[float]) -> bool:
    """Whether layers that lean to place come first and some that lean to content after them."""
    where = [lean > 0 for lean in leans]
    return where == sorted(where, reverse=True) and len(set(where)) == 2


def _by_layer(seen: Evidence, task: str) -> str:
    said = [
        number(mean) + (f"{TIED}±{TIED}{number(high - mean)}" if high > mean else "")
        for mean, _, high in _leans(seen, task)
    ]
    return f"s_POS − s_SYM by layer, ± half its 95 % interval: {', '.join(said)}"


def _clear(kinds: Sequence[int]) -> str:
    unclear = [f"L{layer}" for layer, kind in enumerate(kinds) if not kind]
    return f"Neither positional nor symbolic for sure: {', '.join(unclear)}." if unclear else ""


def _pairs(seen: Evidence, task: str) -> list[tuple[float, float]]:
    """How many heads are purely positional and purely symbolic, net by net."""
    where, what = ([seen.pure(task, kind, RULES[0], GAMMAS[0], seed) for seed in seen.learners(task)] for kind in KINDS)
    return list(zip(where, what, strict=True))


def _counts(seen: Evidence, task: str) -> str:
    said = []
    for gamma in GAMMAS:
        pairs = {rule: [_mean_count(seen, task, (kind, rule, gamma)) for kind in KINDS] for rule in RULES}
        counts = ", ".join(f"{where}{TIED}+{TIED}{what} by {rule}" for rule, (where, what) in pairs.items())
        said.append(f"γ{TIED}={TIED}{gamma:g}: {counts}")
    return f"of {seen.scale.layers}, mean over seeds; " + "; ".join(said)


def _mean_count(seen: Evidence, task: str, what: tuple[str, str, float]) -> str:
    return f"{fmean(seen.pure(task, *what, seed) for seed in seen.learners(task)):.2g}"


def _counted(
    seen: Evidence, pairs: Sequence[tuple[float, float]], theirs: tuple[int, int], whole: list[bool], half: list[bool]
) -> str:
    """Which kinds there are must be as published; in a net of the same size, also how many of each."""
    near = all(abs(a - b) <= 1 for ours in pairs for a, b in zip(ours, theirs, strict=True))
    if all(whole) and (near or seen.scale.layers != PUBLISHED_LAYERS):
        return "agrees"
    return "in part" if any(half) else "disagrees"


def _sizes(seen: Evidence) -> str:
    if seen.scale.layers == PUBLISHED_LAYERS:
        return ""
    judged = f"judged is which kinds there are, by {RULES[0]} at γ = {GAMMAS[0]:g}"
    return f"With {seen.scale.layers} layers the counts cannot be the same; {judged}."


def _range(places: Sequence[float]) -> str:
    return f"{number(fmean(places))} ({_span(places)})" if places else "none"


def _span(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else number(values[0])

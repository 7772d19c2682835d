"""What was published about learning to follow numbers and letters, and what was seen of it here."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median

from scipy import stats

from wherewhat.reproductions.base import Claim
from wherewhat.reproductions.dynamics.evidence import LEARNT, Evidence, mean
from wherewhat.reproductions.dynamics.purity import GAMMAS, KINDS, RULES

TOGETHER = 0.25  # of the time until all hops are learnt, by which the first may come before the last
FAST, SLOW = 0.2, 0.55  # of the way from the fastest frequency to the slowest: at most, and at least
MUCH = 0.5  # of what a symbolic head keeps of its lead: a positional one keeps less
PUBLISHED_LAYERS = 12
TASKS = ("number", "letter")


def claims_of(evidence: Evidence) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return tuple(claim(evidence) for claim in CLAIMS)


def in_turn(seen: Evidence) -> Claim:
    """Number: one hop after another."""
    hops = seen.hops("number")
    times = [[seen.learnt("number", each, seed) for each in hops] for seed in seen.seeds]
    means = [fmean(seen.curve("accuracy", "number", each, None).values()) for each in hops]
    if all(None not in its and _rises(its) for its in times):
        verdict = "agrees"
    else:
        verdict = "in part" if means[0] > max(means[1:], default=1) else "disagrees"
    return Claim(
        "In the number task, hops are learnt one after another.",
        "1 hop first, then 2, 3 and 4; all by about 4,800 steps of 64",
        _learnt(seen, "number"),
        verdict,
        "" if verdict != "in part" else f"Mean accuracy over all looks by hops: {_listed(means)}.",
    )


def together(seen: Evidence) -> Claim:
    """Letter: all hops at once."""
    spread = {task: _spread(seen, task) for task in TASKS}
    letter, number = spread["letter"], spread["number"]
    if letter is None:
        verdict = "unknown"
    elif letter <= TOGETHER:
        verdict = "agrees"
    else:
        verdict = "in part" if number is None or letter < number else "disagrees"
    parts = [f"{_percent(its)} in the {task} task" for task, its in spread.items() if its is not None]
    return Claim(
        "In the letter task, all hops are learnt together.",
        "together, by about 3,400 steps of 64",
        _learnt(seen, "letter"),
        verdict,
        f"Of the time until all are learnt, {' and '.join(parts)} lies between the first and the last."
        if parts
        else "",
    )


def starts_flat(seen: Evidence) -> Claim:
    """All heads begin in the corner of flat attention."""
    found = {
        score: [value for task in TASKS for value in seen.heads(task, score, step=0, seed=None).values()]
        for score in ("positional", "symbolic", "entropy")
    }
    least = min(*found["positional"], *found["symbolic"])
    average = min(fmean(found["positional"]), fmean(found["symbolic"]))
    return Claim(
        "Before training, attention is flat and every head is at (1, 1) in the plane.",
        "all heads at (1, 1)",
        f"mean ({fmean(found['positional']):.2f}, {fmean(found['symbolic']):.2f}), "
        f"lowest single score {least:.2f}, entropy {fmean(found['entropy']):.3f} of 1",
        "agrees" if least >= 0.9 else "in part" if average >= 0.8 else "disagrees",
        "" if least >= 0.9 else "Our first weights are larger than a language model's, so the first logits are too.",
    )


def early_then_late(seen: Evidence) -> Claim:
    """Number: positional layers first, symbolic ones after them."""
    lean = list(seen.leaning("number", step=seen.last, seed=None).values())
    half = len(lean) // 2
    signs = [value > 0 for value in lean]
    if signs == sorted(signs, reverse=True) and len(set(signs)) == 2:
        verdict = "agrees"
    else:
        verdict = "in part" if fmean(lean[:half]) > fmean(lean[-half:]) else "disagrees"
    return Claim(
        "Learning the number task makes early layers positional and later ones symbolic.",
        "layers 0–3 positional, 4–11 symbolic",
        f"s_POS − s_SYM by layer: {_listed(lean)}",
        verdict,
    )


def symbolic_throughout(seen: Evidence) -> Claim:
    """Letter: symbolic layers only."""
    lean = list(seen.leaning("letter", step=seen.last, seed=None).values())
    most = sum(value < 0 for value in lean)
    verdict = "agrees" if most >= len(lean) - 1 and max(lean) <= 0.1 else "in part" if fmean(lean) < 0 else "disagrees"
    return Claim(
        "Learning the letter task makes all layers symbolic.",
        "layers 1–11 symbolic, none positional",
        f"s_POS − s_SYM by layer: {_listed(lean)}",
        verdict,
    )


def with_purity(seen: Evidence) -> Claim:
    """Accuracy and purity rise at the same steps."""
    found = {task: fmean(_rank_correlation(seen, task, seed) for seed in seen.seeds) for task in TASKS}
    least, most = min(found.values()), max(found.values())
    return Claim(
        "Accuracy jumps when heads become pure.",
        "jumps at the same steps, read from figures",
        "rank correlation over looks of accuracy with |s_POS − s_SYM|, mean over heads: "
        + ", ".join(f"{task} {value:.2f}" for task, value in found.items()),
        "agrees" if least >= 0.7 else "in part" if most >= 0.5 else "disagrees",
    )


def longer_inputs(seen: Evidence) -> Claim:
    """Letter goes on working at lengths where number does not."""
    reach = {task: fmean(seen.reach(task, seed) for seed in seen.seeds) for task in TASKS}
    learnt = {task: seen.scale.task(task).length for task in TASKS}
    curves = {task: seen.curve("length", task, "all", None) for task in TASKS}
    over = {task: fmean(list(curve.values())[1:]) for task, curve in curves.items()}
    farther, better = reach["letter"] > reach["number"], over["letter"] > over["number"]
    longest = max(curves["letter"])
    far = reach["letter"] == longest
    return Claim(
        "The letter task generalises to much longer inputs than the number task.",
        "letter above 90 % up to 850 tokens (53 ×), number falls at once and below 40 % by 400",
        "within 90 % of its accuracy up to "
        + ", ".join(f"{reach[task]:.0f} tokens ({task}, {reach[task] / learnt[task]:.1f} ×)" for task in TASKS)
        + f"; at {longest:.0f} tokens "
        + ", ".join(f"{task} {_percent(curves[task][longest])}" for task in TASKS),
        "agrees" if farther and better and far else "in part" if farther or better else "disagrees",
        "" if far or not farther else "Ours goes the same way, but does not hold as far as it was tried.",
    )


def number_counts(seen: Evidence) -> Claim:
    """How many heads of the number task are pure."""
    where, what = (seen.pure("number", kind, "scores", GAMMAS[0]) for kind in KINDS)
    return Claim(
        "The number task ends with a few purely positional heads and more purely symbolic ones.",
        "4 positional + 8 symbolic of 12 (its γ is unknown), 2 + 7 at γ = 0.05",
        _counts(seen, "number"),
        _counted(seen, (where, what), (4, 8), has=where > 0 and what > 0, some=where > 0 or what > 0),
        _sizes(seen),
    )


def letter_counts(seen: Evidence) -> Claim:
    """How many heads of the letter task are pure."""
    where, what = (seen.pure("letter", kind, "scores", GAMMAS[0]) for kind in KINDS)
    return Claim(
        "The letter task ends with purely symbolic heads and no purely positional one.",
        "0 positional + 11 symbolic of 12",
        _counts(seen, "letter"),
        _counted(seen, (where, what), (0, 11), has=where == 0 and what > 0, some=what > where),
        _sizes(seen),
    )


def frequencies(seen: Evidence) -> Claim:
    """Positional heads use fast frequencies, symbolic ones slow ones."""
    ladder = seen.scale.width // 2 - 1
    places: dict[bool, list[float]] = {True: [], False: []}
    for task in TASKS:
        numbers = seen.heads(task, "mean_frequency", step=seen.last, seed=None)
        for head, lean in seen.leaning(task, step=seen.last, seed=None).items():
            places[lean > 0].append((numbers[head] - 1) / ladder)
    fast, slow = (fmean(places[which]) if places[which] else None for which in (True, False))
    if fast is None or slow is None:
        verdict = "unknown"
    else:
        verdict = "agrees" if fast <= FAST and slow >= SLOW else "in part" if fast < slow else "disagrees"
    return Claim(
        "Positional heads rely on the fastest frequencies, symbolic heads on slow ones.",
        "mean frequency of 64: number layers 0–3 at 1–2, 4 at 10, 5–11 at 37–39; letter layers 2–11 at 37–42",
        "from 0 (fastest) to 1 (slowest): "
        + ", ".join(f"{what} {_or(place)}" for what, place in (("positional heads", fast), ("symbolic heads", slow)))
        + "; published 0.00–0.02 and 0.57–0.65",
        verdict,
        "The publication does not give its formula; a head that uses all frequencies alike gets 0.5.",
    )


def leads(seen: Evidence) -> Claim:
    """The best key's lead over the second falls faster with length in number than in letter."""
    gap = {task: list(seen.gap(task).values()) for task in TASKS}
    kept = {task: its[-1] / its[0] for task, its in gap.items()}
    lengths = list(seen.gap("letter"))
    return Claim(
        "As inputs grow, the best key's lead shrinks much faster for a positional head than for a symbolic one.",
        "at most min(1 − cos θ, 2π²/n²) against 1 − cos(2π/letters − nθ): "
        "from 8 to 100 tokens 0.303 → 0.002, 0.278 → 0.130",
        f"from {lengths[0]:.0f} to {lengths[-1]:.0f} tokens "
        + ", ".join(f"{task} {its[0]:.3f} → {its[-1]:.3f}" for task, its in gap.items()),
        "agrees" if kept["number"] < MUCH * kept["letter"] else "in part" if kept["number"] < 1 else "disagrees",
        "The bounds are for a head of one frequency; learned heads use many, and are not held to them.",
    )


CLAIMS: Sequence[Callable[[Evidence], Claim]] = (
    in_turn,
    together,
    starts_flat,
    early_then_late,
    symbolic_throughout,
    with_purity,
    longer_inputs,
    number_counts,
    letter_counts,
    frequencies,
    leads,
)


def _rises(times: Sequence[float | None]) -> bool:
    return all(a is not None and b is not None and a < b for a, b in pairwise(times))


def _spread(seen: Evidence, task: str) -> float | None:
    """How long the first hops are learnt before the last ones, as a part of the whole time; None if some never are."""
    found = []
    for seed in seen.seeds:
        times = [seen.learnt(task, each, seed) for each in seen.hops(task)]
        reached = [time for time in times if time is not None]
        if len(reached) == len(times):
            found.append((max(reached) - min(reached)) / max(reached))
    return fmean(found) if found else None


def _learnt(seen: Evidence, task: str) -> str:
    """When each number of hops was learnt."""
    said = []
    for hops in seen.hops(task):
        times = [time for time in (seen.learnt(task, hops, seed) for seed in seen.seeds) if time is not None]
        if times:
            never = len(seen.seeds) - len(times)
            said.append(
                f"{hops} {median(times):,.0f}" + (f" (not by {never} of {len(seen.seeds)} seeds)" if never else "")
            )
        else:
            said.append(f"{hops} never ({_percent(seen.curve('accuracy', task, hops, None)[seen.last])} at the end)")
    return f"first look with {_percent(LEARNT)} right, in steps of {seen.scale.batch}: " + ", ".join(said)


def _rank_correlation(seen: Evidence, task: str, seed: int) -> float:
    accuracy = seen.curve("accuracy", task, "all", seed)
    pure = [mean({h: abs(v) for h, v in seen.leaning(task, step=step, seed=seed).items()}) for step in accuracy]
    return float(stats.spearmanr(list(accuracy.values()), pure).statistic)


def _counts(seen: Evidence, task: str) -> str:
    said = []
    for gamma in GAMMAS:
        pairs = {rule: [seen.pure(task, kind, rule, gamma) for kind in KINDS] for rule in RULES}
        counts = ", ".join(f"{where:.2g} + {what:.2g} by {rule}" for rule, (where, what) in pairs.items())
        said.append(f"γ = {gamma:g}: {counts}")
    return f"of {seen.scale.layers}, mean over seeds; " + "; ".join(said)


def _counted(seen: Evidence, ours: tuple[float, float], theirs: tuple[int, int], *, has: bool, some: bool) -> str:
    """Counts agree only between nets of the same size; otherwise it is asked which kinds there are."""
    if seen.scale.layers == PUBLISHED_LAYERS:
        near = all(abs(a - b) <= 1 for a, b in zip(ours, theirs, strict=True))
        return "agrees" if near else "in part" if has else "disagrees"
    return "in part" if some else "disagrees"


def _sizes(seen: Evidence) -> str:
    if seen.scale.layers == PUBLISHED_LAYERS:
        return ""
    return (
        f"With {seen.scale.layers} layers the counts cannot be the same; what can be compared is which kinds there are."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _or(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.2f}".replace("-", "−") for value in values)

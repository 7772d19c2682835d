"""What was published about rotary positions in conformers, and what we ask beyond it, each above its test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import polars as pl

from wherewhat.corpora.speech.splits import LEADING, LONG, TEST
from wherewhat.formatting import percent, tenths
from wherewhat.published.speech import FASTER
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished, open_verdict, published_verdict, sign_of
from wherewhat.studies.engine.claims import Claim, Verdict, claim
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.speech.names import (
    EARLY,
    LATER,
    LONGEST,
    MEMORY,
    NONE,
    PARAMETERS,
    REACH,
    RELATIVE,
    ROPE,
    TIME,
    TIME_RATIO,
    TRAINING_BATCH,
    UNIFORM,
    cost,
    difference,
    error,
    label,
)
from wherewhat.studies.speech.settings import ARMS

MARGIN = 0.02  # errors that are fewer than two points more count as no more
ONE_RUN = "Intervals are over utterances of one training run; runs from other seeds may differ more."
CAUSE = (
    "The same sound with positions that begin a second later changes errors by {} points at most, so the cause is what "
    "is heard: silence that training never had, and features that are normalised with it."
)
LEARNT = 0.5  # the error rate from which a net has not learnt to recognise
SIGNS = {"agrees": 1, "disagrees": -1}
WORDS = {"agrees": "as well", "in part": "worse by less than two points", "disagrees": "worse", "unknown": "open"}


def rates(table: ResultTable, arms: Sequence[str], test: str) -> dict[str, float]:
    """By arm, the error rate in a test, where there is one."""
    known = {arm: table.value(arm, error(test)) for arm in arms}
    return {arm: value for arm, value in known.items() if not math.isnan(value)}


def usual_tests(table: ResultTable) -> list[str]:
    """The tests with utterances as in training, of known speakers and of others; the plain one comes first."""
    return [test for test in table.scale.tests if test not in (LEADING, LATER, *LONG)]


def list_rates(values: Mapping[str, float]) -> str:
    """Error rates in per cent, one after the other.

    >>> list_rates({"rope": 0.0123, "transformer_xl": 0.5})
    'RoPE 1.2\\xa0%, relative 50.0\\xa0%'
    """
    return ", ".join(f"{label(arm)} {tenths(value)}\N{NO-BREAK SPACE}%" for arm, value in values.items())


def no_worse(gap: Estimate) -> str:
    """The verdict on a claim that errors are no more, by the interval of the difference.

    They are no more if the interval ends below two points, and clearly more if it begins above 0; both is in part.

    >>> [no_worse(Estimate(*ends)) for ends in ((0, -0.01, 0.01), (0.01, 0.005, 0.015), (0.03, 0.01, 0.05))]
    ['agrees', 'in part', 'disagrees']
    >>> no_worse(Estimate(0.01, -0.01, 0.03)), no_worse(Estimate())
    ('unknown', 'unknown')
    """
    small, more = gap.high < MARGIN, gap.low > 0
    return "in part" if small and more else "agrees" if small else "disagrees" if more else "unknown"


def one_run(table: ResultTable) -> str:
    """What to know where there is one seed alone."""
    return ONE_RUN if len(table.seeds) == 1 else ""


def unlearnt(table: ResultTable, *arms: str) -> Verdict | None:
    """A verdict that stays open where one of these arms is missing, or has not learnt to recognise."""
    values = rates(table, arms, usual_tests(table)[0])
    if missing := [label(arm) for arm in arms if arm not in values]:
        return Verdict(f"No net was trained with {' or '.join(missing)}", "unknown")
    if max(values.values()) > LEARNT:
        return Verdict(f"Not every net has learnt to recognise: {list_rates(values)}", "unknown")
    return None


def as_well(table: ResultTable, arm: str, other: str) -> Verdict:
    """Whether an arm recognises as well as another, by the difference of error rates in every usual test.

    It does if it does in every test, and in part if it does in one.
    """
    if open_ := unlearnt(table, arm, other):
        return open_
    gaps = {test: table.estimate(arm, difference(test, other)) for test in usual_tests(table)}
    gaps = {test: gap for test, gap in gaps.items() if gap.known}
    if not gaps:
        return Verdict("There are too few test utterances to compare error rates", "unknown")
    ours = "Error rates, " + "; ".join(
        f"{test}: {list_rates(rates(table, (arm, other), test))}, {label(arm)} minus {label(other)} {gap.points()}"
        for test, gap in gaps.items()
    )
    verdicts = {test: no_worse(gap) for test, gap in gaps.items()}
    only, *others = verdicts.values()
    verdict = published_verdict([SIGNS.get(each, 0) for each in verdicts.values()]) if others else only
    because = ", ".join(f"{WORDS[each]} in {test}" for test, each in verdicts.items()) if verdict == "in part" else ""
    return Verdict(ours, verdict, one_run(table), because=because)


@claim(
    "A conformer with rotary positions recognises as well as one with relative positions.",
    "8.70 % and 7.27 % fewer errors in arXiv 2107.05907; the larger comparisons since then find 0 to 2.5 % fewer",
    answers={
        "agrees": "RoPE recognises as well as relative positions, to within two points",
        "in part": "RoPE recognises as well as relative positions in part",
        "disagrees": "RoPE recognises worse than relative positions",
        "unknown": "Whether RoPE recognises as well as relative positions is open",
    },
)
def as_good(table: ResultTable) -> Verdict:
    """By the difference of error rates over the same utterances, of known speakers and of others."""
    return as_well(table, ROPE, RELATIVE)


@claim(
    "A step of training is faster with rotary positions than with relative ones.",
    f"training takes {percent(FASTER[0])} less time on LibriSpeech, up to {percent(FASTER[1])} less elsewhere",
    answers={
        "agrees": "A step of training is faster with RoPE",
        "disagrees": "A step of training is no faster with RoPE",
        "unknown": "Which trains faster is open",
    },
)
def faster(table: ResultTable) -> Verdict:
    """By the ratio of times per step, round by round, on a batch of training."""
    gap = table.estimate(ROPE, cost(TIME_RATIO))
    if not gap.known:
        return Verdict("Times were not measured", "unknown")
    ratio = f"{gap.value:.2f} ({gap.low:.2f} to {gap.high:.2f})"
    steps = [table.value(arm, cost(TIME)) for arm in (ROPE, RELATIVE)]
    ours = f"RoPE takes {ratio} times as long per step, {steps[0]:.0f} against {steps[1]:.0f} ms"
    long = table.estimate(ROPE, cost(TIME_RATIO, LONGEST))
    if long.known:
        ours += f"; on utterances of {LONGEST}, {long.value:.2f} ({long.low:.2f} to {long.high:.2f}) times"
    return Verdict(ours, {1: "disagrees", -1: "agrees", 0: "unknown"}[sign_of(gap.low - 1, gap.high - 1)])


@claim(
    "A conformer with rotary positions has fewer weights.",
    "44.80M against 47.06M in PaddleSpeech's recipes; D² + 2D fewer per block",
)
def smaller(table: ResultTable) -> Verdict:
    """By counting the weights."""
    ours, theirs = (table.value(arm, cost(PARAMETERS)) for arm in (ROPE, RELATIVE))
    if math.isnan(ours + theirs):
        return Verdict("Weights were not counted", "unknown")
    return Verdict(
        f"{ours:,.0f} against {theirs:,.0f}, {percent(1 - ours / theirs)} fewer",
        "agrees" if ours < theirs else "disagrees",
    )


@claim(
    "A step of training needs less memory with rotary positions.",
    f"{UNPUBLISHED}: it follows from the table of distances that relative positions build",
)
def lighter(table: ResultTable) -> Verdict:
    """By the memory of activations at their peak, on the batches that were measured."""
    pairs = {
        batch: [table.value(arm, cost(MEMORY, batch)) for arm in (ROPE, RELATIVE)]
        for batch in (TRAINING_BATCH, LONGEST)
    }
    known = {batch: pair for batch, pair in pairs.items() if not math.isnan(sum(pair))}
    if not known:
        return Verdict("Memory was not counted", "unknown")
    ours = "; ".join(f"{batch}: {rope:.0f} against {other:.0f} MB" for batch, (rope, other) in known.items())
    return Verdict(ours, open_verdict([1 if rope < other else -1 for rope, other in known.values()]))


@claim(
    f"On {LONGEST}, four times as many as in training, relative positions err less than rotary ones.",
    f"{UNPUBLISHED}: our expectation, as RoPE meets distances that it was not trained on",
    answers={
        "seen": f"On {LONGEST}, relative positions err less than RoPE",
        "not seen": f"On {LONGEST}, RoPE errs less than relative positions",
        "unknown": f"Whether RoPE or relative positions err less on {LONGEST} is open",
    },
)
def longer(table: ResultTable) -> Verdict:
    """By the difference of error rates over the same long utterances."""
    if open_ := unlearnt(table, ROPE, RELATIVE):
        return open_
    gap = table.estimate(ROPE, difference(LONGEST, RELATIVE))
    if not gap.known:
        return Verdict(f"There is no test of {LONGEST}", "unknown")
    values = rates(table, table.scale.arms, LONGEST)
    sign = sign_of(gap.low, gap.high)
    return Verdict(
        f"Error rates, {LONGEST}: {list_rates(values)}; RoPE minus relative {gap.points()}",
        open_verdict([sign]),
        one_run(table),
        answer="" if sign else f"On {LONGEST}, RoPE and relative positions do not clearly differ",
    )


@claim(
    "One second of silence in front changes nothing for encodings that ignore where an utterance begins.",
    f"{UNPUBLISHED}: a law of these encodings; features that are normalised with the silence may still change",
)
def leading_silence(table: ResultTable) -> Verdict:
    """By the difference with and without silence, for every shift-invariant arm that has learnt to recognise.

    Later positions alone tell whether they are the cause.
    """
    learnt = [arm for arm, rate in rates(table, table.scale.arms, TEST).items() if rate <= LEARNT]
    arms = [arm for arm in learnt if ARMS[arm].shifts]
    gaps = {arm: table.estimate(arm, difference(LEADING, TEST)) for arm in arms}
    gaps = {arm: gap for arm, gap in gaps.items() if gap.known}
    if not gaps:
        return Verdict("No net that has learnt to recognise was tested with leading silence", "unknown")
    ours = "; ".join(f"{label(arm)} {gap.points()}" for arm, gap in gaps.items())
    signs = [SIGNS.get(no_worse(gap), 0) for gap in gaps.values()]
    later = max(abs(table.value(arm, difference(LATER, TEST))) for arm in gaps)
    cause = CAUSE.format(tenths(later)) if -1 in signs and later < MARGIN else ""
    return Verdict(f"More errors with silence: {ours}", open_verdict(signs), f"{cause} {one_run(table)}".strip())


@claim(
    "Without any positions in attention a conformer recognises as well, since its convolution carries order.",
    f"{UNPUBLISHED} for speech recognition at this size",
    answers={
        "seen": "Without positions in attention it recognises as well, to within two points",
        "in part": "Without positions in attention it recognises as well in part",
        "not seen": "Without positions in attention it recognises worse than with RoPE",
        "unknown": "Whether positions in attention matter is open",
    },
)
def without_positions(table: ResultTable) -> Verdict:
    """By the difference to RoPE over the same utterances, of known speakers and of others."""
    verdict = as_well(table, NONE, ROPE)
    return replace(verdict, verdict=if_unpublished(verdict.verdict))


@claim(
    "Rotating the layer's input before the projections, rather than queries and keys, errs more on longer utterances.",
    f"{UNPUBLISHED}: some published checkpoints rotate there, and their logits do not depend on distances alone",
)
def rotated_early(table: ResultTable) -> Verdict:
    """By the difference to RoPE on the longest utterances."""
    if EARLY not in table.scale.arms:
        return Verdict("This scale has no such net", "unknown")
    if open_ := unlearnt(table, ROPE, EARLY):
        return open_
    gap = table.estimate(EARLY, difference(LONGEST, ROPE))
    if not gap.known:
        return Verdict(f"There is no test of {LONGEST}", "unknown")
    ours = (
        f"Error rates, {LONGEST}: {list_rates(rates(table, (EARLY, ROPE), LONGEST))}; early minus RoPE {gap.points()}"
    )
    return Verdict(ours, open_verdict([sign_of(gap.low, gap.high)]), one_run(table))


@claim(
    "Heads look nearer than uniform attention would.",
    f"{UNPUBLISHED}: how far heads look was not published in milliseconds",
)
def near_heads(table: ResultTable) -> Verdict:
    """By the share of heads of all runs whose mean distance is below that of uniform attention; three quarters decide.

    Heads of the same name in different runs are different heads, so each is compared in its own run.
    """
    shares, sentences = [], []
    for arm in table.scale.arms:
        rows = table.where(part="heads", subject=arm, measure=REACH).drop_nulls(["seed", "value"])
        uniform = dict(rows.filter(item=UNIFORM).select("seed", "value").iter_rows())
        heads = rows.filter((pl.col("item") != UNIFORM) & pl.col("seed").is_in(list(uniform)))
        reach = heads.select("seed", "value").rows()
        if reach:
            shares.append(sum(value < uniform[seed] for seed, value in reach) / len(reach))
            values, of_uniform = [value for _, value in reach], fmean(uniform.values())
            span = f"{min(values):.0f} to {max(values):.0f} ms"
            sentences.append(f"{label(arm)} {span}, {percent(shares[-1])} of heads below uniform ({of_uniform:.0f})")
    if not shares:
        return Verdict("No heads were measured", "unknown")
    signs = [1 if share >= 0.75 else -1 if share <= 0.25 else 0 for share in shares]
    return Verdict("; ".join(sentences), open_verdict(signs))


CLAIMS: dict[str, Claim] = {
    "as good": as_good,
    "faster": faster,
    "smaller": smaller,
    "lighter": lighter,
    "longer": longer,
    "leading silence": leading_silence,
    "without positions": without_positions,
    "rotated early": rotated_early,
    "near heads": near_heads,
}

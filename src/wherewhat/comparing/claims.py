"""What was published about attention before and after training, and what was measured: it takes untrained weights.

The claims are those of Chen, Varoquaux & Suchanek (arXiv 2310.12864): in masked language models, whatever their
encoding, the positional part of attention becomes local and symmetric.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import polars as pl

from wherewhat.comparing.change_rows import estimate_in
from wherewhat.comparing.model_state import ModelState
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import dependent_mean
from wherewhat.stats.verdict import UNPUBLISHED, ClaimResult, if_unpublished, interval_verdict

HeadIntervals = dict[str, dict[str, tuple[float, float]]]  # by part and score, the interval of a change over heads
PAPER = "arXiv 2310.12864"
ENCODER = "encoder"
LOCAL = f"yes, whatever the encoding (earlier version: 16.2 % in BERT to 20.3 % in ALBERT, at an unknown n; {PAPER})"
SYMMETRIC = f"yes, whatever the encoding (earlier version: 72.7 % in XLNet to 87.9 % in BERT; {PAPER})"
BEFORE = f"{UNPUBLISHED}: values before training are not known ({PAPER})"
OTHER_MODELS = f"{UNPUBLISHED}: only models that see both sides were studied"
SOURCES = ("identical", "unmasked", "delta")  # ways to read the positional part; the first that was measured counts
EVEN = 0.02  # below it, as a share of the way from uniform attention to a head's own token alone, it is nearly uniform
BY_UNIFORM = (
    "Chance is uniform attention over the same number of tokens: locality depends on how many. Less than "
    f"{EVEN:.0%} of the way from there to attending to one's own token alone counts as uniform."
)
BY_NOISE = "Chance is attention from random logits, by both measures."
NEARLY_UNIFORM = "Attention is nearly uniform after training, so it has no sides that could be compared."
NOT_BY_TRAINING = "Untrained weights have as much of it, within the intervals, so training did not bring it about."
MORE_BEFORE = "It is above chance, but untrained weights have more of it."
FROM_UNIFORM = "Before training attention is nearly uniform, which is balanced by itself: balance can only fall."
ONE_DRAW = "A single draw of untrained weights does not show how draws differ; draw more with --draws."
MEASURES_DIFFER = (
    "The published measure uses each row's own scale, so it grows as attention becomes peaked, on whichever side; "
    "`balance` asks how much of the attention is mirrored on the other side."
)
HEADS_DIFFER = (
    "It holds for the mean of these heads, given other words, texts and draws; but heads differ so much from each "
    "other that it cannot be said of heads in general."
)
NOT_KNOWN = (nan, nan)


@dataclass(frozen=True)
class TrainingEffect:
    """One score of the positional part: its mean over heads after training, chance, and by how much it changed."""

    score: str
    part: str
    after: Estimate
    chance: float
    before: float
    change: tuple[float, float]  # the interval of the mean change of these heads
    over_heads: tuple[float, float]  # and over heads
    heads_changed: str  # how many heads clearly changed the way that their mean did

    @property
    def beyond_chance(self) -> tuple[float, float]:
        """The interval of how far the mean is above chance."""
        down, up = self.after.arms
        return self.after.value - down - self.chance, self.after.value + up - self.chance

    @property
    def beyond_uniform(self) -> tuple[float, float]:
        """The same as a share of what there is above chance; of locality, how far attention is from uniform."""
        low, high = self.beyond_chance
        return low / (1 - self.chance), high / (1 - self.chance)

    @property
    def since(self) -> str:
        """Whether it rose or fell from untrained weights, by more than next to nothing."""
        return interval_verdict(*self.change) if abs(self.after.value - self.before) > EVEN else "unknown"

    @property
    def began_uniform(self) -> bool:
        """Whether attention of untrained weights is nearly uniform."""
        return (self.before - self.chance) / (1 - self.chance) < EVEN


@dataclass(frozen=True)
class MeasureVerdict:
    """What one score says about a claim: the measurement, the verdict, and why."""

    ours: str
    verdict: str
    why: tuple[str, ...] = ()  # sentences


def claims_of(table: pl.DataFrame, states: Sequence[ModelState], over_heads: HeadIntervals) -> list[ClaimResult]:
    """The claims about the last of the list compared with untrained weights, if the positional part was measured.

    Symmetry is judged by the published measure and by balance: if they contradict each other it holds in part. Uniform
    attention is symmetric by itself, so symmetry is judged only where attention is clearly not uniform.
    """
    if not states[0].draws or states[-1].copies is None:
        return []
    local = _effects(table, states, ("locality",), over_heads) or _effects(table, states, ("excess",), over_heads)
    sides = _effects(table, states, ("symmetry", "balance"), over_heads)
    claims = []
    if local:
        low, high = local[0].beyond_uniform
        near = _after_training(local[0], interval_verdict(low - EVEN, high - EVEN), BY_UNIFORM, local[0].since)
        claims.append(_claim("After training the positional part of attention is local.", LOCAL, local, [near]))
        changes = [_has_risen(effect) for effect in local]
        claims.append(_claim("It is more local than before training.", BEFORE, local, changes))
    if sides:
        locality = local[0] if local else None
        symmetric = [_is_symmetric(effect, locality) for effect in sides]
        claims.append(_claim("After training it is symmetric.", SYMMETRIC, sides, symmetric))
        from_uniform = locality is not None and locality.began_uniform
        changes = [_has_risen(effect, from_uniform=from_uniform) for effect in sides]
        claims.append(_claim("It is more symmetric than before training.", BEFORE, sides, changes))
    return claims


def _effects(
    table: pl.DataFrame, states: Sequence[ModelState], measures: Sequence[str], over_heads: HeadIntervals
) -> list[TrainingEffect]:
    """The effects to judge by: the first source that has the measures, in the part that sees both sides if any."""
    ours = table.filter((pl.col("model") == states[-1].name) & (pl.col("against") == states[0].name))
    for source in SOURCES:
        effects = [_effect(ours, states, f"{source}.{measure}", over_heads) for measure in measures]
        if None not in effects:
            return [effect for effect in effects if effect is not None]
    return []


def _effect(
    ours: pl.DataFrame, states: Sequence[ModelState], score: str, over_heads: HeadIntervals
) -> TrainingEffect | None:
    rows = ours.filter(pl.col("score") == score)
    whole = rows.filter(pl.col("layer").is_null()).sort(pl.col("part") != ENCODER, maintain_order=True)
    if whole.is_empty():
        return None
    row = whole.row(0, named=True)
    here = (pl.col("score") == score) & (pl.col("part") == row["part"])
    known = states[-1].heads.filter(here & pl.col("value").is_not_null())
    after = dependent_mean([estimate_in(head) for head in known.iter_rows(named=True)])
    chance = float(known["chance"].mean() or 0.0)  # type: ignore[arg-type]
    ends = NOT_KNOWN if states[0].draws == 1 or row["low"] is None else (row["low"], row["high"])
    over = over_heads.get(row["part"], {}).get(score, NOT_KNOWN)
    heads = rows.filter(here & pl.col("head").is_not_null())
    clear = heads.filter(pl.col("low") > 0 if row["change"] > 0 else pl.col("high") < 0)
    heads_changed = f"carried by {len(clear)} of {len(heads)} heads"
    return TrainingEffect(score, row["part"], after, chance, row["before"], ends, over, heads_changed)


def _claim(
    claim: str, published: str, effects: Sequence[TrainingEffect], measures: Sequence[MeasureVerdict]
) -> ClaimResult:
    """One claim from one or several measures: they say the same, or it holds in part."""
    verdicts = [measure.verdict for measure in measures]
    verdict = verdicts[0]
    if len(set(verdicts)) > 1:
        verdict = "in part" if {"agrees", "in part"} & set(verdicts) else "disagrees"
    reasons = list(dict.fromkeys(reason for measure in measures for reason in measure.why))
    reasons += [MEASURES_DIFFER] if verdict == "in part" and len(set(verdicts) - {"unknown"}) > 1 else []
    published = published if effects[0].part == ENCODER else OTHER_MODELS
    verdict = if_unpublished(verdict) if published.startswith(UNPUBLISHED) else verdict
    return ClaimResult(claim, published, "; ".join(measure.ours for measure in measures), verdict, " ".join(reasons))


def _is_symmetric(effect: TrainingEffect, locality: TrainingEffect | None) -> MeasureVerdict:
    """Whether these heads are more symmetric than random ones; uniform attention is so by itself."""
    if locality is None or not locality.beyond_uniform[0] > EVEN:
        return MeasureVerdict(_level(effect), "unknown", (NEARLY_UNIFORM,))
    since = effect.since
    if since == "unknown" and locality.since != "unknown":
        since = "agrees"  # as symmetric as before, but no longer because it is uniform
    verdict = _after_training(effect, interval_verdict(*effect.beyond_chance), BY_NOISE, since)
    fell = since == "disagrees" and locality.began_uniform and effect.score.endswith("balance")
    return replace(verdict, why=(*verdict.why, FROM_UNIFORM)) if fell else verdict


def _after_training(effect: TrainingEffect, verdict: str, chance: str, since: str) -> MeasureVerdict:
    """What is above chance is the work of training only if untrained weights do not have as much of it."""
    if verdict != "agrees" or since == "agrees":
        return MeasureVerdict(_level(effect), verdict, (chance,))
    if since == "disagrees":
        return MeasureVerdict(_level(effect), "in part", (chance, MORE_BEFORE))
    return MeasureVerdict(_level(effect), "unknown", (chance, ONE_DRAW if isnan(effect.change[0]) else NOT_BY_TRAINING))


def _level(effect: TrainingEffect) -> str:
    above = _between("above it by", *effect.beyond_chance)
    return f"`{effect.score}` {effect.after.value:.3f}, chance {effect.chance:.3f}{above}, before {effect.before:.3f}"


def _has_risen(effect: TrainingEffect, *, from_uniform: bool = False) -> MeasureVerdict:
    """By how much these heads changed on average, how many of them changed the same way, and whether heads differ."""
    verdict = interval_verdict(*effect.change)
    interval = _between("difference", *effect.change)
    ours = f"`{effect.score}` {effect.before:.3f} → {effect.after.value:.3f}{interval}, {effect.heads_changed}"
    if verdict == "unknown":
        return MeasureVerdict(ours, verdict, (ONE_DRAW,) if isnan(effect.change[0]) else ())
    differ = (HEADS_DIFFER,) if interval_verdict(*effect.over_heads) == "unknown" else ()
    fell = (FROM_UNIFORM,) if from_uniform and verdict == "disagrees" and effect.score.endswith("balance") else ()
    return MeasureVerdict(ours, verdict, (*differ, *fell))


def _between(words: str, low: float, high: float) -> str:
    """The interval of a difference, in these heads."""
    return "" if isnan(low) else f" ({words} {low:+.3f} to {high:+.3f} in these heads)".replace("-", "−")

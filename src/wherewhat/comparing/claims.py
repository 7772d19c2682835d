"""What was published of attention before and after training, ours beside it. Only fresh weights can answer.

The claims are those of Chen, Varoquaux & Suchanek (arXiv 2310.12864): in masked language models, whatever their
encoding, the positional part of attention becomes local and symmetric.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from wherewhat.comparing.change import Value, mean_value
from wherewhat.comparing.describe import Spread
from wherewhat.comparing.rows import value_of
from wherewhat.comparing.state import State

PAPER = "arXiv 2310.12864"
ENCODER = "encoder"
LOCAL = f"yes, whatever the encoding (earlier version: 16.2 % in BERT to 20.3 % in ALBERT, at an unknown n; {PAPER})"
SYMMETRIC = f"yes, whatever the encoding (earlier version: 72.7 % in XLNet to 87.9 % in BERT; {PAPER})"
BEFORE = f"unknown: values before training are not known ({PAPER})"
UNKNOWN = "unknown: only models that see both sides were studied"
SOURCES = ("identical", "unmasked", "delta")  # ways to read the positional part, the one to judge by first
EVEN = 0.02  # below it, as a part of the way from even attention to looking at oneself alone, attention is nearly even
BY_EVEN = (
    "Chance is attention that looks at every token alike, at as many tokens: locality depends on how many. Less than "
    f"{EVEN:.0%} of the way from there to looking at oneself alone counts as even."
)
BY_NOISE = "Chance is attention from random logits, by both measures."
NEARLY_EVEN = "Attention is nearly even after training, so it has no sides that could be compared."
NO_OTHER = "Fresh weights have as much of it, as far as can be told, so training did not bring it about."
LESS = "It holds beside chance, but fresh weights have more of it."
FROM_EVEN = "Before training attention is nearly even, which is balanced by itself: balance has nowhere to go but down."
ONE_DRAW = "A single draw of fresh weights does not say how draws differ; draw more with --draws."
APART = (
    "The published measure looks at each row's own scale, so that it grows as attention becomes peaked, whichever side "
    "it is on; `balance` asks how much of the attention has its like on the other side."
)
DIFFER = (
    "It holds for the mean of these heads, as far as words, texts and draws decide; but heads differ so much among "
    "themselves that it cannot be said of heads in general."
)
NOT_KNOWN = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Evidence:
    """One score of the positional part: where these heads stand after training, chance, and by how much they moved."""

    score: str
    part: str
    after: Value
    chance: float
    before: float
    change: tuple[float, float]  # the interval of the mean change of these heads
    over_heads: tuple[float, float]  # and over heads
    carried: str  # by how many heads

    @property
    def bidirectional(self) -> bool:
        """Whether it is what the paper is about."""
        return self.part == ENCODER

    @property
    def beyond_chance(self) -> tuple[float, float]:
        """The interval of how far these heads stand above chance."""
        down, up = self.after.reaches
        return self.after.value - down - self.chance, self.after.value + up - self.chance

    @property
    def beyond_even(self) -> tuple[float, float]:
        """The same as a part of what there is above chance; of locality, how far attention is from even."""
        low, high = self.beyond_chance
        return low / (1 - self.chance), high / (1 - self.chance)

    @property
    def since(self) -> str:
        """Whether it rose or fell since fresh weights, by more than next to nothing."""
        return _verdict(*self.change) if abs(self.after.value - self.before) > EVEN else "unknown"

    @property
    def began_even(self) -> bool:
        """Whether attention of fresh weights is nearly even."""
        return (self.before - self.chance) / (1 - self.chance) < EVEN


@dataclass(frozen=True)
class Answer:
    """What is seen of one score, what that says of a claim, and why."""

    told: str
    verdict: str
    why: tuple[str, ...] = ()  # sentences


def claims_of(table: pl.DataFrame, states: Sequence[State], spread: Spread) -> list[dict[str, str]]:
    """Published, ours, verdict: of the last of the list against fresh weights, where the positional part was probed.

    Symmetry is judged by the published measure and by balance: where they contradict each other it holds in part. Even
    attention is symmetric by itself, so that is judged only where attention is clearly not even.
    """
    if not states[0].draws or states[-1].copies is None:
        return []
    local = _evidence(table, states, ("locality",), spread) or _evidence(table, states, ("excess",), spread)
    sides = _evidence(table, states, ("symmetry", "balance"), spread)
    found = []
    if local:
        near = _near(local[0])
        found.append(_claim("After training the positional part of attention is local.", LOCAL, local, [near]))
        moved = [_moved(one) for one in local]
        found.append(_claim("It is more local than before training.", BEFORE, local, moved))
    if sides:
        even = local[0] if local else None
        stands = [_sided(one, even) for one in sides]
        found.append(_claim("After training it is symmetric.", SYMMETRIC, sides, stands))
        moved = [_moved(one, from_even=even is not None and even.began_even) for one in sides]
        found.append(_claim("It is more symmetric than before training.", BEFORE, sides, moved))
    return found


def _evidence(table: pl.DataFrame, states: Sequence[State], measures: Sequence[str], spread: Spread) -> list[Evidence]:
    """What there is to judge by: the first source that has the measures, in the part that sees both sides if any."""
    first, last = states[0], states[-1]
    ours = table.filter((pl.col("model") == last.name) & (pl.col("against") == first.name))
    for source in SOURCES:
        found = [_one(ours, states, f"{source}.{measure}", spread) for measure in measures]
        if None not in found:
            return [one for one in found if one is not None]
    return []


def _one(ours: pl.DataFrame, states: Sequence[State], score: str, spread: Spread) -> Evidence | None:
    rows = ours.filter(pl.col("score") == score)
    whole = rows.filter(pl.col("layer").is_null()).sort(pl.col("part") != ENCODER, maintain_order=True)
    if whole.is_empty():
        return None
    row = whole.row(0, named=True)
    here = (pl.col("score") == score) & (pl.col("part") == row["part"])
    known = states[-1].heads.filter(here & pl.col("value").is_not_null())
    after = mean_value([value_of(one) for one in known.iter_rows(named=True)])
    chance = float(known["chance"].mean() or 0.0)  # type: ignore[arg-type]
    ends = NOT_KNOWN if states[0].draws == 1 or row["low"] is None else (row["low"], row["high"])
    over = spread.get(row["part"], {}).get(score, NOT_KNOWN)
    return Evidence(score, row["part"], after, chance, row["before"], ends, over, _carried(rows.filter(here), row))


def _carried(rows: pl.DataFrame, whole: Mapping[str, Any]) -> str:
    """How many heads surely moved the way that their mean did."""
    heads = rows.filter(pl.col("head").is_not_null())
    sure = heads.filter(pl.col("low") > 0 if whole["change"] > 0 else pl.col("high") < 0)
    return f"carried by {len(sure)} of {len(heads)} heads"


def _claim(claim: str, published: str, found: Sequence[Evidence], answers: Sequence[Answer]) -> dict[str, str]:
    """One line; where nothing was published there is nothing to agree with, only to see."""
    verdicts = [answer.verdict for answer in answers]
    verdict = _together(verdicts)
    whys = list(dict.fromkeys(why for answer in answers for why in answer.why))
    whys += [APART] if verdict == "in part" and len(set(verdicts) - {"unknown"}) > 1 else []
    published = published if found[0].bidirectional else UNKNOWN
    if published.startswith("unknown"):
        verdict = {"agrees": "seen", "disagrees": "not seen"}.get(verdict, verdict)
    ours = "; ".join(answer.told for answer in answers)
    return {"claim": claim, "published": published, "ours": ours, "verdict": verdict, "why": " ".join(whys)}


def _together(verdicts: Sequence[str]) -> str:
    """What several measures say: the same, or in part."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return "in part" if {"agrees", "in part"} & set(verdicts) else "disagrees"


def _near(found: Evidence) -> Answer:
    """Whether these heads look nearer than even attention, more than nearly, and whether training did that."""
    low, high = found.beyond_even
    return _after_training(found, _verdict(low - EVEN, high - EVEN), BY_EVEN, found.since)


def _sided(found: Evidence, even: Evidence | None) -> Answer:
    """Whether these heads are more symmetric than random ones; even attention is so by itself, and tells nothing."""
    if even is None or not even.beyond_even[0] > EVEN:
        return Answer(_stood(found), "unknown", (NEARLY_EVEN,))
    since = found.since
    if since == "unknown" and even.since != "unknown":
        since = "agrees"  # as symmetric as before, but no longer by being as even
    answer = _after_training(found, _verdict(*found.beyond_chance), BY_NOISE, since)
    fell = since == "disagrees" and even.began_even and found.score.endswith("balance")
    return replace(answer, why=(*answer.why, FROM_EVEN)) if fell else answer


def _after_training(found: Evidence, verdict: str, chance: str, since: str) -> Answer:
    """What stands above chance is what training brought about only if fresh weights do not have as much of it."""
    if verdict != "agrees":
        return Answer(_stood(found), verdict, (chance,))
    no_other = ONE_DRAW if np.isnan(found.change[0]) else NO_OTHER
    if since == "agrees":
        return Answer(_stood(found), verdict, (chance,))
    fell = since == "disagrees"
    return Answer(_stood(found), "in part" if fell else "unknown", (chance, LESS if fell else no_other))


def _stood(found: Evidence) -> str:
    between = _between("by", *found.beyond_chance)
    return f"`{found.score}` {found.after.value:.3f}, chance {found.chance:.3f}{between}, before {found.before:.3f}"


def _moved(found: Evidence, *, from_even: bool = False) -> Answer:
    """By how much these heads moved on average, by how many of them that is carried, and whether heads differ."""
    verdict = _verdict(*found.change)
    told = f"`{found.score}` {found.before:.3f} → {found.after.value:.3f}{_between('difference', *found.change)}"
    told += f", {found.carried}"
    if verdict == "unknown":
        return Answer(told, verdict, (ONE_DRAW,) if np.isnan(found.change[0]) else ())
    differ = (DIFFER,) if _verdict(*found.over_heads) == "unknown" else ()
    fell = (FROM_EVEN,) if from_even and verdict == "disagrees" and found.score.endswith("balance") else ()
    return Answer(told, verdict, (*differ, *fell))


def _between(what: str, low: float, high: float) -> str:
    """The interval of a difference, in these heads."""
    return "" if np.isnan(low) else f" ({what} {low:+.3f} to {high:+.3f} in these heads)".replace("-", "−")


def _verdict(low: float, high: float) -> str:
    """Higher is what was claimed; an interval that holds none tells nothing."""
    return "agrees" if low > 0 else "disagrees" if high < 0 else "unknown"

"""What was published of attention before and after training, ours beside it. Only fresh weights can answer.

The claims are those of Chen, Varoquaux & Suchanek (arXiv 2310.12864): in masked language models, whatever their
encoding, the positional part of attention becomes local and symmetric.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wherewhat.comparing.change import student
from wherewhat.comparing.state import State

PAPER = "arXiv 2310.12864"
ENCODER = "encoder"
LOCAL = f"yes, whatever the encoding (earlier version: 16.2 % in BERT to 20.3 % in ALBERT, at an unknown n; {PAPER})"
SYMMETRIC = f"yes, whatever the encoding (earlier version: 72.7 % in XLNet to 87.9 % in BERT; {PAPER})"
BEFORE = f"unknown: values before training are not known ({PAPER})"
UNKNOWN = "unknown: only models that see both sides were studied"
SOURCES = ("identical", "unmasked", "delta")  # ways to read the positional part, the one to judge by first
BY_EVEN = "Chance is attention that looks at every token alike, at as many tokens: locality depends on how many."
BY_NOISE = "Chance is attention from random logits, by both measures."
APART = (
    "The published measure looks at each row's own scale, so that it grows as attention becomes peaked, whichever side "
    "it is on; `balance` asks how much of the attention has its like on the other side."
)

DIFFER = (
    "It holds for these heads on average, as far as words and texts decide; but heads differ so much among themselves "
    "that it cannot be said of heads in general."
)


@dataclass(frozen=True)
class Evidence:
    """One score of the positional part: its values after training, chance, and its change."""

    score: str
    part: str
    after_H: list[float]
    chance: float
    change: dict[str, Any]  # the row over all heads
    these: tuple[float, float]  # how sure the mean of these very heads is: the mean of their own intervals

    @property
    def bidirectional(self) -> bool:
        """Whether it is what the paper is about."""
        return self.part == ENCODER


Ask = Callable[[Evidence], tuple[str, str]]  # what is seen, and what that says of the claim


def claims_of(table: pl.DataFrame, states: Sequence[State]) -> list[dict[str, str]]:
    """Published, ours, verdict: of the last of the list against fresh weights, where the positional part was probed.

    Symmetry is judged by the published measure and by balance: where they contradict each other it holds in part.
    """
    if not states[0].draws or states[-1].copies is None:
        return []
    local = _evidence(table, states, ("locality",))
    symmetric = _evidence(table, states, ("symmetry", "balance"))
    found = []
    if local:
        found.append(_claim("After training the positional part of attention is local.", LOCAL, local, _stands))
        found.append(_claim("It is more local than before training.", BEFORE, local, _moved))
    if symmetric:
        found.append(_claim("After training it is symmetric.", SYMMETRIC, symmetric, _stands))
        found.append(_claim("It is more symmetric than before training.", BEFORE, symmetric, _moved))
    return found


def _evidence(table: pl.DataFrame, states: Sequence[State], measures: Sequence[str]) -> list[Evidence]:
    """What there is to judge by: the first source that has the measures, in the part that sees both sides if any."""
    first, last = states[0], states[-1]
    ours = table.filter((pl.col("model") == last.name) & (pl.col("against") == first.name))
    for source in SOURCES:
        found = [_one(ours, last, f"{source}.{measure}") for measure in measures]
        if None not in found:
            return [one for one in found if one is not None]
    return []


def _one(ours: pl.DataFrame, last: State, score: str) -> Evidence | None:
    rows = ours.filter(pl.col("score") == score)
    whole = rows.filter(pl.col("layer").is_null()).sort(pl.col("part") != ENCODER, maintain_order=True)
    if whole.is_empty():
        return None
    change = whole.row(0, named=True)
    here = pl.col("part") == change["part"]
    chances = last.heads.filter((pl.col("score") == score) & here)["chance"].drop_nulls()
    heads = rows.filter(pl.col("head").is_not_null() & here)
    ends = heads.select(pl.col("low", "high").fill_null(float("nan")).mean()).row(0)
    chance = float(chances.mean() or 0.0)  # type: ignore[arg-type]
    return Evidence(score, change["part"], heads["after"].to_list(), chance, change, ends)


def _claim(claim: str, published: str, found: Sequence[Evidence], ask: Ask) -> dict[str, str]:
    """One line; where nothing was published there is nothing to agree with, only to see."""
    answers = [ask(one) for one in found]
    verdicts = [verdict for _, verdict in answers]
    verdict = _together(verdicts)
    chance = "" if ask is _moved else BY_EVEN if len(found) == 1 else BY_NOISE
    differ = DIFFER if "in part" in verdicts else ""
    apart = APART if verdict == "in part" and len(set(verdicts)) > 1 else ""
    why = " ".join(filter(None, (chance, differ, apart)))
    if not found[0].bidirectional:
        published = UNKNOWN
    if published.startswith("unknown"):
        verdict = {"agrees": "seen", "disagrees": "not seen"}.get(verdict, verdict)
    ours = "; ".join(told for told, _ in answers)
    return {"claim": claim, "published": published, "ours": ours, "verdict": verdict, "why": why}


def _together(verdicts: Sequence[str]) -> str:
    """What several measures say: the same, or in part."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return "in part" if {"agrees", "in part"} & set(verdicts) else "disagrees"


def _stands(found: Evidence) -> tuple[str, str]:
    """Where heads stand beside chance after training, and what that says of the claim."""
    mean, low, high = student(np.array(found.after_H) - found.chance)
    told = f"`{found.score}` {mean + found.chance:.3f}, chance {found.chance:.3f}{_between(low, high)}"
    return told, _verdict(low, high)


def _moved(found: Evidence) -> tuple[str, str]:
    """By how much heads moved, and what that says of the claim; of these heads alone it may be true in part."""
    row = found.change
    low, high = (float("nan") if row[name] is None else row[name] for name in ("low", "high"))
    verdict = _verdict(low, high)
    if verdict == "unknown" and found.these[0] > 0:
        verdict = "in part"
    return f"`{found.score}` {row['before']:.3f} → {row['after']:.3f}{_between(low, high)}", verdict


def _between(low: float, high: float) -> str:
    """The interval of a difference."""
    return "" if np.isnan(low) else f" (difference {low:+.3f} to {high:+.3f} over heads)".replace("-", "−")


def _verdict(low: float, high: float) -> str:
    """Higher is what was claimed; an interval that holds none tells nothing."""
    return "agrees" if low > 0 else "disagrees" if high < 0 else "unknown"

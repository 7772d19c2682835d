"""What a benchmark gives: one ratio, several times, with its bound."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measurement:
    """A ratio taken several times. `bound` is the most it may be, or the least if `at_least`; None: only shown."""

    name: str
    ratios: tuple[float, ...]
    bound: float | None = None
    at_least: bool = False
    note: str = ""
    figures: Mapping[str, object] = field(default_factory=dict)  # all that was measured on the way to the ratio

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool | None:
        if self.bound is None:
            return None
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound

    def record(self) -> dict[str, object]:
        """The line of latest.json."""
        spread = {"ratio": self.ratio, "low": min(self.ratios), "high": max(self.ratios)}
        return {"name": self.name, **spread, "bound": self.bound, "met": self.met, "note": self.note}

    def line(self) -> str:
        """The line on the screen."""
        bound = "" if self.bound is None else f"  {'≥' if self.at_least else '≤'} {self.bound:g}"
        verdict = {True: "  met", False: "  MISSED", None: ""}[self.met]
        spread = f"{self.ratio:8.3g} ×  ({min(self.ratios):.3g} to {max(self.ratios):.3g})"
        return f"{self.name:<62}{spread}{bound}{verdict}{'  ' + self.note if self.note else ''}"


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def side_by_side(
    ours: Callable[[], object], theirs: Callable[[], object], *, repeats: int
) -> tuple[tuple[float, float], ...]:
    """Seconds of both, taken in turn so that a noisy machine disturbs both alike; one round of each warms up."""
    ours(), theirs()
    return tuple((seconds(ours), seconds(theirs)) for _ in range(repeats))

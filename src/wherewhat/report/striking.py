"""Choose the few heads worth a look: for every score the one farthest from chance, if its interval is clear of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wherewhat.report.measured import Measured, Score
from wherewhat.report.page import Columns

FEW = 6
TELLING = 0.05  # of the range: nearer to chance than this, a head is not striking however sure we are of it


@dataclass(frozen=True)
class Notice:
    """One head and the score it stands out by; `strength` is its distance from chance as a share of the range."""

    name: str
    part: str
    score: Score
    value: float
    low: float | None
    high: float | None
    chance: float
    strength: float
    also: Sequence[str] = ()  # other scores it is the farthest in

    @property
    def above(self) -> bool:
        """Whether it stands out by a high value."""
        return self.value > self.chance


def striking(run: Measured) -> list[Notice]:
    """The strongest heads first, each once, with every score it leads.

    A head that leads several is told by what it does much of, before what it does little of.
    """
    leaders = [notice for score in run.answered if (notice := _leader(score, run.heads))]
    leaders.sort(key=lambda notice: (not notice.above, -notice.strength, notice.score.name))
    best: dict[str, Notice] = {}
    for notice in leaders:
        best.setdefault(notice.name, notice)
    strongest = sorted(best.values(), key=lambda notice: -notice.strength)
    return [_with_others(notice, leaders) for notice in strongest[:FEW]]


def _with_others(notice: Notice, leaders: Sequence[Notice]) -> Notice:
    others = [other.score.name for other in leaders if other.name == notice.name and other.score != notice.score]
    return replace(notice, also=tuple(others))


def _leader(score: Score, heads: Columns) -> Notice | None:
    found = [notice for row in range(len(heads["name"])) if (notice := _notice(score, heads, row))]
    return max(found, key=lambda notice: notice.strength, default=None)


def _notice(score: Score, heads: Columns, row: int) -> Notice | None:
    """What one head is for one score, if its interval is clear of chance. Without one (a single text) none is."""
    value, low, high, chance = (heads[f"{name}_{score.key}"][row] for name in ("value", "low", "high", "chance"))
    if value is None or chance is None or low is None or high is None or low <= chance <= high:
        return None
    strength = abs(value - chance) / ((score.range[1] - score.range[0]) or 1)
    if strength < TELLING:
        return None
    return Notice(heads["name"][row], heads["part"][row], score, value, low, high, chance, strength)

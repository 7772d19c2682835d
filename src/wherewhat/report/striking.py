"""Choose the few heads worth a look: the one that goes most by place, the one that goes most by content, and for every
other score the head farthest from chance, if its interval is clear of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wherewhat.report.kinds import ATTENTION
from wherewhat.report.measured import Measured, Score
from wherewhat.report.page import Columns

FEW = 6
TELLING = 0.05  # of the range: nearer to chance than this, a head is not striking however sure we are of it
LEADS = {  # by the scores that answer the question of this page; the second two where position sits in the hidden state
    "position_share": "goes most by place",
    "symbol_share": "goes most by content",
    "input.position_share": "goes most by place",
    "input.symbol_share": "goes most by content",
}


@dataclass(frozen=True)
class Notice:
    """One head and the score it stands out by; `strength` is its distance from chance as a share of the range."""

    name: str
    part: str
    score: Score
    value: float
    low: float | None
    high: float | None
    chance: float | None
    strength: float
    also: Sequence[str] = ()  # other scores it is the farthest in
    lead: str = ""  # in plain words, for the heads that answer where or what

    @property
    def above(self) -> bool:
        """Whether it stands out by a high value."""
        return self.chance is None or self.value > self.chance

    @property
    def clear(self) -> bool:
        """Whether its interval is clear of chance; without one (a single text) it is not."""
        if self.chance is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.chance <= self.high


def striking(run: Measured) -> list[Notice]:
    """First the heads that lead by place and by content, then the strongest others, each once with all it leads.

    A head that leads several is told by what it does much of, before what it does little of.
    """
    first = [notice for name in LEADS for score in run.find(name) if (notice := _most(score, run.heads))]
    leaders = [notice for score in run.answered if (notice := _leader(score, run.heads))]
    leaders.sort(key=lambda notice: (not notice.above, -notice.strength, notice.score.name))
    best: dict[str, Notice] = {}
    for notice in leaders:
        best.setdefault(notice.name, notice)
    strongest = sorted(best.values(), key=lambda notice: -notice.strength)
    shown = {notice.name for notice in first}
    rest = [notice for notice in strongest if notice.name not in shown]
    return [_with_others(notice, leaders) for notice in [*first, *rest][:FEW]]


def nobody_stands_out(run: Measured) -> str:
    """Why no head is worth a look before others."""
    found = [notice for score in run.answered if _asked(score) for notice in _notices(score, run.heads)]
    found = [notice for notice in found if notice.chance is not None]
    if not found:
        return "None of the scores asked for has a chance level that heads could be held against."
    if not any(notice.low is not None and notice.high is not None for notice in found):
        return "There are no intervals, so no head can be told from chance: give two texts or more."
    if any(notice.clear for notice in found):
        return (
            f"No head is far from chance: where an interval is clear of it, the head is nearer to it than "
            f"{100 * TELLING:g} % of the score's range."
        )
    return "No head's interval is clear of chance in any score of attention; more texts would narrow the intervals."


def _with_others(notice: Notice, leaders: Sequence[Notice]) -> Notice:
    others = [other.score.name for other in leaders if other.name == notice.name and other.score != notice.score]
    return replace(notice, also=tuple(others))


def _most(score: Score, heads: Columns) -> Notice | None:
    """The head with the highest value, however near to chance."""
    found = _notices(score, heads)
    most = max(found, key=lambda notice: notice.value, default=None)
    return most and replace(most, lead=LEADS[score.name])


def _leader(score: Score, heads: Columns) -> Notice | None:
    """The head farthest from chance, if any is clear of it."""
    if not _asked(score):
        return None
    told = [notice for notice in _notices(score, heads) if notice.clear and notice.strength >= TELLING]
    return max(told, key=lambda notice: notice.strength, default=None)


def _asked(score: Score) -> bool:
    """Whether heads can stand out by it.

    Published scores are not asked: their chance is flat attention, and every head that looks somewhere is far from it.
    """
    return score.kind == ATTENTION and None not in score.ends


def _notices(score: Score, heads: Columns) -> list[Notice]:
    """What every head that has a value is for one score."""
    return [notice for row in range(len(heads["name"])) if (notice := _notice(score, heads, row))]


def _notice(score: Score, heads: Columns, row: int) -> Notice | None:
    """What one head is for one score, if it has a value."""
    value, low, high, chance = (heads[f"{name}_{score.key}"][row] for name in ("value", "low", "high", "chance"))
    if value is None:
        return None
    strength = 0.0 if chance is None else abs(value - chance) / ((score.range[1] - score.range[0]) or 1)
    return Notice(heads["name"][row], heads["part"][row], score, value, low, high, chance, strength)

"""Choose the few heads worth a look: the one that goes most by place, the one that goes most by content, and for every
other score the head farthest from chance, if its interval is clear of it. A head that rests on the first token is told
as that, never as one that goes by place or by content."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wherewhat.report.kinds import ATTENTION
from wherewhat.report.measured import Counts, Measured, Score
from wherewhat.report.views import lean_of, sinks

FEW = 6
TELLING = 0.05  # of the range: nearer to chance than this, a head is not striking however sure we are of it
BY_PLACE, BY_CONTENT, RESTS = "goes most by place", "goes most by content", "rests on the first token"
# Of these shares the first that were measured answer the question of the page.
LEADING = ("attended.", "", "input.", "input.shift.")


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
    also: Sequence[tuple[str, bool]] = ()  # other scores it is the farthest in, and whether above chance
    lead: str = ""  # in plain words, for the heads that answer where or what
    untrained: float | None = None
    rests: Counts = field(default_factory=Counts)
    sink: float | None = None  # how much of its attention the first token gets, if that is most of it

    @property
    def above(self) -> bool:
        """Whether it stands out by a high value."""
        return self.chance is None or self.value > self.chance

    @property
    def clear(self) -> bool:
        """Whether its interval is clear of chance; without one (a single text) nobody knows."""
        if self.chance is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.chance <= self.high

    @property
    def unclear(self) -> bool:
        """Whether its interval holds chance, so that it is not told from it."""
        known = self.chance is not None and self.low is not None and self.high is not None
        return known and not self.clear


def striking(run: Measured) -> list[Notice]:
    """First the heads that lead by place and by content, then the strongest others, each once with all it leads.

    A head that leads several is told by what it does much of, before what it does little of.
    """
    first, farthest = leading(run), leaders(run)
    best: dict[str, Notice] = {}
    for notice in farthest:
        best.setdefault(notice.name, notice)
    strongest = sorted(best.values(), key=lambda notice: -notice.strength)
    shown = {notice.name for notice in first}
    rest = [notice for notice in strongest if notice.name not in shown]
    return [_with_others(notice, farthest) for notice in [*first, *rest][:FEW]]


def leaders(run: Measured) -> list[Notice]:
    """For every score the head farthest from chance, what heads do much of before what they do little of."""
    found = [notice for score in run.answered if (notice := _leader(score, run))]
    return sorted(found, key=lambda notice: (not notice.above, -notice.strength, notice.score.name))


def nobody_stands_out(run: Measured) -> str:
    """Why no head is worth a look before others."""
    found = [notice for score in run.answered if _asked(score) for notice in notices(score, run)]
    found = [notice for notice in found if notice.chance is not None]
    if not found:
        return "None of the scores asked for has a chance level that heads could be held against."
    if not any(notice.low is not None and notice.high is not None for notice in found):
        return "There are no intervals, so nothing says how sure a number is: give two texts or more."
    if any(notice.clear for notice in found):
        return (
            f"No head is far from chance: where an interval is clear of it, the head is nearer to it than "
            f"{100 * TELLING:g} % of the score's range."
        )
    return "No head's interval is clear of chance in any score of attention; more texts would narrow the intervals."


def _with_others(notice: Notice, leaders: Sequence[Notice]) -> Notice:
    others = [
        (other.score.name, other.above)
        for other in leaders
        if other.name == notice.name and other.score != notice.score
    ]
    return replace(notice, also=tuple(others))


def leading(run: Measured) -> list[Notice]:
    """The head that goes most by place and the one that goes most by content, where there are such heads.

    It is said only of a head that clearly goes more by the one than by the other, and of none that rests on the first
    token.
    """
    both = next((found for prefix in LEADING if (found := run.find(*_pair(prefix)))), None)
    if both is None:
        return []
    resting, sides = sinks(run), {name: lean_of(run, both, row).side for row, name in _answered(run, both)}
    told = []
    for words, score, side in ((BY_PLACE, both[0], 1), (BY_CONTENT, both[1], -1)):
        its = [one for one in notices(score, run) if one.name not in resting and sides.get(one.name) == side]
        most = max(its, key=lambda notice: notice.value, default=None)
        told += [replace(most, lead=words)] if most else []
    return told


def _answered(run: Measured, scores: Sequence[Score]) -> list[tuple[int, str]]:
    """The heads that have a value in each of some scores, with their rows."""
    columns = [run.heads[f"value_{score.key}"] for score in scores]
    return [(row, name) for row, name in enumerate(run.heads["name"]) if all(col[row] is not None for col in columns)]


def _pair(prefix: str) -> tuple[str, str]:
    return f"{prefix}position_share", f"{prefix}symbol_share"


def _leader(score: Score, run: Measured) -> Notice | None:
    """The head farthest from chance, if any is clear of it."""
    if not _asked(score):
        return None
    told = [notice for notice in notices(score, run) if notice.clear and notice.strength >= TELLING]
    farthest = max(told, key=lambda notice: notice.strength, default=None)
    if farthest is None or score.name != "sink" or farthest.sink is None:
        return farthest
    return replace(farthest, lead=RESTS)


def _asked(score: Score) -> bool:
    """Whether heads can stand out by it.

    Published scores are not asked: they are one of the views of where against what, told beside the others.
    """
    return score.kind == ATTENTION and None not in score.ends


def notices(score: Score, run: Measured) -> list[Notice]:
    """What every head that has a value is for one score."""
    resting, sink = sinks(run), next(iter(run.find("sink")), None)
    found = [_notice(score, run, row) for row in range(len(run.heads["name"]))]
    return [
        notice
        if sink is None or notice.name not in resting
        else replace(notice, sink=run.heads[f"value_{sink.key}"][resting[notice.name]])
        for notice in found
        if notice
    ]


def _notice(score: Score, run: Measured, row: int) -> Notice | None:
    """What one head is for one score, if it has a value."""
    names = ("value", "low", "high", "chance", "untrained")
    value, low, high, chance, untrained = (run.heads[f"{name}_{score.key}"][row] for name in names)
    if value is None:
        return None
    strength = 0.0 if chance is None else abs(value - chance) / ((score.range[1] - score.range[0]) or 1)
    of_head = run.heads["name"][row], run.heads["part"][row]
    found = Notice(*of_head, score, value, low, high, chance, strength)
    return replace(found, untrained=untrained, rests=run.rests(score, row))

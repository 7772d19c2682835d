"""Choose the few heads to show first: the one decided most by position, the one decided most by content, and for every
score of attention the head farthest from chance, if its interval excludes chance. An attention sink on the first token
is reported as that, never as decided by position or by content."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wherewhat.report.head_table import Counts, HeadTable, ScoreView
from wherewhat.report.kinds import ATTENTION
from wherewhat.report.verdicts import preference_of, sinks

FEW = 6
TELLING = 0.05  # of the range: a head nearer to chance is not notable, however narrow its interval
BY_POSITION, BY_CONTENT, SINK = "most positional", "most content-based", "attention sink"
# The first of these shares that were measured answer the question of the page.
LEADING = ("attended.", "", "input.", "input.shift.")


@dataclass(frozen=True)
class HeadScore:
    """One head's value of one score; `strength` is its distance from chance as a share of the range."""

    name: str
    part: str
    score: ScoreView
    value: float
    low: float | None
    high: float | None
    chance: float | None
    strength: float
    also: Sequence[tuple[str, bool]] = ()  # other scores in which this head is the farthest, and whether above chance
    lead: str = ""  # in words, for the heads that answer position or content
    untrained: float | None = None
    rests: Counts = field(default_factory=Counts)
    sink: float | None = None  # the share of its attention on the first token, if that is most of it

    @property
    def above(self) -> bool:
        """Whether it is above chance."""
        return self.chance is None or self.value > self.chance

    @property
    def clear(self) -> bool:
        """Whether its interval excludes chance; without an interval (a single text) that is not known."""
        if self.chance is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.chance <= self.high

    @property
    def unclear(self) -> bool:
        """Whether its interval includes chance."""
        known = self.chance is not None and self.low is not None and self.high is not None
        return known and not self.clear


def notable_heads(run: HeadTable) -> list[HeadScore]:
    """First the heads decided most by position and by content, then the strongest others, each head once.

    A head that is the farthest in several scores is shown by one in which it is above chance, if there is one.
    """
    first, farthest = leading_heads(run), farthest_heads(run)
    best: dict[str, HeadScore] = {}
    for head in farthest:
        best.setdefault(head.name, head)
    shown = {head.name for head in first}
    strongest = sorted(best.values(), key=lambda head: -head.strength)
    chosen = [*first, *(head for head in strongest if head.name not in shown)][:FEW]
    return [replace(head, also=_others(head, farthest)) for head in chosen]


def _others(head: HeadScore, farthest: Sequence[HeadScore]) -> tuple[tuple[str, bool], ...]:
    mine = [other for other in farthest if other.name == head.name and other.score != head.score]
    return tuple((other.score.name, other.above) for other in mine)


def farthest_heads(run: HeadTable) -> list[HeadScore]:
    """For every score of attention the head farthest from chance, those above chance first."""
    farthest = [head for score in run.answered if (head := _farthest(score, run))]
    return sorted(farthest, key=lambda head: (not head.above, -head.strength, head.score.name))


def _farthest(score: ScoreView, run: HeadTable) -> HeadScore | None:
    """The head farthest from chance, if any interval excludes it."""
    if not _ranks_heads(score):
        return None
    clear = [head for head in head_scores(score, run) if head.clear and head.strength >= TELLING]
    farthest = max(clear, key=lambda head: head.strength, default=None)
    if farthest is None or score.name != "sink" or farthest.sink is None:
        return farthest
    return replace(farthest, lead=SINK)


def _ranks_heads(score: ScoreView) -> bool:
    """Whether heads can be notable by this score.

    Published scores are left out: they are shown beside the other measurements of position against content.
    """
    return score.kind == ATTENTION and None not in score.ends


def why_no_head_is_notable(run: HeadTable) -> str:
    """Why no head is shown before the others."""
    scored = [head for score in run.answered if _ranks_heads(score) for head in head_scores(score, run)]
    scored = [head for head in scored if head.chance is not None]
    if not scored:
        return "No head is singled out: none of the chosen scores has a chance level to compare with."
    if not any(head.low is not None and head.high is not None for head in scored):
        return (
            "No head is singled out: without intervals, nothing says how reliable a number is. Give two texts or more."
        )
    if any(head.clear for head in scored):
        return (
            "No head is far from chance: where an interval excludes chance, the head differs from it by less than "
            f"{100 * TELLING:g} % of the score's range."
        )
    return "No head's interval excludes chance in any score of attention; more texts would narrow the intervals."


def leading_heads(run: HeadTable) -> list[HeadScore]:
    """The heads decided most by position and most by content, where there are such heads.

    Only a head that clearly favours the one over the other qualifies, and no attention sink.
    """
    names = ((f"{prefix}position_share", f"{prefix}symbol_share") for prefix in LEADING)
    both = next((shares for pair in names if (shares := run.find(*pair))), None)
    if both is None:
        return []
    columns, resting = [run.heads[f"value_{score.key}"] for score in both], sinks(run)
    sides = {
        name: preference_of(run, both, row).side
        for row, name in enumerate(run.heads["name"])
        if name not in resting and all(column[row] is not None for column in columns)
    }
    leading = []
    for words, score, side in ((BY_POSITION, both[0], 1), (BY_CONTENT, both[1], -1)):
        candidates = [head for head in head_scores(score, run) if sides.get(head.name) == side]
        most = max(candidates, key=lambda head: head.value, default=None)
        leading += [replace(most, lead=words)] if most else []
    return leading


def head_scores(score: ScoreView, run: HeadTable) -> list[HeadScore]:
    """One score for every head that has a value."""
    resting, sink = sinks(run), next(iter(run.find("sink")), None)
    scored = [head for row in range(len(run.heads["name"])) if (head := _head_score(score, run, row))]
    if sink is None:
        return scored
    on_first = {name: run.heads[f"value_{sink.key}"][row] for name, row in resting.items()}
    return [replace(head, sink=on_first.get(head.name)) for head in scored]


def _head_score(score: ScoreView, run: HeadTable, row: int) -> HeadScore | None:
    """The score of one head, if it has a value."""
    names = ("value", "low", "high", "chance", "untrained")
    value, low, high, chance, untrained = (run.heads[f"{name}_{score.key}"][row] for name in names)
    if value is None:
        return None
    strength = 0.0 if chance is None else abs(value - chance) / ((score.range[1] - score.range[0]) or 1)
    of_head = run.heads["name"][row], run.heads["part"][row]
    rests = run.rests(score, row)
    return HeadScore(*of_head, score, value, low, high, chance, strength, untrained=untrained, rests=rests)

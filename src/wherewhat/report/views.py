"""The views of where against what that one run has of the same head, and on which heads they disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from wherewhat.report.measured import Measured, Score
from wherewhat.report.numbers import short
from wherewhat.report.page import Columns
from wherewhat.report.shares import Pair, Triple

CLEAR = 0.1  # place and content must lie this far apart before a view takes a side
STRONG = 0.5  # so far apart that a view of the same kind which takes no side contradicts it
HALF = 0.5  # of three shares: more than this is most of it
SINK = 0.5  # of its attention on the first token: what decides where the rest goes is no longer what the head does

SWAPPED = "The published scores rest on the swaps with the widest gap in attention."
WHY = {
    ("attended", "shares"): "Keys that get no attention dominate when all keys count alike.",
    ("attended", "published"): SWAPPED,
    ("shares", "published"): "The published scores look only at keys that get attention, the other view at all alike.",
    ("input", "shift"): "What is read off neighbours counts as content only where they move along.",
    ("input", "moved"): SWAPPED,
    ("shift", "moved"): SWAPPED,
}
ACROSS = "One exchanges keys inside a layer, the other moves tokens at the input of the model."


@dataclass(frozen=True)
class View:
    """One way to hold place against content: its scores, place first, and what it is called."""

    name: str
    label: str
    scores: Sequence[Score]  # place, content and, where the three are shares of one whole, the rest
    told: str

    @property
    def about(self) -> dict[str, Any]:
        """As the widgets know it."""
        keys = [score.key for score in self.scores]
        words = ["place", "content", "other" if self.name in ("input", "shift") else "together"]
        return {"name": self.name, "label": self.label, "keys": keys, "words": words, "told": self.told}

    @property
    def whole(self) -> bool:
        """Whether its scores are shares of one whole."""
        return len(self.scores) == 3


@dataclass(frozen=True)
class Lean:
    """How far one view of a head leans to place (above 0) or to content (below), and whether its intervals agree."""

    view: str
    place: float
    content: float
    apart: bool = True  # the intervals of the two do not overlap, or there are none
    whole: bool = True

    @property
    def by(self) -> float:
        return self.place - self.content

    @property
    def side(self) -> int:
        """1 by place, -1 by content, 0 where it takes no side."""
        return 0 if abs(self.by) < CLEAR or not self.apart else 1 if self.by > 0 else -1


def views(triples: Sequence[Triple], pairs: Sequence[Pair], moved: Sequence[Pair]) -> list[View]:
    """What this run has, first what decides where heads look."""
    found = [View(one.name, one.label, one.scores, one.told) for one in triples]
    for name, label, those in (("published", "Published", pairs), ("moved", "Published, tokens moved", moved)):
        for one in those[:1]:
            told = f"Cosines of attention before and after swaps, {one.label}: a flat head is high on both."
            found.append(View(name, label, (one.positional, one.symbolic), told))
    return found


def leans(run: Measured, views: Sequence[View], row: int) -> list[Lean]:
    """How each view of one head leans, where it has a value."""
    there = [view for view in views if None not in (run.heads[f"value_{score.key}"][row] for score in view.scores[:2])]
    return [replace(lean_of(run, view.scores, row), view=view.name, whole=view.whole) for view in there]


def lean_of(run: Measured, scores: Sequence[Score], row: int) -> Lean:
    """How one head leans by two scores that it has values for, place first."""
    place, content = (_numbers(run.heads, score, row) for score in scores[:2])
    return Lean("", float(place[0] or 0), float(content[0] or 0), _apart(place[1:], content[1:]))


def disagreement(leans: Sequence[Lean]) -> tuple[Lean, Lean] | None:
    """The first two views of a head that contradict each other, if any do.

    They do where they take opposite sides; and of two divisions of one whole, where one leans by a half or more and
    the other takes no side. A published pair that takes no side contradicts nothing: flat heads are high on both.
    """
    for one, other in combinations(leans, 2):
        if one.side * other.side < 0:
            return one, other
        if one.whole and other.whole and 0 in (one.side, other.side) and max(abs(one.by), abs(other.by)) >= STRONG:
            return one, other
    return None


def contradictions(run: Measured, views: Sequence[View]) -> Columns:
    """The heads on which views disagree, the plainest first: a sentence that says how and one that says why."""
    labels = {view.name: view.label for view in views}
    found = {name: disagreement(leans(run, views, row)) for row, name in enumerate(run.heads["name"])}
    mixed = sorted(((name, pair) for name, pair in found.items() if pair), key=lambda one: -_gap(*one[1]))
    rows = [(name, _sides(pair, labels), _why(*pair)) for name, pair in mixed]
    return {title: [row[at] for row in rows] for at, title in enumerate(("name", "how", "why"))}


def _gap(one: Lean, other: Lean) -> float:
    """How far two views of a head lie apart."""
    return abs(one.by - other.by)


def _why(one: Lean, other: Lean) -> str:
    """Why two views of a head may differ: by what they look at, or by where contents change places."""
    return WHY.get((one.view, other.view)) or WHY.get((other.view, one.view)) or ACROSS


VERDICTS = (
    "",
    "Rests on the first token",
    "Looks mostly by place",
    "Looks mostly by content",
    "Looks mostly by {}",
    "Looks more by place than by content",
    "Looks more by content than by place",
    "Neither place nor content leads",
)


def verdicts(run: Measured, triples: Sequence[Triple]) -> list[int]:
    """For every head which of the verdicts holds, by the first three shares that there are; 0 is none.

    Mostly is more than half, with the whole interval where there is one.
    """
    resting = sinks(run)
    rows = range(len(run.heads["name"]))
    return [1 if run.heads["name"][row] in resting else _verdict(run, triples, row) for row in rows]


def _verdict(run: Measured, triples: Sequence[Triple], row: int) -> int:
    if not triples:
        return 0
    shares = [_numbers(run.heads, score, row) for score in triples[0].scores]
    for verdict, (value, low, _) in enumerate(shares, start=2):
        if value is None:
            return 0
        if (value if low is None else low) > HALF:
            return verdict
    return {1: 5, -1: 6, 0: 7}[lean_of(run, triples[0].scores, row).side]


def sinks(run: Measured) -> dict[str, int]:
    """The heads that rest on the first token, by name, with their row in the table."""
    score = next(iter(run.find("sink")), None)
    if score is None:
        return {}
    values = run.heads[f"value_{score.key}"]
    return {name: row for row, name in enumerate(run.heads["name"]) if values[row] is not None and values[row] >= SINK}


def _sides(pair: Sequence[Lean], labels: dict[str, str]) -> str:
    sides = ("more by content than by place", "undecided", "more by place than by content")
    told = [
        f"{labels[lean.view]}: {sides[lean.side + 1]} ({short(lean.place)} place, {short(lean.content)} content)"
        for lean in pair
    ]
    return f"{'; '.join(told)}."


def _apart(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Whether two intervals do not overlap; where there are none, nothing speaks against it."""
    if one[0] is None or one[1] is None or other[0] is None or other[1] is None:
        return True
    return one[0] > other[1] or other[0] > one[1]


def _numbers(heads: Columns, score: Score, row: int) -> list[float | None]:
    return [heads[f"{name}_{score.key}"][row] for name in ("value", "low", "high")]

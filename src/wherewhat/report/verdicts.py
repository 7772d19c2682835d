"""What decides the attention of each head, position or content, and on which heads the measurements disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from wherewhat.formatting import short
from wherewhat.report.head_table import HeadTable, ScoreView
from wherewhat.report.page import Columns
from wherewhat.report.shares import PublishedPair, ShareTriple

CLEAR = 0.1  # position and content must differ by this much before a measurement takes a side
STRONG = 0.5  # so large a difference that shares which take no side contradict it
HALF = 0.5  # of three shares: more than this is most of it
SINK = 0.5  # of a head's attention on the first token: what decides the rest no longer describes the head

SWAPPED = "The published scores are dominated by the swaps with the largest difference in attention."
WHY = {
    ("attended", "shares"): "When all keys count equally, keys that receive no attention dominate.",
    ("attended", "published"): SWAPPED,
    ("shares", "published"): "The published scores see only keys that receive attention; these shares count all keys.",
    ("input", "shift"): "What a head reads from neighbouring tokens counts as content only if they move along.",
    ("input", "moved"): SWAPPED,
    ("shift", "moved"): SWAPPED,
}
ACROSS = "One swaps keys inside a layer; the other moves tokens at the model's input."
VERDICTS = (
    "",
    "Attention sink: most of its attention goes to the first token",
    "Attention is decided mostly by position",
    "Attention is decided mostly by content",
    "Attention is decided mostly by {}",
    "Attention is decided more by position than by content",
    "Attention is decided more by content than by position",
    "Neither position nor content dominates",
)


@dataclass(frozen=True)
class HeadView:
    """One measurement of position against content: its scores, position first, and its label."""

    name: str
    label: str
    scores: Sequence[ScoreView]  # position, content and, where the three are shares of one whole, the rest
    note: str

    @property
    def about(self) -> dict[str, Any]:
        """The same as the widgets read it."""
        keys = [score.key for score in self.scores]
        words = ["position", "content", "other" if self.name in ("input", "shift") else "both"]
        return {"name": self.name, "label": self.label, "keys": keys, "words": words, "note": self.note}

    @property
    def whole(self) -> bool:
        """Whether its scores are shares of one whole."""
        return len(self.scores) == 3


@dataclass(frozen=True)
class Preference:
    """How far one measurement of a head favours position (above 0) or content (below), and whether that is clear."""

    view: str
    position: float
    content: float
    apart: bool = True  # the intervals of the two do not overlap, or there are none
    whole: bool = True

    @property
    def by(self) -> float:
        """Position minus content."""
        return self.position - self.content

    @property
    def side(self) -> int:
        """1 for position, -1 for content, 0 where it takes no side."""
        return 0 if abs(self.by) < CLEAR or not self.apart else 1 if self.by > 0 else -1


def views(
    triples: Sequence[ShareTriple], pairs: Sequence[PublishedPair], moved: Sequence[PublishedPair]
) -> list[HeadView]:
    """The measurements of this run, starting with what decides where heads attend."""
    measurements = [HeadView(triple.name, triple.label, triple.scores, triple.note) for triple in triples]
    for name, label, published in (
        ("published", "Published scores", pairs),
        ("moved", "Published scores, tokens swapped", moved),
    ):
        for pair in published[:1]:
            note = f"Cosines of attention before and after swaps, {pair.label}; flat attention is high on both."
            measurements.append(HeadView(name, label, (pair.positional, pair.symbolic), note))
    return measurements


def preferences(run: HeadTable, views: Sequence[HeadView], row: int) -> list[Preference]:
    """What each measurement of one head favours, where it has a value."""
    there = [view for view in views if None not in (run.heads[f"value_{score.key}"][row] for score in view.scores[:2])]
    return [replace(preference_of(run, view.scores, row), view=view.name, whole=view.whole) for view in there]


def preference_of(run: HeadTable, scores: Sequence[ScoreView], row: int) -> Preference:
    """What one head favours by two scores that it has values for, position first."""
    (position, *around), (content, *beside) = (_numbers(run.heads, score, row) for score in scores[:2])
    return Preference("", float(position or 0), float(content or 0), _apart(around, beside))


def disagreement(preferences: Sequence[Preference]) -> tuple[Preference, Preference] | None:
    """The first two measurements of a head that contradict each other, if any do.

    Two contradict each other if they take opposite sides, or if both are shares of a whole, one differs by a half or
    more and the other takes no side. A published pair without a side contradicts nothing: flat heads are high on both.
    """
    for a, b in combinations(preferences, 2):
        if a.side * b.side < 0:
            return a, b
        if a.whole and b.whole and 0 in (a.side, b.side) and max(abs(a.by), abs(b.by)) >= STRONG:
            return a, b
    return None


def contradictions(run: HeadTable, views: Sequence[HeadView]) -> Columns:
    """The heads on which measurements disagree, the largest difference first, with how and why in a sentence each."""
    labels = {view.name: view.label for view in views}
    by_head = {name: disagreement(preferences(run, views, row)) for row, name in enumerate(run.heads["name"])}
    mixed = [(name, *pair) for name, pair in by_head.items() if pair]
    mixed.sort(key=lambda entry: -abs(entry[1].by - entry[2].by))
    rows = [
        (name, _sides((a, b), labels), WHY.get((a.view, b.view)) or WHY.get((b.view, a.view)) or ACROSS)
        for name, a, b in mixed
    ]
    return {title: [row[at] for row in rows] for at, title in enumerate(("name", "how", "why"))}


def _sides(pair: Sequence[Preference], labels: dict[str, str]) -> str:
    sides = ("more by content than by position", "no clear side", "more by position than by content")
    described = [
        f"{labels[preference.view]}: {sides[preference.side + 1]} "
        f"(position {short(preference.position)}, content {short(preference.content)})"
        for preference in pair
    ]
    return f"{'; '.join(described)}."


def verdicts(run: HeadTable, triples: Sequence[ShareTriple]) -> list[int]:
    """For every head which of the verdicts holds, by the first three shares of the run; 0 is none.

    Mostly is more than half, with the whole interval where there is one.
    """
    resting = sinks(run)
    rows = range(len(run.heads["name"]))
    return [1 if run.heads["name"][row] in resting else _verdict(run, triples, row) for row in rows]


def _verdict(run: HeadTable, triples: Sequence[ShareTriple], row: int) -> int:
    if not triples:
        return 0
    shares = [_numbers(run.heads, score, row) for score in triples[0].scores]
    for verdict, (value, low, _) in enumerate(shares, start=2):
        if value is None:
            return 0
        if (value if low is None else low) > HALF:
            return verdict
    return {1: 5, -1: 6, 0: 7}[preference_of(run, triples[0].scores, row).side]


def sinks(run: HeadTable) -> dict[str, int]:
    """The heads that are attention sinks on the first token, by name, with their row in the table."""
    score = next(iter(run.find("sink")), None)
    if score is None:
        return {}
    values = run.heads[f"value_{score.key}"]
    return {name: row for row, name in enumerate(run.heads["name"]) if values[row] is not None and values[row] >= SINK}


def _apart(a: Sequence[float | None], b: Sequence[float | None]) -> bool:
    """Whether two intervals do not overlap; missing ones count as apart."""
    if a[0] is None or a[1] is None or b[0] is None or b[1] is None:
        return True
    return a[0] > b[1] or b[0] > a[1]


def _numbers(heads: Columns, score: ScoreView, row: int) -> list[float | None]:
    return [heads[f"{name}_{score.key}"][row] for name in ("value", "low", "high")]

"""Position against content, measured in several ways: what decides each head, and where the measurements disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from wherewhat.formatting import rounded, short
from wherewhat.report.core.page import Columns
from wherewhat.report.pages.heads.head_table import HeadScore, HeadTable, ScoreView

EXCLUSION = ("exclusion_positional", "exclusion_symbolic", "logit_variance")
CLEAR = 0.1  # position and content must differ by this much before a measurement takes a side
STRONG = 0.5  # so large a difference that shares which take no side contradict it
HALF = 0.5  # of three shares: more than this is most of it

SHARES = (  # name, label, prefix of its scores, note
    ("attended", "Attended keys", "attended.", "What makes a head attend to some keys rather than to the others."),
    ("shares", "All keys equally", "", "Every slot and every content counts equally, attended or not."),
    (
        *("input", "Tokens permuted at the input", "input."),
        "All tokens are permuted at random at the input and the whole model runs again. A token counts by itself; what "
        "is read from its neighbours goes to the third share.",
    ),
    (
        *("shift", "Text shifted at the input", "input.shift."),
        "The text is shifted circularly at the input and the whole model runs again. Neighbours move along, so what is "
        "read from them counts as content.",
    ),
)
CORNERS = (("where", "position, whatever the token"), ("what", "content, wherever it is"))
TOGETHER = ("both together", "this content in this place")
ELSE = {  # of measurements at the input the third share holds more
    "input": ("everything else", "both together, or changed context"),
    "shift": ("everything else", "both together, or the seam"),
}
PUBLISHED = {"published": "Published scores", "moved": "Published scores, tokens swapped"}
COSINES = "Cosines of attention before and after swaps, {}; flat attention is high on both."
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
    corners: Sequence[tuple[str, str]] = ()  # of three shares: what to write at each corner of a triangle, and below it

    @property
    def about(self) -> dict[str, Any]:
        """The same as the widgets read it."""
        plain = {name: getattr(self, name) for name in ("name", "label", "note", "corners")}
        words = ["position", "content", "other" if self.name in ELSE else "both"]
        return {**plain, "keys": [score.key for score in self.scores], "words": words}


@dataclass(frozen=True)
class Preference:
    """How far one measurement of a head favours position (above 0) or content (below), and whether that is clear."""

    view: str
    position: float
    content: float
    apart: bool = True  # the intervals of the two do not overlap, or there are none
    whole: bool = True  # they are shares of one whole

    @property
    def by(self) -> float:
        """Position minus content."""
        return self.position - self.content

    @property
    def side(self) -> int:
        """1 for position, -1 for content, 0 where it takes no side."""
        return 0 if abs(self.by) < CLEAR or not self.apart else 1 if self.by > 0 else -1


def triples(run: HeadTable) -> list[HeadView]:
    """All measurements by three shares that sum to one, starting with what decides where heads attend."""
    measured = []
    for name, label, prefix, note in SHARES:
        rest = "other_share" if name in ELSE else "interaction_share"
        if scores := run.find(*(prefix + share for share in ("position_share", "symbol_share", rest))):
            measured.append(HeadView(name, label, scores, note, (*CORNERS, ELSE.get(name, TOGETHER))))
    return measured


def pairs(run: HeadTable, prefix: str = "") -> list[HeadView]:
    """The published scores at every temperature, swaps of blocks last; `prefix` selects another measurement."""
    name = "moved" if prefix else "published"
    kinds = {f"{prefix}positional": ""} if prefix else {"positional": "", "block.positional": "blocks, "}
    measured = []
    for kind, words in kinds.items():
        for score in run.answered:
            bare, _, tau = score.name.partition("@")
            if bare == kind and (both := run.find(score.name, score.name.replace("positional", "symbolic"))):
                label = f"{words}τ = {temperature(tau or 1e-4)}"  # that of scores whose name has none
                measured.append(HeadView(name, label, both, COSINES.format(label)))
    return measured


def temperature(tau: Any) -> str:
    """Write a temperature.

    >>> temperature("inf"), temperature(1e-4), temperature(0.1)
    ('∞', '0.0001', '0.1')
    """
    return "∞" if str(tau) in ("inf", "Infinity") else f"{float(tau):.10g}"


def about_pair(run: HeadTable, pair: HeadView) -> dict[str, Any]:
    """Two published scores as the widgets read them, with the rank correlations of both with entropy over heads."""
    both, entropy = [run.column(score) for score in pair.scores], run.find("entropy")
    about = {"label": pair.label, "x": pair.scores[1].key, "y": pair.scores[0].key, "rho": [None, None], "heads": 0}
    if not entropy:
        return about
    from wherewhat.stats.ranks import rank_correlation  # brings NumPy, which no other part of a page needs

    spread = run.column(entropy[0])
    rho = [rounded(rank_correlation(values, spread)) for values in both]
    return {**about, "rho": rho, "heads": sum(None not in three for three in zip(*both, spread, strict=True))}


def measurements(run: HeadTable) -> list[HeadView]:
    """All measurements of this run, starting with what decides where heads attend."""
    first = [*pairs(run)[:1], *pairs(run, "input.")[:1]]
    return triples(run) + [replace(pair, label=PUBLISHED[pair.name]) for pair in first]


def exclusion(run: HeadTable) -> Columns:
    """P/Var and S/Var of every head whose logits vary: 0 is purely positional or purely symbolic."""
    scores = run.find(*EXCLUSION)
    heads = [(p.name, p.value, s.value, var.value) for p, s, var in (run.together(scores) if scores else [])]
    ratios = [(name, rounded(p / var), rounded(s / var)) for name, p, s, var in heads if var > 0]
    return {title: [row[i] for row in ratios] for i, title in enumerate(("name", "x", "y"))}


def reach_of(ratios: Columns) -> float:
    """The upper end of both axes of the plane of P/Var and S/Var: at most 9, larger values are drawn on the edge."""
    return float(min(9.0, 1.08 * max([2.2, *ratios["x"], *ratios["y"]])))  # a purely positional head is at 2


def preference_of(position: HeadScore, content: HeadScore, view: str = "", *, whole: bool = True) -> Preference:
    """What one measurement of a head favours."""
    return Preference(view, position.value, content.value, position.apart_from(content), whole)


def preferences(run: HeadTable, views: Sequence[HeadView]) -> dict[str, list[Preference]]:
    """What each measurement of a head favours, where it has a value."""
    by_head: dict[str, list[Preference]] = {}
    for view in views:
        for position, content in run.together(view.scores[:2]):
            preference = preference_of(position, content, view.name, whole=len(view.scores) == 3)
            by_head.setdefault(position.name, []).append(preference)
    return by_head


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


def contradictions(run: HeadTable) -> dict[str, tuple[str, str]]:
    """The heads on which measurements disagree, the largest difference first, with how and why in a sentence each."""
    views = measurements(run)
    labels, by_head = {view.name: view.label for view in views}, preferences(run, views)
    mixed = [(name, pair) for name in run.heads["name"] if (pair := disagreement(by_head.get(name, ())))]
    mixed.sort(key=lambda entry: -abs(entry[1][0].by - entry[1][1].by))
    sides = ("more by content than by position", "no clear side", "more by position than by content")
    described = {}
    for name, pair in mixed:
        numbers = [f"position {short(each.position)}, content {short(each.content)}" for each in pair]
        how = [f"{labels[its.view]}: {sides[its.side + 1]} ({n})" for its, n in zip(pair, numbers, strict=True)]
        a, b = (each.view for each in pair)
        described[name] = f"{'; '.join(how)}.", WHY.get((a, b)) or WHY.get((b, a)) or ACROSS
    return described


def verdicts(run: HeadTable) -> list[int]:
    """For every head which of the verdicts holds, by the first three shares of the run; 0 is none."""
    decided = {its[0].name: verdict_of(its) for triple in triples(run)[:1] for its in run.together(triple.scores)}
    return [1 if name in run.sinks else decided.get(name, 0) for name in run.heads["name"]]


def verdict_of(shares: Sequence[HeadScore]) -> int:
    """The verdict by three shares of a head. Mostly is more than half, with the whole interval where there is one."""
    most = [verdict for verdict, share in enumerate(shares, start=2) if share.exceeds(HALF)]
    return most[0] if most else {1: 5, -1: 6, 0: 7}[preference_of(shares[0], shares[1]).side]

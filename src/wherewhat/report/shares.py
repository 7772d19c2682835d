"""Position against content in numbers: the shares, the exclusion bound, and the published scores beside entropy."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from wherewhat.formatting import rounded
from wherewhat.report.head_table import HeadTable, ScoreView
from wherewhat.report.kinds import EXCLUSION, SHARES
from wherewhat.report.page import Columns

TALL = sqrt(3) / 2  # of a triangle with sides of 1
WIDEST = 9.0  # P/Var and S/Var are drawn up to here at most; larger values are drawn on the edge
LEAST = 2.2  # a purely positional or purely symbolic head is at 2
STEPS = 64  # points of the bounding curve
BARE = 1e-4  # the temperature of scores whose name has none


@dataclass(frozen=True)
class ShareTriple:
    """Three shares that sum to one: position, content, and the rest."""

    name: str
    label: str
    scores: Sequence[ScoreView]
    corners: Sequence[tuple[str, str]]  # what to write at each corner, and below it
    note: str

    @property
    def about(self) -> dict[str, Any]:
        """The same as the widgets read it."""
        keys = [score.key for score in self.scores]
        return {"name": self.name, "label": self.label, "keys": keys, "corners": self.corners, "note": self.note}


@dataclass(frozen=True)
class PublishedPair:
    """The positional and the symbolic score of one kind of swap, and their correlations with entropy over heads."""

    label: str
    positional: ScoreView
    symbolic: ScoreView
    with_entropy: tuple[float | None, float | None]
    heads: int

    @property
    def about(self) -> dict[str, Any]:
        """The same as the widgets read it."""
        return {
            "label": self.label,
            "x": self.symbolic.key,
            "y": self.positional.key,
            "rho": list(self.with_entropy),
            "heads": self.heads,
        }


WHERE, WHAT = ("where", "position, whatever the token"), ("what", "content, wherever it is")
_TRIPLES = (
    (
        "attended",
        "Attended keys",
        "attended.",
        ("both together", "this content in this place"),
        "What makes a head attend to some keys rather than to the others.",
    ),
    (
        "shares",
        "All keys equally",
        "",
        ("both together", "this content in this place"),
        "Every slot and every content counts equally, attended or not.",
    ),
    (
        "input",
        "Tokens permuted at the input",
        "input.",
        ("everything else", "both together, or changed context"),
        "All tokens are permuted at random at the input and the whole model runs again. A token counts by itself; what "
        "is read from its neighbours goes to the third share.",
    ),
    (
        "shift",
        "Text shifted at the input",
        "input.shift.",
        ("everything else", "both together, or the seam"),
        "The text is shifted circularly at the input and the whole model runs again. Neighbours move along, so what is "
        "read from them counts as content.",
    ),
)


def triples(run: HeadTable) -> list[ShareTriple]:
    """All share triples of this run, starting with what decides where heads attend."""
    measured = []
    for name, label, prefix, rest, note in _TRIPLES:
        names = SHARES if not prefix.startswith("input.") else ("position_share", "symbol_share", "other_share")
        if scores := run.find(*(prefix + share for share in names)):
            measured.append(ShareTriple(name, label, scores, (WHERE, WHAT, rest), note))
    return measured


def pairs(run: HeadTable, prefix: str = "") -> list[PublishedPair]:
    """The published scores at every temperature, swaps of blocks last; `prefix` selects another measurement."""
    kinds = {f"{prefix}positional": ""} if prefix else {"positional": "", "block.positional": "blocks, "}
    measured = []
    for kind, words in kinds.items():
        for score in run.answered:
            bare, _, tau = score.name.partition("@")
            if bare == kind and (both := run.find(score.name, score.name.replace("positional", "symbolic"))):
                measured.append(_pair(run, f"{words}τ = {temperature(tau or BARE)}", *both))
    return measured


def temperature(tau: Any) -> str:
    """Write a temperature.

    >>> temperature("inf"), temperature(1e-4), temperature(0.1)
    ('∞', '0.0001', '0.1')
    """
    return "∞" if str(tau) in ("inf", "Infinity") else f"{float(tau):.10g}"


def _pair(run: HeadTable, label: str, positional: ScoreView, symbolic: ScoreView) -> PublishedPair:
    entropy = run.find("entropy")
    both = [run.heads[f"value_{score.key}"] for score in (positional, symbolic)]
    if not entropy:
        return PublishedPair(label, positional, symbolic, (None, None), 0)
    from wherewhat.stats.ranks import rank_correlation  # brings NumPy, which no other part of a page needs

    spread = run.heads[f"value_{entropy[0].key}"]
    heads = sum(None not in three for three in zip(*both, spread, strict=True))
    first, second = (rounded(rank_correlation(values, spread)) for values in both)
    return PublishedPair(label, positional, symbolic, (first, second), heads)


def exclusion(run: HeadTable) -> Columns:
    """P/Var and S/Var of every head whose logits vary: 0 is purely positional or purely symbolic."""
    scores = run.find(*EXCLUSION)
    columns = [run.heads[f"value_{score.key}"] for score in scores] or [[]] * 3
    rows = [
        (name, rounded(p / var), rounded(s / var))
        for name, p, s, var in zip(run.heads["name"], *columns, strict=bool(scores))
        if None not in (p, s, var) and var > 0
    ]
    return {title: [row[i] for row in rows] for i, title in enumerate(("name", "x", "y"))}


def reach_of(ratios: Columns) -> float:
    """The upper end of both axes of the plane of P/Var and S/Var."""
    farthest: float = 1.08 * max([LEAST, *ratios["x"], *ratios["y"]])
    return min(WIDEST, farthest)


def bound() -> Columns:
    """The line x + y = 1, below which no head can be; denser at its ends, where the root scale stretches it."""
    across = [(step / STEPS) ** 2 for step in range(STEPS + 1)]
    both = sorted({*across, *(1 - x for x in across)})
    return {"x": [rounded(x) for x in both], "y": [rounded(1 - x) for x in both]}


def at(where: float, what: float, rest: float) -> tuple[float, float]:
    """A point in the triangle: position is left, content is right, the rest is up.

    >>> at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)[0]
    ((0.0, 0.0), (1.0, 0.0), 0.5)
    """
    total = where + what + rest
    return (what + rest / 2) / total, TALL * rest / total


def quarters() -> Columns:
    """The lines of the triangle: its sides, and a quarter, a half and three quarters of each share."""
    rows = []
    for share in (0.0, 0.25, 0.5, 0.75):
        left = 1 - share
        for ends in (
            ((share, left, 0.0), (share, 0.0, left)),
            ((left, share, 0.0), (0.0, share, left)),
            ((left, 0.0, share), (0.0, left, share)),
        ):
            rows.append((*at(*ends[0]), *at(*ends[1]), share == 0))
    return {name: [rounded(row[i]) for row in rows] for i, name in enumerate(("x", "y", "x2", "y2", "side"))}


def halves() -> Columns:
    """The outlines of the three corners in which one share is more than a half."""
    whole = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    rows = []
    for corner, far in enumerate(whole):
        middles = [tuple((a + b) / 2 for a, b in zip(far, other, strict=True)) for other in whole if other != far]
        rows += [(corner, order, *at(*place)) for order, place in enumerate((far, *middles))]
    return {name: [rounded(row[i]) for row in rows] for i, name in enumerate(("corner", "order", "x", "y"))}


def corners(triple: ShareTriple) -> Columns:
    """The positions and the labels of a triangle's corners."""
    places = [at(*(float(corner == i) for i in range(3))) for corner in range(3)]
    return {
        "corner": [0, 1, 2],
        "x": [x for x, _ in places],
        "y": [rounded(y) for _, y in places],
        "title": [title for title, _ in triple.corners],
        "note": [note for _, note in triple.corners],
    }

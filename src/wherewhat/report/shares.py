"""What the numbers say about where and what: three shares, two bounds, and how the published scores go with entropy."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import polars as pl

from wherewhat.report.kinds import EXCLUSION, SHARES
from wherewhat.report.measured import Measured, Score
from wherewhat.report.numbers import rounded
from wherewhat.report.page import Columns

TALL = sqrt(3) / 2  # of a triangle with sides of 1
WIDEST = 9.0  # P/Var and S/Var are drawn up to here at most; what lies beyond stands on the edge
LEAST = 2.2  # a head that is purely one of the two stands at 2
STEPS = 64  # points of the curve that bounds them
BARE = 1e-4  # the temperature of scores that name none


@dataclass(frozen=True)
class Triple:
    """Three shares that sum to one: by place, by content, and the rest."""

    name: str
    label: str
    scores: Sequence[Score]
    corners: Sequence[tuple[str, str]]  # what to write at each corner, and below it
    told: str

    @property
    def about(self) -> dict[str, Any]:
        """As the widgets know it."""
        keys = [score.key for score in self.scores]
        return {"name": self.name, "label": self.label, "keys": keys, "corners": self.corners, "told": self.told}


@dataclass(frozen=True)
class Pair:
    """A positional and a symbolic score of one kind of swap, and how each goes with entropy over the heads."""

    label: str
    positional: Score
    symbolic: Score
    with_entropy: tuple[float | None, float | None]
    heads: int

    @property
    def about(self) -> dict[str, Any]:
        """As the widgets know it."""
        return {
            "label": self.label,
            "x": self.symbolic.key,
            "y": self.positional.key,
            "rho": list(self.with_entropy),
            "heads": self.heads,
        }


WHERE, WHAT = ("where", "whatever stands there"), ("what", "wherever it stands")
_TRIPLES = (
    (
        "attended",
        "Where it looks",
        "attended.",
        ("both together", "this content in this place"),
        "What decides where a head looks: the keys it attends to, held against all the others.",
    ),
    (
        "shares",
        "All keys alike",
        "",
        ("both together", "this content in this place"),
        "Every slot and every content counts alike, attended or not.",
    ),
    (
        "input",
        "Tokens moved at the input",
        "input.",
        ("everything else", "together, or by changed context"),
        "All tokens trade places at random at the input and the whole model runs again: a token acts by itself, and "
        "what is read off its neighbours is in the third share.",
    ),
    (
        "shift",
        "Text shifted at the input",
        "input.shift.",
        ("everything else", "together, or by the seam"),
        "The text moves round in a circle at the input and the whole model runs again: neighbours go along, so what is "
        "read off them counts as content.",
    ),
)


def triples(run: Measured) -> list[Triple]:
    """Every three shares that this run has, first those of what decides where heads look."""
    found = []
    for name, label, prefix, rest, told in _TRIPLES:
        names = SHARES if not prefix.startswith("input.") else ("position_share", "symbol_share", "other_share")
        if scores := run.find(*(prefix + share for share in names)):
            found.append(Triple(name, label, scores, (WHERE, WHAT, rest), told))
    return found


def pairs(run: Measured, prefix: str = "") -> list[Pair]:
    """The published scores at every temperature, with blocks last; with `prefix`, those of another measurement."""
    kinds = {f"{prefix}positional": ""} if prefix else {"positional": "", "block.positional": "blocks, "}
    found = []
    for kind, words in kinds.items():
        for score in run.answered:
            bare, _, tau = score.name.partition("@")
            if bare == kind and (both := run.find(score.name, score.name.replace("positional", "symbolic"))):
                found.append(_pair(run, f"{words}τ = {temperature(tau or BARE)}", *both))
    return found


def temperature(tau: Any) -> str:
    """Write a temperature.

    >>> temperature("inf"), temperature(1e-4), temperature(0.1)
    ('∞', '0.0001', '0.1')
    """
    return "∞" if str(tau) in ("inf", "Infinity") else f"{float(tau):.10g}"


def _pair(run: Measured, label: str, positional: Score, symbolic: Score) -> Pair:
    entropy = run.find("entropy")
    both = [run.heads[f"value_{score.key}"] for score in (positional, symbolic)]
    if not entropy:
        return Pair(label, positional, symbolic, (None, None), 0)
    spread = run.heads[f"value_{entropy[0].key}"]
    heads = sum(None not in three for three in zip(*both, spread, strict=True))
    return Pair(label, positional, symbolic, (spearman(both[0], spread), spearman(both[1], spread)), heads)


def spearman(one: Sequence[float | None], other: Sequence[float | None]) -> float | None:
    """The correlation of two orders, over what both have; nothing where it is not defined.

    >>> spearman([1, 2, 3, None], [10, 20, 30, 0]), spearman([1, 2, 3], [3, 2, 1]), spearman([1, 1], [1, 2])
    (1.0, -1.0, None)
    """
    table = pl.DataFrame({"one": one, "other": other}, schema=dict.fromkeys(("one", "other"), pl.Float64)).drop_nulls()
    if min(table["one"].n_unique(), table["other"].n_unique()) < 2:
        return None
    ranks = table.select(pl.all().rank())
    found: float | None = rounded(float(ranks.select(pl.corr("one", "other")).item()))
    return found


def exclusion(run: Measured) -> Columns:
    """For every head with logits that vary, P/Var and S/Var: how far they are from purely positional and symbolic."""
    found = run.find(*EXCLUSION)
    columns = [run.heads[f"value_{score.key}"] for score in found] or [[]] * 3
    rows = [
        (name, rounded(p / var), rounded(s / var))
        for name, p, s, var in zip(run.heads["name"], *columns, strict=bool(found))
        if None not in (p, s, var) and var > 0
    ]
    return {title: [row[i] for row in rows] for i, title in enumerate(("name", "x", "y"))}


def reach_of(ratios: Columns) -> float:
    """How far the plane of P/Var and S/Var is drawn, the same both ways."""
    farthest: float = 1.08 * max([LEAST, *ratios["x"], *ratios["y"]])
    return min(WIDEST, farthest)


def bound() -> Columns:
    """The line x + y = 1, below which no head can be: densest at its ends, where a root stretches it."""
    across = [(step / STEPS) ** 2 for step in range(STEPS + 1)]
    both = sorted({*across, *(1 - x for x in across)})
    return {"x": [rounded(x) for x in both], "y": [rounded(1 - x) for x in both]}


def at(where: float, what: float, rest: float) -> tuple[float, float]:
    """A place in the triangle: where is left, what is right, the rest is up.

    >>> at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)[0]
    ((0.0, 0.0), (1.0, 0.0), 0.5)
    """
    total = where + what + rest
    return (what + rest / 2) / total, TALL * rest / total


def quarters() -> Columns:
    """The lines of the triangle: its sides, and each share at a quarter, a half and three quarters."""
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
    """The three corners in which one share is more than a half, as outlines to be filled."""
    whole = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    rows = []
    for corner, far in enumerate(whole):
        middles = [tuple((a + b) / 2 for a, b in zip(far, other, strict=True)) for other in whole if other != far]
        rows += [(corner, order, *at(*place)) for order, place in enumerate((far, *middles))]
    return {name: [rounded(row[i]) for row in rows] for i, name in enumerate(("corner", "order", "x", "y"))}


def corners(one: Triple) -> Columns:
    """Where the words of a triangle's corners stand."""
    places = [at(*(float(corner == i) for i in range(3))) for corner in range(3)]
    return {
        "corner": [0, 1, 2],
        "x": [x for x, _ in places],
        "y": [rounded(y) for _, y in places],
        "title": [title for title, _ in one.corners],
        "note": [note for _, note in one.corners],
    }

"""Attention decays along a bell curve of distance, with one parameter for locality and one for symmetry."""

from collections.abc import Callable

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, wide
from wherewhat.encodings.bells import Bell, FixedBell, LearnedBell, TableBell
from wherewhat.encodings.relative import by_lag, furthest, lags_of
from wherewhat.errors import UserError
from wherewhat.names import look_up

INJECTIONS = {"raw": "add the attention that the curve alone would give", "log": "add its logarithm"}
LEARNERS = {"head": "each head of each block learns its own", "block": "the heads of a block learn one together"}
STARTS = {"two-sided": 2, "released": 1}  # on how many sides a table's distances count when they start out summing to 1


class Attenuated(Encoding):
    """Add a bell curve of the distance d = |i - j|, e = -w · d² before the query and -s · w · d² from it on.

    Larger w is more local; s = 1 is symmetric (arXiv 2310.12864). `inject` is what is added. "raw", as
    published: the share δ = exp(e) / Σ exp(e) over the keys that the query may see. It lies in 0..1, so it moves
    attention by a factor of e at most and mostly by far less. "log": e itself, so that attention without content is δ.

    `learn` is what is learned, by each head or each block: "none"; "ws", w and s, which stay positive (a decoder
    never sees the side of s); or "table", a free number for each distance below `length`, which is added as it is and
    is symmetric. A raw table starts from δ in the middle of a long text; with `start="released"` from δ at the
    beginning of one, so that its rows sum to more than 1. Extra heads of pure position are left out.

    >>> zeros_BHTC = torch.zeros(1, 1, 5, 4)
    >>> Attenuated(heads=1).bias(zeros_BHTC, zeros_BHTC, Context.of(5, causal=False))[0, 0, 2]
    tensor([0.0545, 0.2442, 0.4026, 0.2442, 0.0545])
    """

    name = "attenuated"
    bias_by_slot = True

    def __init__(
        self,
        heads: int,
        *,
        length: int = 512,
        w: float = 0.5,
        s: float = 1.0,
        inject: str = "raw",
        learn: str = "none",
        each: str = "head",
        start: str = "two-sided",
    ) -> None:
        super().__init__()
        self.heads = heads
        look_up("injection", inject, INJECTIONS)
        look_up("learner", each, LEARNERS)
        sides = look_up("start", start, STARTS)
        if min(heads, length) < 1 or not (0 <= w < float("inf") and 0 <= s < float("inf")):
            raise UserError(
                "attenuated needs at least one head, a length of at least 1, and w and s of at least 0; "
                f"got {heads} heads, length {length}, w {w}, s {s}"
            )
        if learn == "ws" and min(w, s) == 0:
            raise UserError(f"w and s that are learned start above 0, got w {w} and s {s}; a small number will do")
        learners = heads if each == "head" else 1
        bells: dict[str, Callable[[], Bell]] = {
            "none": lambda: FixedBell(w, s),
            "ws": lambda: LearnedBell(learners, w, s),
            "table": lambda: TableBell(learners, _table(length, w, s, 0 if inject == "log" else sides)),
        }
        self.bell = look_up("way to learn", learn, bells)()
        self.shares = inject == "raw" and learn != "table"
        self.shared = learn == "none"
        self.max_length, self.mirror_invariant = self.bell.max_length, self.bell.mirror_invariant

    def reset_parameters(self, generator: torch.Generator) -> None:
        self.bell.reset_parameters()

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        self.check(length=furthest(context) + 1)
        fall_BHQK = by_lag(self.bell(lags_of(context), wide(q_BHQC.dtype)), context)
        if self.shares:
            forbidden_BHQK = ~context.allowed_BHQK
            fall_BHQK = fall_BHQK.masked_fill(forbidden_BHQK, -torch.inf).softmax(-1).masked_fill(forbidden_BHQK, 0)
        return fall_BHQK.to(q_BHQC.dtype)


def _table(length: int, w: float, s: float, sides: int) -> list[float]:
    """What a table of distances starts with: on that many sides it sums to 1, on 0 it holds logarithms."""
    if s != 1:
        raise UserError(f"a table knows distances but no sides, and got s {s}; leave s at 1, or use learn='ws'")
    fall_S = -w * torch.arange(length, dtype=torch.float64).square()
    bell_S = fall_S.exp()
    start_S = bell_S / (1 + sides * bell_S[1:].sum()) if sides else fall_S
    return [float(value) for value in start_S]


RECORD = EncodingRecord(
    cls=Attenuated,
    about="attention decays along a bell curve: w sets how local it is, s how equal the two sides are",
    acts="on the logits, as a bias, in every block",
    parameters="none; or w and s, or a number per distance, per head or block",
    direction="either; a decoder ignores s",
    kernel="fused with a float bias",
    options={
        "length": "of a learned table, in tokens",
        "w": "how local: larger is more local",
        "s": "how steep the curve is after the query, relative to before it; 1 is symmetric",
        "inject": '"raw" (adds the attention that the curve alone would give) or "log" (adds its logarithm)',
        "learn": '"none", "ws" (w and s) or "table" (a free number per distance)',
        "each": 'what has parameters of its own: "head" or "block"',
        "start": 'what a raw table starts from: "two-sided" or "released"',
    },
    growth="n² in time and memory, per head that differs; a table stops at its last distance",
    paper="Chen et al. 2023, arXiv 2310.12864",
)

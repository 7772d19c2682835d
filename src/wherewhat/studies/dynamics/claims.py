"""What was published about learning to follow numbers and letters, and what was seen of it here."""

from wherewhat.studies.base import Claim
from wherewhat.studies.dynamics import judge_heads, judge_learning
from wherewhat.studies.dynamics.evidence import TASKS, Evidence
from wherewhat.studies.dynamics.questions import Question, answered

CLAIMS: dict[str, Question] = {
    "in_turn": Question(
        "In the number task, hops are learnt one after another.",
        "1 hop first, then 2, 3 and 4; all by about 4,800 steps of 64",
        judge_learning.in_turn,
    ),
    "together": Question(
        "In the letter task, all hops are learnt together.",
        "together, by about 3,400 steps of 64",
        judge_learning.together,
    ),
    "starts_flat": Question(
        "Before training, attention is flat and every head is at (1, 1) in the plane.",
        "all heads at (1, 1)",
        judge_heads.starts_flat,
    ),
    "early_then_late": Question(
        "Learning the number task makes early layers positional and later ones symbolic.",
        "layers 0–3 positional, 4–11 symbolic",
        judge_heads.early_then_late,
        ("number",),
    ),
    "symbolic_throughout": Question(
        "Learning the letter task makes all layers symbolic.",
        "layers 1–11 symbolic, none positional",
        judge_heads.symbolic_throughout,
        ("letter",),
    ),
    "with_purity": Question(
        "Accuracy jumps when heads become pure.",
        "jumps at the same steps, read from figures",
        judge_learning.with_purity,
        TASKS,
    ),
    "longer_inputs": Question(
        "The letter task generalises to much longer inputs than the number task.",
        "letter above 90 % up to 850 tokens (53 ×), number falls at once and below 40 % by 400",
        judge_learning.longer_inputs,
        TASKS,
    ),
    "number_counts": Question(
        "The number task ends with a few purely positional heads and more purely symbolic ones.",
        "4 positional + 8 symbolic of 12 (its γ is unknown), 2 + 7 at γ = 0.05",
        judge_heads.number_counts,
        ("number",),
    ),
    "letter_counts": Question(
        "The letter task ends with most heads purely symbolic and none purely positional.",
        "0 positional + 11 symbolic of 12",
        judge_heads.letter_counts,
        ("letter",),
    ),
    "frequencies": Question(
        "Positional heads rely on the fastest frequencies, symbolic heads on slow ones.",
        "mean frequency of 64, the fastest being 1, by layer: number 0 at 1, 1–3 at 2, 4 at 10, 5–11 at 37–39; "
        "letter 0 at 18, 1 at 32, 2 at 42, 3–11 at 37–41",
        judge_heads.frequencies,
        TASKS,
    ),
    "leads": Question(
        "As inputs grow, the best key's lead shrinks much faster for a positional head than for a symbolic one.",
        "at most min(1 − cos θ, 2π²/n²) against 1 − cos(2π/letters − nθ): "
        "from 8 to 100 tokens 0.303 → 0.002, 0.278 → 0.130",
        judge_heads.leads,
        TASKS,
    ),
}


def claims_of(seen: Evidence) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return tuple(answered(question, seen) for question in CLAIMS.values())

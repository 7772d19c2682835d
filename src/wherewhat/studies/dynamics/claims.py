"""The published claims about learning to follow numbers and letters."""

from wherewhat.stats.verdict import Claim
from wherewhat.studies.dynamics import claims_about_heads, claims_about_learning
from wherewhat.studies.dynamics.results import TASKS, DynamicsResults
from wherewhat.studies.dynamics.verdicts import DynamicsClaim, judge_claim

CLAIMS: dict[str, DynamicsClaim] = {
    "in_turn": DynamicsClaim(
        "In the number task, hops are learnt one after another.",
        "1 hop first, then 2, 3 and 4; all by about 4,800 steps of 64",
        claims_about_learning.in_turn,
    ),
    "together": DynamicsClaim(
        "In the letter task, all hops are learnt together.",
        "together, by about 3,400 steps of 64",
        claims_about_learning.together,
    ),
    "starts_flat": DynamicsClaim(
        "Before training, attention is flat and both scores of every head are 1.",
        "all heads at (1, 1) in the plane of the two scores",
        claims_about_heads.starts_flat,
    ),
    "early_then_late": DynamicsClaim(
        "Learning the number task makes early layers positional and later layers symbolic.",
        "layers 0–3 positional, 4–11 symbolic",
        claims_about_heads.early_then_late,
        ("number",),
    ),
    "symbolic_throughout": DynamicsClaim(
        "Learning the letter task makes all layers symbolic.",
        "layers 1–11 symbolic, none positional",
        claims_about_heads.symbolic_throughout,
        ("letter",),
    ),
    "with_purity": DynamicsClaim(
        "Accuracy jumps when heads become pure.",
        "jumps at the same steps, read from figures",
        claims_about_learning.with_purity,
        TASKS,
    ),
    "longer_inputs": DynamicsClaim(
        "The letter task generalises to much longer inputs than the number task.",
        "letter above 90 % up to 850 tokens (53 ×), number falls at once and below 40 % by 400",
        claims_about_learning.longer_inputs,
        TASKS,
    ),
    "number_counts": DynamicsClaim(
        "The number task ends with a few purely positional heads and more purely symbolic ones.",
        "4 positional + 8 symbolic of 12 (γ not given), 2 + 7 at γ = 0.05",
        claims_about_heads.number_counts,
        ("number",),
    ),
    "letter_counts": DynamicsClaim(
        "The letter task ends with most heads purely symbolic and none purely positional.",
        "0 positional + 11 symbolic of 12",
        claims_about_heads.letter_counts,
        ("letter",),
    ),
    "frequencies": DynamicsClaim(
        "Positional heads rely on the fastest frequencies, symbolic heads on slow ones.",
        "mean frequency of 64, the fastest being 1, by layer: number 0 at 1, 1–3 at 2, 4 at 10, 5–11 at 37–39; "
        "letter 0 at 18, 1 at 32, 2 at 42, 3–11 at 37–41",
        claims_about_heads.frequencies,
        TASKS,
    ),
    "margins": DynamicsClaim(
        "As inputs grow longer, the margin of the best key over the second shrinks much faster for a positional head "
        "than for a symbolic one.",
        "bounds min(1 − cos θ, 2π²/n²) and 1 − cos(2π/letters − nθ): "
        "from 8 to 100 tokens 0.303 → 0.002 and 0.278 → 0.130",
        claims_about_heads.margins,
        TASKS,
    ),
}


def claims_of(results: DynamicsResults) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return tuple(judge_claim(claim, results) for claim in CLAIMS.values())

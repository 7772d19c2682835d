"""What the rows of the study are called: encodings, lengths, targets and measures. Torch-free, as pages need it."""

from wherewhat.studies.engine.results import Cell

NOPE, AGAIN = "none", "none again"  # the net without positions, and the same from another seed
T5, ALIBI, QUARTER, APE, ROPE = "t5_bias", "alibi", "rope_quarter", "sinusoidal", "rope"
OTHERS = (T5, ALIBI, QUARTER, APE, ROPE)
ARMS = (NOPE, AGAIN, *OTHERS)
UNIFORM = "uniform"  # in place of an encoding: attention that prefers no key
LABELS = {
    NOPE: "NoPE",
    AGAIN: "NoPE from another seed",
    T5: "T5 bias",
    ALIBI: "ALiBi",
    QUARTER: "RoPE (quarter)",
    APE: "sinusoidal (APE)",
    ROPE: "RoPE (whole)",
    UNIFORM: "uniform attention",
}
TRAINED, LONGER = "trained", "longer"  # lengths of samples
PLACE, INVERSE = "place", "inverse"  # what is read off the residual stream: i, and 1 / (i + 1)
TRUE, RELEASED = "true", "released"  # the divergence
NEAR, FAR = "near", "far"


def exact(arm: str) -> Cell:
    """The share of samples of training lengths that a net answers exactly."""
    return Cell("accuracy", f"exact {TRAINED}", arm)


def explained(target: str, lengths: str, block: int, arm: str = NOPE, *, shuffled: bool = False) -> Cell:
    """R² of the place after a block, counted from 1; 0 is what the first block reads."""
    return Cell("place", f"{'shuffled ' if shuffled else ''}{target} {lengths}", arm, float(block))


def divergence(arm: str, kind: str = TRUE, lengths: str = "all") -> Cell:
    """How far the attention of a net is from that of NoPE, the mean over lengths."""
    return Cell("divergence", f"{kind} {lengths}", arm)


def shared_start(arm: str, kind: str = TRUE, lengths: str = "all") -> Cell:
    """The same from the second NoPE, which started from the same weights as the net."""
    return Cell("shared start", f"{kind} {lengths}", arm)


def entropy(arm: str, lengths: str = "all") -> Cell:
    """The mean entropy of a net's attention, from 0 (one key) to 1 (all alike)."""
    return Cell("entropy", f"entropy {lengths}", arm)


def looked(arm: str, side: str, lengths: str = "all") -> Cell:
    """The share of output rows whose most attended key is near, or far."""
    return Cell("distance", f"{side} {lengths}", arm)

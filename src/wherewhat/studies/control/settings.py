"""Everything that determines the control experiment, fixed before anything is measured, and the words for it."""

from dataclasses import dataclass

from wherewhat.formatting import percent

KINDS = ("positional", "symbolic")  # of heads
SIDES = {"high": "fast", "low": "slow"}  # of a head's frequencies, and their speed
OPERATIONS = {"drop": "dropped", "unrotate": "unrotated"}  # removed from the dot product; no longer rotated
CONTROLS = BANDS, HEADS = "random bands", "random heads"  # other pairs of the same heads; the same band in other heads
NEAR = 0.1  # relative difference up to which two norms count as equal
FEWEST = 5  # draws of a control that a verdict needs at least
MEASURES = {"loss": "the loss", "copy": "copying", "induction": "induction"}  # of a model's abilities
SHARES = {"position_share": "position share", "symbol_share": "symbol share"}
BEHAVIOUR = {**SHARES, "positional": "s_POS", "symbolic": "s_SYM"}
MEAN = "mean_frequency"
MEAN_SPEED = "mean_speed"  # minus the mean frequency's number: the faster, the larger
SIZES = {0.25: "quarter", 0.5: "half"}  # of bands


@dataclass(frozen=True)
class ControlSettings:
    """How large the experiment is, and its rules."""

    max_texts: int
    max_tokens: int
    controls: int  # draws of each kind of control, per cell
    shares: tuple[float, ...]  # sizes of the bands, as a share of the frequencies; verdicts are about the first
    most_of_heads: float = 1 / 3  # of all heads, the largest share that one kind may have
    more_than: float = 0.5  # the share of variance that makes a head positional or symbolic
    enough: float = 1 / 8  # of all heads, the share that must exceed `more_than` on either side; else rank decides
    answers: int = 256  # sequences of its own task, for a net of this package
    random: int = 32  # sequences of random tokens to copy
    half: int = 48  # length of their repeated half
    copies: float = 0.05  # share of copied tokens below which copying is not a measure


SCALES: dict[str, ControlSettings] = {
    "tiny": ControlSettings(max_texts=16, max_tokens=128, controls=16, shares=(0.25,), random=16),
    "small": ControlSettings(max_texts=64, max_tokens=128, controls=16, shares=(0.25, 0.5)),
    "paper": ControlSettings(max_texts=10**6, max_tokens=128, controls=16, shares=(0.25, 0.5)),
}


def band(side: str, share: float) -> str:
    """The name of a band, as on the command line.

    >>> band("high", 0.25)
    'high:0.25'
    """
    return f"{side}:{share:g}"


def band_size(share: float) -> str:
    """The size of a band in a word, or in per cent."""
    return SIZES.get(share, percent(share))

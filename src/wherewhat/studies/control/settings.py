"""What decides the outcome of the control experiment, fixed before anything is measured."""

from dataclasses import dataclass

KINDS = ("positional", "symbolic")  # of heads
SIDES = ("high", "low")  # of a head's frequencies: the fast ones, the slow ones
OPERATIONS = ("drop", "unrotate")  # the band leaves the dot product; the band loses its position
BANDS, HEADS = "random bands", "random heads"
CONTROLS = (BANDS, HEADS)  # the same heads lose other pairs; as many other heads lose the same band
EQUAL, SMALLER, LARGER, MIXED = "equal", "smaller", "larger", "mixed"  # norms of controls against that of their cell
NEAR = 0.1  # a control whose norm is farther from the cell's than this part of it is not of equal norm
FEWEST = 5  # draws of a control from which a verdict may follow


@dataclass(frozen=True)
class Settings:
    """How large the experiment is, and by which rules it goes."""

    max_texts: int
    max_tokens: int
    controls: int  # draws of each kind of control, for every cell
    shares: tuple[float, ...]  # how much of the frequencies a band holds; the first is the one that is judged
    most_of_heads: float = 1 / 3  # of all heads that one kind may have at most
    more_than: float = 0.5  # the share of variance that makes a head positional or symbolic
    enough: float = 1 / 8  # of all heads that must have more than that on either side; with fewer, rank decides alone
    answers: int = 256  # sequences of its own task that a net of ours is tried on
    random: int = 32  # sequences of random tokens to copy
    half: int = 48  # tokens of one that are repeated
    copies: float = 0.05  # a model that copies less than this has nothing to lose there


SCALES: dict[str, Settings] = {
    "tiny": Settings(max_texts=16, max_tokens=128, controls=16, shares=(0.25,), random=16),
    "small": Settings(max_texts=64, max_tokens=128, controls=16, shares=(0.25, 0.5)),
    "paper": Settings(max_texts=10**6, max_tokens=128, controls=16, shares=(0.25, 0.5)),
}


def band(side: str, share: float) -> str:
    """The band in the words of the command line.

    >>> band("high", 0.25)
    'high:0.25'
    """
    return f"{side}:{share:g}"

"""What arms, tests and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.corpora.speech.splits import LEADING, LONG, NEW_SPEAKER, TEST
from wherewhat.studies.engine.results import Cell

ROPE, RELATIVE, NONE, SINUSOIDS = "rope", "transformer_xl", "none", "sinusoidal"
EARLY = "rope before the projection"  # the warning example
COST = "cost"  # the condition that measures what a step of training takes, of rope and relative side by side
LATER = "later positions"  # the plain test with positions that begin a second later, and the same sound
TESTS = (TEST, NEW_SPEAKER, LEADING, LATER, *LONG)
(*_, LONGEST) = LONG
ERROR, EXACT = "error rate", "exact"
TIME, TIME_RATIO, MEMORY, PARAMETERS = "milliseconds", "time ratio", "memory", "parameters"
REACH, UNIFORM = "reach", "uniform"
TRAINING_BATCH = "training batch"
LABELS = {
    ROPE: "RoPE",
    RELATIVE: "relative",
    NONE: "no positions",
    "alibi": "ALiBi",
    "t5_bias": "T5 bias",
    SINUSOIDS: "sinusoids",
    EARLY: "RoPE before the projection",
}


def label(arm: str) -> str:
    """What an arm is called where people read it.

    >>> label("transformer_xl")
    'relative'
    """
    return LABELS.get(arm, arm)


def error(test: str = TEST) -> Cell:
    """The error rate in a test."""
    return Cell("error", ERROR, test)


def difference(test: str, than: str) -> Cell:
    """By how much the error rate exceeds that of another arm, or that of the same arm in the plain test."""
    return Cell("difference", f"minus {than}", test)


def cost(measure: str, batch: str = TRAINING_BATCH) -> Cell:
    """What a step of training takes."""
    return Cell("cost", measure, batch)

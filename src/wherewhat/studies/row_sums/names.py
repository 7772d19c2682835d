"""What runs, encodings and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

ALL, FIRST_HALF, SECOND_HALF = "all", "first half", "second half"
LONGER = "longer"  # inputs than in training
EQUAL = "equal tokens"  # sequences of one token, again and again
UNIT_SUMS, SUMS_ALONE = "rows sum to one again", "row sums alone"  # what is done to nets with factors
SOLVED = 0.95  # the accuracy from which a task counts as solved
TASKS = ("position", "even")
# Encodings by what they can do: rows of attention that sum to one, free factors, or positions added to tokens.
BOUND, FREE, ADDED = "rows sum to one", "free row sums", "positions in the tokens"


def name_of(task: str, encoding: str) -> str:
    """What the run of a task with an encoding is called.

    >>> name_of("even", "urpe over toeplitz")
    'even, urpe over toeplitz'
    """
    return f"{task}, {encoding}"


def accuracy(item: str = ALL) -> Cell:
    """The share of slots that are answered correctly: of all, of a half, on other inputs, or after an intervention."""
    return Cell("accuracy", "accuracy", item)

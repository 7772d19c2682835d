"""What runs, encodings and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

ALL, FIRST_HALF, SECOND_HALF = "all", "first half", "second half"
LONGER = "longer"  # inputs than in training
EQUAL = "equal tokens"  # sequences of one token, again and again
# What is done to nets with factors; of the last one, the share of answers that are the mirrored slot is recorded.
UNIT_SUMS, SUMS_ALONE, MIRRORED = "rows sum to one again", "row sums alone", "mirrored row sums"
LINEAR_FIT = "R²"  # of a linear fit of the row sums of a head by slot
ENTROPY = "entropy"  # of the attention of a head before the factors, among its row sums
SOLVED, FAILED = 0.95, 0.5  # a task counts as solved above the first accuracy, and as not solved below the second
TASKS = ("position", "even")
SCORED = {"position": ALL, "even": FIRST_HALF}  # the slots that need their place, by task
# Encodings by what they can do: rows of attention that sum to one, learned factors after them, or positions in tokens.
BOUND, FREE, ADDED = "rows sum to one", "URPE", "positions in the tokens"
# Of answers with the slot that row sums name, and their mean distance from it in slots: with mirrored sums the mirrored
# slot, with nothing of the factors but their sums the slot itself.
FOLLOWS, MIRRORED_ERROR = Cell("mirrored", "correlation"), Cell("mirrored", "error")
ALONE_FOLLOWS, ALONE_ERROR = Cell("sums alone", "correlation"), Cell("sums alone", "error")
ORDER = Cell("longer", "correlation")  # of answers with slots, on longer inputs
GAP, INNER = (Cell("ends", measure) for measure in ("gap", "inner"))  # what is known of which slots
MOST_FREQUENT = Cell("baseline", "accuracy")  # see `summary.py`
# By slot, in the even task: the share of answers that are the filler, and of others, how far from the right slot the
# token stands that is answered most often.
FILLER, DISTANCE = Cell("answers", "filler"), Cell("answers", "distance")


def name_of(task: str, encoding: str) -> str:
    """What the run of a task with an encoding is called.

    >>> name_of("even", "urpe over toeplitz")
    'even, urpe over toeplitz'
    """
    return f"{task}, {encoding}"


def head_order(head: str) -> tuple[int, ...]:
    """Where a head stands among others: by its layer, then by its number.

    >>> sorted(["L1H0", "L0H10", "L0H2"], key=head_order)
    ['L0H2', 'L0H10', 'L1H0']
    """
    return tuple(map(int, head.removeprefix("L").split("H")))


def accuracy(item: str = ALL) -> Cell:
    """The share of slots that are answered correctly: of all, of a half, on other inputs, or after an intervention."""
    return Cell("accuracy", "accuracy", item)


def random_fit(factors: str) -> Cell:
    """How linear row sums are with random factors of one kind, per offset or per bucket; see `summary.py`."""
    return Cell("baseline", LINEAR_FIT, factors)

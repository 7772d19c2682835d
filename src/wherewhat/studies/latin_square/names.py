"""What runs, arms and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell
from wherewhat.tasks.latin import CLASSES

SQUARES, NETWORK = "squares", "network"  # the two tasks
TRAIN, TEST = "train", "test"
GROUPS = CLASSES  # of puzzles, from the easiest to the hardest
LEARNED, FIXED, OTHER, VARIANT = "learned table", "fixed sinusoid", "no table", "variant"  # kinds of arms
SINUSOID, LINE_SINUSOID, NONE, ROPE, T5 = "2-D sinusoid", "1-D sinusoid", "none", "rope", "t5_bias"
# Measures of a table, in the order of the page.
LAYOUT, DISTANCE, CENTRED, RAW = "layout", "distance", "centred procrustes", "raw procrustes"
TABLE_MEASURES = (LAYOUT, DISTANCE, CENTRED, RAW)
# Measures of attention: its cosine with attention to rows and columns, and its share on them.
LINES, LINE_SHARE = "rows and columns", "share on rows and columns"
# Links of attention. The queried cell gathers what the other cells of its row and its column know; or these learn that
# they share one with it. The last cell, from which the answer is read, then reads the queried cell or these cells.
GATHERS, MARKS = "queried cell to its row and column", "row and column to the queried cell"
READS, READS_LINES = "last cell to the queried cell", "last cell to the row and column of the queried cell"
LINKS = (GATHERS, MARKS, READS, READS_LINES)
OUTSIDE = "queried cell to other rows and columns"  # which should not matter to an answer
REMOVED = (*LINKS, OUTSIDE)  # one at a time
TOGETHER = MARKS, READS  # links that are removed together, the second in a later block: one of each of two routes
WHOLE = "nothing removed"
MOVED = "moved"  # how far a table has come from where it started, as a share of its norm there
# Of what a table has added to its start: its layout correlation, and the bound of 97.5 % of it with cells shuffled.
CHANGE, CHANGE_BOUND = "layout of the change", "97.5 % of shuffled changes"
RATIO = "table over tokens"  # of the first block: the size of a row of the table over that of a token's embedding
HEADINGS = {  # of measures of tables, where people read them
    LAYOUT: "layout correlation",
    DISTANCE: "distance correlation",
    CENTRED: "centred Procrustes",
    RAW: "raw Procrustes",
    MOVED: "change since start / initial norm",
    CHANGE: "layout correlation of the change",
    CHANGE_BOUND: "97.5 % of its shuffles are below",
    RATIO: "norm of the table over that of tokens",
}
MODULES, ERROR = "inside minus across", "error"  # of the network simulation
# Of what a table of nodes has added to its start: the same, and the bound of 97.5 % of it with modules shuffled.
ADDED, ADDED_BOUND = "inside minus across of the change", "97.5 % of shuffled modules"
HELPS = 0.02  # of the variance of hidden nodes: by how much less may stay unexplained for positions to help
GUESS = 0.25  # accuracy of a random symbol
RULED_OUT = "row and column, then counts"  # the guess that rules out their symbols, and counts the others in the grid
LEARNT = 0.6  # test accuracy from which a net knows more than it would without positions


def sigma_name(sigma: float, change: str = "") -> str:
    """What the arm of a learned table is called.

    >>> sigma_name(0.2), sigma_name(2.0, "pre-norm")
    ('sigma 0.2', 'sigma 2 (pre-norm)')
    """
    return f"sigma {sigma:g}" + (f" ({change})" if change else "")


SMALL, MIDDLE, LARGE = sigma_name(0.2), sigma_name(1.0), sigma_name(2.0)
PRE_NORM = sigma_name(0.2, "pre-norm")
# Arms that tell a table's norm from its ratio to the tokens: the ratio of each is that of the other sigma.
LARGE_WIDE, SMALL_NARROW = sigma_name(2.0, "wide tokens"), sigma_name(0.2, "narrow tokens")
LARGE_SLOW, SMALL_SLOW = sigma_name(2.0, "slower"), sigma_name(0.2, "slower")  # at a third of the learning rate
SMALL_ARMS, LARGE_ARMS = (SMALL, SMALL_SLOW), (LARGE, LARGE_SLOW)  # each at two learning rates
WORDS = {NONE: "no positions", ROPE: "RoPE", T5: "T5 bias"}


def label(arm: str) -> str:
    """What an arm is called where people read it.

    >>> label("sigma 0.2 (pre-norm)"), label("t5_bias")
    ('σ\xa0=\xa00.2 (pre-norm)', 'T5 bias')
    """
    return WORDS.get(arm, arm.replace("sigma ", "σ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"))


def name_of(task: str, arm: str) -> str:
    """What the run of a task with an arm is called.

    >>> name_of(SQUARES, SMALL)
    'squares, sigma 0.2'
    """
    return f"{task}, {arm}"


def block_name(block: int) -> str:
    """What a block is called in rows, counted from 0."""
    return f"block {block}"


def accuracy(item: str = TEST) -> Cell:
    """The share of puzzles that are answered correctly: of training, of the test, or of a class in the test."""
    return Cell("accuracy", "accuracy", item)


def guess_cell(group: str) -> Cell:
    """The accuracy of a guess in a class of puzzles."""
    return Cell("chance", "accuracy", group)


def removed_in(group: str, cell: Cell) -> Cell:
    """Of an accuracy with something or nothing removed, that in one class of puzzles."""
    return cell._replace(item=f"{cell.item}, {group}".removeprefix(", "))


def noisy(probability: float) -> Cell:
    """Accuracy when every given cell is replaced with this probability."""
    return Cell("noise", "accuracy", "", probability)


def table_cell(measure: str, block: int, step: float | None = None) -> Cell:
    """A measure of the table of a block, at a step or at the end."""
    return Cell("table", measure, block_name(block), step)


def moved_cell(block: int) -> Cell:
    """How far the table of a block has moved."""
    return Cell("moved", MOVED, block_name(block))


def change_cell(block: int, measure: str = CHANGE) -> Cell:
    """The layout correlation of what the table of a block has added to its start, or the bound of its shuffles."""
    return Cell("change", measure, block_name(block))


def modules_cell(measure: str = MODULES) -> Cell:
    """How much more rows of the first block's table resemble each other inside modules than across.

    Of the whole table, or of what it has added to its start, or the bound of that with modules shuffled.
    """
    return Cell("network", measure, block_name(0))


def error_cell() -> Cell:
    """The share of the variance of hidden nodes that stays unexplained."""
    return Cell("network", ERROR)


def ratio_cell(step: float | None = None) -> Cell:
    """The norm of the first block's table over that of tokens, at a step or at the end."""
    return Cell("ratio", RATIO, block_name(0), step)


def attention_cell(measure: str, block: int) -> Cell:
    """A measure of the attention of a block at the end."""
    return Cell("attention", measure, block_name(block))


def whole_cell() -> Cell:
    """Accuracy of the whole net on the puzzles on which links are removed."""
    return Cell("removed", WHOLE)


def removed_cell(link: str, block: int) -> Cell:
    """Accuracy when a block lacks one link of attention."""
    return Cell("removed", link, block_name(block))


def together_cell(before: int, after: int) -> Cell:
    """Accuracy when an earlier block lacks the first of both links that are removed together, a later one the other."""
    return Cell("removed", ", and ".join(TOGETHER), f"{block_name(before)} and {block_name(after)}")


def chance(measure: str) -> Cell:
    """What random tables, or uniform attention, give; its interval holds 95 % of single tables."""
    return Cell("chance", measure)

"""What questions, swaps and measures are called in the result table. Torch-free, as the page reads the table too."""

from wherewhat.studies.engine.results import Cell

CONTENT, NAMES, ROLES = "content", "names", "roles"  # the questions that nets are fine-tuned on
# The best accuracy from a bag of words. For roles, the words decide every pair with another verb, and half of the rest
# by chance; for names, nothing.
BAG = {CONTENT: 1.0, NAMES: 0.5, ROLES: 2 / 3}
CONSTITUENTS, WHOLE = ("3", "4", "5", "6"), "whole"  # sizes of what is shuffled
ORIGINAL, ROLE_SWAP, VOICE, BARE_NAMES = "original", "exchange", "voice", "bare names"
POOLED = "learnt"  # used in place of an encoding: all with positions with which a question was learnt

BEFORE, AFTER, CHANGE = "before", "accuracy", "change"
CONTROL_CHANGE, BEYOND_CONTROL = "control change", "beyond control"
FLIP, CONTROL_FLIP, OLD, FOLLOWED = "flip", "control flip", "old label", "followed"
SHIFT, LARGEST, CASES = "shift", "largest", "cases"
MEASURES = {
    BEFORE: "accuracy on the same examples before the swap",
    AFTER: "accuracy after the swap, on the label that is right then",
    CHANGE: "accuracy after minus before the swap, example by example",
    CONTROL_CHANGE: "the same for a control swap of equal size, on the examples that have one",
    BEYOND_CONTROL: "accuracy after the swap minus accuracy after its control",
    FLIP: "the share of right answers that change, among examples whose label changes if there are any",
    CONTROL_FLIP: "the same after the control swap",
    OLD: "the share of all examples that still get the label that was right before",
    FOLLOWED: "the share of right answers that become the new label, among examples whose label changes",
    SHIFT: "how far the probabilities of the labels move (total variation, 0 to 1)",
    LARGEST: "the largest change of any probability in any example",
    CASES: "the number of examples",
}


def item_name(question: str, swap: str) -> str:
    """The name of a question under a swap in the table."""
    return f"{question}, {swap}"


def cell(question: str, swap: str, measure: str, *, part: str = "run") -> Cell:
    """The place of a number in the table: of single runs, or `mean` over all seeds."""
    return Cell(part, measure, item_name(question, swap))

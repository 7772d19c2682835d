"""What texts, methods and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

INDEX, RETRIEVAL, INDUCTION, NUMBER, LETTER, ROLES = (
    "index",
    "retrieval",
    "partial_induction",
    "number",
    "letter",
    "roles",
)
TRAINED_TASKS = (INDEX, RETRIEVAL, INDUCTION)  # each with a net of its own
BUILT_IN_TASKS = (NUMBER, LETTER)  # of the built-in model
TITLES = {
    INDEX: "index",
    RETRIEVAL: "retrieval",
    INDUCTION: "partial induction",
    NUMBER: "number",
    LETTER: "letter",
    ROLES: "roles",
}
ASKS = {
    INDEX: "which symbol stands in the slot that the query names",
    RETRIEVAL: "which integer belongs to the symbol that the query names",
    INDUCTION: "which integer belonged to a symbol when it last occurred",
    NUMBER: "which letter is reached by stepping back",
    LETTER: "which pair is reached from letter to letter",
    ROLES: "whether the second sentence has the roles of the first",
}
ATTNLRP, CP_LRP, ROLLOUT, RANDOM = "attnlrp", "cp-lrp", "rollout", "random"
SIGNED, RELEASED, POSITIVE, POSITION = (f"pa-lrp, {each}" for each in ("signed", "absolute", "positive", "position"))
VARIANTS = (SIGNED, RELEASED, POSITIVE)  # tokens and positions together
SCORE, CHANCE, CURVE = "score", "chance", "curve"  # parts of the result
SLOTS, AROUND, ORDER, TEXTS = "slots", "around the slot", "order", "texts"
POSITION_SHARE, ON_SLOT, ROTATION, TOP = "position share", "on the slot", "rotation on the slot", "largest on the slot"
EVEN = "evenly spread"  # what would be on the slots if relevance were the same everywhere


def title(condition: str) -> str:
    """What the texts of a condition are called."""
    return TITLES.get(condition, condition)


def against(baseline: str) -> str:
    """The part of the result that holds differences from a baseline.

    >>> against("attnlrp")
    'minus attnlrp'
    """
    return f"minus {baseline}"


def score(method: str, measure: str = "abpc") -> Cell:
    """What a method is worth."""
    return Cell(SCORE, measure, method)


def gap(method: str, baseline: str, measure: str = "abpc") -> Cell:
    """By how much a method exceeds a baseline."""
    return Cell(against(baseline), measure, method)

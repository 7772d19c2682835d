"""How to read the scores of repeated tokens, and what has to be known beside them."""

from collections.abc import Mapping
from typing import Any

from wherewhat.profiling.repeated_tokens.repeating import Repeating
from wherewhat.scores.repeated import MEASURES, PATTERNS

WANG, OLSSON = "Wang et al. 2022, arXiv 2211.00593", "Olsson et al. 2022, arXiv 2209.11895"
_OF = {
    "previous": ("the token just before", "a previous-token head", OLSSON),
    "duplicate": ("the same token in the first block", "a duplicate-token head", WANG),
    "induction": ("what came after the same token in the first block", "an induction head", OLSSON),
}
_ASKS = {
    "": "how much of the attention goes to {}?",
    ".excess": "how far above chance is the attention to {}?",
    ".argmax": "how often is the key looked at hardest {}?",
}
_LOW = {
    "": "None.",
    ".excess": "0 is chance, less than 0 is less than chance.",
    ".argmax": "Never.",
}


def names() -> list[str]:
    """Every score of repeated tokens."""
    return [f"random.{pattern}{measure}" for pattern in PATTERNS for measure in MEASURES]


def _about(pattern: str, measure: str) -> dict[str, Any]:
    what, called, paper = _OF[pattern]
    return {
        "asks": f"On random tokens said twice, {_ASKS[measure].format(what)}",
        "low": _LOW[measure],
        "high": f"All of it: {called}." if measure != ".argmax" else f"Always: {called}.",
        "range": [-1.0, 1.0] if measure == ".excess" else [0.0, 1.0],
        "paper": paper,
        "chance": "0" if measure == ".excess" else "attention that is the same for all keys of the blocks in sight",
        "sides": False,
    }


ABOUT = {f"random.{pattern}{measure}": _about(pattern, measure) for pattern in PATTERNS for measure in MEASURES}


def notes(repeating: Repeating, sizes: Mapping[str, Any]) -> list[str]:
    """What has to be known to read them."""
    length, rows = sizes["length"], sizes["rows"]
    told = [
        f"random.* were measured on {sizes['sequences']} sequences of {length} random tokens said twice, none of them "
        "twice in a block. Rows that have no such key in sight do not count, and special tokens around the blocks are "
        "neither rows nor keys: a head that rests on the first token is judged by what else it looks at."
    ]
    told += [
        f"Of random.{pattern}, {few['fewest']} to {few['most']} rows of a sequence count: a window hides such keys "
        "from some heads, or a head spends nothing on what is in sight."
        for pattern, few in rows.items()
        if few["fewest"] < few["most"] or not few["most"]
    ]
    if length < repeating.length:
        told.append(f"Blocks of {repeating.length} tokens were asked for, but the model takes {length}.")
    return told

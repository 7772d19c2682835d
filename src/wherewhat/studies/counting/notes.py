"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.studies.counting.settings import SCALES, CountingScale
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import difference_note

COMPARED_SIZES = {  # of which the published values are known, by their names in a sentence; 0 is the scale
    "tokens": "{0.tokens}",
    "regions": "{0.regions}",
    "tokens of shorter sequences": "{0.shorter}",
    "fewer regions": "{0.fewer}",
    "seeds": "{0.seeds}",
}
NOTES = (
    "How regions are drawn, the width of the nets and how they were trained was not published. Here brackets fall on "
    "places drawn without replacement; a net has one block with one head and an MLP, and one cross-attention without "
    "an MLP behind it. All nets of a scale are trained for the same number of steps. The published read-outs with an "
    "MLP, which attend alike, and the language models that counted from prompts are left out.",
    "Published numbers were read from the marks of a figure. Those of bidirectional nets without positions or with "
    "learned ones were published without distinguishing BOS, and are shown beside both.",
    "Published bidirectional nets without positions are right in 3.0 %, of shorter sequences in 5.0 % and of fewer "
    "regions in 2.1 %. The most frequent count, 0, is right in 3.1, 5.2 and 2.3 % if regions are drawn as here.",
    "Slopes are fitted through 0 over counts for which no bias token makes a net predict more than the 90 % quantile "
    "of training, as larger counts are hardly learnt and would decide a slope alone. They are divided by the slope as "
    "trained. Accuracies by true count rest on at least 50 sequences each.",
    "The exchange of states is measured on sequences that are counted correctly and in which the answers that it could "
    "lead to are possible and different. Tokens of all regions are exchanged together. States do not matter if at "
    "least 90 % of right answers stay right, and matter in part if more than half do; they hold a count if more than "
    "half of the answers become it. Tokens get the states of those of their kind in order, so that zeros get those of "
    "zeros in other regions. A bias token is one whose states matter at most in part and that slopes confirm.",
    "The last region does not exist among fewer regions, so that its slopes tell zeros from other bias tokens alone.",
    "Among sequences with fewer regions, the queries of the first regions answer.",
    "The net built by hand is not trained. It shows that one causal head without an encoding is enough.",
)


def notes_of(scale: CountingScale) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication."""
    return tuple(note for note in (difference_note(COMPARED_SIZES, scale, SCALES["paper"]), *NOTES) if note)


def describe(table: ResultTable) -> dict[str, Any]:
    """Runs, sizes, and the slopes that each bias token would lead to."""
    scale: CountingScale = table.scale
    return {
        "nets": [condition.name for condition in table.conditions],
        "regions": scale.regions,
        "fewer": scale.fewer,
        "tokens": scale.tokens,
        "shorter": scale.shorter,
        "expected": scale.expected,
        "seeds": len(table.seeds),
    }

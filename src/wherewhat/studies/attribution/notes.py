"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.studies.attribution.names import TITLES
from wherewhat.studies.attribution.settings import AttributionScale
from wherewhat.studies.engine.results import ResultTable

NOTES = (
    "The publication evaluates large language models on reviews, questions and Wikipedia, and its tables are not known "
    "to us: it reports that positions help, and only that sign is compared. The nets here are small and read texts of "
    "which it is known which tokens decide.",
    "Tokens are put in and taken away in tenths of their number, rounded up. Where one is taken away, the mean "
    "embedding of all tokens stands in its place, or the unknown word of nets that read words. Signed scores "
    "give the order in both directions; the released code orders the least relevant tokens by the size of scores.",
    "Segments are the tokens whose scores are above the mean of their text. The released code does so with images.",
    "Only texts that are answered correctly count. Intervals resample texts, or are Student's over seeds if there are "
    "several; none is corrected for the number of comparisons.",
    "The share of positions is that of the split of logits into content and position. Half of what reaches queries and "
    "keys goes to rotations by rule, so that the size of their own relevance says nothing about how much position "
    "matters; only where it falls does.",
)


def notes_of(table: ResultTable) -> tuple[str, ...]:
    """How this scale was run, and how the study differs from the publication."""
    scale: AttributionScale = table.scale
    sizes = (
        f"Decoders with RoPE ({scale.layers} layers, {scale.heads} heads, width {scale.width}) learn tasks over "
        f"{scale.context} tokens in {scale.steps:,} steps or, for partial induction, twice as many; number and letter "
        "are those of the built-in model, so that another seed means other texts there. "
        f"{scale.texts} texts of each kind are explained by every method, and {scale.draws} random orders of each are "
        "drawn."
    )
    return (sizes, *NOTES)


def describe(table: ResultTable) -> dict[str, Any]:
    """Kinds of texts and sizes."""
    scale: AttributionScale = table.scale
    return {
        "sources": [condition.name for condition in table.conditions],
        "trained": {source: scale.context for source in scale.sources if source in TITLES},
        "texts": scale.texts,
        "draws": scale.draws,
        "seeds": len(table.seeds),
        "layers": scale.layers,
        "heads": scale.heads,
    }

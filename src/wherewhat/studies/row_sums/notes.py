"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.formatting import percent
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import difference_note
from wherewhat.studies.row_sums.names import FAILED, SOLVED
from wherewhat.studies.row_sums.settings import ARMS, SCALES, RowSumScale

SIZES = {  # by its name in a sentence; 0 is the scale
    "tokens of the position task": "{0.position.tokens}",
    "tokens of the even task": "{0.even.tokens}",
    "different tokens": "{0.position.n_tok} and {0.even.n_tok}",
    "layers": "{0.layers}",
    "width": "{0.width}",
    "heads": "{0.heads}",
    "steps": "{0.position_steps:,} and {0.even_steps:,}",
    "batch": "{0.batch}",
    "learning rate": "{0.learning_rate:g}",
    "steps of warm-up": "{0.warmup:,}",
    "test sequences": "{0.samples:,}",
}
NOTES = (
    "All slots are scored; the released code leaves out the first slot of the position task, whose label is its "
    "padding id. Published accuracies in the even task include the filler half: here claims are decided by the first "
    "half, and accuracy in both together is given beside it.",
    "The output layer has weights of its own in both tasks; in the released code those of the even task are tied to "
    "the embedding. Training is in float32, without dropout.",
    "Published were no positions, a relative bias per offset (toeplitz) and URPE over it; the other encodings are "
    "added here. Blocks have their norms before attention and MLP, those of the released nets after them. The "
    "projections of attention have no biases here and the embedding has no norm; those of the released nets, which are "
    "RoBERTa's, have both.",
    "The learning rate falls linearly from the first step on, also while it warms up, so at paper scale its peak is "
    "15 % below the published one.",
    f"A task counts as solved above {percent(SOLVED)} and as not solved below {percent(FAILED)}, of the even task in "
    "its first half, so a verdict is on who solves it and not on how close accuracies are to the published ones.",
    "Longer inputs are scored over slots that exist in training; in the even task, over those of its first half. Only "
    "answers that exist in training can be given there.",
)
SINGLE_SEED = (
    "With a single seed, intervals are over test sequences: they say nothing about other initial weights or other "
    "training sequences."
)


def notes_of(scale: RowSumScale, seeds: int) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication, and what intervals of so many seeds rest on."""
    notes = (difference_note(SIZES, scale, SCALES["paper"]), *NOTES, SINGLE_SEED if seeds == 1 else "")
    return tuple(note for note in notes if note)


def describe(table: ResultTable) -> dict[str, Any]:
    """Encodings by kind, and sizes."""
    scale: RowSumScale = table.scale
    return {
        "encodings": list(scale.encodings),
        "kinds": {name: ARMS[name].kind for name in scale.encodings},
        "tokens": {"position": scale.position.tokens, "even": scale.even.tokens},
        "seeds": len(table.seeds),
        "layers": scale.layers,
        "heads": scale.heads,
    }

"""What differs from the publication, and what the page needs beside the rows."""

from typing import Any

from wherewhat.studies.engine.claims import FEWEST_SEEDS
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import difference_note
from wherewhat.studies.latin_square.settings import ARMS, SCALES, LatinScale

SIZES = {  # by its name in a sentence; 0 is the scale
    "blocks": "{0.layers}",
    "width": "{0.width}",
    "steps": "{0.steps:,}",
    "batch": "{0.batch}",
    "learning rate": "{0.learning_rate:g}",
    "training puzzles": "{0.puzzles:,}",
    "seeds": "{0.seeds}",
}
NOTES = (
    "Nets are as published unless an arm says otherwise: an encoder with one head, a norm after each addition, a "
    "GELU after both layers of the MLP, a table per block that is added to its input, and an answer that is read "
    "from the last cell. The fixed sinusoid is added in every block too. The arm pre-norm has the blocks of our "
    "other nets.",
    "One-hot input through a linear layer is an embedding. Its weights are normal here, with the standard deviation of "
    "such a layer: 0.236, that of uniform weights between ±1/√6 for six symbols. That layer's bias, the same for all "
    "cells, is left out.",
    "The published learning rate is constant; here it rises over 100 steps and falls linearly to 0. Training "
    "puzzles are repeated in the same order.",
    "Arms called slower have a third of the learning rate of the others. The claims on generalisation and layout "
    "take small and large tables each at the better of both rates; all others compare at the usual one unless they say "
    "otherwise.",
    "How puzzles were split is not published: here test puzzles are drawn from every fifth Latin square, "
    "from which no training puzzle is drawn; 16 % of test puzzles also fit a square of training. All combinations of "
    "class, answer and queried cell are equally frequent.",
    "Procrustes is the nuclear norm of the product of both tables over their Frobenius norms. Raw, it is useless "
    "here, as all rows of the sinusoid share a large mean: with its rows in a random order it still scores 0.95. "
    "Whether the published similarity is centred is unknown.",
    "Wide and narrow tokens start ten times wider or narrower, so that the ratio of the first block's table to its "
    "input starts at that of the other sigma; both are trained, so that it does not stay there. Later blocks read what "
    "a norm has scaled, whatever tokens start from.",
    "In the simulated network, weights across modules are 0.02/24. With 0.05/24, correlations across modules are "
    "0.13 instead of 0.04, as the mode that all nodes share hardly decays.",
    "Links of attention are measured and removed in puzzles that ask for a cell outside the row and the column of the "
    "last one, nine in sixteen of them. In the others a link to the queried cell would also tell the last cell that "
    "they share a row or a column, and the last cell would read itself.",
    "The T5 bias has 64 buckets instead of the usual 32: so many give an encoder a bias of its own for every distance "
    "between sixteen cells.",
    "Under noise, each given cell is replaced with some probability by a symbol drawn from all four, so that a "
    "quarter of the replacements change nothing; the answer stays that of the puzzle before.",
)


SINGLE_SEED = (
    "With a single seed, intervals in charts and claims are over test puzzles, which says nothing about other initial "
    "weights; from two seeds on they are over seeds."
)
FEW_SEEDS = f"With fewer than {FEWEST_SEEDS} seeds no verdict goes beyond “in part”."


def notes_of(scale: LatinScale, seeds: int) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication, and what intervals of so many seeds rest on."""
    of_seeds = (SINGLE_SEED if seeds == 1 else "", FEW_SEEDS if seeds < FEWEST_SEEDS else "")
    return tuple(note for note in (difference_note(SIZES, scale, SCALES["paper"]), *NOTES, *of_seeds) if note)


def describe(table: ResultTable) -> dict[str, Any]:
    """Arms by kind, and sizes."""
    scale: LatinScale = table.scale
    names = dict.fromkeys((*scale.arms, *scale.network_arms))
    return {
        "arms": list(scale.arms),
        "network_arms": list(scale.network_arms),
        "kinds": {name: ARMS[name].kind for name in names},
        "sigmas": {name: ARMS[name].options["sigma"] for name in names if "sigma" in ARMS[name].options},
        "noise": list(scale.noise),
        "steps": scale.steps,
        "puzzles": scale.puzzles,
        "samples": scale.samples,
        "seeds": len(table.seeds),
        "layers": scale.layers,
        "heads": 1,
    }

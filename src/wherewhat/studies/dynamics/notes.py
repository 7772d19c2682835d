"""What differs from the publication, and what its page shows of it beside our results."""

from typing import Any

from wherewhat.studies.dynamics.margins import index_margin_bound, retrieval_margin_bound
from wherewhat.studies.dynamics.settings import DynamicsScale
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.engine.scale_notes import difference_note

# Mean frequencies of the 12 layers, each as a range. The paper numbers the fastest of 64 frequencies 1; here, as in
# every table, it is 0, and `first` says so to a page that may also show older results.
PUBLISHED_FREQUENCIES = {
    "of": 64,
    "first": 0,
    "number": [[0, 0], *[[1, 1]] * 3, [9, 9], *[[36, 38]] * 7],
    "letter": [[17, 17], [31, 31], [41, 41], *[[36, 40]] * 9],
}
SIZES = {  # everything in which scales may differ by its name in a sentence; 0 is the scale
    "window and tokens after it": "{0.number.window} + {0.number.pre}",
    "hops": "{0.number.hops[0]} to {0.most_hops}",
    "letters in the number task": "{0.number.n_letters}",
    "letters and integers in the letter task": "{0.letter.n_letters} and {0.letter.n_int}",
    "layers": "{0.layers}",
    "width": "{0.width}",
    "steps": "{0.steps:,}",
    "batch": "{0.batch}",
    "learning rate": "{0.learning_rate:g}",
    "warm-up": "{0.warmup}",
    "weight decay": "{0.weight_decay:g}",
    "betas": "{0.betas[0]:g} and {0.betas[1]:g}",
}
NOTES = (
    "All seeds of a task use the same training sequences in the same order and the same test sequences, so an interval "
    "over seeds reflects initial weights alone.",
    "At every scale our decoder applies attention and then the MLP, while theirs (GPT-J) applies both in parallel. "
    "Ours has no dropout.",
    "Every step uses new sequences; the paper used 432,000, each about once. Our learning rate falls linearly from the "
    "first step, theirs from the end of the warm-up.",
    "Heads are measured on test sequences, at the last token, over all swaps of two earlier tokens; step 0 is before "
    "training.",
    "The margin of the best key is the largest minus the second largest cosine between the rotated query and a rotated "
    "earlier key: the logit divided by scale, |query| and |key|.",
)


def notes_of(scale: DynamicsScale) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publication."""
    differ = difference_note(SIZES, scale, DynamicsScale())
    return (differ or "Tasks, depth, width and optimiser are as published.", *NOTES)


def describe(scale: DynamicsScale, table: ResultTable) -> dict[str, Any]:
    """What the page needs beside the rows: sizes, and what was published, with its bounds at our input lengths."""
    bounds = {
        "number": [(length, index_margin_bound(0.8, length)) for length in scale.lengths_of("number")],
        "letter": [(length, retrieval_margin_bound(0.0027, length, 8)) for length in scale.lengths_of("number")],
    }
    sizes = {"layers": scale.layers, "steps": scale.steps, "batch": scale.batch, "length": scale.number.length}
    published = {"frequencies": PUBLISHED_FREQUENCIES, "bounds": bounds}
    return {**sizes, "frequencies": scale.width // 2, "seeds": len(table.seeds), "published": published}

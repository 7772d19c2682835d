"""Notes on differences from the publication, and on what was left out."""

from wherewhat.formatting import percent
from wherewhat.stats.correlation import FEWEST, MANY
from wherewhat.studies.engine.claims import FEWEST_SEEDS
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.locality.claims import CLOSE, HALF
from wherewhat.studies.locality.sets import LEFT_OUT, NEAR_CHANCE
from wherewhat.studies.locality.settings import LocalityScale

NOTES = (
    "We know only the abstract, the measures, one table of an earlier version and some code of the publication, not "
    "its coefficients, its accuracies or the sizes of its nets. Nothing is compared with a number that we do not have.",
    "The publication pre-trained on English Wikipedia with masked words and next-sentence prediction, up to 512 tokens "
    "and at most 20 masked words per text. Here sentences are read one by one, the only objective is 15 % masked words "
    "(80/10/10), and there are no special tokens.",
    "The publication used 10 data sets from SentEval and GLUE; which ones is unknown. Here questions are about "
    "sentences of the grammar, and about those of --task files.",
    "Errors of the released code are not copied: evaluation that takes optimiser steps, learning rates below 0, "
    "Matthews correlation with swapped cells, a Gaussian that is a sinusoid, weight decay on parameters of an "
    "encoding.",
    "It is unknown which side s steepens in the publication; here it is the side after the query.",
    "Intervals of correlations over encodings are Fisher's, or a bootstrap over encodings if there are 20 or more; "
    "intervals over seeds are Student's. No interval is corrected for multiple comparisons.",
    "The decision to judge symmetry at the same locality and not at the same w was taken after 14 runs of seed 0 at "
    "scale tiny were known; by the earlier rule, symmetry's gain would have been clear.",
    "A seed determines initial weights, the order of training sentences, and which sentences of the grammar the "
    "questions are about (those of a file are always the same). Encodings share the seeds, so differences are taken "
    "seed by seed, and the spread over seeds is that of the whole pipeline.",
    "Means over all questions leave out `names`: it is built so that no symmetric encoding can answer it.",
    f"Chosen by us: a correlation is close from {CLOSE} on; within {100 * NEAR_CHANCE:g} points of chance is guessing; "
    f"a raw curve is inert below {HALF} of the effect of a log curve; correlations need {FEWEST} encodings and are "
    f"bootstrapped from {MANY} on; verdicts need {FEWEST_SEEDS} seeds.",
)


def notes_of(table: ResultTable) -> tuple[str, ...]:
    """Notes on this scale, and those that hold at every scale."""
    scale: LocalityScale = table.scale
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads and train on "
        f"{scale.sentences:,} sentences for {scale.steps:,} steps of {scale.batch}; locality is measured over "
        f"{scale.n} tokens, and most sentences are shorter."
    )
    unread = [
        f"{percent(share)} of the words of {name} are unknown to the nets; {LEFT_OUT}."
        for name, share in table.notes["unknown words"].items()
        if share > 0
    ]
    rates = scale.tuning.learning_rates
    several = f"the best of {len(rates)} is chosen on validation sentences"
    tuning = (
        "The publication fine-tuned with learning rates of 3e-4 to 1e-5, seed 42, length 128, batch 32 and 3 epochs, "
        f"and chose the best rate on the test data; here "
        f"{several if len(rates) > 1 else f'there is only one rate, {rates[0]:g}'}."
    )
    return (*scale.size_notes(size), *unread, tuning, *NOTES)

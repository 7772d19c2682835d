"""What differs from the publication, and what was left out."""

from wherewhat.report.numbers import percent
from wherewhat.studies.locality.claims import FEWEST_SEEDS
from wherewhat.studies.locality.correlations import FEWEST, MANY
from wherewhat.studies.locality.evidence import NEAR_CHANCE, STRANGE, Evidence
from wherewhat.studies.locality.judge_open import HALF
from wherewhat.studies.locality.judge_published import CLOSE
from wherewhat.studies.locality.settings import Scale

NOTES = (
    "Of the publication only the abstract, the measures, one table of an earlier version and some code are known to "
    "us; its coefficients, its accuracies and the sizes of its nets are not. Nothing is compared with a number that we "
    "do not have.",
    "Published was pre-training on English Wikipedia with masked words and next sentences, up to 512 tokens, at most "
    "20 guesses a text; here sentences are read one by one, nothing else is guessed than words, 15 % of them "
    "(80/10/10), and there are no special tokens.",
    "Published were 10 sets out of SentEval and GLUE, which ones is unknown; here questions are about the grammar's "
    "sentences, and those of --task files.",
    "Faults of the released code are not copied: evaluation that takes optimiser steps, rates below 0, Matthews "
    "correlation with its cells exchanged, a Gaussian that is a sinusoid, decay of what an encoding learns.",
    "Which side s steepens in the publication is unknown; here it is the side from the query on.",
    "Over encodings, intervals of correlations are Fisher's, or of resampled encodings where there are 20 or more; "
    "over seeds they are Student's. No interval is corrected for being one of several.",
    "That symmetry is judged at the same locality and not at the same w was chosen after 14 runs of seed 0 at "
    "scale tiny had been seen; by the rule before it, symmetry's gain would have been clear.",
    "Seeds draw first weights, the order of reading, and which of the grammar's sentences are asked about (a file's "
    "are always the same); encodings share them, so differences are taken seed by seed, and the spread over seeds is "
    "that of the whole pipeline.",
    "Where all questions count together, `names` is left out: it is built so that no symmetric encoding can answer it.",
    f"Chosen by us: a correlation is close from {CLOSE} on; within {100 * NEAR_CHANCE:g} points of chance is guessing; "
    f"a raw curve is inert below {HALF} of what a logarithmic one does; correlations need {FEWEST} encodings, are "
    f"resampled from {MANY} on, and verdicts need {FEWEST_SEEDS} seeds.",
)
LEFT_OUT = (
    f"above {percent(STRANGE)} a question is left out where all count together (--text with its words would mend that)"
)


def notes_of(scale: Scale, seen: Evidence) -> tuple[str, ...]:
    """Notes on the scale, and those that hold at every scale."""
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads and read {scale.sentences:,} "
        f"sentences in {scale.steps:,} steps of {scale.batch}; locality is that of {scale.sweep.n} tokens, and what is "
        "read is mostly shorter."
    )
    chosen = [scale.chosen] if scale.chosen else []
    return (size, *chosen, *_never_told(scale), *_strangers(seen), _rates(scale), *NOTES)


def _rates(scale: Scale) -> str:
    rates = scale.tuning.learning_rates
    here = (
        f"here the best of {len(rates)} is chosen on sentences that are neither learnt from nor judged by"
        if len(rates) > 1
        else f"here there is one rate, {rates[0]:g}, and nothing to choose"
    )
    return (
        "Published were rates of 3e-4 to 1e-5, seed 42, length 128, batch 32 and 3 epochs, the best rate chosen on the "
        f"very data it was judged by; {here}."
    )


def _never_told(scale: Scale) -> list[str]:
    return [f"What was published is unknown of {', '.join(scale.unknown)}; these are ours."] if scale.unknown else []


def _strangers(seen: Evidence) -> list[str]:
    """How much of a question the nets could not read, as far as any."""
    return [
        f"{percent(share)} of the words of {name} are unknown to the nets; {LEFT_OUT}."
        for name, share in seen.unknown_words.items()
        if share > 0
    ]

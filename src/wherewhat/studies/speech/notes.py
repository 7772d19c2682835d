"""What differs from the publications, and what the page needs beside the rows."""

from typing import Any

from wherewhat.corpora.speech.recordings import RecordedSpeech
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.speech.measures import PICTURE_SEED, picture_number
from wherewhat.studies.speech.settings import SpeechScale

NOTES = (
    "Published comparisons are of large conformers on hundreds of hours of read or spontaneous speech. Here a small "
    "one hears strings of single digits, so that error rates cannot be compared, only the order of the encodings.",
    "Nets have no dropout. Training hides some bands and some frames of every utterance, as published.",
    "Words are read off the likeliest class of every token, without a language model. The error rate is the number of "
    "edits per word, pooled over the utterances of a run. With several seeds, intervals are Student's over seeds, each "
    "with its own weights, training data and test utterances; with one, they resample whole utterances.",
    "Time per step is processor time on one thread, both encodings in turn inside one run. Memory is that of "
    "activations when the forward pass ends, which is the peak of a step above weights, gradients and optimizer.",
    "Features are normalised over the whole utterance, silence included, so that leading silence changes what a net "
    "hears of the rest, whatever its positions are.",
)
RECORDINGS = (
    "Test utterances are put together from a few hundred recordings, and one speaker alone is new: intervals say how "
    "other runs would do with these recordings, not how any run would do with other speakers."
)
TONES = (
    "At this scale nets hear touch tones, which are generated: nearly every net learns them, so that they show that "
    "training works and what longer utterances do, not how well speech is recognised."
)


def notes_of(scale: SpeechScale) -> tuple[str, ...]:
    """How this scale, and every scale, differs from the publications."""
    of_corpus = {"tones": (TONES,), "digits": (RECORDINGS,)}.get(scale.corpus.name, ())
    return (*of_corpus, *NOTES)


def describe(table: ResultTable) -> dict[str, Any]:
    """Arms, tests, sizes, and what is said in the utterance that is drawn."""
    scale: SpeechScale = table.scale
    corpus = scale.corpus
    utterance = corpus.utterance(PICTURE_SEED, corpus.plain_test, picture_number(corpus))
    return {
        "arms": list(scale.arms),
        "tests": scale.tests,
        "corpus": corpus.name,
        "unit": "character" if isinstance(corpus, RecordedSpeech) else "digit",
        "steps": scale.steps,
        "samples": scale.samples,
        "utterance": list(utterance.words),
        "words": list(corpus.vocabulary),
        "seeds": len(table.seeds),
        "layers": scale.layers,
        "heads": scale.heads,
    }

"""Published comparisons of rotary and relative positions in conformers: word or character error rates in per cent."""

from typing import NamedTuple


class PublishedErrors(NamedTuple):
    """One comparison: where, on what, and both error rates; None where only a ratio is known."""

    source: str
    data: str
    relative: float | None
    rope: float | None
    note: str = ""


COMPARISONS: tuple[PublishedErrors, ...] = (
    PublishedErrors("arXiv 2107.05907", "LibriSpeech test-clean", None, None, "8.70 % fewer errors, relatively"),
    PublishedErrors("arXiv 2107.05907", "LibriSpeech test-other", None, None, "7.27 % fewer errors, relatively"),
    PublishedErrors(
        "SpeechBrain recipes, large conformer", "LibriSpeech test-clean", 2.01, 1.96, "with a language model"
    ),
    PublishedErrors(
        "SpeechBrain recipes, large conformer", "LibriSpeech test-other", 4.52, 4.50, "with a language model"
    ),
    PublishedErrors(
        "PaddleSpeech recipes, chunks of 16", "AISHELL-1, characters", 5.44, 5.44, "44.80M against 47.06M weights"
    ),
    PublishedErrors(
        "arXiv 2501.06051", "100 to 50,000 hours", None, None, "similar or better; training up to 21 % faster"
    ),
)
FASTER = (0.13, 0.21)  # less training time with RoPE: SpeechBrain's pull request 2799, and at most, arXiv 2501.06051

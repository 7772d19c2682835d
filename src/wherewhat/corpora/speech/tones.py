"""Touch tones: every digit is two sines, as a telephone dials it. Generated, so that nothing has to be recorded."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.corpora.speech.base import SpeechCorpus, Utterance
from wherewhat.corpora.speech.features import RATE
from wherewhat.corpora.speech.splits import LEADING, LONG, TEST, TRAIN
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.stream import Stream

LOW, HIGH = (697, 770, 852, 941), (1209, 1336, 1477, 1633)  # hertz, by row and column of the keys
KEYS = ("123A", "456B", "789C", "*0#D")
DIGITS = tuple("0123456789")
LOUDNESS, NOISE = 0.25, 0.05  # amplitudes of each sine, and of noise
TONE_MS, GAP_MS = (60, 180), (20, 120)
SILENCE = RATE  # samples of it, where there is silence before an utterance


@dataclass(frozen=True)
class TouchTones(SpeechCorpus):
    """Digits dialled one after the other, with gaps of noise between them."""

    shortest: int = 1
    longest: int = 5
    name: ClassVar[str] = "tones"

    def __post_init__(self) -> None:
        check_counts(self.shortest, self.longest)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return DIGITS

    @property
    def splits(self) -> tuple[str, ...]:
        return (TRAIN, TEST, LEADING, *LONG)

    def size(self, split: str) -> int | None:
        return None

    def utterance(self, seed: int, split: str, index: int) -> Utterance:
        look_up("split", split, dict.fromkeys(self.splits))
        stream = Stream(seed, self.name, TEST if split == LEADING else split, index)
        count = LONG.get(split) or stream.between(self.shortest, self.longest)
        words = tuple(str(stream.below(10)) for _ in range(count))
        gap = stream.between(*GAP_MS)
        pieces = [np.zeros(gap * RATE // 1000)]
        for word in words:
            pieces += [tone(word, stream.between(*TONE_MS)), np.zeros(stream.between(*GAP_MS) * RATE // 1000)]
        samples = np.concatenate([np.zeros(SILENCE if split == LEADING else 0), *pieces])
        noise = stream.many_below(2**20, len(samples)) / 2**19 - 1
        return Utterance(samples + NOISE * noise, words)


def check_counts(shortest: int, longest: int) -> None:
    """Refuse utterances without a digit, and a longest one that is shorter than the shortest."""
    if not 1 <= shortest <= longest:
        raise UserError(f"utterances have {shortest} to {longest} digits; give 1 <= shortest <= longest")


def tone(key: str, milliseconds: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The samples of one key.

    >>> len(tone("5", 100))
    800
    """
    row = next(number for number, keys in enumerate(KEYS) if key in keys)
    times = np.arange(milliseconds * RATE // 1000) / RATE
    waves = [LOUDNESS * np.sin(2 * np.pi * hertz * times) for hertz in (LOW[row], HIGH[KEYS[row].index(key)])]
    return np.asarray(sum(waves))

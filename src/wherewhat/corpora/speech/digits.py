"""Strings of spoken digits, put together from recordings of single ones by the same speaker."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np

from wherewhat.corpora.speech.base import SpeechCorpus, Utterance
from wherewhat.corpora.speech.features import RATE, Samples
from wherewhat.corpora.speech.splits import LEADING, LONG, NEW_SPEAKER, TEST, TRAIN
from wherewhat.corpora.speech.tones import DIGITS, SILENCE, check_counts
from wherewhat.corpora.speech.waves import digest_of, open_wave, read_wave
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.stream import Stream

NAME = re.compile(r"(\d)_([^_]+)_(\d+)\.wav")  # digit, speaker and number of a recording
HELD_OUT = 5  # recordings of every digit and speaker, the first ones, that are for testing
LUCAS = "lucas"  # who is not in training, if the recordings are those of the Free Spoken Digit Dataset
PEAK = 0.5  # of every recording
QUIET = 20 * RATE // 1000  # samples of the quietest stretch, which fills gaps
GAP_MS = (30, 200)


@dataclass(frozen=True)
class SpokenDigits(SpeechCorpus):
    """One to five digits of one speaker; tests have recordings, or a speaker, that are not in training."""

    folder: str
    held_out: str = ""  # the speaker who is not in training; empty: lucas, or the last by name if there is no lucas
    shortest: int = 1
    longest: int = 5
    name: ClassVar[str] = "digits"

    def __post_init__(self) -> None:
        check_counts(self.shortest, self.longest)

    def check(self) -> None:
        """Refuse a folder in which a speaker or a digit is missing, or a file cannot be read, before learning."""
        recordings.cache_clear()  # the folder may have changed since it was last read
        loud.cache_clear()
        if len(speakers := self._all_speakers()) < 2:
            raise UserError(f"{self.folder} has one speaker alone; give recordings of two or more")
        if self.new_speaker not in speakers:
            raise UserError(
                f"no recording in {self.folder} is of {self.held_out}; give held_out one of {', '.join(speakers)}"
            )
        for digit in range(10):
            self._paths(digit, self.new_speaker, NEW_SPEAKER)
            for speaker, split in product(self.speakers, (TRAIN, TEST)):
                self._paths(digit, speaker, split)
        for path in self._files():
            open_wave(path)

    def digest(self) -> str:
        return digest_of(self._files())

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return DIGITS

    @property
    def splits(self) -> tuple[str, ...]:
        return (TRAIN, TEST, NEW_SPEAKER, LEADING, *LONG)

    def size(self, split: str) -> int | None:
        return None

    @property
    def speakers(self) -> list[str]:
        """Those in training."""
        return [speaker for speaker in self._all_speakers() if speaker != self.new_speaker]

    @property
    def new_speaker(self) -> str:
        """The one who is not in training."""
        speakers = self._all_speakers()
        return self.held_out or (LUCAS if LUCAS in speakers else speakers[-1])

    def _all_speakers(self) -> list[str]:
        return sorted({speaker for _, speaker in recordings(self.folder)})

    def utterance(self, seed: int, split: str, index: int) -> Utterance:
        look_up("split", split, dict.fromkeys(self.splits))
        stream = Stream(seed, self.name, TEST if split == LEADING else split, index)
        count = LONG.get(split) or stream.between(self.shortest, self.longest)
        speaker = self.new_speaker if split == NEW_SPEAKER else stream.pick(self.speakers)
        words = [stream.below(10) for _ in range(count)]
        takes = [loud(stream.pick(self._paths(word, speaker, split))) for word in words]
        quiet = quietest(takes)
        pieces = [np.zeros(0)]
        for take in takes:
            gap = stream.between(*GAP_MS) * RATE // 1000
            pieces += [np.resize(quiet, gap), take]
        pieces.append(np.resize(quiet, stream.between(*GAP_MS) * RATE // 1000))
        samples = np.concatenate([np.resize(quiet, SILENCE if split == LEADING else 0), *pieces])
        return Utterance(samples, tuple(map(str, words)))

    def _paths(self, digit: int, speaker: str, split: str) -> list[Path]:
        """The recordings that a split may use: of a speaker who is not in training, all."""
        by_number = recordings(self.folder).get((digit, speaker), {})
        chosen = [
            path
            for number, path in by_number.items()
            if split == NEW_SPEAKER or (number >= HELD_OUT) == (split == TRAIN)
        ]
        if not chosen:
            purpose = "training" if split == TRAIN else "testing"
            raise UserError(
                f"{self.folder} has no recording of {digit} by {speaker} for {purpose}; "
                f"numbers below {HELD_OUT} are for testing, the others for training"
            )
        return chosen

    def _files(self) -> list[Path]:
        return sorted(path for by_number in recordings(self.folder).values() for path in by_number.values())


@cache
def recordings(folder: str) -> dict[tuple[int, str], dict[int, Path]]:
    """The files of a folder by digit and speaker, then by number; files of other names are no recordings."""
    if not Path(folder).is_dir():
        raise UserError(f"{folder} is no folder; give one with recordings such as 7_george_12.wav")
    matches = [(match, path) for path in Path(folder).iterdir() if (match := NAME.fullmatch(path.name))]
    if not matches:
        raise UserError(f"{folder} has no recordings such as 7_george_12.wav; put WAV files of that kind into it")
    known: dict[tuple[int, str], dict[int, Path]] = {}
    for match, path in sorted(matches, key=lambda pair: int(pair[0][3])):
        known.setdefault((int(match[1]), match[2]), {})[int(match[3])] = path
    return known


@cache
def loud(path: Path) -> Samples:
    """A recording whose loudest sample is 0.5."""
    samples = read_wave(path)
    return samples * (PEAK / max(float(np.abs(samples).max()), 1e-9))


def quietest(takes: list[Samples]) -> Samples:
    """The 20 ms with the least energy in any of these recordings."""
    stretches = []
    for take in takes:
        sums = np.cumsum(np.concatenate([[0.0], take**2]))
        size = min(QUIET, len(take))
        energy = sums[size:] - sums[:-size]
        first = int(energy.argmin())
        stretches.append((float(energy[first]) / size, take[first : first + size]))
    return min(stretches, key=lambda pair: pair[0])[1]

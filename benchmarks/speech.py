"""Features of speech: how many times faster than real time, on one core."""

import time
from collections.abc import Iterator

from benchmarks.measurement import Measurement
from wherewhat.corpora.speech.features import RATE, features
from wherewhat.corpora.speech.tones import TouchTones

UTTERANCES = 40


def measure(repeats: int) -> Iterator[Measurement]:
    """Seconds of speech per second of the processor."""
    takes = [TouchTones().utterance(0, "20 digits", number).samples for number in range(UTTERANCES)]
    spoken = sum(map(len, takes)) / RATE
    ratios = []
    for _ in range(repeats + 1):  # the first one only warms up
        began = time.process_time()
        for samples in takes:
            features(samples)
        ratios.append(spoken / (time.process_time() - began))
    note = f"{spoken:.0f} s of speech"
    yield Measurement(
        "features of speech: times faster than real time", tuple(ratios[1:]), 100, at_least=True, note=note
    )

"""A run of the study of speech as its table has it, without a net: two encodings, three tests, one short utterance."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from wherewhat.studies.engine.results import Row
from wherewhat.studies.speech.names import (
    ERROR,
    EXACT,
    LONGEST,
    MEMORY,
    PARAMETERS,
    REACH,
    RELATIVE,
    ROPE,
    TIME,
    TIME_RATIO,
    TRAINING_BATCH,
    UNIFORM,
)
from wherewhat.tables.schema import RESULT, frame

ARMS = (ROPE, RELATIVE)
TESTS = {"test": 0.012, "new speaker": 0.15, LONGEST: 0.03}
SAID = ("", "3", "3", "", "3", "", "7", "")  # the likeliest word of every token; "" is the blank
TOKEN = 0.04  # seconds
HERTZ = (60, 200, 450, 900, 1800, 3500)
ABOUT: dict[str, Any] = {
    "arms": list(ARMS),
    "tests": list(TESTS),
    "corpus": "digits",
    "unit": "digit",
    "steps": 700,
    "samples": 600,
    "utterance": ["3", "3", "7"],
    "words": list("0123456789"),
    "seeds": 2,
    "layers": 2,
    "heads": 2,
    "answers": {"as good": {"lead": "RoPE recognises as well", "rest": "Error rates: <i>equal</i>"}},
}


def speech_run() -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table and the manifest of a finished run."""
    rows = [row for arm in ARMS for row in (*_errors(arm), *_costs(arm), *_heads(arm), *_pictures(arm))]
    return frame([*rows, *_spectrogram()], RESULT), {"command": "wherewhat reproduce speech", "about": ABOUT}


def _errors(arm: str) -> Iterator[Row]:
    for test, rate in TESTS.items():
        yield "error", arm, test, None, None, ERROR, rate, 0.5 * rate, 1.5 * rate
        yield "error", arm, test, None, None, EXACT, 1 - rate, 1 - 2 * rate, 1.0
        for other in set(ARMS) - {arm}:
            yield "difference", arm, test, None, None, f"minus {other}", 0.0, -0.01, 0.01


def _costs(arm: str) -> Iterator[Row]:
    slower = 1.0 if arm == ROPE else 1.25
    yield "cost", arm, TRAINING_BATCH, None, None, PARAMETERS, 900_000 * slower, None, None
    for batch in (TRAINING_BATCH, LONGEST):
        yield "cost", arm, batch, None, None, TIME, 100 * slower, 95.0, 130.0
        yield "cost", arm, batch, None, None, MEMORY, 80 * slower, None, None
        if arm == ROPE:
            yield "cost", arm, batch, None, None, TIME_RATIO, 0.8, 0.75, 0.85


def _heads(arm: str) -> Iterator[Row]:
    for seed in (0, 1, None):
        for number, item in enumerate(("L0H0", "L0H1", "L1H0", "L1H1", UNIFORM)):
            yield "heads", arm, item, None, seed, REACH, 100.0 + 50 * number, None, None
    if arm == ROPE:
        for number, period in enumerate(("0.25", "2.5", "25")):
            yield "frequencies", arm, period, float(number), None, "variance_share", 0.2, None, None


def _pictures(arm: str) -> Iterator[Row]:
    for token, word in enumerate(SAID):
        at = round(token * TOKEN, 2)
        yield "decoded", arm, word, at, 0, "probability", 0.9, None, None
        yield "decoded", arm, "" if word else "9", at, 0, "probability", 0.1, None, None
        for key in range(len(SAID)):
            yield (
                "attention",
                arm,
                f"{at:.2f}",
                round(key * TOKEN, 2),
                0,
                "L1H0",
                1 / (1 + (token - key) ** 2),
                None,
                None,
            )


def _spectrogram() -> Iterator[Row]:
    for time in range(2 * len(SAID)):
        for band, hertz in enumerate(HERTZ):
            yield "spectrogram", "", str(hertz), time * TOKEN / 2, None, "energy", (band - time % 3) / 2, None, None

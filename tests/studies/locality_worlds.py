"""Results of the locality experiment made by hand, in which claims hold or do not."""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from wherewhat.studies.locality.evidence import Evidence, Row
from wherewhat.studies.locality.means import bias_rows
from wherewhat.studies.locality.settings import QUESTIONS, SCALES
from wherewhat.studies.locality.trials import Trial, curve
from wherewhat.tables.schema import RESULT, frame

SWEEP = SCALES["tiny"].sweep
TRIALS = SWEEP.trials()
BLIND = {trial.name for trial in TRIALS if trial.mirrored and trial.kind == "encoder"}
Said = Callable[[Trial, str], float]  # of an encoding and a question


def shake(trial: Trial, question: str, seed: int, size: float) -> float:
    """Noise that is always the same."""
    return size * float(np.random.default_rng([crc32(f"{trial.name} {question}".encode()), seed]).normal())


def bias(trial: Trial, measure: str) -> float:
    """What the curve of an encoding is, a learned side left out; a middling value for others."""
    if trial.family in ("ours", "control"):
        return curve("log", trial.w or 0.0).bias_measures(SWEEP.n)[measure]
    return trial.bias_measures(SWEEP.n).get(measure, 0.5)


def as_local(trial: Trial) -> float:
    """Attention that follows a logarithmic curve, and nothing else."""
    return bias(trial, "locality") if trial.family in ("log", "ours", "control", "learned", "decoder") else 0.1


def world(
    accuracy: Said,
    *,
    forgetting: Said = lambda trial, question: 0.5,
    attention: Callable[[Trial], float] = as_local,
    noise: Callable[[Trial], float] = lambda trial: 0.002,
    seeds: range = range(3),
) -> Evidence:
    """All rows that runs would give."""
    rows: list[Row] = list(bias_rows(TRIALS, SWEEP.n))
    for seed in seeds:
        for trial in TRIALS:

            def row(part: str, item: str, measure: str, value: float, trial: Trial = trial, seed: int = seed) -> Row:
                return part, trial.name, item, None, seed, measure, value, None, None

            for question in QUESTIONS:
                blind = question == "names" and trial.name in BLIND
                value = 0.5 if blind else accuracy(trial, question) + shake(trial, question, seed, noise(trial))
                rows.append(row("run", question, "accuracy", value))
                rows.append(row("run", question, "frozen accuracy", value - 0.01))
                rows.append(row("run", question, "valid accuracy", value))
                forgot = forgetting(trial, question) + shake(trial, "f", seed, 0.01)
                rows.append(row("run", question, "forgetting", forgot))
            rows.append(row("run", "", "word loss", 3.0))
            rows.append(row("run", "", "word accuracy", 0.3))
            rows.append(row("encoding", "", "attention.locality", attention(trial) + shake(trial, "a", seed, 0.001)))
            rows.append(row("encoding", "", "attention.balance", bias(trial, "balance")))
    return Evidence(frame(rows, RESULT), TRIALS, QUESTIONS)

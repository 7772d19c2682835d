"""Results of the locality experiment made by hand, in which claims hold or do not."""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from wherewhat.studies.engine.encodings import EncodingCondition, bias_rows, curve
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.locality.sets import with_notes
from wherewhat.studies.locality.settings import QUESTIONS, SCALES
from wherewhat.studies.locality.summaries import contrast_rows, link_rows, mean_rows

SCALE = SCALES["tiny"]
TRIALS = SCALE.conditions()
BLIND = {condition.name for condition in TRIALS if condition.mirrored and condition.kind == "encoder"}
Said = Callable[[EncodingCondition, str], float]  # of an encoding and a question


def shake(condition: EncodingCondition, question: str, seed: int, size: float) -> float:
    """Noise that is always the same."""
    return size * float(np.random.default_rng([crc32(f"{condition.name} {question}".encode()), seed]).normal())


def bias(condition: EncodingCondition, measure: str) -> float:
    """What the curve of an encoding is, a learned side left out; a middling value for others."""
    if condition.family in ("ours", "control"):
        return curve("log", condition.w or 0.0).bias_measures(SCALE.n)[measure]
    return condition.bias_measures(SCALE.n).get(measure, 0.5)


def as_local(condition: EncodingCondition) -> float:
    """Attention that follows a logarithmic curve, and nothing else."""
    return bias(condition, "locality") if condition.family in ("log", "ours", "control", "learned", "decoder") else 0.1


def world(
    accuracy: Said,
    *,
    forgetting: Said = lambda condition, question: 0.5,
    attention: Callable[[EncodingCondition], float] = as_local,
    noise: Callable[[EncodingCondition], float] = lambda condition: 0.002,
    seeds: range = range(3),
) -> ResultTable:
    """All rows that runs would give, and what follows from them."""
    rows: list[Row] = list(bias_rows(TRIALS, SCALE.n))
    for seed in seeds:
        for condition in TRIALS:

            def row(
                part: str,
                item: str,
                measure: str,
                value: float,
                condition: EncodingCondition = condition,
                seed: int = seed,
            ) -> Row:
                return part, condition.name, item, None, seed, measure, value, None, None

            for question in QUESTIONS:
                blind = question == "names" and condition.name in BLIND
                value = (
                    0.5 if blind else accuracy(condition, question) + shake(condition, question, seed, noise(condition))
                )
                rows.append(row("run", question, "accuracy", value))
                rows.append(row("run", question, "frozen accuracy", value - 0.01))
                rows.append(row("run", question, "valid accuracy", value))
                forgot = forgetting(condition, question) + shake(condition, "f", seed, 0.01)
                rows.append(row("run", question, "forgetting", forgot))
            rows.append(row("run", "", "word loss", 3.0))
            rows.append(row("run", "", "word accuracy", 0.3))
            rows.append(
                row("encoding", "", "attention.locality", attention(condition) + shake(condition, "a", seed, 0.001))
            )
            rows.append(row("encoding", "", "attention.balance", bias(condition, "balance")))
    return summed_up(table_of(rows, TRIALS, SCALE))


def summed_up(table: ResultTable) -> ResultTable:
    """A table of runs with means, correlations and contrasts, as claims are tested on."""
    runs = with_notes(table)
    return with_notes(runs.extended([*mean_rows(runs), *link_rows(runs), *contrast_rows(runs)]))

"""The whole experiment: train every condition at every angle, measure the heads, and judge the published claims."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

import numpy as np

from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.canonical.claims import claims
from wherewhat.studies.canonical.measure import Row, accuracy, lengths, scores, vectors
from wherewhat.studies.canonical.sequences import read
from wherewhat.studies.canonical.settings import (
    BASES,
    CONDITIONS,
    CONTEXT,
    INTEGERS,
    PUBLISHED,
    SCALES,
    SYMBOLS,
    TOKENS,
    CanonicalScale,
    angle,
)
from wherewhat.studies.canonical.theory import (
    hand_built_accuracy,
    index_bound,
    index_margin,
    index_norm,
    index_peak,
    retrieval_bound,
    retrieval_margin,
    retrieval_norm,
    retrieval_peak,
    tilt_bound,
)
from wherewhat.studies.canonical.train import TrainedHeads, train
from wherewhat.tables.schema import RESULT, frame

# Base angles at which hand-built heads are evaluated: denser around the bounds.
FINE = tuple(step / 80 for step in range(41)) + tuple(step / 20 for step in range(11, 41))
BOUNDS = {"index": index_bound(), "retrieval": retrieval_bound(), "tilt": tilt_bound()}  # in radians per slot
NOTES = (  # at every scale
    "Optimiser, learning rate, initial weights, embeddings, label format and the rule for distractors are not "
    "published; here they are Adam, one-hot tokens, learnt tables of queries and keys, and values used as answers "
    "without a transformation.",
    "An answer's logit is the attention on it times a learnt gain; the query is not a key, so nothing attends to it.",
    "Partial induction has exactly two pairs with the queried symbol; the paper says two or more.",
    "The temperature of the paper's score is not published; scores are given at 1e-4, as in the code of the follow-up "
    "paper, and with all swaps weighted equally.",
)


def canonical(request: Request) -> StudyResult:
    """Index, retrieval and partial induction with one head, by the angle of its only frequency."""
    scale = request.of(SCALES)
    scale = scale if request.seeds is None else replace(scale, seeds=request.seeds)
    rows: list[Row] = []
    for heads in train(scale, request.seed, request.step):
        rows += measured_rows(heads, scale)
    result = frame([*rows, *theory_rows()], RESULT)
    return StudyResult(
        result=result,
        claims=claims(result),
        settings=settings(scale, request.seed),
        notes=(training_note(scale), *NOTES),
        about={"bounds": {name: base_of(bound) for name, bound in BOUNDS.items()}},
    )


def settings(scale: CanonicalScale, seed: int) -> dict[str, Any]:
    """Everything that determines the result."""
    sizes = {"context": CONTEXT, "symbols": SYMBOLS, "integers": INTEGERS, "bases": list(BASES)}
    samples = scale.samples or "fresh"
    return {
        **asdict(scale),
        "samples": samples,
        **sizes,
        "first_seed": seed,
        "cases": list(CONDITIONS),
        "optimiser": "Adam",
    }


def training_note(scale: CanonicalScale) -> str:
    """How much was trained and measured, compared with the paper.

    >>> training_note(PUBLISHED)
    'As published, 64,000 steps of 64, 100 epochs of 40,960 samples; accuracy is measured on 20,480 samples per seed.'
    """
    paper = PUBLISHED
    if (scale.steps, scale.batch, scale.samples) == (paper.steps, paper.batch, paper.samples):
        how = f"As published, {scale.steps:,} steps of {scale.batch}, 100 epochs of {paper.samples:,} samples"
    else:
        kind = "each used once" if scale.samples is None else f"from a set of {scale.samples:,}"
        how = (
            f"Training takes {scale.steps:,} steps of {scale.batch} samples, {kind}; the paper takes {paper.steps:,} "
            f"steps, 100 epochs of {paper.samples:,} samples"
        )
    published = "" if scale.valid == paper.valid else f", {paper.valid:,} in the paper"
    return f"{how}; accuracy is measured on {scale.valid:,} samples per seed{published}."


def measured_rows(heads: TrainedHeads, scale: CanonicalScale) -> Iterator[Row]:
    """Everything that is measured on the heads of one condition."""
    sequences = heads.valid(scale.valid)
    yield from accuracy(heads, sequences)
    yield from scores(heads, sequences.part(0, scale.scored))
    yield from lengths(heads)
    yield from vectors(heads)


def theory_rows() -> Iterator[Row]:
    """What theory predicts."""
    yield from _by_angle("index", "margin", index_margin)
    yield from _by_angle("index", "norm", index_norm)
    yield from _by_angle("retrieval", "margin", retrieval_margin)
    yield from _by_angle("retrieval", "norm", retrieval_norm)
    for name, peak in (("index", index_peak), ("retrieval", retrieval_peak)):
        for slot, value in enumerate(peak(TOKENS, angle(1.0))):
            yield ("theory", name, "base 1", float(slot), None, "peak", float(value), None, None)
    for name, condition in CONDITIONS.items():
        cells = int(np.prod(condition.task.cells))
        sequences = read(condition.task, seeds=[1], split="valid", numbers=np.arange(2 * cells))
        for base in FINE:
            value = hand_built_accuracy(name, base, sequences)
            yield ("theory", name, "by hand", base, None, "accuracy", value, None, None)


def base_of(theta: float) -> float:
    """The base of an angle.

    >>> round(base_of(retrieval_bound()), 6), round(base_of(index_bound()), 6)
    (0.125, 2.0)
    """
    return theta / angle(1.0)


def _by_angle(name: str, measure: str, formula: Callable[[float], float]) -> Iterator[Row]:
    for base in BASES:
        value = formula(angle(base))
        if isfinite(value):
            yield ("theory", name, "by formula", base, None, measure, value, None, None)

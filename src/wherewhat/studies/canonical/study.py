"""The whole experiment: train every case at every angle, measure, and hold it against what was published."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

import numpy as np

from wherewhat.studies.base import Found, Order
from wherewhat.studies.canonical.claims import claims
from wherewhat.studies.canonical.measure import Row, accuracy, lengths, scores, vectors
from wherewhat.studies.canonical.sequences import Sequences, read
from wherewhat.studies.canonical.settings import (
    BASES,
    CASES,
    CONTEXT,
    INTEGERS,
    PUBLISHED,
    SCALES,
    SYMBOLS,
    TOKENS,
    Scale,
    angle,
)
from wherewhat.studies.canonical.theory import (
    accuracy_by_hand,
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
from wherewhat.studies.canonical.train import Trained, train
from wherewhat.tables.schema import RESULT, frame

# Base angles at which heads by hand are tried: close to each other where bounds lie.
FINE = tuple(step / 80 for step in range(41)) + tuple(step / 20 for step in range(11, 41))
BOUNDS = {"index": index_bound(), "retrieval": retrieval_bound(), "tilt": tilt_bound()}  # in radians a slot
NOTES = (  # at every scale
    "Optimiser, learning rate, first weights, embeddings, label format and the rule for distractors are not published; "
    "here they are Adam, one-hot tokens, learnt tables of queries and keys, and values that answer as they are.",
    "An answer's logit is the attention on it times a learnt gain; the query is no key, so that nothing attends to it.",
    "Partial induction has exactly two pairs with the symbol asked for; the paper says two or more.",
    "The temperature of the paper's score is not published; scores are given at 1e-4, that of the code around the "
    "follow-up, and over all swaps alike.",
)


def canonical(order: Order) -> Found:
    """Index, retrieval and partial induction with one head, by the angle of its one frequency."""
    scale = order.of(SCALES)
    scale = scale if order.seeds is None else replace(scale, seeds=order.seeds)
    rows: list[Row] = []
    for heads in train(scale, order.seed, order.step):
        rows += measured(heads, scale)
    result = frame([*rows, *expected()], RESULT)
    return Found(
        result=result,
        claims=claims(result),
        settings=settings(scale, order.seed),
        notes=(training(scale), *NOTES),
        about={"bounds": {name: base_of(bound) for name, bound in BOUNDS.items()}},
    )


def settings(scale: Scale, seed: int) -> dict[str, Any]:
    """Everything that decided the result."""
    sizes = {"context": CONTEXT, "symbols": SYMBOLS, "integers": INTEGERS, "bases": list(BASES)}
    samples = scale.samples or "fresh"
    return {**asdict(scale), "samples": samples, **sizes, "first_seed": seed, "cases": list(CASES), "optimiser": "Adam"}


def training(scale: Scale) -> str:
    """How much was trained and measured, beside what was published.

    >>> training(PUBLISHED)
    'As published, 64,000 steps of 64, 100 epochs of 40,960 samples; accuracy is read on 20,480 samples a seed.'
    """
    paper = PUBLISHED
    if (scale.steps, scale.batch, scale.samples) == (paper.steps, paper.batch, paper.samples):
        how = f"As published, {scale.steps:,} steps of {scale.batch}, 100 epochs of {paper.samples:,} samples"
    else:
        kind = "all of them fresh" if scale.samples is None else f"from {scale.samples:,}"
        how = (
            f"Training takes {scale.steps:,} steps of {scale.batch} samples, {kind}; the paper takes {paper.steps:,} "
            f"steps, 100 epochs of {paper.samples:,} samples"
        )
    beside = "" if scale.valid == paper.valid else f", {paper.valid:,} in the paper"
    return f"{how}; accuracy is read on {scale.valid:,} samples a seed{beside}."


def measured(heads: Trained, scale: Scale) -> Iterator[Row]:
    """Everything that is read off the heads of one case."""
    some = heads.valid(scale.valid)
    yield from accuracy(heads, some)
    yield from scores(heads, some.part(0, scale.scored))
    yield from lengths(heads)
    yield from vectors(heads)


def expected() -> Iterator[Row]:
    """What theory says beside it."""
    yield from _by_angle("index", "margin", index_margin)
    yield from _by_angle("index", "norm", index_norm)
    yield from _by_angle("retrieval", "margin", retrieval_margin)
    yield from _by_angle("retrieval", "norm", retrieval_norm)
    for name, peak in (("index", index_peak), ("retrieval", retrieval_peak)):
        for slot, value in enumerate(peak(TOKENS, angle(1.0))):
            yield ("theory", name, "base 1", float(slot), None, "peak", float(value), None, None)
    for case in CASES.values():
        some = _samples(case.name)
        for base in FINE:
            value = accuracy_by_hand(case.name, base, some)
            yield ("theory", case.name, "by hand", base, None, "accuracy", value, None, None)


def base_of(theta: float) -> float:
    """The base that belongs to an angle.

    >>> round(base_of(retrieval_bound()), 6), round(base_of(index_bound()), 6)
    (0.125, 2.0)
    """
    return theta / angle(1.0)


def _by_angle(name: str, measure: str, formula: Callable[[float], float]) -> Iterator[Row]:
    for base in BASES:
        value = formula(angle(base))
        if isfinite(value):
            yield ("theory", name, "by formula", base, None, measure, value, None, None)


def _samples(case: str) -> Sequences:
    task = CASES[case].task
    return read(task, seeds=[1], split="valid", numbers=np.arange(2 * int(np.prod(task.cells))))

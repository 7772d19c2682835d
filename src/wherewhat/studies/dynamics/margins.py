"""The margin of the best key over the second in a trained head, in the units of the theory, by input length."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.errors import UserError
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import student
from wherewhat.studies.dynamics.job import DynamicsJob, Row
from wherewhat.studies.dynamics.settings import BASE
from wherewhat.studies.dynamics.theory import index_margin_bound, retrieval_margin_bound, theta_of
from wherewhat.tasks.letter import LetterTask

Scores = Mapping[str, Mapping[str, float]]  # of every head, by name


def margin_rows(job: DynamicsJob, net: Trunk, scores: Scores) -> Iterator[Row]:
    """The margin at every input length for the head that the task depends on most, and the bound of the theory."""
    head = purest_head(job, scores)
    theta = theta_of(scores[head]["mean_frequency"], width=net.config.width // net.config.heads, base=BASE)
    yield job.row("gap", head, None, "theta", [theta])
    for length in job.lengths:
        margin_N = margins(net, job.texts(length), layer=int(head[1 : head.index("H")]))
        yield job.row("gap", head, length, "gap", student(margin_N.tolist()))
        yield job.row("gap", head, length, "bound", [bound(job, theta, length)])


def purest_head(job: DynamicsJob, scores: Scores) -> str:
    """The most symbolic head in the letter task, the most positional one in the number task.

    By the difference of the published scores, which is near 0 for flat attention, where both are high.
    """
    sign = -1 if isinstance(job.task, LetterTask) else 1
    return max(scores, key=lambda head: sign * (scores[head]["positional"] - scores[head]["symbolic"]))


def bound(job: DynamicsJob, theta: float, length: int) -> float:
    """The largest margin that a head with only this frequency could have."""
    if isinstance(job.task, LetterTask):
        return retrieval_margin_bound(theta, length, job.task.n_letters)
    return index_margin_bound(theta, length)


def margins(net: Trunk, texts: list[Tensor], *, layer: int) -> np.ndarray:
    """margin_N of the first head of a layer at the last token of each text."""
    margin_by_text = dict[int, float]()

    def on_rows(rows: AttentionRows) -> None:
        if rows.site.ordinal == layer:
            margin_by_text[rows.text] = margin_of(rows)

    with capture(net, on_rows) as captured:
        for batch in batches(texts, queries=LAST, seed=0):
            captured.read(batch)
    return np.array([margin_by_text[number] for number in range(len(texts))])


def margin_of(rows: AttentionRows) -> float:
    """The largest minus the second largest cosine between the rotated query and a rotated earlier key.

    A logit is scale · |query| · |key| · cosine. In the theory, vectors have length 1 and there is no scale, so its
    logits are the cosines.
    """
    if not isinstance(rows.logits, RotaryLogits):
        raise UserError(
            "the theory of margins covers rotary heads only, and this net has none; train with encoding rope"
        )
    logits = rows.logits
    query, key_K = logits.query_HQF[0, -1], logits.key_GKF[0]
    length_K = logits.scale * torch.linalg.vector_norm(query) * torch.linalg.vector_norm(key_K, dim=-1)
    cosine_K = (logits.actual_HQK[0, -1] / length_K)[:-1]  # the last token is the query itself
    first, second = cosine_K.topk(2).values.tolist()
    return float(first - second)

"""By how much the best key leads the second in a trained head, in the units of the theory, as inputs grow longer."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import Seen
from wherewhat.capture.tokens.batch import LAST, batches
from wherewhat.errors import UserError
from wherewhat.logits.rotary import Turned
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.dynamics.job import Job, Row
from wherewhat.studies.dynamics.settings import BASE
from wherewhat.studies.dynamics.theory import index_lead, retrieval_lead, theta_of
from wherewhat.studies.intervals import of_mean
from wherewhat.tasks.letter import Letter

Scores = Mapping[str, Mapping[str, float]]  # of every head, by name


def gap_rows(job: Job, net: Trunk, scores: Scores) -> Iterator[Row]:
    """The lead of the best key at every length, for the head that the task is about, beside the bound of the theory."""
    head = leading_head(job, scores)
    theta = theta_of(scores[head]["mean_frequency"], width=net.config.width // net.config.heads, base=BASE)
    yield job.row("gap", head, None, "theta", [theta])
    for length in job.lengths:
        gap_N = gaps(net, job.texts(length), layer=int(head[1 : head.index("H")]))
        yield job.row("gap", head, length, "gap", of_mean(gap_N.tolist()))
        yield job.row("gap", head, length, "bound", [bound(job, theta, length)])


def leading_head(job: Job, scores: Scores) -> str:
    """The most symbolic head of the letter task, the most positional one of the number task.

    By the difference of the published scores: it is near 0 for flat attention, which both find high.
    """
    sign = -1 if isinstance(job.task, Letter) else 1
    return max(scores, key=lambda head: sign * (scores[head]["positional"] - scores[head]["symbolic"]))


def bound(job: Job, theta: float, length: int) -> float:
    """The most that a head of this one frequency could have."""
    if isinstance(job.task, Letter):
        return retrieval_lead(theta, length, job.task.n_letters)
    return index_lead(theta, length)


def gaps(net: Trunk, texts: list[Tensor], *, layer: int) -> np.ndarray:
    """gap_N of the first head of a layer at the last token of each text."""
    found = dict[int, float]()

    def see(seen: Seen) -> None:
        if seen.site.ordinal == layer:
            found[seen.text] = gap_of(seen)

    with capture(net, see) as captured:
        for batch in batches(texts, queries=LAST, seed=0):
            captured.read(batch)
    return np.array([found[number] for number in range(len(texts))])


def gap_of(seen: Seen) -> float:
    """The largest minus the second largest cosine between the query and a key before it, both as the model turns them.

    A logit is scale · |query| · |key| · cosine. The theory has vectors of length 1 and no scale, so what it calls a
    logit is the cosine.
    """
    if not isinstance(seen.logits, Turned):
        raise UserError("only a rotary head has a lead that the theory speaks of; train with encoding rope")
    turned = seen.logits
    query, key_K = turned.query_HQF[0, -1], turned.key_GKF[0]
    length_K = turned.scale * torch.linalg.vector_norm(query) * torch.linalg.vector_norm(key_K, dim=-1)
    cosine_K = (turned.actual_HQK[0, -1] / length_K)[:-1]  # the last token is the query itself
    first, second = cosine_K.topk(2).values.tolist()
    return float(first - second)

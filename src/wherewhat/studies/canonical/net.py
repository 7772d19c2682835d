"""Many heads at once, one per seed and angle: their attention, their answers, and how they learn.

A head has no value matrix and no layer around it. Contents and queries are one-hot, so the head is two tables: a key
per symbol and a query per possible question, each a vector in the plane. The logit of a slot is the product of its key
with the query, rotated by the angle times the distance. The logits of the answers are the attention on each answer,
times a gain.

Runs lie next to each other in memory, and every step is one pass over all of them. Gradients are written out instead
of recorded, which is several times faster at this size. What a run learns does not depend on the other runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from wherewhat.studies.canonical import CONTEXT, SYMBOLS
from wherewhat.studies.canonical.sequences import BatchIndices, Ints
from wherewhat.studies.canonical.settings import HeadShape, angle

Floats = NDArray[np.floating[Any]]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual settings


@dataclass(frozen=True)
class Net:
    """Heads of one shape, one per seed and base angle."""

    shape: HeadShape
    bases: Sequence[float]
    seeds: int
    dtype: str = "float32"

    @property
    def angles(self) -> int:
        return len(self.bases)

    @property
    def weights(self) -> int:
        return (SYMBOLS + self.shape.queries) * 2 * self.shape.planes + 1

    @cached_property
    def theta_FA(self) -> Floats:
        """Radians per slot, by plane and angle."""
        theta_A = np.array([angle(base) for base in self.bases])
        return np.stack([theta_A] if self.shape.planes == 1 else [np.zeros_like(theta_A), theta_A])

    @cached_property
    def rotation_FT1R(self) -> tuple[Floats, Floats]:
        """Cosine and sine of the angle by which the query is rotated for each slot."""
        angle_FTA = np.arange(CONTEXT, 0, -1)[:, None] * self.theta_FA[:, None]
        angle_FT1R = np.tile(angle_FTA, self.seeds)[:, :, None]
        return np.cos(angle_FT1R).astype(self.dtype), np.sin(angle_FT1R).astype(self.dtype)

    def first_weights(self, seeds: Sequence[int], deviation: float) -> Floats:
        """weights_WR before training: those of one seed are the same at every angle."""
        drawn_EW = [np.random.default_rng(seed).normal(0, deviation, self.weights) for seed in seeds]
        weights_WR = np.repeat(np.stack(drawn_EW, 1), self.angles, axis=1).astype(self.dtype)
        weights_WR[-1] = 1  # the gain
        return weights_WR

    def split(self, weights_WR: Floats) -> tuple[Floats, Floats, Floats]:
        """key_CMR, query_CUR and gain_R, as views."""
        channels, keys = 2 * self.shape.planes, 2 * self.shape.planes * SYMBOLS
        key_CMR = weights_WR[:keys].reshape(channels, SYMBOLS, -1)
        return key_CMR, weights_WR[keys:-1].reshape(channels, self.shape.queries, -1), weights_WR[-1]


@dataclass(frozen=True)
class AdamState:
    """The weights, and Adam's running means of their gradient and of its square, so that training can be continued."""

    weights_WR: Floats
    mean_WR: Floats | float = 0.0
    square_WR: Floats | float = 0.0
    step: int = 0


def learn(net: Net, state: AdamState, batches: Iterable[BatchIndices], rate: float) -> AdamState:
    """Take one step per batch."""
    weights_WR, mean_WR, square_WR, step = state.weights_WR.copy(), state.mean_WR, state.square_WR, state.step
    for batch in batches:
        _, gradient_WR = gradients(net, weights_WR, batch)
        step += 1
        mean_WR = mean_WR + (1 - BETA_1) * (gradient_WR - mean_WR)
        square_WR = square_WR + (1 - BETA_2) * (gradient_WR**2 - square_WR)
        size_WR = np.sqrt(square_WR / (1 - BETA_2**step)) + EPSILON
        weights_WR -= rate / (1 - BETA_1**step) * mean_WR / size_WR
    return AdamState(weights_WR, mean_WR, square_WR, step)


@dataclass(frozen=True)
class ForwardPass:
    """Activations of a forward pass: rotated keys, queries, attention, and the attention mass on each answer."""

    key_CTY: Sequence[Floats]
    query_CY: Sequence[Floats]
    attention_TY: Floats
    mass_VY: Floats


def forward(net: Net, weights_WR: Floats, batch: BatchIndices) -> ForwardPass:
    """Run the heads on a batch."""
    key_CMR, query_CUR, _ = net.split(weights_WR)
    tables = [table_TMR.reshape(-1, net.angles) for table_TMR in _rotated(net, key_CMR)]
    key_CTY = [np.take(table_XA, batch.key_X, axis=0).reshape(CONTEXT, -1) for table_XA in tables]
    query_CY = [np.take(query_UR.reshape(-1, net.angles), batch.query_X, axis=0).reshape(-1) for query_UR in query_CUR]
    logits_TY = key_CTY[0] * query_CY[0]
    for key_TY, query_Y in zip(key_CTY[1:], query_CY[1:], strict=True):
        logits_TY += key_TY * query_Y
    attention_TY = _softmax(logits_TY)
    mass_XA = _scatter_matrix(batch.value_X, net.shape.answers * len(batch.query_X)) @ attention_TY.reshape(
        -1, net.angles
    )
    return ForwardPass(key_CTY, query_CY, attention_TY, mass_XA.reshape(net.shape.answers, -1))


def gradients(net: Net, weights_WR: Floats, batch: BatchIndices) -> tuple[Floats, Floats]:
    """loss_R, the mean cross-entropy of each run, and gradient_WR, its gradient in the weights of the run."""
    activations, gain_R = forward(net, weights_WR, batch), weights_WR[-1]
    gain_Y = np.repeat(np.abs(gain_R).reshape(-1, 1, net.angles), batch.samples, axis=1).reshape(-1)
    answer_VY = _softmax(activations.mass_VY * gain_Y)
    answer_XA = answer_VY.reshape(-1, net.angles)
    loss_R = -_over_samples(np.log(answer_XA[batch.target_X]), batch)
    answer_XA[batch.target_X] -= 1  # from here on, the gradient of the answers' logits
    gradient_WR = np.empty((net.weights, len(gain_R)), dtype=gain_R.dtype)
    key_CMR, query_CUR, _ = net.split(gradient_WR)
    gradient_WR[-1] = _over_samples(_dot(answer_VY, activations.mass_VY), batch) * np.sign(gain_R)
    answer_VY *= gain_Y
    logits_TY = np.take(answer_XA, batch.value_X, axis=0).reshape(CONTEXT, -1)
    logits_TY -= _dot(activations.attention_TY, logits_TY)
    logits_TY *= activations.attention_TY / logits_TY.dtype.type(batch.samples)
    to_queries = _scatter_matrix(batch.query_X, net.shape.queries * net.seeds)
    to_keys = _scatter_matrix(batch.key_X, CONTEXT * SYMBOLS * net.seeds)
    for query_UR, key_TY in zip(query_CUR, activations.key_CTY, strict=True):
        query_UR[:] = (to_queries @ _dot(logits_TY, key_TY).reshape(-1, net.angles)).reshape(query_UR.shape)
    rotated_CXA = [to_keys @ (logits_TY * query_Y).reshape(-1, net.angles) for query_Y in activations.query_CY]
    rotated_CTMR = [rotated_XA.reshape(CONTEXT, SYMBOLS, -1) for rotated_XA in rotated_CXA]
    for key_MR, back_TMR in zip(key_CMR, _rotated(net, rotated_CTMR, -1), strict=True):
        key_MR[:] = back_TMR.sum(0)
    return loss_R, gradient_WR


def _rotated(net: Net, key: Sequence[Floats] | Floats, way: int = 1) -> list[Floats]:
    """By channel, every symbol's key rotated to every slot, which equals rotating queries; `way` -1 goes back."""
    tables = []
    for plane, (cos_T1R, sin_T1R) in enumerate(zip(*net.rotation_FT1R, strict=True)):
        across, up = key[2 * plane : 2 * plane + 2]
        tables += [cos_T1R * across + way * sin_T1R * up, cos_T1R * up - way * sin_T1R * across]
    return tables


def _softmax(logits: Floats) -> Floats:
    """Over the first axis, in place."""
    logits -= logits.max(0)
    np.exp(logits, out=logits)
    logits /= logits.sum(0)
    return logits


def _dot(left_TY: Floats, right_TY: Floats) -> Floats:
    product_Y: Floats = np.einsum("ty,ty->y", left_TY, right_TY)
    return product_Y


def _over_samples(value: Floats, batch: BatchIndices) -> Floats:
    """The mean over samples, per run."""
    mean_R: Floats = value.reshape(batch.seeds, batch.samples, -1).mean(1).reshape(-1)
    return mean_R


def _scatter_matrix(place_X: Ints, places: int) -> csc_array:
    """A sparse matrix of ones that sums the rows with the same target: far faster than adding them one by one."""
    ones, starts = np.ones(len(place_X), dtype=np.float32), np.arange(len(place_X) + 1, dtype=np.int32)
    return csc_array((ones, place_X, starts), shape=(places, len(place_X)))

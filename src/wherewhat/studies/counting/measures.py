"""What a net that counts does: how often it is right, by how much it is off, and what its read-out attends to."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot, pad

from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import wilson
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.names import (
    BINS,
    ENCODER_QUERIES,
    OWN,
    SLOPE,
    TOKEN_TYPES,
    TOP_1,
    TOP_5,
    TRAINED,
)
from wherewhat.studies.counting.slopes import CountingSize, expected_slopes
from wherewhat.studies.engine.attention import read_attention
from wherewhat.studies.engine.lengths import Measured
from wherewhat.tasks.counting import BIT_ONE, CountingBatch, CountingTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.counting_training import ranked_counts

AnyCounter = Trunk | HandBuiltCounter
Floats = NDArray[np.float64]
COMMON = 0.9  # quantile of counts in training up to which slopes are measured
AT_ONCE, FEW = 250, 50  # sequences that are read together; and with attention of every token to every other
SEQUENCES, SHOWN = 40, 60  # from which codes are drawn, and tokens per region
RIDGE = 1e-6  # of the linear decoder of regions, as a share of the mean variance
FEWEST = 50  # sequences that an accuracy by true count rests on


def accuracy_rows(net: AnyCounter, tasks: Mapping[str, CountingTask], *, seed: int, samples: int) -> Iterator[Measured]:
    """Top-1, top-5 and the slope by region for every size; and by true count as trained.

    Slopes are over counts that are common in training: large ones are hardly learnt, and would decide a slope alone.
    With every bias token, the counts that a net would predict for them are common too.
    """
    common = np.quantile(tasks[TRAINED].batch(seed, "test", np.arange(samples)).target_NR, COMMON)
    common /= max(expected for task in tasks.values() for expected in slopes_on(tasks[TRAINED], task).values())
    for size, task in tasks.items():
        target_NR, ranking_NRC = ranked_counts(net, task, seed=seed, samples=samples)
        for region in range(task.regions):
            target_N, ranking_NC = target_NR[:, region], ranking_NRC[:, region]
            for measure, most in ((TOP_1, 1), (TOP_5, 5)):
                right = float((ranking_NC[:, :most] == target_N[:, None]).any(1).mean())
                yield "accuracy", size, float(region), measure, right, *wilson(right, samples)
            common_N = target_N <= common
            ratio = slope(target_N[common_N], ranking_NC[common_N, 0])
            yield "slope", size, float(region), SLOPE, ratio, None, None
            if size == TRAINED:
                yield from count_rows(region, target_N, ranking_NC[:, 0])


def slopes_on(trained: CountingTask, other: CountingTask) -> dict[str, float]:
    """The slope that each bias token leads to on sequences of another size."""
    return expected_slopes(*(CountingSize(task.tokens, task.regions) for task in (trained, other)))


def slope(target_N: Ints, answer_N: Ints) -> float:
    """The least-squares slope through 0 of answers against true counts.

    >>> slope(np.array([0, 1, 2]), np.array([0, 2, 4]))
    2.0
    """
    return float((target_N * answer_N).sum() / max(1, (target_N**2).sum()))


def count_rows(region: int, target_N: Ints, answer_N: Ints) -> Iterator[Measured]:
    """Accuracy of a region by bins of the true count; bins with few sequences are left out."""
    for name, (low, high) in BINS.items():
        right_N = (answer_N == target_N)[(low <= target_N) & (target_N <= high)]
        if right_N.size >= FEWEST:
            share = float(right_N.mean())
            yield "count", name, float(region), TOP_1, share, *wilson(share, right_N.size)


@torch.no_grad()
def attention_rows_of(net: AnyCounter, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """What the query of every region attends to, by kind of token, inside its region and in all; means over samples."""
    mass_NRT, batch = readout_attention(net, task, seed=seed, samples=samples)
    inside_NRT = inside_regions(batch, task)
    for kind, name in enumerate(TOKEN_TYPES):
        of_kind_N1T = (batch.input_NT == kind)[:, None]
        for region in range(task.regions):
            for suffix, chosen_NRT in (("", of_kind_N1T), (OWN, of_kind_N1T & inside_NRT)):
                mass_N = np.where(chosen_NRT, mass_NRT, 0.0)[:, region].sum(-1)
                yield "attention", name + suffix, float(region), "mass", float(mass_N.mean()), None, None


@torch.no_grad()
def readout_attention(net: AnyCounter, task: CountingTask, *, seed: int, samples: int) -> tuple[Floats, CountingBatch]:
    """attention_NRT of the read-out, and the samples."""
    batch = task.batch(seed, "test", np.arange(samples))
    pieces = torch.from_numpy(batch.input_NT).split(AT_ONCE)
    assert net.readout is not None, "a net that counts has a read-out"
    mass_NRT = torch.cat([net.readout.attention(net.hidden(ids_BT)) for ids_BT in pieces])
    return mass_NRT[:, : task.regions].double().numpy(), batch


def inside_regions(batch: CountingBatch, task: CountingTask) -> NDArray[np.bool_]:
    """inside_NRT: whether a token belongs to a region, brackets included."""
    marks_NRE = batch.marks_NM.reshape(len(batch.marks_NM), task.regions, 2) + task.bos
    slots_T = np.arange(task.length)
    return np.asarray((marks_NRE[..., :1] <= slots_T) & (slots_T <= marks_NRE[..., 1:]))


@torch.no_grad()
def code_rows(net: AnyCounter, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """Where the ones of each region lie in the plane that shows most of their states; and how well regions separate."""
    batch = task.batch(seed, "test", np.arange(samples))
    states_NTD = torch.cat([codes_of(net, ids_BT) for ids_BT in torch.from_numpy(batch.input_NT).split(AT_ONCE)])
    one_N, region_N, slot_N = np.nonzero(inside_regions(batch, task) & (batch.input_NT == BIT_ONE)[:, None])
    states_ND = states_NTD[one_N, slot_N].double().numpy()
    centred_ND = states_ND - states_ND.mean(0)
    drawn_N = one_N < SEQUENCES
    plane_ND = centred_ND[drawn_N] @ np.linalg.svd(centred_ND, full_matrices=False)[2][:2].T
    for region in range(task.regions):
        for number, (x, y) in enumerate(plane_ND[region_N[drawn_N] == region][:SHOWN].tolist()):
            yield "code", str(number), float(region), "x", x, None, None
            yield "code", str(number), float(region), "y", y, None, None
    yield "decode", "", None, "accuracy", decoded_share(centred_ND, region_N, one_N % 2 == 0), None, None


def codes_of(net: AnyCounter, ids_BT: Tensor) -> Tensor:
    """x_BTD after the encoder; of the net built by hand the codes that its read-out compares, which lie on a line."""
    return pad(net.codes(ids_BT)[..., None], (0, 1)) if isinstance(net, HandBuiltCounter) else net.hidden(ids_BT)


def decoded_share(states_ND: Floats, region_N: Ints, fitted_N: NDArray[np.bool_]) -> float:
    """The share of tokens whose region a linear map decodes, fitted on some samples and tested on the others.

    It is linear discriminant analysis, which tells classes apart that lie on a line.
    """
    train_ND, region_M, classes = states_ND[fitted_N], region_N[fitted_N], range(int(region_N.max()) + 1)
    mean_RD = np.stack([train_ND[region_M == region].mean(0) for region in classes])
    within_ND = train_ND - mean_RD[region_M]
    ridge_DD = RIDGE * train_ND.var(0).mean() * np.eye(train_ND.shape[1])
    map_DR = np.linalg.solve(within_ND.T @ within_ND / len(within_ND) + ridge_DD, mean_RD.T)
    score_NR = states_ND[~fitted_N] @ map_DR - (mean_RD.T * map_DR).sum(0) / 2
    return float((score_NR.argmax(1) == region_N[~fitted_N]).mean())


@torch.no_grad()
def encoder_rows(net: Trunk, task: CountingTask, *, seed: int, samples: int) -> Iterator[Measured]:
    """What ones inside regions, and brackets, attend to in the encoder, by kind of token."""
    batch = task.batch(seed, "test", np.arange(min(samples, AT_ONCE)))
    mass_NTK = torch.cat([masses_by_kind(net, ids_BT) for ids_BT in torch.from_numpy(batch.input_NT).split(FEW)])
    inside_NT = inside_regions(batch, task).any(1)
    for kind, name in enumerate(TOKEN_TYPES):
        for measure, tokens in ENCODER_QUERIES.items():
            asks_NT = inside_NT & np.isin(batch.input_NT, [TOKEN_TYPES.index(token) for token in tokens])
            yield "encoder", name, None, measure, float(mass_NTK.numpy()[asks_NT, kind].mean()), None, None


def masses_by_kind(net: Trunk, ids_BT: Tensor) -> Tensor:
    """mass_BTK: how much every token attends to each kind of token in the encoder."""
    (attention_BHTT,) = read_attention(net, ids_BT)
    return attention_BHTT[:, 0].double() @ one_hot(ids_BT, len(TOKEN_TYPES)).double()

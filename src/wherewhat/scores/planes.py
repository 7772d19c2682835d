"""What each rotary frequency alone does to the logits of a row: how large it makes them, and what its swaps show."""

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from wherewhat.scores.decomposed import DecomposedRows

SWAPPED_SLOTS = 32  # of so many slots, spread evenly, every two are swapped in every frequency
STEEP = {torch.float32: 31.0, torch.float64: 250.0}  # powers of two beyond which a ratio is 0 to all digits
ROOM = 1 << 18  # swaps in work at once: what is known of them stays near the processor


@dataclass(frozen=True)
class PlaneSums:
    """By head, row and frequency. Rows that were not measured hold zeros."""

    size_HQF: Tensor  # the mean absolute value of what the frequency adds to the logit of a swappable key
    peak_HQF: Tensor  # the largest, negative where it lowers every logit
    positional_HQF: Tensor  # the published scores of a head that has this frequency only
    symbolic_HQF: Tensor


def read_planes(rows: DecomposedRows, tau: float) -> PlaneSums:
    """Measure every frequency of some rows; the temperature is that of the published scores."""
    content_HQKX, slot_HQKX = rows.factors.content_HQKX, rows.factors.slot_HQKX
    (real, imaginary), (slot_real, slot_imaginary) = content_HQKX.chunk(2, -1), slot_HQKX.chunk(2, -1)
    logits_HQKF = (real * slot_real).addcmul_(imaginary, slot_imaginary)
    size_HQF = (rows.even_1QK[..., None, :] @ logits_HQKF.abs())[..., 0, :]
    peak_HQF = logits_HQKF.masked_fill(~rows.swappable_QK[..., None], -torch.inf).amax(-2)
    total_HQ1F = logits_HQKF.masked_fill(~rows.allowed_QK[..., None], -torch.inf).logsumexp(-2, keepdim=True)
    slots_QS, present_QS = _spread_slots(rows.swappable_QK)
    every_Q1 = torch.arange(len(slots_QS), device=slots_QS.device)[:, None]

    def at_slots(value_HQKF: Tensor) -> Tensor:
        """value_QSX: heads and frequencies last, so that every later slot is a step in memory."""
        whole_HQKF = value_HQKF.expand(len(content_HQKX), len(slots_QS), -1, -1)
        return whole_HQKF[:, every_Q1, slots_QS].permute(1, 2, 0, 3).flatten(2)

    logits_QSX = at_slots(logits_HQKF)
    weight_QSX = (logits_QSX - total_HQ1F.permute(1, 2, 0, 3).flatten(2)).exp_()
    sides = [at_slots(side) for side in (real, imaginary, slot_real, slot_imaginary)]
    score_2QX = _mean_cosines(*sides, logits_QSX, *_counts(weight_QSX, present_QS, tau))
    score_2HQF = score_2QX.unflatten(-1, (len(content_HQKX), -1)).transpose(1, 2)
    return PlaneSums(size_HQF, peak_HQF, score_2HQF[0], score_2HQF[1])


def _counts(weight_QSX: Tensor, present_QS: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """What each slot contributes to how much a swap counts: as the one with more weight, and as the one with less."""
    absent_QS1 = ~present_QS[..., None]
    heaviest_Q1X = weight_QSX.masked_fill(absent_QS1, -torch.inf).amax(1, keepdim=True)
    lightest_Q1X = weight_QSX.masked_fill(absent_QS1, torch.inf).amin(1, keepdim=True)
    tau = max(tau, torch.finfo(weight_QSX.dtype).tiny)
    high_QSX, low_QSX = weight_QSX.sub(heaviest_Q1X).div_(tau).exp_(), lightest_Q1X.sub(weight_QSX).div_(tau).exp_()
    return high_QSX.masked_fill_(absent_QS1, 0), low_QSX.masked_fill_(absent_QS1, 0)


def _mean_cosines(*of_slots_QSX: Tensor) -> Tensor:
    """positional_QX and symbolic_QX over swaps of every two slots, each counting as its two slots say.

    Of every slot: the two parts of its content, those of the slot itself, its logit, and what it contributes to how
    much a swap counts. Slots are taken as a ring: every slot with the one that comes 1, 2, ... half a ring later, so
    that all swaps of one distance are a step in memory. With x the ratio of what the two get before a swap and y after
    it, the cosines are (1 + x y) and (x + y) over the lengths of (1, x) and (1, y).
    """
    _, slots, channels = of_slots_QSX[0].shape
    steep = STEEP[of_slots_QSX[0].dtype]
    by_slot_7QSX = torch.stack(of_slots_QSX)
    by_slot_7QSX[[0, 1, 4]] /= math.log(2)  # powers of two are several times quicker than those of e
    ring_7QSX = torch.cat((by_slot_7QSX, by_slot_7QSX[:, :, : slots // 2]), 2)
    later_7QDSX = ring_7QSX.unfold(2, slots, 1).transpose(-1, -2)[:, :, 1:]
    scores = []
    step = max(1, ROOM // (slots * slots // 2 * channels))
    for now, later in zip(by_slot_7QSX[:, :, None].split(step, 1), later_7QDSX.split(step, 1), strict=True):
        real, imaginary, slot_real, slot_imaginary, logit, high, low = now
        later_real, later_imaginary, later_slot_real, later_slot_imaginary, later_logit, later_high, later_low = later
        counts = torch.maximum(high * later_low, low * later_high)  # one of the two weighs more
        counts[:, -1].mul_(0.5)  # half a ring apart, every two meet twice
        total_QX = counts.sum((1, 2))
        before = (later_logit - logit).clamp_(-steep, steep).exp2_()
        after = (real * later_slot_real).addcmul_(imaginary, later_slot_imaginary)
        after.addcmul_(slot_real, later_real, value=-1).addcmul_(slot_imaginary, later_imaginary, value=-1)
        after.clamp_(-steep, steep).exp2_()
        unit = after.new_ones(())
        lengths = torch.addcmul(unit, before, before).mul_(torch.addcmul(unit, after, after)).rsqrt_()
        counts.mul_(lengths)
        positional_QX = (before * after).mul_(counts).sum((1, 2)) + counts.sum((1, 2))
        symbolic_QX = before.add_(after).mul_(counts).sum((1, 2))
        scores.append(torch.stack((positional_QX, symbolic_QX)).div_(total_QX))
    return torch.cat(scores, 1)


def _spread_slots(swappable_QK: Tensor) -> tuple[Tensor, Tensor]:
    """At most SWAPPED_SLOTS swappable slots of each row, spread evenly, the first and the last among them.

    As slots_QS and present_QS, which is False where a row has fewer than the others. Their number is even.
    """
    counts = swappable_QK.sum(-1).tolist()
    most = min(SWAPPED_SLOTS, max(counts) + max(counts) % 2)
    places_QS = torch.tensor([_places(count, most) for count in counts], device=swappable_QK.device)
    slots_QK = swappable_QK.int().argsort(dim=-1, descending=True, stable=True)  # swappable ones first
    present_QS = torch.arange(most, device=swappable_QK.device) < swappable_QK.sum(-1, keepdim=True)
    return slots_QK.gather(1, places_QS), present_QS


@cache
def _places(count: int, most: int) -> list[int]:
    """Which of so many slots are taken, spread evenly where there are more than SWAPPED_SLOTS."""
    if count <= most:
        return [*range(count), *([0] * (most - count))]
    return torch.linspace(0, count - 1, most).round().long().tolist()

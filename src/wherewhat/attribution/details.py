"""The relevance of position by head, by rotary frequency and by distance."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.attribution.relevance import Relevance
from wherewhat.attribution.sources import ROTARY, PositionSource

SAME_STEP = 1e-4  # radians by which the steps of one frequency from slot to slot may differ


@dataclass(frozen=True)
class FrequencyRelevance:
    """What one rotary frequency of one layer gets, over all heads."""

    layer: int | None
    frequency: int  # the number of its channel pair, fastest first
    theta: float | None  # radians per token; None where it depends on the text, or a text has a single token
    relevance: float


@dataclass(frozen=True)
class DistanceRelevance:
    """What the logits of one layer get from queries and keys so far apart, over all heads."""

    layer: int | None  # None: all layers together
    distance: int  # of the key before the query; negative: after it
    content: float
    position: float


def logits_by_distance(relevance: Relevance) -> list[DistanceRelevance]:
    """The relevance of content and of position in logits; none where position adds nothing to them."""
    if not any(split.position.by_key_HK.any() for split in relevance.splits):
        return []
    rows = []
    for split in relevance.splits:
        parts_R = [part.by_distance_HR.sum(0) for part in (split.content, split.position)]
        furthest = split.content.by_key_HK.shape[1] - 1
        first = -furthest if any(part_R[:furthest].any() for part_R in parts_R) else 0  # no key after a query is seen
        values = zip(*(part_R[first + furthest :].tolist() for part_R in parts_R), strict=True)
        rows += [DistanceRelevance(split.layer, distance, *pair) for distance, pair in enumerate(values, start=first)]
    return rows


def position_by_head(relevance: Relevance) -> Mapping[tuple[int | None, int], float]:
    """The relevance of position by layer and head; tables are added before there are heads."""
    by_head: dict[tuple[int | None, int], float] = {}
    rotary: dict[int | None, list[PositionSource]] = {}
    for source in relevance.sources:
        of_H = source.by_head()
        if of_H is not None:
            _add(by_head, source.layer, of_H)
        elif source.name in ROTARY and source.used:
            rotary.setdefault(source.layer, []).append(source)
    for layer, sources in rotary.items():
        of_H = _rotary_by_head(relevance, layer, sources)
        if of_H is not None:
            _add(by_head, layer, of_H)
    return by_head


def _add(by_head: dict[tuple[int | None, int], float], layer: int | None, of_H: Tensor) -> None:
    for head, value in enumerate(of_H.tolist()):
        by_head[layer, head] = by_head.get((layer, head), 0.0) + value


def _rotary_by_head(relevance: Relevance, layer: int | None, sources: list[PositionSource]) -> Tensor | None:
    """relevance_H where heads share cosines and sines: half of that of rotated queries and keys.

    Rotated channels come first in a head, or last, and there are as many as cosines or twice as many; those are right
    whose sum is that of the cosines and sines. None where queries and keys were not seen to meet.
    """
    total = float(sum(source.relevance().sum() for source in sources))
    met = [product for product in relevance.products if product.layer == layer]
    sums_HC = [product.relevance_HC for product in met if product.relevance_HC is not None]
    if not sums_HC:
        return None
    sum_HC = torch.stack(sums_HC).sum(0) / 2
    leaf, channels = sources[0].leaf, sum_HC.shape[-1]
    assert leaf is not None, "cosines and sines are leaves"
    width = leaf.shape[-1]
    spans = [(0, width), (channels - width, channels), (0, 2 * width), (channels - 2 * width, channels)]
    choices = [sum_HC[:, first:stop].sum(1) for first, stop in spans if 0 <= first < stop <= channels]
    return min(choices, key=lambda of_H: abs(float(of_H.sum()) - total))


def position_by_frequency(relevance: Relevance) -> list[FrequencyRelevance]:
    """The relevance of cosines and sines by layer and frequency, over all heads and slots."""
    layers: dict[int | None, dict[str, list[PositionSource]]] = {}
    for source in relevance.sources:
        if source.name in ROTARY and source.used:
            layers.setdefault(source.layer, {}).setdefault(source.name, []).append(source)
    rows = []
    for layer, by_name in layers.items():
        cos, sin = (by_name[name][0].leaf for name in ROTARY)
        assert cos is not None and sin is not None, "cosines and sines are leaves"
        frequency_C = frequencies_of(cos, sin)
        sums_C = sum(
            (each.relevance().flatten(0, -2).sum(0) for of in by_name.values() for each in of), torch.zeros(1).double()
        )
        sums_F = torch.zeros(int(frequency_C.max()) + 1, dtype=torch.float64).index_add_(0, frequency_C, sums_C.cpu())
        thetas = thetas_of(cos, sin, frequency_C)
        rows += [FrequencyRelevance(layer, f, thetas[f], value) for f, value in enumerate(sums_F.tolist())]
    return rows


def frequencies_of(cos: Tensor, sin: Tensor) -> Tensor:
    """frequency_C, the frequency of every column of cosines and sines: both columns of a pair hold the same angle.

    Pairs are half of the columns apart, or neighbours; or there is one column per frequency.
    """
    values_RC = torch.cat([cos.detach().flatten(0, -2), sin.detach().abs().flatten(0, -2)])
    columns = values_RC.shape[-1]
    number_C = torch.arange(columns)
    if columns % 2 == 0 and torch.equal(values_RC[:, : columns // 2], values_RC[:, columns // 2 :]):
        return number_C % (columns // 2)
    if columns % 2 == 0 and torch.equal(values_RC[:, ::2], values_RC[:, 1::2]):
        return number_C // 2
    return number_C


def thetas_of(cos: Tensor, sin: Tensor, frequency_C: Tensor) -> list[float | None]:
    """The angle by which every frequency turns from slot to slot, if it is the same everywhere."""
    cos_TC, sin_TC = (part.detach().double().flatten(0, -3)[0] for part in (cos, sin))
    if len(cos_TC) < 2:
        return [None] * (int(frequency_C.max()) + 1)
    step_TC = torch.atan2(sin_TC, cos_TC).diff(dim=0)
    step_TC = torch.atan2(step_TC.sin(), step_TC.cos())
    same_C = (step_TC - step_TC[:1]).abs().amax(0) <= SAME_STEP
    first = [int((frequency_C == f).nonzero()[0]) for f in range(int(frequency_C.max()) + 1)]
    return [abs(float(step_TC[0, column])) if same_C[column] else None for column in first]

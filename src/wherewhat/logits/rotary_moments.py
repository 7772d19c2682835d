"""Means and variances of rotary tables with equal weights, from sums over keys that go on from row to row.

The variance of a table needs only sums of products of its keys' channels, and likewise of its slots'. Rows of one text
share most of their keys (a causal row sees those of the row before and a few more), so from one row to the next only
what changes is added or taken away. No table is built.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.factors import Moments, Planes, mean_and_variance
from wherewhat.logits.planes import RotaryPlanes

ROOM = 1 << 21  # numbers of products of channels in work at once


@dataclass(frozen=True)
class MeasuredRows:
    """Some rows, over as many keys as the furthest of them reaches."""

    index_Q: Tensor  # their numbers among all rows
    actual_HQK: Tensor  # the logits as they are
    moments: Moments


def even_moments(planes: RotaryPlanes, swappable_QK: Tensor) -> Iterator[MeasuredRows]:
    """Moments of each row's table over its swappable keys, some rows at a time."""
    products = planes.key_BGKF.shape[1] * (2 * planes.key_BGKF.shape[3]) ** 2
    for texts_B, rows_BQ, real_BQ in _grids(planes.text_Q, max(1, ROOM // products)):
        swappable_BQK = swappable_QK[rows_BQ]
        keys = int(swappable_BQK.any(0).any(0).nonzero().amax()) + 1 if swappable_BQK.any() else 1
        rows = _TextRows.of(planes, texts_B, rows_BQ, swappable_BQK[..., :keys])
        yield rows.measure(rows_BQ, real_BQ)


def _grids(text_Q: Tensor, most: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """texts_B, rows_BQ and real_BQ: rows side by side, by text, at most so many; short texts repeat their last row."""
    order_Q = text_Q.argsort(stable=True)
    texts_B, counts_B = text_Q.unique(return_counts=True)
    starts_B = counts_B.cumsum(0) - counts_B
    longest = int(counts_B.max())
    width = min(longest, most)
    for some_B in torch.arange(len(texts_B), device=text_Q.device).split(max(1, most // width)):
        for numbers_Q in torch.arange(longest, device=text_Q.device).split(width):
            count_B1 = counts_B[some_B, None]
            real_BQ = numbers_Q < count_B1
            if real_BQ.any():
                rows_BQ = order_Q[starts_B[some_B, None] + torch.minimum(numbers_Q, count_B1 - 1)]
                yield texts_B[some_B], rows_BQ, real_BQ


@dataclass(frozen=True)
class _TextRows:
    """Rows of some texts; those of one text share its keys. X are the real parts of channel pairs, then the others."""

    query_BGRQF: Tensor  # rotated, conjugated and scaled; R heads share the keys of a group
    key_BGKX: Tensor  # without their mean over the text
    offset_BGF: Tensor  # that mean
    phase_BKX: Tensor
    rotated_BGKX: Tensor  # keys as they are, each in its own slot
    swappable_BQK: Tensor

    @classmethod
    def of(cls, planes: RotaryPlanes, texts_B: Tensor, rows_BQ: Tensor, swappable_BQK: Tensor) -> "_TextRows":
        keys = swappable_BQK.shape[-1]
        key_BGKF = planes.key_BGKF[texts_B, :, :keys]
        query_HBQF = planes.rotated_query_HQF[:, rows_BQ]
        query_GRBQF = query_HBQF.unflatten(0, (key_BGKF.shape[1], -1))
        phase_BKF = planes.phase_BKF if len(planes.phase_BKF) == 1 else planes.phase_BKF[texts_B]
        # Keys of trained models may have a mean far larger than their differences, which sums of squares would lose.
        counts_BK = swappable_BQK.any(1).to(key_BGKF.real.dtype)
        share_BK = counts_BK / counts_BK.sum(-1, keepdim=True).clamp_min(1)
        offset_BGF = (share_BK.to(key_BGKF.dtype)[:, None, None] @ key_BGKF)[:, :, 0]
        return cls(
            query_BGRQF=query_GRBQF.permute(2, 0, 1, 3, 4),
            key_BGKX=_channels(key_BGKF - offset_BGF[:, :, None]),
            offset_BGF=offset_BGF,
            phase_BKX=_channels(phase_BKF[:, :keys]).expand(len(texts_B), -1, -1),
            rotated_BGKX=_channels(key_BGKF * phase_BKF[:, None, :keys]),
            swappable_BQK=swappable_BQK,
        )

    @cached_property
    def weights_BQK(self) -> Tensor:
        member_BQK = self.swappable_BQK.to(self.key_BGKX.dtype)
        return member_BQK / member_BQK.sum(-1, keepdim=True).clamp_min(1)

    def measure(self, rows_BQ: Tensor, real_BQ: Tensor) -> MeasuredRows:
        query = self.query_BGRQF
        phase_B1KX, weights_B1QK = self.phase_BKX[:, None], self.weights_BQK[:, None]
        mean_phase_BQF = _pairs(self.weights_BQK @ self.phase_BKX)
        mean_key_BGQF = _pairs(weights_B1QK @ self.key_BGKX) + self.offset_BGF[:, :, None]
        towards_content = query * mean_phase_BQF[:, None, None]  # what a content is multiplied with in the mean slot
        towards_slot = query * mean_key_BGQF[:, :, None]  # what a slot is multiplied with by the mean content
        grand = (towards_content * mean_key_BGQF[:, :, None]).real.sum(-1)
        common = (towards_content * self.offset_BGF[:, :, None, None]).real.sum(-1)
        content = _product(towards_content, self.key_BGKX) + common[..., None]
        slot = _product(towards_slot, phase_B1KX)
        actual = _product(query, self.rotated_BGKX)
        weights = weights_B1QK[:, :, None]
        by_plane = (
            self._covariance(slot - grand[..., None], phase_B1KX, towards_slot),
            self._covariance(content - grand[..., None], self.key_BGKX, towards_content),
            self._interaction(),
        )

        def real(value_BGRQX: Tensor) -> Tensor:
            """value_HQX of the rows that are not repeated."""
            return value_BGRQX.permute(1, 2, 0, 3, *range(4, value_BGRQX.dim())).flatten(0, 1)[:, real_BQ]

        moments = Moments(
            content_HQK=real(content),
            slot_HQK=real(slot),
            grand_HQ=real(grand),
            position_HQ=real(mean_and_variance(slot, weights)[1]),
            symbol_HQ=real(mean_and_variance(content, weights)[1]),
            interaction_HQ=real(by_plane[2].sum(-1)),
            planes=Planes(*map(real, by_plane)),
        )
        return MeasuredRows(rows_BQ[real_BQ], real(actual), moments)

    def _covariance(self, centred_BGRQK: Tensor, vectors_BGKX: Tensor, towards_BGRQF: Tensor) -> Tensor:
        """part_BGRQF: what each frequency contributes to the variance of mean logits."""
        weighed_BGRQK = centred_BGRQK * self.weights_BQK[:, None, None]
        sums_BGRQF = _pairs((weighed_BGRQK.flatten(2, 3) @ vectors_BGKX).unflatten(2, weighed_BGRQK.shape[2:4]))
        return (towards_BGRQF * sums_BGRQF).real

    def _interaction(self) -> Tensor:
        """part_BGRQF: what each frequency contributes to the variance that neither contents nor slots explain.

        A doubly centred entry is the real part of Σ_f query_f key_f phase_f, with centred keys and phases: a product of
        the query with the real and imaginary parts of key_f phase_f, whose covariances over all entries follow from
        those of keys and those of phases.
        """
        keys, slots = (
            _covariances(vectors_BGKX, self.swappable_BQK) for vectors_BGKX in (self.key_BGKX, self.phase_BKX[:, None])
        )
        key_rr, key_ri, key_ii, slot_rr, slot_ri, slot_ii = *keys, *slots
        key_ir, slot_ir = key_ri.mT.contiguous(), slot_ri.mT
        both_real = (key_rr * slot_rr).addcmul_(key_ii, slot_ii)
        both_real.addcmul_(key_ri, slot_ri, value=-1).addcmul_(key_ir, slot_ir, value=-1)
        one_real = (key_rr * slot_ri).addcmul_(key_ri, slot_rr)
        one_real.addcmul_(key_ir, slot_ii, value=-1).addcmul_(key_ii, slot_ir, value=-1)
        none_real = (key_rr * slot_ii).addcmul_(key_ii, slot_rr).addcmul_(key_ri, slot_ir).addcmul_(key_ir, slot_ri)
        query_BGQFR = self.query_BGRQF.permute(0, 1, 3, 4, 2)
        real_BGQFR, imaginary_BGQFR = query_BGQFR.real.contiguous(), query_BGQFR.imag.contiguous()
        part_BGQFR = real_BGQFR * (both_real @ real_BGQFR - one_real @ imaginary_BGQFR)
        part_BGQFR += imaginary_BGQFR * (none_real @ imaginary_BGQFR - one_real.mT @ real_BGQFR)
        part_BGRQF: Tensor = part_BGQFR.permute(0, 1, 4, 2, 3)
        return part_BGRQF


def _channels(pairs_XF: Tensor) -> Tensor:
    """Real parts, then imaginary ones."""
    return torch.cat((pairs_XF.real, pairs_XF.imag), -1)


def _pairs(channels_X: Tensor) -> Tensor:
    return torch.complex(*channels_X.chunk(2, -1))


def _product(query_BGRQF: Tensor, vectors_BGKX: Tensor) -> Tensor:
    """product_BGRQK: the real part of the plain product of complex vectors."""
    query_BGRQX = torch.cat((query_BGRQF.real, -query_BGRQF.imag), -1)
    product_BGRQK: Tensor = (query_BGRQX.flatten(2, 3) @ vectors_BGKX.mT).unflatten(2, query_BGRQX.shape[2:4])
    return product_BGRQK


def _covariances(vectors_BGKX: Tensor, member_BQK: Tensor) -> Tensor:
    """covariance_3BGQFF of the vectors that each row of a text holds.

    Of real parts, of real with imaginary parts, and of imaginary parts.
    """
    count_B1Q1 = member_BQK.sum(-1).clamp_min(1).to(vectors_BGKX.dtype)[:, None, :, None]
    mean_BGQX = member_BQK.to(vectors_BGKX.dtype)[:, None] @ vectors_BGKX / count_B1Q1
    one_3BGQF, other_3BGQF = _both_parts(mean_BGQX)
    products_3BGQFF = _running_products(vectors_BGKX, member_BQK).div_(count_B1Q1[..., None])
    return products_3BGQFF.addcmul_(one_3BGQF[..., :, None], other_3BGQF[..., None, :], value=-1)


def _running_products(vectors_BGKX: Tensor, member_BQK: Tensor) -> Tensor:
    """Sums over the vectors of each row of the products of their channels: the first row's, then what changes."""
    first_BGKX = vectors_BGKX * member_BQK[:, None, 0, :, None]
    one_3BGKF, other_3BGKF = _both_parts(first_BGKX)
    first_3BGFF = one_3BGKF.mT @ other_3BGKF
    products_3BGQFF = first_3BGFF.new_empty(*first_3BGFF.shape[:3], member_BQK.shape[1], *first_3BGFF.shape[3:])
    products_3BGQFF[:, :, :, 0] = first_3BGFF
    change_BQK = member_BQK.int().diff(dim=1)
    if not change_BQK.numel():
        return products_3BGQFF
    changed_BQK = change_BQK.abs().argsort(dim=-1, descending=True, stable=True)
    changed_BQK = changed_BQK[..., : int(change_BQK.ne(0).sum(-1).amax())]
    every_B11 = torch.arange(len(vectors_BGKX), device=changed_BQK.device)[:, None, None]
    one_3BGQKF, other_3BGQKF = _both_parts(vectors_BGKX.transpose(1, 2)[every_B11, changed_BQK].permute(0, 3, 1, 2, 4))
    signs_B1QK1 = change_BQK.gather(2, changed_BQK).to(vectors_BGKX.dtype)[:, None, ..., None]
    products_3BGQFF[:, :, :, 1:] = (one_3BGQKF * signs_B1QK1).mT @ other_3BGQKF
    for row in range(1, member_BQK.shape[1]):  # quicker than a sum along an axis in the middle
        products_3BGQFF[:, :, :, row] += products_3BGQFF[:, :, :, row - 1]
    return products_3BGQFF


def _both_parts(vectors_X: Tensor) -> tuple[Tensor, Tensor]:
    """Real, real and imaginary parts; and what they are to be multiplied with: real, imaginary and imaginary ones."""
    real_F, imaginary_F = vectors_X.chunk(2, -1)
    return torch.stack((real_F, real_F, imaginary_F)), torch.stack((real_F, imaginary_F, imaginary_F))

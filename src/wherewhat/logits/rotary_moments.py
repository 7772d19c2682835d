"""Means and variances of rotary tables with equal weights, from running sums over keys.

The variance of a table needs only sums of products of its keys' channels, and likewise of its slots'. Rows of one text
share most of their keys (a causal row sees those of the row before and a few more), so from one row to the next only
what changes is added or taken away. No table is built.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.logits.factors import MeasuredRows, Moments, Planes, mean_and_variance, uniform_weights, widest_dtype
from wherewhat.logits.planes import RotaryPlanes

ROOM = 1 << 21  # numbers of one kind in work at once


def uniform_moments(planes: RotaryPlanes, swappable_QK: Tensor) -> Iterator[MeasuredRows]:
    """Moments of each row's table over its swappable keys, some rows at a time."""
    groups, planes_count = planes.key_BGKF.shape[1], planes.key_BGKF.shape[3]
    per_row = max(groups * (2 * planes_count) ** 2, len(planes.rotated_query_HQF) * swappable_QK.shape[1])
    for texts_B, rows_BQ, kept_BQ in _grids(planes.text_Q, _reach(swappable_QK), max(1, ROOM // per_row)):
        swappable_BQK = swappable_QK[rows_BQ]
        keys = max(1, int(_reach(swappable_BQK).amax()))
        rows = _TextRows.of(planes, texts_B, rows_BQ, swappable_BQK[..., :keys])
        yield rows.measure(rows_BQ, kept_BQ)


def _reach(swappable_XK: Tensor) -> Tensor:
    """How many keys each row has up to the last that can be swapped."""
    return (swappable_XK * torch.arange(1, swappable_XK.shape[-1] + 1, device=swappable_XK.device)).amax(-1)


def _grids(text_Q: Tensor, reach_Q: Tensor, most: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """texts_B, rows_BQ and kept_BQ: at most so many rows, by text and then by reach, so that few keys change.

    A text with fewer rows than others repeats its last one, which is not kept.
    """
    order_Q = reach_Q.argsort(stable=True)
    order_Q = order_Q[text_Q[order_Q].argsort(stable=True)]
    texts_B, counts_B = text_Q.unique(return_counts=True)
    starts_B = counts_B.cumsum(0) - counts_B
    longest = int(counts_B.max())
    width = min(longest, most)
    for some_B in torch.arange(len(texts_B), device=text_Q.device).split(max(1, most // width)):
        for numbers_Q in torch.arange(longest, device=text_Q.device).split(width):
            count_B1 = counts_B[some_B, None]
            kept_BQ = numbers_Q < count_B1
            if kept_BQ.any():
                rows_BQ = order_Q[starts_B[some_B, None] + torch.minimum(numbers_Q, count_B1 - 1)]
                yield texts_B[some_B], rows_BQ, kept_BQ


@dataclass(frozen=True)
class _TextRows:
    """Rows of some texts; those of one text share its keys. J heads share the keys of a group.

    X are the real parts of channel pairs, then their imaginary parts.
    """

    query_BGJQF: Tensor  # rotated, conjugated and scaled
    key_BGKX: Tensor  # without their mean over the text
    offset_BGF: Tensor  # that mean
    phase_BKX: Tensor
    rotated_BGKX: Tensor  # keys as they are, each in its own slot
    swappable_BQK: Tensor

    @classmethod
    def of(cls, planes: RotaryPlanes, texts_B: Tensor, rows_BQ: Tensor, swappable_BQK: Tensor) -> "_TextRows":
        keys = swappable_BQK.shape[-1]
        key_BGKF = planes.key_BGKF[texts_B, :, :keys]
        query_GJBQF = planes.rotated_query_HQF[:, rows_BQ].unflatten(0, (key_BGKF.shape[1], -1))
        phase_BKF = planes.phase_BKF if len(planes.phase_BKF) == 1 else planes.phase_BKF[texts_B]
        # Keys of trained models may have a mean far larger than their differences, which sums of squares would lose.
        key_BGKX = _channels(key_BGKF)
        offset_BG1X = uniform_weights(swappable_BQK.any(1), key_BGKX.dtype)[0][:, None, None] @ key_BGKX
        return cls(
            query_BGJQF=query_GJBQF.permute(2, 0, 1, 3, 4),
            key_BGKX=key_BGKX - offset_BG1X,
            offset_BGF=_pairs(offset_BG1X[:, :, 0]),
            phase_BKX=_channels(phase_BKF[:, :keys]).expand(len(texts_B), -1, -1),
            rotated_BGKX=_channels(key_BGKF * phase_BKF[:, None, :keys]),
            swappable_BQK=swappable_BQK,
        )

    def measure(self, rows_BQ: Tensor, kept_BQ: Tensor) -> MeasuredRows:
        weights_B1QK = uniform_weights(self.swappable_BQK, self.key_BGKX.dtype)[0][:, None]
        weights_B11QK = weights_B1QK[:, :, None]
        phase_B1KX, offset_BG1F = self.phase_BKX[:, None], self.offset_BGF[:, :, None]
        mean_phase_B1QX, mean_key_BGQX = weights_B1QK @ phase_B1KX, weights_B1QK @ self.key_BGKX
        mean_key_BG1QF = (_pairs(mean_key_BGQX) + offset_BG1F)[:, :, None]
        content_query_BGJQF = self.query_BGJQF * _pairs(mean_phase_B1QX)[:, :, None]  # of a content in the mean slot
        slot_query_BGJQF = self.query_BGJQF * mean_key_BG1QF  # of a slot with the mean content
        grand_BGJQ = (content_query_BGJQF * mean_key_BG1QF).real.sum(-1)
        common_BGJQ = (content_query_BGJQF * offset_BG1F[:, :, None]).real.sum(-1)
        content_BGJQK = _product(content_query_BGJQF, self.key_BGKX) + common_BGJQ[..., None]
        slot_BGJQK = _product(slot_query_BGJQF, phase_B1KX)

        def contributions(
            centred_BGJQK: Tensor, vectors_BGKX: Tensor, mean_BGQX: Tensor, query_BGJQF: Tensor
        ) -> Tensor:
            """part_BGJQF: what each frequency contributes to the variance of mean logits."""
            weighted_BGJQK = centred_BGJQK * weights_B11QK
            sums = (weighted_BGJQK.flatten(2, 3) @ vectors_BGKX).unflatten(2, weighted_BGJQK.shape[2:4])
            # Centred logits add up to what rounding leaves, which would count by the size of the vectors' mean.
            sums -= weighted_BGJQK.sum(-1, keepdim=True) * mean_BGQX[:, :, None]
            return (query_BGJQF * _pairs(sums)).real

        parts = (
            contributions(slot_BGJQK - grand_BGJQ[..., None], phase_B1KX, mean_phase_B1QX, slot_query_BGJQF),
            contributions(content_BGJQK - grand_BGJQ[..., None], self.key_BGKX, mean_key_BGQX, content_query_BGJQF),
            self._interaction(),
        )

        def kept(value_BGJQX: Tensor) -> Tensor:
            """value_HQX of the rows that are not repeated."""
            return value_BGJQX.permute(1, 2, 0, 3, *range(4, value_BGJQX.dim())).flatten(0, 1)[:, kept_BQ]

        moments = Moments(
            content_HQK=kept(content_BGJQK),
            slot_HQK=kept(slot_BGJQK),
            grand_HQ=kept(grand_BGJQ),
            position_HQ=kept(mean_and_variance(slot_BGJQK, weights_B11QK)[1]),
            symbol_HQ=kept(mean_and_variance(content_BGJQK, weights_B11QK)[1]),
            interaction_HQ=kept(parts[2].sum(-1)),
            planes=Planes(*map(kept, parts)),
        )
        return MeasuredRows(rows_BQ[kept_BQ], kept(_product(self.query_BGJQF, self.rotated_BGKX)), moments)

    def _interaction(self) -> Tensor:
        """part_BGJQF: what each frequency contributes to the variance that neither contents nor slots explain.

        A doubly centred entry is the real part of Σ_f query_f key_f phase_f, with centred keys and phases: a product of
        the query with the real and imaginary parts of key_f phase_f, whose covariances over all entries follow from
        those of keys and those of phases.
        """
        keys, slots = (
            _covariances(vectors_BGKX, self.swappable_BQK) for vectors_BGKX in (self.key_BGKX, self.phase_BKX[:, None])
        )
        key_rr, key_ri, key_ii, slot_rr, slot_ri, slot_ii = *keys, *slots  # r: real, i: imaginary parts; all BGQFF
        key_ir, slot_ir = key_ri.mT.contiguous(), slot_ri.mT
        rr_BGQFF = (key_rr * slot_rr).addcmul_(key_ii, slot_ii)
        rr_BGQFF.addcmul_(key_ri, slot_ri, value=-1).addcmul_(key_ir, slot_ir, value=-1)
        ri_BGQFF = (key_rr * slot_ri).addcmul_(key_ri, slot_rr)
        ri_BGQFF.addcmul_(key_ir, slot_ii, value=-1).addcmul_(key_ii, slot_ir, value=-1)
        ii_BGQFF = (key_rr * slot_ii).addcmul_(key_ii, slot_rr).addcmul_(key_ri, slot_ir).addcmul_(key_ir, slot_ri)
        query_BGQFJ = self.query_BGJQF.permute(0, 1, 3, 4, 2)
        real_BGQFJ, imaginary_BGQFJ = query_BGQFJ.real.contiguous(), query_BGQFJ.imag.contiguous()
        part_BGQFJ = real_BGQFJ * (rr_BGQFF @ real_BGQFJ - ri_BGQFF @ imaginary_BGQFJ)
        part_BGQFJ += imaginary_BGQFJ * (ii_BGQFF @ imaginary_BGQFJ - ri_BGQFF.mT @ real_BGQFJ)
        part_BGJQF: Tensor = part_BGQFJ.permute(0, 1, 4, 2, 3)
        return part_BGJQF


def _channels(pairs_XF: Tensor) -> Tensor:
    """Real parts, then imaginary ones."""
    return torch.cat((pairs_XF.real, pairs_XF.imag), -1)


def _pairs(channels_X: Tensor) -> Tensor:
    return torch.complex(*channels_X.chunk(2, -1))


def _product(query_BGJQF: Tensor, vectors_BGKX: Tensor) -> Tensor:
    """product_BGJQK: the real part of the plain product of complex vectors."""
    query_BGJQX = torch.cat((query_BGJQF.real, -query_BGJQF.imag), -1)
    product_BGJQK: Tensor = (query_BGJQX.flatten(2, 3) @ vectors_BGKX.mT).unflatten(2, query_BGJQX.shape[2:4])
    return product_BGJQK


def _covariances(vectors_BGKX: Tensor, member_BQK: Tensor) -> Tensor:
    """covariance_3BGQFF of the vectors that each row of a text holds.

    Of real parts, of real with imaginary parts, and of imaginary parts. Sums are kept in the widest type: what comes
    and goes may be far larger than what is left.
    """
    wide_BGKX = vectors_BGKX.to(widest_dtype(vectors_BGKX.device))
    count_B1Q1 = member_BQK.sum(-1).clamp_min(1).to(wide_BGKX.dtype)[:, None, :, None]
    mean_BGQX = member_BQK.to(wide_BGKX.dtype)[:, None] @ wide_BGKX / count_B1Q1
    one_3BGQF, other_3BGQF = _both_parts(mean_BGQX)
    products_3BGQFF = _running_products(wide_BGKX, member_BQK).div_(count_B1Q1[..., None])
    return products_3BGQFF.addcmul_(one_3BGQF[..., :, None], other_3BGQF[..., None, :], value=-1).to(vectors_BGKX.dtype)


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

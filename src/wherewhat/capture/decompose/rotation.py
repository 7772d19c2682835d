"""Measure how a model rotates its queries and keys, by passing known vectors through the model's own rotation.

Nothing is read from a config: which channels form a pair, which are not rotated, and each pair's angle in every slot
all follow from what the rotation does to unit vectors. Half-split and interleaved pairs, partial, scaled and
length-dependent rotations therefore need no table of families.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.encodings.base import wide
from wherewhat.logits.rotary import RotaryLogits

Rotate = Callable[[Tensor], Tensor]  # rotates x_BHTC, one vector per slot; probes are one text of several heads

AT_ONCE = 8  # unit vectors rotated together while looking for pairs
PROBED_SLOTS = 16  # in which the rotation of a unit vector is measured
NOTHING = 1e-9  # a channel that receives less than this of a unit vector receives nothing
CLOSE = 1e-3  # how far rounding may take a pair from a pure rotation


@dataclass(frozen=True)
class ChannelPairs:
    """Which channels are rotated together: the two output channels of each pair, and its two input channels."""

    first_F: Tensor
    second_F: Tensor
    input_F: Tensor
    second_input_F: Tensor  # in most families the input channels of a pair are its output channels
    unrotated_C: Tensor

    @property
    def count(self) -> int:
        """The number of rotated pairs."""
        return len(self.first_F)

    @property
    def channels(self) -> int:
        """The number of channels, rotated or not."""
        return 2 * self.count + len(self.unrotated_C)


@dataclass(frozen=True)
class Rotation:
    """The rotation of every channel pair in every slot of a batch. Unrotated channels are pairs with theta 0."""

    pairs: ChannelPairs
    start: int  # where the rotated channels begin among all channels of a head
    phase_BTF: Tensor  # complex; its absolute value is the factor that some scalings apply
    theta_F: Tensor  # radians per token
    across: bool = True  # the head axis comes before the token axis, as in most families
    keys_too: bool = True  # the same call rotates queries and keys

    def logits(
        self, q_HQC: Tensor, k_GKC: Tensor, b: int, rows_Q: Tensor, keys: slice, *, scale: float
    ) -> RotaryLogits:
        """The logits of rotated queries and keys of one text."""
        slots_K = torch.arange(keys.start, keys.stop, device=rows_Q.device)
        q_HQF, k_GKF = self._unrotated(q_HQC, b, rows_Q), self._unrotated(k_GKC, b, slots_K)
        return RotaryLogits(q_HQF, k_GKF, self.phase_of(b)[keys], self.theta_F, rows_Q - keys.start, scale)

    def _unrotated(self, x_HTC: Tensor, b: int, slots_T: Tensor) -> Tensor:
        """Queries or keys in these slots as complex numbers, as they were before the rotation."""
        phase_TF = self.phase_of(b)[slots_T]
        return self.as_pairs(x_HTC) * (phase_TF.conj() / phase_TF.abs().square())

    def as_pairs(self, x_HTC: Tensor) -> Tensor:
        """The channels of a head as complex numbers: the rotated pairs, then the other channels two by two."""
        x_HTC = x_HTC.to(wide(x_HTC.dtype))
        first_C, second_C = self.pairs.first_F + self.start, self.pairs.second_F + self.start
        unrotated_C = torch.ones(x_HTC.shape[-1], dtype=torch.bool, device=first_C.device)
        unrotated_C[torch.cat((first_C, second_C))] = False
        rest_HTC = x_HTC[..., unrotated_C.nonzero().squeeze(1)]
        if rest_HTC.shape[-1] % 2:
            rest_HTC = torch.nn.functional.pad(rest_HTC, (0, 1))
        rotated_HTF = torch.complex(x_HTC[..., first_C], x_HTC[..., second_C])
        return torch.cat((rotated_HTF, torch.complex(rest_HTC[..., ::2], rest_HTC[..., 1::2])), -1)

    def phase_of(self, b: int) -> Tensor:
        """phase_TF of one text; in most batches all texts share it."""
        return self.phase_BTF[b if len(self.phase_BTF) > 1 else 0]


def find_pairs(rotate: Rotate, *, channels: int, slots: int, like: Tensor) -> ChannelPairs | None:
    """The channel pairs that a function rotates; None if it does anything but rotate pairs."""
    eye_CC = torch.eye(channels, dtype=like.dtype, device=like.device)
    rotated = []
    for units_HC in eye_CC.split(AT_ONCE):
        probe_BHTC = units_HC[None, :, None].expand(1, -1, slots, -1)
        rotated.append(rotate(probe_BHTC)[0].to(wide(like.dtype)))
    return _pairs_of(torch.cat(rotated))  # for every unit vector and slot, what each channel receives


def spread_slots(slots: int) -> Tensor:
    """A few slots from near to far, in which to measure a rotation. The first slot may not be rotated at all."""
    spread_S: Tensor = torch.linspace(min(1, slots - 1), slots - 1, min(slots, PROBED_SLOTS)).long().unique()
    return spread_S


def phases(rotate: Rotate, pairs: ChannelPairs, *, channels: int, slots: int, like: Tensor) -> Tensor:
    """phase_BTF: the rotation of each pair in each slot, measured with one vector that reaches every pair."""
    probe_C = torch.zeros(channels, dtype=like.dtype, device=like.device)
    probe_C[pairs.input_F] = 1
    out_BTC = rotate(probe_C[None, None, None].expand(1, 1, slots, -1))[:, 0].to(wide(like.dtype))
    return torch.complex(out_BTC[..., pairs.first_F], out_BTC[..., pairs.second_F])


def rotation_of(pairs: ChannelPairs, phase_BTF: Tensor, *, start: int, channels: int) -> Rotation:
    """The rotation for heads of `channels` channels, of which the rotated ones begin at `start`."""
    rest = (channels - 2 * pairs.count + 1) // 2
    rest_BTF = phase_BTF.new_ones(*phase_BTF.shape[:2], rest)
    theta_F = torch.cat((thetas(phase_BTF[0]), torch.zeros(rest, dtype=torch.float64)))
    return Rotation(pairs, start, torch.cat((phase_BTF, rest_BTF), -1), theta_F)


def thetas(phase_TF: Tensor) -> Tensor:
    """theta_F in radians per token: measured between neighbours, then refined over longer and longer spans."""
    phase_TF = phase_TF.cpu().to(torch.complex128)
    if len(phase_TF) < 2:
        return phase_TF.real.new_zeros(phase_TF.shape[1])
    theta_F = (phase_TF[1] * phase_TF[0].conj()).angle()
    span = 2
    while span < len(phase_TF):
        measured_F = (phase_TF[span] * phase_TF[0].conj()).angle()
        beside_F = measured_F - theta_F * span
        theta_F = theta_F + (beside_F - 2 * torch.pi * (beside_F / (2 * torch.pi)).round()) / span
        span *= 2
    return theta_F


def _pairs_of(out_CSC: Tensor) -> ChannelPairs | None:
    """Two channels form a pair if some unit vector reaches both; None unless the pairs are only rotated."""
    reach_CC = out_CSC.abs().amax(1) > NOTHING  # which channel each unit vector reaches
    together_CC = (reach_CC.float().T @ reach_CC.float()).fill_diagonal_(0) > 0
    if (together_CC.sum(-1) > 1).any():
        return None
    first_F = together_CC.triu().any(-1).nonzero().squeeze(1)
    second_F = together_CC.float().argmax(-1)[first_F]
    inputs_FC = reach_CC[:, first_F].T | reach_CC[:, second_F].T
    if (inputs_FC.sum(-1) != 2).any():
        return None
    inputs_F2 = inputs_FC.nonzero()[:, 1].view(-1, 2)
    unrotated_C = (~together_CC.any(-1)).nonzero().squeeze(1)
    # The two inputs of each pair must stay a right angle apart, and the other channels must stay as they are.
    ends_FS2 = torch.stack((first_F, second_F), -1)[:, None].expand(-1, out_CSC.shape[1], -1)
    first_FS, second_FS = (
        torch.complex(*out_CSC[input_F].gather(-1, ends_FS2).unbind(-1)) for input_F in inputs_F2.unbind(-1)
    )
    ratio_FS = second_FS / first_FS
    right_angle = (ratio_FS.real.abs() < CLOSE) & ((ratio_FS.imag.abs() - 1).abs() < CLOSE)
    rest_CS = out_CSC[unrotated_C].gather(-1, unrotated_C[:, None, None].expand(-1, out_CSC.shape[1], 1))
    if not right_angle.all() or not ((rest_CS - 1).abs() < CLOSE).all():
        return None
    return ChannelPairs(first_F, second_F, inputs_F2[:, 0], inputs_F2[:, 1], unrotated_C)

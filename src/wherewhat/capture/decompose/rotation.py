"""Find out how a model turns its queries and keys, by pushing known vectors through the model's own rotation.

Nothing is read from a config: which channels make a pair, which do not turn, and how far each pair has turned in each
slot all follow from what the rotation does to unit vectors. So half-split and interleaved pairs, partial, scaled and
length-dependent rotations need no table of families.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.encodings.base import wide
from wherewhat.logits.rotary import Turned

Rotate = Callable[[Tensor], Tensor]  # turns x_BHTC, one vector a slot; probes come as one text of several heads

AT_ONCE = 8  # unit vectors pushed together while pairs are looked for
LOOKED_AT = 16  # slots in which the rotation of a unit vector is looked at
NOTHING = 1e-9  # a channel that gets less than this of a unit vector gets nothing
CLOSE = 1e-3  # how far from a pure turn rounding may carry a pair


@dataclass(frozen=True)
class Pairs:
    """Which channels turn together, the ends of each pair in order, and the channels that feed it."""

    first_F: Tensor
    second_F: Tensor
    fed_by_F: Tensor
    also_by_F: Tensor  # the other channel that feeds it; as a rule a pair is fed by its own channels
    still_C: Tensor  # channels that do not turn

    @property
    def count(self) -> int:
        """How many pairs turn."""
        return len(self.first_F)

    @property
    def channels(self) -> int:
        """How many channels there are, whether they turn or not."""
        return 2 * self.count + len(self.still_C)


@dataclass(frozen=True)
class Rotation:
    """How every pair of channels is turned in every slot of a batch. Channels that stay are pairs with theta 0."""

    pairs: Pairs
    start: int  # where the rotated channels begin among all channels of a head
    turn_BTF: Tensor  # complex; its length is the factor that some scalings put in
    theta_F: Tensor  # radians a token
    across: bool = True  # it was handed heads before tokens, as in most families
    keys_too: bool = True  # keys are turned beside the queries; False: they come from elsewhere

    def logits(self, q_HQC: Tensor, k_GKC: Tensor, b: int, rows_Q: Tensor, keys: slice, *, scale: float) -> Turned:
        """What queries and keys of a text that have been turned amount to."""
        slots_K = torch.arange(keys.start, keys.stop, device=rows_Q.device)
        q_HQF, k_GKF = self._unturned(q_HQC, b, rows_Q), self._unturned(k_GKC, b, slots_K)
        return Turned(q_HQF, k_GKF, self.turn_of(b)[keys], self.theta_F, rows_Q - keys.start, scale)

    def _unturned(self, x_HTC: Tensor, b: int, slots_T: Tensor) -> Tensor:
        """Queries or keys that stand in these slots as complex numbers, before they were turned."""
        turn_TF = self.turn_of(b)[slots_T]
        return self.as_pairs(x_HTC) * (turn_TF.conj() / turn_TF.abs().square())

    def as_pairs(self, x_HTC: Tensor) -> Tensor:
        """The channels of a head as complex numbers: those that turn, then the others two by two."""
        x_HTC = x_HTC.to(wide(x_HTC.dtype))
        turning_HTC = x_HTC[..., self.start :]
        turning_HTF = torch.complex(turning_HTC[..., self.pairs.first_F], turning_HTC[..., self.pairs.second_F])
        still_HTC = x_HTC[..., self._still(x_HTC.shape[-1])]
        if still_HTC.shape[-1] % 2:
            still_HTC = torch.nn.functional.pad(still_HTC, (0, 1))
        return torch.cat((turning_HTF, torch.complex(still_HTC[..., ::2], still_HTC[..., 1::2])), -1)

    def turn_of(self, b: int) -> Tensor:
        """turn_TF of one text; the same for every text of most batches."""
        return self.turn_BTF[b if len(self.turn_BTF) > 1 else 0]

    def _still(self, channels: int) -> Tensor:
        turning = torch.cat((self.pairs.first_F, self.pairs.second_F)) + self.start
        stays = torch.ones(channels, dtype=torch.bool, device=turning.device)
        stays[turning] = False
        return stays.nonzero().squeeze(1)


def find_pairs(rotate: Rotate, *, channels: int, slots: int, like: Tensor) -> Pairs | None:
    """The pairs that a rotation turns, or None if what it does is not turning pairs by angles."""
    eye_CC = torch.eye(channels, dtype=like.dtype, device=like.device)
    shown = []
    for units_HC in eye_CC.split(AT_ONCE):
        probe_BHTC = units_HC[None, :, None].expand(1, -1, slots, -1)
        shown.append(rotate(probe_BHTC)[0].to(wide(like.dtype)))
    return _pairs_of(torch.cat(shown))  # of every unit vector, in every slot, what each channel gets


def spread_slots(slots: int) -> Tensor:
    """A few slots from near to far, in which a rotation shows what it does. The first may not turn at all."""
    spread_S: Tensor = torch.linspace(min(1, slots - 1), slots - 1, min(slots, LOOKED_AT)).long().unique()
    return spread_S


def turns(rotate: Rotate, pairs: Pairs, *, channels: int, slots: int, like: Tensor) -> Tensor:
    """turn_BTF: what the rotation does to each pair in each slot. One vector that feeds every pair is enough."""
    probe_C = torch.zeros(channels, dtype=like.dtype, device=like.device)
    probe_C[pairs.fed_by_F] = 1
    out_BTC = rotate(probe_C[None, None, None].expand(1, 1, slots, -1))[:, 0].to(wide(like.dtype))
    return torch.complex(out_BTC[..., pairs.first_F], out_BTC[..., pairs.second_F])


def rotation_of(pairs: Pairs, turn_BTF: Tensor, *, start: int, channels: int) -> Rotation:
    """Put it together for heads of `channels` channels, of which the rotated ones begin at `start`."""
    still = (channels - 2 * pairs.count + 1) // 2
    still_BTF = turn_BTF.new_ones(*turn_BTF.shape[:2], still)
    theta_F = torch.cat((thetas(turn_BTF[0]), torch.zeros(still, dtype=torch.float64)))
    return Rotation(pairs, start, torch.cat((turn_BTF, still_BTF), -1), theta_F)


def thetas(turn_TF: Tensor) -> Tensor:
    """theta_F, radians a token: read between neighbours, then made sharper over longer and longer stretches."""
    turn_TF = turn_TF.cpu().to(torch.complex128)
    if len(turn_TF) < 2:
        return turn_TF.real.new_zeros(turn_TF.shape[1])
    theta_F = (turn_TF[1] * turn_TF[0].conj()).angle()
    span = 2
    while span < len(turn_TF):
        measured_F = (turn_TF[span] * turn_TF[0].conj()).angle()
        beside_F = measured_F - theta_F * span
        theta_F = theta_F + (beside_F - 2 * torch.pi * (beside_F / (2 * torch.pi)).round()) / span
        span *= 2
    return theta_F


def _pairs_of(out_CSC: Tensor) -> Pairs | None:
    """Read pairs off: two channels belong together if some unit vector reaches both."""
    reach_CC = out_CSC.abs().amax(1) > NOTHING  # which channel each unit vector reaches
    together_CC = (reach_CC.float().T @ reach_CC.float()).fill_diagonal_(0) > 0
    if (together_CC.sum(-1) > 1).any():
        return None
    first_F = together_CC.triu().any(-1).nonzero().squeeze(1)
    second_F = together_CC.float().argmax(-1)[first_F]
    feeding_FC = reach_CC[:, first_F].T | reach_CC[:, second_F].T
    if (feeding_FC.sum(-1) != 2).any():
        return None
    fed_by_F2 = feeding_FC.nonzero()[:, 1].view(-1, 2)
    still_C = (~together_CC.any(-1)).nonzero().squeeze(1)
    pairs = Pairs(first_F, second_F, fed_by_F2[:, 0], fed_by_F2[:, 1], still_C)
    return pairs if _only_turns(out_CSC, pairs) else None


def _only_turns(out_CSC: Tensor, pairs: Pairs) -> bool:
    """Whether both vectors that feed a pair are turned alike, a right angle apart, and the other channels pass by."""
    ends = torch.stack((pairs.first_F, pairs.second_F), -1)
    one_FS, other_FS = (
        torch.complex(*out_CSC[fed_F].gather(-1, ends[:, None].expand(-1, out_CSC.shape[1], -1)).unbind(-1))
        for fed_F in (pairs.fed_by_F, pairs.also_by_F)
    )
    apart_FS = other_FS / one_FS
    right = (apart_FS.real.abs() < CLOSE) & ((apart_FS.imag.abs() - 1).abs() < CLOSE)
    still_CS = out_CSC[pairs.still_C].gather(-1, pairs.still_C[:, None, None].expand(-1, out_CSC.shape[1], 1))
    return bool(right.all()) and bool(((still_CS - 1).abs() < CLOSE).all())

"""The edit of one attention: a factor for each channel pair, whether it rotates, and which heads are ablated.

Two tables give it for every head and every rotated pair of channels. `gain_HF` multiplies what the pair adds to the dot
product of queries and keys (0 removes the pair). `rotated_HF` is False where the dot product uses the pair as it was
before the rotation.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.logits.rotary import RotaryLogits

STEADY = 1e-3  # lengths of a rotated pair that differ by less than this between slots count as equal
NEAR_ONE = 1e-4  # and a length this close to 1 counts as 1


@dataclass(frozen=True, eq=False)
class LayerEdit:
    """The requested edit of one layer; None for what stays as it is."""

    gain_HF: Tensor | None = None  # float64, from 0
    rotated_HF: Tensor | None = None  # bool
    ablated_H: Tensor | None = None  # bool: the output of these heads becomes 0


@dataclass(frozen=True, eq=False)
class RotaryEdit:
    """The two tables of a layer, applied to the rotations of its queries and keys."""

    gain_HF: Tensor
    rotated_HF: Tensor
    rotations: tuple[Rotation, Rotation]
    _made: dict[object, Tensor] = field(default_factory=dict, repr=False)  # cached tables by channel

    @property
    def start(self) -> int:
        """Where the rotated channels begin among those of a query."""
        return self.rotations[0].start

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """length_F of queries and keys: the factor that some scalings apply, or 1 where it differs between slots."""
        lengths = []
        for rotation in self.rotations:
            length_TF = rotation.phase_BTF[0, :, : rotation.pairs.count].abs().cpu().double()
            steady_F = length_TF.amax(0) - length_TF.amin(0) < STEADY
            lengths.append(length_TF[0].where(steady_F & ((length_TF[0] - 1).abs() > NEAR_ONE), 1.0))
        return lengths[0], lengths[1]

    def scale_pairs(self, x: Tensor, *, start: int = 0, across: bool = True, power: float = 1.0) -> Tensor:
        """Multiply each pair by its gain. Keys that heads share are returned unchanged."""
        if bool((self.gain_HF == 1).all()) or x.shape[1 if across else 2] != len(self.gain_HF):
            return x
        gain_HC = self._like(x, (start, power), lambda: self._spread(self.gain_HF**power, 1.0, start, x.shape[-1]))
        return x * (gain_HC[:, None] if across else gain_HC)

    def unrotate_pairs(self, before: Tensor, after: Tensor, side: int) -> Tensor:
        """Queries (side 0) or keys (1) after their rotation, with some pairs as they were before it.

        Shared keys are returned once per head where heads of a group are edited differently.
        """
        if bool(self.rotated_HF.all()):
            return after
        across = self.rotations[side].across
        axis = 1 if across else 2
        each = len(self.rotated_HF) // after.shape[axis]
        rotated_GXF = self.rotated_HF.unflatten(0, (-1, each))
        if not self._uniform and not bool((rotated_GXF == rotated_GXF[:, :1]).all()):
            before, after, each = before.repeat_interleave(each, axis), after.repeat_interleave(each, axis), 1
        rotated_GF = self.rotated_HF[:1] if self._uniform else self.rotated_HF[::each]
        rotated_HC = self._like(after, ("rotated", each), lambda: self._spread(rotated_GF, True, 0, after.shape[-1]))
        unrotated = self._unrotated(before, side).to(after)
        return torch.where(rotated_HC[:, None] if across else rotated_HC, after, unrotated)

    @cached_property
    def _uniform(self) -> bool:
        """Whether all heads have the same edit."""
        return bool((self.rotated_HF == self.rotated_HF[:1]).all())

    def _unrotated(self, before: Tensor, side: int) -> Tensor:
        """The result of a rotation by angle 0."""
        pairs, length_F = self.rotations[side].pairs, self.lengths[side]
        if not (torch.equal(pairs.first_F, pairs.input_F) and torch.equal(pairs.second_F, pairs.second_input_F)):
            source_C = torch.arange(before.shape[-1], device=before.device)
            source_C[pairs.first_F], source_C[pairs.second_F] = pairs.input_F, pairs.second_input_F
            before = before[..., source_C]
        if bool((length_F == 1).all()):
            return before
        return before * self._like(before, side, lambda: self._spread(length_F[None], 1.0, 0, before.shape[-1]))

    def _spread(self, table_HF: Tensor, otherwise: float | bool, start: int, channels: int) -> Tensor:
        """table_HC: each pair's value at both of its channels."""
        pairs = self.rotations[0].pairs
        table_HC = torch.full((len(table_HF), channels), otherwise, dtype=table_HF.dtype)
        for ends_F in (pairs.first_F, pairs.second_F):
            table_HC[:, start + ends_F.cpu()] = table_HF
        return table_HC

    def _like(self, x: Tensor, key: object, make: Callable[[], Tensor]) -> Tensor:
        """A table on the device of a tensor and, if it holds numbers, of its type; cached."""
        key = (key, x.dtype, x.device, x.shape[-1])
        if key not in self._made:
            table = make()
            self._made[key] = table.to(x.device if table.dtype == torch.bool else x)
        return self._made[key]

    def edited_logits(self, logits: RotaryLogits) -> RotaryLogits:
        """Rotary logits after the edit; their queries and keys are as they are before any rotation."""
        gain_HF = _padded(self.gain_HF, logits.theta_F, 1.0)[:, None].to(logits.query_HQF)
        return self.split_pairs(replace(logits, query_HQF=logits.query_HQF * gain_HF))

    def split_pairs(self, logits: RotaryLogits) -> RotaryLogits:
        """The same queries and keys, with some pairs not rotated.

        A pair that is rotated in some heads only becomes two: one that is rotated and, after all the others, one that
        is not, each with zeros in the heads that use the other.
        """
        rotated_HF = _padded(self.rotated_HF, logits.theta_F, True).to(logits.phase_KF.device)
        unrotated_F = ~rotated_HF.any(0)
        both_F = ~unrotated_F & ~rotated_HF.all(0)
        query_phase_KF = logits.phase_KF if logits.query_phase_KF is None else logits.query_phase_KF
        phases = []  # of keys and of queries, with lengths in place of phases where a pair is not rotated
        for phase_KF, length_F in ((logits.phase_KF, self.lengths[1]), (query_phase_KF, self.lengths[0])):
            length_KF = _padded(length_F, logits.theta_F, 1.0).to(phase_KF).expand_as(phase_KF)
            phases.append(torch.cat((torch.where(unrotated_F, length_KF, phase_KF), length_KF[:, both_F]), -1))
        theta_F = logits.theta_F.masked_fill(unrotated_F.cpu(), 0)
        return replace(
            logits,
            query_HQF=_split(logits.query_HQF, rotated_HF | unrotated_F, both_F),
            key_GKF=_split(logits.key_GKF, rotated_HF | unrotated_F, both_F),
            phase_KF=phases[0],
            query_phase_KF=None if torch.equal(*phases) else phases[1],
            theta_F=torch.cat((theta_F, theta_F.new_zeros(int(both_F.sum())))),
        )

    def inverse(self, phase_TF: Tensor, heads: int) -> Tensor:
        """inverse_HTF, which takes a head's queries or keys back to what they were before their rotation."""
        rotated_HF = _padded(self.rotated_HF, phase_TF[0], True).to(phase_TF.device)[:: len(self.rotated_HF) // heads]
        length_F = _padded(self.lengths[0], phase_TF[0], 1.0).to(phase_TF)
        return torch.where(rotated_HF[:, None], phase_TF.conj() / phase_TF.abs().square(), 1 / length_F)


@dataclass(frozen=True)
class EditedRotation(Rotation):
    """A rotation that leaves out some pairs, in all heads or in some."""

    rotary_edit: RotaryEdit = field(kw_only=True)

    def logits(
        self, q_HQC: Tensor, k_GKC: Tensor, b: int, rows_Q: Tensor, keys: slice, *, scale: float
    ) -> RotaryLogits:
        phase_TF = self.phase_of(b)
        q_HQF = self.as_pairs(q_HQC) * self.rotary_edit.inverse(phase_TF[rows_Q], len(q_HQC))
        k_GKF = self.as_pairs(k_GKC) * self.rotary_edit.inverse(phase_TF[keys], len(k_GKC))
        logits = RotaryLogits(q_HQF, k_GKF, phase_TF[keys], self.theta_F, rows_Q - keys.start, scale)
        return self.rotary_edit.split_pairs(logits)


@dataclass(frozen=True, eq=False)
class ActiveEdit:
    """The edit of one layer, ready to be applied."""

    rotary_edit: RotaryEdit | None = None
    ablated_H: Tensor | None = None

    def __bool__(self) -> bool:
        return self.rotary_edit is not None or self.ablated_H is not None


@dataclass(eq=False)
class EditFrame:
    """An attention module that is running, and its edit."""

    module: nn.Module
    edit: ActiveEdit
    through_interface: bool  # its attention function scales pairs and ablates heads; otherwise rotation and softmax do
    rotated: bool = False  # its rotation function has been called
    mode: Any = None  # the torch function mode that ablates heads at its softmax, if any


class RunningEdits(threading.local):
    """Which edited attentions run in this thread; all models of a file share rotation and attention functions."""

    def __init__(self) -> None:
        self.frames: list[EditFrame] = []  # the innermost last


RUNNING = RunningEdits()


def innermost() -> EditFrame | None:
    """The edited attention that is running now, if any."""
    return RUNNING.frames[-1] if RUNNING.frames else None


def running(module: nn.Module) -> EditFrame | None:
    """The frame of a module that is attending now; None if it is not being edited."""
    frame = innermost()
    return frame if frame is not None and frame.module is module else None


def edited_rotation(module: nn.Module, rotation: Rotation) -> Rotation:
    """The rotation that a module's queries and keys have gone through by the time of its attention."""
    frame = running(module)
    if frame is None or (edit := frame.edit.rotary_edit) is None:
        return rotation
    return EditedRotation(**{each.name: getattr(rotation, each.name) for each in fields(rotation)}, rotary_edit=edit)


def _split(x_HTF: Tensor, here_HF: Tensor, both_F: Tensor) -> Tensor:
    """Queries or keys of the original pairs, followed by those that are rotated in some heads and not in others."""
    if not bool(both_F.any()):
        return x_HTF
    here_HF = here_HF[:: len(here_HF) // len(x_HTF)]
    return torch.cat((x_HTF * here_HF[:, None], x_HTF[..., both_F] * ~here_HF[:, None, both_F]), -1)


def _padded(table_HF: Tensor, every_F: Tensor, value: float | bool) -> Tensor:
    """A table of the rotated pairs, padded for the channels that are never rotated."""
    return pad(table_HF, (0, len(every_F) - table_HF.shape[-1]), value=value)

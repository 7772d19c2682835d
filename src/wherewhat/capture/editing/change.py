"""What becomes of one attention while its model is edited: how loud each pair is, whether it turns, who is silent.

Two tables say it for every head and every pair of channels that turns. `gain_HF` multiplies what the pair adds to the
dot product of queries with keys (0: the pair has left it). `turned_HF` is False where queries and keys meet in the
pair as if nothing had turned.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.logits.rotary import Turned

STEADY = 1e-3  # lengths of a turning pair that differ by less than this from slot to slot are the same
NEAR_ONE = 1e-4  # and one this close to 1 is 1


@dataclass(frozen=True, eq=False)
class Change:
    """What is asked of one layer; None for what stays as it is."""

    gain_HF: Tensor | None = None  # float64, from 0
    turned_HF: Tensor | None = None  # bool
    silent_H: Tensor | None = None  # bool: what these heads write becomes 0


@dataclass(frozen=True, eq=False)
class Retuned:
    """The two tables of a layer, laid over the rotations of its queries and keys."""

    gain_HF: Tensor
    turned_HF: Tensor
    rotations: tuple[Rotation, Rotation]
    _made: dict[object, Tensor] = field(default_factory=dict, repr=False)  # tables by channel, as tensors need them

    @property
    def start(self) -> int:
        """Where the rotated channels begin among those of a query."""
        return self.rotations[0].start

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """length_F of queries and keys: the factor that some scalings put in, or 1 where it is another in each slot."""
        of_queries, of_keys = map(_length, self.rotations)
        return of_queries, of_keys

    # Queries and keys on their way to the attention -------------------------------------------------------------------

    def gained(self, x: Tensor, *, start: int = 0, across: bool = True, power: float = 1.0) -> Tensor:
        """Make each pair as loud as it is wanted. Of keys that heads share nothing is known, so they pass."""
        if bool((self.gain_HF == 1).all()) or x.shape[1 if across else 2] != len(self.gain_HF):
            return x
        gain_HC = self._like(x, (start, power), lambda: self._spread(self.gain_HF**power, 1.0, start, x.shape[-1]))
        return x * (gain_HC[:, None] if across else gain_HC)

    def stilled(self, before: Tensor, after: Tensor, side: int) -> Tensor:
        """Queries (side 0) or keys (1) after their rotation, with some pairs as they were before it.

        Keys that heads share come back one for each head where heads of a group want them differently.
        """
        if bool(self.turned_HF.all()):
            return after
        across = self.rotations[side].across
        axis = 1 if across else 2
        each = len(self.turned_HF) // after.shape[axis]
        if not self._alike(each):
            before, after, each = before.repeat_interleave(each, axis), after.repeat_interleave(each, axis), 1
        turned_HC = self._turned(after, each)
        fed = self._fed(before, side).to(after)
        return torch.where(turned_HC[:, None] if across else turned_HC, after, fed)

    def _alike(self, each: int) -> bool:
        """Whether the heads of a group want their keys alike."""
        turned_GXF = self.turned_HF.unflatten(0, (-1, each))
        return self._uniform or bool((turned_GXF == turned_GXF[:, :1]).all())

    @cached_property
    def _uniform(self) -> bool:
        """Whether all heads are alike."""
        return bool((self.turned_HF == self.turned_HF[:1]).all())

    def _turned(self, x: Tensor, each: int) -> Tensor:
        """turned_HC: True for channels that are to come out of the rotation, of every group, or of all at once."""
        turned_GF = self.turned_HF[:1] if self._uniform else self.turned_HF[::each]
        return self._like(x, ("turned", each), lambda: self._spread(turned_GF, True, 0, x.shape[-1]))

    def _fed(self, before: Tensor, side: int) -> Tensor:
        """What would come out of a rotation by nothing."""
        pairs, length_F = self.rotations[side].pairs, self.lengths[side]
        if not (torch.equal(pairs.first_F, pairs.fed_by_F) and torch.equal(pairs.second_F, pairs.also_by_F)):
            source_C = torch.arange(before.shape[-1], device=before.device)
            source_C[pairs.first_F], source_C[pairs.second_F] = pairs.fed_by_F, pairs.also_by_F
            before = before[..., source_C]
        if bool((length_F == 1).all()):
            return before
        return before * self._like(before, side, lambda: self._spread(length_F[None], 1.0, 0, before.shape[-1]))

    def _spread(self, table_HF: Tensor, otherwise: float | bool, start: int, channels: int) -> Tensor:
        """table_HC: what holds for a pair, said of both of its channels."""
        pairs = self.rotations[0].pairs
        table_HC = torch.full((len(table_HF), channels), otherwise, dtype=table_HF.dtype)
        for ends_F in (pairs.first_F, pairs.second_F):
            table_HC[:, start + ends_F.cpu()] = table_HF
        return table_HC

    def _like(self, x: Tensor, key: object, make: Callable[[], Tensor]) -> Tensor:
        """A table where a tensor lies and, if it holds numbers, of its type; made once."""
        key = (key, x.dtype, x.device, x.shape[-1])
        if key not in self._made:
            table = make()
            self._made[key] = table.to(x.device if table.dtype == torch.bool else x)
        return self._made[key]

    # What their logits are then made of -------------------------------------------------------------------------------

    def seen(self, rotation: Rotation) -> Rotation:
        """The rotation that brings queries and keys to where the attention finds them."""
        return Changed(**{each.name: getattr(rotation, each.name) for each in fields(rotation)}, retuned=self)

    def told(self, logits: Turned) -> Turned:
        """What plain logits become, queries and keys as they are before any rotation."""
        gain_HF = _padded(self.gain_HF, logits.theta_F, 1.0)[:, None].to(logits.query_HQF)
        return self.parted(replace(logits, query_HQF=logits.query_HQF * gain_HF))

    def parted(self, logits: Turned) -> Turned:
        """The same queries and keys, with pairs that stand still where they are wanted still.

        A pair that turns in some heads only becomes two: one that turns, and behind all the others one that does not,
        each with zeros in the heads that have the other.
        """
        turned_HF = _padded(self.turned_HF, logits.theta_F, True).to(logits.turn_KF.device)
        still_F = ~turned_HF.any(0)
        both_F = ~still_F & ~turned_HF.all(0)
        turn_KF, query_turn_KF = self._turns(logits, still_F, both_F)
        theta_F = logits.theta_F.masked_fill(still_F.cpu(), 0)
        return replace(
            logits,
            query_HQF=_parted(logits.query_HQF, turned_HF | still_F, both_F),
            key_GKF=_parted(logits.key_GKF, turned_HF | still_F, both_F),
            turn_KF=turn_KF,
            query_turn_KF=query_turn_KF,
            theta_F=torch.cat((theta_F, theta_F.new_zeros(int(both_F.sum())))),
        )

    def _turns(self, logits: Turned, still_F: Tensor, both_F: Tensor) -> tuple[Tensor, Tensor | None]:
        """turn_KF of keys and of queries, with lengths instead of turns where a pair stands still."""
        asked_KF = logits.turn_KF if logits.query_turn_KF is None else logits.query_turn_KF
        found = []
        for turn_KF, length_F in ((logits.turn_KF, self.lengths[1]), (asked_KF, self.lengths[0])):
            standing_KF = _padded(length_F, logits.theta_F, 1.0).to(turn_KF).expand_as(turn_KF)
            found.append(torch.cat((torch.where(still_F, standing_KF, turn_KF), standing_KF[:, both_F]), -1))
        of_keys, of_queries = found
        return of_keys, None if torch.equal(of_keys, of_queries) else of_queries

    def back(self, turn_TF: Tensor, heads: int) -> Tensor:
        """back_HTF, which takes a head's queries or keys to what they were before they were turned, if they were."""
        turned_HF = _padded(self.turned_HF, turn_TF[0], True).to(turn_TF.device)[:: len(self.turned_HF) // heads]
        length_F = _padded(self.lengths[0], turn_TF[0], 1.0).to(turn_TF)
        return torch.where(turned_HF[:, None], turn_TF.conj() / turn_TF.abs().square(), 1 / length_F)


@dataclass(frozen=True)
class Changed(Rotation):
    """A rotation that leaves some pairs out, in all heads or in some."""

    retuned: Retuned = field(kw_only=True)

    def logits(self, q_HQC: Tensor, k_GKC: Tensor, b: int, rows_Q: Tensor, keys: slice, *, scale: float) -> Turned:
        turn_TF = self.turn_of(b)
        q_HQF = self.as_pairs(q_HQC) * self.retuned.back(turn_TF[rows_Q], len(q_HQC))
        k_GKF = self.as_pairs(k_GKC) * self.retuned.back(turn_TF[keys], len(k_GKC))
        return self.retuned.parted(Turned(q_HQF, k_GKF, turn_TF[keys], self.theta_F, rows_Q - keys.start, scale))


def _parted(x_HTF: Tensor, here_HF: Tensor, both_F: Tensor) -> Tensor:
    """Queries or keys of the pairs that were there, and behind them of those that stand still beside one that turns."""
    if not bool(both_F.any()):
        return x_HTF
    here_HF = here_HF[:: len(here_HF) // len(x_HTF)]
    return torch.cat((x_HTF * here_HF[:, None], x_HTF[..., both_F] * ~here_HF[:, None, both_F]), -1)


def _padded(table_HF: Tensor, every_F: Tensor, value: float | bool) -> Tensor:
    """A table of the pairs that turn, with the channels that never turn behind them."""
    return pad(table_HF, (0, len(every_F) - table_HF.shape[-1]), value=value)


def _length(rotation: Rotation) -> Tensor:
    """length_F of a pair that turns; one that changes from slot to slot is part of what an unrotated pair loses."""
    length_TF = rotation.turn_BTF[0, :, : rotation.pairs.count].abs().cpu().double()
    steady_F = length_TF.amax(0) - length_TF.amin(0) < STEADY
    return length_TF[0].where(steady_F & ((length_TF[0] - 1).abs() > NEAR_ONE), 1.0)

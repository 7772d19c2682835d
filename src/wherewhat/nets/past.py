"""The cache of a decoder: keys, values and notes of earlier tokens, so that they are not computed again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from wherewhat.encodings.base import Notes
from wherewhat.errors import UserError


@dataclass
class Memory:
    """The keys, values and notes of one block, as they were before any encoding touched them.

    Encodings act anew on all of them at every step. That costs no more than attention itself, and nothing goes stale.
    """

    k_BHKC: Tensor | None = None
    v_BHKC: Tensor | None = None
    notes: Notes = field(default_factory=dict)

    def add(self, k_BHTC: Tensor, v_BHTC: Tensor, notes: Notes) -> tuple[Tensor, Tensor, Notes]:
        """Remember the new tokens, and give back old and new together."""
        self.k_BHKC = k_BHKC = _append(self.k_BHKC, k_BHTC, axis=2)
        self.v_BHKC = v_BHKC = _append(self.v_BHKC, v_BHTC, axis=2)
        self.notes = {name: _append(self.notes.get(name), note, axis=2) for name, note in notes.items()}
        return k_BHKC, v_BHKC, self.notes


class Past:
    """The cache of one batch. Pass the same `Past` to every call; each call adds its tokens to it.

    It is the one thing in this room that changes while a net runs, and the caller holds it.
    """

    def __init__(self) -> None:
        self.real_BK: Tensor | None = None
        self._memories: dict[int, Memory] = {}

    def block(self, number: int) -> Memory:
        """The memory of one block, empty at first."""
        return self._memories.setdefault(number, Memory())

    @contextmanager
    def unless_it_fails(self) -> Iterator[None]:
        """Restore the cache if reading a piece of text fails inside the block."""
        real_BK, held = self.real_BK, {number: replace(memory) for number, memory in self._memories.items()}
        try:
            yield
        except BaseException:
            self.real_BK, self._memories = real_BK, held
            raise

    def add(self, real_BT: Tensor) -> Tensor:
        """Remember which of the new tokens are real, and give back real_BK of old and new together."""
        if self.real_BK is not None and len(self.real_BK) != len(real_BT):
            raise UserError(
                f"the past holds {len(self.real_BK)} texts and the next piece has {len(real_BT)}; "
                "go on with the same texts, or begin with a new Past"
            )
        self.real_BK = _append(self.real_BK, real_BT, axis=1)
        return self.real_BK


def _append(old: Tensor | None, new: Tensor, *, axis: int) -> Tensor:
    return new if old is None else torch.cat((old, new), dim=axis)

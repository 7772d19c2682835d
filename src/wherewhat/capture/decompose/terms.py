"""What a family's logits are the sum of, and the table of every row that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.hooks.reader import Terms
from wherewhat.encodings.base import wide
from wherewhat.logits.additive import Still
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import Crossed


@dataclass(frozen=True)
class Product:
    """scale · query_i · key_j. Heads are an axis of their own or one with the texts, as the family has it."""

    query: Tensor
    key: Tensor
    scale: float = 1.0

    def times(self, factor: float) -> "Product":
        return replace(self, scale=self.scale * factor)

    def flipped(self) -> "Product":
        return replace(self, query=self.key, key=self.query)


@dataclass(frozen=True)
class Asked:
    """scale · asker_i · table[index_ij], of a table that knows nothing of the text; flipped, with i and j exchanged.

    If a query asks, the term belongs to the slot j; if the key that stands in j asks, it belongs to both.
    """

    asker: Tensor
    table: Tensor
    index: Tensor | None = None  # without one, the entries of the table are the slots themselves
    by_key: bool = False
    scale: float = 1.0

    def times(self, factor: float) -> "Asked":
        return replace(self, scale=self.scale * factor)

    def flipped(self) -> "Asked":
        return replace(self, by_key=not self.by_key)


@dataclass(frozen=True)
class Added:
    """scale · value_ij, which does not depend on what stands in slot j: masks and biases."""

    value: Tensor
    scale: float = 1.0

    def times(self, factor: float) -> "Added":
        return replace(self, scale=self.scale * factor)

    def flipped(self) -> "Added":
        return replace(self, value=self.value.mT)


Addend = Product | Asked | Added
Rotated = Callable[[Tensor], Rotation | None]  # how the queries were turned that are given to it


class OpaqueError(Exception):
    """Logits that cannot be taken apart; its text says why, in half a sentence."""


def terms_of(addends: tuple[Addend, ...], allowed_BTK: Tensor, rotated: Rotated | None) -> Terms:
    """What gives the logits of any rows, once it is clear which addend plays which role."""
    products = [addend for addend in addends if isinstance(addend, Product)]
    crossing = [addend for addend in addends if isinstance(addend, Asked) and addend.by_key]
    if len(products) != 1 or len(crossing) > 1:
        raise OpaqueError("its queries and keys are multiplied in more than one way")
    if not _fits(products[0], allowed_BTK) or any(asked.index is None for asked in crossing):
        raise OpaqueError("its queries or keys are not those of the text")
    slots = [addend for addend in addends if _tells_slots(addend, allowed_BTK)]
    if rotated is None:
        return _Sum(products[0], slots, crossing[0] if crossing else None, allowed_BTK)
    if slots or crossing:
        raise OpaqueError("it turns its keys and adds a position term besides")
    return _turned(products[0], rotated, len(allowed_BTK))


@dataclass(frozen=True)
class _Sum:
    """Terms of logits in which content and slot add up, but for one term that may cross them."""

    product: Product
    slots: list[Addend]
    crossing: Asked | None
    allowed_BTK: Tensor

    def __call__(self, b: int, rows_Q: Tensor, keys: slice) -> Logits:
        query_HQC = self._of(self.product.query, b)[:, rows_Q]
        key_GKC = self._of(self.product.key, b)[:, keys]
        slot_HQK = self._slot(b, rows_Q, keys)
        if self.crossing is None:
            return Still(query_HQC, key_GKC, self.product.scale, slot_HQK)
        asker_HKC = self._of(self.crossing.asker, b)[:, keys]
        assert self.crossing.index is not None
        index_TT = of_text(self.crossing.index, b, len(self.allowed_BTK))[0]  # one for all heads
        return Crossed(
            query_HQC=query_HQC,
            key_GKC=asker_HKC,
            scale=self.product.scale * _ratio(key_GKC, asker_HKC),
            slot_HQK=query_HQC.new_zeros(*query_HQC.shape[:2], asker_HKC.shape[1]) if slot_HQK is None else slot_HQK,
            toward_HRC=self._of(self.crossing.table, b) * self.crossing.scale,
            index_QK=index_TT[keys][:, rows_Q].T,
        )

    def _slot(self, b: int, rows_Q: Tensor, keys: slice) -> Tensor | None:
        """What all slot terms add, zero where the mask is closed."""
        if not self.slots:
            return None
        closed_QK = ~self.allowed_BTK[b, rows_Q, keys]
        added = [self._slot_of(addend, b, rows_Q)[..., keys].masked_fill(closed_QK, 0.0) for addend in self.slots]
        return torch.stack(added).sum(0)

    def _slot_of(self, addend: Addend, b: int, rows_Q: Tensor) -> Tensor:
        if isinstance(addend, Added):
            return self._of(addend.value, b)[:, rows_Q] * addend.scale
        assert isinstance(addend, Asked)
        asked_HQR = self._of(addend.asker, b)[:, rows_Q] @ self._of(addend.table, b).mT * addend.scale
        if addend.index is None:
            return asked_HQR
        return asked_HQR.gather(-1, of_text(addend.index, b, len(self.allowed_BTK))[:, rows_Q])

    def _of(self, tensor: Tensor, b: int) -> Tensor:
        return of_text(tensor, b, len(self.allowed_BTK)).to(wide(tensor.dtype))


def _turned(product: Product, rotated: Rotated, texts: int) -> Terms:
    query_BHTC = product.query if product.query.dim() == 4 else product.query.unflatten(0, (texts, -1))
    rotation = rotated(query_BHTC)
    if rotation is None:
        raise OpaqueError("its rotation does not turn pairs of channels by angles")

    def terms(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        q_HQC, k_GKC = of_text(product.query, b, texts)[:, rows_Q], of_text(product.key, b, texts)[:, keys]
        return rotation.logits(q_HQC, k_GKC, b, rows_Q, keys, scale=product.scale)

    return terms


def of_text(tensor: Tensor, b: int, texts: int) -> Tensor:
    """One text's share, heads first, of a tensor in which heads and texts may be one axis or the texts alike."""
    tensor_BHXX = tensor if tensor.dim() == 4 else tensor.unflatten(0, (texts, -1))
    return tensor_BHXX[b if len(tensor_BHXX) > 1 else 0]


def _tells_slots(addend: Addend, allowed_BTK: Tensor) -> bool:
    """Whether an addend makes a difference between slots: a mask does not, among the keys that it leaves open."""
    if not isinstance(addend, Added):
        return isinstance(addend, Asked) and not addend.by_key
    return any(
        _differs(of_text(addend.value, b, len(allowed_BTK)), allowed_TK) for b, allowed_TK in enumerate(allowed_BTK)
    )


def _differs(value_HTK: Tensor, allowed_TK: Tensor) -> bool:
    """Whether some row has different values for keys that are open."""
    if value_HTK.stride(0) == 0:
        value_HTK = value_HTK[:1]  # spread over heads that are all alike
    lowest_HT = value_HTK.masked_fill(~allowed_TK, torch.inf).amin(-1)
    highest_HT = value_HTK.masked_fill(~allowed_TK, -torch.inf).amax(-1)
    return bool((highest_HT > lowest_HT).any())


def _fits(product: Product, allowed_BTK: Tensor) -> bool:
    """Whether there is one query for every row and one key for every column."""
    fitting = zip((product.query, product.key), allowed_BTK.shape[1:], strict=True)
    return all(side.dim() in (3, 4) and side.shape[-2] == tokens for side, tokens in fitting)


def _ratio(one: Tensor, other: Tensor) -> float:
    """By which factor one tensor is larger than the other, read where the other is largest."""
    where = other.abs().argmax()
    return float(one.flatten()[where] / other.flatten()[where]) if float(other.flatten()[where]) else 1.0

"""The terms whose sum is a family's logits: tracked from queries and keys to the softmax, then decomposed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.hooks.reader import Decomposition
from wherewhat.encodings.base import wide
from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits
from wherewhat.logits.disentangled import DisentangledLogits


@dataclass(frozen=True)
class ProductTerm:
    """scale · query_i · key_j. Heads are an axis of their own or share one with the texts, depending on the family."""

    query: Tensor
    key: Tensor
    scale: float = 1.0

    def flipped(self) -> "ProductTerm":
        return replace(self, query=self.key, key=self.query)


@dataclass(frozen=True)
class TableTerm:
    """scale · vector_i · table[index_ij], for a table independent of the text; flipped, with i and j exchanged.

    With a query as the vector, the term belongs to the slot j; with the key in slot j, it belongs to content and slot.
    """

    vector: Tensor
    table: Tensor
    index: Tensor | None = None  # None: the entries of the table are the slots themselves
    by_key: bool = False
    scale: float = 1.0

    def flipped(self) -> "TableTerm":
        return replace(self, by_key=not self.by_key)


@dataclass(frozen=True)
class SlotTerm:
    """scale · value_ij, which does not depend on the content of slot j: masks and biases."""

    value: Tensor
    scale: float = 1.0

    def flipped(self) -> "SlotTerm":
        return replace(self, value=self.value.mT)


Term = ProductTerm | TableTerm | SlotTerm
Terms = tuple[Term, ...]
LOST = "its queries and keys could not be followed to the softmax"
FindRotation = Callable[[Tensor], Rotation | None]  # how these queries were rotated


class UndecomposedError(Exception):
    """Logits that cannot be decomposed; its text says why, in half a sentence."""


def scaled(terms: Sequence[Term], factor: float) -> tuple[Term, ...]:
    """Every term multiplied by the same factor."""
    return tuple(replace(term, scale=term.scale * factor) for term in terms)


def decompose_terms(terms: tuple[Term, ...], allowed_BTK: Tensor, find_rotation: FindRotation | None) -> Decomposition:
    """The decomposed logits for any rows, once it is clear which term plays which role."""
    products = [term for term in terms if isinstance(term, ProductTerm)]
    crossing = [term for term in terms if isinstance(term, TableTerm) and term.by_key]
    if len(products) != 1 or len(crossing) > 1:
        raise UndecomposedError("its queries and keys are multiplied in more than one way")
    sides = zip((products[0].query, products[0].key), allowed_BTK.shape[1:], strict=True)
    fits = all(side.dim() in (3, 4) and side.shape[-2] == tokens for side, tokens in sides)
    if not fits or any(term.index is None for term in crossing):
        raise UndecomposedError("its queries or keys are not those of the text")
    slots = [term for term in terms if _differs_by_slot(term, allowed_BTK)]
    if find_rotation is None:
        return _Sum(products[0], slots, crossing[0] if crossing else None, allowed_BTK)
    if slots or crossing:
        raise UndecomposedError("it rotates its keys and also adds a position term")
    product, texts = products[0], len(allowed_BTK)
    query_BHTC = product.query if product.query.dim() == 4 else product.query.unflatten(0, (texts, -1))
    rotation = find_rotation(query_BHTC)
    if rotation is None:
        raise UndecomposedError("its queries and keys are not rotated in channel pairs")

    def rotary(b: int, rows_Q: Tensor, keys: slice) -> Logits:
        q_HQC, k_GKC = of_text(product.query, b, texts)[:, rows_Q], of_text(product.key, b, texts)[:, keys]
        return rotation.logits(q_HQC, k_GKC, b, rows_Q, keys, scale=product.scale)

    return rotary


@dataclass(frozen=True)
class _Sum:
    """Logits in which content and slot add up, except for one optional term that depends on both."""

    product: ProductTerm
    slots: list[Term]
    crossing: TableTerm | None
    allowed_BTK: Tensor

    def __call__(self, b: int, rows_Q: Tensor, keys: slice) -> Logits:
        query_HQC = self._of(self.product.query, b)[:, rows_Q]
        key_GKC = self._of(self.product.key, b)[:, keys]
        slot_HQK = self._slot(b, rows_Q, keys)
        if self.crossing is None:
            return AdditiveLogits(query_HQC, key_GKC, self.product.scale, slot_HQK)
        vector_HKC = self._of(self.crossing.vector, b)[:, keys]
        assert self.crossing.index is not None
        index_TT = of_text(self.crossing.index, b, len(self.allowed_BTK))[0]  # one for all heads
        return DisentangledLogits(
            query_HQC=query_HQC,
            key_GKC=vector_HKC,
            scale=self.product.scale * _ratio(key_GKC, vector_HKC),
            slot_HQK=query_HQC.new_zeros(*query_HQC.shape[:2], vector_HKC.shape[1]) if slot_HQK is None else slot_HQK,
            position_query_HRC=self._of(self.crossing.table, b) * self.crossing.scale,
            index_QK=index_TT[keys][:, rows_Q].T,
        )

    def _slot(self, b: int, rows_Q: Tensor, keys: slice) -> Tensor | None:
        """The sum of all slot terms, 0 where the mask forbids a key."""
        if not self.slots:
            return None
        forbidden_QK, added = ~self.allowed_BTK[b, rows_Q, keys], []
        for term in self.slots:
            if isinstance(term, SlotTerm):
                slot_HQK = self._of(term.value, b)[:, rows_Q] * term.scale
            else:
                assert isinstance(term, TableTerm)
                slot_HQK = self._of(term.vector, b)[:, rows_Q] @ self._of(term.table, b).mT * term.scale
                if term.index is not None:
                    slot_HQK = slot_HQK.gather(-1, of_text(term.index, b, len(self.allowed_BTK))[:, rows_Q])
            added.append(slot_HQK[..., keys].masked_fill(forbidden_QK, 0.0))
        return torch.stack(added).sum(0)

    def _of(self, tensor: Tensor, b: int) -> Tensor:
        return of_text(tensor, b, len(self.allowed_BTK)).to(wide(tensor.dtype))


def of_text(tensor: Tensor, b: int, texts: int) -> Tensor:
    """One text's part, heads first, of a tensor in which texts may share an axis with the heads, or all be equal."""
    tensor_BHXX = tensor if tensor.dim() == 4 else tensor.unflatten(0, (texts, -1))
    return tensor_BHXX[b if len(tensor_BHXX) > 1 else 0]


def _differs_by_slot(term: Term, allowed_BTK: Tensor) -> bool:
    """Whether a term differs between slots: a mask does not, among the keys that it allows."""
    if not isinstance(term, SlotTerm):
        return isinstance(term, TableTerm) and not term.by_key
    for b, allowed_TK in enumerate(allowed_BTK):
        value_HTK = of_text(term.value, b, len(allowed_BTK))
        if value_HTK.stride(0) == 0:
            value_HTK = value_HTK[:1]  # expanded: all heads are equal
        lowest_HT = value_HTK.masked_fill(~allowed_TK, torch.inf).amin(-1)
        highest_HT = value_HTK.masked_fill(~allowed_TK, -torch.inf).amax(-1)
        if bool((highest_HT > lowest_HT).any()):
            return True
    return False


def _ratio(first: Tensor, second: Tensor) -> float:
    """The factor between two proportional tensors, measured where the second is largest."""
    where = second.abs().argmax()
    return float(first.flatten()[where] / second.flatten()[where]) if float(second.flatten()[where]) else 1.0


class TermTracker:
    """Knows the terms of the running module's tensors, and which tensors depend on the tokens.

    Tensors are known for as long as the module itself keeps them; `forget` drops all of them.
    """

    def __init__(self) -> None:
        self._terms: Any = WeakTensorKeyDictionary()  # a tensor's terms, or why they are not known
        self._of_contents: Any = WeakTensorKeyDictionary()

    def begin(self, hidden: Sequence[Tensor]) -> None:
        """A module starts with these hidden states; its other inputs do not depend on the tokens."""
        self.forget()
        for tensor in hidden:
            self._of_contents[tensor] = True

    def forget(self) -> None:
        """The module has attended, or returned."""
        self._terms.clear()
        self._of_contents.clear()

    def __len__(self) -> int:
        return len(self._of_contents) + len(self._terms)

    def record_call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """The module called a function."""
        if not self._of_contents:
            return
        given = list(_tensors((*args, *kwargs.values())))
        known = any(tensor in self._terms for tensor in given)
        plain = name.removesuffix("_")  # in place or not
        if isinstance(result, Tensor) and (known or plain in PRODUCTS):
            self._note(plain, args, kwargs, result, known=known)
        if any(tensor in self._of_contents for tensor in given):
            for tensor in _tensors((result,)):
                self._of_contents[tensor] = True

    def is_slot_term(self, tensor: Tensor) -> None:
        """Mark a tensor as depending on queries and slots only."""
        self._terms[tensor] = (SlotTerm(tensor),)

    def terms(self, tensor: Tensor) -> Terms:
        """The terms whose sum a tensor is."""
        terms: Terms | str = self._terms.get(tensor, LOST)
        if isinstance(terms, str):
            raise UndecomposedError(terms)
        return terms

    def of_contents(self, tensor: Tensor) -> bool:
        """Whether a tensor depends on the tokens."""
        return tensor in self._of_contents

    def knows(self, value: object) -> bool:
        """Whether a value is a tensor whose terms are known, or known to be lost."""
        return isinstance(value, Tensor) and value in self._terms

    def _note(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor, *, known: bool) -> None:
        terms: Terms | str
        try:
            if name not in RULES:
                raise UndecomposedError(f"its logits pass through {name}")
            terms = RULES[name](self, args, kwargs, result)
        except UndecomposedError as error:
            terms = str(error)
        if terms:
            self._terms[result] = terms
        elif known:
            self._terms[result] = LOST


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _given(args: Sequence[Any], kwargs: Mapping[str, Any], position: int, *names: str, default: Any = None) -> Any:
    """An argument, by its position or by one of its names."""
    if position < len(args):
        return args[position]
    return next((kwargs[name] for name in names if name in kwargs), default)


Rule = Callable[[TermTracker, Sequence[Any], Mapping[str, Any], Tensor], Terms]


def _product(tracker: TermTracker, left: Tensor, right: Tensor, query: Tensor, key: Tensor) -> Terms:
    """query_i · key_j, if the left operand holds queries or keys and the right one keys or a table; else nothing."""
    if query.dim() < 3 or query.dim() != key.dim() or not tracker.of_contents(left):
        return ()
    return (ProductTerm(query, key) if tracker.of_contents(right) else TableTerm(query, key),)


def _matmul(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    left, right = _given(args, kwargs, 0, "input"), _given(args, kwargs, 1, "other", "mat2")
    return _product(tracker, left, right, left, right.mT) if right.dim() > 1 else ()


def _baddbmm(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    left, right = _given(args, kwargs, 1, "batch1"), _given(args, kwargs, 2, "batch2")
    product = scaled(_product(tracker, left, right, left, right.mT), kwargs.get("alpha", 1.0))
    added = _side(tracker, _given(args, kwargs, 0, "input"), result) if product else ()
    return product + scaled(added, kwargs.get("beta", 1.0))


def _einsum(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    """A product if the last two letters of the result belong to one operand each, and one more letter to both."""
    equation, operands = args[0], list(_tensors(args[1:]))
    if len(operands) != 2 or not isinstance(equation, str) or "->" not in equation or "." in equation:
        return ()
    before, out = equation.replace(" ", "").split("->")
    left, right = before.split(",")
    summed = "".join((set(left) & set(right)) - set(out))
    rows, columns = out[:-2] + out[-2:-1] + summed, out[:-2] + out[-1:] + summed
    if len(summed) != 1 or sorted(left) != sorted(rows) or sorted(right) != sorted(columns):
        return ()
    query = operands[0].permute([left.index(letter) for letter in rows])
    key = operands[1].permute([right.index(letter) for letter in columns])
    return _product(tracker, operands[0], operands[1], query, key)


def _add(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    right = scaled(_side(tracker, _given(args, kwargs, 1, "other"), result), kwargs.get("alpha", 1))
    return _side(tracker, _given(args, kwargs, 0, "input"), result) + right


def _side(tracker: TermTracker, value: Any, result: Tensor) -> Terms:
    """The terms of one side of a sum. What is the same for all keys adds nothing."""
    if tracker.knows(value):
        return tracker.terms(value)
    if not isinstance(value, Tensor) or value.dim() == 0 or value.shape[-1] == 1:
        return ()
    if not tracker.of_contents(value):
        return (SlotTerm(value.expand(result.shape)),)
    if bool((value == value[..., :1]).all()):
        return ()
    raise UndecomposedError("it adds a term in which content and slot cannot be separated")


def _multiply(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    logits, other = _given(args, kwargs, 0, "input"), _given(args, kwargs, 1, "other")
    if not tracker.knows(logits):
        logits, other = other, logits
    return scaled(tracker.terms(logits), _number(tracker, other))


def _divide(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    factor = 1.0 / _number(tracker, _given(args, kwargs, 1, "other"))
    return scaled(tracker.terms(_given(args, kwargs, 0, "input")), factor)


def _number(tracker: TermTracker, value: Any) -> float:
    if isinstance(value, Tensor) and (value.numel() != 1 or tracker.of_contents(value)):
        raise UndecomposedError("its logits are scaled by a different factor for each token")
    return float(value.detach() if isinstance(value, Tensor) else value)


def _carry(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    """The same numbers in another shape or type, or with a mask over them."""
    source = next(value for value in _tensors((*args, *kwargs.values())) if tracker.knows(value))
    if source.shape[-2:] != result.shape[-2:]:
        raise UndecomposedError("its logits are reshaped before the softmax")
    return tracker.terms(source)


def _transpose(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    axes = {_given(args, kwargs, 1, "dim0") % result.dim(), _given(args, kwargs, 2, "dim1") % result.dim()}
    if axes != {result.dim() - 1, result.dim() - 2}:
        raise UndecomposedError("its logits are reshaped before the softmax")
    return tuple(term.flipped() for term in tracker.terms(args[0]))


def _gather(tracker: TermTracker, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Terms:
    """Entries of a product with a table, chosen by relative position."""
    terms = tracker.terms(_given(args, kwargs, 0, "input"))
    dim, index = _given(args, kwargs, 1, "dim"), _given(args, kwargs, 2, "index")
    if len(terms) != 1 or not isinstance(terms[0], TableTerm) or dim % result.dim() != result.dim() - 1:
        raise UndecomposedError("its logits are gathered from others in an unknown way")
    return (TableTerm(terms[0].vector, terms[0].table, index, scale=terms[0].scale),)


PRODUCTS: dict[str, Rule] = {"matmul": _matmul, "bmm": _matmul, "baddbmm": _baddbmm, "einsum": _einsum}
CARRYING = (
    "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "contiguous", "clone", "detach",
    "to", "type", "type_as", "float", "double", "half", "bfloat16", "masked_fill", "where",
)  # fmt: skip
RULES: dict[str, Rule] = {
    **PRODUCTS,
    **dict.fromkeys(CARRYING, _carry),
    "add": _add,
    "sub": lambda tracker, args, kwargs, result: _add(
        tracker, args, {**kwargs, "alpha": -kwargs.get("alpha", 1)}, result
    ),
    "mul": _multiply,
    "div": _divide,
    "transpose": _transpose,
    "gather": _gather,
}

"""Follow queries and keys through the functions that an attention module calls, as far as its softmax."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from wherewhat.capture.decompose.terms import Added, Addend, Asked, OpaqueError, Product

Addends = tuple[Addend, ...]
UNSEEN = "its queries and keys could not be followed to the softmax"


class Follower:
    """Knows what the tensors of the module now running are the sum of, and which depend on what the tokens say.

    Tensors are known for as long as the module itself keeps them; `forget` drops all the rest.
    """

    def __init__(self) -> None:
        self._sums: Any = WeakTensorKeyDictionary()  # a tensor's addends, or why it has none
        self._of_contents: Any = WeakTensorKeyDictionary()

    def begin(self, hidden: Sequence[Tensor]) -> None:
        """A module starts with these hidden states; whatever else it was given knows nothing of contents."""
        self.forget()
        for tensor in hidden:
            self._of_contents[tensor] = True

    def forget(self) -> None:
        """The module has attended, or ended."""
        self._sums.clear()
        self._of_contents.clear()

    def __len__(self) -> int:
        return len(self._of_contents) + len(self._sums)

    def saw(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """The module called a function."""
        if not self._of_contents:
            return
        given = list(_tensors((*args, *kwargs.values())))
        known = any(tensor in self._sums for tensor in given)
        plain = name.removesuffix("_")  # in place or not
        if isinstance(result, Tensor) and (known or plain in PRODUCTS):
            self._note(plain, args, kwargs, result, known=known)
        if any(tensor in self._of_contents for tensor in given):
            for tensor in _tensors((result,)):
                self._of_contents[tensor] = True

    def is_slot_term(self, tensor: Tensor) -> None:
        """Take the module's own word that this tensor depends on queries and slots only."""
        self._sums[tensor] = (Added(tensor),)

    def addends(self, tensor: Tensor) -> Addends:
        """What a tensor is the sum of."""
        found: Addends | str = self._sums.get(tensor, UNSEEN)
        if isinstance(found, str):
            raise OpaqueError(found)
        return found

    def of_contents(self, tensor: Tensor) -> bool:
        """Whether a tensor depends on what the tokens say."""
        return tensor in self._of_contents

    def knows(self, value: object) -> bool:
        """Whether a value is a tensor whose addends are known, or known to be lost."""
        return isinstance(value, Tensor) and value in self._sums

    def _note(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor, *, known: bool) -> None:
        made: Addends | str
        try:
            if name not in RULES:
                raise OpaqueError(f"its logits pass through {name}")
            made = RULES[name](self, args, kwargs, result)
        except OpaqueError as error:
            made = str(error)
        if made:
            self._sums[result] = made
        elif known:
            self._sums[result] = UNSEEN


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


Rule = Callable[[Follower, Sequence[Any], Mapping[str, Any], Tensor], Addends]


def _pair(follower: Follower, one: Tensor, other: Tensor, query: Tensor, key: Tensor) -> Addends:
    """query_i · key_j, if one operand holds queries or keys and the other keys or a table; others do not concern us."""
    if query.dim() < 3 or query.dim() != key.dim() or not follower.of_contents(one):
        return ()
    return (Product(query, key) if follower.of_contents(other) else Asked(query, key),)


def _matmul(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    one, other = _given(args, kwargs, 0, "input"), _given(args, kwargs, 1, "other", "mat2")
    return _pair(follower, one, other, one, other.mT) if other.dim() > 1 else ()


def _baddbmm(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    one, other = _given(args, kwargs, 1, "batch1"), _given(args, kwargs, 2, "batch2")
    product = tuple(addend.times(kwargs.get("alpha", 1.0)) for addend in _pair(follower, one, other, one, other.mT))
    added = _side(follower, _given(args, kwargs, 0, "input"), result) if product else ()
    return product + tuple(addend.times(kwargs.get("beta", 1.0)) for addend in added)


def _einsum(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    """A product if the last two letters of the result belong to one operand each, and one more letter to both."""
    equation, operands = args[0], list(_tensors(args[1:]))
    if len(operands) != 2 or not isinstance(equation, str) or "->" not in equation or "." in equation:
        return ()
    before, out = equation.replace(" ", "").split("->")
    one, other = before.split(",")
    summed = "".join((set(one) & set(other)) - set(out))
    rows, columns = out[:-2] + out[-2:-1] + summed, out[:-2] + out[-1:] + summed
    if len(summed) != 1 or sorted(one) != sorted(rows) or sorted(other) != sorted(columns):
        return ()
    query = operands[0].permute([one.index(letter) for letter in rows])
    key = operands[1].permute([other.index(letter) for letter in columns])
    return _pair(follower, operands[0], operands[1], query, key)


def _add(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    sign = kwargs.get("alpha", 1)
    other = tuple(addend.times(sign) for addend in _side(follower, _given(args, kwargs, 1, "other"), result))
    return _side(follower, _given(args, kwargs, 0, "input"), result) + other


def _subtract(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    return _add(follower, args, {**kwargs, "alpha": -kwargs.get("alpha", 1)}, result)


def _side(follower: Follower, value: Any, result: Tensor) -> Addends:
    """The addends of one side of a sum. What is the same for all keys adds nothing."""
    if follower.knows(value):
        return follower.addends(value)
    if not isinstance(value, Tensor) or value.dim() == 0 or value.shape[-1] == 1:
        return ()
    if not follower.of_contents(value):
        return (Added(value.expand(result.shape)),)
    if bool((value == value[..., :1]).all()):
        return ()
    raise OpaqueError("it adds a term in which contents and slots cannot be told apart")


def _multiply(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    one, other = _given(args, kwargs, 0, "input"), _given(args, kwargs, 1, "other")
    if not follower.knows(one):
        one, other = other, one
    factor = _number(follower, other)
    return tuple(addend.times(factor) for addend in follower.addends(one))


def _divide(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    factor = 1.0 / _number(follower, _given(args, kwargs, 1, "other"))
    return tuple(addend.times(factor) for addend in follower.addends(_given(args, kwargs, 0, "input")))


def _number(follower: Follower, value: Any) -> float:
    if isinstance(value, Tensor) and (value.numel() != 1 or follower.of_contents(value)):
        raise OpaqueError("its logits are scaled token by token")
    return float(value.detach() if isinstance(value, Tensor) else value)


def _carry(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    """The same numbers in another shape or type, or with a mask over them."""
    source = next(value for value in _tensors((*args, *kwargs.values())) if follower.knows(value))
    if source.shape[-2:] != result.shape[-2:]:
        raise OpaqueError("its logits change their shape on the way to the softmax")
    return follower.addends(source)


def _transpose(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    axes = {_given(args, kwargs, 1, "dim0") % result.dim(), _given(args, kwargs, 2, "dim1") % result.dim()}
    if axes != {result.dim() - 1, result.dim() - 2}:
        raise OpaqueError("its logits change their shape on the way to the softmax")
    return tuple(addend.flipped() for addend in follower.addends(args[0]))


def _gather(follower: Follower, args: Sequence[Any], kwargs: Mapping[str, Any], result: Tensor) -> Addends:
    """Entries of a table that was asked, chosen by relative position."""
    found = follower.addends(_given(args, kwargs, 0, "input"))
    dim, index = _given(args, kwargs, 1, "dim"), _given(args, kwargs, 2, "index")
    if len(found) != 1 or not isinstance(found[0], Asked) or dim % result.dim() != result.dim() - 1:
        raise OpaqueError("its logits are chosen from others in a way that is not known")
    return (Asked(found[0].asker, found[0].table, index, scale=found[0].scale),)


PRODUCTS: dict[str, Rule] = {"matmul": _matmul, "bmm": _matmul, "baddbmm": _baddbmm, "einsum": _einsum}
CARRYING = (
    "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "contiguous", "clone", "detach",
    "to", "type", "type_as", "float", "double", "half", "bfloat16", "masked_fill", "where",
)  # fmt: skip
RULES: dict[str, Rule] = {
    **PRODUCTS,
    **dict.fromkeys(CARRYING, _carry),
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "transpose": _transpose,
    "gather": _gather,
}

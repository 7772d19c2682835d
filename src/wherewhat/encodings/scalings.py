"""Ways to slow rotary frequencies down, so that a model reads texts longer than those it was trained on."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from wherewhat.errors import UserError
from wherewhat.names import look_up, suggestion


@dataclass(frozen=True)
class Scaling(ABC):
    """One way to slow frequencies down. Its fields are its options; most know the `factor` by which texts grow."""

    by_length = False  # whether the length of a text decides

    @property
    def gain(self) -> float:
        """What cosines and sines are multiplied by, and with them rotated queries and keys."""
        return 1.0

    @abstractmethod
    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        """The slower frequencies, from the plain ones of this base and the length of the text that is read."""

    def check(self, *, width: int, base: float) -> None:  # noqa: B027 (most scale every ladder)
        """Refuse a ladder that cannot be scaled so."""


@dataclass(frozen=True)
class Linear(Scaling):
    """Every frequency is divided by the factor: positions are interpolated (arXiv 2306.15595).

    >>> Linear(factor=4.0).theta(torch.tensor([1.0, 0.01]), base=10_000, length=1)
    tensor([0.2500, 0.0025])
    """

    factor: float

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        return theta_F / self.factor


@dataclass(frozen=True)
class Ntk(Scaling):
    """A larger base: the slowest frequency is divided by the factor, the fastest stays."""

    factor: float

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        return _rebased(theta_F, self.factor)


@dataclass(frozen=True)
class Dynamic(Scaling):
    """A base that grows with the text, once that is longer than `original_length`.

    Reading on past that length turns all earlier tokens otherwise than before; a fixed `length` turns them always
    as in a text of that length.
    """

    by_length = True
    factor: float
    original_length: int
    length: int | None = None

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        times = max(self.length or length, self.original_length) / self.original_length
        return _rebased(theta_F, self.factor * times - (self.factor - 1))


@dataclass(frozen=True)
class Yarn(Scaling):
    """Fast frequencies stay, slow ones are divided by the factor, a ramp between (arXiv 2309.00071).

    A frequency is fast if it turns round at least `beta_fast` times in the original length, slow if at most
    `beta_slow` times; `truncate` moves the ramp's ends to whole pairs. Logits grow with the logarithm of the factor.
    Where the ramp would end before it begins (tiny original lengths), it ends right after its beginning, so that slow
    frequencies are still divided; transformers divides none there.
    """

    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    mscale: float | None = None  # of the gain; None: 1
    mscale_all: float | None = None  # of what the gain is divided by; None: 0

    def __post_init__(self) -> None:
        if self.beta_fast <= self.beta_slow:
            raise UserError(
                f"scaling 'yarn' needs a beta_fast above its beta_slow, got {self.beta_fast} and {self.beta_slow}"
            )

    def check(self, *, width: int, base: float) -> None:
        if base <= 1:
            raise UserError(f"scaling 'yarn' needs a base above 1, got {base}; 10000 is the usual one")

    @property
    def gain(self) -> float:
        stretch = 0.1 * math.log(max(self.factor, 1.0))
        return (stretch * (self.mscale or 1.0) + 1) / (stretch * (self.mscale_all or 0.0) + 1)

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        # The ramp lies between the pairs that turn round beta_fast and beta_slow times in the original length.
        width = 2 * len(theta_F)
        low, high = (
            width * math.log(self.original_length / (2 * math.pi * turns)) / (2 * math.log(base))
            for turns in (self.beta_fast, self.beta_slow)
        )
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low = max(low, 0)
        high = max(min(high, width - 1), low + 0.001)
        pairs_F = torch.arange(len(theta_F), dtype=theta_F.dtype, device=theta_F.device)
        slow_F = ((pairs_F - low) / (high - low)).clamp(0, 1)
        return theta_F * (1 - slow_F) + theta_F / self.factor * slow_F


@dataclass(frozen=True)
class Llama3(Scaling):
    """Frequencies that turn round less than `low` times in the original length are divided, more than `high` stay."""

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    original_length: int = 8192

    def __post_init__(self) -> None:
        if self.high <= self.low:
            raise UserError(f"scaling 'llama3' needs a high above its low, got {self.high} and {self.low}")

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        turns_F = self.original_length * theta_F / (2 * math.pi)
        fast_F = ((turns_F - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - fast_F) * theta_F / self.factor + fast_F * theta_F


@dataclass(frozen=True)
class LongRope(Scaling):
    """Every frequency is divided by a number of its own, found by search (arXiv 2402.13753).

    `long_factor` has these numbers for texts above `original_length`, `short_factor` for the others; a fixed `length`
    decides for all texts. Logits grow with the logarithm of `factor`, the length aimed at over the original one.
    """

    by_length = True
    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_length: int
    factor: float
    length: int | None = None

    def check(self, *, width: int, base: float) -> None:
        for name, factors in (("short_factor", self.short_factor), ("long_factor", self.long_factor)):
            if len(factors) != width // 2:
                raise UserError(
                    f"scaling 'longrope' needs one number in {name} for each of the {width // 2} frequencies, "
                    f"got {len(factors)}"
                )

    @property
    def gain(self) -> float:
        return math.sqrt(1 + math.log(max(self.factor, 1.0)) / math.log(self.original_length))

    def theta(self, theta_F: Tensor, *, base: float, length: int) -> Tensor:
        factors = self.long_factor if (self.length or length) > self.original_length else self.short_factor
        return theta_F / torch.tensor(factors, dtype=theta_F.dtype, device=theta_F.device)


SCALINGS: dict[str, type[Scaling]] = {
    "linear": Linear,
    "ntk": Ntk,
    "dynamic": Dynamic,
    "yarn": Yarn,
    "llama3": Llama3,
    "longrope": LongRope,
}


def scaling_of(options: Mapping[str, Any], *, width: int, base: float) -> Scaling:
    """Make the scaling that the options name, for rotary channels of this width and base.

    >>> scaling_of({"kind": "linear", "factor": 4}, width=8, base=10_000)
    Linear(factor=4)
    >>> scaling_of({"kind": "linaer", "factor": 4}, width=8, base=10_000)
    Traceback (most recent call last):
    wherewhat.errors.UserError: unknown scaling 'linaer'; did you mean 'linear'? known: dynamic, linear, llama3, \
longrope, ntk, yarn
    """
    given = dict(options)
    if "kind" not in given:
        raise UserError(f"a scaling needs its kind, one of {', '.join(sorted(SCALINGS))}; got {given!r}")
    kind = str(given.pop("kind"))
    family = look_up("scaling", kind, SCALINGS)
    known = {field.name: field for field in fields(family)}
    for name, value in given.items():
        if name not in known:
            meant = suggestion(name, known)
            raise UserError(f"scaling '{kind}' takes no option '{name}'; {meant}it takes: {', '.join(sorted(known))}")
        words, fits = WANTED[known[name].type]
        if not fits(value):
            raise UserError(f"scaling '{kind}' wants its {name} as {words}, got {value!r}")
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in given]:
        raise UserError(f"scaling '{kind}' needs to know {' and '.join(missing)}; give the model's own numbers")
    scaling = family(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    scaling.check(width=width, base=base)
    return scaling


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _length(value: object) -> bool:
    return isinstance(value, int) and value > 1


WANTED: dict[Any, tuple[str, Callable[[object], bool]]] = {  # by the type of a field: words, and whether a value fits
    float: ("a positive number", _positive),
    float | None: ("a positive number", lambda value: value is None or _positive(value)),
    int: ("a whole number above 1", _length),
    int | None: ("a whole number above 1", lambda value: value is None or _length(value)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    tuple[float, ...]: (
        "a list of positive numbers",
        lambda value: isinstance(value, (list, tuple)) and all(map(_positive, value)),
    ),
}


def _rebased(theta_F: Tensor, times: float) -> Tensor:
    """As if from a base so much larger that the slowest frequency is divided by `times`."""
    pairs_F = torch.arange(len(theta_F), dtype=theta_F.dtype, device=theta_F.device)
    return theta_F * torch.pow(times, -pairs_F / max(len(theta_F) - 1, 1))

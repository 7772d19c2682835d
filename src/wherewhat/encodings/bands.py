"""A small language that names some of a model's rotary frequencies, such as `high:0.25` or `index:0,3,5-7`.

| text | names |
|---|---|
| `high:0.25` | the fastest quarter |
| `low:0.25` | the slowest quarter |
| `index:0,3,5-7` | pairs by their number, from 0 |
| `angle:0.01..1` | those that turn by 0.01 up to, but not including, 1 radian per token |
| `wavelength:8..64` | those that turn round once in 8 up to, but not including, 64 tokens |
| `all` | every one |

Several are joined by `+`: `high:0.25+index:7`.
"""

import math
import re
from collections.abc import Callable

import torch
from torch import Tensor

from wherewhat.errors import UserError
from wherewhat.names import look_up

ROUNDING = 1e-9  # 0.29 of 100 is 28.999999999999996
CLOSE = 1e-6  # an end of a band is met by a frequency this near to it, because models store theirs in float32


def chosen(text: str, theta_F: Tensor) -> Tensor:
    """chosen_F: whether the text names each frequency of a model whose pairs rotate by theta_F radians per token.

    >>> chosen("high:0.5+index:3", torch.tensor([1.0, 0.1, 0.01, 0.001]))
    tensor([ True,  True, False,  True])
    >>> chosen("angle:2..3", torch.tensor([1.0, 0.1]))
    Traceback (most recent call last):
    wherewhat.errors.UserError: no frequency lies in 'angle:2..3'; they go from 0.1 to 1 radians per token
    """
    if theta_F.numel() == 0:
        raise UserError(f"there are no rotary frequencies to choose from; got '{text}'")
    chosen_F = torch.zeros_like(theta_F, dtype=torch.bool)
    for part in map(str.strip, re.split(r"(?<![eE])\+", text)):  # but not at the plus of 1e+3
        kind, colon, _ = part.partition(":")
        if not colon and part != "all":
            raise UserError(
                f"frequencies are named by a kind and a value, such as high:0.25 or index:0,3; got '{part}'"
            )
        chosen_F = chosen_F | (part == "all" or look_up("kind of frequencies", kind, KINDS)(part, theta_F))
    return chosen_F


def _share(text: str, theta_F: Tensor, order_F: Tensor) -> Tensor:
    """The first of this order, rounded down to whole pairs."""
    share, total = _number(_value(text), text), len(theta_F)
    if not 0 <= share <= 1:
        raise UserError(f"a share of the frequencies lies between 0 and 1; got '{text}'")
    count = int(share * total + ROUNDING)
    if share > 0 and count == 0:
        raise UserError(
            f"'{text}' of {total} frequencies is less than one; use at least {math.ceil(1e4 / total) / 1e4:g}, "
            "or 0 for none"
        )
    chosen_F = torch.zeros_like(theta_F, dtype=torch.bool)
    chosen_F[order_F[:count]] = True
    return chosen_F


def _index(text: str, theta_F: Tensor) -> Tensor:
    chosen_F = torch.zeros_like(theta_F, dtype=torch.bool)
    for item in _value(text).split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", item.strip())
        if match is None:
            raise UserError(f"pairs are named by whole numbers from 0, such as index:0,3,5-7; got '{text}'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UserError(f"a range goes upwards, such as index:5-7; got '{text}'")
        if last >= len(theta_F):
            raise UserError(f"there is no frequency {last} among the {len(theta_F)} from 0; got '{text}'")
        chosen_F[first : last + 1] = True
    return chosen_F


def _between(text: str, values_F: Tensor, unit: str) -> Tensor:
    low, dots, high = _value(text).partition("..")
    if not dots:
        raise UserError(f"a band has two ends, such as angle:0.01..1 or wavelength:8..64; got '{text}'")
    low_end, high_end = _number(low, text), _number(high, text)
    if not 0 <= low_end < high_end:
        raise UserError(f"a band goes upwards and does not begin below 0; got '{text}'")
    chosen_F = (values_F >= low_end * (1 - CLOSE)) & (values_F < high_end * (1 - CLOSE))
    if not chosen_F.any():
        slowest, fastest = (end.item() for end in values_F.aminmax())
        raise UserError(f"no frequency lies in '{text}'; they go from {slowest:.4g} to {fastest:.4g} {unit}")
    return chosen_F


def _value(text: str) -> str:
    return text.partition(":")[2]


def _number(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise UserError(f"'{number}' in '{text}' is not a number") from None


KINDS: dict[str, Callable[[str, Tensor], Tensor]] = {
    "high": lambda text, theta_F: _share(text, theta_F, theta_F.argsort(descending=True, stable=True)),
    "low": lambda text, theta_F: _share(text, theta_F, theta_F.argsort(descending=True, stable=True).flip(0)),
    "index": _index,
    "angle": lambda text, theta_F: _between(text, theta_F, "radians per token"),
    "wavelength": lambda text, theta_F: _between(text, 2 * math.pi / theta_F, "tokens per rotation"),
}

"""What is to be changed inside a model, in the words of the command line."""

import operator
import re
from dataclasses import dataclass, fields

from wherewhat.errors import UserError, suggests_fields

HEAD_NAME = re.compile(r"L(\d{1,6})H(\d{1,6})")
BANDS = ("drop", "unrotate", "keep", "scale")  # the edits of rotary frequencies, in the order of a description


@suggests_fields
@dataclass(frozen=True)
class Edit:
    """What is to be changed; () for nothing. Bands are named in the language of `encodings/bands.py`.

    >>> Edit(unrotate=("high:0.25",), heads=("L3H7",)).description
    'unrotate high:0.25 in L3H7'
    """

    drop: tuple[str, ...] = ()  # these frequencies leave the dot product of queries with keys
    unrotate: tuple[str, ...] = ()  # in these, queries and keys meet as if nothing were rotated
    keep: tuple[str, ...] = ()  # all other frequencies leave the dot product; channels that are never rotated stay
    scale: tuple[str, ...] = ()  # BAND=FACTOR, BAND=FROM..TO or BAND=FROM..TO^BETA, from its fastest to its slowest
    ablate: tuple[str, ...] = ()  # heads whose output becomes 0
    heads: tuple[str, ...] = ()  # frequencies are changed in these heads only
    layers: tuple[int, ...] = ()  # and in these layers only

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _several(getattr(self, each.name)))
        for name in (*self.heads, *self.ablate):
            if not isinstance(name, str) or not HEAD_NAME.fullmatch(name):
                raise UserError(f"'{name}' is not the name of a head; heads are named like L3H7, counted from 0")
        for band in (band for verb in BANDS for band in getattr(self, verb)):
            if not isinstance(band, str):
                raise UserError(f"{band!r} names no frequencies; name them as text, like high:0.25")
        object.__setattr__(self, "layers", tuple(map(_layer_number, self.layers)))
        if self.keep and self.drop:
            raise UserError(
                f"frequencies are either kept or dropped; got keep '{self.keep[0]}' and drop '{self.drop[0]}', give one"
            )
        if both := sorted(set(self.heads) & set(self.ablate)):
            raise UserError(f"{both[0]} cannot be ablated and edited at once; take it out of one")

    @property
    def rotary(self) -> bool:
        """Whether any frequency is to be changed."""
        return any(getattr(self, verb) for verb in BANDS)

    @property
    def description(self) -> str:
        """The whole edit in a few words."""
        verbs = [f"{verb} {' and '.join(getattr(self, verb))}" for verb in BANDS if getattr(self, verb)]
        heads = f" in {', '.join(self.heads)}" if self.heads else ""
        layers = f" in layer{'s' * (len(self.layers) > 1)} {', '.join(map(str, self.layers))}" if self.layers else ""
        rotary = ", ".join(verbs) + heads + layers if verbs else ""
        ablated = f"ablate {', '.join(self.ablate)}" if self.ablate else ""
        return "; ".join(part for part in (rotary, ablated) if part) or "nothing"


def _several(value: object) -> tuple[object, ...]:
    """One name, or several, as a tuple of them."""
    try:
        return (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]  # it is tried
    except TypeError:
        return (value,)


def _layer_number(value: object) -> int:
    """A whole number from 0, of whatever kind."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # it is tried
    except TypeError:
        number = -1
    if number < 0:
        raise UserError(f"{value!r} is not the number of a layer; layers are counted from 0")
    return number

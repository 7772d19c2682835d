"""A condition of a study: one encoding of position in one kind of net, and how it is built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wherewhat.encodings.registry import Shape, encoding_for
from wherewhat.studies.bell_curves import curve_measures

SYMMETRIC = 1.0  # the value of s at which both sides fall off equally


@dataclass(frozen=True)
class EncodingCondition:
    """An encoding in a net: its name in the tables, and how it is built."""

    name: str
    family: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "encoder"
    w: float | None = None  # of curves that are set by hand or start from a given w
    s: float | None = None

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            "name": self.name,
            "family": self.family,
            "encoding": self.encoding,
            "options": dict(self.options),
            "kind": self.kind,
            "w": self.w,
            "s": self.s,
        }

    @property
    def mirrored(self) -> bool:
        """Whether it treats both sides alike whatever it learns, so that a reversed text looks the same to it."""
        shape = Shape(width=8, heads=2, head_dim=4, length=8)
        return encoding_for(shape, self.encoding, self.options).mirror_invariant

    def bias_measures(self, n: int) -> Mapping[str, float]:
        """Locality and symmetry of the curve by itself over n tokens; empty if no curve is fixed."""
        if self.encoding != "attenuated" or self.w is None or self.s is None or "learn" in self.options:
            return {}
        return curve_measures(self.w, self.s, n=n, causal=self.kind == "decoder")


def curve(inject: str, w: float, s: float = SYMMETRIC, *, kind: str = "encoder") -> EncodingCondition:
    """A bell curve of distance that is set by hand.

    >>> curve("log", 0.5, 0.25).name, curve("log", 0.5, kind="decoder").name
    ('log w 0.5 s 0.25', 'decoder w 0.5')
    """
    options = {"w": w, "s": s, "inject": inject}
    side = "" if s == SYMMETRIC else f" s {s:g}"
    family = "decoder" if kind == "decoder" else inject
    return EncodingCondition(f"{family} w {w:g}{side}", family, "attenuated", options, kind, w, s)

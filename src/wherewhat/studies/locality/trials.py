"""Which encodings are tried: a sweep over locality and symmetry, what is learned instead, and what others do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wherewhat.encodings.registry import Shape, encoding_for
from wherewhat.studies.locality.steepness import curve_measures, w_for

FAMILIES = {
    "log": "a bell curve of distance, added so that attention without content is the curve itself",
    "raw": "the same curve added as it stands, as it was published",
    "learned": "the same curve, learned",
    "reference": "encodings of others, and none at all",
    "decoder": "the curve, and some of the others, in a net that sees only what came before",
    "ours": "the curve with a learned side weight in each head",
    "control": "the same with side weights that stay as they start",
}
SYMMETRIC = 1.0  # of s


@dataclass(frozen=True)
class Trial:
    """An encoding in a net: what it is called in the tables, and how it is made."""

    name: str
    family: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "encoder"
    w: float | None = None  # of curves that are set or start by hand
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
        """Whether it treats both sides alike and always will, so that a text read backwards looks the same to it."""
        shape = Shape(width=8, heads=2, head_dim=4, length=8)
        return encoding_for(shape, self.encoding, self.options).mirror_invariant

    def bias_measures(self, n: int) -> Mapping[str, float]:
        """How local and symmetric the curve is by itself over n tokens; nothing where no curve is fixed."""
        if self.encoding != "attenuated" or self.w is None or self.s is None or "learn" in self.options:
            return {}
        return curve_measures(self.w, self.s, n=n, causal=self.kind == "decoder")


@dataclass(frozen=True)
class Sweep:
    """What is tried. Localities are of a symmetric curve over `n` tokens; w follows from them."""

    n: int
    localities: tuple[float, ...]
    sided: tuple[float, ...]  # localities at which s is varied too, and at which ours is tried
    sides: tuple[float, ...]  # values of s other than 1
    raw: tuple[float, ...]
    learned: tuple[str, ...]  # what is learned of the curve: ws, table
    references: tuple[str, ...]
    decoder: tuple[float, ...]
    decoder_references: tuple[str, ...]

    def trials(self) -> list[Trial]:
        """All of them; those that answer most first, as a long study may be stopped early."""
        found = [*self._log(), *self._ours(), *self._raw(), *self._learned(), *self._references(), *self._decoders()]
        assert len({trial.name for trial in found}) == len(found), "two trials have one name"
        return found

    def w(self, locality: float) -> float:
        """The w of a symmetric curve with this locality."""
        return w_for(locality, n=self.n)

    def _log(self) -> Iterator[Trial]:
        for locality in self.localities:
            yield curve("log", self.w(locality))
        for locality in self.sided:
            for s in self.sides:
                yield curve("log", self.w(locality), s)

    def _ours(self) -> Iterator[Trial]:
        for locality in self.sided:
            w = self.w(locality)
            yield Trial(f"leaning w {w:g}", "ours", "leaning", {"w": w}, w=w)
            options = {"w": w, "learn": "none"}
            yield Trial(f"leaning, not learned w {w:g}", "control", "leaning", options, w=w)

    def _raw(self) -> Iterator[Trial]:
        for locality in self.raw:
            yield curve("raw", self.w(locality))

    def _learned(self) -> Iterator[Trial]:
        start = self.w(self.sided[0])
        for learn in self.learned:
            options = {"w": start, "inject": "log", "learn": learn}
            yield Trial(f"log, learned {LEARNT[learn]}", "learned", "attenuated", options, w=start)

    def _references(self) -> Iterator[Trial]:
        for name in self.references:
            yield Trial(name, "reference", name)

    def _decoders(self) -> Iterator[Trial]:
        for locality in self.decoder:
            yield curve("log", self.w(locality), kind="decoder")
        for name in self.decoder_references:
            yield Trial(f"decoder {name}", "decoder", name, kind="decoder")


LEARNT = {"ws": "w and s", "table": "table"}


def curve(inject: str, w: float, s: float = SYMMETRIC, *, kind: str = "encoder") -> Trial:
    """A bell curve that is set by hand.

    >>> curve("log", 0.5, 0.25).name, curve("log", 0.5, kind="decoder").name
    ('log w 0.5 s 0.25', 'decoder w 0.5')
    """
    options = {"w": w, "s": s, "inject": inject}
    side = "" if s == SYMMETRIC else f" s {s:g}"
    named, family = ("decoder", "decoder") if kind == "decoder" else (inject, inject)
    return Trial(f"{named} w {w:g}{side}", family, "attenuated", options, kind, w, s)

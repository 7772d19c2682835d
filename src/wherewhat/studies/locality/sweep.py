"""Which encodings are tried: a sweep over locality and symmetry, learned curves, and encodings of others."""

from collections.abc import Iterator
from dataclasses import dataclass

from wherewhat.studies.bell_curves import w_for
from wherewhat.studies.conditions import EncodingCondition, curve

FAMILIES = {
    "log": "a bell curve of distance, added as its logarithm, so that attention without content is the curve itself",
    "raw": "the same curve added without the logarithm, as published",
    "learned": "the same curve, learned",
    "reference": "encodings of others, and no encoding at all",
    "decoder": "the curve, and some of the others, under a causal mask",
    "ours": "the curve with a learned side weight per head",
    "control": "the same with side weights that keep their initial values",
}
LEARNED_PARTS = {"ws": "w and s", "table": "table"}


@dataclass(frozen=True)
class LocalitySweep:
    """Which encodings are tried. Localities are those of a symmetric curve over `n` tokens; w follows from them."""

    n: int
    localities: tuple[float, ...]
    sided: tuple[float, ...]  # localities at which s is varied too, and at which our own encoding is tried
    sides: tuple[float, ...]  # values of s other than 1
    raw: tuple[float, ...]
    learned: tuple[str, ...]  # which part of the curve is learned: ws, table
    references: tuple[str, ...]
    decoder: tuple[float, ...]
    decoder_references: tuple[str, ...]

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the most informative first, as a long study may be stopped early."""
        conditions = [*self._log(), *self._ours(), *self._others(), *self._decoders()]
        assert len({condition.name for condition in conditions}) == len(conditions), "two conditions have one name"
        return conditions

    def w(self, locality: float) -> float:
        """The w of a symmetric curve with this locality."""
        return w_for(locality, n=self.n)

    def _log(self) -> Iterator[EncodingCondition]:
        for locality in self.localities:
            yield curve("log", self.w(locality))
        for locality in self.sided:
            for s in self.sides:
                yield curve("log", self.w(locality), s)

    def _ours(self) -> Iterator[EncodingCondition]:
        for locality in self.sided:
            w = self.w(locality)
            yield EncodingCondition(f"leaning w {w:g}", "ours", "leaning", {"w": w}, w=w)
            options = {"w": w, "learn": "none"}
            yield EncodingCondition(f"leaning, not learned w {w:g}", "control", "leaning", options, w=w)

    def _others(self) -> Iterator[EncodingCondition]:
        for locality in self.raw:
            yield curve("raw", self.w(locality))
        start = self.w(self.sided[0])
        for learn in self.learned:
            options = {"w": start, "inject": "log", "learn": learn}
            yield EncodingCondition(f"log, learned {LEARNED_PARTS[learn]}", "learned", "attenuated", options, w=start)
        for name in self.references:
            yield EncodingCondition(name, "reference", name)

    def _decoders(self) -> Iterator[EncodingCondition]:
        for locality in self.decoder:
            yield curve("log", self.w(locality), kind="decoder")
        for name in self.decoder_references:
            yield EncodingCondition(f"decoder {name}", "decoder", name, kind="decoder")
